"""Pictures of marginals, of expected errors and of comparisons, by matplotlib; for print and for
all eyes.

Colours are those of Okabe and Ito, which people who see few colours can tell apart; nothing is told
by colour alone.
"""

import contextlib
import itertools
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..domain.domain import View
from ..domain.marginal import Marginal
from ..errors import DomainError, MarginError
from ..synopses.synopsis import Synopsis

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ..compare import Comparison

__all__ = ["answered", "noise_errors", "plot_comparison", "plot_error", "plot_marginal"]

BLUE, ORANGE, INK = "#0072B2", "#E69F00", "#222222"

_MOST_BARS = 60
_MOST_CELLS = 1 << 14


def plot_marginal(marginal: Marginal, *, level: float = 0.95, axes: "Axes | None" = None) -> "Axes":
    """A marginal as bars with their intervals; of two attributes with three categories or more, as
    a heat map.

    Parameters
    ----------
    marginal
        Of at most 60 cells, or of two attributes.
    level
        Of the intervals; see `Marginal.interval`.
    axes
        Where to draw; a new figure when not given.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    DomainError
        When there are too many cells to draw.
    MarginError
        When matplotlib is not installed.
    """
    drawn = _axes(axes)
    sizes = marginal.domain.sizes
    if len(sizes) == 2 and min(sizes) > 2 and math.prod(sizes) <= _MOST_CELLS:
        _heat(marginal, drawn)
    elif marginal.counts.size <= _MOST_BARS:
        _bars(marginal, level, drawn)
    else:
        raise DomainError(
            f"a marginal of {marginal.counts.size} cells is too large to draw: at most {_MOST_BARS} bars, or two "
            "attributes as a heat map; project it to fewer attributes"
        )
    return drawn


def plot_error(
    synopsis: Synopsis, *, sizes: Sequence[int] = (1, 2, 3, 4), axes: "Axes | None" = None
) -> "Axes":
    """The noise part of the expected error of marginals, L2 over the number of rows, by their
    number of attributes.

    Parameters
    ----------
    synopsis
        Whose answers know their variance.
    sizes
        Numbers of attributes. Of each up to 100 sets are drawn, always the same.
    axes
        Where to draw; a new figure when not given.

    Raises
    ------
    DomainError
        When no answer knows its variance.
    """
    found = {size: errors for size in sizes if (errors := noise_errors(synopsis, size))}
    if not found:
        raise DomainError("the answers of this synopsis do not know the variance of their noise")
    drawn = _axes(axes)
    drawn.boxplot(
        list(found.values()),
        whis=(5, 95),
        showfliers=False,
        medianprops={"color": BLUE, "linewidth": 2},
    )
    drawn.set_xticks(range(1, len(found) + 1), list(map(str, found)))
    drawn.set(xlabel="attributes", ylabel="noise part of the error / rows", ylim=(0, None))
    drawn.set_title("Expected error (box: half of the sets, whiskers: 5 to 95 %)", fontsize=10)
    return _plain(drawn)


def plot_comparison(comparison: "Comparison", *, axes: "Axes | None" = None) -> "Figure":
    """The errors of each mechanism of a comparison: quartiles, 5 and 95 percentiles, and the mean
    as a diamond.

    Parameters
    ----------
    comparison
        Of which at least one mechanism worked.
    axes
        Where to draw; a new figure when not given.

    Returns
    -------
    matplotlib.figure.Figure
        That of the axes.

    Raises
    ------
    DomainError
        When no mechanism worked.
    MarginError
        When matplotlib is not installed.
    """
    good = [row for row in comparison.rows if row.errors][::-1]
    if not good:
        raise DomainError("no mechanism of this comparison worked: there is nothing to draw")
    drawn = _axes(axes, size=(7, 1.2 + 0.45 * len(good)))
    drawn.boxplot(
        [row.errors for row in good],
        orientation="horizontal",
        whis=(5, 95),
        showfliers=False,
        showmeans=True,
        medianprops={"color": BLUE, "linewidth": 2},
        meanprops={"marker": "D", "markerfacecolor": ORANGE, "markeredgecolor": INK},
    )
    drawn.set_yticks(range(1, len(good) + 1), [row.name for row in good])
    drawn.set(xscale="log", xlabel="|answer - truth| / rows")
    for ticks in (drawn.xaxis.set_major_formatter, drawn.xaxis.set_minor_formatter):
        ticks(lambda error, _: f"{error:g}")
    drawn.tick_params(axis="x", which="minor", labelsize=7)
    drawn.set_title("Simulation on the true table: not private", fontsize=10)
    figure: Figure = _plain(drawn).get_figure()  # type: ignore[assignment]
    return figure


