"""Intervals at 95 %: how many hold the true count, and how wide they are.

The tables are those on which systems are compared, four kinds that are made here, and one draw of
each family of `_zoo_tables` that validates. No constant of the intervals is fitted on any of them,
but for three older ones of `solvers.fitted`, which have seen MSNBC and Kosarak.

A cell of the study is a table, a budget, a mechanism and a number k of attributes, over all seeds.
The bars of a cell:

- the share of true counts inside lies between .92 and .99, and never below .85, also that of the
  counts of at least 100;
- the share inside is at least .75 in the worst tenth of the marginals of a release;
- the mean width is at most 1.5 times that of the narrowest multiple of the true errors: all cells
  of a marginal have the width c times its root mean square error, and c is the smallest number
  with which as many counts are inside.

Marginals within a view are asked, too: there, noise is the only error. A release has few
independent errors in small marginals. All of them share the error of the total, and a one-way
marginal of bits has one further error. So even exact intervals miss the first and the last bar in
many of these cells, by chance. The page says in how many, if all totals are known and the other
errors are normal and independent.
"""

import functools
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

import margin
from experiments.peers import _tables, _zoo_tables
from experiments.tools.pages import page
from experiments.tools.study import Row, bad, good, seed_of, sweep
from margin import ZCDP, Adaptive, Auto, Domain, Marginal, PriView, PureDP

Codes = NDArray[np.int64]
Table = tuple[dict[str, int], Codes]
"""The number of categories of each attribute, and rows of codes, shape (rows, attributes)."""

QUANTILE = NormalDist().inv_cdf(0.975)
SIZES = (1, 2, 3, 4, 6)
ASKED = {1: 15, 2: 20, 3: 20, 4: 20, 6: 10}
"""Largest number of random marginals of each size."""

SEEDS = 3

MOST_CELLS = 20_000
"""Largest number of cells of a marginal that is asked for."""

LARGE = 100
"""Smallest count that is large."""

_TRIALS = 200
"""Number of cells of exact intervals that are drawn."""

_MANY = 200
"""Number of counts of a marginal above which chance hardly matters."""

FEW = 20
"""Number of large counts below which their share says nothing."""

BUDGETS: dict[str, Any] = {
    "B1": PureDP(1),
    "B2": PureDP("0.1"),
    "B3": ZCDP("0.011785"),
    "B4": ZCDP("0.11"),
}
"""The budgets of the peers' study; add or remove one row."""

MECHANISMS: dict[str, Any] = {"Auto": Auto(), "Adaptive": Adaptive(), "PriView": PriView()}


def run(smoke: bool, out: Path) -> str:
    """Measure all releases; write rows.csv and a page with a line for each cell, and the bars."""
    keys = [
        {"table": table, "budget": budget, "mechanism": mechanism, "seed": seed}
        for seed in range(1 if smoke else SEEDS)
        for table in (("tiny",) if smoke else [name for name in TABLES if name != "tiny"])
        for budget in (("B1",) if smoke else BUDGETS)
        for mechanism in (("PriView",) if smoke else MECHANISMS)
    ]
    rows = sweep(out / "rows.csv", measure, keys, limit=None if smoke else 900)
    cells = _cells(good(rows))
    return page(
        out / "page.md",
        title="Intervals of marginals",
        about=" ".join((__doc__ or "").split("\n\n")[1].split()),
        rows=cells,
        notes=[*_bars(cells), *bad(rows)],
    )


def measure(
    table: str,
    budget: str,
    mechanism: str,
    seed: int,
) -> list[dict[str, Any]]:
    """Release once, and compare random marginals of each size with the truth."""
    sizes, codes = _table(table)
    names = list(sizes)
    domain = Domain(sizes)
    simulation = margin.simulate(
        {name: codes[:, axis] for axis, name in enumerate(names)},
        domain=domain,
        budget=BUDGETS[budget],
        mechanism=MECHANISMS[mechanism],
        seed=seed_of("intervals", table=table, budget=budget, seed=seed),
    )
    found = []
    for k in SIZES:
        rng = np.random.default_rng(seed_of("asked", table=table, k=k))
        views = asked_views(domain, k, rng)
        if views:
            answers = simulation.synopsis.marginals(views)
            found.append({"k": k, **_figures(answers, simulation.truths(views))})
    return found


