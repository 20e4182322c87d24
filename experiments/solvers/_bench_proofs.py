"""Best answers and proved bounds of the instances of `margin.solvers.bench`, family by family.

Bounds of continuous families are certificates: values of the dual problem, which hold for any
multipliers, computed here from the multipliers that a solver found.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import linalg

from margin.designs import best_known, covering_design
from margin.designs.bounds import schonheim_bound
from margin.solvers import (
    IPF,
    ByComponents,
    CpSat,
    JointProjection,
    LatticeConsistency,
    Newton,
    ResidualConsistency,
    Status,
)
from margin.solvers.bench import Instance
from margin.solvers.bench.engines.apart import CpSatEngine
from margin.solvers.bench.engines.clarabel import ClarabelEngine
from margin.solvers.bench.engines.highs import HighsEngine
from margin.solvers.bench.engines.scip import ScipEngine
from margin.solvers.tables.consistency import Components
from margin.solvers.tables.nonnegativity import importance

MOST_ENTRIES = 3_000_000
"""The largest number of matrix entries of a model that is given to a library."""


_SMALLER = {"cover-design-12-4-2": (0, 112, 152, 157, 235, 257, 282, 304, 329, 338, 389, 391)}
"""Blocks of covering designs that are smaller than those of `margin.designs`: numbers of sets."""
_SMALLER_BY = "CP-SAT with the least number of blocks of each point"


@dataclass(frozen=True)
class Found:
    """One solver's contribution: an answer, a bound, or both; an infinite bound says nothing."""

    who: str
    answer: Any = None
    bound: float | None = None


def found(instance: Instance, seconds: float) -> Iterator[Found]:
    """What several solvers find of an instance, each within some seconds."""
    family = instance.family
    if family.name == "exact-entropy":
        yield from _exact(instance, seconds)
    elif family.name == "penalised-entropy":
        yield from _penalised(instance, seconds)
    elif family.name == "consistency":
        yield from _consistency(instance)
    elif family.name == "nonnegativity":
        yield from _nonnegativity(instance)
        yield from _by_engines(instance, seconds, [HighsEngine(), ClarabelEngine()])
    elif family.name == "least-squares":
        yield from _least_squares(instance)
        yield from _by_engines(instance, seconds, [HighsEngine(), ClarabelEngine()])
    elif family.name == "minimax":
        yield Found("the sign of a norm", bound=0.0)
        yield from _by_engines(instance, seconds, [HighsEngine(), ClarabelEngine()])
    elif family.name == "response":
        yield from _response(instance, seconds)
    else:
        yield from _cover(instance, seconds)


def _exact(instance: Instance, seconds: float) -> Iterator[Found]:
    problem = instance.problem
    for who, solver in (
        ("Newton", Newton(tolerance=1e-11)),
        ("IPF", IPF(tolerance=1e-12, iterations=500)),
    ):
        solution = solver.solve(problem)
        if np.isfinite(solution.table).all():
            theta = _dual_variables(problem, solution.table.ravel() / problem.total)
            yield Found(who, solution, _entropy_bound(problem, theta, 0.0))
    if instance.size == "small":
        yield from _by_engines(instance, seconds, [ClarabelEngine()])


def _penalised(instance: Instance, seconds: float) -> Iterator[Found]:
    problem = instance.problem
    solution = Newton(tolerance=1e-12).solve(problem)
    cells = solution.table.ravel() / problem.total
    ridge = np.maximum(problem.ridge, 1e-300)
    theta = (problem.target - problem.moments(cells)) / ridge
    yield Found("Newton", solution, _entropy_bound(problem, theta, ridge))
    if instance.size == "small":
        yield from _by_engines(instance, seconds, [ClarabelEngine()])


def _dual_variables(problem: Any, cells: Any) -> Any:
    """The weights of the known functions that fit log(p / q) best, shape (m,)."""
    possible = problem.possible
    logs = np.log(np.maximum(cells[possible], 1e-300) / problem.reference[possible])
    if problem.zeros is None:
        return problem.moments(logs / problem.cells)
    functions = problem.functions(np.eye(len(problem.index)))[:, possible]
    rows = np.concatenate([functions, np.ones((1, len(possible)))])
    return np.linalg.lstsq(rows.T, logs, rcond=None)[0][:-1]


def _entropy_bound(problem: Any, theta: Any, ridge: Any) -> float:
    """The dual value theta . t - log sum q exp(theta . f) - sum ridge theta**2 / 2."""
    exponents = problem.functions(theta)[problem.possible]
    top = float(exponents.max(initial=0.0))
    mass = math.fsum(problem.reference[problem.possible] * np.exp(exponents - top))
    inner = math.fsum(theta * problem.target) - 0.5 * math.fsum(ridge * theta**2)
    return inner - top - math.log(mass)


