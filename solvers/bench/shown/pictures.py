"""Pictures of a comparison, drawn by matplotlib from the rows alone."""

import importlib
import itertools
import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ...backends import available
from .profiles import Profile, data_profile, performance_profile
from .summaries import failures
from .times import LEAST, Clock, Row, check_comparable, in_words, standing

__all__ = [
    "INK",
    "draw_data_profile",
    "draw_failures",
    "draw_gaps",
    "draw_performance_profile",
]

INK = "#123456"
"""The colour of text and axes. A page replaces it by its own; a picture alone is dark blue on
white."""

_COLOURS = (
    *("#0072B2", "#E69F00", "#009E73", "#D55E00", "#56B4E9", "#CC79A7", "#8C8C8C"),
    *("#9900FF", "#774422", "#445555", "#88BB66"),
)
"""Colours that people with any colour vision tell apart (Okabe and Ito, and four that are far from
all of these), readable on both light and dark paper."""

# The numbers of colours, dashes and marks have no common factor: no two of 77 solvers share both
# colour and mark, and no two of 28 both dashes and mark.
_DASHES = ("-", (0, (5, 1.5)), (0, (1.5, 1.5)), (0, (6, 1.5, 1.5, 1.5)))
_MARKS = ("o", "s", "^", "D", "v", "P", "X")

_LIBRARIES = (
    *("highs", "scip", "cbc", "cpsat", "clarabel", "scs", "osqp", "piqp", "proxqp", "qpalm"),
    *("pdlp", "ecos", "daqp", "rc2", "pulp-highs", "cvxpy-clarabel", "trust-constr"),
)
"""Solvers of libraries. Each has the colour, the dashes and the mark of its place in every picture,
so that pictures can be compared."""

_OUTCOMES = {
    "solved": "#009E73",
    "feasible": "#56B4E9",
    "inaccurate": "#F0E442",
    "nothing": "#8C8C8C",
    "time": "#E69F00",
    "memory": "#CC79A7",
    "raised": "#0072B2",
    "died": "#7A5C00",
    "unsupported": "#445555",
    "lost": "#9A7FD1",
    "wrong": "#D55E00",
}

_BEST_GAP = 1e-9
_ROW = 0.12
"""Gaps up to the first are drawn below it, in a row for each solver. Rows are this number of powers
of ten apart."""

_LEAST_POWERS = 3
"""Least number of powers of ten that the axis of gaps shows above the line, if a gap is there."""

_FEWEST = 4
_TICKS = 7
"""Least and largest number of labels of an axis, where round numbers allow it."""

_DIGITS = (
    *(("1",), ("1", "3"), ("1", "2", "5"), ("1", "2", "3", "5", "7")),
    ("1", "1.5", "2", "3", "4", "5", "6", "8"),
    ("1", "1.2", "1.4", "1.6", "1.8", "2", "2.5", "3", "3.5", "4", "5", "6", "7", "8", "9"),
)
"""First digits of the round numbers of an axis, from coarse to fine."""

_MARKED = 6
"""Number of marks on the line of a solver."""

_LONGEST = 22
"""Largest number of characters of a name."""

_WIDTH = 4.4
"""Width of a picture in inches, so that its text is readable on a phone."""


def draw_performance_profile(
    rows: Iterable[Row],
    *,
    clock: Clock = "cpu",
    warm: bool = True,
    gap: float | None = None,
) -> Any:
    """Draw the performance profiles of the solvers of one family.

    Parameters
    ----------
    rows, clock, warm, gap
        See `performance_profile`.

    Returns
    -------
    figure
        A figure of matplotlib.

    Raises
    ------
    RuntimeError
        If matplotlib is not installed.
    ValueError
        If the rows have several time limits; see `by_limits`.
    """
    held = list(rows)
    profile = performance_profile(held, clock=clock, warm=warm, gap=gap)
    label = f"{_CLOCKS[clock]} time / that of the fastest solver"
    return _steps(profile, label, start=1.0, title=_title(held))


