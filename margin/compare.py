"""`compare`: simulates several mechanisms on a real table and shows their errors (not private)."""

import logging
import math
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ._checks import check_has_run, whole_number
from ._names import explains_calls
from .domain.domain import Domain, View
from .domain.marginal import Marginal
from .domain.workload import Workload
from .errors import DomainError, MarginError
from .metrics import L2, Metric
from .metrics.named import metrics_of
from .notebook import html_table
from .privacy.budget import Budget, check_budget
from .release import Mechanism, simulate
from .simulation import Simulation
from .synopses.synopsis import Synopsis

if TYPE_CHECKING:
    import pandas
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["Compared", "Comparison", "compare"]

log = logging.getLogger("margin")

_MOST_VIEWS = 200
"""Largest number of views that are asked; of a larger workload, this many are drawn."""

_LEVEL = 0.95
"""Two means are clearly different if a t-test at this level says so."""


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
    values
        The numbers of each metric, in the order of `Comparison.metrics`, each as a flat tuple. A
        metric of whole runs gives one number per run. Other metrics give one per run and view: all
        views of the first run in the order of `Comparison.views`, then those of the second, so that
        ``numpy.reshape(values[0], (runs, -1))`` has a row for each run. Empty if the mechanism
        failed.
    release_seconds, answer_seconds
        The mean process time of a release (counting included), and of the answer to one view, in
        seconds. NaN if the mechanism failed.
    problem
        The error message of the mechanism. Empty if it succeeded.
    runs
        The number of simulated releases.
    """

    name: str
    values: tuple[tuple[float, ...], ...] = ()
    release_seconds: float = math.nan
    answer_seconds: float = math.nan
    problem: str = ""
    runs: int = 1

    @property
    def errors(self) -> tuple[float, ...]:
        """The numbers of the first metric. Empty if the mechanism failed."""
        return self.values[0] if self.values else ()

    @property
    def means(self) -> tuple[float, ...]:
        """The mean of each metric. Empty if the mechanism failed."""
        return tuple(float(np.mean(numbers)) for numbers in self.values)

    @property
    def standard_errors(self) -> tuple[float, ...]:
        """The standard error of each mean: the standard deviation of the means of the runs, divided
        by the root of their number. NaN for a single run. Empty if the mechanism failed."""
        if self.runs < 2:
            return (math.nan,) * len(self.values)
        of_runs = [np.reshape(numbers, (self.runs, -1)).mean(axis=1) for numbers in self.values]
        root = math.sqrt(self.runs)
        return tuple(float(np.std(means, ddof=1)) / root for means in of_runs)

    @property
    def standard_error(self) -> float:
        """The standard error of the mean of the first metric. NaN for a single run, and if the
        mechanism failed."""
        return self.standard_errors[0] if self.values else math.nan

    @property
    def error(self) -> float:
        """The mean of the first metric. NaN if the mechanism failed."""
        return self.means[0] if self.values else math.nan

    def percentile(self, share: float) -> float:
        """The quantile of the first metric at this share, from 0 to 1. NaN if the mechanism
        failed."""
        return float(np.quantile(self.errors, share)) if self.values else math.nan


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
        One entry per mechanism, the best mean of the first metric first. Mechanisms that failed
        come last.
    metrics
        What was measured.
    workload_size
        The number of views of the workload. If it is larger than that of `views`, these were drawn
        at random.
    seed
        The seed of this draw, and of the noise of the first run. Each further run adds 1.
    runs
        The number of simulated releases of each mechanism.

    Examples
    --------
    >>> import margin
    >>> found = margin.compare(
    ...     {"a": [0, 1] * 50},
    ...     domain=margin.Domain({"a": 2}),
    ...     budget=margin.PureDP(1),
    ...     mechanisms={"ours": margin.Auto()},
    ...     workload=[["a"]],
    ...     runs=1,
    ... )
    >>> found.best, list(found.to_pandas()["mechanism"])
    ('ours', ['ours'])
    """

    budget: Budget
    views: tuple[View, ...]
    rows: tuple[Compared, ...]
    metrics: tuple[Metric, ...] = (L2(),)
    workload_size: int = 0
    seed: int = 0
    runs: int = 1

    @property
    def best(self) -> str | None:
        """The name of the mechanism with the best mean of the first metric. None if all failed."""
        return self.rows[0].name if self.rows and not self.rows[0].problem else None

    def __str__(self) -> str:
        first, *others = [f"mean {metric.name}" for metric in self.metrics]
        errors = f"{first:>{_width(first)}}{'std. error':>12}{'median':>10}{'95 %':>10}"
        further = "".join(f"{name:>{_width(name)}}" for name in others)
        longest = max([18, *(len(row.name) for row in self.rows)])
        head = (
            f"{'mechanism':<{longest}}  {errors}{further}{'release CPU s':>15}{'answer CPU ms':>15}"
        )
        lines = [self._title(), head]
        lines += [_line(row, [first, *others], longest) for row in self.rows]
        if self.best:
            extreme = "largest" if self.metrics[0].larger_is_better else "smallest"
            lines.append(f"{extreme} {first}: {self.best}{self._doubt()}")
        else:
            lines.append("every mechanism failed")
        lines += [f"{row.name} failed: {row.problem}" for row in self.rows if row.problem]
        return "\n".join(lines)

    def _doubt(self) -> str:
        """The mechanisms that may be better than the best one, in words; empty if none is."""
        if self.runs < 2:
            return " (a single run has no standard error; pass more runs)"
        best, *others = self.rows
        close = [row.name for row in others if not row.problem and not _differ(row, best)]
        if not close:
            return ""
        percent = f"{100 * _LEVEL:.0f} %"
        return f" (not clearly better at {percent}, by Welch's t-test, than: {', '.join(close)})"

    def _title(self) -> str:
        """What was compared, and that it is not private, as a line."""
        guarantee = self.budget.describe()
        views = f"{len(self.views)} view{'' if len(self.views) == 1 else 's'} asked"
        if self.workload_size > len(self.views):
            drawn = f"{len(self.views)} of {self.workload_size:,} views"
            views = f"{drawn}, drawn at random (seed {self.seed})"
        runs = f"{self.runs} run{'' if self.runs == 1 else 's'}"
        return f"SIMULATION on the true table, not private; {guarantee}; {views}; {runs}"

    def to_pandas(self) -> "pandas.DataFrame":
        """A `pandas.DataFrame` with one row per mechanism, in the order of `rows`.

        Its columns are "mechanism", the mean of each metric under the metric's name, "std. error"
        (of the mean of the first metric), "median" and "95 %" (quantiles of the first metric),
        "release_seconds" and "answer_seconds" (processor time, in seconds), and "problem". Numbers
        are NaN if the mechanism failed. They are *not private*.
        """
        import pandas

        names = [metric.name for metric in self.metrics]
        rows = []
        for row in self.rows:
            means = row.means or (math.nan,) * len(names)
            rows.append(
                {
                    "mechanism": row.name,
                    **dict(zip(names, means, strict=True)),
                    "std. error": row.standard_error,
                    "median": row.percentile(0.5),
                    "95 %": row.percentile(0.95),
                    "release_seconds": row.release_seconds,
                    "answer_seconds": row.answer_seconds,
                    "problem": row.problem,
                }
            )
        return pandas.DataFrame(rows)

    def _repr_html_(self) -> str:
        table = self.to_pandas()
        table["answer_seconds"] *= 1000
        names = {metric.name: f"mean {metric.name}" for metric in self.metrics}
        names |= {"release_seconds": "release CPU s", "answer_seconds": "answer CPU ms"}
        if not any(row.problem for row in self.rows):
            table = table.drop(columns="problem")
        return html_table(self._title(), table.rename(columns=names), index=False)

    def to_json(self) -> dict[str, Any]:
        """The comparison as JSON values, marked as not private."""
        return {
            "private": False,
            "budget": self.budget.to_json(),
            "views": [list(view) for view in self.views],
            "workload_size": self.workload_size,
            "seed": self.seed,
            "runs": self.runs,
            "metrics": [metric.name for metric in self.metrics],
            "best": self.best,
            "mechanisms": [_row_to_json(row) for row in self.rows],
        }

    def plot(self, *, axes: "Axes | None" = None) -> "Figure":
        """Draw the distribution of the first metric, for each mechanism, as a box plot.

        See `margin.plots.results.plot_comparison`.
        """
        from .plots.results import plot_comparison

        return plot_comparison(self, axes=axes)


