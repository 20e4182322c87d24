"""Summaries of sparse tables: error by size, threshold, density and range; trees with and without
the check; time.

After Cormode, Procopiuc, Srivastava and Tran, ICDT 2012, section 6, on made-up data with the
parameters that are in the text: counts from a normal distribution, in cells chosen uniformly or in
clusters. A 4,001 x 4,001 table of commuters stands for OnTheMap, which users have to download
themselves.
"""

import itertools
import math
import time
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import margin
from margin import Dyadic, FilterPriority, Haar, HighPass, PrioritySample, PureDP, ThresholdSample
from margin.noise.laws import DiscreteLaplace, SystemEntropy

from ._pages import Claim, page
from ._plots import lines
from ._study import Row, bad, good, seed_of, sweep

MEAN, DEVIATION = 100, 20
EPSILON = "0.1"
SHARES = (0.0001, 0.001, 0.01, 0.1, 0.5)
"""Of the domain, that a range covers."""
TREES = (
    "geometric",
    "tree-all",
    "tree-filter",
    "tree-filter-check",
    "tree-fp",
    "tree-fp-check",
    "haar-filter",
)
TREE_DENSITIES = (0.1, 0.01)
THROUGHPUT = ("filter-two:50", "threshold:1", "priority:1", "filter-priority:50", "geometric")

Integers = NDArray[np.int64]


def run(smoke: bool, out: Path) -> str:
    """Everything: rows in rows.csv, pictures, page.md."""
    cells, runs = (1 << 11, 1) if smoke else (1 << 17, 5)
    keys = [*_keys(cells, runs, smoke)]
    rows = sweep(out / "rows.csv", measure, keys)
    done = good(rows)
    pictures = _pictures(out, done)
    return page(
        out / "page.md",
        title="Summaries of sparse tables",
        about=f"Made-up tables of {cells:,} cells, epsilon {EPSILON}, non-zero counts normal with mean "
        f"{MEAN} and deviation {DEVIATION}; mean absolute error over 100 random ranges of each length, {runs} runs. "
        "Commuters: 4,001 x 4,001, made up, in place of OnTheMap.",
        claims=_claims(done),
        pictures=pictures,
        rows=[
            {name: row.get(name, "") for name in ("study", "data", "method", "kept", "seconds")}
            for row in done
        ][:40],
        notes=["The first forty rows are shown; all are in rows.csv.", *bad(rows)],
    )


def _keys(cells: int, runs: int, smoke: bool) -> list[dict[str, Any]]:
    def key(
        study: str, data: str, density: float, method: str, size: int = cells, runs: int = runs
    ) -> list[dict[str, Any]]:
        return [
            {
                "study": study,
                "data": data,
                "density": density,
                "method": method,
                "cells": size,
                "run": run,
            }
            for run in range(runs)
        ]

    keys = []
    for theta in (20, 50) if smoke else (10, 20, 30, 40, 50, 60, 70, 90):
        for side in ("one", "two"):
            keys += key("theta", "uniform", 0.1, f"filter-{side}:{theta}")
        keys += key("theta", "uniform", 0.1, f"filter-priority:{theta}")
    for share in (0.5, 1.0) if smoke else (0.25, 0.5, 1.0, 2.0):
        for method in ("priority", "threshold"):
            keys += key("size", "uniform", 0.1, f"{method}:{share:g}")
    for density in (0.1,) if smoke else (0.1, 0.01, 0.001):
        for method in ("filter-two:50", "priority:1", "filter-priority:50", "geometric"):
            keys += key("density", "uniform", density, method)
    for data, density, method in itertools.product(
        ("uniform", "skewed"), TREE_DENSITIES[:1] if smoke else TREE_DENSITIES, TREES
    ):
        keys += key("tree", data, density, method, runs=min(runs, 2))
    for density, method in itertools.product(
        (0.1, 0.01) if smoke else (0.1, 0.03, 0.01, 0.003, 0.001), THROUGHPUT
    ):
        keys += key("throughput", "uniform", density, method, runs=1)
    side = 101 if smoke else 4001
    for method in ("filter-two:target", "priority:1", "filter-priority:target"):
        keys += key("commuters", "commuters", 0.0, method, side, min(runs, 3))
    for power in (7, 9) if smoke else (7, 8, 12, 18, 24, 30):
        for method in ("high-pass", "threshold", "priority", "filter-priority"):
            keys += key("cells", "few", float(10**power), method, 10**3 if smoke else 10**5, 1)
    for method in ("laborious",):
        keys += key("cells", "few", 1e6 if smoke else 1e8, method, 10**3 if smoke else 10**5, 1)
    return keys