def draw_data_profile(
    rows: Iterable[Row],
    *,
    clock: Clock = "cpu",
    warm: bool = True,
    gap: float | None = None,
) -> Any:
    """Draw the data profiles of the solvers of one family; see `draw_performance_profile`."""
    held = list(rows)
    profile = data_profile(held, clock=clock, warm=warm, gap=gap)
    finite = np.concatenate([*profile.at.values(), [1.0]])
    start = float(finite.min()) / 1.5
    return _steps(profile, f"{_CLOCKS[clock]} seconds", start=start, title=_title(held))


def draw_gaps(rows: Iterable[Row], *, clock: Clock = "cpu", warm: bool = True) -> Any:
    """Draw the gap of each solver's answers against their time: one point for each instance.

    The point and the line are those of one solve: the fastest warm one, as in `primal_integrals`.
    Gaps of 1e-9 or less, and better answers than were known, stand at the bottom, in a row for each
    solver. Wrong answers and those of lost solves are left out. The line leads through the answers
    on the way, if the solver told them; their seconds are wall time, less the time for which it
    waited for a processor, and the label of the axis says so.

    Parameters
    ----------
    rows, clock, warm
        See `draw_performance_profile`, whose errors this function raises too.
    """
    held = list(rows)
    check_comparable(held)
    stands = standing(held, clock=clock, warm=warm)
    solvers = list(dict.fromkeys(row["solver"] for row in held))
    figure, axes = _figure(len(solvers))
    drawn: list[tuple[float, float]] = []
    has_lines = False
    places = _places(solvers)
    for below, solver in enumerate(solvers):
        colour, _, mark = _style(places[solver])
        least = _BEST_GAP / 10 ** (_ROW * (below + 1))
        points = []
        for row in stands:
            if row["solver"] != solver:
                continue
            is_left_out = row["outcome"] in ("wrong", "lost")
            if row["feasible"] and not is_left_out and not math.isnan(row["gap"]):
                gap = row["gap"] if row["gap"] > _BEST_GAP else least
                points.append((max(row[clock], LEAST), gap))
            is_measured = row["best_known"] is not None or row.get("reference_by")
            if len(row["trace_seconds"]) > 1 and is_measured:
                gaps = np.maximum(row["trace_gaps"], least)
                drawn += zip(np.maximum(row["trace_seconds"], LEAST), gaps, strict=True)
                has_lines = True
                axes.step(
                    row["trace_seconds"], gaps, where="post", color=colour, linewidth=0.8, alpha=0.7
                )
        drawn += points
        axes.plot(
            [time for time, _ in points],
            [gap for _, gap in points],
            linestyle="none",
            marker=mark,
            markersize=4,
            alpha=0.8,
            color=colour,
            markerfacecolor=colour if places[solver] < len(_COLOURS) else "none",
            label=_short(solver),
        )
    seconds = [time for time, _ in drawn] or [1.0]
    _logarithmic(axes, min(seconds) / 1.3, 1.3 * max(seconds))
    _gap_axis(axes, len(solvers), max((gap for _, gap in drawn), default=0.0))
    label = f"{_CLOCKS[clock]} seconds"
    axes.set_xlabel(f"{label} ({_CLOCK_OF_LINES})" if has_lines else label)
    axes.set_title(_title(held), color=INK, fontsize=9)
    if drawn:
        _tell_rows(axes)
    else:
        unknown = all(row["best_known"] is None for row in held)
        _say(axes, "no best value is known" if unknown else "no feasible answers")
    return _finished(figure, axes, len(solvers))


