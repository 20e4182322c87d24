"""Plots of marginals, expected errors and comparisons, drawn with matplotlib."""

import contextlib
import itertools
import math
import re
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..domain.domain import Domain, View
from ..domain.marginal import Marginal
from ..errors import DomainError, MarginError
from ..synopses.synopsis import Synopsis
from .heat import MOST_FACETS, facets, heat, heat_size
from .style import BLUE, INK, ORANGE, TITLE, axes_of, log_errors, new_figure, plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ..compare.comparison import Compared, Comparison

__all__ = [
    "answered",
    "noise_errors",
    "plot_comparison",
    "plot_error",
    "plot_marginal",
]

_MEDIAN = {"color": BLUE, "linewidth": 2}
"""The style of the median in a box plot."""

_MEAN = {
    "marker": "D",
    "markerfacecolor": ORANGE,
    "markeredgecolor": INK,
}
"""The style of the mean in a box plot."""

_STANDARD_ERROR: dict[str, Any] = {
    "fmt": "none",
    "ecolor": ORANGE,
    "elinewidth": 2,
    "capsize": 4,
    "zorder": 3,
}
"""The style of the standard error of a mean."""

_TITLE_WIDTH = 70
"""Largest number of characters in a line of a title."""

_NAME_WIDTH = 36
"""Largest number of characters in a line of a mechanism's name."""

_CHARACTER = 0.09
"""Width of a character of a mechanism's name, in inches."""

_MOST_BARS = 60
"""Largest number of cells that are drawn as bars."""

_MOST_CELLS = 1 << 14
"""Largest number of cells of a heat map, and of a marginal whose error is computed."""

_DRAWS = 100
"""Number of random sets of attributes whose errors are computed, per size."""


def plot_marginal(
    marginal: Marginal,
    *,
    level: float = 0.95,
    axes: "Axes | None" = None,
) -> "Axes":
    """Draw the counts of a marginal as bars with intervals, or as a heat map.

    A marginal of two attributes with at least three categories each becomes a heat map. It shows
    half the width of each interval, if it has at most 60 cells. A marginal of three attributes with
    more than 60 cells becomes a heat map for each category of the attribute with the fewest.

    Parameters
    ----------
    marginal
        The counts to draw: at most 60 cells as bars, at most 16,384 cells as a heat map.
    level
        The level of the intervals, between 0 and 1; see `Marginal.interval`.
    axes
        The axes to draw on. By default, a new figure is made. Heat maps of three attributes need a
        new one.

    Returns
    -------
    matplotlib.axes.Axes
        The axes with the plot; the first ones, if there are several heat maps.

    Raises
    ------
    DomainError
        If the marginal has too many cells, or axes are given for several heat maps.
    MarginError
        If matplotlib is not installed.
    """
    sizes = marginal.domain.sizes
    is_grid = len(sizes) == 2 and min(sizes) > 2
    if is_grid and marginal.counts.size <= _MOST_CELLS:
        drawn = axes_of(axes, size=heat_size(marginal, level))
        heat(marginal, level, drawn)
    elif marginal.counts.size <= _MOST_BARS:
        lines = marginal.counts.size * (1 + (len(sizes) > 1) / sizes[-1])
        drawn = axes_of(axes, size=(7, max(3.0, 1 + 0.22 * lines)))
        _bars(marginal, level, drawn)
    elif len(sizes) == 3 and min(sizes) <= MOST_FACETS and marginal.counts.size <= _MOST_CELLS:
        if axes is not None:
            raise DomainError(
                "a marginal of three attributes is drawn on a figure of its own, but axes are "
                "given; leave out axes"
            )
        drawn = facets(marginal, level)
    else:
        raise DomainError(
            f"a plot shows at most {_MOST_BARS} bars, or heat maps with at most {_MOST_CELLS} "
            f"cells: one of two attributes, or up to {MOST_FACETS} of three, but this marginal has "
            f"{marginal.counts.size} cells of {len(sizes)} attributes; project it to fewer "
            "attributes"
        )
    return drawn


