"""Intervals at 95 % of cells, of sums of cells, and of differences and ratios of counts.

Each release asks random marginals of k attributes, and of each of them

- cells: all cells; "large cells" are those with at least 100 rows;
- groups: sums over some cells. Each attribute has a random set of categories;
- ranges: one category of each attribute, but a range of categories of the one that has most. They
  are asked where it has at least five;
- differences: the count of a cell less that of a cell with another category of one attribute;
- shares: the count of a cell over that of all cells with any category of one attribute;
- odds: the count of a cell over that of a cell with another category of one attribute.

The categories of groups and ranges are random. The first cells of differences, shares and odds are
those of random rows, because most random cells of a large marginal are empty. A share or odds is
left out if its true denominator is zero.

A cell of the study is a table, a budget, a number k of attributes and a kind of answer, over all
seeds. Its bar is a share of true values inside from .92 to .99, and never below .85. That of the
worst tenth of the marginals, by the share of their cells inside, is at least .75.

Exact intervals do not meet the first bar in all cells either. A reconstructed marginal misses the
same in all seeds, and has few independent errors: one if it has four bits, and all sets of three
are measured. We drew normal errors with the stated covariances of the answers of each marginal, in
eleven releases. Then .77 of the cells of differences, .79 of shares, .80 of odds and .90 of groups
were from .92 to .99 (.73, .76, .76 and .89 of those with k >= 4). Errors that different marginals
share were left out, so these numbers are too high.

Other errors are not normal: in MSNBC with k = 4, at budgets B3 and B4, all differences and shares
of the first seed were off by less than 1.2 stated standard deviations, and nine of ten by more than
0.75. So all of them are inside any interval of more than 1.2 standard deviations to each side.
"""

import functools
import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import margin
from experiments.answers.intervals import (
    BUDGETS,
    LARGE,
    SEEDS,
    SIZES,
    TABLES,
    Codes,
    asked_views,
)
from experiments.tools.pages import page
from experiments.tools.study import Row, bad, good, seed_of, sweep
from margin import Auto, Domain

STUDIED = ("Adult-13", "MSNBC-9", "Kosarak-32", "latent-16")
MARGINALS = 20
"""Largest number of marginals whose sums are asked for; the cells of all are judged."""

DRAWS = 4
"""Number of sums of each kind of one marginal."""

LEAST_CATEGORIES = 5
"""Smallest number of categories of an attribute whose ranges are asked for."""

FEW = 20
"""Number of answers below which their share says nothing."""

_ROUNDING = 1e-9
"""Ratios that differ less are equal."""

Where = dict[str, list[int]]
"""The codes of a condition, for each of its attributes."""


def run(smoke: bool, out: Path) -> str:
    """Measure all releases; write rows.csv and a page with a line for each cell, and the bars."""
    keys = [
        {"table": table, "budget": budget, "seed": seed}
        for seed, budget, table in itertools.product(
            range(1 if smoke else SEEDS),
            ("B1",) if smoke else BUDGETS,
            ("tiny",) if smoke else STUDIED,
        )
    ]
    rows = sweep(out / "rows.csv", measure, keys, limit=None if smoke else 1800)
    cells = _cells(good(rows))
    return page(
        out / "page.md",
        title="Intervals of sums, differences and ratios",
        about="Shares of true values inside the intervals at 95 % of the default mechanism.",
        rows=cells,
        notes=[*_bars(cells), *bad(rows)],
    )


def measure(
    table: str,
    budget: str,
    seed: int,
) -> list[dict[str, Any]]:
    """Release once, and compare answers of each kind with the truth."""
    sizes, codes = TABLES[table]()
    names = list(sizes)
    domain = Domain(sizes)
    simulation = margin.simulate(
        {name: codes[:, axis] for axis, name in enumerate(names)},
        domain=domain,
        budget=BUDGETS[budget],
        mechanism=Auto(),
        seed=seed_of("sums", table=table, budget=budget, seed=seed),
    )
    found = []
    for k in SIZES:
        rng = np.random.default_rng(seed_of("asked", table=table, k=k))
        views = asked_views(domain, k, rng)
        if not views:
            continue
        found += [{"k": k, **row} for row in _of_cells(simulation, views)]
        asked = _Asked(simulation, sizes, codes, rng)
        for kind, conditions in asked.kinds(views[:MARGINALS]):
            judged = [asked.judge(kind, *pair) for pair in conditions]
            found.append({"k": k, "kind": kind, **_row([one for one in judged if one])})
    return found


