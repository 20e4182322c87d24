"""Results as HTML, for notebooks: a heading and a table."""

from .html import html_table

__all__ = ["html_table"]
