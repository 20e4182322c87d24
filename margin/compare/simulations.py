"""`compare`: simulates several mechanisms on a real table (not private)."""

import hashlib
import importlib.metadata
import logging
import math
import os
import platform
import time
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .._checks import check_has_run, whole_number
from .._names import explains_calls
from ..data.opening import open_source
from ..data.scratch import check_temporary
from ..data.source import Source
from ..domain.domain import Domain, GivenDomain, View, domain_of
from ..domain.marginal import Marginal
from ..domain.workload import Workload
from ..errors import DomainError, MarginError
from ..metrics import L2, AskedError, Metric
from ..metrics.named import metrics_of
from ..privacy.budget import Budget, check_budget
from ..privacy.statement import digest
from ..release import Mechanism, simulate
from ..simulation import Simulation, true_marginals
from ..synopses.synopsis import Synopsis
from .comparison import Compared, Comparison

__all__ = ["compare"]

log = logging.getLogger("margin")

_DRAW = 0
"""The seed of the drawing of views. It is one number, so that runs with other noise, and
comparisons under other budgets, measure the same views."""


@explains_calls()
def compare(
    data: object,
    *,
    domain: GivenDomain,
    budget: Budget,
    mechanisms: Mapping[str, Mechanism[Synopsis] | None],
    workload: Iterable[Iterable[str]],
    metrics: Sequence[Metric | str] = (L2(),),
    runs: int = 3,
    seed: int = 0,
    most_views: int | None = 200,
    bases: Mapping[str, object] | None = None,
    so_far: Callable[[Comparison], object] | None = None,
) -> Comparison:
    """Simulate several mechanisms on a real table, and compare their answers with the truth.

    The result is not private. If it is used to choose the mechanism for a release of the same
    table, this choice reveals something about the data that no budget pays for. Therefore compare
    on a public table that resembles the private one, or on a table of `margin.datasets`.

    Parameters
    ----------
    data, domain, budget
        The table, its declared attributes and the budget of each run; see `release`.
    mechanisms
        The mechanisms to compare, by the names under which they are shown. None is the default of
        `release`, `Adaptive()`. Those that answer queries, such as `DualQuery()`, take the
        cells of the views as their queries. One that raises an exception is listed with the reason,
        and the others go on; so is one whose results answer no marginals of the table, such as
        counts of frequent items.
    workload
        The views to ask for. Each mechanism is told all of them, as in a release. Weights are told
        to the mechanisms too; the means over the views do not use them, but see
        `Comparison.weighted_means`.
    metrics
        What to measure: names such as "l2", "js" or "useful:0.01" (as for `margin compare`), or
        metrics from `margin.metrics` or of your own. The first one orders the mechanisms.
    runs
        The number of simulations per mechanism, each with its own noise, on the same table and
        views. Standard errors are over the runs: they are those of the noise alone.
    seed
        The seed of the noise of the first run: a whole number >= 0. Each further run adds 1, for
        every mechanism. Runs with the same seed take their noise from one stream of random bytes:
        mechanisms that first measure the same have the same noise there, and correlated errors.
        So the printed table compares the best mean with the others by a paired t-test over the
        runs, which is valid with shared noise and with independent noise. If two mechanisms have
        the same mean error, it calls one clearly better in about 5 % of comparisons. That holds for
        one pair; with m pairs, test each at 5 % / m.
    most_views
        The largest number of views whose answers are measured. Of a larger workload this number is
        drawn at random, the same ones for every `seed`, `budget` and list of mechanisms. None
        measures the answers to all views.
    bases
        For some of the names of `mechanisms` the base of their releases, as `release` takes it. So
        one comparison has the same mechanism with and without a base. A mechanism that cannot use
        one is listed with this reason.
    so_far
        A function that is called with the comparison of the mechanisms that are done, after each
        one. So what it keeps outlasts an interrupt.

    Raises
    ------
    DomainError
        If `mechanisms` or `metrics` is empty or malformed, `runs` or `most_views` is not a whole
        number >= 1, `seed` is not one >= 0, a view of the workload is not one of the domain, or
        `bases` names no mechanism of `mechanisms`.
    BudgetError
        If `budget` is not a budget.
    MarginError
        If the data cannot be read, or does not fit the domain.

    Examples
    --------
    >>> from margin import PriView, PureDP
    >>> table = {"sex": [0, 1, 1, 0], "smokes": [1, 0, 0, 0]}
    >>> found = compare(
    ...     table,
    ...     domain={"sex": 2, "smokes": 2},
    ...     budget=PureDP(1),
    ...     mechanisms={"views": PriView()},
    ...     workload=[["sex"]],
    ... )
    >>> found.best
    'views'
    """
    # Every argument is checked before any work.
    check_budget(budget)
    declared = domain_of(domain)
    if not isinstance(mechanisms, Mapping) or not mechanisms:
        raise DomainError(
            "mechanisms must be a dict that names at least one mechanism, but it is "
            f"{'empty' if not mechanisms else f'of type {type(mechanisms).__name__}'}; pass one "
            "such as {'PriView': PriView()}"
        )
    for mechanism in mechanisms.values():
        if mechanism is not None:
            check_has_run(mechanism)
    given = {} if bases is None else dict(bases)
    if not given.keys() <= mechanisms.keys():
        raise DomainError(
            f"bases must name mechanisms of {sorted(mechanisms)}, but it names "
            f"{sorted(map(str, given))}; use the names under which mechanisms are passed"
        )
    measured = metrics_of(metrics)
    runs = whole_number("runs", runs)
    seed = whole_number("seed", seed, least=0)
    asked = Workload.of(declared, workload)
    measured = tuple(
        metric.of(asked) if isinstance(metric, AskedError) else metric for metric in measured
    )
    names = asked.names
    places: Sequence[int] = range(len(names))
    if most_views is not None:
        places = _some(len(names), whole_number("most_views", most_views))
    scored = [names[place] for place in places]
    weights = tuple(asked.weights[place] for place in places)
    # The truth is counted first: data that cannot be read is no failure of the mechanisms.
    check_temporary()
    source = open_source(data)
    source.check(declared)
    truths = true_marginals(source, declared, scored)
    for metric in measured:
        if isinstance(metric, AskedError):
            metric.check(truths)
    task = _Task(
        source=source,
        domain=declared,
        budget=budget,
        workload=asked,
        scored=scored,
        weights=weights if len(set(weights)) > 1 else (),
        metrics=measured,
        runs=runs,
        simulations=len(mechanisms) * runs,
        seed=seed,
    )
    rows: list[Compared] = []
    for name, mechanism in mechanisms.items():
        base = given.get(name)
        rows.append(_compared(name, mechanism, base, task, truths, len(rows) * runs))
        if so_far is not None:
            so_far(_comparison(rows, task, truths))
    return _comparison(rows, task, truths)


