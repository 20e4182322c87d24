"""Time of reconstruction, consistency and projection, against general solvers on the same problems.

Each comparison is five pairs of measurements, ours and theirs in turn; the ratio is the median of
the five. Times are processor seconds of one thread, without the loading of code in a first call.
Both answer the same problems: marginals that no view covers, from the views of one release.
`nice -n -20 taskset -c 1` gives the study a processor of its own, where the priority of the session
is raised, too (`echo -20 > /proc/self/autogroup`); the libraries of linear algebra are told to use
one thread (`OMP_NUM_THREADS=1`, `OPENBLAS_NUM_THREADS=1`, `NUMBA_NUM_THREADS=1`).
"""

from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

import margin
from experiments.tools.pages import page
from experiments.tools.paired import PAIRS, paired
from experiments.tools.study import bad, good, sweep
from experiments.tools.tables import adult, clicks, copies, kosarak, queries
from margin import PriView, PureDP, Workload
from margin.datasets import Dataset
from margin.designs import covering_design
from margin.solvers import (
    LBFGS,
    Batch,
    ClarabelDirect,
    Cone,
    JointProjection,
    Ladder,
    LatticeConsistency,
    Newton,
    Problem,
    ProjectionQP,
    ResidualConsistency,
    Tables,
    TrustExact,
)

Key = dict[str, Any]
Row = dict[str, Any]

_TABLES: dict[str, Callable[[], Dataset | None]] = {
    "clicks-12": lambda: clicks(12, 2_000),
    "clicks-24": lambda: clicks(24, 100_000),
    "clicks-45": lambda: clicks(45, 100_000),
    "copies-24": lambda: copies(24, 100_000, 0.9),
    "near-copies-24": lambda: copies(24, 100_000, 0.98),
    "Kosarak-32": kosarak,
    "Adult": adult,
}
_THEIRS: dict[str, Any] = {
    "cvxpy with Clarabel": Cone(),
    "Clarabel": ClarabelDirect(),
    "trust-exact": TrustExact(),
    "L-BFGS": LBFGS(),
    "ladder": Ladder(),
}
_MOST_CELLS = 5_000
"""Largest marginal that is asked, where attributes are not binary."""
_FEW, _MANY = 12, 40
"""The numbers of marginals that are asked of a solver."""
_TILES = 10
"""How often our batch holds each problem, as a batch is meant for hundreds. A workload holds no
marginal twice: it has other random marginals instead."""
COLUMNS = (
    "way", "table", "t", "epsilon", "k", "theirs",
    "ratio", "least", "most", "ours ms", "theirs ms", "pairs", "answers", "views", "gap",
)  # fmt: skip


def run(smoke: bool, out: Path) -> str:
    """Measure each comparison; one line each."""
    rows = sweep(out / "rows.csv", measure, _keys(smoke))
    return page(
        out / "page.md",
        title="Speed of reconstruction",
        about=" ".join((__doc__ or "").partition("\n\n")[2].split()),
        rows=[{name: row.get(name, "") for name in COLUMNS} for row in good(rows)],
        notes=bad(rows),
    )


def _keys(smoke: bool) -> list[Key]:
    general, ladder = "cvxpy with Clarabel", "ladder"

    def key(
        way: str, table: str, theirs: str, *, t: int = 2, epsilon: str = "1", k: int = 8
    ) -> Key:
        return {"way": way, "table": table, "t": t, "epsilon": epsilon, "k": k, "theirs": theirs}

    if smoke:
        ways = ("batch", "library")
        return [key(way, "clicks-12", general, k=6) for way in ways]
    strong = ("copies-24", "near-copies-24", "clicks-24", "Kosarak-32")
    return [
        *(key("batch", table, general, epsilon=e) for table in strong for e in ("1", "10")),
        *(key("batch with bars", table, general) for table in strong),
        *(key("library", table, general) for table in strong),
        *(key("batch", "Kosarak-32", one) for one in _THEIRS if one != general),
        *(key("batch", "Kosarak-32", ladder, t=3, epsilon=e) for e in ("0.913", "9.13")),
        *(key("numpy", table, one) for table in strong for one in (general, ladder)),
        *(key("marginal", table, one) for table in strong for one in (general, ladder)),
        key("library", "clicks-45", general, k=4),
        key("marginal", "clicks-45", general, k=4),
        key("marginal", "Adult", general, k=4),
        key("worst", "Adult", general, k=4),
        key("all", "clicks-45", "", k=4),
        key("consistency", "Kosarak-32", "lattice", t=3),
        *(key("projection", "Kosarak-32", one) for one in ("OSQP", "CLARABEL")),
    ]


def measure(way: str, table: str, t: int, epsilon: str, k: int, theirs: str) -> Row:
    """Time one comparison."""
    simulation = _simulated(table, t, epsilon)
    if simulation is None:
        raise RuntimeError(f"the table {table} is missing; set MARGIN_DATA to its folder")
    views = {"views": len(simulation.synopsis.held.views)}
    if way == "consistency":
        return views | _consistency(_noisy(simulation))
    if way == "projection":
        return views | _projection(_noisy(simulation), theirs)
    if way == "all":
        return views | _all(simulation, k)
    slow = theirs == "ladder" or way in ("worst", "marginal", "numpy")
    asked = _asked(simulation, k, _FEW if slow else _MANY)
    if way == "worst":
        return views | _worst(simulation, asked)
    return views | _compared(simulation, asked, way, _THEIRS[theirs])


