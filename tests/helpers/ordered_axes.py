"""Ordered attributes whose categories are integers, such as the axes of a map."""


def ordered_axes(**sizes):
    """The declarations of ordered attributes with these sizes, by name."""
    return {name: {"size": size, "ordered": True} for name, size in sizes.items()}
