"""The plot of a plan: the expected error of each mechanism."""

from typing import TYPE_CHECKING, Any

from .style import BLUE, GREY, ORANGE, axes_of, log_errors, plain

if TYPE_CHECKING:
    from ..plan import Plan

__all__ = ["draw"]

_MOST = 20
"""Largest number of mechanisms that are drawn."""

_LONGEST = 64
"""Largest number of letters of a mechanism's name and note."""


def draw(plan: "Plan", axes: Any = None) -> Any:
    """Draw a plan; see `Plan.plot`.

    Raises
    ------
    MarginError
        If matplotlib is not installed.
    """
    # Rows with an error come first, so that their numbers are those of the printed plan.
    known = [row for row in plan.table if row.per_cell is not None]
    rows = known[:_MOST]
    height = 1.1 + 0.26 * len(rows)
    drawn = axes_of(axes, size=(9, max(2.0, height)))
    places = range(len(rows))
    errors = [float(row.per_cell or 0) for row in rows]

    # A line from the best error to each other one shows the factor between them.
    if errors:
        drawn.hlines(
            places,
            errors[0],
            errors,
            color=GREY,
            linewidth=1.2,
        )
    drawn.plot(
        errors[1:],
        places[1:],
        "o",
        color=BLUE,
    )
    drawn.plot(
        errors[:1],
        places[:1],
        "D",
        color=ORANGE,
        markeredgecolor="black",
        markersize=8,
    )
    drawn.set_yticks(
        places, [_label(f"{number} {row.name}", row.note) for number, row in enumerate(rows, 1)]
    )
    drawn.set_ylim(len(rows) - 0.5, -0.5)
    log_errors(drawn)
    drawn.set_xlabel("expected error of a count (root mean square, in rows)")
    count = len(plan.workload)
    views = f"{count} view{'' if count == 1 else 's'}"
    title = f"{views} of {len(plan.domain)} attributes; the best is marked"
    if len(rows) < len(known):
        title += f"\nthe first {len(rows)} of {len(known)} mechanisms"
    drawn.set_title(title, fontsize=10)
    return plain(drawn)


def _label(name: str, note: str) -> str:
    """The name of a mechanism and what it measures, shortened."""
    whole = f"{name}: {note}" if note else name
    return whole if len(whole) <= _LONGEST else f"{whole[: _LONGEST - 3]}..."