def _comparison(
    rows: Sequence[Compared],
    task: "_Task",
    truths: Sequence[Marginal],
) -> Comparison:
    """The comparison of some mechanisms, the best one first, and those that failed last.

    The mean of a mechanism with numbers for some views only, such as intervals for them alone,
    cannot be compared with that over all views. So it comes after these.
    """
    sign = -1 if task.metrics[0].larger_is_better else 1
    return Comparison(
        budget=task.budget,
        views=tuple(task.scored),
        rows=tuple(
            sorted(
                rows,
                key=lambda row: (
                    bool(row.problem),
                    math.isnan(row.error),
                    row.is_partial,
                    sign * row.error,
                ),
            )
        ),
        metrics=task.metrics,
        workload_size=len(task.workload),
        seed=task.seed,
        runs=task.runs,
        weights=task.weights,
        domain=digest(task.domain),
        truth=_digest(truths),
        environment=_environment(),
        asked={name: ask for name, ask in task.workload.asked.items() if ask != "cells"},
    )


def _digest(truths: Sequence[Marginal]) -> str:
    """The SHA-256 of true tables. It is not private: who guesses the tables can check the guess."""
    found = hashlib.sha256()
    for truth in truths:
        found.update(np.ascontiguousarray(truth.counts, dtype="<f8").tobytes())
    return f"sha256:{found.hexdigest()}"


def _environment() -> dict[str, str]:
    """What else the last digits depend on: versions, and the machine."""
    return {
        "python": platform.python_version(),
        **{name: importlib.metadata.version(name) for name in ("numpy", "scipy")},
        "system": platform.platform(),
        "processor": platform.machine(),
        "processors": str(os.cpu_count()),
    }


def _some(count: int, most: int) -> Sequence[int]:
    """Limit the number of views: the places of all, or of `most` drawn at random, in order."""
    if count <= most:
        return range(count)
    rng = np.random.default_rng(_DRAW)
    return sorted(rng.choice(count, most, replace=False).tolist())


class _Task(NamedTuple):
    """The arguments that the simulations of all mechanisms share.

    `workload` is what the mechanisms are told; `scored` are the views whose answers are measured,
    and `weights` are theirs, empty if they are equal.
    `simulations` is their number over all mechanisms.
    """

    source: Source
    domain: Domain
    budget: Budget
    workload: Workload
    scored: Sequence[View]
    weights: tuple[float, ...]
    metrics: tuple[Metric, ...]
    runs: int
    simulations: int
    seed: int