def asked_views(
    domain: Domain,
    k: int,
    rng: np.random.Generator,
) -> list[tuple[str, ...]]:
    """Random sets of k attributes, in their order, whose marginals are small enough."""
    names = domain.attributes
    if k > len(names):
        return []
    drawn = [rng.permutation(len(names))[:k] for _ in range(ASKED[k])]
    views = dict.fromkeys(tuple(names[axis] for axis in sorted(axes)) for axes in drawn)
    return [view for view in views if domain.cells(view) <= MOST_CELLS]


def _figures(
    answers: Sequence[Marginal],
    truths: Sequence[Marginal],
) -> dict[str, Any]:
    """How many counts of some marginals are inside, and how wide the intervals are."""
    large, inside, noise_alone, errors, halves = [], [], [], [], []
    for answer, truth in zip(answers, truths, strict=True):
        error = np.abs(answer.counts - truth.counts).ravel()
        half = (answer.interval(0.95)[1] - answer.counts).ravel()
        # True counts are whole numbers: half a row more is the same interval of whole numbers.
        inside.append(error <= half + 0.5)
        by_noise = QUANTILE * np.sqrt(answer.noise_variance.ravel())
        noise_alone.append(error <= by_noise + 0.5)
        large.append(truth.counts.ravel() >= LARGE)
        errors.append(error)
        halves.append(half)
    every = np.concatenate(inside)
    of_large = every[np.concatenate(large)]
    return {
        "marginals": len(answers),
        "reconstructed": sum(answer.reconstructed for answer in answers),
        "counts": every.size,
        "inside": int(every.sum()),
        "by noise alone": int(np.concatenate(noise_alone).sum()),
        "large": of_large.size,
        "large inside": int(of_large.sum()),
        "worst tenth": round(float(np.quantile([one.mean() for one in inside], 0.1)), 4),
        "half width": round(float(np.concatenate(halves).mean()), 4),
        "narrowest": round(_narrowest(errors, float(every.mean())), 4),
    }


def _narrowest(errors: list[NDArray[np.float64]], share: float) -> float:
    """Half the mean width of the narrowest multiples of the true errors; see the head."""
    sizes = [float(np.sqrt((error**2).mean())) for error in errors]
    relative = [error / max(size, 1e-9) for error, size in zip(errors, sizes, strict=True)]
    multiple = float(np.quantile(np.concatenate(relative), share))
    spread = np.repeat(sizes, [error.size for error in errors])
    return multiple * float(spread.mean())


def _cells(rows: list[Row]) -> list[Row]:
    """The figures of each table, budget, mechanism and size, over all seeds."""
    groups: dict[tuple[str, ...], list[Row]] = {}
    for row in rows:
        key = (row["table"], row["budget"], row["mechanism"], row["k"])
        groups.setdefault(key, []).append(row)
    cells = []
    for (table, budget, mechanism, k), some in groups.items():
        total = functools.partial(_total, some)
        large = total("large")
        share = f"{total('large inside') / large:.3f}" if large >= FEW else ""
        cells.append(
            {
                "table": table,
                "budget": budget,
                "mechanism": mechanism,
                "k": k,
                "marginals": f"{total('marginals'):.0f}",
                "counts": f"{total('counts'):.0f}",
                "reconstructed": f"{total('reconstructed') / total('marginals'):.2f}",
                "inside": f"{total('inside') / total('counts'):.3f}",
                "by noise alone": f"{total('by noise alone') / total('counts'):.3f}",
                "of large counts": share,
                "worst tenth": f"{total('worst tenth') / len(some):.3f}",
                "width": f"{total('half width') / max(total('narrowest'), 1e-9):.2f}",
            }
        )
    return cells


