"""Tables of single pages, and spans of ratios, for the templates in `experiments/pages`."""

import math
from collections.abc import Iterable, Iterator

from experiments.tools.pages import short
from experiments.tools.readings import Readings
from margin.mechanisms.views.paper_views import noise_error


def online(study: Readings) -> str:
    """The errors of queries asked one by one, a line for each epsilon."""
    methods = ("PMW", "PMW.paper", "MWEM", "Direct")
    lines = []
    for epsilon in (0.02, 0.05, 0.1, 0.5):
        where = {"study": "online", "parameter": epsilon}
        errors = [study("error", method=method, **where) for method in methods]
        lines.append(_line(f"{epsilon:g}", *(f"{error:.4f}" for error in errors)))
    return "\n".join(lines)


def replays(study: Readings) -> str:
    """The errors of numbers of replays of `MWEM`, a line for each epsilon, and their seconds."""
    numbers = (0, 5, 10, 20, 100)
    lines = []
    for epsilon in (0.1, 1, 10):
        errors = [study("error", replays=number, epsilon=epsilon) for number in numbers]
        lines.append(_line(f"{epsilon:g}", *(f"{error:.4f}" for error in errors)))
    seconds = [study("seconds", replays=number) for number in numbers]
    lines.append(_line("processor seconds", *(f"{second:.1f}" for second in seconds)))
    return "\n".join(lines)


def sequences(study: Readings) -> str:
    """The errors of sets of places and of prefixes, a line for each epsilon."""
    methods = ("PrefixTree", "not consistent", "paper threshold", "HighPass")
    lines = []
    for epsilon in (0.1, 0.5, 1):
        where = {"study": "sequences", "parameter": epsilon}
        errors = [
            study(column, method=method, **where)
            for column in ("error", "prefix error")
            for method in methods
        ]
        lines.append(_line(f"{epsilon:g}", *map(short, errors)))
    return "\n".join(lines)


def logs(study: Readings) -> str:
    """The thresholds of logs and what is published, a line for each number of kept queries."""
    lines = []
    for most in (1, 5, 20):
        where = {"study": "log", "parameter": most}
        published = ("LogThreshold", "LogThreshold.paper", "Zealous.paper")
        found = [study("threshold", method=method, **where) for method in published]
        every = (*published, "noise on all")
        found += [study("published", method=method, **where) for method in every]
        lines.append(_line(f"{most}", *(f"{value:,.0f}" for value in found)))
    return "\n".join(lines)


_MAPS = ("roads", "check-ins", "adult")
_EPSILONS = (0.1, 0.5, 1)
_ON_MAPS = {
    "quad, equal, raw": "quad-tree, equal shares, no least squares (baseline)",
    "quad, geometric, raw": "quad-tree, geometric shares, no least squares",
    "quad, equal, LS": "quad-tree, equal shares",
    "quad, geometric, LS": "`QuadTree.paper()`",
    "QuadTree": "**`QuadTree()`**",
    "quad, pruned": "`QuadTree(least_rows=32)`",
    "kd, 1/2": "kd-tree, half for medians",
    "kd": "kd-tree, 3/10 for medians",
    "kd, hybrid, 1/2": "kd-hybrid, half for medians",
    "kd, hybrid": "kd-hybrid, 3/10 for medians",
    "KDTree": "**`KDTree.hybrid()`**",
    "UG": "`UniformGrid.paper()`",
    "UniformGrid": "**`UniformGrid()`**",
    "AG": "`AdaptiveGrid.paper()`",
    "AdaptiveGrid": "**`AdaptiveGrid()`**",
    "DPCube": "**`DPCube()`**",
    "cells": "`Flat()`: all cells",
    "Privelet": "`Wavelet()`: Privelet",
    "Hay": "`Hierarchical(branching=16)`",
}
"""The methods of the study of maps, by their names on the page."""