def measure(
    study: str, data: str, density: float, method: str, cells: int, run: int
) -> list[dict[str, Any]]:
    """One summary: its size, the time it took, and its errors."""
    seed = seed_of(study, data, density, method.removesuffix("-check"), cells, run)
    if study == "cells":
        return [_timed(method, round(density), cells, seed)]
    if study == "commuters":
        return [_commuters(method, cells, seed)]
    counts = _table(data, cells, density, run)
    rows = np.repeat(np.arange(cells), counts)[:, None]
    nonzero = int(np.count_nonzero(counts))
    started = time.process_time()
    synopsis = margin.simulate(
        rows,
        domain={"x": cells},
        budget=PureDP(EPSILON),
        mechanism=_mechanism(method, nonzero, cells),
        seed=seed,
    ).synopsis
    seconds = time.process_time() - started
    totals = np.concatenate([[0], np.cumsum(counts)])
    rng = np.random.default_rng(run)
    result: dict[str, Any] = {
        "kept": len(synopsis.values),
        "nonzero": nonzero,
        "seconds": round(seconds, 4),
    }
    for share in SHARES:
        length = max(1, round(share * cells))
        errors, relative = [], []
        for low in rng.integers(0, cells - length + 1, 100).tolist():
            truth = totals[low + length] - totals[low]
            errors.append(abs(synopsis.range(x=(low, low + length)) - truth))
            relative.append(errors[-1] / max(truth, 1))
        result[f"error {share:g}"] = float(np.mean(errors))
        result[f"relative {share:g}"] = float(np.median(relative))
    return [result]


def _mechanism(method: str, nonzero: int, cells: int) -> Any:
    name, _, parameter = method.partition(":")
    size = (
        min(cells, max(1, round(float(parameter or 1) * nonzero)))
        if name in ("priority", "threshold")
        else nonzero
    )
    theta = int(parameter) if parameter.isdigit() else 50
    simple = {
        "filter-one": lambda: HighPass(theta=theta),
        "filter-two": lambda: HighPass(theta=theta, two_sided=True),
        "filter-priority": lambda: FilterPriority(size=nonzero, theta=theta),
        "priority": lambda: PrioritySample(size=size),
        "threshold": lambda: ThresholdSample(target=size, rows=MEAN * nonzero),
        "geometric": lambda: ThresholdSample(tau=1),
        "tree-all": lambda: Dyadic(ThresholdSample(tau=1)),
        "tree-filter": lambda: Dyadic(HighPass(target=nonzero), check=False),
        "tree-filter-check": lambda: Dyadic(HighPass(target=nonzero)),
        "tree-fp": lambda: Dyadic(FilterPriority(size=nonzero), check=False),
        "tree-fp-check": lambda: Dyadic(FilterPriority(size=nonzero)),
        "haar-filter": lambda: Haar(HighPass(target=nonzero, two_sided=True)),
    }
    return simple[name]()


@lru_cache(maxsize=4)
def _table(data: str, cells: int, density: float, run: int) -> Integers:
    """Counts of cells: in uniform places, or three in four of them in four narrow places."""
    rng = np.random.default_rng(seed_of("table", data, cells, density, run))
    number = round(density * cells)
    if data == "skewed":
        centres = rng.integers(0, cells, 4)
        near = rng.choice(centres, 12 * number) + rng.normal(0, number / 2, 12 * number).astype(
            np.int64
        )
        places = np.unique(np.clip(near, 0, cells - 1))
        places = rng.permutation(places)[:number]
    else:
        places = rng.choice(cells, number, replace=False)
    counts = np.zeros(cells, np.int64)
    counts[places] = np.maximum(1, np.rint(rng.normal(MEAN, DEVIATION, places.size))).astype(
        np.int64
    )
    return counts


