"""What makes CSV safe and readable for spreadsheets."""

from typing import Any

__all__ = ["BYTE_ORDER_MARK", "for_spreadsheet"]

BYTE_ORDER_MARK = "\ufeff"
"""The first character of a file that spreadsheets then read as UTF-8."""

_FORMULAE = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")


def for_spreadsheet(label: Any) -> Any:
    """Put an apostrophe before a label if a spreadsheet would run it as a formula.

    Numbers are returned unchanged. The characters that begin a formula are those that OWASP lists
    under "CSV injection". The script of report pages repeats this rule.
    """
    text = label.lstrip(" ") if isinstance(label, str) else ""
    return f"'{label}" if text.startswith(_FORMULAE) else label
