"""Systems of the survey: random projections, and groups of items.

Four studies on made-up tables, each near the comparison of its paper. Spikes and steps: the error
of `Compressive` for tables that are sparse in their cells or in their wavelets, beside noise on
every cell (Li, Zhang, Winslett and Yang, WPES 2011). Queries: the error of `SparseProjection` for
counts of a few cells of a huge table, beside noise on every query (Blum and Roth, RANDOM 2013).
Items: the error of `GroupAndSmooth` beside the Laplace mechanism and Fourier coefficients
(Kellaris and Papadopoulos, PVLDB 2013).
"""

import math
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import margin
from experiments.priview.survey_systems import logs
from experiments.tools.pages import Claim, page
from experiments.tools.study import Row, bad, good, seed_of, sweep
from margin import HighPass, PureDP
from margin.mechanisms import (
    Compressive,
    CountSketch,
    DPSense,
    Flat,
    FourierItems,
    GroupAndSmooth,
    PlainItems,
    SparseProjection,
)

SPIKES = 5
"""Cells that are not empty."""
STEPS = 4
"""Values of a table of steps."""
ROWS = 10_000
QUERIES = 10_000
"""Number of queries that noise on every query has to pay for; 200 of them are evaluated."""
DENSE = ("Compressive", "Compressive.paper", "Flat")
STUDIES: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "spikes": ((*DENSE, "HighPass"), ("1024", "4096", "16384", "65536")),
    "steps": (DENSE, ("1024", "4096")),
    "queries": (
        ("SparseProjection", "SparseProjection.paper", "CountSketch", "noise on each", "HighPass"),
        ("1", "10", "30"),
    ),
    "items": (
        (
            "GroupAndSmooth",
            "paper, 64",
            "paper, 256",
            "paper, 1024",
            "random, 256",
            "PlainItems",
            "FourierItems",
            "DPSense",
        ),
        ("0.1", "1"),
    ),
}
"""By study, the methods and the parameters."""

Integers = NDArray[np.int64]


def run(smoke: bool, out: Path) -> str:
    """Run the studies; write rows.csv and page.md."""
    runs = 1 if smoke else 5
    size = 0 if smoke else 1
    cases = [
        (study, method, parameter)
        for study, (methods, parameters) in STUDIES.items()
        for parameter in (parameters[:1] if smoke else parameters)
        for method in methods
    ]
    keys = [
        {"study": study, "method": method, "parameter": parameter, "size": size, "run": run}
        for study, method, parameter in cases
        for run in range(runs)
    ]
    rows = sweep(out / "rows.csv", measure, keys)
    done = good(rows)
    return page(
        out / "page.md",
        title="Projections and groups",
        about=f"Made-up tables, pure budgets; mean of {runs} runs. Spikes: epsilon 0.1, the "
        "parameter is the number of cells. Steps: epsilon 0.01, likewise. Queries: epsilon 1, the "
        "parameter is the number of cells of a query. Items: the parameter is epsilon.",
        claims=_claims(done),
        rows=_table(done, cases),
        notes=bad(rows),
    )


def measure(study: str, method: str, parameter: str, size: int, run: int) -> dict[str, Any]:
    """Make one release; return its errors."""
    seed = seed_of(study, method, parameter, run)
    started = time.process_time()
    find = {"spikes": _spikes, "steps": _steps, "queries": _queries, "items": _items}[study]
    found = find(method, parameter, size, seed)
    return {**found, "seconds": round(time.process_time() - started, 3)}


# Tables that are sparse


def _spikes(method: str, parameter: str, size: int, seed: int) -> dict[str, Any]:
    """The L2 error of all cells of a table of which five are not empty."""
    cells = int(parameter)
    rng = np.random.default_rng(seed)
    places = rng.choice(cells, SPIKES, replace=False)
    counts = np.zeros(cells, np.int64)
    counts[places] = rng.multinomial(100_000, rng.dirichlet(np.ones(SPIKES)))
    mechanism: Any = {
        "Compressive": Compressive(sparsity=SPIKES),
        "Compressive.paper": Compressive.paper(sparsity=SPIKES),
        "Flat": Flat(),
        # An empty cell that passes is about as likely as not.
        "HighPass": HighPass(theta=math.ceil(math.log(cells) / 0.1)),
    }[method]
    return _cells(mechanism, counts, "0.1", seed)


