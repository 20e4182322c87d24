"""The picture of a plan: expected error against the cell limit of the views."""

import math
from typing import TYPE_CHECKING, Any

from ..designs import allocate_budget, covering_views
from ..errors import MarginError
from ..mechanisms import PriView
from ..privacy.budget import PureDP

if TYPE_CHECKING:
    from ..plan import Plan

__all__ = ["draw", "errors_by_limit"]

_FACTOR = 2  # from one cell limit to the next
_MOST_CELLS = 1 << 16
_COLOURS = ("#0072B2", "#D55E00", "#7f7f7f")  # told apart with any colour vision


def errors_by_limit(plan: "Plan") -> list[tuple[int, float]]:
    """For each of several cell limits the expected error of views that cover the workload within
    it, at their best shares."""
    domain, workload = plan.domain, plan.workload
    power = 2 if isinstance(plan.budget, PureDP) else 1
    sets = [domain.axes(view) for view in workload]
    least = max(map(domain.cells, workload))
    points = []
    limit = least
    while True:
        covering = covering_views(domain.sizes, max_cells=limit, sets=sets)
        found = allocate_budget(
            domain.sizes, covering, workload=sets, weights=workload.weights, power=power
        )
        views = [tuple(domain.attributes[axis] for axis in view) for view in covering]
        shares = [max(share, 1e-6) for share in found.shares]
        priced = PriView(views=views, shares=shares).expected_error(domain, workload, plan.budget)
        points.append((limit, priced))
        if len(views) == 1 or limit * _FACTOR > max(_MOST_CELLS, 4 * least):
            return points
        limit *= _FACTOR


def draw(plan: "Plan", axes: Any = None) -> Any:
    """See `Plan.plot`."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        problem = "matplotlib is not installed: pip install 'margin[plot]'"
    else:
        if axes is None:
            axes = Figure(figsize=(6.4, 4.2), layout="constrained").add_subplot()
        _draw(plan, axes)
        return axes
    raise MarginError(problem)


def _draw(plan: "Plan", axes: Any) -> None:
    cells = sum(
        w * plan.domain.cells(view)
        for view, w in zip(plan.workload, plan.workload.weights, strict=True)
    )
    limits, errors = zip(*errors_by_limit(plan), strict=True)
    line, mark, rest = _COLOURS
    axes.plot(
        limits,
        [math.sqrt(e / cells) for e in errors],
        "o-",
        color=line,
        label="covers within the limit",
    )
    for row in plan.table:
        if row.per_cell is None:
            continue
        if isinstance(row.mechanism, PriView):
            largest = max(map(plan.domain.cells, row.mechanism.views or ()))
            label = f"PriView's own choice ({row.note})"
            axes.plot(
                [largest], [row.per_cell], "*", color=mark, markersize=14, label=label, zorder=5
            )
    _others(plan, axes, rest)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xlabel("largest view (cells)")
    axes.set_ylabel("expected error of a count (root mean square)")
    axes.set_title(f"{len(plan.workload)} views of {len(plan.domain)} attributes", fontsize=10)
    axes.legend(fontsize=8)
    axes.grid(True, which="both", alpha=0.2)


def _others(plan: "Plan", axes: Any, colour: str) -> None:
    """A line for each other mechanism that is not far worse than the best."""
    least = min((row.per_cell for row in plan.table if row.per_cell is not None), default=0.0)
    styles = ("--", ":", "-.", (0, (1, 3)), (0, (5, 5)), (0, (3, 1, 1, 1)))
    others = [
        row
        for row in plan.table
        if row.per_cell is not None and not isinstance(row.mechanism, PriView)
    ]
    near = [row for row in others if row.per_cell is not None and row.per_cell <= 30 * least]
    for row, style in zip(near, styles, strict=False):
        axes.axhline(row.per_cell, color=colour, linestyle=style, label=row.name)
