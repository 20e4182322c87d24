"""Time of reconstruction, consistency and projection, against general solvers on the same problems.

Times are process time of one thread unless stated otherwise, the best of several repeats. Ratios
are taken within one run, so other work on the machine hardly affects them. The loading of code in a
first call is not counted.
"""

import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import margin
from margin import PriView, PureDP, Workload
from margin.designs import covering_design
from margin.solvers import (
    Batch,
    Cone,
    JointProjection,
    Ladder,
    LatticeConsistency,
    Newton,
    Problem,
    ProjectionQP,
    ResidualConsistency,
    Tables,
)

from ._pages import markdown
from ._tables import Study, adult, clicks, kosarak, queries

Line = dict[str, str]


def run(smoke: bool, out: Path) -> str:
    """Measure each comparison; one line each."""
    study = clicks(12, 2_000) if smoke else kosarak()
    count, slow = (4, 2) if smoke else (400, 12)
    pairs, triples = (_synopsis(study, t, 4 if smoke else 8, "9.13") for t in (2, 3))
    noisier = _synopsis(study, 3, 4 if smoke else 8, "0.913")
    k = 6 if smoke else 8
    lines = [
        *_against_cone(pairs.synopsis.held, _problems(pairs, k, count), slow),
        *(_against_ladder(name, _problems(some, k, count), slow) for name, some in (
            (f"{len(triples.synopsis.names)} views, eps 9.13", triples),
            (f"{len(noisier.synopsis.names)} views, eps 0.913", noisier),
        )),
        *_single(pairs, queries(study.domain, k, 4 * slow), slow),
        _consistency(study, smoke),
        *_projection(study, smoke),
        _every(clicks(8 if smoke else 45, 2_000 if smoke else 100_000)),
    ]  # fmt: skip
    table = None if smoke else adult()
    if table is not None:
        lines.append(_mixed(table))
    return markdown(lines)


def _against_cone(tables: Tables, problems: list[Problem], slow: int) -> list[Line]:
    newton, cone = Newton(bars=False, threads=1, tolerance=1e-9), Cone()
    seconds, solutions = _batch(newton, problems)
    theirs = [cone.solve(problem) for problem in problems[: slow + 1]][1:]
    gap = max(
        abs(one.objective - two.objective)
        for one, two in zip(list(solutions)[1:], theirs, strict=False)
    )
    general = float(np.median([solution.seconds for solution in theirs]))
    with_bars, _ = _batch(Newton(threads=1), problems)
    return [
        _line(
            f"batch beside cvxpy with Clarabel, {len(tables.views)} views",
            general / seconds,
            f"objectives {gap:.1g} apart",
        ),
        _line("queries a second a thread, with bars", 1 / with_bars, f"without {1 / seconds:.0f}"),
    ]


def _against_ladder(name: str, problems: list[Problem], slow: int) -> Line:
    seconds, _ = _batch(Newton(bars=False, threads=1), problems)
    ladder = [Ladder().solve(problem).seconds for problem in problems[: slow + 1]][1:]
    text = f"mean {np.mean(ladder) / seconds:.0f}; {1 / seconds:.0f} queries a second a thread"
    return _line(f"batch beside the ladder, {name}", float(np.median(ladder)) / seconds, text)


def _single(simulation: margin.Simulation, asked: list[tuple[str, ...]], slow: int) -> list[Line]:
    """The time of single answers, by numpy as in a fresh process and with loaded compiled loops."""
    ladder = simulation.synopsis.with_reconstruction(Ladder())
    covered = simulation.synopsis.held.covered(
        [tuple(sorted(simulation.domain.axes(view))) for view in asked]
    )
    asked = [view for view, inside in zip(asked, covered, strict=True) if not inside][: slow + 1]
    theirs = [_best(lambda view=view: ladder.marginal(view), 1) for view in asked][1:]
    lines = []
    # Problems solved one by one never go through the compiled loops.
    tables, newton = simulation.synopsis.held, Newton()
    axes = [tuple(sorted(simulation.domain.axes(view))) for view in asked]
    for name, call in (
        ("one problem by numpy", lambda place: newton.solve(Problem.of(tables, axes[place]))),
        ("one call of marginal, compiled", lambda place: simulation.marginal(asked[place])),
    ):
        ours = [_best(partial(call, place), 5) for place in range(len(asked))][1:]
        ratio = float(np.median(theirs) / np.median(ours))
        lines.append(_line(f"{name}, beside the ladder", ratio, f"{1000 * np.median(ours):.2f} ms"))
    return lines


