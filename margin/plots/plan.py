"""The plot of a plan: expected error against the largest number of cells of a view."""

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from ..designs import allocate_budget, covering_views
from ..errors import MarginError
from ..mechanisms import PriView
from ..privacy.budget import PureDP

if TYPE_CHECKING:
    from ..plan import Plan

__all__ = ["draw", "errors_by_limit"]

_FACTOR = 2
"""The ratio of a cell limit to the one before."""

_MOST_CELLS = 1 << 16
"""The largest cell limit, unless the workload needs larger views."""

_LEAST_SHARE = 1e-6
"""The smallest share of the budget that a view gets."""

_LINE, _MARK, _OTHER = "#0072B2", "#D55E00", "#7f7f7f"
"""Colours that people with any colour vision can tell apart."""

_STYLES = (
    "--",
    ":",
    "-.",
    (0, (1, 3)),
    (0, (5, 5)),
    (0, (3, 1, 1, 1)),
)
"""The line styles of the other mechanisms."""


def errors_by_limit(plan: "Plan") -> list[tuple[int, float]]:
    """The expected error of views that cover the workload, for each of several cell limits.

    A cell limit is the largest number of cells that a view may have. The views get their best
    shares of the budget. The error is the squared error as in `Expectation.error`.
    """
    domain, workload = plan.domain, plan.workload
    power = 2 if isinstance(plan.budget, PureDP) else 1
    sets = [domain.axes(view) for view in workload]
    # Start at the smallest limit that allows every view of the workload.
    least = max(map(domain.cells, workload))
    last = max(_MOST_CELLS, 4 * least)
    limit = least
    points = []
    while True:
        covering = covering_views(
            domain.sizes,
            max_cells=limit,
            sets=sets,
        )
        found = allocate_budget(
            domain.sizes,
            covering,
            workload=sets,
            weights=workload.weights,
            power=power,
        )
        views = [_names(plan, axes) for axes in covering]
        shares = [max(share, _LEAST_SHARE) for share in found.shares]
        mechanism = PriView(
            views=views,
            shares=shares,
        )
        error = mechanism.expected_error(domain, workload, plan.budget)
        points.append((limit, error))
        # A single view covers everything: a larger limit changes nothing.
        if len(views) == 1 or limit * _FACTOR > last:
            return points
        limit *= _FACTOR


def _names(plan: "Plan", axes: Iterable[int]) -> tuple[str, ...]:
    """The attributes at these places of the domain."""
    names = plan.domain.attributes
    return tuple(names[axis] for axis in axes)


def draw(plan: "Plan", axes: Any = None) -> Any:
    """Draw a plan; see `Plan.plot`.

    Raises
    ------
    MarginError
        If matplotlib is not installed.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError:
        problem = (
            "plots need the package matplotlib, but it is not installed; run pip install "
            "'margin[plot]'"
        )
    else:
        if axes is None:
            figure = Figure(
                figsize=(6.4, 4.2),
                layout="constrained",
            )
            axes = figure.add_subplot()
        _draw(plan, axes)
        return axes
    raise MarginError(problem)


def _draw(plan: "Plan", axes: Any) -> None:
    # The line: covers by views within each limit, as root mean square errors of a count.
    weighted_cells = 0.0
    for view, weight in zip(plan.workload, plan.workload.weights, strict=True):
        weighted_cells += weight * plan.domain.cells(view)
    points = errors_by_limit(plan)
    limits = [limit for limit, _ in points]
    errors = [math.sqrt(error / weighted_cells) for _, error in points]
    axes.plot(
        limits,
        errors,
        "o-",
        color=_LINE,
        label="views within the limit that cover all",
    )

    # A star: the views that PriView chooses.
    for row in plan.table:
        if row.per_cell is None or not isinstance(row.mechanism, PriView):
            continue
        cells = [plan.domain.cells(view) for view in row.mechanism.views or ()]
        axes.plot(
            [max(cells)],
            [row.per_cell],
            "*",
            label=f"chosen by PriView ({row.note})",
            color=_MARK,
            markersize=14,
            zorder=5,
        )
    _others(plan, axes)

    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xlabel("largest view (cells)")
    axes.set_ylabel("expected error of a count (root mean square)")
    axes.set_title(f"{len(plan.workload)} views of {len(plan.domain)} attributes", fontsize=10)
    axes.legend(fontsize=8)
    axes.grid(
        True,
        which="both",
        alpha=0.2,
    )


def _others(plan: "Plan", axes: Any) -> None:
    """Draw a horizontal line for each other mechanism whose error is at most 30 times the least."""
    known = [(row, row.per_cell) for row in plan.table if row.per_cell is not None]
    least = min((error for _, error in known), default=0.0)
    near = []
    for row, error in known:
        if not isinstance(row.mechanism, PriView) and error <= 30 * least:
            near.append((row.name, error))
    for (name, error), style in zip(near, _STYLES, strict=False):
        axes.axhline(
            error,
            color=_OTHER,
            linestyle=style,
            label=name,
        )
