"""Intervals of marginals that were not measured: how many hold the true count, and how wide.

The tables are of kinds on which no constant was fitted, but for Adult and KDD Cup 99, which were
looked at before the constants were fixed. For each table, budget, mechanism and number of
attributes: the share of true counts inside the interval at 95 %, with and without its missed part.
"""

import functools
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import margin
from margin import ZCDP, Adaptive, Domain, PriView, PureDP

from . import _peer_tables
from ._pages import markdown
from ._study import Row, bad, good, seed_of, sweep

Codes = NDArray[np.int64]
Table = tuple[dict[str, int], Codes]
"""The number of categories of each attribute, and rows of codes, shape (rows, attributes)."""

QUANTILE = 1.959964
SIZES = (3, 4, 6)
ASKED = 25
"""Number of random marginals of each size."""

MOST_CELLS = 20_000
"""Largest number of cells of a marginal that is asked for."""

BUDGETS: dict[str, Any] = {
    "B1": PureDP(1),
    "B2": PureDP("0.1"),
    "B3": ZCDP("0.011785"),
    "B4": ZCDP("0.11"),
}
"""The budgets of the peers' study; add or remove one row."""

MECHANISMS: dict[str, Any] = {"Auto": None, "Adaptive": Adaptive(), "PriView": PriView()}


def run(smoke: bool, out: Path) -> str:
    """Measure all cells; write rows.csv and return a table with a line for each cell."""
    tables = ("ising",) if smoke else tuple(TABLES)
    budgets = ("B1",) if smoke else tuple(BUDGETS)
    keys = [
        {"table": table, "budget": budget, "mechanism": mechanism, "seed": 0}
        for table in tables
        for budget in budgets
        for mechanism in (("PriView",) if smoke else MECHANISMS)
    ]
    rows = sweep(out / "rows.csv", measure, keys, limit=None if smoke else 900)
    # A release whose views hold all that was asked leaves nothing to judge.
    judged = [row for row in good(rows) if row["k"] != "0"]
    return "\n".join([markdown(judged), _summary(judged), *bad(rows)])


def _summary(rows: list[Row]) -> str:
    """The bars in one line each."""
    inside = np.array([float(row["inside"]) for row in rows])
    large = np.array([float(row["of counts >= 100"]) for row in rows if row["of counts >= 100"]])
    worst = np.array([float(row["worst tenth"]) for row in rows])
    before = np.array([float(row["noise alone"]) for row in rows])
    good_share = ((inside >= 0.92) & (inside <= 0.99)).mean() if len(rows) else math.nan
    return "\n".join(
        [
            f"cells: {len(rows)}; inside from .92 to .99: {good_share:.2f} of them; "
            f"above .99: {(inside > 0.99).mean():.2f}; least: {inside.min(initial=1):.3f}",
            f"below .85: {(inside < 0.85).sum()} (with the noise part alone: "
            f"{(before < 0.85).sum()})",
            f"counts of at least 100, least share inside: {large.min(initial=1):.3f}",
            f"worst tenth of the marginals below .75: {(worst < 0.75).sum()} cells",
        ]
    )


def measure(table: str, budget: str, mechanism: str, seed: int) -> list[dict[str, Any]]:
    """Release once and compare marginals that no view covers with the truth."""
    sizes, codes = _table(table)
    names = list(sizes)
    simulation = margin.simulate(
        {name: codes[:, axis] for axis, name in enumerate(names)},
        domain=Domain(sizes),
        budget=BUDGETS[budget],
        mechanism=MECHANISMS[mechanism],
        seed=seed_of("intervals", table=table, budget=budget, seed=seed),
    )
    rng = np.random.default_rng(seed_of("asked", table=table))
    found = []
    for k in SIZES:
        asked = [rng.choice(len(names), min(k, len(names)), replace=False) for _ in range(ASKED)]
        views = [[names[axis] for axis in sorted(axes)] for axes in asked]
        small = [view for view in views if Domain(sizes).cells(view) <= MOST_CELLS]
        answers = [one for one in simulation.synopsis.marginals(small) if one.reconstructed]
        if len(answers) >= 3:
            truths = simulation.truths([one.attributes for one in answers])
            found.append({"k": k, **_figures(answers, truths)})
    return found or [{"k": 0}]


