"""Every solver on the same reconstruction problems: time, steps, residual, objective, error, failures.

Results go to the folder of the run: results.csv, results.md and, with matplotlib, plots. A run that was broken off goes
on where it stopped. Times are process time of one thread, per query, without what a first call loads.
"""

import itertools
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import margin
from margin import PriView, PureDP
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
    Solver,
    Status,
    TrustExact,
)

from ._solver_report import append, markdown, plots, read
from ._tables import Study, adult, clicks, kosarak, queries


class _OneByOne:
    """A solver that is given single problems only, never a batch."""

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

_PATIENCE = 10.0
"""Seconds: a solver gets this long at each size, and goes no further once a query took it longer."""


def run(smoke: bool, out: Path) -> str:
    """The table of all results, and where they were written."""
    if smoke:
        return _run(out, [(clicks(12, 2_000), 6)], sizes=(4,), count=2, epsilons=("1",))
    studies = [(study, 8) for study in (clicks(32, 100_000), kosarak(), adult()) if study is not None]
    return _run(out, studies, sizes=(4, 6, 8, 10, 12), count=100, epsilons=("1", "0.1"))


def _run(
    folder: Path, studies: list[tuple[Study, int]], *, sizes: tuple[int, ...], count: int, epsilons: tuple[str, ...]
) -> str:
    folder.mkdir(parents=True, exist_ok=True)
    results = folder / "results.csv"
    done = {_key(row) for row in read(results)}
    for place, (study, block) in enumerate(studies):
        for name, views in _views(study, block).items():
            for epsilon in epsilons:
                for row in _rows(study, name, views, epsilon, sizes, count, done):
                    append(results, row)
                    print(f"\r{place + 1}/{len(studies)} {' '.join(_key(row)):<100}", end="", file=sys.stderr)
    print(file=sys.stderr)
    rows = read(results)
    table = markdown(rows)
    (folder / "results.md").write_text(table + "\n")
    pictures = plots(rows, folder)
    return f"{table}\n\n{len(rows)} rows and {len(pictures)} plots in {folder}"


def _key(row: dict[str, Any]) -> tuple[str, ...]:
    return tuple(str(row[name]) for name in ("table", "views", "epsilon", "k", "solver"))


def _views(study: Study, block: int) -> dict[str, list[list[str]] | None]:
    """The sets of views that are compared: covers of pairs and triples where all attributes are binary."""
    names, sizes = study.domain.attributes, study.domain.sizes
    if max(sizes) > 2:
        return {"default": None}
    return {
        f"{word} by {block}": [[names[axis] for axis in view] for view in covering_design(len(sizes), block, t).blocks]
        for t, word in ((2, "pairs"), (3, "triples"))
    }


def _rows(
    study: Study,
    name: str,
    views: list[list[str]] | None,
    epsilon: str,
    sizes: tuple[int, ...],
    count: int,
    done: set[tuple[str, ...]],
) -> Iterator[dict[str, Any]]:
    """A row for each size and solver that is not yet done."""
    simulation = None
    too_slow: set[str] = set()
    for k in sizes:
        missing = {
            solver: {"table": study.name, "views": name, "epsilon": epsilon, "k": k, "solver": solver}
            for solver in SOLVERS
        }
        missing = {solver: head for solver, head in missing.items() if _key(head) not in done}
        asked = [view for view in queries(study.domain, k, count) if study.domain.cells(view) <= 5_000]
        if not missing or not asked:
            continue
        if simulation is None:
            simulation = margin.simulate(
                study.data, domain=study.domain, budget=PureDP(epsilon), mechanism=PriView(views=views), seed=0
            )
        problems, truths = _problems(simulation, asked)
        for solver, head in missing.items():
            if solver in too_slow:
                continue
            row = head | _measure(SOLVERS[solver], problems, truths)
            if row["milliseconds"] == "" or row["milliseconds"] > 1000 * _PATIENCE:
                too_slow.add(solver)
            yield row


def _problems(simulation: margin.Simulation, asked: list[tuple[str, ...]]) -> tuple[list[Problem], list[Any]]:
    """The problems of the queries that no view covers, and the true tables, axes in the order of the domain."""
    domain, tables = simulation.domain, simulation.synopsis.tables
    axes = [tuple(sorted(domain.axes(view))) for view in asked]
    axes = [some for some in axes if tables.covering(some) is None]
    names = [tuple(domain.attributes[axis] for axis in some) for some in axes]
    truths = [truth.counts for truth in simulation.truths(names)] if names else []
    return [Problem.of(tables, some) for some in axes], truths


def _measure(solver: Any, problems: list[Problem], truths: list[Any]) -> dict[str, Any]:
    """Solve until patience ends; a batch where the solver is made for it and the shapes are the same."""
    if not problems:
        return _summary([], [], 0.0)
    if isinstance(solver, Newton) and len({problem.shape for problem in problems}) == 1:
        solver.solve(Batch.pack(problems[:1] * 2_000))  # so much work that the compiled loops are loaded
        started = time.process_time()
        solutions = solver.solve(Batch.pack(problems))
        seconds = time.process_time() - started
        return _summary(list(solutions), truths, seconds)
    solver.solve(problems[0])
    started, answers = time.process_time(), []
    for problem in problems:
        answers.append(solver.solve(problem))
        if answers[-1].status is Status.MISSING or time.process_time() - started > _PATIENCE:
            break
    return _summary(answers, truths, time.process_time() - started)


def _summary(answers: list[Any], truths: list[Any], seconds: float) -> dict[str, Any]:
    good = [(answer, truth) for answer, truth in zip(answers, truths, strict=False) if answer.status.ok]
    errors = [np.linalg.norm(answer.table - truth) / truth.sum() for answer, truth in good]
    kinds = [answer.status.name for answer in answers if not answer.status.ok]
    return {
        "queries": len(answers),
        "milliseconds": 1000 * seconds / len(answers) if good else "",
        "iterations": np.mean([answer.iterations for answer, _ in good]) if good else "",
        "residual": max(answer.residual for answer, _ in good) if good else "",
        "objective": np.mean([answer.objective for answer, _ in good]) if good else "",
        "relaxed": sum(answer.status is Status.RELAXED for answer, _ in good),
        "error": np.mean(errors) if good else "",
        "failures": len(kinds),
        "failed with": " ".join(f"{len(list(same))}x{kind}" for kind, same in itertools.groupby(sorted(kinds))),
    }
