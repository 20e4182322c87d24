"""`adding`: how readers give bounds to a sum or a difference of lines of a measured table."""

from ..privacy.words import ROWS

__all__ = ["ADDED_UP", "adding"]

ADDED_UP = (
    "A reconstructed table is estimated from smaller tables, because its attributes were not "
    "measured together. A measured table may show another number for the same categories than its "
    "lines add up to, on the page and in the files: then quote the measured number."
)
"""What a reader of a publication with reconstructed tables must know before quoting a sum."""

_ADDING = (
    "For the sum of two lines of a measured table, add their low bounds, and add their high "
    "bounds. For a difference, the bounds are low minus high, and high minus low. The {rows} "
    "outside a line are such a difference: all {rows} minus that line. These bounds are wider than "
    "need be, and hold with a probability of about 95 % or more. Do not add up the bounds of more "
    "than two lines: low bounds stop at 0, so their sum may be too high. "
)

_SMALLER = (
    "For a sum of more lines, use a table with fewer attributes, in which the sum is a line. If "
    "there is none, {} can compute the sum with its bounds."
)
_NO_SMALLER = "For a sum of more lines, {} can compute the sum with its bounds."


def adding(*, has_contact: bool, has_smaller: bool, row_name: str = ROWS) -> str:
    """How to give bounds to a sum or a difference, in words.

    Let two errors have the standard deviations s and t. The error of their sum or difference has at
    most s + t, whatever their correlation is, so bounds at the ends are not too narrow. But the low
    bound of an empty cell stops at 0, and a sum of many such bounds is too high.

    Parameters
    ----------
    has_contact
        Whether the publication names a contact whom readers can ask.
    has_smaller
        Whether a table of the publication has some of the attributes of another one, so that sums
        of lines of one table are lines of another one.
    row_name
        What rows are called, in the plural, such as "people".
    """
    who = "the contact" if has_contact else "whoever has the file of the release"
    more = _SMALLER if has_smaller else _NO_SMALLER
    return _ADDING.format(rows=row_name) + more.format(who)
