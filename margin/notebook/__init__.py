"""Results as HTML, for notebooks, and as LaTeX: a heading and a table."""

from .html import html_table
from .latex import latex_table

__all__ = ["html_table", "latex_table"]