def _differ(first: Compared, second: Compared) -> bool:
    """True if the means of the first metric differ clearly, by the t-test of Welch (1947).

    The degrees of freedom are at most 2 (runs - 1), so with few runs a difference must be many of
    its standard errors.
    """
    # Imported here, because it takes a while.
    from scipy.special import stdtrit

    variances = np.square([first.standard_error, second.standard_error])
    if not variances.any():
        return first.error != second.error
    freedom = (first.runs - 1) * variances.sum() ** 2 / np.square(variances).sum()
    quantile = stdtrit(freedom, (1 + _LEVEL) / 2)
    return bool(abs(first.error - second.error) > quantile * math.sqrt(variances.sum()))


def _width(name: str) -> int:
    """The width of the column of a metric."""
    return max(12, len(name) + 2)


def _line(row: Compared, names: Sequence[str], longest: int) -> str:
    """Format the numbers of one mechanism as a line of the printed table."""
    if row.problem:
        return f"{row.name:<{longest}}  failed; the reason is below the table"
    means = [f"{mean:>{_width(name)}.4g}" for name, mean in zip(names, row.means, strict=True)]
    error = "-" if math.isnan(row.standard_error) else f"{row.standard_error:.2g}"
    spread = f"{error:>12}{row.percentile(0.5):>10.4g}{row.percentile(0.95):>10.4g}"
    numbers = "".join([means[0], spread, *means[1:]])
    seconds = f"{row.release_seconds:>15.2f}{1000 * row.answer_seconds:>15.2f}"
    return f"{row.name:<{longest}}  {numbers}{seconds}"


