"""Figure 1 of PriView: all methods on nine attributes."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import margin
from experiments.priview._figures import (
    QUERIES,
    RUNS,
    Cell,
    Method,
    Shown,
    between,
    compared,
    described,
    design_name,
    draw,
    each,
    exact,
    keys,
    lattice,
    measure,
    numbers,
    ours,
    panels,
    ratios,
    recorded,
    table,
    uniform,
    views,
)
from experiments.tools.pages import Claim, page
from experiments.tools.study import bad, sweep
from experiments.tools.tables import published
from margin.mechanisms import strategies
from margin.solvers import Ladder

LIMIT = 900.0
"""Seconds for a method, a size and a run."""

BLOCK = {"msnbc": 6, "clicks-6": 4}


def _all(make: Any) -> Method:
    """A mechanism that releases all marginals of k attributes. It is made when it runs."""
    return lambda cell: cell.answers(make(), workload=cell.asked)


def _matrix(strategy: str) -> Method:
    return _all(lambda: margin.MatrixMechanism(strategy=getattr(strategies, strategy)()))


def _noiseless(gamma: float) -> Method:
    """Learning without noise, which shows the error of its approximation."""
    return lambda cell: exact(cell, margin.mechanisms.Learning(gamma=gamma), cell.asked)


LEARNING = {f"Learning 1/{part}": 1 / part for part in (2, 4, 8)}

METHODS: Mapping[str, Method] = {
    "Uniform": uniform,
    "Flat": _all(lambda: margin.mechanisms.Flat()),
    "Direct": _all(lambda: margin.mechanisms.Direct()),
    "Fourier": _all(lambda: margin.mechanisms.Fourier()),
    "FourierLP": _all(lambda: margin.mechanisms.FourierLP()),
    "DataCubes": _all(lambda: margin.mechanisms.DataCubes()),
    "Matrix, eigen": _matrix("EigenDesign"),
    "Matrix, low rank": _matrix("LowRank"),
    "Matrix, marginals": _matrix("OptimisedMarginals"),
    "MWEM": _all(lambda: margin.MWEM(rounds=15)),
    **{
        name: _all(lambda part=part: margin.mechanisms.Learning(gamma=part))
        for name, part in LEARNING.items()
    },
    **{f"{name}*": _noiseless(part) for name, part in LEARNING.items()},
    "PriView": lambda cell: cell.answers(lattice(_views(cell), reconstruction=Ladder())),
    "ours": lambda cell: cell.answers(ours(_views(cell))),
}


def _views(cell: Cell) -> Any:
    return views(cell.table.domain, BLOCK[published(cell.name)], 2)


def work(
    table: str, method: str, epsilon: str, k: int, run: int, queries: int
) -> list[dict[str, Any]]:
    """The errors of a method for each query."""
    return measure(
        METHODS, method, Cell(name=table, epsilon=epsilon, k=k, run=run, queries=queries)
    )


def run(smoke: bool, out: Path) -> str:
    """Candlesticks of L2 / N by method."""
    name, epsilons, sizes, runs = (
        ("clicks-6", ("1",), (2,), 1)
        if smoke
        else (recorded("msnbc"), ("1", "0.1"), (2, 3, 4), RUNS)
    )
    asked = keys(
        [name],
        list(METHODS),
        epsilons=epsilons,
        sizes=sizes,
        effort=lambda method, k: (_runs(method, k, runs), QUERIES),
    )
    rows = sweep(out / "rows.csv", work, asked, limit=None if smoke else LIMIT)
    groups = {
        f"epsilon = {epsilon}, k = {k}": {"table": name, "epsilon": epsilon, "k": k}
        for epsilon in epsilons
        for k in sizes
    }
    found = panels(rows, groups, list(METHODS))
    shown = {
        heading: {name: v for name, v in some.items() if "*" not in name}
        for heading, some in found.items()
    }
    stars = {
        heading: {name: float(some[f"{name}*"].mean()) for name in LEARNING if f"{name}*" in some}
        for heading, some in found.items()
    }
    pictures = draw(
        out,
        "figure1",
        shown,
        xlabel="L2 error / N",
        title=table(name).name,
        columns=len(sizes),
        marks=stars,
        mark_label="mean without noise",
    )
    design = design_name(table(name).domain, BLOCK[published(name)], 2)
    return page(
        out / "figure1.md",
        title="Figure 1: all methods on nine attributes",
        about=f"{described(name)}. All sets of k attributes, {runs} runs. PriView as published "
        f"and ours on {design}; "
        "every other method releases all marginals of k attributes. The paper plots the "
        "expected error of the matrix "
        "mechanism; here it is measured, with three strategies (low rank: "
        "one run, pairs only, for its time).",
        claims=claims(found),
        pictures=pictures,
        rows=numbers(found),
        notes=bad(rows),
    )


def _runs(method: str, k: int, runs: int) -> int:
    """Number of runs of a method.

    A method without randomness gets one run. The low-rank programme takes minutes for k = 3 and
    hours for k = 4, so it runs for pairs only.
    """
    if method == "Matrix, low rank":
        return int(k == 2)
    return 1 if method == "Uniform" or "*" in method else runs


def claims(shown: Shown) -> list[Claim]:
    """The paper's claims of section 5.1, over all panels."""
    return [
        compared("Flat works well, Direct is slightly worse", shown, "Direct", "Flat"),
        _alike("PriView performs as well as Flat", shown, "PriView", "Flat", 1.3),
        _alike("ours performs as well as Flat (our claim)", shown, "ours", "Flat", 1.3),
        _alike(
            "Fourier before and after the linear programme are comparable",
            shown,
            "FourierLP",
            "Fourier",
            1.5,
        ),
        _alike("Fourier is essentially the same as Direct", shown, "Fourier", "Direct", 1.5),
        _alike("data cubes choose the full table, which is Flat", shown, "DataCubes", "Flat", 1.1),
        compared(
            "the matrix mechanism (eigen-design) is better than Direct",
            shown,
            "Direct",
            "Matrix, eigen",
        ),
        compared(
            "the matrix mechanism (eigen-design) is worse than Flat", shown, "Matrix, eigen", "Flat"
        ),
        compared(
            "the matrix mechanism (eigen-design) is worse than PriView",
            shown,
            "Matrix, eigen",
            "PriView",
        ),
        *(
            compared(f"{name} is much worse than Direct", shown, name, "Direct", least=2)
            for name in LEARNING
        ),
        *(
            compared(f"{name} is worse than Direct even without noise", shown, f"{name}*", "Direct")
            for name in LEARNING
        ),
        Claim(
            claim="at gamma = 1/8 noise dominates the approximation error of Learning",
            measured=each(
                "error with / without noise", ratios(shown, "Learning 1/8", "Learning 1/8*")
            ),
            holds=all(ratio > 2 for ratio in ratios(shown, "Learning 1/8", "Learning 1/8*")),
        ),
        compared("MWEM is worse than Flat", shown, "MWEM", "Flat"),
        compared("MWEM is worse than Direct", shown, "MWEM", "Direct"),
        compared(
            "ours is not worse than PriView as published (our claim)",
            shown,
            "PriView",
            "ours",
            least=0.98,
        ),
    ]


def _alike(claim: str, shown: Shown, left: str, right: str, factor: float) -> Claim:
    found = ratios(shown, left, right)
    return Claim(
        claim=claim,
        measured=between(f"error of {left} / {right}", found),
        detail=each(f"error of {left} / {right}", found),
        holds=all(1 / factor <= ratio <= factor for ratio in found) if found else None,
        why=f"alike means within a factor of {factor}",
    )
