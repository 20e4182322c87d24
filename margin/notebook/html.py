"""`html_table`: a heading and a data frame as HTML."""

import html
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas

__all__ = ["html_table"]

_MOST_ROWS = 60
"""Largest number of rows that are shown. Of a longer table, the middle is left out."""


def html_table(
    heading: str,
    table: "pandas.DataFrame",
    *,
    index: bool = True,
) -> str:
    """Write a heading and a table as HTML.

    All texts are escaped, so names and categories cannot add elements to a notebook.

    Parameters
    ----------
    heading
        The text above the table.
    table
        At most 60 rows are shown.
    index
        Whether to show the index of the table.
    """
    rows = table.to_html(
        max_rows=_MOST_ROWS,
        border=0,
        index=index,
        float_format=_number,
        na_rep="",
    )
    return f"<p>{html.escape(heading)}</p>\n{rows}"


def _number(value: float) -> str:
    """A number for people: whole from 1,000 on, with four digits below."""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"
