"""`Comparison`: the errors of several mechanisms on one table, and how they are shown."""

import itertools
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from .._version import __version__
from ..domain.domain import View
from ..metrics import L2, AskedError, Inside, IntervalScore, Metric
from ..notebook import html_table, latex_table
from ..privacy.budget import Budget
from .runs import (
    LEVEL,
    are_equal,
    differ,
    known_mean,
    known_numbers,
    standard_error,
    weighted_mean,
)

if TYPE_CHECKING:
    import pandas
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["Compared", "Comparison"]

_MEAN_DIGITS = 5
"""Largest number of significant digits of a mean beside its standard error."""


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
        The traceback of this exception, or of a `MarginError` that another exception caused, as
        Python prints it. Otherwise empty.
    runs
        The number of simulated releases.
    intervals, counts
        How many counts of the answers have an interval, and how many there are, over all runs and
        views. Metrics of intervals measure these counts alone. Both are 0 if the mechanism failed.
    mechanism
        The name of the class of the mechanism and its parameters, as JSON values. None if it
        failed.
    base
        The base of the releases as JSON values, as in `Provenance.base`. None without a base, and
        if the mechanism failed.
    """

    name: str
    values: tuple[tuple[float, ...], ...] = ()
    release_seconds: float = math.nan
    answer_seconds: float = math.nan
    problem: str = ""
    raised: str = ""
    traceback: str = ""
    runs: int = 1
    intervals: int = 0
    counts: int = 0
    mechanism: Any = None
    base: dict[str, Any] | None = field(default=None, hash=False)

    @property
    def errors(self) -> tuple[float, ...]:
        """The numbers of the first metric. Empty if the mechanism failed."""
        return self.values[0] if self.values else ()

    @property
    def run_means(self) -> tuple[tuple[float, ...], ...]:
        """For each metric the mean of each run. Empty if the mechanism failed.

        Views without a number (NaN), such as those without intervals, are left out.
        """
        by_run = [np.reshape(numbers, (self.runs, -1)) for numbers in self.values]
        return tuple(tuple(map(known_mean, numbers)) for numbers in by_run)

    @property
    def means(self) -> tuple[float, ...]:
        """The mean of each metric over the runs. Empty if the mechanism failed."""
        return tuple(map(known_mean, self.run_means))

    @property
    def standard_errors(self) -> tuple[float, ...]:
        """The standard error of each mean: the standard deviation of the means of the runs, divided
        by the root of their number. NaN for a single run. Empty if the mechanism failed.

        All runs are on one table and ask for the same views. So the standard error is that of the
        noise alone: it says nothing about other tables or other views. It has ``runs - 1`` degrees
        of freedom, and fewer if some runs have no number.
        """
        return tuple(map(standard_error, self.run_means))

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
        """The quantile of the first metric at this share, from 0 to 1, without the views that have
        no number. NaN if none has one, and if the mechanism failed."""
        known = known_numbers(self.errors)
        return float(np.quantile(known, share)) if len(known) else math.nan

    @property
    def is_partial(self) -> bool:
        """Whether the first metric has no number (NaN) for some views."""
        return bool(np.isnan(self.errors).any())


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
        One entry per mechanism, the best mean of the first metric first. Mechanisms for which it
        lacks numbers of some views come after those, and mechanisms that failed come last.
    metrics
        What was measured.
    workload_size
        The number of views of the workload, which each mechanism was told. If it is larger than
        that of `views`, these were drawn from it at random, the same ones for every seed.
    seed
        The seed of the noise of the first run. Each further run adds 1.
    runs
        The number of simulated releases of each mechanism.
    weights
        The weights of `views` in the workload. Empty if all are equal. `Compared.means` do not use
        them.
    domain
        The SHA-256 of the declared domain, as in the statement of a release.
    truth
        The SHA-256 of the true tables of `views`: two comparisons with the same one measured the
        same table, as far as these views tell. It is *not private*: who guesses the tables can
        check the guess. No release has it.
    version
        The version of this library.
    environment
        The versions of Python, numpy and scipy, the system and the kind and number of processors.
    asked
        What the workload asks of an attribute, if it is not its cells: "prefixes", "ranges" or
        "levels".

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
    weights: tuple[float, ...] = ()
    domain: str = ""
    truth: str = ""
    version: str = __version__
    environment: Mapping[str, str] = field(default_factory=dict, hash=False, compare=False)
    asked: Mapping[str, str] = field(default_factory=dict, hash=False)

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
            lines += filter(None, self._notes())
            extreme = "largest" if self.metrics[0].larger_is_better else "smallest"
            lines.append(f"{extreme} {_heading(self.metrics[0])}: {self.best}{self._doubt()}")
        else:
            lines.append("every mechanism failed")
        lines += [f"{row.name} failed: {row.problem}" for row in self.rows if row.problem]
        return "\n".join(lines)

    def _notes(self) -> list[str]:
        """What a reader should know about the numbers, as lines; some are empty."""
        return [
            self._note(),
            self._note_on_test(),
            self._note_on_weights(),
            self._note_on_intervals(),
            self._note_on_unknown(),
            self._note_on_asked(),
        ]

    def _note(self) -> str:
        """What the standard errors are over, as a line; empty for a single run."""
        if self.runs < 2:
            return ""
        freedom = f"{self.runs - 1} degree{'' if self.runs == 2 else 's'} of freedom"
        return (
            f"std. error: of the mean over {self.runs} runs on this table ({freedom}); it covers "
            "the noise alone, not other tables or views"
        )

    def _note_on_test(self) -> str:
        """What the test of two means assumes and says, as a line; empty if none is made."""
        if self.runs < 2 or sum(not row.problem for row in self.rows) < 2:
            return ""
        false_alarms = f"{100 * (1 - LEVEL):.0f} %"
        return (
            "clearly better: by a paired t-test over the runs, because runs with the same seed may "
            f"share noise; it calls one of two equally good mechanisms better in {false_alarms} of "
            f"cases, so of m pairs test each at {false_alarms} / m"
        )

    def _note_on_weights(self) -> str:
        """That the means do not use weights, as a line; empty if the workload has none."""
        if not self.weights:
            return ""
        return (
            "means: all views count equally, although the workload has weights; to_pandas() and "
            "to_json() have the weighted means, too"
        )

    def _note_on_intervals(self) -> str:
        """How many counts of which mechanisms the columns that measure intervals are about, as a
        line; empty if they are about all counts."""
        columns = [
            _heading(metric)
            for metric in self.metrics
            if isinstance(metric, Inside | IntervalScore)
        ]
        some = [row for row in self.rows if row.intervals < row.counts]
        if not columns or not some:
            return ""
        parts = [f"{row.name}: {row.intervals:,} of {row.counts:,}" for row in some]
        return (
            f"{', '.join(columns)}: over the counts that have an interval, in all runs together "
            f"({', '.join(parts)}); see docs/howto/error_bars.md"
        )

    def _note_on_unknown(self) -> str:
        """How many numbers of a metric that measures no intervals are NaN, as a line; empty if
        none."""
        parts = []
        for place, metric in enumerate(self.metrics):
            if isinstance(metric, Inside | IntervalScore):
                continue
            for row in self.rows:
                numbers = row.values[place] if row.values else ()
                known = len(known_numbers(numbers))
                if known < len(numbers):
                    parts.append(
                        f"{_heading(metric)} of {row.name}: over {known:,} of {len(numbers):,}"
                    )
        return f"{'; '.join(parts)} numbers, because the others are nan" if parts else ""

    def _note_on_asked(self) -> str:
        """Which metrics measure the cells although the workload asks more, as a line; empty if
        none."""
        others = [metric for metric in self.metrics if not isinstance(metric, AskedError)]
        if not self.asked or not others:
            return ""
        asked = ", ".join(f"{ask} of {name}" for name, ask in self.asked.items())
        headings = ", ".join(_heading(metric) for metric in others)
        return (
            f"{headings}: of the cells of each view, although the workload asks {asked}; the "
            "metric asked measures what is asked"
        )

    def _doubt(self) -> str:
        """The mechanisms with the same answers as the best one, and those that may be better, in
        words; empty if there are none."""
        best, *others = [row for row in self.rows if not row.problem]
        same = [row for row in others if _are_same(row, best)]
        parts = []
        if same:
            parts.append(f"the same errors in every run: {_names(same)}")
        if self.runs < 2:
            parts.append("a single run has no standard error; pass more runs")
            return f" ({'; '.join(parts)})"
        partial = [row for row in others if row.is_partial or best.is_partial]
        tested = [row for row in others if row not in same and row not in partial]
        close = [row for row in tested if not differ(row.run_means[0], best.run_means[0])]
        clear = [row for row in tested if row not in close]
        by = f"at {100 * LEVEL:.0f} %, by a paired t-test, than:"
        if clear:
            parts.append(f"clearly better {by} {_names(clear)}")
        if close:
            parts.append(f"not clearly better {by} {_names(close)}")
        if partial:
            parts.append(f"not tested, because some views have no number: {_names(partial)}")
        return f" ({'; '.join(parts)})" if parts else ""

    def _title(self) -> str:
        """What was compared, and that it is not private, as a line."""
        guarantee = self.budget.describe()
        views = f"{len(self.views)} view{'' if len(self.views) == 1 else 's'} asked"
        if self.workload_size > len(self.views):
            views = (
                f"{self.workload_size:,} views asked, of which {len(self.views):,}, drawn at "
                "random but the same for every seed, are measured"
            )
        runs = f"{self.runs} run{'' if self.runs == 1 else 's'}"
        return f"SIMULATION on the true table, not private; {guarantee}; {views}; {runs}"

    def weighted_means(self, row: Compared) -> tuple[tuple[float, float], ...]:
        """For each metric the weighted mean over the views, and its standard error over the runs.

        The weights are those of the workload. Views without a number are left out. Both numbers are
        NaN if the mechanism failed or the metric gives one number per run; the standard error is
        NaN for a single run, too.
        """
        unknown = (math.nan, math.nan)
        weights = np.array(self.weights or (1.0,) * len(self.views))
        found = []
        for numbers in row.values or ((),) * len(self.metrics):
            if len(numbers) != row.runs * len(weights):
                found.append(unknown)
                continue
            by_run = np.reshape(numbers, (row.runs, -1))
            of_runs = [weighted_mean(of_run, weights) for of_run in by_run]
            found.append((known_mean(of_runs), standard_error(of_runs)))
        return tuple(found)

    def to_pandas(self) -> "pandas.DataFrame":
        """A `pandas.DataFrame` with one row per mechanism, in the order of `rows`.

        Its columns are "mechanism"; for each metric its mean under the metric's name, such as
        "L2/N", and the standard error of this mean, such as "L2/N std. error"; if the workload has
        weights that differ, the same with them ("L2/N weighted"); "median" and "95th
        percentile" of the first metric; "release_seconds" and "answer_seconds" (processor time, in
        seconds); and "problem". Numbers are NaN if the mechanism failed. They are *not private*.
        """
        import pandas

        rows = [
            {
                "mechanism": row.name,
                **self._means_of(row),
                **self._weighted_means_of(row),
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
        are escaped. A standard error has two significant digits, and its mean ends at the same
        place, or after five significant digits: a smaller error has one. A mean without an error
        has four digits. A mechanism that failed has dashes. A
        comment above the table says what was compared, with which version, domain, seeds and
        parameters, and that it is *not private*.
        """
        columns = ["mechanism"]
        for metric in self.metrics:
            columns += [metric.name, f"{metric.name} std. error"]
        rows = []
        for row in self.rows:
            numbers = list(self._means_of(row).values())
            pairs = zip(numbers[::2], numbers[1::2], strict=True)
            rows.append([row.name, *itertools.chain(*(_rounded(*pair) for pair in pairs))])
        return latex_table(self._origin(), columns, rows)

    def _origin(self) -> str:
        """What was compared, and what is needed to repeat it, as a line."""
        mechanisms = {row.name: row.mechanism for row in self.rows}
        parts = [
            self._title(),
            f"seeds {self.seed} to {self.seed + self.runs - 1}",
            f"margin {self.version}",
            f"domain {self.domain}",
            f"mechanisms {json.dumps(mechanisms)}",
        ]
        return "; ".join(parts)

    def _weighted_means_of(self, row: Compared) -> dict[str, float]:
        """The weighted means and their standard errors, by their columns; none without weights."""
        found = {}
        for metric, pair in zip(self.metrics, self.weighted_means(row), strict=True):
            found[f"{metric.name} weighted"], found[f"{metric.name} weighted std. error"] = pair
        return found if self.weights else {}

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
        heading = "; ".join(filter(None, [self._title(), *self._notes()]))
        return html_table(heading, table.rename(columns=names), index=False)

    def to_json(self) -> dict[str, Any]:
        """The comparison as JSON values, marked as not private."""
        return {
            "private": False,
            "version": self.version,
            "environment": dict(self.environment),
            "domain": self.domain,
            "truth": self.truth,
            "budget": self.budget.to_json(),
            "views": [list(view) for view in self.views],
            "weights": list(self.weights) or None,
            "asked": dict(self.asked) or None,
            "workload_size": self.workload_size,
            "seed": self.seed,
            "runs": self.runs,
            "metrics": [metric.name for metric in self.metrics],
            "best": self.best,
            "mechanisms": [self._row_to_json(row) for row in self.rows],
        }

    def _row_to_json(self, row: Compared) -> dict[str, Any]:
        """One mechanism as JSON values. JSON has no NaN: what is not known is null."""
        failed = bool(row.problem)
        weighted = [_known(mean) for mean, _ in self.weighted_means(row)]
        return {
            "name": row.name,
            "mechanism": row.mechanism,
            "base": row.base,
            "problem": row.problem or None,
            "means": list(map(_known, row.means)),
            "standard_errors": None if row.runs < 2 else list(map(_known, row.standard_errors)),
            "weighted_means": weighted if self.weights and not failed else None,
            "values": [list(map(_known, numbers)) for numbers in row.values],
            "intervals": row.intervals,
            "counts": row.counts,
            "release_seconds": None if failed else row.release_seconds,
            "answer_seconds": None if failed else row.answer_seconds,
        }

    def plot(self, *, axes: "Axes | None" = None) -> "Figure":
        """Draw the distribution of each metric, for each mechanism, as box plots.

        See `margin.plots.results.plot_comparison`.
        """
        from ..plots.results import plot_comparison

        return plot_comparison(self, axes=axes)