def _steps(method: str, parameter: str, size: int, seed: int) -> dict[str, Any]:
    """The L2 error of all cells of a table of four levels, which change at random codes."""
    cells = int(parameter)
    rng = np.random.default_rng(seed)
    edges = np.sort(rng.choice(np.arange(1, cells), STEPS - 1, replace=False))
    levels = rng.integers(0, 2000 if size else 20, STEPS)
    counts = np.repeat(levels, np.diff([0, *edges, cells]))
    # Every edge is inside one wavelet of each scale.
    sparsity = (STEPS - 1) * cells.bit_length()
    mechanism: Any = {
        "Compressive": Compressive(sparsity=sparsity, wavelet=True),
        "Compressive.paper": Compressive.paper(sparsity=sparsity, wavelet=True),
        "Flat": Flat(),
    }[method]
    return _cells(mechanism, counts, "0.01", seed)


def _cells(mechanism: Any, counts: Integers, epsilon: str, seed: int) -> dict[str, Any]:
    codes = np.repeat(np.arange(counts.size), counts)[:, None]
    synopsis = margin.simulate(
        codes,
        domain={"x": {"size": counts.size, "ordered": True}},
        budget=PureDP(epsilon),
        mechanism=mechanism,
        seed=seed,
    ).synopsis
    found = synopsis.marginal(["x"]).counts
    return {"error": float(np.linalg.norm(found - counts))}


# Counts of a few cells