def plot_error(
    synopsis: Synopsis,
    *,
    sizes: Sequence[int] = (1, 2, 3, 4),
    axes: "Axes | None" = None,
) -> "Axes":
    """Draw the error of marginals that comes from noise, by the number of attributes.

    The error of a marginal is the expected L2 norm of its noise, divided by the number of rows. For
    each number of attributes, up to 100 sets of attributes are drawn at random, always the same
    ones.

    Parameters
    ----------
    synopsis
        The synopsis. The variance of its noise must be known.
    sizes
        The numbers of attributes.
    axes
        The axes to draw on. By default, a new figure is made.

    Returns
    -------
    matplotlib.axes.Axes
        The axes with the plot.

    Raises
    ------
    DomainError
        If no marginal of these sizes has a known variance and at most 16,384 cells.
    MarginError
        If matplotlib is not installed.
    """
    found = {}
    for size in sizes:
        errors = noise_errors(synopsis, size)
        if errors:
            found[size] = errors
    if not found:
        kind = type(synopsis).__name__
        raise DomainError(
            f"each size must be from 1 to {len(synopsis.domain)}, and the synopsis must know the "
            f"variance of the noise of a marginal of at most {_MOST_CELLS:,} cells, but for sizes "
            f"{tuple(sizes)} of this {kind} no error is known; choose other sizes, or another "
            "synopsis"
        )
    drawn = axes_of(axes)
    drawn.boxplot(
        list(found.values()),
        whis=(5, 95),
        showfliers=False,
        medianprops=_MEDIAN,
    )
    places = range(1, len(found) + 1)
    drawn.set_xticks(places, list(map(str, found)))
    drawn.set_xlabel("attributes")
    drawn.set_ylabel("noise part of the error / rows")
    drawn.set_ylim(0, None)
    title = "Expected error (box: half of the sets, whiskers: 5 to 95 %)"
    drawn.set_title(title, fontsize=TITLE)
    return plain(drawn)


def plot_comparison(comparison: "Comparison", *, axes: "Axes | None" = None) -> "Figure":
    """Draw a comparison: a panel for each metric, with a box plot for each mechanism.

    A box shows the quartiles, its whiskers show the 5th and the 95th percentile, and a diamond
    shows the mean. If there were several runs, a bar through the diamond is one standard error of
    the mean to each side. The picture says so, and names the budget.

    Parameters
    ----------
    comparison
        The comparison. Mechanisms that failed are left out.
    axes
        The axes to draw the first metric on. By default, a new figure with all metrics is made.

    Returns
    -------
    matplotlib.figure.Figure
        The figure of the axes.

    Raises
    ------
    DomainError
        If every mechanism failed.
    MarginError
        If matplotlib is not installed.
    """
    # The first box is drawn at the bottom, so the best mechanism comes last.
    good = [row for row in reversed(comparison.rows) if row.errors]
    if not good:
        raise DomainError(
            "a plot needs a mechanism that did not fail, but every mechanism of this comparison "
            "failed; print the comparison to see the reasons"
        )
    # Long names are wrapped, after a comma where possible, and the figure grows with the names.
    spaced = [re.sub(r",(?=\S)", ", ", row.name) for row in good]
    names = [textwrap.fill(name, _NAME_WIDTH) for name in spaced]
    lines = "\n".join(names).split("\n")
    longest = max(map(len, lines))
    width, height = 6 + _CHARACTER * longest, 1.7 + 0.22 * (len(names) + len(lines))
    if axes is not None:
        panels = [axes]
    else:
        count = len(comparison.metrics)
        panels = list(new_figure((width, height * count)).subplots(count, squeeze=False).flat)
    for place, panel in enumerate(panels):
        label = _panel(comparison, place, good, panel)
        panel.set_xlabel(f"{label}\n{_legend(comparison)}" if panel is panels[-1] else label)
        panel.set_yticks(range(1, len(good) + 1), names)
    budget = textwrap.fill(comparison.budget.describe(), _TITLE_WIDTH)
    title = f"Simulation on the true table: not private\n{budget}"
    panels[0].set_title(title, fontsize=TITLE)
    figure: Figure = panels[0].get_figure()  # type: ignore[assignment]
    return figure


def _panel(
    comparison: "Comparison",
    place: int,
    rows: Sequence["Compared"],
    axes: "Axes",
) -> str:
    """Draw the numbers of one metric of a comparison, a box for each mechanism; return the label
    of the numbers."""
    metric = comparison.metrics[place]
    # Intervals that a mechanism does not have are NaN, which no box can show.
    axes.boxplot(
        [[number for number in row.values[place] if not math.isnan(number)] for row in rows],
        orientation="horizontal",
        whis=(5, 95),
        showfliers=False,
        showmeans=True,
        medianprops=_MEDIAN,
        meanprops=_MEAN,
    )
    if comparison.runs > 1:
        axes.errorbar(
            [row.means[place] for row in rows],
            range(1, len(rows) + 1),
            xerr=[row.standard_errors[place] for row in rows],
            **_STANDARD_ERROR,
        )
    label = metric.name
    if not metric.larger_is_better:
        # A metric of whole runs has one number for each of them.
        is_of_runs = len(rows[0].values[place]) < comparison.runs * len(comparison.views)
        label = f"error of each {'run' if is_of_runs else 'answer'}, as {metric.name}"
        log_errors(axes)
    plain(axes)
    return label


