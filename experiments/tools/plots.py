"""Pictures of experiments as PNG and SVG: candlesticks, lines and points.

They can be read in print and without colours. Without matplotlib nothing is drawn and no path is
returned. The same numbers give the same SVG, byte for byte.
"""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

PALETTE = ("#0072B2", "#E69F00", "#009E73", "#D55E00", "#56B4E9", "#CC79A7", "#F0E442", "#000000")
"""Okabe and Ito's colours, which people with any colour vision can distinguish."""
_HATCHES = ("", "///", "...", "\\\\\\", "xxx", "---", "+++", "ooo")
_WIDTH = 8.4
"""Inches of a picture, so that its texts can be read where it fills the width of a page."""
_TICKS = 8
"""The largest number of measured values that are all marked on an axis."""
_SLANTED = {"rotation": 60, "ha": "right", "rotation_mode": "anchor"}
_MARKERS, _STYLES = "osD^vP*X", ("-", "--", "-.", ":")


def candlesticks(
    path: Path,
    panels: Mapping[str, Mapping[str, ArrayLike]],
    *,
    xlabel: str,
    title: str = "",
    columns: int = 3,
    marks: Mapping[str, Mapping[str, float]] | None = None,
    mark_label: str = "",
    floor: float = 0.0,
) -> list[Path]:
    """Draw a panel of horizontal candlesticks for each title, the names on the left of each row.

    A line spans the percentiles 25 to 95, a box the percentiles 50 to 75, and a bar marks the mean.

    Parameters
    ----------
    path
        Path without a suffix. The files path.png and path.svg are written and returned.
    panels
        By the title of the panel and the name of the candlestick: its values, shape (n,). A name
        has the same colour and line in all panels. All panels share one scale.
    marks
        By panel and name: a value to draw as a star, beside a candlestick or instead of one.
    mark_label
        The meaning of the stars.
    floor
        Smaller values are drawn at this value, because rounding errors would stretch a logarithmic
        axis.
    """
    pyplot = _pyplot()
    marks = marks or {}
    panels = {
        heading: some
        for heading, some in panels.items()
        if marks.get(heading) or any(map(np.size, some.values()))
    }
    if pyplot is None or not panels:
        return []
    names = list(dict.fromkeys(n for some in (*panels.values(), *marks.values()) for n in some))
    columns = min(columns, len(panels))
    width = max(_WIDTH / columns, 2.4)
    high = 0.21 * len(names) + 0.7
    figure, axes = _grid(pyplot, panels, columns, width=width, high=high, sharex=True)
    for place, (heading, sticks) in zip(axes, panels.items(), strict=False):
        stars = marks.get(heading, {})
        for up, name in enumerate(names):
            if name in sticks and np.size(sticks[name]):
                look = {"facecolor": PALETTE[up % len(PALETTE)], "hatch": _hatch(up)}
                _stick(place, up, np.asarray(sticks[name], float), floor, look)
            if name in stars:
                place.plot(stars[name], up, "*", color="black", markersize=8, zorder=5)
        place.set_yticks(range(len(names)), names, fontsize=9)
        place.set_ylim(len(names) - 0.4, -0.6)  # the first name is at the top
        place.set_title(heading, fontsize=9)
        place.set_xscale("log")
        place.tick_params(axis="x", which="both", labelsize=8)
        place.grid(axis="x", which="major", linewidth=0.4, color="#BBBBBB")
        place.set_axisbelow(True)
    values = _drawn_values(panels, marks)
    if values.size:
        # Set the limits here: matplotlib ignores bars of panels that share a logarithmic axis.
        low = max(float(values[values > 0].min(initial=np.inf)), floor)
        axes[0].set_xlim(low / 1.5, 1.5 * float(values.max()))
    for place in axes[max(len(panels) - columns, 0) : len(panels)]:
        place.set_xlabel(xlabel, fontsize=9)
        place.tick_params(axis="x", labelbottom=True)
    if title:
        figure.suptitle(title, fontsize=10)
    key = "line: 25 to 95 percentile, box: 50 to 75, red: mean"
    if mark_label:
        key += f"; star: {mark_label}"
    figure.text(0.5, -0.01, key, ha="center", va="top", fontsize=8)
    return _save(pyplot, figure, path)


def _drawn_values(
    panels: Mapping[str, Mapping[str, ArrayLike]], marks: Mapping[str, Mapping[str, float]]
) -> Any:
    """The percentiles of all candlesticks and the values of all stars."""
    parts: list[Any] = []
    for sticks in panels.values():
        parts += [np.percentile(v, [25, 50, 75, 95]) for v in sticks.values() if np.size(v)]
    parts += [list(stars.values()) for stars in marks.values()]
    return np.concatenate(parts)


