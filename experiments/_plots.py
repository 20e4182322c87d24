"""Pictures of experiments, as PNG and SVG: candlesticks, lines and points, told apart in print and
without colour.

Without matplotlib nothing is drawn and no path returned. The same numbers give the same SVG, byte
for byte.
"""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

PALETTE = ("#0072B2", "#E69F00", "#009E73", "#D55E00", "#56B4E9", "#CC79A7", "#F0E442", "#000000")
"""Okabe and Ito's colours, told apart with any colour vision."""
_HATCHES = ("", "///", "...", "\\\\\\", "xxx", "---", "+++", "ooo")
_MARKERS, _STYLES = "osD^vP*X", ("-", "--", "-.", ":")


def candlesticks(
    path: Path,
    panels: Mapping[str, Mapping[str, ArrayLike]],
    *,
    ylabel: str,
    title: str = "",
    columns: int = 3,
    marks: Mapping[str, Mapping[str, float]] | None = None,
    mark_label: str = "",
    log: bool = True,
    floor: float = 0.0,
) -> list[Path]:
    """A panel of candlesticks for each title: 25 to 95 percentile a line, 50 to 75 a box, the mean
    a bar.

    Parameters
    ----------
    path
        Where to, without a suffix: path.png and path.svg are written, and returned.
    panels
        By the panel's title, by the candlestick's name: its values, shape (n,). Same name, same
        colour, in all panels. All panels of a picture share one scale.
    marks
        A star to be drawn for a candlestick (or instead of one), by panel and name: a computed
        error, say; `mark_label` says what stars are.
    floor
        What is below is drawn there: rounding errors would stretch a logarithmic axis.
    """
    pyplot = _pyplot()
    if pyplot is None or not panels:
        return []
    marks = marks or {}
    names = list(dict.fromkeys(n for some in (*panels.values(), *marks.values()) for n in some))
    figure, axes = _grid(pyplot, panels, columns, width=max(2.6, 0.34 * len(names) + 0.9))
    for place, (heading, sticks) in zip(axes, panels.items(), strict=False):
        own = [name for name in names if name in sticks or name in marks.get(heading, {})]
        for across, name in enumerate(own):
            look = {
                "facecolor": PALETTE[names.index(name) % len(PALETTE)],
                "hatch": _hatch(names.index(name)),
            }
            if name in sticks and np.size(sticks[name]):
                _stick(place, across, np.asarray(sticks[name], float), floor, look)
            if name in marks.get(heading, {}):
                place.plot(across, marks[heading][name], "*", color="black", markersize=8, zorder=5)
        place.set_xticks(
            range(len(own)), own, rotation=60, ha="right", fontsize=8, rotation_mode="anchor"
        )
        place.set_xlim(-0.7, len(own) - 0.3)
        _finish(place, heading, log=log)
    shown = [
        np.percentile(v, [25, 50, 75, 95])
        for some in panels.values()
        for v in some.values()
        if np.size(v)
    ]
    values = np.concatenate([*shown, *(list(some.values()) for some in marks.values())])
    if (
        log and values.size
    ):  # by hand: matplotlib leaves out bars of panels that share a logarithmic axis
        low = max(float(values[values > 0].min(initial=np.inf)), floor)
        axes[0].set_ylim(low / 1.5, 1.5 * float(values.max()))
    _labels(figure, axes, ylabel, title, columns)
    key = "line: 25 to 95 percentile, box: 50 to 75, bar: mean" + (
        f"; star: {mark_label}" if mark_label else ""
    )
    figure.text(0.5, -0.01, key, ha="center", va="top", fontsize=7)
    return _save(pyplot, figure, path)


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
) -> list[Path]:
    """A panel of lines for each title; each line is (x, y), or (x, y, low, high) with a band from
    low to high.

    Same name, same colour, marker and dash, in all panels; all panels of a picture share one scale.
    """
    pyplot = _pyplot()
    if pyplot is None or not panels:
        return []
    names = list(dict.fromkeys(name for some in panels.values() for name in some))
    figure, axes = _grid(pyplot, panels, columns, width=4.2)
    for place, (heading, curves) in zip(axes, panels.items(), strict=False):
        for name, (x, y, *band) in curves.items():
            index = names.index(name)
            colour = PALETTE[index % len(PALETTE)]
            style = _STYLES[index // len(PALETTE) % len(_STYLES)]
            place.plot(
                x,
                y,
                style,
                marker=_MARKERS[index % len(_MARKERS)],
                color=colour,
                label=name,
                markersize=5,
            )
            if band:
                place.fill_between(x, *band, color=colour, alpha=0.15, linewidth=0)
        if xlog:
            place.set_xscale("log")
        place.set_xlabel(xlabel, fontsize=9)
        _finish(place, heading, log=log)
    _labels(figure, axes, ylabel, title, columns)
    shown = dict(zip(*reversed(_legend(axes)), strict=True))
    figure.legend(
        shown.values(),
        shown,
        loc="upper center",
        bbox_to_anchor=(0.5, 0.0),
        ncols=4,
        fontsize=8,
        frameon=False,
    )
    return _save(pyplot, figure, path)


def points(
    path: Path,
    panels: Mapping[str, Mapping[str, Sequence[ArrayLike]]],
    *,
    names: Sequence[str],
    xlabel: str,
    ylabel: str,
    title: str = "",
    columns: int = 2,
    width: float = 4.2,
    ticks: Sequence[str] = (),
    level: float | None = None,
) -> list[Path]:
    """A panel of points for each title, by name (x, y), both on logarithmic scales that all panels
    share.

    Parameters
    ----------
    names
        All names there may be, in the order of the legend: the first is a large hollow star, the
        others are told apart by colour and form, those after the eighth of them are hollow.
    ticks
        Names of x = 0, 1, ..., instead of a logarithmic scale; the points of a tick are set a
        little apart.
    level
        Where to draw a line across.
    """
    pyplot = _pyplot()
    if pyplot is None or not panels:
        return []
    figure, axes = _grid(pyplot, panels, columns, width=width, sharex=True)
    apart = 0.6 if ticks else 0.0
    for place, (heading, some) in zip(axes, panels.items(), strict=False):
        for index, name in reversed(
            [*enumerate(names)]
        ):  # the first is drawn last, above the others
            if name not in some:
                continue
            colour, form = PALETTE[index % len(PALETTE)], _MARKERS[index % len(_MARKERS)]
            look = {
                "marker": form,
                "markersize": 6,
                "markerfacecolor": "none" if index > len(PALETTE) else colour,
            }
            if index == 0:
                look = {
                    "marker": "*",
                    "markersize": 13,
                    "markerfacecolor": "none",
                    "markeredgewidth": 1.8,
                    "zorder": 5,
                }
            x, y = map(np.asarray, some[name])
            place.plot(
                x + apart * (index / len(names) - 0.5),
                y,
                linestyle="",
                color=colour,
                label=name,
                **look,
            )
        if ticks:
            slanted = (
                {"rotation": 60, "ha": "right", "rotation_mode": "anchor"} if len(ticks) > 6 else {}
            )
            place.set_xticks(range(len(ticks)), ticks, fontsize=8, **slanted)
            place.set_xlim(-0.7, len(ticks) - 0.3)
            place.grid(axis="x", linewidth=0.3, color="#DDDDDD")
        else:
            place.set_xscale("log")
            place.set_xlabel(xlabel, fontsize=9)
        if level is not None:
            place.axhline(level, color="black", linewidth=1)
        _finish(place, heading, log=True)
    _labels(figure, axes, ylabel, title, columns)
    found = dict(zip(*reversed(_legend(axes)), strict=True))
    shown = {name: found[name] for name in names if name in found}
    figure.legend(
        shown.values(),
        shown,
        loc="upper center",
        bbox_to_anchor=(0.5, 0.0),
        ncols=5,
        fontsize=8,
        frameon=False,
    )
    return _save(pyplot, figure, path)


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
    pyplot: Any, panels: Mapping[str, Any], columns: int, width: float, sharex: bool = False
) -> tuple[Any, list[Any]]:
    wide = min(columns, len(panels))
    high = math.ceil(len(panels) / wide)
    figure, axes = pyplot.subplots(
        high,
        wide,
        figsize=(width * wide, 3.1 * high),
        squeeze=False,
        sharex=sharex,
        sharey=True,
        layout="constrained",
    )
    for spare in axes.flat[len(panels) :]:
        spare.set_visible(False)
    return figure, list(axes.flat)


def _stick(place: Any, across: float, values: Any, floor: float, look: dict[str, Any]) -> None:
    low, middle, high, top = np.maximum(np.percentile(values, [25, 50, 75, 95]), floor)
    place.vlines(across, low, top, color="black", linewidth=1, zorder=2)
    place.bar(
        across,
        high - middle,
        bottom=middle,
        width=0.62,
        edgecolor="black",
        linewidth=0.7,
        zorder=3,
        **look,
    )
    mean = max(values.mean(), floor)
    place.hlines(mean, across - 0.42, across + 0.42, color="#B00020", linewidth=2, zorder=4)


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


def _legend(axes: Sequence[Any]) -> tuple[list[Any], list[str]]:
    handles, labels = [], []
    for place in axes:
        some, names = place.get_legend_handles_labels()
        handles += some
        labels += names
    return handles, labels


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