def _of_cells(simulation: Any, views: list[tuple[str, ...]]) -> list[dict[str, Any]]:
    """The rows of single cells: all of them, and the large ones."""
    every, large, shares = [], [], []
    truths = simulation.truths(views)
    for answer, truth in zip(simulation.synopsis.marginals(views), truths, strict=True):
        low, high = answer.interval(0.95)
        true = truth.counts
        # True counts are whole numbers: half a row more is the same interval of whole numbers.
        inside = (low - 0.5 <= true) & (true <= high + 0.5)
        shares.append(float(inside.mean()))
        columns = [inside, (high - low) / 2, np.abs(answer.counts - true)]
        cells = list(zip(*(column.ravel().tolist() for column in columns), strict=True))
        is_large = (true.ravel() >= LARGE).tolist()
        every += cells
        large += list(itertools.compress(cells, is_large))
    worst = round(float(np.quantile(shares, 0.1)), 4)
    return [
        {"kind": "cells", **_row(every), "worst tenth": worst},
        {"kind": "large cells", **_row(large)},
    ]


def _row(judged: list[tuple[bool, float, float]]) -> dict[str, Any]:
    """The number of answers of one kind, how many are inside, and how wide their intervals are."""
    if not judged:
        return {"answers": 0, "inside": 0, "half width": 0.0, "error": 0.0}
    inside, halves, errors = (np.array(column) for column in zip(*judged, strict=True))
    return {
        "answers": len(judged),
        "inside": int(inside.sum()),
        "half width": round(float(halves.mean()), 6),
        "error": round(float(np.sqrt((errors**2).mean())), 6),
    }


class _Asked:
    """Random sums, differences and ratios of one release, and their true values."""

    def __init__(
        self,
        simulation: Any,
        sizes: dict[str, int],
        codes: Codes,
        rng: np.random.Generator,
    ) -> None:
        self.synopsis = simulation.synopsis
        self.sizes = sizes
        self.codes = codes
        self.axis = {name: axis for axis, name in enumerate(sizes)}
        self.rng = rng

    def kinds(
        self,
        views: list[tuple[str, ...]],
    ) -> Iterator[tuple[str, list[tuple[Where, ...]]]]:
        """The conditions of each kind of answer."""
        each = [view for view in views for _ in range(DRAWS)]
        groups = [self._group(view) for view in each]
        yield "groups", [(group,) for group in groups if group is not None]
        ranges = [self._range(view) for view in each]
        yield "ranges", [(one,) for one in ranges if one is not None]
        for kind in ("differences", "shares", "odds"):
            yield kind, [self._pair(view, kind) for view in each]

    def judge(
        self,
        kind: str,
        where: Where,
        other: Where | None = None,
    ) -> tuple[bool, float, float] | None:
        """Whether the true value is inside, half the width, and the error; None for x / 0."""
        true = float(self._count(where))
        slack = 0.5
        if other is None:
            answer = self.synopsis.count(where)
        elif kind == "differences":
            answer = self.synopsis.difference(where, other)
            true -= self._count(other)
        else:
            below = self._count(other)
            if not below:
                return None
            answer = self.synopsis.ratio(where, other)
            true /= below
            slack = _ROUNDING
        low, high = answer.interval(0.95)
        inside = bool(low - slack <= true <= high + slack)
        # An interval without end, or a ratio of counts that are zero, has no width or error.
        if not np.isfinite(high - low) or not np.isfinite(answer.estimate):
            return inside, 0.0, 0.0
        return inside, (high - low) / 2, abs(answer.estimate - true)

    def _count(self, where: Where) -> int:
        """The true number of rows."""
        is_chosen = np.ones(len(self.codes), dtype=bool)
        for name, own in where.items():
            is_chosen &= np.isin(self.codes[:, self.axis[name]], own)
        return int(is_chosen.sum())

    def _group(self, view: tuple[str, ...]) -> Where | None:
        """A random set of categories of each attribute; None if it is a single cell, or all."""
        chosen: Where = {}
        for name in view:
            size = self.sizes[name]
            few = int(self.rng.integers(1, size + 1))
            chosen[name] = sorted(self.rng.permutation(size)[:few].tolist())
        several = any(len(own) > 1 for own in chosen.values())
        fewer = any(len(own) < self.sizes[name] for name, own in chosen.items())
        return chosen if several and fewer else None

    def _range(self, view: tuple[str, ...]) -> Where | None:
        """A random range of the attribute that has most categories, within a cell of the others."""
        longest = max(view, key=lambda name: self.sizes[name])
        size = self.sizes[longest]
        chosen = {name: [int(self.rng.integers(self.sizes[name]))] for name in view}
        low, high = np.sort(self.rng.choice(size + 1, 2, replace=False)).tolist()
        chosen[longest] = list(range(low, high))
        return chosen if size >= LEAST_CATEGORIES else None

    def _pair(
        self,
        view: tuple[str, ...],
        kind: str,
    ) -> tuple[Where, Where]:
        """The cell of a random row, and a cell or cells with another category of one attribute."""
        row: NDArray[Any] = self.codes[int(self.rng.integers(len(self.codes)))]
        where = {name: [int(row[self.axis[name]])] for name in view}
        changed = view[int(self.rng.integers(len(view)))]
        if kind == "shares":
            return where, {name: own for name, own in where.items() if name != changed}
        size = self.sizes[changed]
        another = (where[changed][0] + int(self.rng.integers(1, size))) % size
        return where, {**where, changed: [another]}