def lines(
    path: Path,
    panels: Mapping[str, Mapping[str, Sequence[ArrayLike]]],
    *,
    xlabel: str,
    ylabel: str,
    title: str = "",
    columns: int = 2,
    xlog: bool = False,
    log: bool = True,
    shared: bool = True,
) -> list[Path]:
    """Draw a panel of lines for each title.

    A line is (x, y), or (x, y, low, high) with a band from low to high. A name has the same colour,
    marker and dash in all panels. All panels share one scale, unless `shared` is false.
    """
    pyplot = _pyplot()
    panels = _with_points(panels)
    if pyplot is None or not panels:
        return []
    names = list(dict.fromkeys(name for some in panels.values() for name in some))
    width = _WIDTH / min(columns, len(panels), 3)
    figure, axes = _grid(pyplot, panels, columns, width=min(width, 5.5), sharey=shared)
    for place, (heading, curves) in zip(axes, panels.items(), strict=False):
        for name, (x, y, *band) in curves.items():
            index = names.index(name)
            colour = PALETTE[index % len(PALETTE)]
            style = _STYLES[index // len(PALETTE) % len(_STYLES)]
            marker = _MARKERS[index % len(_MARKERS)]
            place.plot(x, y, style, marker=marker, color=colour, label=name, markersize=5)
            if band:
                place.fill_between(x, *band, color=colour, alpha=0.15, linewidth=0)
        if xlog:
            _log_ticks(place, curves)
        place.tick_params(axis="x", labelsize=8)
        place.set_xlabel(xlabel, fontsize=9)
        _finish(place, heading, log=log)
    _labels(figure, axes, ylabel, title, columns)
    _legend(figure, _handles(axes), columns=4)
    return _save(pyplot, figure, path)


def _with_points(
    panels: Mapping[str, Mapping[str, Sequence[ArrayLike]]],
) -> dict[str, Mapping[str, Sequence[ArrayLike]]]:
    """The panels that have something to draw, as where a study was broken off."""
    return {
        heading: curves
        for heading, curves in panels.items()
        if any(np.isfinite(np.asarray(y, float)).any() for _, y, *_ in curves.values())
    }


def _log_ticks(place: Any, curves: Mapping[str, Sequence[ArrayLike]]) -> None:
    """A logarithmic x axis with a tick for each measured value, or for powers if there are many."""
    place.set_xscale("log")
    values = sorted({float(value) for x, *_ in curves.values() for value in np.ravel(x)})
    if 1 < len(values) <= _TICKS and values[0] > 0:
        logs = np.log(values)
        apart = 0.06 * (logs[-1] - logs[0])  # nearer labels would cover each other
        place.set_xticks([values[0], *np.array(values[1:])[np.diff(logs) > apart]])
    place.xaxis.set_major_formatter(lambda value, _: _short(value))
    place.xaxis.set_minor_formatter(lambda value, _: "")


def _short(value: float) -> str:
    for size, letter in ((1e6, "M"), (1e3, "k")):
        if size <= value < 1000 * size:
            return f"{value / size:g}{letter}"
    return f"{value:g}"


def points(
    path: Path,
    panels: Mapping[str, Mapping[str, Sequence[ArrayLike]]],
    *,
    names: Sequence[str],
    across: str | Sequence[str],
    ylabel: str,
    title: str = "",
    columns: int = 2,
    level: float | None = None,
) -> list[Path]:
    """Draw a panel of points for each title, by name (x, y). All panels share one scale.

    Parameters
    ----------
    names
        All possible names, in the order of the legend. The first is a large hollow star. The others
        differ by colour and form; those after the eighth are hollow.
    across
        The label of a logarithmic x axis; or the names of x = 0, 1, ..., in which case the points
        of a name are drawn a little apart.
    columns
        Number of panels in a row. A single panel in a row is wide.
    level
        The y at which to draw a horizontal line.
    """
    pyplot = _pyplot()
    panels = _with_points(panels)
    if pyplot is None or not panels:
        return []
    width = 10 if columns == 1 else 4.2
    figure, axes = _grid(pyplot, panels, columns, width=width, sharex=True)
    apart = 0.0 if isinstance(across, str) else 0.6
    for place, (heading, some) in zip(axes, panels.items(), strict=False):
        # The first name is drawn last, above the others.
        for index, name in reversed([*enumerate(names)]):
            if name in some:
                x, y = map(np.asarray, some[name])
                shifted = x + apart * (index / len(names) - 0.5)
                colour = PALETTE[index % len(PALETTE)]
                place.plot(shifted, y, linestyle="", color=colour, label=name, **_form(index))
        _x_axis(place, across)
        if level is not None:
            place.axhline(level, color="black", linewidth=1)
        _finish(place, heading, log=True)
    _labels(figure, axes, ylabel, title, columns)
    found = _handles(axes)
    _legend(figure, {name: found[name] for name in names if name in found}, columns=5)
    return _save(pyplot, figure, path)


def _form(index: int) -> dict[str, Any]:
    """The marker of a name by its place in the legend."""
    if index == 0:
        star = {"marker": "*", "markersize": 13, "markerfacecolor": "none"}
        return {**star, "markeredgewidth": 1.8, "zorder": 5}
    face = "none" if index > len(PALETTE) else PALETTE[index % len(PALETTE)]
    return {
        "marker": _MARKERS[index % len(_MARKERS)],
        "markersize": 6,
        "markerfacecolor": face,
    }


def _x_axis(place: Any, across: str | Sequence[str]) -> None:
    """A logarithmic axis with a label, or an axis with a name at each of 0, 1, ..."""
    if isinstance(across, str):
        place.set_xscale("log")
        place.set_xlabel(across, fontsize=9)
        return
    slanted = _SLANTED if len(across) > 6 else {}
    place.set_xticks(range(len(across)), across, fontsize=8, **slanted)
    place.set_xlim(-0.7, len(across) - 0.3)
    place.grid(axis="x", linewidth=0.3, color="#DDDDDD")


def _pyplot() -> Any:
    try:
        import matplotlib
    except ImportError:
        return None
    matplotlib.use("Agg")
    matplotlib.rcParams |= {
        "svg.hashsalt": "margin",
        "svg.fonttype": "none",
        "hatch.linewidth": 0.5,
    }
    from matplotlib import pyplot

    return pyplot


def _grid(
    pyplot: Any,
    panels: Mapping[str, Any],
    columns: int,
    width: float,
    high: float = 3.1,
    sharex: bool = False,
    sharey: bool = True,
) -> tuple[Any, list[Any]]:
    wide = min(columns, len(panels))
    deep = math.ceil(len(panels) / wide)
    figure, axes = pyplot.subplots(
        deep,
        wide,
        figsize=(width * wide, high * deep),
        squeeze=False,
        sharex=sharex,
        sharey=sharey,
        layout="constrained",
    )
    for spare in axes.flat[len(panels) :]:
        spare.set_visible(False)
    return figure, list(axes.flat)


def _stick(place: Any, up: float, values: Any, floor: float, look: dict[str, Any]) -> None:
    low, middle, high, top = np.maximum(np.percentile(values, [25, 50, 75, 95]), floor)
    place.hlines(up, low, top, color="black", linewidth=1, zorder=2)
    place.barh(
        up,
        high - middle,
        left=middle,
        height=0.62,
        edgecolor="black",
        linewidth=0.7,
        zorder=3,
        **look,
    )
    mean = max(values.mean(), floor)
    place.vlines(mean, up - 0.42, up + 0.42, color="#B00020", linewidth=2, zorder=4)


def _finish(place: Any, heading: str, *, log: bool) -> None:
    place.set_title(heading, fontsize=9)
    place.tick_params(axis="y", which="both", labelsize=8)
    place.grid(axis="y", which="major", linewidth=0.4, color="#BBBBBB")
    place.set_axisbelow(True)
    if log:
        place.set_yscale("log")


def _labels(figure: Any, axes: Sequence[Any], ylabel: str, title: str, columns: int) -> None:
    for place in axes[::columns]:
        place.set_ylabel(ylabel, fontsize=9)
    if title:
        figure.suptitle(title, fontsize=10)


def _handles(axes: Sequence[Any]) -> dict[str, Any]:
    """For each label the handle of the last panel that has it."""
    found: dict[str, Any] = {}
    for place in axes:
        handles, labels = place.get_legend_handles_labels()
        found.update(zip(labels, handles, strict=True))
    return found


def _legend(figure: Any, handles: Mapping[str, Any], columns: int) -> None:
    """A legend below the panels."""
    figure.legend(
        handles.values(),
        handles,
        loc="upper center",
        bbox_to_anchor=(0.5, 0.0),
        ncols=columns,
        fontsize=8,
        frameon=False,
    )


def _hatch(index: int) -> str:
    return _HATCHES[index % len(_HATCHES)] if index else ""


def _save(pyplot: Any, figure: Any, path: Path) -> list[Path]:
    path.parent.mkdir(parents=True, exist_ok=True)
    written = [path.parent / f"{path.name}.{suffix}" for suffix in ("png", "svg")]
    for file in written:
        metadata = {"Date": None} if file.suffix == ".svg" else {"Software": None}
        figure.savefig(file, dpi=130, bbox_inches="tight", metadata=metadata)
    pyplot.close(figure)
    return written
