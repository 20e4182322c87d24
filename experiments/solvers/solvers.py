"""Every solver on the same reconstruction problems: time, accuracy and failures.

The problems are fifty random marginals of each size that no view covers, from the same consistent
views. The tables are made-up clicks, Kosarak and Adult; Kosarak and Adult are used if their files
are available. The views cover all pairs or all triples of binary attributes by views of eight.

Times are process time of one thread per query, without the loading of code in a first call. A
solver gets two seconds for each size and answers as many of the queries as it can. It is compared
with Newton on these queries. A solver that takes more than half a second per query is not tried on
larger queries. A call that takes more than five minutes of wall time is stopped. Newton takes all
queries of one shape at once in compiled loops, or "one by one" in numpy. All other solvers get one
query at a time, as they are designed for.
"""

import itertools
import time
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

import margin
from experiments.solvers._solver_report import report
from experiments.tools import study
from experiments.tools.tables import (
    GENERATED,
    Study,
    adult,
    clicks,
    generated_kosarak,
    recorded,
)
from experiments.tools.tables import queries as random_views
from margin import PriView, PureDP, datasets
from margin.designs import covering_design
from margin.solvers import (
    IPF,
    LBFGS,
    Batch,
    ClarabelDirect,
    Cone,
    Ladder,
    LeastSquares,
    MinimaxLP,
    MirrorDescent,
    Newton,
    Problem,
    Solution,
    Solver,
    Status,
    TrustExact,
)


class _OneByOne:
    """Gives a solver single problems only, never a batch."""

    def __init__(self, solver: Solver) -> None:
        self.solve = solver.solve


SOLVERS: dict[str, Any] = {
    "Newton": Newton(bars=False, threads=1),
    "Newton with bars": Newton(threads=1),
    "Newton one by one": _OneByOne(Newton(bars=False)),
    "TrustExact": TrustExact(),
    "LBFGS": LBFGS(),
    "ClarabelDirect": ClarabelDirect(),
    "Cone CLARABEL": Cone(),
    "Cone SCS": Cone(solver="SCS"),
    "Ladder": Ladder(),
    "IPF": IPF(),
    "MirrorDescent": MirrorDescent(),
    "LeastSquares CLARABEL": LeastSquares(),
    "LeastSquares OSQP": LeastSquares(solver="OSQP"),
    "LeastSquares PIQP": LeastSquares(solver="PIQP"),
    "LeastSquares SCIPY": LeastSquares(solver="SCIPY"),
    "MinimaxLP HIGHS": MinimaxLP(solver="HIGHS"),
    "MinimaxLP SCIPY": MinimaxLP(),
    "MinimaxLP CLARABEL": MinimaxLP(solver="CLARABEL"),
}
_SAME = ("Newton", "TrustExact", "LBFGS", "Clarabel", "Cone")
"""How the names begin of those that minimise what Newton does."""

_TABLES: dict[str, Any] = {
    "clicks-12": lambda: clicks(12, 2_000),
    "clicks-32": lambda: clicks(32, 100_000),
    "Kosarak-32": lambda: datasets.kosarak(download=False),
    f"Kosarak-32{GENERATED}": generated_kosarak,
    "Adult": lambda: datasets.adult(download=False),
}
_VIEWS = {"pairs": 2, "triples": 3}
_BLOCK = 8

_PATIENCE = 2.0
_SLOW = 0.5
_LIMIT = 300.0
"""Seconds: for the queries of a size, for a query before larger ones, and until a query is broken
off (wall time)."""

_MOST_CELLS = 2_000
"""Of a query of attributes that are not binary."""
_NOTHING = {"tried": 0}


def run(smoke: bool, out: Path) -> str:
    """Measure all solvers; return the time of each, the distance of its answers from Newton's, and
    where the files are.
    """
    sizes, count = ((4,), 2) if smoke else ((4, 6, 8, 10, 12), 50)
    if smoke:
        places = [{"table": "clicks-12", "views": "pairs", "epsilon": "1"}]
    else:
        places = [
            {"table": table, "views": views, "epsilon": epsilon}
            for table, kinds in (
                ("clicks-32", _VIEWS),
                (recorded("Kosarak-32", datasets.kosarak), _VIEWS),
                ("Adult", () if adult() is None else ("chosen",)),
            )
            for views in kinds
            for epsilon in ("1", "0.1")
        ]
    rows: list[study.Row] = []
    for k in sizes:
        slow = _too_slow(rows)
        keys = [
            place | {"k": k, "solver": solver, "queries": count}
            for place in places
            for solver in SOLVERS
            if (*place.values(), solver) not in slow
        ]
        found = study.sweep(out / "rows.csv", measure, keys, limit=None if smoke else _LIMIT)
        rows += [row for row in found if row.get("tried") != "0"]
    return report(rows, out, about=" ".join((__doc__ or "").split("\n\n")[1].split()))


