"""`compare`: simulates several mechanisms on a real table and shows their errors (not private)."""

import logging
import math
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ._checks import whole_number
from .domain.domain import Domain, View
from .domain.marginal import Marginal
from .domain.workload import Workload
from .errors import DomainError, MarginError
from .privacy.budget import Budget
from .release import Mechanism, simulate
from .simulation import Simulation
from .synopses.synopsis import Synopsis

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["Compared", "Comparison", "compare"]

log = logging.getLogger("margin")

_MOST_VIEWS = 200
"""Largest number of views that are asked; of a larger workload, this many are drawn."""


@dataclass(
    frozen=True,
    kw_only=True,
)
class Compared:
    """One row of a `Comparison`: the errors and times of one mechanism.

    Attributes
    ----------
    name
        The name under which the mechanism was passed.
    errors
        The errors |answer - truth| / rows in the L2 norm, one per run and view: first all views of
        the first run, then all views of the second. Empty if the mechanism failed.
    release_seconds, answer_seconds
        The mean process time of a release (counting included), and of the answer to one view, in
        seconds. NaN if the mechanism failed.
    problem
        The error message of the mechanism. Empty if it succeeded.
    """

    name: str
    errors: tuple[float, ...] = ()
    release_seconds: float = math.nan
    answer_seconds: float = math.nan
    problem: str = ""

    @property
    def error(self) -> float:
        """The mean of the errors. NaN if the mechanism failed."""
        return float(np.mean(self.errors)) if self.errors else math.nan

    def percentile(self, share: float) -> float:
        """The quantile of the errors at this share, from 0 to 1. NaN if the mechanism failed."""
        return float(np.quantile(self.errors, share)) if self.errors else math.nan


@dataclass(
    frozen=True,
    kw_only=True,
)
class Comparison:
    """The result of `compare`: the errors of several mechanisms on one table.

    The errors are computed from the true counts, so they are *not private*.

    Attributes
    ----------
    budget
        The budget that each mechanism was given.
    views
        The views that each mechanism was asked for.
    rows
        One entry per mechanism, by increasing mean error. Mechanisms that failed come last.
    """

    budget: Budget
    views: tuple[View, ...]
    rows: tuple[Compared, ...]

    @property
    def best(self) -> str | None:
        """The name of the mechanism with the smallest mean error. None if all failed."""
        return self.rows[0].name if self.rows and self.rows[0].errors else None

    def __str__(self) -> str:
        guarantee = self.budget.describe()
        views = f"{len(self.views)} views asked"
        title = f"SIMULATION on the true table, not private; {guarantee}; {views}"
        errors = f"{'mean error':>12}{'median':>10}{'95 %':>10}"
        head = f"{'mechanism':<20}{errors}{'release s':>11}{'answer ms':>11}"
        lines = [title, head, *map(_line, self.rows)]
        if self.best:
            lines.append(f"smallest mean error: {self.best}")
        else:
            lines.append("every mechanism failed")
        return "\n".join(lines)

    def to_json(self) -> dict[str, Any]:
        """The comparison as JSON values, marked as not private."""
        return {
            "private": False,
            "budget": self.budget.to_json(),
            "views": [list(view) for view in self.views],
            "best": self.best,
            "mechanisms": [_row_to_json(row) for row in self.rows],
        }

    def plot(self, *, axes: "Axes | None" = None) -> "Figure":
        """Draw the distribution of each mechanism's errors as a box plot.

        See `margin.plots.results.plot_comparison`.
        """
        from .plots.results import plot_comparison

        return plot_comparison(self, axes=axes)


def _line(row: Compared) -> str:
    """Format one mechanism's errors as a line of the printed table."""
    if row.problem:
        return f"{row.name:<20}  {row.problem}"
    median, most = row.percentile(0.5), row.percentile(0.95)
    errors = f"{row.error:>12.5f}{median:>10.5f}{most:>10.5f}"
    seconds = f"{row.release_seconds:>11.2f}{1000 * row.answer_seconds:>11.2f}"
    return f"{row.name:<20}{errors}{seconds}"