def draw_failures(rows: Iterable[Row]) -> Any:
    """Draw how many instances of each solver ended in which outcome, as bars.

    The errors are those of `draw_performance_profile`.
    """
    ended = failures(rows)
    solvers = list(ended)
    figure, axes = _figure(len(_OUTCOMES), height=0.8 + 0.26 * len(solvers))
    left = np.zeros(len(solvers))
    places = np.arange(len(solvers))
    for outcome, colour in _OUTCOMES.items():
        counts = np.array([ended[solver][outcome] for solver in solvers], np.float64)
        if counts.any():
            axes.barh(places, counts, left=left, color=colour, label=outcome, height=0.7)
        left += counts
    axes.set_yticks(places, [_short(solver) for solver in solvers])
    axes.invert_yaxis()
    axes.set_xlabel("instances")
    axes.xaxis.get_major_locator().set_params(integer=True)
    return _finished(figure, axes, len(_OUTCOMES))


_CLOCKS = {"cpu": "processor", "wall": "wall"}
_CLOCK_OF_LINES = "lines: wall seconds less waiting"


def _title(rows: Sequence[Row]) -> str:
    """The families of the rows, and the number of instances."""
    families = ", ".join(dict.fromkeys(row["family"] for row in rows))
    count = len({row["instance"] for row in rows})
    return f"{families}: {in_words(count)}"


def _gap_axis(axes: Any, solvers: int, largest: float) -> None:
    """The axis of gaps: rows for small ones, a line, and powers of ten above it."""
    lowest = round(math.log10(_BEST_GAP))
    # If all gaps are small, there is nothing above the line, and the rows fill the picture.
    shown = _LEAST_POWERS if largest > _BEST_GAP else 0
    highest = max(math.ceil(math.log10(max(largest, _BEST_GAP))), lowest + shown)
    powers = range(lowest, highest + 1, max(1, math.ceil((highest - lowest) / _TICKS)))
    labels = [f"$10^{{{power}}}$" for power in powers]
    axes.set_yscale("log")
    axes.set_ylim(_BEST_GAP / 10 ** (_ROW * (solvers + 2)), 1.5 * 10.0**highest)
    axes.axhline(_BEST_GAP, color=INK, alpha=0.4, linewidth=0.8)
    axes.set_yticks([10.0**power for power in powers], [f"$\\leq 10^{{{lowest}}}$", *labels[1:]])
    axes.yaxis.set_minor_locator(_ticker().NullLocator())
    axes.set_ylabel("gap to the best known")


def _tell_rows(axes: Any) -> None:
    """Say at the line what stands below it: rows, and no values of the axis."""
    axes.annotate(
        f"below: gaps of $10^{{{round(math.log10(_BEST_GAP))}}}$ or less, in a row for each solver",
        (0.99, _BEST_GAP),
        xycoords=("axes fraction", "data"),
        xytext=(0, 2),
        textcoords="offset points",
        horizontalalignment="right",
        color=INK,
        fontsize=7,
    )


def _logarithmic(axes: Any, start: float, stop: float) -> None:
    """Make the horizontal axis logarithmic, with plain numbers that do not overlap."""
    axes.set_xscale("log")
    axes.set_xlim(start, stop)
    ticks = _round_numbers(start, stop)
    axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.xaxis.set_minor_locator(_ticker().NullLocator())


def _round_numbers(start: float, stop: float) -> list[float]:
    """At most seven round numbers in a range, whose ratios are about equal.

    >>> _round_numbers(0.0015, 0.012), _round_numbers(1e-5, 150)
    ([0.002, 0.003, 0.005, 0.007, 0.01], [1e-05, 0.001, 0.1, 10.0])
    """
    least, most = math.floor(math.log10(start)), math.ceil(math.log10(stop))
    found: list[float] = []
    for digits in _DIGITS:
        # Each number as it is written, so that 0.3 is not 0.30000000000000004.
        every = [float(f"{digit}e{power}") for power in range(least, most + 1) for digit in digits]
        found = [number for number in every if start <= number * 1.001 and number <= stop * 1.001]
        if len(found) >= _FEWEST:
            break
    return found[:: math.ceil(len(found) / _TICKS)]


def _say(axes: Any, text: str) -> None:
    """Write a sentence into the middle of a picture that shows nothing else."""
    axes.text(0.5, 0.5, text, transform=axes.transAxes, ha="center", color=INK, fontsize=9)