def _figures(answers: list[Any], truths: list[Any]) -> dict[str, Any]:
    """The shares of counts inside the intervals, and the width over the errors."""
    inside, large, noise_alone, by_marginal, errors, widths = [], [], [], [], [], []
    for answer, truth in zip(answers, truths, strict=True):
        error = np.abs(answer.counts - truth.counts).ravel()
        # True counts are whole numbers: half a row more is the same interval of whole numbers.
        held = error <= QUANTILE * np.sqrt(answer.variance.ravel()) + 0.5
        noise_alone.append(error <= QUANTILE * np.sqrt(answer.noise_variance.ravel()) + 0.5)
        inside.append(held)
        large.append(held[truth.counts.ravel() >= 100])
        by_marginal.append(held.mean())
        errors.append(error)
        widths.append(answer.variance.ravel())
    variance = np.concatenate(widths).mean()
    square = (np.concatenate(errors) ** 2).mean()
    some = np.concatenate(large)
    return {
        "marginals": len(answers),
        "noise alone": round(float(np.concatenate(noise_alone).mean()), 3),
        "inside": round(float(np.concatenate(inside).mean()), 3),
        "of counts >= 100": round(float(some.mean()), 3) if some.size >= 20 else "",
        "worst tenth": round(float(np.quantile(by_marginal, 0.1)), 3),
        "sd over error": round(float(np.sqrt(variance / square)), 2),
    }


@functools.lru_cache(maxsize=1)
def _table(name: str) -> Table:
    return TABLES[name]()


def _bits(codes: NDArray[Any]) -> Table:
    return {f"a{axis}": 2 for axis in range(codes.shape[1])}, codes.astype(np.int64)


def _ising() -> Table:
    """Bits with weak interactions of random pairs, by Gibbs sampling of many chains."""
    rng = np.random.default_rng(101)
    axes, rows = 14, 40_000
    weights = np.triu(rng.normal(0, 0.5, (axes, axes)) * (rng.random((axes, axes)) < 0.3), 1)
    weights += weights.T
    spins = np.where(rng.random((rows, axes)) < 0.5, 1.0, -1.0)
    for _ in range(60):
        for axis in range(axes):
            field = spins @ weights[axis]
            spins[:, axis] = np.where(rng.random(rows) < 1 / (1 + np.exp(-2 * field)), 1.0, -1.0)
    return _bits(spins > 0)


def _hidden_chain() -> Table:
    """Bits that a hidden Markov chain of five states emits."""
    rng = np.random.default_rng(102)
    axes, rows, states = 13, 60_000, 5
    moves = rng.dirichlet(np.full(states, 0.4), states).cumsum(axis=1)
    emits = rng.beta(0.4, 0.8, (axes, states))
    state = rng.integers(0, states, rows)
    columns = []
    for axis in range(axes):
        state = (rng.random(rows)[:, None] > moves[state][:, :-1]).sum(axis=1)
        columns.append(rng.random(rows) < emits[axis, state])
    return _bits(np.stack(columns, axis=1))


def _rules() -> Table:
    """Categories of which some follow from two or three others, but for some errors."""
    rng = np.random.default_rng(103)
    sizes = [3, 2, 4, 2, 5, 3, 2, 4]
    rows = 50_000
    columns = [rng.choice(size, rows, p=rng.dirichlet(np.full(size, 2.0))) for size in sizes[:5]]
    for size in sizes[5:]:
        parents = rng.choice(len(columns), 3, replace=False)
        code = sum(int(7**place) * columns[parent] for place, parent in enumerate(parents))
        follows = rng.integers(0, size, 7**3)[code]
        noise = rng.random(rows) < 0.4
        columns.append(np.where(noise, rng.integers(0, size, rows), follows))
    return {f"a{axis}": size for axis, size in enumerate(sizes)}, np.stack(columns, axis=1)


def _profiles() -> Table:
    """Rare bits (purchases) of six kinds of customers, with a heavy tail of activity."""
    rng = np.random.default_rng(104)
    axes, rows, kinds = 24, 80_000, 6
    taste = rng.gamma(0.3, 1.0, (kinds, axes))
    kind = rng.choice(kinds, rows, p=rng.dirichlet(np.full(kinds, 1.0)))
    activity = rng.lognormal(-2.0, 1.0, rows)
    return _bits(rng.random((rows, axes)) < 1 - np.exp(-activity[:, None] * taste[kind]))


def _published(name: str) -> Table:
    coded = _peer_tables.table(name)
    if coded is None:
        raise margin.DataError(f"the table {name} is not on this machine; fetch it first")
    return coded.sizes, coded.rows


TABLES: dict[str, Callable[[], Table]] = {
    "ising": _ising,
    "hidden chain": _hidden_chain,
    "rules": _rules,
    "profiles": _profiles,
    "KDD99-38": functools.partial(_published, "KDD99-38"),
    "Adult-13": functools.partial(_published, "Adult-13"),
}
