"""`compare`: simulates several mechanisms on a real table and shows their errors (not private)."""

import logging
import math
import time
import traceback
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ._checks import check_has_run, whole_number
from ._names import explains_calls
from .data.opening import open_source
from .data.scratch import check_temporary
from .data.source import Source
from .domain.domain import Domain, View
from .domain.marginal import Marginal
from .domain.workload import Workload
from .errors import DomainError, MarginError
from .metrics import L2, Metric
from .metrics.named import metrics_of
from .notebook import html_table, latex_table
from .privacy.budget import Budget, check_budget
from .release import Mechanism, simulate
from .simulation import Simulation, true_marginals
from .synopses.synopsis import Synopsis

if TYPE_CHECKING:
    import pandas
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["Compared", "Comparison", "compare"]

log = logging.getLogger("margin")

_MOST_VIEWS = 200
"""Largest number of views whose answers are measured; of a larger workload, this many are drawn."""

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
        Why the mechanism failed. Empty if it succeeded. It is the message of a `MarginError`; for
        any other exception it is `raised`, and the text of the exception, which may quote the data.
    raised
        The type of an exception that is no `MarginError`, and the line of the mechanism's file that
        raised it, such as "KeyError in mine.py, line 12". Otherwise empty.
    traceback
        The traceback of this exception, as Python prints it. Otherwise empty.
    runs
        The number of simulated releases.
    """

    name: str
    values: tuple[tuple[float, ...], ...] = ()
    release_seconds: float = math.nan
    answer_seconds: float = math.nan
    problem: str = ""
    raised: str = ""
    traceback: str = ""
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
        by the root of their number. NaN for a single run. Empty if the mechanism failed.

        All runs are on one table and ask for the same views. So the standard error is that of the
        noise alone: it says nothing about other tables or other views. It has ``runs - 1`` degrees
        of freedom.
        """
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
        The views whose answers were measured. Each mechanism was told the whole workload.
    rows
        One entry per mechanism, the best mean of the first metric first. Mechanisms that failed
        come last.
    metrics
        What was measured.
    workload_size
        The number of views of the workload, which each mechanism was told. If it is larger than
        that of `views`, these were drawn from it at random.
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
        longest = max([18, *(len(row.name) for row in self.rows)])
        spread = f"{'median':>10}{'95 %':>10}"
        means = [
            f"{_heading(metric):>{_width(metric)}}{'std. error':>12}" for metric in self.metrics
        ]
        numbers = "".join([means[0], spread, *means[1:]])
        head = f"{'mechanism':<{longest}}  {numbers}{'release CPU s':>15}{'answer CPU ms':>15}"
        lines = [self._title(), head]
        lines += [_line(row, self.metrics, longest) for row in self.rows]
        if self.best:
            lines += [self._note()] if self.runs > 1 else []
            extreme = "largest" if self.metrics[0].larger_is_better else "smallest"
            lines.append(f"{extreme} {_heading(self.metrics[0])}: {self.best}{self._doubt()}")
        else:
            lines.append("every mechanism failed")
        lines += [f"{row.name} failed: {row.problem}" for row in self.rows if row.problem]
        return "\n".join(lines)

    def _note(self) -> str:
        """What the standard errors are over, as a line; empty for a single run."""
        if self.runs < 2:
            return ""
        freedom = f"{self.runs - 1} degree{'' if self.runs == 2 else 's'} of freedom"
        return (
            f"std. error: of the mean over {self.runs} runs on this table ({freedom}); it covers "
            "the noise alone, not other tables or views"
        )

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
            views = (
                f"{self.workload_size:,} views asked, of which {len(self.views)}, drawn at random "
                f"(seed {self.seed}), are measured"
            )
        runs = f"{self.runs} run{'' if self.runs == 1 else 's'}"
        return f"SIMULATION on the true table, not private; {guarantee}; {views}; {runs}"

    def to_pandas(self) -> "pandas.DataFrame":
        """A `pandas.DataFrame` with one row per mechanism, in the order of `rows`.

        Its columns are "mechanism"; for each metric its mean under the metric's name, such as
        "L2/N", and the standard error of this mean, such as "L2/N std. error"; "median" and "95th
        percentile" of the first metric; "release_seconds" and "answer_seconds" (processor time, in
        seconds); and "problem". Numbers are NaN if the mechanism failed. They are *not private*.
        """
        import pandas

        rows = [
            {
                "mechanism": row.name,
                **self._means_of(row),
                "median": row.percentile(0.5),
                "95th percentile": row.percentile(0.95),
                "release_seconds": row.release_seconds,
                "answer_seconds": row.answer_seconds,
                "problem": row.problem,
            }
            for row in self.rows
        ]
        return pandas.DataFrame(rows)

    def to_latex(self) -> str:
        """The means and standard errors of all metrics as a table for LaTeX.

        It has one row per mechanism, in the order of `rows`, and needs the package booktabs. Names
        are escaped. A mechanism that failed has dashes. A comment above the table says what was
        compared, and that it is *not private*.
        """
        import pandas

        rows = [{"mechanism": row.name, **self._means_of(row)} for row in self.rows]
        return latex_table(self._title(), pandas.DataFrame(rows))

    def _means_of(self, row: Compared) -> dict[str, float]:
        """The mean of each metric and its standard error, by their columns."""
        unknown = (math.nan,) * len(self.metrics)
        means, errors = row.means or unknown, row.standard_errors or unknown
        found = {}
        for metric, mean, error in zip(self.metrics, means, errors, strict=True):
            found[metric.name] = mean
            found[f"{metric.name} std. error"] = error
        return found

    def _repr_html_(self) -> str:
        table = self.to_pandas()
        table["answer_seconds"] *= 1000
        names = {metric.name: f"mean {metric.name}" for metric in self.metrics}
        names |= {"release_seconds": "release CPU s", "answer_seconds": "answer CPU ms"}
        if not any(row.problem for row in self.rows):
            table = table.drop(columns="problem")
        heading = "; ".join(filter(None, [self._title(), self._note()]))
        return html_table(heading, table.rename(columns=names), index=False)

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


