"""The summary of a comparison as a table for a paper: Markdown, LaTeX or CSV."""

import csv
import io
import math
from collections.abc import Iterable
from typing import Any, Literal

from .facts import facts
from .notes import notes
from .solves import solves
from .summaries import SHIFT, summary
from .times import Clock, Row

__all__ = ["Format", "caption", "shown", "table_of"]

Format = Literal["markdown", "latex", "csv"]

_LEAST_INTEGRAL = 1e-3
"""Smallest primal integral, and smallest difference of two, that a table shows."""

_NOISE = 0.1
"""Two means that differ by less than this share may be equal: the machine alone moves them so."""

_OBJECTIVES = ("objective", "best known", "bound", "dual bound")
"""Columns that have more digits than others."""

_LATEX = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        **{letter: f"\\{letter}" for letter in "&%$#_{}"},
        "~": r"\textasciitilde{}",
        "<": r"\textless{}",
        "^": r"\textasciicircum{}",
    }
)


def table_of(
    rows: Iterable[Row],
    form: Format = "markdown",
    *,
    shift: float = SHIFT,
    clock: Clock = "cpu",
    warm: bool = True,
    gap: float | None = None,
    each: bool = False,
) -> str:
    r"""Write the `summary` of a comparison as a table, or its `solves`.

    Parameters
    ----------
    rows
        The rows of a comparison.
    form
        "markdown", "latex" (with the package booktabs; comments say what it was made with, what
        the columns hold, and the `notes`) or "csv" (all digits).
    shift, clock, warm, gap
        See `shifted_geometric_means`.
    each
        Whether to write a line for each instance and solver (`solves`), not one for each solver.

    Raises
    ------
    ValueError
        If the form is unknown.
    """
    listed = list(rows)
    if each:
        lines = solves(listed, clock=clock, warm=warm)
    else:
        lines = summary(listed, shift=shift, clock=clock, warm=warm, gap=gap)
    writers = {"markdown": _markdown, "latex": _latex, "csv": _csv}
    if form not in writers:
        raise ValueError(f"form must be markdown, latex or csv, but it is {form!r}; choose one")
    written = writers[form](lines)
    if form == "latex":
        # Comments, so that nobody has to look for what a table of a paper was made with.
        told = ["; ".join(facts(listed)), *caption(clock, each=each), *notes(listed)]
        return "".join(f"% {' '.join(text.split())}\n" for text in told) + written
    return written


def caption(clock: Clock = "cpu", *, each: bool = False) -> list[str]:
    """What the columns of a `summary`, or of `solves`, hold, in words: one line for each kind."""
    kind = "processor" if clock == "cpu" else "wall"
    if each:
        return [
            "objective: recomputed from the answer; best known: that of the instance, or a better "
            "one of these rows; gap: relative to the size of the best known, at least 0.001",
            "bound: what the solver claims; dual bound: what its multipliers prove, computed here",
            f"seconds: {kind} seconds of the fastest warm solve, or "
            "of the first one if there is no other; - is not known",
        ]
    return [
        "instances: those that the solver was tried on, the sum of solved, feasible, inaccurate, "
        "time, wrong and other; claimed: the solved ones that the solver calls optimal, which "
        "nobody proves; inaccurate: called optimal, but right to its own tolerance alone; "
        "other: no answer, an error, the end of the process, or the memory limit",
        "not tried: the solver does not take them, the machine failed it, or it did not run on "
        "them; lost: those that the machine failed; a solver that lost any has no mean, no primal "
        "integral, and comes last, as a loss might have been a failure",
        "time: ended after the time limit, or an answer that came later than it; solvers are in "
        "order of solved, then of mean seconds",
        f"mean seconds: the geometric mean of the {kind} seconds, shifted by {SHIFT:g} s; an "
        "instance that is not solved counts with the time limit, no time is above it, and a solver "
        "that solved none has no mean",
        "ratio: that of the mean to the mean of the first solver that was tried on all instances; "
        "below 1 for one that is faster and solves less; one with * is over fewer instances, and "
        f"one with ~ is within {_NOISE:.0%} of 1, which may be noise",
        f"first solve: the median {kind} seconds of the first solves, with the imports, of the "
        "instances that were solved; - if none was",
        "primal integral: the mean gap over the seconds of the time limit, from 0 (the best "
        "known at once) to 1 (no answer in time); gaps are relative to the size of the best known "
        "objective, at least 0.001, and at most 1; as the mean, it is of the fastest warm solve, "
        "or of the first one if there is no warm one; - for a solver that does not tell its "
        "answers on the way",
    ]


def shown(name: str, line: dict[str, Any]) -> str:
    """A value of a line of the summary as a text of a few digits."""
    value = line[name]
    if isinstance(value, str | int):
        return str(value)
    if math.isnan(value):
        return "-"
    if name == "primal integral":
        # Its clock is that of the wall: smaller differences are those of the machine.
        return f"<{_LEAST_INTEGRAL:g}" if value < _LEAST_INTEGRAL else f"{value:.3f}"
    if name in _OBJECTIVES:
        return f"{value:.8g}"
    if name == "peak MB":
        return f"{value:.0f}"
    if name == "ratio":
        number = (
            f"{value:.1f}"
            if 1 <= value < 100
            else f"{value:,.2g}"
            if value < 1
            else f"{value:,.0f}"
        )
        near = "~" if value != 1 and 1 / (1 + _NOISE) <= value <= 1 + _NOISE else ""
        return f"{near}{number}*" if line["not tried"] else f"{near}{number}"
    return f"{value:.3g}"


def _markdown(lines: list[dict[str, Any]]) -> str:
    names = list(lines[0])
    kinds = ["---" if isinstance(lines[0][name], str) else "---:" for name in names]
    cells = [[shown(name, line).replace("|", "\\|") for name in names] for line in lines]
    return "\n".join(f"| {' | '.join(row)} |" for row in [names, kinds, *cells]) + "\n"


def _latex(lines: list[dict[str, Any]]) -> str:
    names = list(lines[0])
    columns = "".join("l" if isinstance(lines[0][name], str) else "r" for name in names)
    written = [rf"\begin{{tabular}}{{{columns}}}", r"\toprule", _latex_row(names), r"\midrule"]
    family = lines[0]["family"]
    for line in lines:
        if line["family"] != family:
            written.append(r"\midrule")
            family = line["family"]
        written.append(_latex_row([shown(name, line) for name in names]))
    return "\n".join([*written, r"\bottomrule", r"\end{tabular}"]) + "\n"


def _latex_row(cells: list[str]) -> str:
    return " & ".join(cell.translate(_LATEX) for cell in cells) + r" \\"


def _csv(lines: list[dict[str, Any]]) -> str:
    file = io.StringIO()
    writer = csv.DictWriter(file, list(lines[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(lines)
    return file.getvalue()