def _compared(
    name: str,
    mechanism: Mechanism[Synopsis] | None,
    base: object,
    task: _Task,
    truths: list[Marginal],
    before: int,
) -> Compared:
    """Simulate one mechanism and measure its errors.

    `truths` holds the true marginals of the scored views; `before` is the number of simulations of
    the mechanisms before this one.
    """
    values: list[list[float]] = [[] for _ in task.metrics]
    release_seconds = answer_seconds = 0.0
    intervals = 0
    described = stated_base = None
    for run in range(task.runs):
        log.info("simulation %d of %d", before + run + 1, task.simulations)
        started = time.process_time()
        # A mechanism is code of others: whatever it raises, the other mechanisms go on.
        try:
            simulation: Simulation[Any] = simulate(
                task.source,
                domain=task.domain,
                budget=task.budget,
                mechanism=mechanism,
                workload=task.workload,
                seed=task.seed + run,
                base=base,
            )
            released = time.process_time()
            answers = _answers(simulation, task)
            answer_seconds += time.process_time() - released
            _check_answers(answers, truths)
            intervals += sum(map(_intervals, answers))
        except Exception as error:
            return _failed(name, mechanism, error)
        made = simulation.synopsis.provenance
        if made is not None:
            described, stated_base = made.mechanism, made.base
        release_seconds += released - started
        for metric, numbers in zip(task.metrics, values, strict=True):
            numbers += metric(answers, truths)
    return Compared(
        name=name,
        values=tuple(map(tuple, values)),
        release_seconds=release_seconds / task.runs,
        answer_seconds=answer_seconds / task.runs / len(task.scored),
        runs=task.runs,
        intervals=intervals,
        counts=task.runs * sum(truth.counts.size for truth in truths),
        mechanism=described,
        base=stated_base,
    )


def _failed(
    name: str,
    mechanism: Mechanism[Synopsis] | None,
    error: Exception,
) -> Compared:
    """The row of a mechanism that raised an exception."""
    told = traceback.TracebackException.from_exception(error)
    if isinstance(error, MarginError):
        # A MarginError explains itself, unless it stands for another exception.
        whole = "".join(told.format()) if error.__cause__ else ""
        return Compared(name=name, problem=str(error), traceback=whole)
    raised = f"{type(error).__name__} in {_place(told.stack, mechanism)}"
    return Compared(
        name=name,
        problem=": ".join(filter(None, [raised, str(told)])),
        raised=raised,
        traceback="".join(told.format()),
    )


def _place(stack: traceback.StackSummary, mechanism: Mechanism[Synopsis] | None) -> str:
    """The last line of the file of `run` in a traceback; the last line of all if it has none."""
    run = getattr(mechanism, "run", None)
    file = getattr(getattr(run, "__code__", None), "co_filename", None)
    frame = ([frame for frame in stack if frame.filename == file] or stack)[-1]
    return f"{Path(frame.filename).name}, line {frame.lineno}"


def _answers(simulation: Simulation[Synopsis], task: _Task) -> list[Marginal]:
    """The answers of a simulated release to the scored views.

    Raises
    ------
    MarginError
        If the release does not answer marginals of the table.
    """
    released = simulation.synopsis
    if set(released.domain) != set(task.domain):
        reason = (
            f"but this mechanism releases counts of {', '.join(map(repr, released.domain))}, which "
            "is no attribute of the table"
        )
    else:
        try:
            return simulation.marginals(task.scored)
        except MarginError as error:
            reason = f"but this release does not answer them ({error})"
    raise MarginError(
        f"compare measures answers to the views of the workload, {reason}; leave this mechanism "
        "out, or simulate it and compare its own answers with the truth, as in "
        "docs/howto/research.md"
    )


def _intervals(answer: Marginal) -> int:
    """The number of counts that have an interval: those whose variance is known."""
    known = ~np.isnan(np.broadcast_to(answer.variance, answer.counts.shape))
    return int(known.sum())


def _check_answers(answers: Sequence[Marginal], truths: Sequence[Marginal]) -> None:
    """Raise MarginError unless there is an answer of finite counts to each view."""
    shapes = [np.shape(answer.counts) for answer in answers]
    if shapes != [truth.counts.shape for truth in truths]:
        raise MarginError(
            f"the answer to each of the {len(truths)} views must have a count for each cell of the "
            "view, but the answers of this mechanism have other shapes; correct the marginals of "
            "its synopsis"
        )
    wrong = sum(not np.isfinite(answer.counts).all() for answer in answers)
    if wrong:
        raise MarginError(
            f"the counts of an answer must be finite numbers, but this mechanism's answers to "
            f"{wrong} of {len(truths)} views are not; correct the mechanism"
        )