def maps(study: Readings) -> str:
    """The errors of rectangles in percent, a line for each method."""
    tables = _maps_of(study)
    heads = [f"{table} {epsilon:g}" for table in tables for epsilon in _EPSILONS]
    lines = [_line("mechanism", *heads), "|" + "---|" * (1 + len(heads))]
    for method, shown in _ON_MAPS.items():
        errors = [
            100 * study("overall", method=method, table=table, epsilon=epsilon)
            for table in tables
            for epsilon in _EPSILONS
        ]
        lines.append(_line(shown, *map(short, errors)))
    return "\n".join(lines)


def _maps_of(study: Readings) -> list[str]:
    """The tables on which all methods were measured."""
    whole = len(_ON_MAPS) * len(_EPSILONS)
    measured = [row["table"] for row in study.rows if row["overall"] != ""]
    return [table for table in _MAPS if measured.count(table) == whole]


def on_maps(
    study: Readings,
    better: str,
    other: str,
    tables: tuple[str, ...] = _MAPS,
    epsilons: tuple[float, ...] = _EPSILONS,
) -> str:
    """The error of a method over that of another, "smallest to largest" of tables and budgets."""
    return _span(_map_ratios(study, better, other, tables, epsilons))


def better_on_maps(study: Readings, better: str, other: str) -> str:
    """In how many tables and budgets a method has less error than another."""
    ratios = [*_map_ratios(study, better, other, _MAPS, _EPSILONS)]
    return f"{sum(ratio < 1 for ratio in ratios)} of {len(ratios)}"


def _map_ratios(
    study: Readings,
    better: str,
    other: str,
    tables: tuple[str, ...],
    epsilons: tuple[float, ...],
) -> Iterator[float]:
    for table in _maps_of(study):
        for epsilon in epsilons if table in tables else ():
            one, two = (
                study("overall", method=method, table=table, epsilon=epsilon)
                for method in (better, other)
            )
            yield one / two


def samplers(study: Readings) -> str:
    """The times of draws of noise, a line for each sampler."""
    lines = []
    for row in study.rows:
        if row["OpenDP / ours"] == "":  # a choice among candidates
            continue
        name = str(row["sampler"])
        found = [study(column, sampler=name) for column in ("seconds", "OpenDP / ours")]
        microseconds = 1e6 * study("seconds of one", sampler=name)
        lines.append(_line(name, f"{found[0]:.3f}", f"{found[1]:.0f} times", f"{microseconds:.0f}"))
    return "\n".join(lines)


def shares_of_designs(study: Readings) -> str:
    """How the sizes of designs compare with the best known, a line for each t."""
    lines = []
    for t in (2, 3, 4):
        found = [study(column, t=t) for column in ("equal or less", "within 5 %", "within 10 %")]
        ratios = [study(column, t=t) for column in ("median", "worst")]
        lines.append(
            _line(
                f"{t}",
                f"{study('cells', t=t):.0f}",
                *(f"{share:.0%}".replace("%", " %") for share in found),
                *(f"{ratio:.2f}" for ratio in ratios),
            )
        )
    return "\n".join(lines)


def designs_below(study: Readings) -> int:
    """In how many cells the size is below the best known."""
    return sum(round(study("less", t=t)) for t in (2, 3, 4))


def sizes_of_designs(study: Readings) -> str:
    """The sizes of single designs, those of small blocks and t first."""
    rows = [row for row in study.rows if row["blocks"] != ""]
    lines = []
    for row in sorted(rows, key=lambda row: (row["t"], row["k"], row["v"])):
        cell = f"({row['v']}, {row['k']}, {row['t']})"
        known = row["best known"] if row["best known"] != "" else "-"
        lines.append(_line(cell, *(f"{one}" for one in (row["blocks"], known, row["bound"]))))
    return "\n".join(lines)


def error_of_views(study: Readings, domain: str, power: int, one: str, other: str) -> str:
    """The error of some views over that of others, under noise of a power."""
    left, right = (study("error", domain=domain, power=power, views=name) for name in (one, other))
    return short(left / right, 2)