def _cells(rows: list[Row]) -> list[Row]:
    """The figures of each table, budget, size and kind, over all seeds."""
    groups: dict[tuple[str, ...], list[Row]] = {}
    for row in rows:
        if int(row["answers"]):
            key = (row["table"], row["budget"], row["k"], row["kind"])
            groups.setdefault(key, []).append(row)
    cells = []
    for (table, budget, k, kind), some in groups.items():
        total = functools.partial(_total, some)
        worst = f"{total('worst tenth') / len(some):.3f}" if kind == "cells" else ""
        error = np.sqrt(np.mean([float(row["error"]) ** 2 for row in some]))
        width = total("half width") / len(some) / max(float(error), 1e-12)
        cells.append(
            {
                "table": table,
                "budget": budget,
                "k": k,
                "kind": kind,
                "seeds": str(len(some)),
                "answers": f"{total('answers'):.0f}",
                "inside": f"{total('inside') / total('answers'):.3f}",
                "worst tenth": worst,
                "half width / error": f"{width:.2f}",
            }
        )
    return cells


def _total(rows: list[Row], column: str) -> float:
    return sum(float(row[column]) for row in rows)


def _bars(cells: list[Row]) -> list[str]:
    """A line for each kind of answer."""
    lines = []
    for kind in dict.fromkeys(cell["kind"] for cell in cells):
        own = [cell for cell in cells if cell["kind"] == kind and int(cell["answers"]) >= FEW]
        if not own:
            continue
        inside = np.array([float(cell["inside"]) for cell in own])
        between = (inside >= 0.92) & (inside <= 0.99)
        low = [
            f"{cell['table']} {cell['budget']} k={cell['k']} {cell['inside']}"
            for cell in own
            if float(cell["inside"]) < 0.85
        ]
        line = (
            f"{kind}: {len(own)} cells; inside from .92 to .99 in {between.mean():.2f} of them, "
            f"more in {(inside > 0.99).mean():.2f}; the least {inside.min():.3f}; "
            f"below .85 in {len(low)}"
        )
        if low:
            line += f" ({', '.join(low)})"
        if kind == "cells":
            worst = np.array([float(cell["worst tenth"]) for cell in own])
            line += f"; worst tenth below .75 in {(worst < 0.75).sum()}"
        lines.append(line)
    return lines
