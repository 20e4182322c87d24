"""Summaries of sparse tables: their error and their running time.

The error is measured by size, threshold, density and length of ranges, and for trees with and
without the check. The study follows Cormode, Procopiuc, Srivastava and Tran, ICDT 2012, section 6,
on made-up data with the parameters given there: counts from a normal distribution, in cells chosen
uniformly or in clusters. A made-up 4,001 x 4,001 table of commuters replaces OnTheMap, which users
have to download themselves.
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
from experiments.tools.pages import Claim, page, short
from experiments.tools.plots import lines
from experiments.tools.study import STATUS, Row, bad, good, seed_of, sweep
from margin import HighPass, PureDP
from margin.mechanisms import Dyadic, FilterPriority, Haar, PrioritySample, ThresholdSample
from margin.noise.laws import DiscreteLaplace, SystemEntropy

MEAN, DEVIATION = 100, 20
EPSILON = "0.1"
SHARES = (0.0001, 0.001, 0.01, 0.1, 0.5)
"""Shares of the domain that the ranges cover."""
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
DENSITY = ("filter-two:50", "priority:1", "filter-priority:50", "geometric")
AS_MANY = "As many cells kept as are not empty; the geometric mechanism keeps all"
SHORTCUTS = ("high-pass", "threshold", "priority", "filter-priority")
THROUGHPUT = ("filter-two:50", "threshold:1", "priority:1", "filter-priority:50", "geometric")

Integers = NDArray[np.int64]


def run(smoke: bool, out: Path) -> str:
    """Run the study; write rows.csv, the pictures and page.md."""
    cells, places, runs = (1 << 11, 101, 1) if smoke else (1 << 17, 4001, 5)
    keys = [*_keys(cells, places, runs, smoke)]
    rows = sweep(out / "rows.csv", measure, keys)
    done = good(rows)
    pictures = _pictures(out, done)
    columns = ("study", "data", "method", "kept", "seconds")
    return page(
        out / "page.md",
        title="Summaries of sparse tables",
        about=f"Made-up tables of {cells:,} cells, epsilon {EPSILON}, non-zero counts normal with "
        f"mean {MEAN} and deviation {DEVIATION}; mean absolute error over 100 random ranges of "
        f"each length, {runs} runs. "
        f"Commuters: {places:,} x {places:,}, made up, in place of OnTheMap.",
        claims=_claims(done) if done else [],
        pictures=pictures,
        rows=[{name: row.get(name, "") for name in columns} for row in done[:40]],
        notes=["The first forty rows are shown; all are in rows.csv.", *bad(rows)],
        readings=_averages(done),
    )


def _keys(cells: int, places: int, runs: int, smoke: bool) -> list[dict[str, Any]]:
    def key(
        study: str, data: str, density: float, method: str, size: int = cells, runs: int = runs
    ) -> list[dict[str, Any]]:
        settings = {"study": study, "data": data, "density": density, "method": method}
        return [{**settings, "cells": size, "run": run} for run in range(runs)]

    keys = []
    for theta in (20, 50) if smoke else (10, 20, 30, 40, 50, 60, 70, 90):
        for side in ("one", "two"):
            keys += key("theta", "uniform", 0.1, f"filter-{side}:{theta}")
        keys += key("theta", "uniform", 0.1, f"filter-priority:{theta}")
    for share in (0.5, 1.0) if smoke else (0.25, 0.5, 1.0, 2.0):
        for method in ("priority", "threshold"):
            keys += key("size", "uniform", 0.1, f"{method}:{share:g}")
    for density in (0.1,) if smoke else (0.1, 0.01, 0.001):
        for method in DENSITY:
            keys += key("density", "uniform", density, method)
    tree_densities = TREE_DENSITIES[:1] if smoke else TREE_DENSITIES
    for data, density, method in itertools.product(("uniform", "skewed"), tree_densities, TREES):
        keys += key("tree", data, density, method)
    densities = (0.1, 0.01) if smoke else (0.1, 0.03, 0.01, 0.003, 0.001)
    for density, method in itertools.product(densities, THROUGHPUT):
        keys += key("throughput", "uniform", density, method, runs=1)
    for method in ("filter-two:target", "priority:1", "filter-priority:target"):
        keys += key("commuters", "commuters", 0.0, method, places, min(runs, 3))
    nonzero = 10**3 if smoke else 10**5
    for power in (7, 9) if smoke else (7, 8, 12, 18, 24, 30):
        for method in SHORTCUTS:
            keys += key("cells", "few", float(10**power), method, nonzero, 1)
    keys += key("cells", "few", 1e6 if smoke else 1e8, "laborious", nonzero, 1)
    if not smoke:
        for power, method in itertools.product((7, 12, 18, 24, 30), SHORTCUTS):
            keys += key("million", "few", float(10**power), method, 10**6, 3)
        for method in ("laborious", *SHORTCUTS):
            keys += key("million", "few", 1e8, method, 10**6, 3)
    return keys


def measure(
    study: str, data: str, density: float, method: str, cells: int, run: int
) -> list[dict[str, Any]]:
    """Make one summary; return its size, its running time and its errors."""
    seed = seed_of(study, data, density, method.removesuffix("-check"), cells, run)
    if study in ("cells", "million"):
        return [_timed(method, round(density), cells, seed)]
    if study == "commuters":
        return [_commuters(method, cells, seed)]
    counts = _table(data, cells, density, run)
    rows = np.repeat(np.arange(cells), counts)[:, None]
    nonzero = int(np.count_nonzero(counts))
    started = time.process_time()
    synopsis = margin.simulate(
        rows,
        domain={"x": {"size": cells, "ordered": True}},
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
    """The mechanism of a method such as ``priority:0.5``; sizes relate to the non-empty cells."""
    name, _, parameter = method.partition(":")
    size = nonzero
    if name in ("priority", "threshold"):
        size = min(cells, max(1, round(float(parameter or 1) * nonzero)))
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
    """Counts of cells, the non-empty ones in uniform places or near four random centres."""
    rng = np.random.default_rng(seed_of("table", data, cells, density, run))
    number = round(density * cells)
    if data == "skewed":
        centres = rng.integers(0, cells, 4)
        chosen = rng.choice(centres, 12 * number)
        offsets = rng.normal(0, number / 2, 12 * number).astype(np.int64)
        places = np.unique(np.clip(chosen + offsets, 0, cells - 1))
        places = rng.permutation(places)[:number]
    else:
        places = rng.choice(cells, number, replace=False)
    counts = np.zeros(cells, np.int64)
    drawn = np.rint(rng.normal(MEAN, DEVIATION, places.size))
    counts[places] = np.maximum(1, drawn).astype(np.int64)
    return counts


def _commuters(method: str, side: int, seed: int) -> dict[str, Any]:
    """Relative errors for random sets of pairs (home, work) in a made-up table of commuters."""
    rng = np.random.default_rng(9)
    home, work = _homes_and_works(side, rng)
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


def _homes_and_works(side: int, rng: np.random.Generator) -> tuple[Integers, Integers]:
    """The place of the home and of the work of each person; large and near places are likelier."""
    people = 250 * side
    place = rng.random((side, 2))
    weight = rng.pareto(1.2, side) + 0.05
    home = rng.choice(side, people, p=weight / weight.sum())
    jobs = rng.permutation(weight)
    work = np.empty(people, np.int64)
    step = 1 << 14
    for start in range(0, people, step):
        # Of 24 random jobs each person takes one, with a weight that falls with the distance.
        block = home[start : start + step]
        offered = rng.choice(side, (block.size, 24), p=jobs / jobs.sum())
        distance = np.linalg.norm(place[offered] - place[block][:, None], axis=2)
        keys = -np.log(rng.random(distance.shape)) * (distance + 0.02) ** 2
        taken = keys.argmin(axis=1)
        work[start : start + block.size] = offered[np.arange(block.size), taken]
    return home, work


def _timed(method: str, cells: int, nonzero: int, seed: int) -> dict[str, Any]:
    """Seconds of process time to summarise a table of `cells` cells with `nonzero` rows.

    Each row lies in a random cell, and the summary keeps `nonzero` cells.
    """
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
    """Number of cells that "high-pass" keeps, by adding noise to every cell, block by block."""
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


def _averages(rows: list[Row]) -> list[dict[str, Any]]:
    """The means over the runs of each study, table and method."""
    settings = ("study", "data", "density", "method", "cells")
    groups: dict[tuple[str, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault(tuple(row[name] for name in settings), []).append(row)
    averages = []
    for values, some in groups.items():
        measured = [name for name in some[0] if name not in (*settings, "run", STATUS)]
        means = {name: _mean(some, name) for name in measured if some[0][name]}
        averages.append(dict(zip(settings, values, strict=True)) | {"runs": len(some)} | means)
    return averages


def _mean(rows: list[Row], column: str, **where: Any) -> float:
    """The mean of a column over the rows with these values; NaN if there is none."""
    chosen = [row for row in rows if all(row[name] == str(value) for name, value in where.items())]
    if not chosen:
        return math.nan
    return float(np.mean([float(row[column]) for row in chosen]))


def _errors(rows: list[Row], study: str, method: str, **where: Any) -> list[float]:
    """The mean absolute error for ranges of each length, from small to large."""
    return [_mean(rows, f"error {s:g}", study=study, method=method, **where) for s in SHARES]


def _throughput(rows: list[Row], method: str, density: float) -> float:
    """Non-zero cells that are summarised per second of process time."""
    where = {"study": "throughput", "method": method, "density": density}
    return _mean(rows, "nonzero", **where) / max(_mean(rows, "seconds", **where), 1e-4)


def _values(rows: list[Row], study: str, prefix: str) -> list[int]:
    """The parameters of the methods of a study whose names start with `prefix`."""
    names = {row["method"] for row in rows if row["study"] == study}
    return sorted({int(name.partition(":")[2]) for name in names if name.startswith(prefix)})


def _densities(rows: list[Row], study: str) -> list[str]:
    """The densities of a study, the largest first."""
    found = {row["density"] for row in rows if row["study"] == study}
    return sorted(found, key=float, reverse=True)


def _pictures(out: Path, rows: list[Row]) -> list[Path]:
    return [
        *_theta_picture(out, rows),
        *_size_picture(out, rows),
        *_density_picture(out, rows),
        *_tree_picture(out, rows),
        *_throughput_picture(out, rows),
        *_cells_picture(out, rows),
    ]


def _theta_picture(out: Path, rows: list[Row]) -> list[Path]:
    thetas = _values(rows, "theta", "filter-priority:")

    def curve(name: str, share: float) -> tuple[list[int], list[float]]:
        column = f"error {share:g}"
        means = [_mean(rows, column, study="theta", method=f"{name}:{t}") for t in thetas]
        return thetas, means

    names = ("filter-one", "filter-two", "filter-priority")
    panels = {
        f"ranges of {share:.4g} of the domain": {name: curve(name, share) for name in names}
        for share in (0.001, 0.1)
    }
    return lines(
        out / "theta",
        panels,
        xlabel="theta",
        ylabel="mean absolute error",
        title="Error against theta",
    )


def _size_picture(out: Path, rows: list[Row]) -> list[Path]:
    found = {row["method"].partition(":")[2] for row in rows if row["study"] == "size"}
    methods = {
        name: [f"{name}:{size}" for size in sorted(found, key=float)]
        for name in ("threshold", "priority")
    }

    def curve(name: str, share: float) -> tuple[list[float], list[float]]:
        column = f"error {share:g}"
        kept = [_mean(rows, "kept", study="size", method=method) for method in methods[name]]
        means = [_mean(rows, column, study="size", method=method) for method in methods[name]]
        return kept, means

    panels = {
        f"ranges of {share:.4g} of the domain": {name: curve(name, share) for name in methods}
        for share in (0.001, 0.1)
    }
    return lines(
        out / "size",
        panels,
        xlabel="cells kept",
        ylabel="mean absolute error",
        title="Error against size",
    )


def _density_picture(out: Path, rows: list[Row]) -> list[Path]:
    panels = {}
    for density in _densities(rows, "density"):
        panels[f"density {float(density):.1%}"] = {
            name: (SHARES, _errors(rows, "density", name, density=density)) for name in DENSITY
        }
    return lines(
        out / "density",
        panels,
        xlabel="share of the domain",
        ylabel="mean absolute error",
        xlog=True,
        columns=3,
        title=AS_MANY,
    )


def _tree_picture(out: Path, rows: list[Row]) -> list[Path]:
    measured = _densities(rows, "tree")
    panels = {}
    for density, data in itertools.product(TREE_DENSITIES, ("uniform", "skewed")):
        if str(density) in measured:
            panels[f"{data}, density {density:.0%}"] = {
                name: (SHARES, _errors(rows, "tree", name, data=data, density=density))
                for name in TREES
            }
    return lines(
        out / "trees",
        panels,
        xlabel="share of the domain",
        ylabel="mean absolute error",
        xlog=True,
        title="Trees",
    )


def _throughput_picture(out: Path, rows: list[Row]) -> list[Path]:
    densities = sorted(float(density) for density in _densities(rows, "throughput"))
    curves = {
        name: (densities, [_throughput(rows, name, density) for density in densities])
        for name in THROUGHPUT
    }
    return lines(
        out / "throughput",
        {"non-zero cells a second": curves},
        xlabel="density",
        ylabel="cells a second",
        xlog=True,
        title=AS_MANY,
    )


def _cells_picture(out: Path, rows: list[Row]) -> list[Path]:
    timed = [row for row in rows if row["study"] == "cells"]
    powers = sorted({float(row["density"]) for row in timed if row["method"] != "laborious"})

    def seconds(name: str) -> list[float]:
        return [_mean(rows, "seconds", study="cells", method=name, density=p) for p in powers]

    curves = {name: (powers, seconds(name)) for name in SHORTCUTS}
    slow = [row for row in timed if row["method"] == "laborious"]
    if slow:
        curves["laborious"] = (
            [float(slow[0]["density"])],
            [_mean(timed, "seconds", method="laborious")],
        )
    return lines(
        out / "cells",
        {"seconds against cells": curves},
        xlabel="cells",
        ylabel="process seconds",
        xlog=True,
        title="As many cells kept as are not empty",
    )


def _claims(rows: list[Row]) -> list[Claim]:
    claims = [*_filter_claims(rows), _sampling_claim(rows)]
    for density in _densities(rows, "density"):
        claims += _density_claims(rows, density)
    return [
        *claims,
        _check_claim(
            rows, "skewed", "On skewed data the check lowers errors of trees by 30 to 60 %.", 0.3
        ),
        _check_claim(rows, "uniform", "On uniform data the check helps by about 10 %.", 0.0),
        _throughput_claim(rows),
        _tree_claim(rows),
        _commuters_claim(rows),
        _time_claim(rows),
    ]


def _filter_claims(rows: list[Row]) -> list[Claim]:
    thetas = _values(rows, "theta", "filter-priority:")

    def errors(name: str) -> dict[int, float]:
        return {t: _mean(rows, "error 0.1", study="theta", method=f"{name}:{t}") for t in thetas}

    one, two, both = errors("filter-one"), errors("filter-two"), errors("filter-priority")
    better = sum(two[t] <= one[t] for t in thetas)
    best = min(thetas, key=lambda t: both[t])
    return [
        Claim(
            claim="A two-sided filter is generally more accurate than a one-sided one.",
            measured=f"lower at {better} of {len(thetas)} thresholds; "
            f"at theta 20: {short(two[20])} against {short(one[20])}",
            holds=better > len(thetas) / 2,
        ),
        Claim(
            claim="For filter-priority theta of about half the mean count is best.",
            measured=f"best theta {best} of {thetas}, mean count {MEAN}",
            holds=MEAN / 4 <= best <= 3 * MEAN / 4,
        ),
    ]


def _sampling_claim(rows: list[Row]) -> Claim:
    threshold = _mean(rows, "error 0.1", study="size", method="threshold:1")
    priority = _mean(rows, "error 0.1", study="size", method="priority:1")
    ratio = threshold / priority
    return Claim(
        claim="Threshold and priority samples behave alike.",
        measured=f"ratio of errors {ratio:.2f}",
        holds=0.7 < ratio < 1.4,
    )


def _density_claims(rows: list[Row], density: str) -> list[Claim]:
    errors = [_errors(rows, "density", name, density=density) for name in DENSITY]
    filtered, sampled, both, full = errors
    ratios = np.array(both) / np.array(full)
    listed = ", ".join(f"{ratio:.2f}" for ratio in ratios)
    return [
        Claim(
            claim=f"Density {float(density):.1%}: filtering beats sampling on small ranges.",
            measured=f"ranges of {SHARES[1]:g}: {short(filtered[1])} against {short(sampled[1])}",
            holds=filtered[1] < sampled[1],
        ),
        Claim(
            claim=f"Density {float(density):.1%}: filter-priority is as good as the whole noisy "
            "table, or nearly.",
            measured=f"ratios {listed} for ranges from small to large",
            holds=bool(np.median(ratios) < 1.25),
        ),
    ]


def _check_claim(rows: list[Row], data: str, claim: str, least: float) -> Claim:
    """The gain by the check of trees, for each kind of tree and density that was measured."""
    listed, typical = [], []
    for density, kind in itertools.product(TREE_DENSITIES, ("tree-filter", "tree-fp")):
        without = _errors(rows, "tree", kind, data=data, density=density)
        checked = _errors(rows, "tree", f"{kind}-check", data=data, density=density)
        if math.isnan(without[0]):
            continue
        gains = [1 - after / before for before, after in zip(without, checked, strict=True)]
        percent = ", ".join(f"{gain:.0%}" for gain in gains)
        listed.append(f"{kind}, density {density:.0%}: {percent}")
        typical.append(float(np.median(gains)))
    holds = min(typical) >= least
    return Claim(
        claim=claim,
        measured=f"medians over the ranges {min(typical):.0%} to {max(typical):.0%} lower",
        detail="; ".join(listed) + " lower for ranges from small to large",
        holds=holds,
        why="" if holds else f"every median is to be at least {least:.0%}",
    )


def _throughput_claim(rows: list[Row]) -> Claim:
    low = min(float(density) for density in _densities(rows, "throughput"))
    speeds = {name: _throughput(rows, name, low) for name in THROUGHPUT}
    slowest = min(speeds[name] for name in THROUGHPUT[:-1])
    ratio = slowest / speeds["geometric"]
    return Claim(
        claim="On sparse data all summaries are faster than the geometric mechanism.",
        measured=f"density {low:.1%}: at least {ratio:.1f} times as many cells a second",
        holds=slowest > speeds["geometric"],
    )


def _tree_claim(rows: list[Row]) -> Claim:
    tree = _errors(rows, "tree", "tree-all", data="uniform", density=0.1)
    flat = _errors(rows, "tree", "geometric", data="uniform", density=0.1)
    triples = list(zip(SHARES, tree, flat, strict=True))
    return Claim(
        claim="From ranges of 1 % of the domain on, trees are better than cells.",
        measured=", ".join(f"{share:g}: {short(t)} / {short(f)}" for share, t, f in triples),
        holds=all(t < f for _, t, f in triples[2:]),
    )


def _commuters_claim(rows: list[Row]) -> Claim:
    relative = _mean(rows, "relative 0.05", study="commuters", method="filter-priority:target")
    holds = relative < 0.008
    why = "made-up data, not OnTheMap: few people in most of the cells that are not empty"
    return Claim(
        claim="Commuters: sets that cover 5 % of the table or more have errors below 0.8 %.",
        measured=f"median relative error {relative:.2%} for filter-priority",
        holds=holds,
        why="" if holds else why,
    )


def _time_claim(rows: list[Row]) -> Claim:
    slow = _mean(rows, "seconds", study="cells", method="laborious")
    cells = float(next(row["density"] for row in rows if row["method"] == "laborious"))
    shortcut = [row for row in rows if row["study"] == "cells" and row["method"] == "high-pass"]
    fast = max(float(row["seconds"]) for row in shortcut)
    return Claim(
        claim="The shortcut takes time that does not depend on the number of cells.",
        measured=f"at most {fast:.2f} s up to 10^30 cells; "
        f"laborious at {cells:.0e} cells {slow:.2f} s",
        holds=fast < slow,
    )
