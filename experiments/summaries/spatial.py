"""Points on a map: error of random rectangles, for trees, grids and products of trees.

After Cormode, Procopiuc, Srivastava, Shen and Yu, ICDE 2012, and Qardaji, Yang and Li, ICDE 2013.
The papers' points (TIGER/Line roads, check-ins, landmarks, storage facilities) are to be
downloaded by users. Made-up points replace them: roads between towns, and check-ins in clusters of
very different sizes. Age and weekly hours of Adult are a real table.
"""

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import margin
from experiments.tools.pages import Claim, page
from experiments.tools.plots import lines
from experiments.tools.study import Key, Row, bad, good, seed_of, sweep
from experiments.tools.tables import adult
from margin import Domain, Private, PureDP, Strategy, Synopsis
from margin.mechanisms import (
    AdaptiveGrid,
    DPCube,
    Flat,
    Hierarchical,
    KDTree,
    QuadTree,
    UniformGrid,
    Wavelet,
)
from margin.private import Groups

EPSILONS = (0.1, 0.5, 1.0)
SIDES = (1 / 64, 1 / 32, 1 / 16, 1 / 8, 1 / 4, 1 / 2)
"""Sides of the rectangles, as parts of the sides of the map: sizes that grow fourfold, as in the
second paper."""
QUERIES = 200
FLOOR = 0.001
"""Relative errors divide by the true count, or by this part of the rows if it is larger."""
ADULT = 128
"""Codes of the ages and of the weekly hours of Adult: whole numbers from 0."""

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class RawQuadTree:
    """The quad-tree without least squares: a rectangle is the sum of the noisy counts of the
    largest regions in it. The side of the map is a power of two."""

    ratio: float

    def run(self, private: Private, workload: Any) -> "RawCounts":
        """Measure all levels."""
        side = private.domain["x"].size
        height = side.bit_length() - 1
        strategies = []
        for level in range(height + 1):
            groups = Groups(np.arange(side) >> (height - level))
            strategies.append(Strategy(("x", "y"), [groups, groups]))
        shares = [self.ratio**level for level in range(height + 1)]
        found = private.measure_linear(strategies, shares=shares)
        return RawCounts(domain=private.domain, sums=[_sums(level.values) for level in found])