def _consistency(study: Study, smoke: bool) -> Line:
    tables = _noisy(study, 3, 4 if smoke else 8)
    seconds = {}
    for method in (ResidualConsistency(), LatticeConsistency()):
        seconds[type(method)] = _best(lambda method=method: method(tables), 1 if smoke else 5)
    one, two = (
        np.concatenate([v.ravel() for v in m(tables).values])
        for m in (ResidualConsistency(), LatticeConsistency())
    )
    gap = float(np.abs(one - two).max() / np.abs(two).max())
    ratio = seconds[LatticeConsistency] / seconds[ResidualConsistency]
    return _line(
        f"consistency beside the lattice, {len(tables.views)} views",
        ratio,
        f"relative difference {gap:.1g}",
    )


def _projection(study: Study, smoke: bool) -> list[Line]:
    tables = ResidualConsistency()(_noisy(study, 2, 4 if smoke else 8))
    ours = _best(lambda: JointProjection()(tables), 1 if smoke else 10)
    lines = []
    for solver in ("OSQP", "CLARABEL"):
        started = time.process_time()
        ProjectionQP(solver=solver)(tables)
        ratio = (time.process_time() - started) / ours
        about = f"joint projection beside {solver}, {len(tables.views)} views"
        lines.append(_line(about, ratio, f"{1000 * ours:.1f} ms"))
    return lines


def _every(study: Study) -> Line:
    synopsis = margin.simulate(
        study.data, domain=study.domain, budget=PureDP(1), mechanism=PriView(), seed=0
    ).synopsis
    workload = Workload.all_kway(study.domain, 4)
    synopsis.marginals(workload)
    took = []
    for _ in range(3):
        wall, started = time.perf_counter(), time.process_time()
        synopsis.marginals(workload)
        took.append((time.perf_counter() - wall, time.process_time() - started))
    wall, process = np.min(took, axis=0)
    name = f"seconds for all {len(workload)} 4-way marginals, all processors"
    return _line(name, wall, f"process time {process:.2f} s")


def _mixed(study: Study) -> Line:
    """The time of single calls with different shapes, including the work that depends on the shape
    only.
    """
    simulation = margin.simulate(
        study.data, domain=study.domain, budget=PureDP(1), mechanism=PriView(), seed=0
    )
    asked = [view for view in queries(study.domain, 4, 200) if study.domain.cells(view) <= 5_000][
        :60
    ]
    simulation.marginal(asked[0])
    took = [1000 * _best(lambda view=view: simulation.marginal(view), 1) for view in asked[1:]]
    return _line(f"ms a 4-way answer, {study.name}", float(np.mean(took)), f"most {max(took):.0f}")


def _synopsis(study: Study, t: int, block: int, epsilon: str) -> margin.Simulation:
    mechanism = PriView(views=_views(study, t, block))
    return margin.simulate(
        study.data, domain=study.domain, budget=PureDP(epsilon), mechanism=mechanism, seed=0
    )


def _problems(simulation: margin.Simulation, k: int, count: int) -> list[Problem]:
    """Problems that no view covers."""
    tables = simulation.synopsis.held
    axes = [
        tuple(sorted(simulation.domain.axes(view)))
        for view in queries(simulation.domain, k, 2 * count)
    ]
    return [Problem.of(tables, some) for some in axes if tables.covering(some) is None][:count]


def _noisy(study: Study, t: int, block: int) -> Tables:
    """The tables of the views with plain noise, neither consistent nor non-negative."""
    exact = margin.simulate(
        study.data, domain=study.domain, budget=PureDP(1), seed=0,
        mechanism=PriView(views=_views(study, t, block), nonnegativity=None),
    ).synopsis.held  # fmt: skip
    rng = np.random.default_rng(0)
    return exact.with_values([value + rng.normal(0, 30.0, value.shape) for value in exact.values])


def _views(study: Study, t: int, block: int) -> list[list[str]]:
    names = study.domain.attributes
    return [[names[axis] for axis in view] for view in covering_design(len(names), block, t).blocks]


def _batch(newton: Newton, problems: list[Problem]) -> tuple[float, Any]:
    """Seconds per problem with loaded compiled loops, and the solutions."""
    batch = Batch.pack(problems)
    many = Batch.pack(problems * max(1, 2_000 // len(problems))) if len(problems) > 10 else batch
    newton.solve(many)  # enough work to load the compiled loops
    return _best(lambda: newton.solve(batch), 5) / len(problems), newton.solve(batch)


def _best(call: Callable[[], object], repeats: int) -> float:
    """The smallest process time of several calls, in seconds."""
    took = []
    for _ in range(repeats):
        started = time.process_time()
        call()
        took.append(time.process_time() - started)
    return min(took)


def _line(what: str, figure: float, note: str) -> Line:
    return {"what": what, "figure": f"{figure:.4g}", "note": note}
