"""`covered`: whether a table has all rows of its kind or a sample, in words."""

__all__ = ["covered"]


def covered(coverage: str | None, row_name: str) -> str:
    """Tell readers whether the counts are of all such rows, or that nobody said so.

    Parameters
    ----------
    coverage
        What the publisher says; None for nothing.
    row_name
        What rows are called, in the plural.

    Examples
    --------
    >>> print(covered("a random sample of 1 in 10", "homes"))
    Which homes are in the table: a random sample of 1 in 10.
    >>> print(covered(None, "homes"))
    The publisher has not said whether the table has all such homes or a sample of them.
    """
    if coverage:
        end = "" if coverage.endswith((".", "!", "?")) else "."
        return f"Which {row_name} are in the table: {coverage}{end}"
    return (
        f"The publisher has not said whether the table has all such {row_name} or a sample of them."
    )