def _commuters(method: str, side: int, seed: int) -> dict[str, Any]:
    """Homes and works by distance and by the size of places: relative errors of random sets of
    pairs of places."""
    rng = np.random.default_rng(9)
    people = 250 * side
    place = rng.random((side, 2))
    weight = rng.pareto(1.2, side) + 0.05
    home = rng.choice(side, people, p=weight / weight.sum())
    jobs = rng.permutation(weight)
    work = np.empty(people, np.int64)
    for start in range(0, people, 1 << 14):
        block = home[start : start + (1 << 14)]
        nearest = rng.choice(side, (block.size, 24), p=jobs / jobs.sum())
        distance = np.linalg.norm(place[nearest] - place[block][:, None], axis=2)
        keys = -np.log(rng.random(distance.shape)) * (distance + 0.02) ** 2
        work[start : start + block.size] = nearest[np.arange(block.size), keys.argmin(axis=1)]
    cells = np.unique(home * side + work)
    mechanism = {
        "filter-two:target": HighPass(target=cells.size // 10, two_sided=True),
        "priority:1": PrioritySample(size=cells.size),
        "filter-priority:target": FilterPriority(size=cells.size // 2),
    }[method]
    started = time.process_time()
    synopsis = margin.simulate(
        np.stack([home, work], axis=1),
        domain={"home": side, "work": side},
        budget=PureDP("1"),
        mechanism=mechanism,
        seed=seed,
    ).synopsis
    seconds = time.process_time() - started
    result = {"kept": len(synopsis.values), "nonzero": cells.size, "seconds": round(seconds, 3)}
    for share in (0.01, 0.05, 0.2, 0.5):
        errors = []
        for _ in range(20):
            chosen = rng.random(side) < math.sqrt(share)
            other = rng.random(side) < math.sqrt(share)
            truth = int((chosen[home] & other[work]).sum())
            answer = synopsis.sum(lambda c, a=chosen, b=other: a[c["home"]] & b[c["work"]])
            errors.append(abs(answer - truth) / truth)
        result[f"relative {share:g}"] = float(np.median(errors))
    return result


def _timed(method: str, cells: int, nonzero: int, seed: int) -> dict[str, Any]:
    """Seconds of process time to summarise `nonzero` cells of one row each among `cells`, and to
    keep as many."""
    size = math.ceil(cells ** (1 / 5))
    rng = np.random.default_rng(1)
    rows = rng.integers(0, size, (nonzero, 5))
    if method == "laborious":
        started = time.process_time()
        kept = _laborious(rows, size, nonzero)
        return {
            "kept": kept,
            "nonzero": nonzero,
            "seconds": round(time.process_time() - started, 3),
        }
    mechanism = {
        "high-pass": HighPass(target=nonzero),
        "threshold": ThresholdSample(target=nonzero, rows=nonzero),
        "priority": PrioritySample(size=nonzero),
        "filter-priority": FilterPriority(size=nonzero),
    }[method]
    domain = {f"x{place}": size for place in range(5)}
    started = time.process_time()
    synopsis = margin.simulate(
        rows, domain=domain, budget=PureDP("1"), mechanism=mechanism, seed=seed
    ).synopsis
    return {
        "kept": len(synopsis.values),
        "nonzero": nonzero,
        "seconds": round(time.process_time() - started, 3),
    }


def _laborious(rows: NDArray[np.int64], size: int, target: int) -> int:
    """What "high-pass" gives, by noise on every cell, a block at a time; returns how many cells
    were kept."""
    noise, entropy, block = DiscreteLaplace(1), SystemEntropy(), 1 << 20
    cells = size ** rows.shape[1]
    theta = math.ceil(math.log(cells / target))
    found = np.sort(np.ravel_multi_index(tuple(rows.T), (size,) * rows.shape[1]))
    places, values = [], []
    for start in range(0, cells, block):
        length = min(block, cells - start)
        inside = found[slice(*np.searchsorted(found, [start, start + length]))] - start
        noisy = noise.sample(length, entropy) + np.bincount(inside, minlength=length)
        large = np.flatnonzero(noisy >= theta)
        places.append(large + start)
        values.append(noisy[large])
    codes = np.stack(np.unravel_index(np.concatenate(places), (size,) * rows.shape[1]), axis=1)
    assert len(codes) == sum(map(len, values))
    return len(codes)


def _mean(rows: list[Row], column: str, **where: Any) -> float:
    chosen = [row for row in rows if all(row[name] == str(value) for name, value in where.items())]
    return float(np.mean([float(row[column]) for row in chosen])) if chosen else math.nan


def _throughput(rows: list[Row], method: str, density: float) -> float:
    """Non-zero cells that are summarised a second of process time."""
    where = {"study": "throughput", "method": method, "density": density}
    return _mean(rows, "nonzero", **where) / max(_mean(rows, "seconds", **where), 1e-4)


def _values(rows: list[Row], study: str, prefix: str) -> list[int]:
    found = {
        row["method"].partition(":")[2]
        for row in rows
        if row["study"] == study and row["method"].startswith(prefix)
    }
    return sorted(int(text) for text in found)


def _pictures(out: Path, rows: list[Row]) -> list[Path]:
    pictures: list[Path] = []
    thetas = _values(rows, "theta", "filter-priority:")
    panels = {
        f"ranges of {share:.4g} of the domain": {
            name: (
                thetas,
                [
                    _mean(rows, f"error {share:g}", study="theta", method=f"{name}:{t}")
                    for t in thetas
                ],
            )
            for name in ("filter-one", "filter-two", "filter-priority")
        }
        for share in (0.001, 0.1)
    }
    pictures += lines(
        out / "theta",
        panels,
        xlabel="theta",
        ylabel="mean absolute error",
        title="Error against theta",
    )
    sizes = sorted(
        {row["method"].partition(":")[2] for row in rows if row["study"] == "size"}, key=float
    )
    panels = {
        f"ranges of {share:.4g} of the domain": {
            name: (
                [_mean(rows, "kept", study="size", method=f"{name}:{s}") for s in sizes],
                [
                    _mean(rows, f"error {share:g}", study="size", method=f"{name}:{s}")
                    for s in sizes
                ],
            )
            for name in ("threshold", "priority")
        }
        for share in (0.001, 0.1)
    }
    pictures += lines(
        out / "size",
        panels,
        xlabel="cells kept",
        ylabel="mean absolute error",
        title="Error against size",
    )
    densities = sorted(
        {row["density"] for row in rows if row["study"] == "density"}, key=float, reverse=True
    )
    panels = {
        f"density {float(density):.1%}": {
            name: (
                SHARES,
                [
                    _mean(rows, f"error {s:g}", study="density", density=density, method=name)
                    for s in SHARES
                ],
            )
            for name in ("filter-two:50", "priority:1", "filter-priority:50", "geometric")
        }
        for density in densities
    }
    pictures += lines(
        out / "density", panels, xlabel="share of the domain", ylabel="mean absolute error", xlog=True, columns=3,
        title="As many cells kept as are not empty; the geometric mechanism keeps all",
    )  # fmt: skip
    panels = {
        f"{data}, density {density:.0%}": {
            name: (
                SHARES,
                [
                    _mean(
                        rows, f"error {s:g}", study="tree", data=data, density=density, method=name
                    )
                    for s in SHARES
                ],
            )
            for name in TREES
        }
        for density in TREE_DENSITIES
        for data in ("uniform", "skewed")
        if any(row["study"] == "tree" and row["density"] == str(density) for row in rows)
    }
    pictures += lines(
        out / "trees",
        panels,
        xlabel="share of the domain",
        ylabel="mean absolute error",
        xlog=True,
        title="Trees",
    )
    densities = sorted({float(row["density"]) for row in rows if row["study"] == "throughput"})
    curves = {
        name: (densities, [_throughput(rows, name, density) for density in densities])
        for name in THROUGHPUT
    }
    pictures += lines(
        out / "throughput", {"non-zero cells a second": curves}, xlabel="density", ylabel="cells a second", xlog=True,
        title="As many cells kept as are not empty; the geometric mechanism keeps all",
    )  # fmt: skip
    powers = sorted(
        {
            float(row["density"])
            for row in rows
            if row["study"] == "cells" and row["method"] != "laborious"
        }
    )
    curves = {
        name: (
            powers,
            [_mean(rows, "seconds", study="cells", method=name, density=p) for p in powers],
        )
        for name in ("high-pass", "threshold", "priority", "filter-priority")
    }
    slow = [row for row in rows if row["method"] == "laborious"]
    curves["laborious"] = (
        [float(slow[0]["density"])],
        [_mean(rows, "seconds", method="laborious")],
    )
    pictures += lines(
        out / "cells", {"seconds against cells": curves}, xlabel="cells", ylabel="process seconds", xlog=True,
        title="As many cells kept as are not empty",
    )  # fmt: skip
    return pictures


def _claims(rows: list[Row]) -> list[Claim]:
    claims = []
    thetas = _values(rows, "theta", "filter-priority:")
    one, two, fp = (
        {t: _mean(rows, "error 0.1", study="theta", method=f"{name}:{t}") for t in thetas}
        for name in ("filter-one", "filter-two", "filter-priority")
    )
    better = sum(two[t] <= one[t] for t in thetas)
    claims.append(
        Claim(
            claim="A two-sided filter is generally more accurate than a one-sided one.",
            measured=f"lower at {better} of {len(thetas)} thresholds; at theta 20: {two[20]:.3g} against {one[20]:.3g}",
            holds=better > len(thetas) / 2,
        )
    )
    best = min(thetas, key=lambda t: fp[t])
    claims.append(
        Claim(
            claim="For filter-priority theta of about half the mean count is best.",
            measured=f"best theta {best} of {thetas}, mean count {MEAN}",
            holds=MEAN / 4 <= best <= 3 * MEAN / 4,
        )
    )
    ratio = _mean(rows, "error 0.1", study="size", method="threshold:1") / _mean(
        rows, "error 0.1", study="size", method="priority:1"
    )
    claims.append(
        Claim(
            claim="Threshold and priority samples behave alike.",
            measured=f"ratio of errors {ratio:.2f}",
            holds=0.7 < ratio < 1.4,
        )
    )
    for density in sorted(
        {row["density"] for row in rows if row["study"] == "density"}, key=float, reverse=True
    ):
        names = ("filter-two:50", "priority:1", "filter-priority:50", "geometric")
        errors = {
            name: [
                _mean(rows, f"error {s:g}", study="density", density=density, method=name)
                for s in SHARES
            ]
            for name in names
        }
        filtered, sampled, both, full = (errors[name] for name in names)
        claims.append(
            Claim(
                claim=f"Density {float(density):.1%}: filtering beats sampling on small ranges.",
                measured=f"ranges of {SHARES[1]:g}: {filtered[1]:.3g} against {sampled[1]:.3g}",
                holds=filtered[1] < sampled[1],
            )
        )
        claims.append(
            Claim(
                claim=f"Density {float(density):.1%}: filter-priority is as good as the whole noisy table, or nearly.",
                measured="ratios "
                + ", ".join(f"{b / f:.2f}" for b, f in zip(both, full, strict=True))
                + " for ranges from small to large",
                holds=bool(np.median(np.array(both) / np.array(full)) < 1.25),
            )
        )
    for data, claim, least in (
        ("skewed", "On skewed data the check lowers errors of trees by 30 to 60 %.", 0.3),
        ("uniform", "On uniform data the check helps by about 10 %.", 0.0),
    ):
        told, typical = [], []
        for density, kind in itertools.product(TREE_DENSITIES, ("tree-filter", "tree-fp")):
            errors = [
                [
                    _mean(
                        rows,
                        f"error {s:g}",
                        study="tree",
                        data=data,
                        density=density,
                        method=kind + end,
                    )
                    for s in SHARES
                ]
                for end in ("", "-check")
            ]
            if math.isnan(errors[0][0]):
                continue
            gains = [1 - checked / without for without, checked in zip(*errors, strict=True)]
            told.append(
                f"{kind}, density {density:.0%}: " + ", ".join(f"{gain:.0%}" for gain in gains)
            )
            typical.append(float(np.median(gains)))
        claims.append(
            Claim(
                claim=claim,
                measured="; ".join(told) + " lower for ranges from small to large",
                holds=min(typical) >= least,
                why=""
                if min(typical) >= least
                else "large ranges are made of large nodes, which the check keeps",
            )
        )
    low = min(float(row["density"]) for row in rows if row["study"] == "throughput")
    speeds = {name: _throughput(rows, name, low) for name in THROUGHPUT}
    slowest = min(speeds[name] for name in THROUGHPUT[:-1])
    claims.append(
        Claim(
            claim="On sparse data all summaries are faster than the geometric mechanism.",
            measured=f"density {low:.1%}: at least {slowest / speeds['geometric']:.1f} times as many cells a second",
            holds=slowest > speeds["geometric"],
        )
    )
    tree, flat = (
        [
            _mean(rows, f"error {s:g}", study="tree", data="uniform", density=0.1, method=name)
            for s in SHARES
        ]
        for name in ("tree-all", "geometric")
    )
    claims.append(
        Claim(
            claim="From ranges of 1 % of the domain on, trees are better than cells.",
            measured=", ".join(
                f"{s:g}: {t:.3g} / {f:.3g}" for s, t, f in zip(SHARES, tree, flat, strict=True)
            ),
            holds=all(t < f for t, f in zip(tree[2:], flat[2:], strict=True)),
        )
    )
    relative = _mean(rows, "relative 0.05", study="commuters", method="filter-priority:target")
    claims.append(
        Claim(
            claim="Commuters: sets that cover 5 % of the table or more have errors below 0.8 %.",
            measured=f"median relative error {relative:.2%} for filter-priority",
            holds=relative < 0.008,
            why=""
            if relative < 0.008
            else "made-up data, not OnTheMap: few people in most of the cells that are not empty",
        )
    )
    slow = _mean(rows, "seconds", method="laborious")
    cells = next(row["density"] for row in rows if row["method"] == "laborious")
    at = [row for row in rows if row["study"] == "cells" and row["method"] == "high-pass"]
    fast = max(float(row["seconds"]) for row in at)
    claims.append(
        Claim(
            claim="The shortcut takes time that does not depend on the number of cells.",
            measured=f"at most {fast:.2f} s up to 10^30 cells; laborious at {float(cells):.0e} cells {slow:.2f} s",
            holds=fast < slow,
        )
    )
    return claims
