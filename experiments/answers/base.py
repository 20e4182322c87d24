"""Releases with a base: error over that without, for good, biased and shuffled bases.

A quarter of a table is the public base, and the rest is private. The base is that quarter as it is;
or with each column shuffled by itself; or the rows of another population: those with a large value
of the first or the last attribute, or all but those. The others are then private. "last year" is
another question: a half of the rows was released last year with the whole budget, and the other
half is released with half the budget and last year's file as base; it is compared with the whole
budget without a base.

Error is the L2 distance of an answer from the truth, divided by the number of rows: a mean over
random sets of k attributes.
"""

import functools
import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import margin
from experiments.peers import _tables
from experiments.tools.pages import page
from experiments.tools.study import Row, bad, good, seed_of, sweep
from margin import ZCDP, Adaptive, Auto, Domain, PriView, PublicTable, PureDP

Codes = NDArray[np.int64]

QUANTILE = 1.959964
SIZES = (2, 3, 4, 6)
ASKED = {2: 40, 3: 40, 4: 25, 6: 8}
"""Number of random marginals of each size."""

MOST_CELLS = 200_000
"""Largest number of cells of a marginal that is asked for."""

BUDGETS: dict[str, tuple[Any, Any]] = {
    "B1": (PureDP(1), PureDP("0.5")),
    "B2": (PureDP("0.1"), PureDP("0.05")),
    "B3": (ZCDP("0.011785"), ZCDP("0.0058925")),
    "B4": (ZCDP("0.11"), ZCDP("0.055")),
}
"""The budgets of the peers' study, and their halves; add or remove one row."""

MECHANISMS: dict[str, Any] = {"Auto": Auto(), "Adaptive": Adaptive(), "PriView": PriView()}
KINDS = (
    "quarter",
    "shuffled",
    "large first",
    "small first",
    "large last",
    "small last",
    "last year",
)
"""The kinds of bases; "large first" has the rows with a large value of the first attribute."""

SEEDS = 3
TABLES = ("Adult-13", "latent-16", "categories")
_KEY = ("table", "kind", "budget", "mechanism", "k")
FIGURES = ("without", "with", "with / without", "inside without", "inside with")
"""The columns that are means over the seeds."""


def run(smoke: bool, out: Path) -> str:
    """Measure all cells; write rows.csv and a page with a line for each cell."""
    tables = ("tiny",) if smoke else TABLES
    budgets = ("B1",) if smoke else ("B2", "B3")
    mechanisms = ("PriView",) if smoke else tuple(MECHANISMS)
    keys = [
        {
            "table": table,
            "kind": kind,
            "budget": budget,
            "mechanism": mechanism,
            "k": k,
            "seed": seed,
        }
        for seed, table, kind, budget, k, mechanism in itertools.product(
            range(1 if smoke else SEEDS),
            tables,
            KINDS,
            budgets,
            (3,) if smoke else SIZES,
            mechanisms,
        )
    ]
    rows = sweep(out / "rows.csv", measure, keys, limit=None if smoke else 900)
    cells = _cells(good(rows))
    return page(
        out / "page.md",
        title="Releases with a base",
        about=" ".join((__doc__ or "").partition("\n\n")[2].split()),
        rows=cells,
        notes=[_summary(cells), *bad(rows)],
    )


def _cells(rows: list[Row]) -> list[Row]:
    """The means over the seeds of each kind of base, table, budget, mechanism and size."""
    groups: dict[tuple[str, ...], list[Row]] = {}
    for row in rows:
        key = tuple(row[name] for name in _KEY)
        groups.setdefault(key, []).append(row)
    cells = []
    for key, some in groups.items():
        means = {
            name: f"{sum(float(row[name]) for row in some) / len(some):.4f}" for name in FIGURES
        }
        cells.append({**dict(zip(_KEY, key, strict=True)), "seeds": str(len(some)), **means})
    return cells


def _summary(rows: list[Row]) -> str:
    """The mean and the largest ratio of each kind of base."""
    lines = []
    for kind in KINDS:
        ratios = [float(row["with / without"]) for row in rows if row["kind"] == kind]
        if ratios:
            mean = float(np.exp(np.log(ratios).mean()))
            lines.append(
                f"{kind}: error with / without, geometric mean {mean:.2f}, "
                f"from {min(ratios):.2f} to {max(ratios):.2f} in {len(ratios)} cells"
            )
    return "\n".join(lines)


