"""`latex_table`: a heading and a data frame as a table for LaTeX."""

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas

__all__ = ["latex_table"]

_ESCAPED = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        "|": r"\textbar{}",
        **{mark: f"\\{mark}" for mark in "&%$#_{}"},
    }
)
"""What stands in LaTeX for a character that has a meaning there."""


def latex_table(heading: str, table: "pandas.DataFrame") -> str:
    r"""Write a table for LaTeX with the rules of the package booktabs, below a comment.

    All texts are escaped. Numbers have four digits; NaN is a dash.

    Parameters
    ----------
    heading
        The text of the comment.
    table
        Columns of texts or of numbers.

    Examples
    --------
    >>> import pandas
    >>> print(latex_table("two", pandas.DataFrame({"name": ["a_b", "c"], "L2/N": [0.25, 1 / 3]})))
    % two
    \begin{tabular}{lr}
    \toprule
    name & L2/N \\
    \midrule
    a\_b & 0.25 \\
    c & 0.3333 \\
    \bottomrule
    \end{tabular}
    """
    first, *rest = table.itertuples(index=False, name=None)
    sides = "".join("l" if isinstance(value, str) else "r" for value in first)
    return "\n".join(
        [
            f"% {' '.join(heading.split())}",
            rf"\begin{{tabular}}{{{sides}}}",
            r"\toprule",
            _line(table.columns),
            r"\midrule",
            *map(_line, [first, *rest]),
            r"\bottomrule",
            r"\end{tabular}",
        ]
    )


def _line(cells: Iterable[str | float]) -> str:
    """A row of the table."""
    return " & ".join(map(_cell, cells)) + r" \\"


def _cell(value: str | float) -> str:
    if isinstance(value, str):
        return value.translate(_ESCAPED)
    return "--" if math.isnan(value) else f"{value:.4g}"