def _consistency(instance: Instance) -> Iterator[Found]:
    """The bound: the objective less |gradient|**2 / (4 metric), which is exact for a parabola."""
    problem = instance.problem
    answer = ResidualConsistency()(problem)
    model = instance.model
    changes = [
        np.ravel(value - observed) / math.sqrt(variance)
        for value, observed, variance in zip(
            answer.values, problem.values, problem.variances, strict=True
        )
    ]
    # The multipliers y of the optimum solve matrix' y = square x.
    pulls = model.square * np.concatenate(changes)
    dual = linalg.lsqr(model.matrix.T, pulls, atol=1e-14, btol=1e-14, iter_lim=20_000)[0]
    yield Found("ResidualConsistency", answer, model.lower_bound(dual))
    yield Found("LatticeConsistency", LatticeConsistency()(problem))


def _least_squares(instance: Instance) -> Iterator[Found]:
    """Newton's method on the dual, over one multiplier for each known moment and one for the sum.

    The dual is the sum over the cells of the least n (p - 1/n)**2 / 2 - slope p over p >= 0, plus
    theta . t - nu - sum ridge theta**2 / 2, where slope = F' theta - nu. The least is at
    p = max(0, 1/n + slope / n).
    """
    problem = instance.problem
    count = len(problem.possible)
    target = np.append(problem.target, -1.0)
    ridge = np.append(problem.ridge, 0.0)
    y = np.zeros(len(target))

    def pull(y: Any) -> Any:
        """The slope of each cell that need not be zero."""
        return problem.functions(y[:-1])[problem.possible] - y[-1]

    def push(cells: Any) -> Any:
        """The moments of cells, and minus their sum."""
        return np.append(problem.moments(problem.spread(cells)), -cells.sum())

    def at(y: Any) -> tuple[float, Any]:
        slopes = pull(y)
        cells = np.maximum(1 / count + slopes / count, 0.0)
        inner = 0.5 * count * (cells - 1 / count) ** 2 - slopes * cells
        return math.fsum([*inner, *(y * target), *(-0.5 * ridge * y**2)]), cells

    value, cells = at(y)
    for _ in range(200):
        slope = target - push(cells) - ridge * y
        if np.abs(slope).max() < 1e-13:
            break
        active = cells > 0

        def curvature(v: Any, active: Any = active) -> Any:
            return push(np.where(active, pull(v), 0.0)) / count + ridge * v + 1e-12 * v

        operator = linalg.LinearOperator((len(y), len(y)), matvec=curvature, dtype=np.float64)
        step = linalg.cg(operator, slope, rtol=1e-8, maxiter=2000)[0]
        length = 1.0
        while length > 1e-8 and at(y + length * step)[0] < value + 1e-4 * length * (slope @ step):
            length /= 2
        if length <= 1e-8:
            break
        y = y + length * step
        value, cells = at(y)
    answer = problem.spread(cells / cells.sum()) * problem.total
    yield Found("Newton's method on the dual", answer.reshape(problem.shape), value)


def _nonnegativity(instance: Instance, steps: int = 4000) -> Iterator[Found]:
    """JointProjection, and Nesterov's accelerated steps on the dual, over a multiplier >= 0 a cell.

    With the changes s of the coefficients, weights w and multipliers z, the dual is the least of
    sum w s**2 - z . (B s + cells): minus sum (B' z)**2 / (4 w) - z . cells.
    """
    problem = instance.problem
    answer = JointProjection(growth=0.0, tolerance=1e-7, iterations=20_000)(problem)
    yield Found("JointProjection", answer)
    components = Components(problem)
    observed = components.estimate(problem.values)
    weight = components.precision * importance(components, 1.0, growth=0.0)
    weight = np.where(components.order > 0, weight, np.inf)
    cells = components.synthesise(observed) / components.deviation

    def pulled(z: Any) -> Any:
        """B' z, where B maps changes of coefficients to cells in standard deviations."""
        means = components.average(components.analyse(z * components.deviation))
        return means * components.metric

    def moved(s: Any) -> Any:
        return components.synthesise(s) / components.deviation

    # B B' has eigenvalues of at most one over the metric; the step is one over the largest of
    # B (1 / 2 w) B'.
    size = float((components.metric / (2 * weight)).max())
    z = np.zeros(len(cells))
    ahead = z
    momentum = 1.0
    best = -math.inf
    for step in range(steps):
        slope = -cells - moved(pulled(ahead) / (2 * weight))
        after = np.maximum(ahead + slope / size, 0.0)
        # Steps that turn back end the momentum (O'Donoghue and Candes, 2015).
        momentum = 1.0 if (after - z) @ slope < 0 else momentum
        later = (1 + math.sqrt(1 + 4 * momentum**2)) / 2
        ahead = after + (momentum - 1) / later * (after - z)
        z, momentum = after, later
        if step % 50 == 49:
            pull = pulled(z)
            best = max(best, -math.fsum(pull**2 / (4 * weight)) - math.fsum(z * cells))
    yield Found("accelerated steps on the dual", bound=best)
    shared = observed + pulled(z) / (2 * weight)
    values = list(components.tables(shared).values)
    yield Found("accelerated steps on the dual", _without_negatives(problem, values))


