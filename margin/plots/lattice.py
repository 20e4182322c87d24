"""The drawing of the sets of attributes that views share, level by level."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from ..errors import DomainError
from ..solvers import intersection_lattice
from .style import BLUE, GREY, ORANGE, axes_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_lattice"]

_MOST_NODES = 200
"""Largest number of sets that are drawn."""


def plot_lattice(
    views: Iterable[Sequence[Any]],
    *,
    axes: "Axes | None" = None,
) -> "Axes":
    """Draw the intersections of views as a graph, smaller sets below larger ones.

    An edge leads from a set to each of its maximal proper subsets. The views are square frames, and
    their intersections are round ones.

    Parameters
    ----------
    views
        The attributes of each view, by names or by numbers.
    axes
        The axes to draw on. By default, a new figure is made.

    Returns
    -------
    matplotlib.axes.Axes
        The axes with the drawing.

    Raises
    ------
    DomainError
        If there are more than 200 sets.
    MarginError
        If matplotlib is not installed.
    """
    import networkx

    given = [tuple(sorted(view)) for view in views]
    lattice = intersection_lattice(given)
    if len(lattice) > _MOST_NODES:
        raise DomainError(
            f"a drawing shows at most {_MOST_NODES} sets, but these views have {len(lattice)} "
            "intersections; draw some of the views"
        )
    drawn = axes_of(axes)
    places = networkx.multipartite_layout(lattice, subset_key="level", align="horizontal")
    networkx.draw_networkx_edges(lattice, places, ax=drawn, arrows=False, edge_color=GREY)
    for members, place in places.items():
        is_view = members in given
        drawn.annotate(
            ", ".join(map(str, members)) or "{}",
            place,
            ha="center",
            va="center",
            bbox={
                "boxstyle": "square" if is_view else "round",
                "facecolor": "white",
                "edgecolor": BLUE if is_view else ORANGE,
            },
        )
    drawn.set_axis_off()
    drawn.margins(0.15)
    return drawn