@dataclass(frozen=True, kw_only=True, eq=False)
class RawCounts(Synopsis):
    """Noisy counts of the regions of all levels of a quad-tree, as sums from the corner."""

    sums: list[Floats]

    def count(self, low: Integers, high: Integers) -> float:
        """The sum over the largest regions in a rectangle of cells from `low` to before `high`."""
        total = 0.0
        inner_low = inner_high = np.zeros(2, np.int64)
        for level, sums in enumerate(self.sums):
            width = 1 << (len(self.sums) - 1 - level)
            # Regions of this level in the rectangle, less those in regions of the level above.
            covered_low, covered_high = 2 * inner_low, 2 * inner_high
            inner_low = -(-low // width)
            inner_high = np.maximum(high // width, inner_low)
            total += _within(sums, inner_low, inner_high) - _within(sums, covered_low, covered_high)
            if (inner_high == inner_low).any():
                inner_low = inner_high = np.zeros(2, np.int64)
        return total


METHODS: dict[str, Any] = {
    "quad, equal, raw": RawQuadTree(ratio=1.0),
    "quad, geometric, raw": RawQuadTree(ratio=2 ** (1 / 3)),
    "quad, equal, LS": QuadTree(ratio=1.0, nonnegative=False),
    "quad, geometric, LS": QuadTree.paper(),
    "QuadTree": QuadTree(),
    "quad, pruned": QuadTree(least_rows=32),
    "kd, 1/2": KDTree(nonnegative=False, median_share="1/2"),
    "kd": KDTree(nonnegative=False),
    "kd, hybrid, 1/2": KDTree(nonnegative=False, private_levels=4, height=8, median_share="1/2"),
    "kd, hybrid": KDTree(nonnegative=False, private_levels=4, height=8),
    "KDTree": KDTree.hybrid(),
    "UG": UniformGrid.paper(),
    "UniformGrid": UniformGrid(),
    "AG": AdaptiveGrid.paper(),
    "AdaptiveGrid": AdaptiveGrid(),
    "DPCube": DPCube(),
    "cells": Flat(),
    "Privelet": Wavelet(),
    "Hay": Hierarchical(branching=16),
}


def run(smoke: bool, out: Path) -> str:
    """Run the study; write rows.csv, the pictures and page.md."""
    tables = ("roads",) if smoke else ("roads", "check-ins", "adult")
    epsilons = (0.5,) if smoke else EPSILONS
    side, points, runs = (64, 20_000, 1) if smoke else (512, 1_000_000, 3)
    keys = [
        {
            "table": table,
            "epsilon": epsilon,
            "method": method,
            "side": side,
            "points": points,
            "run": run,
        }
        for table in tables
        for epsilon in epsilons
        for method in METHODS
        for run in range(runs)
    ]
    rows = sweep(out / "rows.csv", measure, keys)
    done = good(rows)
    # Adult may be missing, and a study that is broken off lacks more; the notes say so.
    tables = tuple(table for table in tables if _is_measured(done, table, epsilons))
    return page(
        out / "page.md",
        title="Points on a map",
        about=f"{_described(keys)} Mean over {runs} runs and {QUERIES} random rectangles of each "
        f"size of the relative error, |answer - count| / max(count, {FLOOR} N).",
        claims=_claims(done, tables, epsilons),
        pictures=_pictures(out, done, tables, epsilons),
        rows=_table(done, tables, epsilons),
        notes=bad(rows),
    )


def _described(keys: Sequence[Key]) -> str:
    """The tables of the keys and their cells."""
    side, points = keys[0]["side"], keys[0]["points"]
    tables = dict.fromkeys(key["table"] for key in keys)
    made_up = " and ".join(table for table in tables if table != "adult")
    text = f"Made-up {made_up}: {points:,} points on {side} x {side} cells"
    if "adult" in tables:
        text += f"; Adult: age and weekly hours on {ADULT} x {ADULT} cells"
    return f"{text}."


def measure(
    table: str,
    epsilon: float,
    method: str,
    side: int,
    points: int,
    run: int,
) -> dict[str, Any]:
    """Make one release; return the mean relative error for each size of rectangles."""
    codes = _points(table, side, points)
    side = ADULT if table == "adult" else side
    axis = {"size": side, "ordered": True}
    domain = Domain({"x": axis, "y": axis})
    started = time.process_time()
    synopsis: Any = margin.simulate(
        codes,
        domain=domain,
        budget=PureDP(str(epsilon)),
        mechanism=METHODS[method],
        seed=seed_of(table, epsilon, method, run),
    ).synopsis
    seconds = time.process_time() - started
    truth = _sums(np.histogram2d(*codes.T, bins=side, range=[[0, side]] * 2)[0])
    answer = _answers(synopsis)
    rng = np.random.default_rng(seed_of("rectangles", table, run))
    found: dict[str, Any] = {"seconds": round(seconds, 3)}
    for part in SIDES:
        length = max(1, round(part * side))
        errors = []
        for low in rng.integers(0, side - length + 1, (QUERIES, 2)):
            true = _within(truth, low, low + length)
            error = abs(answer(low, low + length) - true)
            errors.append(error / max(true, FLOOR * len(codes)))
        found[f"error 1/{round(1 / part)}"] = float(np.mean(errors))
    return found


def _answers(synopsis: Any) -> Callable[[Integers, Integers], float]:
    """A function from rectangles to counts."""
    if isinstance(synopsis, RawCounts):
        return synopsis.count
    sums = _sums(synopsis.marginal(["x", "y"]).counts)
    return lambda low, high: _within(sums, low, high)


def _sums(table: Floats) -> Floats:
    """The sums over all cells before each corner."""
    return np.pad(table.cumsum(axis=0).cumsum(axis=1), ((1, 0), (1, 0)))


def _within(sums: Floats, low: Integers, high: Integers) -> float:
    """The sum over the cells from `low` to before `high`."""
    (left, top), (right, bottom) = low, high
    return float(sums[right, bottom] - sums[left, bottom] - sums[right, top] + sums[left, top])


@lru_cache(maxsize=3)
def _points(table: str, side: int, points: int) -> Integers:
    """The cells of the points, shape (points, 2)."""
    if table == "adult":
        found = adult()
        if found is None:
            raise FileNotFoundError("Adult is not at hand")
        columns = [np.asarray(found.data[name]) for name in ("age", "hours-per-week")]
        return np.stack(columns, axis=1).astype(np.int64)
    rng = np.random.default_rng(seed_of("points", table, side, points))
    places = _roads(rng, points) if table == "roads" else _check_ins(rng, points)
    return np.clip(places * side, 0, side - 1).astype(np.int64)


def _roads(rng: np.random.Generator, points: int) -> Floats:
    """Points along roads between neighbouring towns, and in the streets of the towns.

    As in the papers' table, the map holds two far regions with an empty area around them.
    """
    regions = np.array([[0.05, 0.45, 0.55, 0.95], [0.6, 0.9, 0.05, 0.45]])
    towns = np.concatenate(
        [
            rng.uniform((west, south), (east, north), (150, 2))
            for west, east, south, north in regions
        ]
    )
    size = rng.pareto(1.2, len(towns)) + 0.1
    # Half of the points are in towns, half on straight roads to one of the five nearest towns.
    start = rng.choice(len(towns), points, p=size / size.sum())
    distance = np.linalg.norm(towns[:, None] - towns, axis=2)
    nearest = np.argsort(distance, axis=1)[:, 1:6]
    end = nearest[start, rng.integers(0, 5, points)]
    along = rng.random((points, 1))
    road = towns[start] + along * (towns[end] - towns[start])
    spread = (0.004 * np.sqrt(size[start]))[:, None]
    street = towns[start] + np.clip(spread, 0, 0.02) * rng.normal(size=(points, 2))
    return np.asarray(np.where(rng.random((points, 1)) < 0.5, road, street))


def _check_ins(rng: np.random.Generator, points: int) -> Floats:
    """Points in clusters whose numbers of points follow a power law, and a few anywhere."""
    number = 400
    centres = rng.beta(2, 3, (number, 2))
    size = rng.pareto(0.9, number) + 0.05
    spread = rng.uniform(0.0005, 0.02, number)
    of = rng.choice(number, points, p=size / size.sum())
    near = centres[of] + spread[of][:, None] * rng.standard_t(3, (points, 2))
    anywhere = rng.random((points, 2))
    return np.asarray(np.where(rng.random((points, 1)) < 0.02, anywhere, near))


def _columns() -> list[str]:
    return [f"error 1/{round(1 / part)}" for part in SIDES]


def _is_measured(rows: list[Row], table: str, epsilons: tuple[float, ...]) -> bool:
    """Whether all methods were measured on a table with all budgets."""
    found = {(row["epsilon"], row["method"]) for row in rows if row["table"] == table}
    return {(str(epsilon), method) for epsilon in epsilons for method in METHODS} <= found


def _mean(rows: list[Row], column: str, **where: Any) -> float:
    chosen = [row for row in rows if all(row[name] == str(value) for name, value in where.items())]
    return float(np.mean([float(row[column]) for row in chosen])) if chosen else math.nan


def _overall(rows: list[Row], **where: Any) -> float:
    """The geometric mean over all sizes of the mean relative error."""
    return math.exp(np.mean([math.log(_mean(rows, column, **where)) for column in _columns()]))


def _table(
    rows: list[Row], tables: tuple[str, ...], epsilons: tuple[float, ...]
) -> list[dict[str, Any]]:
    found = []
    for table in tables:
        for epsilon in epsilons:
            for method in METHODS:
                where = {"table": table, "epsilon": epsilon, "method": method}
                errors = {column: _mean(rows, column, **where) for column in _columns()}
                overall = {"overall": _overall(rows, **where)}
                seconds = {"seconds": _mean(rows, "seconds", **where)}
                found.append({**where, **errors, **overall, **seconds})
    return found


def _pictures(
    out: Path, rows: list[Row], tables: tuple[str, ...], epsilons: tuple[float, ...]
) -> list[Path]:
    shown = ("quad, equal, raw", "quad, geometric, LS", "kd, hybrid", "UG", "AG", "Privelet", "Hay")
    panels = {
        f"{table}, epsilon {epsilon:g}": {
            method: (
                [round(100 * part, 1) for part in SIDES],
                [
                    _mean(rows, column, table=table, epsilon=epsilon, method=method)
                    for column in _columns()
                ],
            )
            for method in shown
        }
        for table in tables
        for epsilon in epsilons
    }
    return lines(
        out / "error",
        panels,
        xlabel="side of the rectangle, % of the map",
        ylabel="mean relative error",
        title="Random rectangles",
        columns=3,
        xlog=True,
    )


_BETTER = (
    ("quad, geometric, LS", "quad, equal, raw", "the quad-tree's baseline"),
    ("quad, geometric, raw", "quad, equal, raw", "equal shares, both without least squares"),
    ("quad, equal, LS", "quad, equal, raw", "no least squares, both with equal shares"),
    ("kd, hybrid", "kd", "private medians on all levels"),
    ("AG", "UG", "the uniform grid"),
    ("kd, hybrid", "quad, geometric, LS", "the quad-tree"),
    ("kd, hybrid", "kd, hybrid, 1/2", "half of the budget for medians"),
    ("kd", "kd, 1/2", "half of the budget for medians"),
    ("AG", "kd, hybrid", "kd-hybrid"),
    ("UG", "kd, hybrid", "kd-hybrid"),
    ("KDTree", "kd, hybrid", "the published kd-hybrid"),
    ("AG", "Privelet", "Privelet"),
    ("AG", "Hay", "the products of trees"),
    ("DPCube", "cells", "the noisy cells"),
    ("AdaptiveGrid", "DPCube", "DPCube"),
    ("QuadTree", "quad, geometric, LS", "the same with negative counts"),
    ("UniformGrid", "UG", "the same with negative counts"),
    ("AdaptiveGrid", "AG", "the same with negative counts"),
)


def _claims(rows: list[Row], tables: tuple[str, ...], epsilons: tuple[float, ...]) -> list[Claim]:
    claims = []
    for better, other, what in _BETTER:
        for table in tables:
            ratios = [
                _overall(rows, table=table, epsilon=epsilon, method=better)
                / _overall(rows, table=table, epsilon=epsilon, method=other)
                for epsilon in epsilons
            ]
            shown = ", ".join(
                f"epsilon {epsilon:g}: {ratio:.2f}"
                for epsilon, ratio in zip(epsilons, ratios, strict=True)
            )
            claims.append(
                Claim(
                    claim=f"{table}: {better} is better than {what}.",
                    measured=f"{shown} of the error",
                    holds=all(ratio < 1 for ratio in ratios),
                )
            )
    return claims