def _by_engines(instance: Instance, seconds: float, engines: list[Any]) -> Iterator[Found]:
    """The answers of libraries, with Lagrangian bounds from their multipliers."""
    if _entries(instance) > MOST_ENTRIES:
        return
    model = instance.model
    # Cells are at most the sum of all cells; the misses of moments are bounded by their squares.
    box = np.full(model.columns, np.inf)
    if instance.family.name == "minimax":
        box = np.full(model.columns, 2.0 * (model.columns - 1))
    if instance.family.name == "least-squares":
        box = np.where(model.square < 1, float(len(instance.problem.possible)), np.inf)
    for engine in engines:
        ended = engine(model, time_limit=seconds)
        if ended.point is None:
            continue
        bound = None
        if ended.dual is not None and not model.cones:
            bound = model.lower_bound(ended.dual, box=box)
        proved = None if bound is None else instance.family.from_model(bound)
        who = type(engine).__name__.removesuffix("Engine").replace("Highs", "HiGHS")
        yield Found(who.replace("Scip", "SCIP"), _answer(instance, ended.point), proved)


def _entries(instance: Instance) -> int:
    problem = instance.problem
    if instance.family.name in ("least-squares", "penalised-entropy"):
        return len(problem.index) * len(problem.possible)
    if instance.family.name == "minimax":
        return 2 * len(problem.margins()) * len(problem.possible)
    return int(instance.model.matrix.nnz)


def _answer(instance: Instance, point: Any) -> Any:
    """The answer of a point, made feasible where that takes a rounding only."""
    answer = instance.family.answer(instance.problem, point)
    if instance.family.group == "reconstruction":
        clipped = np.maximum(answer, 0.0)
        return clipped * (instance.problem.total / clipped.sum())
    if instance.family.name == "nonnegativity":
        return _without_negatives(instance.problem, answer)
    return answer


def _without_negatives(problem: Any, values: list[Any]) -> list[Any]:
    """Mix in the share of the uniform table that makes consistent tables non-negative."""
    total = float(np.mean([value.sum() for value in values]))
    share = 0.0
    for value in values:
        uniform = total / value.size
        share = max(share, float(-value.min() / (uniform - value.min())))
    return [np.maximum((1 - share) * value + share * total / value.size, 0.0) for value in values]


def _response(instance: Instance, seconds: float) -> Iterator[Found]:
    problem = instance.problem
    own = ByComponents().solve(problem)
    yield Found("ByComponents", own, float(own.bound))
    if own.status is Status.OPTIMAL:
        return
    for who, found in (
        ("HiGHS", lambda: HighsEngine()(instance.model, time_limit=seconds)),
        ("CP-SAT", lambda: CpSat(time_limit=seconds).solve(problem)),
        ("SCIP", lambda: ScipEngine()(instance.model, time_limit=seconds)),
    ):
        ended = found()
        bound = ended.bound
        if who == "CP-SAT":
            yield Found(who, ended, float(bound))
        else:
            record = None
            if ended.point is not None:
                record = instance.family.answer(problem, ended.point)
            proved = None if bound is None else float(math.floor(-bound + 1e-6))
            yield Found(who, record, proved)
        if ended.status is Status.OPTIMAL:
            return


def _cover(instance: Instance, seconds: float) -> Iterator[Found]:
    words = instance.name.split("-")
    if words[1] == "design":
        v, k, t = map(int, words[2:])
        yield Found("Schonheim's bound", None, float(schonheim_bound(v, k, t)))
        design = covering_design(v, k, t)
        yield Found(
            f"a covering design of margin.designs ({design.provenance})",
            _blocks(v, k, design.blocks),
        )
        if instance.name in _SMALLER:
            yield Found(_SMALLER_BY, np.array(_SMALLER[instance.name]))
    engines = {"HiGHS": HighsEngine(), "CP-SAT": CpSatEngine(), "SCIP": ScipEngine()}
    for who, engine in engines.items():
        ended = engine(instance.model, time_limit=seconds)
        bound = None if ended.bound is None else float(math.ceil(ended.bound - 1e-6))
        answer = None
        if ended.point is not None:
            answer = instance.family.answer(instance.problem, ended.point)
        yield Found(who, answer, bound)
        if ended.status is Status.OPTIMAL:
            return
    # Proofs of others come last: they count only where nothing of ours closes the gap.
    known = best_known(*map(int, words[2:])) if words[1] == "design" else None
    if known is not None and known.optimal:
        who = f"others, who proved it best possible ({known.source})"
        yield Found(who, None, float(known.size))


def _blocks(v: int, k: int, blocks: Any) -> list[int]:
    """The numbers of blocks among all k-subsets in lexicographic order."""
    numbers = []
    for block in blocks:
        full = sorted(block)
        spare = (point for point in range(v) if point not in full)
        while len(full) < k:
            full = sorted([*full, next(spare)])
        numbers.append(_rank(v, full))
    return numbers


def _rank(v: int, block: list[int]) -> int:
    """The position of an ascending block among all subsets of its size."""
    rank = 0
    low = 0
    for place, point in enumerate(block):
        left = len(block) - place - 1
        rank += sum(math.comb(v - 1 - skipped, left) for skipped in range(low, point))
        low = point + 1
    return rank
