"""Tables of whole numbers that agree: their error over that of the separate answers, and the time.

Each of 200 random workloads has 2 to 40 views of one to four attributes of one table, released with
one budget by one mechanism. All tables of the workload are then made to agree.
"""

import itertools
import time
from pathlib import Path
from typing import Any

import numpy as np

import margin
from experiments.answers.intervals import TABLES, _table
from experiments.tools.pages import page
from experiments.tools.study import Row, bad, good, seed_of, sweep
from margin import ZCDP, Adaptive, Auto, Domain, PriView, PureDP
from margin.solvers import Tables, agree

BUDGETS: dict[str, Any] = {
    "epsilon 0.03": PureDP("0.03"),
    "epsilon 0.1": PureDP("0.1"),
    "epsilon 1": PureDP(1),
    "epsilon 10": PureDP(10),
    "rho 0.012": ZCDP("0.011785"),
    "rho 0.11": ZCDP("0.11"),
}
"""The budgets; add or remove one row."""

MECHANISMS: dict[str, Any] = {"Auto": Auto(), "Adaptive": Adaptive(), "PriView": PriView()}

WORKLOADS = 200
MOST_CELLS = 20_000
"""Largest number of cells of one view."""


def run(smoke: bool, out: Path) -> str:
    """Measure all workloads; write rows.csv and a page with a line for each budget."""
    tables = ["ising"] if smoke else list(TABLES)
    keys = [
        {"table": tables[number * len(tables) // WORKLOADS], "number": number}
        for number in ([0] if smoke else range(WORKLOADS))
    ]
    rows = sweep(out / "rows.csv", measure, keys, limit=None if smoke else 900)
    return page(
        out / "page.md",
        title="Tables of whole numbers that agree",
        about=" ".join((__doc__ or "").split("\n\n")[1].split()),
        rows=_by_budget(good(rows)),
        notes=bad(rows),
    )


def _by_budget(rows: list[Row]) -> list[dict[str, Any]]:
    found = []
    for budget in [*BUDGETS, "all"]:
        own = [row for row in rows if budget in (row["budget"], "all")]
        if not own:
            continue
        columns = {name: np.array([float(row[name]) for row in own]) for name in FIGURES}
        found.append(
            {
                "budget": budget,
                "workloads": len(own),
                "all agree": all(row["agree"] == "True" for row in own),
                "L2 ratio": round(float(columns["L2 ratio"].mean()), 3),
                "largest L2 ratio": round(float(columns["L2 ratio"].max()), 3),
                "L1 ratio": round(float(columns["L1 ratio"].mean()), 3),
                "inside before": round(float(columns["inside before"].mean()), 3),
                "inside": round(float(columns["inside"].mean()), 3),
                "CPU seconds": round(float(columns["seconds"].mean()), 2),
                "most CPU seconds": round(float(columns["seconds"].max()), 2),
            }
        )
    return found


FIGURES = ("L2 ratio", "L1 ratio", "inside before", "inside", "seconds")


def measure(table: str, number: int) -> dict[str, Any]:
    """Release a table, make a random workload agree, and compare with the truth."""
    sizes, codes = _table(table)
    rng = np.random.default_rng(seed_of("agreeing", table=table, number=number))
    budget = str(rng.choice(list(BUDGETS)))
    mechanism = str(rng.choice(list(MECHANISMS)))
    names = list(sizes)
    simulation = margin.simulate(
        {name: codes[:, axis] for axis, name in enumerate(names)},
        domain=Domain(sizes),
        budget=BUDGETS[budget],
        mechanism=MECHANISMS[mechanism],
        seed=number,
    )
    views = _views(simulation.domain, rng)
    separate = simulation.synopsis.marginals(views)
    truths = simulation.truths(views)
    before = time.process_time()
    made = simulation.synopsis.tables(views)
    seconds = time.process_time() - before
    return {
        "budget": budget,
        "mechanism": mechanism,
        "views": len(views),
        "cells": sum(one.counts.size for one in made),
        "agree": _agree(simulation.domain, made),
        "L2 ratio": round(_error(made, truths, 2) / _error(separate, truths, 2), 4),
        "L1 ratio": round(_error(made, truths, 1) / _error(separate, truths, 1), 4),
        "inside before": round(_inside(separate, truths), 4),
        "inside": round(_inside(made, truths), 4),
        "seconds": round(seconds, 2),
    }


def _views(domain: Domain, rng: np.random.Generator) -> list[tuple[str, ...]]:
    """A random workload: 2 to 40 different views of one to four attributes."""
    wanted = int(rng.integers(2, 41))
    views: set[tuple[str, ...]] = set()
    for _ in range(10 * wanted):
        axes = np.sort(rng.choice(len(domain), int(rng.integers(1, 5)), replace=False))
        view = tuple(domain.attributes[axis] for axis in axes)
        if domain.cells(view) <= MOST_CELLS and len(views) < wanted:
            views.add(view)
    return sorted(views)


def _agree(domain: Domain, made: list[Any]) -> bool:
    """Whether the tables are whole, not negative, and agree exactly."""
    tables = Tables(
        sizes=domain.sizes,
        views=tuple(domain.axes(one.attributes) for one in made),
        values=tuple(one.counts for one in made),
        variances=(1.0,) * len(made),
    )
    whole = all((one.counts >= 0).all() and (one.counts % 1 == 0).all() for one in made)
    return whole and agree(tables)


def _error(answers: list[Any], truths: list[Any], power: int) -> float:
    """The mean over the tables of the L1 or L2 distance from the truth, at least a tenth of a row.

    A distance below that is a rounding error, and ratios of such distances mean nothing.
    """
    pairs = zip(answers, truths, strict=True)
    norms = [
        float((np.abs(one.counts - true.counts) ** power).sum() ** (1 / power))
        for one, true in pairs
    ]
    return max(float(np.mean(norms)), 0.1)


def _inside(answers: list[Any], truths: list[Any]) -> float:
    """The share of true counts inside the intervals at 95 %."""
    held = []
    for answer, truth in zip(answers, truths, strict=True):
        low, high = answer.interval(0.95)
        # True counts are whole numbers: half a row more is the same interval of whole numbers.
        held.append((truth.counts >= low - 0.5) & (truth.counts <= high + 0.5))
    return float(np.mean(list(itertools.chain.from_iterable(one.ravel() for one in held))))
