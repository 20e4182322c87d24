"""`Auto` on stated workloads, against every mechanism that `plan` lists for them.

A setting is a domain with a generated table, a budget, and a workload of some marginals on up to
`ways` attributes. `plan` is told the workload, the budget and the number of rows. Its list has two
kinds of errors. `expected` compares the candidate that `release` takes with the smallest error of
the list, as `plan` states them. `measured` compares root mean squared errors over all cells of the
workload on the generated table: that of the candidate that `release` takes, with the 99 % of the
budget that the count of the rows leaves, and that of the best mechanism of the list. All have the
same seeds.

Mechanisms whose expected error is more than `FAR` times the smallest one are not measured: they
were never near the best.
"""

import itertools
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import margin
from experiments.tools.pages import Claim, page
from experiments.tools.study import Key, Row, bad, good, seed_of, sweep
from margin import ZCDP, Auto, Domain, PureDP, Workload

DOMAINS = 20
WAYS = (1, 2, 3)
DRAWN = 4_000
"""Number of cells of a workload, over all seeds, from which an error is measured."""

SEEDS = (2, 30)
"""Smallest and largest number of seeds."""

FAR = 4.0
"""Ratio of expected squared errors beyond which a mechanism is not measured."""

BUDGETS: dict[str, tuple[Any, Any]] = {
    "epsilon 1": (PureDP(1), PureDP("0.99")),
    "epsilon 0.1": (PureDP("0.1"), PureDP("0.099")),
    "rho 0.01": (ZCDP("0.01"), ZCDP("0.0099")),
    "rho 0.5": (ZCDP("0.5"), ZCDP("0.495")),
}
"""Budgets, and what is left of them when the rows have been counted."""

MOST_CELLS = 20_000
"""Largest number of cells of a marginal that is asked."""

Codes = NDArray[np.int64]


def run(smoke: bool, out: Path) -> str:
    """Measure what has not been measured yet, and write the page."""
    # All domains come early, so that a study that is stopped has seen them all.
    asked = itertools.product(WAYS, BUDGETS, range(DOMAINS))
    keys: list[Key] = [{"domain": d, "budget": b, "ways": w} for w, b, d in asked]
    keys = [key for step in range(7) for key in keys[step::7]]
    if smoke:
        keys = keys[:1]
    return report(out, sweep(out / "rows.csv", measure, keys))


def measure(domain: int, budget: str, ways: int) -> list[dict[str, Any]]:
    """The expected and the measured error of `Auto` and of what `plan` lists."""
    declared, codes = _table(domain)
    workload = _workload(declared, domain, ways)
    spend, left = BUDGETS[budget]
    listed = margin.plan(declared, workload=workload, budget=spend, rows=len(codes)).table
    priced = [row for row in listed if row.error is not None]
    least = min(row.error or math.inf for row in priced)
    taken = Auto().prices(declared, workload, spend, rows=len(codes))[0]
    data = declared, {name: codes[:, axis] for axis, name in enumerate(declared)}
    truths = [_count(declared, codes, view) for view in workload.views]
    auto = _error(taken.mechanism, data, workload, left, truths)
    rows = [{"method": "Auto", "expected": math.sqrt(taken.error / least), "error": auto}]
    seen = set()
    for row in priced:
        name = f"{row.name}: {row.note}" if row.note else row.name
        if (row.error or 0.0) <= FAR * least and name not in seen:
            seen.add(name)
            error = _error(row.mechanism, data, workload, spend, truths)
            ratio = math.sqrt((row.error or 0.0) / least)
            rows.append({"method": name, "expected": ratio, "error": error})
    return rows


