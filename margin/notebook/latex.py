"""`latex_table`: a heading and a table of texts as a table for LaTeX."""

from collections.abc import Iterable, Sequence

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


def latex_table(heading: str, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    r"""Write a table for LaTeX with the rules of the package booktabs, below a comment.

    All texts are escaped. The first column is aligned to the left, the others to the right.

    Parameters
    ----------
    heading
        The text of the comment.
    columns
        The headings of the columns.
    rows
        The texts of each row, as many as there are columns.

    Examples
    --------
    >>> print(latex_table("two", ["name", "L2/N"], [["a_b", "0.25"], ["c", "0.33"]]), end="")
    % two
    \begin{tabular}{lr}
    \toprule
    name & L2/N \\
    \midrule
    a\_b & 0.25 \\
    c & 0.33 \\
    \bottomrule
    \end{tabular}
    """
    sides = "l" + "r" * (len(columns) - 1)
    lines = [
        f"% {' '.join(heading.split())}",
        rf"\begin{{tabular}}{{{sides}}}",
        r"\toprule",
        _line(columns),
        r"\midrule",
        *map(_line, rows),
        r"\bottomrule",
        r"\end{tabular}",
    ]
    return "\n".join(lines) + "\n"


def _line(cells: Iterable[str]) -> str:
    """A row of the table."""
    return " & ".join(cell.translate(_ESCAPED) for cell in cells) + r" \\"
