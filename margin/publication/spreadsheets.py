"""What makes CSV safe and readable for spreadsheets."""

from typing import Any

__all__ = ["BYTE_ORDER_MARK", "OPENING", "for_spreadsheet"]

BYTE_ORDER_MARK = "\ufeff"
"""The first character of a file that spreadsheets then read as UTF-8."""

OPENING = (
    "If a spreadsheet shows a CSV file in a single column, as Excel does in countries that write "
    "decimal commas, open an empty workbook and import the file with a comma as delimiter and "
    "UTF-8 as encoding: in Excel, Data > From Text/CSV."
)
"""How to open a CSV file where the list separator is a semicolon."""

_FORMULAE = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")


def for_spreadsheet(label: Any) -> Any:
    """Put an apostrophe before a label if a spreadsheet would run it as a formula.

    Numbers are returned unchanged. The characters that begin a formula are those that OWASP lists
    under "CSV injection". The script of report pages repeats this rule.
    """
    text = label.lstrip(" ") if isinstance(label, str) else ""
    return f"'{label}" if text.startswith(_FORMULAE) else label
