"""`compare`: mechanisms side by side on one's own table, by simulation. What it shows is not
private."""

import logging
import math
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

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


@dataclass(frozen=True, kw_only=True)
class Compared:
    """How one mechanism did.

    Attributes
    ----------
    name
        What it was called.
    errors
        For each run and each view |answer - truth| / rows in the L2 norm, one run after another;
        empty if it failed.
    release_seconds, answer_seconds
        Process time of a release with counting, and of an answer, on average.
    problem
        Why it failed, in its own words; empty if it did not.
    """

    name: str
    errors: tuple[float, ...] = ()
    release_seconds: float = math.nan
    answer_seconds: float = math.nan
    problem: str = ""

    @property
    def error(self) -> float:
        """The mean of the errors; NaN if it failed."""
        return float(np.mean(self.errors)) if self.errors else math.nan

    def percentile(self, share: float) -> float:
        """The error that this share of the answers stays below."""
        return float(np.quantile(self.errors, share)) if self.errors else math.nan


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """Mechanisms by the error of their answers, the best first. Derived from the truth: *not
    private*.

    Attributes
    ----------
    budget
        What each was given.
    views
        What each was asked.
    rows
        The mechanisms, those that failed last.
    """

    budget: Budget
    views: tuple[View, ...]
    rows: tuple[Compared, ...]

    @property
    def best(self) -> str | None:
        """The name of the mechanism of the least mean error; None if all failed."""
        return self.rows[0].name if self.rows and self.rows[0].errors else None

    def __str__(self) -> str:
        head = f"SIMULATION on the true table, not private; {self.budget.describe()}; {len(self.views)} views asked"
        lines = [
            f"{'mechanism':<20}{'mean error':>12}{'median':>10}{'95 %':>10}{'release s':>11}{'answer ms':>11}"
        ]
        for row in self.rows:
            if row.problem:
                lines.append(f"{row.name:<20}  {row.problem}")
                continue
            numbers = f"{row.error:>12.5f}{row.percentile(0.5):>10.5f}{row.percentile(0.95):>10.5f}"
            lines.append(
                f"{row.name:<20}{numbers}{row.release_seconds:>11.2f}{1000 * row.answer_seconds:>11.2f}"
            )
        advice = f"of these, {self.best} answers best" if self.best else "none of these worked"
        return "\n".join([head, *lines, advice])

    def to_json(self) -> dict[str, Any]:
        """All of it as JSON values, marked as not private."""
        return {
            "private": False,
            "budget": self.budget.to_json(),
            "views": [list(view) for view in self.views],
            "best": self.best,
            "mechanisms": [
                {
                    "name": row.name,
                    "problem": row.problem or None,
                    "mean_error": None if row.problem else row.error,
                    "errors": list(row.errors),
                    "release_seconds": None if row.problem else row.release_seconds,
                    "answer_seconds": None if row.problem else row.answer_seconds,
                }
                for row in self.rows
            ],
        }

    def plot(self, *, axes: "Axes | None" = None) -> "Figure":
        """A picture of the spread of each mechanism's errors; see
        `margin.plots.results.plot_comparison`."""
        from .plots.results import plot_comparison

        return plot_comparison(self, axes=axes)


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
    """Run mechanisms on one's own table as simulations and compare their answers with the truth.

    Choosing a mechanism by what is shown here, and then releasing the same table with it, uses the
    data once more than the budget says. Compare on a public table that is like the private one, or
    on `margin.datasets`.

    Parameters
    ----------
    data, domain, budget
        See `release`.
    mechanisms
        By the names to show them under.
    workload
        What to ask; of more than 200 views as many are drawn.
    runs
        How often each is run, with other noise.
    seed
        For the noise and the drawing of views.

    Raises
    ------
    DomainError
        When there is no mechanism, no run, or the workload is not one of the domain.
    MarginError
        When the data cannot be read. A mechanism that fails is listed with its reason instead.
    """
    declared = domain if isinstance(domain, Domain) else Domain(domain)
    if not mechanisms or isinstance(runs, bool) or not isinstance(runs, int) or runs < 1:
        raise DomainError("compare needs at least one mechanism, and runs must be at least 1")
    views = Workload.of(declared, workload).views
    if len(views) > _MOST_VIEWS:
        places = np.random.default_rng(seed).choice(len(views), _MOST_VIEWS, replace=False)
        views = tuple(views[place] for place in sorted(places.tolist()))
    truths: list[Marginal] = []
    rows = []
    for place, (name, mechanism) in enumerate(mechanisms.items()):
        log.info("mechanism %d of %d", place + 1, len(mechanisms))
        try:
            rows.append(
                _compared(name, mechanism, data, declared, budget, views, truths, runs, seed)
            )
        except MarginError as error:
            rows.append(Compared(name=name, problem=str(error)))
    rows.sort(key=lambda row: (bool(row.problem), row.error))
    return Comparison(budget=budget, views=views, rows=tuple(rows))


def _compared(
    name: str,
    mechanism: Mechanism[Synopsis],
    data: object,
    domain: Domain,
    budget: Budget,
    views: tuple[View, ...],
    truths: list[Marginal],
    runs: int,
    seed: int,
) -> Compared:
    """One mechanism; the truths are counted by the first that needs them."""
    errors: list[float] = []
    release_seconds = answer_seconds = 0.0
    for run in range(runs):
        started = time.process_time()
        simulation: Simulation[Synopsis] = simulate(
            data, domain=domain, budget=budget, mechanism=mechanism, workload=views, seed=seed + run
        )
        released = time.process_time()
        answers = simulation.marginals(views)
        answer_seconds += time.process_time() - released
        release_seconds += released - started
        if not truths:
            truths += simulation.truths(views)
        errors += [_error(answer, truth) for answer, truth in zip(answers, truths, strict=True)]
    return Compared(
        name=name,
        errors=tuple(errors),
        release_seconds=release_seconds / runs,
        answer_seconds=answer_seconds / runs / len(views),
    )


def _error(answer: Marginal, truth: Marginal) -> float:
    return float(np.linalg.norm(answer.counts - truth.counts)) / max(truth.total, 1.0)
