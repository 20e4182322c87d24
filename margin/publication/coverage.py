"""`covered`: who is in a table, and whether these are all or a sample, in words."""

__all__ = ["covered"]


def covered(
    coverage: str | None,
    row_name: str,
    population: str | None = None,
) -> str:
    """Tell readers whom the counts are about, and whether they are of all such rows, or that nobody
    said so.

    Parameters
    ----------
    coverage
        What the publisher says; None for nothing.
    row_name
        What rows are called, in the plural.
    population
        Who is in the table, as the publisher says; None for nothing.

    Examples
    --------
    >>> print(covered("a random sample of 1 in 10", "homes", "Homes of Westmere"))
    Population: Homes of Westmere. Which homes are in the table: a random sample of 1 in 10.
    >>> print(covered(None, "homes"))
    The publisher has not said whether the table has all such homes or a sample of them.
    """
    about = f"Population: {_ended(population)} " if population else ""
    if coverage:
        return f"{about}Which {row_name} are in the table: {_ended(coverage)}"
    return (
        f"{about}The publisher has not said whether the table has all such {row_name} or a sample "
        "of them."
    )


def _ended(text: str) -> str:
    """A text with a full stop, unless it has an end."""
    return text if text.endswith((".", "!", "?")) else f"{text}."
