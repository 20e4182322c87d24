"""What a publication does not say of its rows and its attributes, in words."""

from collections.abc import Sequence

__all__ = ["unexplained", "unsaid"]


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


def unexplained(names: Sequence[str], contact: str | None) -> str:
    """Tell readers which attributes have no description, and whom to ask; empty without any.

    Parameters
    ----------
    names
        The attributes without a description.
    contact
        Whom readers can ask; None if the publisher does not say.

    Examples
    --------
    >>> print(unexplained(["visits"], "statistics@example.org"))
    The publisher has not declared what visits means, such as its unit, time or place. If the text \
at the top does not tell it, ask them: statistics@example.org
    """
    if not names:
        return ""
    *others, last = names
    listed = f"{', '.join(others)} and {last}" if others else last
    mean = "mean, such as their" if others else "means, such as its"
    ask = f"ask them: {contact}" if contact else "ask whoever gave this to you."
    return (
        f"The publisher has not declared what {listed} {mean} unit, time or place. If the text at "
        f"the top does not tell it, {ask}"
    )