def _known(number: float) -> float | None:
    """None for NaN, which JSON does not have."""
    return None if math.isnan(number) else number


def _rounded(mean: float, error: float) -> tuple[str, str]:
    """A mean and its standard error as texts, to the second significant digit of the error, but
    with at most `_MEAN_DIGITS` digits of the mean. An error below these has one digit.

    >>> _rounded(0.013512, 0.0004211), _rounded(0.013512, math.nan)
    (('0.01351', '0.00042'), ('0.01351', '--'))
    """
    if math.isnan(mean):
        return "--", "--"
    if not error > 0:
        return f"{mean:.4g}", "--" if math.isnan(error) else "0"
    # The power of ten of the first digit, after rounding: 0.0996 becomes 0.10.
    _, power = f"{error:.1e}".split("e")
    decimals = 1 - int(power)
    if mean:
        digits_of_whole = math.floor(math.log10(abs(mean))) + 1
        decimals = min(decimals, max(0, _MEAN_DIGITS - digits_of_whole))
    places = max(decimals, 0)
    shown = f"{error:.1g}" if error < 10.0**-decimals else f"{round(error, decimals):.{places}f}"
    return f"{round(mean, decimals):.{places}f}", shown


def _names(rows: Sequence[Compared]) -> str:
    return ", ".join(row.name for row in rows)


def _are_same(first: Compared, second: Compared) -> bool:
    """True if all metrics have the same numbers in every run, as if one mechanism took the
    other."""
    return all(map(are_equal, first.values, second.values))


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
