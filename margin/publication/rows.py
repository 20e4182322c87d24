"""`unsaid`: that a publication does not say what a row stands for, in words."""

__all__ = ["unsaid"]


def unsaid(
    *,
    description: str | None,
    unit: str | None,
    contact: str | None,
) -> str:
    """Tell readers that they do not know what a row is, and whom to ask; empty if they are told.

    Parameters
    ----------
    description
        What the publisher says of the table; None for nothing.
    unit
        The column whose rows are protected together; None if each row is by itself.
    contact
        Whom readers can ask; None if the publisher does not say.

    Examples
    --------
    >>> print(unsaid(description=None, unit=None, contact="statistics@example.org"))
    The publisher has not said what a row stands for (a person, a household, an answer). Ask them: \
statistics@example.org
    """
    if description:
        return ""
    ask = f"Ask them: {contact}" if contact else "Ask whoever gave this to you."
    together = f"Rows with the same “{unit}” belong together. " if unit is not None else ""
    return (
        "The publisher has not said what a row stands for (a person, a household, an answer). "
        f"{together}{ask}"
    )