def measure(
    table: str, views: str, epsilon: str, k: int, solver: str, queries: int
) -> dict[str, Any]:
    """Run one solver on the queries of one size; return no row if there is no such query."""
    simulation = _simulated(table, views, epsilon)
    domain, tables = simulation.domain, simulation.synopsis.held
    asked = [sorted(domain.axes(view)) for view in random_views(domain, k, 3 * queries)]
    if max(domain.sizes) > 2:
        asked = [
            axes for axes in asked if np.prod([domain.sizes[axis] for axis in axes]) <= _MOST_CELLS
        ]
    asked = [axes for axes in asked if tables.covering(tuple(axes)) is None][:queries]
    if not asked:
        return _NOTHING
    problems = [Problem.of(tables, tuple(axes)) for axes in asked]
    chosen = SOLVERS[solver]
    _load(chosen, tables)
    if isinstance(chosen, Newton):
        answers, seconds = _in_batches(chosen, problems)
    else:
        answers, seconds = _one_by_one(chosen, problems)
    truths = [
        truth.counts
        for truth in simulation.truths([[domain.attributes[a] for a in axes] for axes in asked])
    ]
    return _summary(solver, problems, answers, truths, seconds)


@lru_cache(maxsize=1)
def _simulated(table: str, views: str, epsilon: str) -> margin.Simulation[Any]:
    study: Study = _TABLES[table]()
    chosen = None
    if views in _VIEWS:
        names, block = study.domain.attributes, min(_BLOCK, len(study.domain) // 2)
        design = covering_design(len(names), block, _VIEWS[views])
        chosen = [[names[axis] for axis in view] for view in design.blocks]
    mechanism = PriView(views=chosen, reconstruction=Newton())
    return margin.simulate(
        study.data, domain=study.domain, budget=PureDP(epsilon), mechanism=mechanism, seed=0
    )


def _load(solver: Any, tables: Any) -> None:
    """Let a solver load its code on a small problem, repeated so often that the loops of Newton are
    loaded.
    """
    small = Problem.of(tables, (0, 1, 2))
    solver.solve(Batch.pack([small] * 50_000) if isinstance(solver, Newton) else small)


def _in_batches(solver: Newton, problems: list[Problem]) -> tuple[list[Solution], float]:
    """The answers and seconds for batches of problems of one shape."""
    answers: dict[int, Solution] = {}
    seconds = 0.0
    places = sorted(range(len(problems)), key=lambda place: problems[place].shape)
    for _, group in itertools.groupby(places, key=lambda place: problems[place].shape):
        some = list(group)
        batch = Batch.pack([problems[place] for place in some])
        started = time.process_time()
        solutions = solver.solve(batch)
        seconds += time.process_time() - started
        answers |= dict(zip(some, solutions, strict=True))
    return [answers[place] for place in range(len(problems))], seconds


def _one_by_one(solver: Solver, problems: list[Problem]) -> tuple[list[Solution], float]:
    """The answers until the time limit, and their seconds."""
    started, answers = time.process_time(), []
    for problem in problems:
        answers.append(solver.solve(problem))
        if answers[-1].status is Status.MISSING or time.process_time() - started > _PATIENCE:
            break
    return answers, time.process_time() - started


def _summary(
    solver: str, problems: list[Problem], answers: list[Solution], truths: list[Any], seconds: float
) -> dict[str, Any]:
    """The row: means over the answered queries, and the error of Newton on the same queries."""
    kinds = sorted(answer.status.name for answer in answers if not answer.status.ok)
    row: dict[str, Any] = {
        "tried": len(answers),
        "milliseconds": 1000 * seconds / len(answers),
        "relaxed": sum(answer.status is Status.RELAXED for answer in answers),
        "failures": len(kinds),
        "failed with": ", ".join(
            f"{len(list(same))} {kind}" for kind, same in itertools.groupby(kinds)
        ),
    }
    good = [some for some in zip(problems, answers, truths, strict=False) if some[1].status.ok]
    if not good:
        return row
    newton = Newton(bars=False)
    ours, _ = _in_batches(newton, [problem for problem, _, _ in good])
    row |= {
        "iterations": np.mean([answer.iterations for _, answer, _ in good]),
        "residual": max(answer.residual for _, answer, _ in good),
        "objective": np.mean([answer.objective for _, answer, _ in good]),
        "error": np.mean([_error(answer, truth) for _, answer, truth in good]),
        "error of Newton": np.mean(
            [_error(mine, truth) for mine, (_, _, truth) in zip(ours, good, strict=True)]
        ),
    }
    if solver.startswith(_SAME):
        row["above Newton"] = max(
            newton.objective(problem, answer.table.ravel() / problem.total) - mine.objective
            for mine, (problem, answer, _) in zip(ours, good, strict=True)
        )
    return row


def _error(answer: Solution, truth: Any) -> float:
    return float(np.linalg.norm(answer.table - truth) / truth.sum())


def _too_slow(rows: Iterable[study.Row]) -> set[tuple[str, ...]]:
    """The table, views, budget and solver for which larger queries are not tried."""
    return {
        (row["table"], row["views"], row["epsilon"], row["solver"])
        for row in rows
        if row[study.STATUS] != study.DONE or float(row["milliseconds"]) > 1000 * _SLOW
    }
