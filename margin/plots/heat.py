"""Heat maps of the counts of a marginal."""

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from .._types import Floats
from ..domain.attribute import Attribute
from ..domain.marginal import Marginal
from .style import INK, TITLE, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["MOST_FACETS", "facets", "heat"]

MOST_FACETS = 12
"""Largest number of heat maps of a marginal of three attributes."""

_MOST_LABELLED = 60
"""Largest number of cells of a heat map whose counts are written into the cells."""

_LINE = 3
"""Largest number of heat maps in a line; four are two lines of two."""


def heat(
    marginal: Marginal,
    level: float,
    axes: "Axes",
) -> None:
    """Draw a marginal of two attributes as a map of colours.

    A small one shows each count with half the width of its interval. The title of a large one says
    how wide the intervals are.
    """
    low, high = marginal.interval(level)
    half = (high - low) / 2
    image = _map(
        axes,
        marginal.counts,
        half,
        list(marginal.domain.values()),
        largest=float(marginal.counts.max()),
    )
    axes.set_ylabel(marginal.attributes[0])
    axes.set_xlabel(marginal.attributes[1])
    axes.set_title(_widths(half, level), fontsize=TITLE)
    axes.get_figure().colorbar(image, ax=axes, label="count")  # type: ignore[union-attr]


def facets(marginal: Marginal, level: float) -> "Axes":
    """Draw a marginal of three attributes as a heat map for each category of the attribute that has
    the fewest. All have the same colours. The result is the axes of the first one.

    The title says how wide the intervals are, if the cells have no room for it.
    """
    axis = int(np.argmin(marginal.domain.sizes))
    names, forms = list(marginal.attributes), list(marginal.domain.values())
    name, form = names.pop(axis), forms.pop(axis)
    low, high = (np.moveaxis(bound, axis, 0) for bound in marginal.interval(level))
    counts = np.moveaxis(marginal.counts, axis, 0)
    half = (high - low) / 2
    columns = 2 if form.size == 4 else min(_LINE, form.size)
    lines = math.ceil(form.size / columns)
    height = 1.4 + 0.24 * forms[0].size
    figure = new_figure((1.5 + 3.4 * columns, 0.8 + lines * min(max(2.4, height), 8)))
    panels = figure.subplots(lines, columns, sharex=True, sharey=True, squeeze=False).ravel()
    images = []
    for place, label in enumerate(form.captions):
        panel = panels[place]
        images.append(_map(panel, counts[place], half[place], forms, largest=float(counts.max())))
        panel.set_title(f"{name}: {label}", fontsize=TITLE)
    # The last line may have room left; its neighbours above then need the names of the columns.
    for panel in panels[form.size :]:
        panel.set_visible(False)
    for panel in panels[: form.size][-columns:]:
        panel.tick_params(labelbottom=True)
    figure.supylabel(names[0], fontsize=TITLE)
    figure.supxlabel(names[1], fontsize=TITLE)
    figure.colorbar(images[0], ax=list(panels), label="count")
    figure.suptitle(_widths(half, level, panels=form.size), fontsize=TITLE)
    first: Axes = panels[0]
    return first


def _widths(half: Floats, level: float, *, panels: int = 1) -> str:
    """How wide the intervals of all cells are, in words; empty if the cells say it, or if it is not
    known."""
    if half.size <= _MOST_LABELLED * panels or not np.isfinite(half).all():
        return ""
    least, largest = (f"{bound:,.0f}" for bound in (half.min(), half.max()))
    width = largest if least == largest else f"{least} to {largest}"
    return f"{100 * level:g} % interval of a count: \u00b1 {width}"


def _map(
    axes: "Axes",
    counts: Floats,
    half: Floats,
    forms: list[Attribute],
    *,
    largest: float,
) -> Any:
    """Draw a table of counts. A small one has the numbers, and half the widths of the intervals."""
    image = axes.imshow(
        counts,
        cmap="cividis_r",
        aspect="auto",
        vmin=0,
        vmax=largest,
    )
    vertical, horizontal = forms
    axes.set_xticks(
        range(horizontal.size),
        list(horizontal.captions),
        rotation=40,
        ha="right",
    )
    axes.set_yticks(range(vertical.size), list(vertical.captions))
    if counts.size > _MOST_LABELLED:
        return image
    style: dict[str, Any] = {
        "ha": "center",
        "va": "center",
        "fontsize": 7.5,
    }
    for (row, column), count in np.ndenumerate(counts):
        # Dark cells get white numbers.
        colour = "white" if count > largest / 2 else INK
        error = half[row, column]
        bound = f"\n\u00b1 {error:,.0f}" if np.isfinite(error) else ""
        axes.text(column, row, f"{count:,.0f}{bound}", color=colour, **style)
    return image