def _compared(simulation: margin.Simulation, asked: list[Any], way: str, other: Any) -> Row:
    """The time of answers in one way, and of another solver for the same marginals."""
    synopsis = simulation.synopsis
    tables = synopsis.held
    axes = [tuple(sorted(simulation.domain.axes(view))) for view in asked]
    problems = [Problem.of(tables, some) for some in axes]
    newton = Newton(bars=way == "batch with bars", threads=1)
    # Marginals that are not binary have several shapes, and a batch has one.
    batch = Batch.pack(problems * _TILES if way.startswith("batch") else problems[:1])
    Newton(threads=1).solve(Batch.pack(problems[:1] * 50_000))  # loads the compiled loops
    more = _asked(simulation, len(asked[0]), _TILES * len(asked))
    workload = Workload.of(simulation.domain, more)
    bare = Newton()
    ours: dict[str, Callable[[], object]] = {
        "batch": lambda: newton.solve(batch),
        "batch with bars": lambda: newton.solve(batch),
        "numpy": lambda: [bare.solve(Problem.of(tables, some)) for some in axes],
        "library": lambda: synopsis.marginals(workload),
        "marginal": lambda: [synopsis.marginal(view) for view in asked],
    }

    def theirs() -> object:
        return [other.solve(problem) for problem in problems]

    count = len(problems)
    answers = {"library": len(workload), "numpy": count, "marginal": count}
    parts = (answers.get(way, len(batch)), count)
    gap: Row = {}
    if not isinstance(other, Ladder):
        precise = Newton(bars=False, tolerance=1e-9)
        gap = {"gap": max(_apart(precise, other, problem) for problem in problems)}
    return {"answers": count} | gap | paired(ours[way], theirs, parts=parts)


def _apart(one: Any, other: Any, problem: Problem) -> float:
    """The distance of the objectives that two solvers reach."""
    return abs(float(one.solve(problem).objective - other.solve(problem).objective))


def _worst(simulation: margin.Simulation, asked: list[Any]) -> Row:
    """The single answer that takes us longest, and the same of cvxpy."""
    tables = simulation.synopsis.held

    def alone(view: Any) -> Row:
        problem = Problem.of(tables, tuple(sorted(simulation.domain.axes(view))))
        return paired(
            lambda: simulation.synopsis.marginal(view),
            lambda: Cone().solve(problem),
            parts=(1, 1),
        )

    found = [alone(view) for view in asked]
    return {"answers": len(asked)} | max(found, key=lambda row: row["ours ms"])


def _all(simulation: margin.Simulation, k: int) -> Row:
    """The time of all k-way marginals, in milliseconds an answer."""
    workload = Workload.all_kway(simulation.domain, k)
    work = lambda: simulation.synopsis.marginals(workload)  # noqa: E731
    found = paired(work, work, parts=(len(workload), len(workload)))
    return {"answers": len(workload), "ours ms": found["ours ms"], "pairs": PAIRS}


def _consistency(tables: Tables) -> Row:
    ours, theirs = ResidualConsistency(), LatticeConsistency()
    one, two = (np.concatenate([v.ravel() for v in m(tables).values]) for m in (ours, theirs))
    gap = float(np.abs(one - two).max() / np.abs(two).max())
    return {"gap": gap} | paired(lambda: ours(tables), lambda: theirs(tables), parts=(1, 1))


def _projection(tables: Tables, solver: str) -> Row:
    consistent = ResidualConsistency()(tables)
    ours, theirs = JointProjection(), ProjectionQP(solver=solver)
    return paired(lambda: ours(consistent), lambda: theirs(consistent), parts=(1, 1))


@lru_cache(maxsize=1)
def _simulated(table: str, t: int, epsilon: str) -> margin.Simulation | None:
    """A release of a table by a cover of its t-sets by views of eight; Adult by default views."""
    study = _TABLES[table]()
    if study is None:
        return None
    names = study.domain.attributes
    views = None
    if table != "Adult":
        design = covering_design(len(names), min(8, len(names) // 2), t)
        views = [[names[axis] for axis in view] for view in design.blocks]
    mechanism = PriView(views=views, reconstruction=Newton())
    budget = PureDP(epsilon)
    return margin.simulate(
        study.data, domain=study.domain, budget=budget, mechanism=mechanism, seed=0
    )


def _asked(simulation: margin.Simulation, k: int, count: int) -> list[tuple[str, ...]]:
    """Random views that no measured view covers."""
    domain, tables = simulation.domain, simulation.synopsis.held
    drawn = dict.fromkeys(queries(domain, k, 20 * count))
    views = [view for view in drawn if domain.cells(view) <= _MOST_CELLS]
    inside = tables.covered([tuple(sorted(domain.axes(view))) for view in views])
    return [view for view, held in zip(views, inside, strict=True) if not held][:count]


def _noisy(simulation: margin.Simulation) -> Tables:
    """The tables of the views with plain noise, neither consistent nor non-negative."""
    held = simulation.synopsis.held
    rng = np.random.default_rng(0)
    return held.with_values([value + rng.normal(0, 30.0, value.shape) for value in held.values])
