"""`PriView`: a few overlapping views, made consistent and non-negative, from which any marginal is
reconstructed."""

import logging
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from ...designs import least_squares_error
from ...domain.domain import Domain, View
from ...domain.workload import Workload
from ...errors import DomainError
from ...privacy.budget import Budget
from ...private import Private
from ...solvers import (
    Consistency,
    JointProjection,
    Ladder,
    LatticeConsistency,
    Newton,
    NonNegativity,
    ResidualConsistency,
    Ripple,
    Solver,
)
from ...synopses import ViewSynopsis
from ...synopses.estimate import estimate
from ..asked import asked
from .selection import BestViews, PairCover, Selection

__all__ = ["BestViews", "PairCover", "PriView", "Selection", "noise_error"]

log = logging.getLogger("margin")


@dataclass(frozen=True, kw_only=True)
class PriView:
    """Release through views (Qardaji, Yang and Li, SIGMOD 2014), with the best known step in each
    place.

    All noise comes from one call of `Private.measure`, which spends the whole budget on the views;
    everything after it is post-processing.

    Parameters
    ----------
    views
        The views to measure, as lists of attribute names. None chooses them by `selection`.
    shares
        What part of the budget each of `views` gets, in proportion; equal parts when None.
    selection
        Chooses views and shares where none are given, from the sizes of the attributes and the
        workload alone.
    consistency
        Makes the noisy views agree.
    nonnegativity
        Removes negative counts; None leaves them.
    reconstruction
        Answers what no view covers.

    Examples
    --------
    >>> PriView(views=[["age", "sex"], ["age", "region"]]).views
    (('age', 'sex'), ('age', 'region'))
    """

    views: Sequence[Iterable[str]] | None = None
    shares: Sequence[float] | None = None
    selection: Selection = BestViews()
    consistency: Consistency = ResidualConsistency()
    nonnegativity: NonNegativity | None = JointProjection()
    reconstruction: Solver = Newton()

    def __post_init__(self) -> None:
        if self.views is None:
            if self.shares is not None:
                raise DomainError(
                    "shares are given without views: give one for each of the views, or neither"
                )
            return
        if not _is_list(self.views) or not all(map(_is_list, self.views)):
            raise DomainError("views must be a list of views, each a list of attribute names")
        object.__setattr__(self, "views", tuple(tuple(view) for view in self.views))
        if not self.views:
            raise DomainError("views must hold at least one view, or be None")
        if self.shares is not None:
            object.__setattr__(self, "shares", _checked(self.shares, len(self.views)))

    @classmethod
    def paper(cls, *, views: Sequence[Iterable[str]] | None = None) -> "PriView":
        """The method as published: lattice consistency, ripple, and maximum entropy with relaxed
        constraints."""
        return cls(
            views=views,
            selection=PairCover(),
            consistency=LatticeConsistency(),
            nonnegativity=Ripple(),
            reconstruction=Ladder(),
        )

    def run(self, private: Private, workload: Workload | None) -> ViewSynopsis:
        """Choose views, measure them, make them consistent and non-negative."""
        views, shares = self._chosen(private.domain, workload, private.budget)
        measured = private.measure(views, shares=shares)
        return estimate(
            private.domain,
            measured,
            consistency=self.consistency,
            nonnegativity=self.nonnegativity,
            reconstruction=self.reconstruction,
        )

    def expected_error(
        self, domain: Domain, workload: Workload | Iterable[Iterable[str]] | None, budget: Budget
    ) -> float:
        """The expected squared error over all cells of all marginals of the workload, times their
        weights.

        That of the least-squares estimate from the noisy views, which consistency gives: see
        `designs.least_squares_error`. Non-negativity is not accounted for.

        Raises
        ------
        DomainError
            When the views do not hold every view of the workload: what they do not hold is
            estimated without a closed form of the error.
        """
        asked_for = asked(domain, workload)
        views, shares = self._chosen(domain, None if workload is None else asked_for, budget)
        noises = budget.counts_at_once(len(views) if shares is None else shares)
        variances = [noise.variance for noise in noises]
        error = least_squares_error(
            domain.sizes,
            [domain.axes(view) for view in views],
            variances,
            workload=[domain.axes(view) for view in asked_for],
            weights=asked_for.weights,
        )
        if math.isinf(error):
            raise DomainError(
                "the views do not hold every view of the workload: their error has no closed form"
            )
        return error

    def planned(
        self, domain: Domain, workload: Workload | Iterable[Iterable[str]] | None, budget: Budget
    ) -> "PriView":
        """This mechanism with the views and shares that it would choose, written out."""
        checked = None if workload is None else Workload.of(domain, workload)
        views, shares = self._chosen(domain, checked, budget)
        return replace(self, views=views, shares=shares)

    def _chosen(
        self, domain: Domain, workload: "Workload | Iterable[Iterable[str]] | None", budget: Budget
    ) -> tuple[list[View], Sequence[float] | None]:
        """The views to measure and their shares, equal when None."""
        if self.views is not None:
            return [domain.view(view) for view in self.views], self.shares
        log.info("choosing views")
        return self.selection.plan(
            domain, None if workload is None else Workload.of(domain, workload), budget
        )


def _is_list(value: object) -> bool:
    return isinstance(value, Iterable) and not isinstance(value, str | bytes)


def _checked(shares: Sequence[float], count: int) -> tuple[float, ...]:
    given = tuple(shares) if _is_list(shares) else ()
    if len(given) != count:
        raise DomainError(f"{len(given)} shares are given for {count} views; give one for each")
    for share in given:
        if (
            isinstance(share, bool)
            or not isinstance(share, int | float)
            or not 0 < share < math.inf
        ):
            raise DomainError(
                f"each share ({share!r}) must be a finite number > 0; leave out a view that gets nothing"
            )
    return given


def noise_error(*, attributes: int, block: int, views: int, rows: float, epsilon: float) -> float:
    """The published estimate of the noise error of a pair, as a share of the rows.

    Equation (5) of Qardaji, Yang and Li, SIGMOD 2014, for binary attributes under pure differential
    privacy, with `views` views of `block` attributes each; they advise to cover pairs, triples or
    quadruples so that it lies between 0.001 and 0.003, with a rough idea of the number of rows.

    Examples
    --------
    >>> round(noise_error(attributes=32, block=8, views=20, rows=912_627, epsilon=1), 5)
    0.00047
    """
    covered = views * block * (block - 1) / (attributes * (attributes - 1))
    return math.sqrt(2 ** (block + 1) * views**2 / covered) / (rows * epsilon)