def _heading(metric: Metric) -> str:
    """The heading of the column of a metric."""
    return f"mean {metric.name}"


def _width(metric: Metric) -> int:
    """The width of the column of a metric."""
    return max(12, len(_heading(metric)) + 2)


def _line(row: Compared, metrics: Sequence[Metric], longest: int) -> str:
    """Format the numbers of one mechanism as a line of the printed table."""
    if row.problem:
        return f"{row.name:<{longest}}  failed; the reason is below the table"
    means = []
    for metric, mean, error in zip(metrics, row.means, row.standard_errors, strict=True):
        shown = "-" if math.isnan(error) else f"{error:.2g}"
        means.append(f"{mean:>{_width(metric)}.4g}{shown:>12}")
    spread = f"{row.percentile(0.5):>10.4g}{row.percentile(0.95):>10.4g}"
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
        `release`, `Adaptive(rounds=0)`. Those that answer queries, such as `DualQuery()`, take the
        cells of the views as their queries. One that raises an exception is listed with the reason,
        and the others go on; so is one whose results answer no marginals of the table, such as
        counts of frequent items.
    workload
        The views to ask for. Each mechanism is told all of them, as in a release. If there are more
        than 200, the answers to 200 of them, drawn at random, are measured. Weights are told to the
        mechanisms too; the means over the views do not use them.
    metrics
        What to measure: names such as "l2", "js" or "useful:0.01" (as for `margin compare`), or
        metrics from `margin.metrics` or of your own. The first one orders the mechanisms.
    runs
        The number of simulations per mechanism, each with its own noise, on the same table and
        views. Standard errors are over the runs: they are those of the noise alone.
    seed
        The seed of the noise, and of the drawing of views: a whole number >= 0.

    Raises
    ------
    DomainError
        If `mechanisms` or `metrics` is empty or malformed, `runs` is not a whole number >= 1,
        `seed` is not one >= 0, or a view of the workload is not one of the domain.
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
    runs = whole_number("runs", runs)
    seed = whole_number("seed", seed, least=0)
    asked = Workload.of(declared, workload)
    scored = _some(asked.names, seed)
    # The truth is counted first: data that cannot be read is no failure of the mechanisms.
    check_temporary()
    source = open_source(data)
    source.check(declared)
    truths = true_marginals(source, declared, scored)
    task = _Task(
        source=source,
        domain=declared,
        budget=budget,
        workload=asked,
        scored=scored,
        metrics=measured,
        runs=runs,
        simulations=len(mechanisms) * runs,
        seed=seed,
    )
    rows = [
        _compared(name, mechanism, task, truths, place * runs)
        for place, (name, mechanism) in enumerate(mechanisms.items())
    ]
    sign = -1 if task.metrics[0].larger_is_better else 1
    rows.sort(key=lambda row: (bool(row.problem), math.isnan(row.error), sign * row.error))
    return Comparison(
        budget=budget,
        views=tuple(task.scored),
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
    """The arguments that the simulations of all mechanisms share.

    `workload` is what the mechanisms are told; `scored` are the views whose answers are measured.
    `simulations` is their number over all mechanisms.
    """

    source: Source
    domain: Domain
    budget: Budget
    workload: Workload
    scored: Sequence[View]
    metrics: tuple[Metric, ...]
    runs: int
    simulations: int
    seed: int


def _compared(
    name: str,
    mechanism: Mechanism[Synopsis] | None,
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
            )
            released = time.process_time()
            answers = _answers(simulation, task)
            answer_seconds += time.process_time() - released
            _check_answers(answers, truths)
        except Exception as error:
            return _failed(name, mechanism, error)
        release_seconds += released - started
        for metric, numbers in zip(task.metrics, values, strict=True):
            numbers += metric(answers, truths)
    return Compared(
        name=name,
        values=tuple(map(tuple, values)),
        release_seconds=release_seconds / task.runs,
        answer_seconds=answer_seconds / task.runs / len(task.scored),
        runs=task.runs,
    )


def _failed(
    name: str,
    mechanism: Mechanism[Synopsis] | None,
    error: Exception,
) -> Compared:
    """The row of a mechanism that raised an exception."""
    if isinstance(error, MarginError):
        return Compared(name=name, problem=str(error))
    told = traceback.TracebackException.from_exception(error)
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