def context_gain(study: Readings) -> str:
    """The error without context over that with all attributes, over budgets and sizes."""
    return _span(
        study("error", over="the asked alone", epsilon=epsilon, k=k)
        / study("error", over="all", epsilon=epsilon, k=k)
        for epsilon in (1, 0.1)
        for k in (3, 4, 6)
    )


def times(study: Readings) -> str:
    """PriView's table of times, a line for each design."""
    lines = []
    for design in _timed(study):
        found = [
            short(study(step, design=design, way=way), 2)
            for step in ("P", "Q6", "Q8")
            for way in ("printed", "published", "ours", "ours, with bars")
        ]
        lines.append(_line(design, *found))
    return "\n".join(lines)


_PRINTED_NOISE = {(2, 20): "0.00047", (3, 106): "0.0011", (4, 620): "0.0026"}
"""The noise errors that section 4.5 of PriView prints, by t and the number of views."""


def printed_noise() -> str:
    """The noise errors of equation (5) for Kosarak: as printed, and by our equation."""
    return "\n".join(
        _line(
            f"C{t}(8,{views})",
            printed,
            f"{noise_error(attributes=32, block=8, views=views, rows=900_000, epsilon=1):.2g}",
        )
        for (t, views), printed in _PRINTED_NOISE.items()
    )


def times_faster(study: Readings, step: str) -> str:
    """The time of a step as published over ours, "smallest to largest" of the designs."""
    return _span(
        study(step, design=design, way="published") / study(step, design=design, way="ours")
        for design in _timed(study)
    )


def times_slower_with_bars(study: Readings, step: str) -> str:
    """The time of a step of ours with error bars over the published one, "smallest to largest"."""
    return _span(
        study(step, design=design, way="ours, with bars")
        / study(step, design=design, way="published")
        for design in _timed(study)
    )


def _timed(study: Readings) -> list[str]:
    """The designs that were measured in both ways."""
    ways = {(str(row["design"]), row["way"]) for row in study.rows}
    designs = dict.fromkeys(str(row["design"]) for row in study.rows)
    return [one for one in designs if {(one, "published"), (one, "ours")} <= ways]


def context(study: Readings) -> str:
    """The errors of maximum entropy over few and over all attributes."""
    ways = {
        "the asked alone": "the requested attributes alone",
        "all": "all, `Newton(context=16)`",
        "all, by mbi": "all, mbi",
    }
    lines = []
    for way, shown in ways.items():
        found = [
            " / ".join(f"{study('error', over=way, epsilon=epsilon, k=k):.4f}" for k in (3, 4, 6))
            for epsilon in (1, 0.1)
        ]
        lines.append(_line(shown, *found))
    return "\n".join(lines)


def certified_answers(study: Readings) -> str:
    """The certificates of lists of answers beside another library, a line for each list."""
    lines = []
    for row in study.rows:
        if row["lower"] != "":
            converted = f"{row['rho converted']:.4f}" if row["rho converted"] != "" else ""
            bounds = f"{row['lower']:.4f} to {row['upper']:.4f}"
            shown = (str(row["case"]), "1e-6", converted, f"{row['certified']:.4f}", bounds)
            lines.append(_line(*shown))
    return "\n".join(lines)


def certified_choices(study: Readings) -> str:
    """The certificates of rounds of choices, a line for each case."""
    lines = []
    for row in study.rows:
        if row["fixed u"] != "":
            power = f"1e{math.log10(row['delta']):.0f}"
            found = (f"{row[column]:.4f}" for column in ("certified", "fixed u"))
            lines.append(_line(str(row["case"]), power, *found))
    return "\n".join(lines)


def _span(ratios: Iterable[float]) -> str:
    found = list(ratios)
    low, high = short(min(found), 2), short(max(found), 2)
    return low if low == high else f"{low} to {high}"


def _line(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"
