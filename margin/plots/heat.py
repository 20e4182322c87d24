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

__all__ = ["MOST_FACETS", "facets", "heat", "heat_size"]

_Texts = np.ndarray[Any, Any]
"""The texts of the cells of a map, in its shape."""

MOST_FACETS = 12
"""Largest number of heat maps of a marginal of three attributes."""

_MOST_LABELLED = 60
"""Largest number of cells of a heat map whose counts are written into the cells."""

_FONT = 7.5
"""Font size of the texts in cells, in points."""

_LABEL = 10
"""Font size of the labels of rows, in points."""

_LETTER = 0.55
"""The width of a letter in these texts, in parts of the font size."""

_SHARE = 0.775
"""The share of a figure's width that its axes and the labels of their rows have."""

_LINE = 3
"""Largest number of heat maps in a line; four are two lines of two."""


def heat_size(marginal: Marginal, level: float) -> tuple[float, float]:
    """The width and height in inches of a heat map with room for its texts, if they are few."""
    rows, columns = marginal.domain.sizes
    texts = _texts(marginal.counts, *marginal.interval(level))
    wanted = columns * _cell_width(texts) + _beside(marginal)
    width = wanted / _SHARE if texts.size <= _MOST_LABELLED else 0.0
    return min(max(7.0, width), 12.0), min(max(3.5, 1.5 + 0.36 * rows), 12.0)


def heat(
    marginal: Marginal,
    level: float,
    axes: "Axes",
) -> None:
    """Draw a marginal of two attributes as a map of colours.

    A small one shows each count with the bounds of its interval. The title of a large one says how
    wide the intervals are.
    """
    low, high = marginal.interval(level)
    texts = _texts(marginal.counts, low, high)
    fits = _fits(texts, axes, beside=_beside(marginal))
    image = _map(
        axes,
        marginal.counts,
        texts if fits else None,
        list(marginal.domain.values()),
        largest=float(marginal.counts.max()),
    )
    axes.set_ylabel(marginal.attributes[0])
    axes.set_xlabel(marginal.attributes[1])
    axes.set_title("" if fits else _widths(high - low, level), fontsize=TITLE)
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
    texts = _texts(counts, low, high)
    columns = 2 if form.size == 4 else min(_LINE, form.size)
    lines = math.ceil(form.size / columns)
    # A panel has room for the texts of its cells, if they are few.
    width = max(1.3 * forms[1].size * _cell_width(own) for own in texts)
    width = min(max(3.4, width), 5) if counts[0].size <= _MOST_LABELLED else 3.4
    height = 1.4 + 0.24 * forms[0].size
    figure = new_figure((1.5 + width * columns, 0.8 + lines * min(max(2.4, height), 8)))
    panels = figure.subplots(lines, columns, sharex=True, sharey=True, squeeze=False).ravel()
    fits = all(_fits(own, panels[0]) for own in texts)
    images = []
    for place, label in enumerate(form.captions):
        panel = panels[place]
        written = texts[place] if fits else None
        images.append(_map(panel, counts[place], written, forms, largest=float(counts.max())))
        panel.set_title(f"{name}: {label}", fontsize=TITLE)
    # The last line may have room left; its neighbours above then need the names of the columns.
    for panel in panels[form.size :]:
        panel.set_visible(False)
    for panel in panels[: form.size][-columns:]:
        panel.tick_params(labelbottom=True)
    figure.supylabel(names[0], fontsize=TITLE)
    figure.supxlabel(names[1], fontsize=TITLE)
    figure.colorbar(images[0], ax=list(panels), label="count")
    figure.suptitle("" if fits else _widths(high - low, level), fontsize=TITLE)
    first: Axes = panels[0]
    return first


def _texts(
    counts: Floats,
    low: Floats,
    high: Floats,
) -> _Texts:
    """The text of each cell: the count and, below it, the bounds of its interval if known."""
    texts = np.empty(counts.shape, object)
    for cell, count in np.ndenumerate(counts):
        known = np.isfinite(low[cell])
        bounds = f"\n{low[cell]:,.0f} to {high[cell]:,.0f}" if known else ""
        texts[cell] = f"{count:,.0f}{bounds}"
    return texts


def _cell_width(texts: _Texts) -> float:
    """The width of a cell that has room for the widest of some texts, in inches."""
    letters = max(len(line) for text in texts.flat for line in text.split("\n"))
    return letters * _LETTER * _FONT / 72


def _beside(marginal: Marginal) -> float:
    """The width of the labels of the rows, in inches."""
    captions = next(iter(marginal.domain.values())).captions
    return max(map(len, captions)) * _LETTER * _LABEL / 72


def _fits(
    texts: _Texts,
    axes: "Axes",
    beside: float = 0.0,
) -> bool:
    """Whether a map has room for the texts of its cells, with some inches for labels beside it."""
    if texts.size > _MOST_LABELLED:
        return False
    figure = axes.get_figure()
    room = axes.get_position().width * figure.get_figwidth()  # type: ignore[union-attr]
    return bool(texts.shape[1] * _cell_width(texts) + beside <= room)


def _widths(widths: Floats, level: float) -> str:
    """How wide the intervals of all cells are, in words; empty if it is not known."""
    if not np.isfinite(widths).all():
        return ""
    least, largest = (f"{bound:,.0f}" for bound in (widths.min(), widths.max()))
    width = largest if least == largest else f"from {least} to {largest}"
    return f"{100 * level:g} % intervals of counts are {width} rows wide"


def _map(
    axes: "Axes",
    counts: Floats,
    texts: _Texts | None,
    forms: list[Attribute],
    *,
    largest: float,
) -> Any:
    """Draw a table of counts, with texts in its cells unless there is no room for them."""
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
    if texts is None:
        return image
    style: dict[str, Any] = {
        "ha": "center",
        "va": "center",
        "fontsize": _FONT,
    }
    for (row, column), count in np.ndenumerate(counts):
        # Dark cells get white numbers.
        colour = "white" if count > largest / 2 else INK
        axes.text(column, row, str(texts[row, column]), color=colour, **style)
    return image