def _total(rows: list[Row], column: str) -> float:
    return sum(float(row[column]) for row in rows)


def _bars(cells: list[Row]) -> list[str]:
    """A line for all cells, one for those that are reconstructed, and one for the others."""
    reconstructed = [cell for cell in cells if float(cell["reconstructed"]) >= 0.5]
    held = [cell for cell in cells if float(cell["reconstructed"]) < 0.5]
    parts = {"all": cells, "reconstructed": reconstructed, "within views": held}
    lines = [_bar(name, some) for name, some in parts.items() if some]
    if held:
        lines.append(_bar_of_exact_intervals(held))
    return lines


def _bar(name: str, cells: list[Row]) -> str:
    inside = np.array([float(cell["inside"]) for cell in cells])
    large = np.array([float(cell["of large counts"]) for cell in cells if cell["of large counts"]])
    worst = np.array([float(cell["worst tenth"]) for cell in cells])
    width = np.array([float(cell["width"]) for cell in cells])
    between = (inside >= 0.92) & (inside <= 0.99)
    return (
        f"{name}: {len(cells)} cells; inside from .92 to .99 in {between.mean():.2f} of them, more "
        f"in {(inside > 0.99).mean():.2f}; below .85 in {(inside < 0.85).sum()}, the least "
        f"{inside.min():.3f}; large counts below .85 in {(large < 0.85).sum()}, the least "
        f"{large.min(initial=1):.3f}; worst tenth below .75 in {(worst < 0.75).sum()}; width above "
        f"1.5 in {(width > 1.5).mean():.2f}, the median {np.median(width):.2f}"
    )


def _bar_of_exact_intervals(cells: list[Row]) -> str:
    """The line of some cells if their intervals were exact."""
    sizes = [(int(cell["marginals"]), int(cell["counts"])) for cell in cells]
    found = np.array([_exact(marginals, counts // marginals) for marginals, counts in sizes])
    inside, wide = found.mean(axis=0)
    return (
        f"exact intervals of as many counts: inside from .92 to .99 in {inside:.2f} of the cells "
        f"within views, width above 1.5 in {wide:.2f}"
    )


@functools.cache
def _exact(marginals: int, counts: int) -> tuple[float, float]:
    """The chances that a cell of exact intervals meets the first bar, and misses the last one.

    Each marginal has some counts with independent normal errors, of which the mean is removed,
    since the total is known.
    """
    rng = np.random.default_rng(0)
    counts = min(counts, _MANY)
    meets = misses = 0
    for _ in range(_TRIALS):
        errors = rng.normal(size=(marginals, counts))
        errors -= errors.mean(axis=1, keepdims=True)
        errors = np.abs(errors) / max(np.sqrt(1 - 1 / counts), 1e-9)
        share = float((errors <= QUANTILE).mean())
        meets += 0.92 <= share <= 0.99
        misses += 1.5 * _narrowest(list(errors), share) < QUANTILE
    return meets / _TRIALS, misses / _TRIALS


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
    coded = _tables.table(name)
    if coded is None:
        raise margin.DataError(f"the table {name} is not on this machine; fetch it first")
    return coded.sizes, coded.rows


def _family(name: str, draw: int) -> Table:
    coded = _zoo_tables.generated(name, draw)
    return coded.sizes, coded.rows


_VALIDATING = [name for name, family in _zoo_tables.FAMILIES.items() if not family.fits]

TABLES: dict[str, Callable[[], Table]] = {
    **{name: functools.partial(_published, name) for name in _tables.TABLES},
    "ising": _ising,
    "hidden chain": _hidden_chain,
    "rules": _rules,
    "profiles": _profiles,
    **{
        name: functools.partial(_family, name, place % _zoo_tables.DRAWS)
        for place, name in enumerate(_VALIDATING)
    },
}