def _row_to_json(row: Compared) -> dict[str, Any]:
    """One mechanism as JSON values. JSON has no NaN, so numbers of a failed mechanism are null."""
    failed = bool(row.problem)
    return {
        "name": row.name,
        "problem": row.problem or None,
        "means": list(row.means),
        "standard_errors": None if row.runs < 2 else list(row.standard_errors),
        "values": [list(numbers) for numbers in row.values],
        "release_seconds": None if failed else row.release_seconds,
        "answer_seconds": None if failed else row.answer_seconds,
    }


@explains_calls()
def compare(
    data: object,
    *,
    domain: Domain | Mapping[str, Any] | str,
    budget: Budget,
    mechanisms: Mapping[str, Mechanism[Synopsis] | None],
    workload: Iterable[Iterable[str]],
    metrics: Sequence[Metric | str] = (L2(),),
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
        The mechanisms to compare, by the names under which they are shown. None is the default of
        `release`, `Adaptive(rounds=0)`. Those that answer
        queries, such as `DualQuery()`, take the cells of the views as their queries. One whose
        results answer no marginals of the table, such as counts of frequent items, is listed with
        the reason.
    workload
        The views to ask for. If there are more than 200, 200 of them are drawn at random.
    metrics
        What to measure: names such as "l2", "js" or "useful:0.01" (as for `margin compare`), or
        metrics from `margin.metrics` or of your own. The first one orders the mechanisms.
    runs
        The number of simulations per mechanism, each with its own noise.
    seed
        The seed of the noise, and of the drawing of views.

    Raises
    ------
    DomainError
        If `mechanisms` or `metrics` is empty or malformed, `runs` is not a whole number >= 1, or a
        view of the workload is not one of the domain.
    BudgetError
        If `budget` is not a budget.
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
    # Every argument is checked before any work.
    check_budget(budget)
    declared = domain if isinstance(domain, Domain) else Domain(domain)
    if not isinstance(mechanisms, Mapping) or not mechanisms:
        raise DomainError(
            "mechanisms must be a dict that names at least one mechanism, but it is "
            f"{'empty' if not mechanisms else f'of type {type(mechanisms).__name__}'}; pass one "
            "such as {'PriView': PriView()}"
        )
    for mechanism in mechanisms.values():
        if mechanism is not None:
            check_has_run(mechanism)
    measured = metrics_of(metrics)
    asked = Workload.of(declared, workload)
    task = _Task(
        data=data,
        domain=declared,
        budget=budget,
        views=Workload.of(declared, _some(asked.names, seed), asked=asked.asked),
        metrics=measured,
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
    sign = -1 if task.metrics[0].larger_is_better else 1
    rows.sort(key=lambda row: (bool(row.problem), sign * row.error))
    return Comparison(
        budget=budget,
        views=tuple(task.views.names),
        rows=tuple(rows),
        metrics=task.metrics,
        workload_size=len(asked),
        seed=seed,
        runs=task.runs,
    )


def _some(views: Sequence[View], seed: int) -> Sequence[View]:
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
    views: Workload
    metrics: tuple[Metric, ...]
    runs: int
    seed: int


def _compared(
    name: str,
    mechanism: Mechanism[Synopsis] | None,
    task: _Task,
    truths: list[Marginal],
) -> Compared:
    """Simulate one mechanism and measure its errors.

    `truths` holds the true marginals; the first mechanism that succeeds fills it.
    """
    values: list[list[float]] = [[] for _ in task.metrics]
    release_seconds = answer_seconds = 0.0
    for run in range(task.runs):
        started = time.process_time()
        simulation: Simulation[Any] = simulate(
            task.data,
            domain=task.domain,
            budget=task.budget,
            mechanism=mechanism,
            workload=task.views,
            seed=task.seed + run,
        )
        released = time.process_time()
        answers = _answers(simulation, task)
        answer_seconds += time.process_time() - released
        release_seconds += released - started
        if not truths:
            truths += simulation.truths(task.views)
        for metric, numbers in zip(task.metrics, values, strict=True):
            numbers += metric(answers, truths)
    return Compared(
        name=name,
        values=tuple(map(tuple, values)),
        release_seconds=release_seconds / task.runs,
        answer_seconds=answer_seconds / task.runs / len(task.views),
        runs=task.runs,
    )


def _answers(simulation: Simulation[Synopsis], task: _Task) -> list[Marginal]:
    """The answers of a simulated release to the views.

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
            return simulation.marginals(task.views)
        except MarginError as error:
            reason = f"but this release does not answer them ({error})"
    raise MarginError(
        f"compare measures answers to the views of the workload, {reason}; leave this mechanism "
        "out, or simulate it and compare its own answers with the truth, as in "
        "docs/howto/research.md"
    )