def _steps(profile: Profile, label: str, *, start: float, title: str) -> Any:
    """Draw the step functions of a profile, with a logarithmic axis that begins at `start`."""
    figure, axes = _figure(len(profile.at))
    solved = [float(at[-1]) for at in profile.at.values() if len(at)]
    stop = max(max(solved, default=start) * 1.3, start * 2)
    places = _places(profile.at)
    for solver, at in profile.at.items():
        colour, dash, mark = _style(places[solver])
        share = np.arange(1, len(at) + 1) / profile.instances
        x = np.concatenate([[start], at, [stop]])
        y = np.concatenate([[0.0], share, [share[-1] if len(at) else 0.0]])
        axes.step(
            x,
            y,
            where="post",
            color=colour,
            linestyle=dash,
            linewidth=1.6,
            marker=mark,
            markersize=4,
            # A few marks are enough to follow a line.
            markevery=max(1, len(x) // _MARKED),
            label=_label(profile, solver),
        )
    _logarithmic(axes, start, stop)
    axes.set_ylim(-0.05, 1.02)
    axes.set_title(title, color=INK, fontsize=9)
    if not solved:
        _say(axes, "no instance was solved")
    axes.set_xlabel(label)
    axes.set_ylabel("share of instances solved")
    return _finished(figure, axes, len(profile.at))


def _label(profile: Profile, solver: str) -> str:
    """The name of a solver; also on how many instances it was tried, if not on all."""
    tried = profile.tried[solver]
    partly = "" if tried == profile.instances else f"\n(tried on {tried} of {profile.instances})"
    return f"{_short(solver)}{partly}"


def _ticker() -> Any:
    """The module of matplotlib that places ticks."""
    return importlib.import_module("matplotlib.ticker")


def _figure(entries: int, height: float = 2.9) -> tuple[Any, Any]:
    """An empty figure, with room below it for a legend with this number of entries."""
    if not available("matplotlib"):
        raise RuntimeError(
            "pictures need matplotlib, but it is not installed; run pip install matplotlib"
        )
    kinds: Any = importlib.import_module("matplotlib.figure")
    below = 0.17 * math.ceil(entries / 3)
    figure = kinds.Figure(figsize=(_WIDTH, height + below), layout="constrained")
    return figure, figure.subplots()


def _finished(figure: Any, axes: Any, entries: int) -> Any:
    """The figure with its legend, grid and colours."""
    axes.grid(True, color=INK, alpha=0.15, linewidth=0.6)
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    for spine in axes.spines.values():
        spine.set_color(INK)
    axes.tick_params(colors=INK, which="both", labelsize=9)
    axes.xaxis.label.set_color(INK)
    axes.yaxis.label.set_color(INK)
    if entries:
        figure.legend(
            loc="outside lower center",
            ncols=3,
            fontsize=8,
            frameon=False,
            labelcolor=INK,
            handlelength=2.6,
            columnspacing=1.0,
        )
    return figure


def _places(solvers: Iterable[str]) -> dict[str, int]:
    """The place of each solver of a picture in the list of styles. A solver of a library has the
    same in every picture. The others take the first places that are left."""
    held = list(solvers)
    known = {solver: _LIBRARIES.index(solver) for solver in held if solver in _LIBRARIES}
    left = (place for place in itertools.count() if place not in known.values())
    return {solver: known[solver] if solver in known else next(left) for solver in held}


def _style(place: int) -> tuple[str, Any, str]:
    """The colour, the dashes and the mark of a place of the list. Neighbours differ in all three,
    so that a print in grey can be read."""
    dash = _DASHES[place % len(_DASHES)]
    return _COLOURS[place % len(_COLOURS)], dash, _MARKS[place % len(_MARKS)]


def _short(name: str) -> str:
    """The name of a solver, or its end if it is long."""
    return name if len(name) <= _LONGEST else f"...{name[3 - _LONGEST :]}"