def _axes(axes: "Axes | None", size: tuple[float, float] = (7, 4.5)) -> "Axes":
    if axes is not None:
        return axes
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MarginError("plots need matplotlib: pip install 'margin[plot]'") from None
    drawn: Axes = Figure(figsize=size, layout="constrained").subplots()
    return drawn


def _plain(axes: "Axes") -> "Axes":
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="both", color="#dddddd", linewidth=0.6)
    axes.set_axisbelow(True)
    return axes


def _labels(marginal: Marginal) -> list[str]:
    kinds = [attribute.labels for attribute in marginal.domain.values()]
    return [", ".join(map(str, labels)) for labels in itertools.product(*kinds)]


def _bars(marginal: Marginal, level: float, axes: "Axes") -> None:
    low, high = (bound.ravel() for bound in marginal.interval(level))
    counts, labels = marginal.counts.ravel(), _labels(marginal)
    places = np.arange(counts.size)
    axes.barh(places, counts, color=BLUE, alpha=0.75)
    if np.isfinite(low).all():
        axes.hlines(places, low, high, color=INK, linewidth=1.5)
    axes.set_yticks(places, labels)
    axes.invert_yaxis()
    axes.set(xlabel="count", ylabel=", ".join(marginal.attributes), xlim=(0, None))
    _plain(axes)
    axes.grid(visible=False, axis="y")


def _heat(marginal: Marginal, axes: "Axes") -> None:
    rows, columns = (list(map(str, attribute.labels)) for attribute in marginal.domain.values())
    image: Any = axes.imshow(marginal.counts, cmap="cividis_r", aspect="auto", vmin=0)
    axes.set_xticks(range(len(columns)), columns, rotation=40, ha="right")
    axes.set_yticks(range(len(rows)), rows)
    axes.set(ylabel=marginal.attributes[0], xlabel=marginal.attributes[1])
    if marginal.counts.size <= 150:
        middle = marginal.counts.max() / 2
        for (row, column), count in np.ndenumerate(marginal.counts):
            axes.text(column, row, f"{count:,.0f}", ha="center", va="center", fontsize=8,
                      color="white" if count > middle else INK)  # fmt: skip
    axes.get_figure().colorbar(image, ax=axes, label="count")  # type: ignore[union-attr]


def noise_errors(synopsis: Synopsis, size: int) -> list[float]:
    """The noise part of the error of up to 100 marginals of so many attributes, L2 over the rows;
    where it is known.

    Parameters
    ----------
    synopsis
        Whose marginals.
    size
        Of how many attributes.
    """
    domain = synopsis.domain
    if not 1 <= size <= len(domain):
        return []
    rng = np.random.default_rng(size)
    drawn = {
        tuple(sorted(rng.choice(len(domain), size, replace=False).tolist())) for _ in range(100)
    }
    views = [tuple(domain.attributes[place] for place in places) for places in sorted(drawn)]
    answers = answered(synopsis, [view for view in views if domain.cells(view) <= _MOST_CELLS])
    errors = [
        math.sqrt(float(answer.variance.sum())) / max(answer.total, 1.0) for answer in answers
    ]
    return [error for error in errors if math.isfinite(error)]


def answered(synopsis: Synopsis, views: Sequence[View]) -> list[Marginal]:
    """The marginals on those of some views that the synopsis answers: some kinds know a few
    marginals only."""
    try:
        return list(synopsis.marginals(views))
    except MarginError:
        found = []
        for view in views:
            with contextlib.suppress(MarginError):
                found.append(synopsis.marginal(view))
        return found
