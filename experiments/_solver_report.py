"""What the study of the solvers leaves behind, beside its rows: plots."""

from collections import defaultdict
from pathlib import Path

from . import _plots
from ._pages import markdown
from ._study import Row, append, read

__all__ = ["Row", "append", "markdown", "plots", "read"]

_PANELS = {
    "maximum entropy under noisy moments": ("Newton", "TrustExact", "LBFGS", "Clarabel", "Cone"),
    "maximum entropy otherwise": ("Ladder", "IPF", "MirrorDescent"),
    "other objectives": ("LeastSquares", "MinimaxLP"),
}
"""By panel how its solvers' names begin: at most eight in each, so that no two look alike."""


def plots(rows: list[Row], folder: Path) -> list[Path]:
    """Time against size of query, and error against time, one picture of each for each table, views and noise."""
    groups: dict[tuple[str, ...], list[Row]] = defaultdict(list)
    for row in rows:
        if row["milliseconds"]:
            groups[row["table"], row["views"], row["epsilon"]].append(row)
    written = []
    for (table, views, epsilon), members in groups.items():
        name = "-".join((table, views.replace(" ", ""), epsilon))
        for kind, across, up in (("time", "k", "milliseconds"), ("error", "milliseconds", "error")):
            panels = {title: _curves(members, starts, across, up) for title, starts in _PANELS.items()}
            written += _plots.lines(
                folder / f"{kind}-{name}",
                panels,
                xlabel=_LABELS[across],
                ylabel=_LABELS[up],
                title=f"{table}, {views}, epsilon {epsilon}",
                columns=3,
                xlog=kind == "error",
            )
    return written


_LABELS = {"k": "attributes asked for", "milliseconds": "milliseconds a query", "error": "L2 error / rows"}


def _curves(rows: list[Row], starts: tuple[str, ...], across: str, up: str) -> dict[str, list[list[float]]]:
    """A line for each solver of a panel, over the sizes of query."""
    own = [row for row in rows if row["solver"].startswith(starts) and row[up]]
    return {
        solver: [[float(row[column]) for row in own if row["solver"] == solver] for column in (across, up)]
        for solver in dict.fromkeys(row["solver"] for row in own)
    }