def _row_to_json(row: Compared) -> dict[str, Any]:
    """One mechanism as JSON values. JSON has no NaN, so numbers of a failed mechanism are null."""
    failed = bool(row.problem)
    return {
        "name": row.name,
        "problem": row.problem or None,
        "mean_error": None if failed else row.error,
        "errors": list(row.errors),
        "release_seconds": None if failed else row.release_seconds,
        "answer_seconds": None if failed else row.answer_seconds,
    }


def compare(
    data: object,
    *,
    domain: Domain | Mapping[str, Any] | str,
    budget: Budget,
    mechanisms: Mapping[str, Mechanism[Synopsis]],
    workload: Iterable[Iterable[str]],
    runs: int = 3,
    seed: int = 0,
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
        The mechanisms to compare, by the names under which they are shown.
    workload
        The views to ask for. If there are more than 200, 200 of them are drawn at random.
    runs
        The number of simulations per mechanism, each with its own noise.
    seed
        The seed of the noise, and of the drawing of views.

    Raises
    ------
    DomainError
        If `mechanisms` is empty, `runs` is not a whole number >= 1, or a view of the workload is
        not one of the domain.
    MarginError
        If the data cannot be read. A mechanism that fails is listed with its error message instead.

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
    declared = domain if isinstance(domain, Domain) else Domain(domain)
    if not mechanisms:
        raise DomainError(
            "mechanisms must hold at least one mechanism, but it is empty; pass a dict such as "
            "{'PriView': PriView()}"
        )
    task = _Task(
        data=data,
        domain=declared,
        budget=budget,
        views=_some(Workload.of(declared, workload).views, seed),
        runs=whole_number("runs", runs),
        seed=seed,
    )
    truths: list[Marginal] = []
    rows = []
    for place, (name, mechanism) in enumerate(mechanisms.items()):
        log.info("mechanism %d of %d", place + 1, len(mechanisms))
        try:
            rows.append(_compared(name, mechanism, task, truths))
        except MarginError as error:
            rows.append(
                Compared(
                    name=name,
                    problem=str(error),
                )
            )
    rows.sort(key=lambda row: (bool(row.problem), row.error))
    return Comparison(
        budget=budget,
        views=task.views,
        rows=tuple(rows),
    )


def _some(views: tuple[View, ...], seed: int) -> tuple[View, ...]:
    """Limit views to 200: all of them, or 200 drawn at random, in their order."""
    if len(views) <= _MOST_VIEWS:
        return views
    rng = np.random.default_rng(seed)
    places = rng.choice(len(views), _MOST_VIEWS, replace=False)
    return tuple(views[place] for place in sorted(places.tolist()))


class _Task(NamedTuple):
    """The arguments that the simulations of all mechanisms share."""

    data: object
    domain: Domain
    budget: Budget
    views: tuple[View, ...]
    runs: int
    seed: int


def _compared(
    name: str,
    mechanism: Mechanism[Synopsis],
    task: _Task,
    truths: list[Marginal],
) -> Compared:
    """Simulate one mechanism and measure its errors.

    `truths` holds the true marginals; the first mechanism that succeeds fills it.
    """
    errors: list[float] = []
    release_seconds = answer_seconds = 0.0
    for run in range(task.runs):
        started = time.process_time()
        simulation: Simulation[Synopsis] = simulate(
            task.data,
            domain=task.domain,
            budget=task.budget,
            mechanism=mechanism,
            workload=task.views,
            seed=task.seed + run,
        )
        released = time.process_time()
        answers = simulation.marginals(task.views)
        answer_seconds += time.process_time() - released
        release_seconds += released - started
        if not truths:
            truths += simulation.truths(task.views)
        for answer, truth in zip(answers, truths, strict=True):
            errors.append(_error(answer, truth))
    return Compared(
        name=name,
        errors=tuple(errors),
        release_seconds=release_seconds / task.runs,
        answer_seconds=answer_seconds / task.runs / len(task.views),
    )


def _error(answer: Marginal, truth: Marginal) -> float:
    """The error of one answer: the L2 norm of its difference from the truth, as a share of the
    rows."""
    distance = np.linalg.norm(answer.counts - truth.counts)
    return float(distance) / max(truth.total, 1.0)