def measure(
    table: str,
    kind: str,
    budget: str,
    mechanism: str,
    k: int,
    seed: int,
) -> dict[str, Any]:
    """Release with and without the base, and compare both with the truth."""
    coded = _tables.table(table)
    if coded is None:
        raise margin.DataError(f"the table {table} is not on this machine; fetch it first")
    rng = np.random.default_rng(seed_of("base", table=table, seed=seed))
    names = list(coded.sizes)
    drawn = _tables.queries(list(coded.sizes.values()), min(k, len(names)), ASKED[k])
    views = [[names[axis] for axis in axes] for axes in drawn]
    small = [view for view in views if coded.domain.cells(view) <= MOST_CELLS]
    asked = dict.fromkeys(map(tuple, small))
    release = functools.partial(
        margin.simulate,
        domain=Domain(coded.sizes),
        mechanism=MECHANISMS[mechanism],
        workload=list(asked),
    )
    whole, half = BUDGETS[budget]
    public, private = _CUTS[kind](coded.rows, rng)
    own = seed_of("release", table=table, budget=budget, seed=seed)
    without = release(_table(names, private), budget=whole, seed=own)
    if kind == "last year":
        earlier = release(_table(names, public), budget=whole, seed=own + 1)
        with_base = release(_table(names, private), budget=half, base=earlier, seed=own)
    else:
        base = PublicTable(_table(names, public), source="a part of the table")
        with_base = release(_table(names, private), budget=whole, base=base, seed=own)
    before = _judged(without, list(asked))
    after = _judged(with_base, list(asked))
    return {
        "without": round(before[0], 6),
        "with": round(after[0], 6),
        "with / without": round(after[0] / before[0], 3),
        "inside without": round(before[1], 3),
        "inside with": round(after[1], 3),
    }


def _table(names: list[str], rows: Codes) -> dict[str, Codes]:
    return {name: rows[:, axis] for axis, name in enumerate(names)}


def _judged(simulation: Any, views: list[tuple[str, ...]]) -> tuple[float, float]:
    """The mean error, and the share of true counts inside the intervals at 95 %."""
    errors, held = [], []
    truths = simulation.truths(views)
    for answer, truth in zip(simulation.synopsis.marginals(views), truths, strict=True):
        miss = np.abs(answer.counts - truth.counts)
        errors.append(float(np.sqrt((miss**2).sum()) / truth.counts.sum()))
        held.append((miss <= QUANTILE * np.sqrt(answer.variance) + 0.5).ravel())
    return float(np.mean(errors)), float(np.concatenate(held).mean())


def _cut(rows: Codes, rng: np.random.Generator, share: float) -> tuple[Codes, Codes]:
    """A random part of the rows, and the others."""
    order = rng.permutation(len(rows))
    first = round(share * len(rows))
    return rows[order[:first]], rows[order[first:]]


def _shuffled(rows: Codes, rng: np.random.Generator) -> tuple[Codes, Codes]:
    public, private = _cut(rows, rng, 0.25)
    return np.column_stack([rng.permutation(column) for column in public.T]), private


def _large(
    rows: Codes,
    rng: np.random.Generator,
    axis: int,
) -> tuple[Codes, Codes]:
    """The rows whose value of an attribute is above its mean, and the others."""
    del rng
    large = rows[:, axis] > rows[:, axis].mean()
    return rows[large], rows[~large]


def _small(
    rows: Codes,
    rng: np.random.Generator,
    axis: int,
) -> tuple[Codes, Codes]:
    large, small = _large(rows, rng, axis)
    return small, large


_CUTS: dict[str, Callable[[Codes, np.random.Generator], tuple[Codes, Codes]]] = {
    "quarter": functools.partial(_cut, share=0.25),
    "shuffled": _shuffled,
    "large first": functools.partial(_large, axis=0),
    "small first": functools.partial(_small, axis=0),
    "large last": functools.partial(_large, axis=-1),
    "small last": functools.partial(_small, axis=-1),
    "last year": functools.partial(_cut, share=0.5),
}