def _legend(comparison: "Comparison") -> str:
    """What the parts of a box are."""
    parts = "box: quartiles; line: median; whiskers: 5 % to 95 %; diamond: mean"
    if comparison.runs > 1:
        parts += f",\nwith its standard error over {comparison.runs} runs"
    return parts


def _bars(
    marginal: Marginal,
    level: float,
    axes: "Axes",
) -> None:
    """A bar with its interval for each cell.

    With several attributes, a line of its own names the categories of all but the last attribute,
    so that no name is written twice.
    """
    low, high = marginal.interval(level)
    counts = marginal.counts.ravel()
    *first, last = (attribute.captions for attribute in marginal.domain.values())
    groups = [", ".join(labels) for labels in itertools.product(*first)]

    # The places of the bars, with room for the name of a group above its bars.
    lines = len(last) + bool(first)
    places = np.concatenate(
        [lines * group + bool(first) + np.arange(len(last)) for group in range(len(groups))]
    )
    axes.barh(
        places,
        counts,
        color=BLUE,
        alpha=0.75,
    )
    if np.isfinite(low).all():
        axes.hlines(
            places,
            low.ravel(),
            high.ravel(),
            color=INK,
            linewidth=1.5,
        )
    axes.set_yticks(places, list(last) * len(groups))
    for number, name in enumerate(groups if first else []):
        axes.text(
            0,
            lines * number,
            f" {name}",
            va="center",
            weight="bold",
        )
    axes.set_ylim(lines * len(groups) - 0.4, -0.6)
    axes.set_xlabel("count")
    axes.set_title(" x ".join(marginal.attributes), fontsize=TITLE)
    axes.set_xlim(0, None)
    plain(axes)
    axes.grid(
        visible=False,
        axis="y",
    )


def noise_errors(
    synopsis: Synopsis,
    size: int,
    *,
    draws: int = _DRAWS,
) -> list[float]:
    """The errors from noise of random marginals of `size` attributes, where they are known.

    The error of a marginal is the expected L2 norm of its noise, divided by the number of rows. Up
    to `draws` sets of attributes are drawn at random, always the same ones; marginals of more than
    16,384 cells are left out.

    Parameters
    ----------
    synopsis
        The synopsis that answers the marginals.
    size
        The number of attributes of each marginal.
    draws
        The largest number of marginals.
    """
    # The variance is NaN where it is not known.
    errors = []
    for answer in answered(synopsis, random_views(synopsis.domain, size, draws=draws)):
        norm = math.sqrt(float(answer.noise_variance.sum()))
        error = norm / max(answer.total, 1.0)
        if math.isfinite(error):
            errors.append(error)
    return errors


def random_views(
    domain: Domain,
    size: int,
    *,
    draws: int,
) -> list[View]:
    """Random sets of attributes, always the same ones, with at most 16,384 cells each.

    Parameters
    ----------
    domain
        The attributes.
    size
        The number of attributes of each set.
    draws
        The largest number of sets.
    """
    if not 1 <= size <= len(domain):
        return []
    # Draw sets of attributes; a set that is drawn twice counts once.
    rng = np.random.default_rng(size)
    drawn = set()
    for _ in range(draws):
        chosen = rng.choice(len(domain), size, replace=False)
        drawn.add(tuple(sorted(chosen.tolist())))
    small = []
    for places in sorted(drawn):
        view = tuple(domain.attributes[place] for place in places)
        if domain.cells(view) <= _MOST_CELLS:
            small.append(view)
    return small


def answered(synopsis: Synopsis, views: Sequence[View]) -> list[Marginal]:
    """The marginals of all views that the synopsis can answer. Some synopses answer only a few."""
    try:
        return list(synopsis.marginals(views))
    except MarginError:
        found = []
        for view in views:
            with contextlib.suppress(MarginError):
                found.append(synopsis.marginal(view))
        return found