def _error(
    mechanism: Any,
    data: tuple[Domain, dict[str, Codes]],
    workload: Workload,
    budget: Any,
    truths: Sequence[Codes],
) -> float:
    """The root mean squared error of a mechanism over all cells, from several seeds."""
    domain, columns = data
    cells = sum(truth.size for truth in truths)
    least, most = SEEDS
    seeds = min(most, max(least, DRAWN // cells))
    squares = 0.0
    for seed in range(seeds):
        synopsis = margin.simulate(
            columns,
            domain=domain,
            budget=budget,
            mechanism=mechanism,
            workload=workload,
            seed=seed,
        ).synopsis
        for view, truth in zip(workload.views, truths, strict=True):
            squares += float(((synopsis.marginal(view).counts - truth) ** 2).sum())
    return math.sqrt(squares / seeds / cells)


def _table(number: int) -> tuple[Domain, Codes]:
    """A domain of 3 to 10 attributes, and a table of latent classes."""
    rng = np.random.default_rng(seed_of("stated", domain=number))
    count = int(rng.integers(3, 11))
    most = int(rng.choice([2, 4, 10, 40]))
    sizes = [int(size) for size in rng.integers(2, most + 1, count)]
    rows = int(math.exp(rng.uniform(math.log(500), math.log(200_000))))
    classes = int(rng.integers(1, 8))
    kinds = rng.integers(0, classes, rows)
    concentration = float(rng.choice([0.1, 0.5, 2.0]))
    columns = []
    for size in sizes:
        edges = np.cumsum(rng.dirichlet(np.full(size, concentration), classes), axis=1)
        marks = rng.random(rows)
        drawn = (marks[:, None] > edges[kinds]).sum(axis=1)
        columns.append(np.minimum(drawn, size - 1))
    domain = Domain({f"x{place}": size for place, size in enumerate(sizes)})
    return domain, np.column_stack(columns).astype(np.int64)


def _workload(domain: Domain, number: int, ways: int) -> Workload:
    """Some of the marginals on up to `ways` attributes: all of them for every second domain."""
    rng = np.random.default_rng(seed_of("stated views", domain=number, ways=ways))
    least = ways if number % 4 < 2 else 1
    found = [
        view
        for count in range(least, ways + 1)
        for view in itertools.combinations(domain, count)
        if domain.cells(view) <= MOST_CELLS
    ]
    if number % 2:
        kept = rng.choice(len(found), max(1, len(found) // 3), replace=False)
        found = [found[place] for place in sorted(kept.tolist())]
    return Workload.of(domain, found[:60])


def _count(domain: Domain, codes: Codes, view: Sequence[str]) -> Codes:
    shape = domain.shape(view)
    places = np.ravel_multi_index([codes[:, domain.position[name]] for name in view], shape)
    return np.bincount(places, minlength=math.prod(shape)).reshape(shape)


def report(out: Path, rows: Sequence[Row]) -> str:
    """Write the page: the ratios of `Auto`, by number of ways."""
    lines = []
    keyed: dict[tuple[str, str, str], list[Row]] = {}
    for row in good(rows):
        keyed.setdefault((row["domain"], row["budget"], row["ways"]), []).append(row)
    for (domain, budget, ways), own in keyed.items():
        errors = {row["method"]: float(row["error"]) for row in own}
        best = min(errors, key=lambda name: errors[name])
        auto = next(row for row in own if row["method"] == "Auto")
        lines.append(
            {
                "domain": domain,
                "budget": budget,
                "ways": ways,
                "expected": float(auto["expected"]),
                "measured": errors["Auto"] / errors[best],
                "best": best,
            }
        )
    return page(
        out / "page.md",
        title="Auto on stated workloads",
        about=(__doc__ or "").strip(),
        claims=[_claim(kind, lines) for kind in ("expected", "measured")],
        rows=lines,
        notes=bad(rows),
    )


def _claim(kind: str, lines: Sequence[dict[str, Any]]) -> Claim:
    ratios = np.array([line[kind] for line in lines])
    if not ratios.size:
        claim = f"{kind} error of Auto <= 1.02 x the best"
        return Claim(claim=claim, measured="not run", holds=None)
    near = int((ratios <= 1.02).sum())
    return Claim(
        claim=f"{kind} error of Auto <= 1.02 x the best that plan lists",
        measured=(
            f"{near} of {ratios.size} settings; geometric mean "
            f"{math.exp(np.log(ratios).mean()):.3f}, worst {ratios.max():.3f}"
        ),
        holds=bool(near == ratios.size),
    )