def _queries(method: str, parameter: str, size: int, seed: int) -> dict[str, Any]:
    """The mean absolute error of 200 counts of a few cells of a table of 10**9 cells."""
    rng = np.random.default_rng(seed)
    rows = ROWS if size else 200
    codes = rng.zipf(1.3, (rows, 3)).clip(1, 1000) - 1
    # Each query has different cells, chosen by their rows, so that it is not empty.
    present, numbers = np.unique(codes, axis=0, return_counts=True)
    few = int(parameter)
    drawn = [rng.choice(len(present), few, replace=False, p=numbers / rows) for _ in range(200)]
    places = np.array(drawn)
    truth = numbers[places].sum(axis=1)
    if method == "noise on each":
        # A row is in at most all queries.
        noise = rng.laplace(0, QUERIES, truth.size)
        return {"error": float(np.abs(noise).mean())}
    cells = present[places]
    mechanism: Any = {
        "SparseProjection": SparseProjection(),
        "SparseProjection.paper": SparseProjection.paper(PureDP(1), rows=rows),
        "CountSketch": CountSketch(width=(1 << 18) // 5, rows=5),
        "HighPass": HighPass(theta=math.ceil(math.log(10**9))),
    }[method]
    synopsis = margin.simulate(
        codes,
        domain=dict.fromkeys("abc", 1000),
        budget=PureDP(1),
        mechanism=mechanism,
        seed=seed,
    ).synopsis
    if method == "HighPass":
        kept, values, _ = synopsis.cells()
        known = {tuple(cell): value for cell, value in zip(kept.tolist(), values, strict=True)}
        each = np.array([known.get(tuple(cell), 0.0) for cell in cells.reshape(-1, 3).tolist()])
    else:
        each = synopsis.counts(cells.reshape(-1, 3))
    found = each.reshape(len(cells), -1).sum(axis=1)
    return {"error": float(np.abs(found - truth).mean())}


# Items


def _items(method: str, parameter: str, size: int, seed: int) -> dict[str, Any]:
    """The errors of the counts of all queries of a log."""
    matrix = logs(size)
    users, items = matrix.shape
    longest = int(matrix.sum(axis=1, dtype=np.int64).max())
    mechanism: Any = {
        "GroupAndSmooth": GroupAndSmooth(longest=longest),
        "random, 256": GroupAndSmooth(size=256, share=None, longest=longest),
        "PlainItems": PlainItems(longest=longest),
        "FourierItems": FourierItems(k=256, longest=longest),
        "DPSense": DPSense(),
    }.get(method)
    if mechanism is None:
        mechanism = GroupAndSmooth.paper(size=int(method.split(", ")[1]), longest=longest)
    synopsis = margin.simulate(
        matrix, domain={"query": items}, budget=PureDP(parameter), mechanism=mechanism, seed=seed
    ).synopsis
    truth = np.asarray(matrix.sum(axis=0, dtype=np.int64)).ravel()
    gaps = np.abs(synopsis.counts - truth)
    # The sanity bound is 0.1 % of the rows.
    return {
        "error": float(gaps.mean()),
        "root mean square": float(np.sqrt((gaps**2).mean())),
        "relative": float((gaps / np.maximum(truth, 0.001 * users)).mean()),
    }


# The page


def _mean(rows: Sequence[Row], column: str, study: str, method: str, parameter: str) -> float:
    wanted = (study, method, parameter)
    chosen = [row for row in rows if (row["study"], row["method"], row["parameter"]) == wanted]
    numbers = [float(row[column]) for row in chosen if row.get(column)]
    return float(np.mean(numbers)) if numbers else math.nan


def _table(rows: list[Row], cases: list[tuple[str, str, str]]) -> list[dict[str, Any]]:
    columns = ("error", "root mean square", "relative", "seconds")
    table = []
    for study, method, parameter in cases:
        means = {column: _mean(rows, column, study, method, parameter) for column in columns}
        shown = {name: "" if math.isnan(mean) else mean for name, mean in means.items()}
        size = f"{int(parameter):,}" if parameter.isdigit() else parameter
        table.append({"study": study, "method": method, "parameter": size, **shown})
    return table


def _claims(rows: list[Row]) -> list[Claim]:
    """The papers' forms against the papers' baselines, and ours against all."""
    wide = (
        "the noise of a projection grows with the number of its sums, about 3 S ln(n / S), and the "
        "noise on every cell with sqrt(n): the projection is ahead only for large n"
    )
    cut = (
        "a filter has the noise of one count in each cell that it keeps; a projection has that of "
        "its sums, and drops cells that these do not tell from noise"
    )
    claims = []
    for study, own, others, column, why in (
        ("spikes", "Compressive.paper", ("Flat",), "error", wide),
        ("spikes", "Compressive", ("Flat", "Compressive.paper"), "error", ""),
        ("spikes", "Compressive", ("HighPass",), "error", cut),
        ("steps", "Compressive.paper", ("Flat",), "error", wide),
        ("steps", "Compressive", ("Flat", "Compressive.paper"), "error", ""),
        ("queries", "SparseProjection.paper", ("noise on each",), "error", ""),
        ("queries", "SparseProjection", STUDIES["queries"][0][1:], "error", ""),
        ("items", "paper, 256", ("PlainItems", "FourierItems"), "error", ""),
        ("items", "GroupAndSmooth", STUDIES["items"][0][1:], "root mean square", ""),
    ):
        parameters = STUDIES[study][1]
        for other in others:
            ratios = []
            for parameter in parameters:
                mine, theirs = (
                    _mean(rows, column, study, name, parameter) for name in (own, other)
                )
                if not math.isnan(mine) and not math.isnan(theirs):
                    ratios.append(theirs / mine)
            listed = ", ".join(f"{ratio:.3g}" for ratio in ratios) or "not run"
            holds = min(ratios) >= 1 if ratios else None
            claims.append(
                Claim(
                    claim=f"{study}: {own} has at most the {column} of {other}",
                    measured=f"{other} / {own}: {listed}",
                    holds=holds,
                    why="" if holds else why,
                )
            )
    return claims
