"""`Residual`: the residual components up to some order, each with its best share, and maximum
entropy beyond."""

import math
from collections.abc import Iterable
from dataclasses import dataclass

from ...domain.domain import Domain, View
from ...domain.workload import Workload
from ...errors import DomainError
from ...privacy.budget import Budget
from ...private import Private
from ...solvers import Evidence, JointProjection, Newton, NonNegativity, ResidualConsistency, Solver
from ...synopses import ViewSynopsis
from ...synopses.estimate import possible
from ...synopses.noisy_tables import LEAST_VARIANCE
from ..asked import check_reach
from ..components import Components, moments_in_answers
from ..strategies.optimised_marginals import with_best_shares

__all__ = ["Residual"]

_MOST_VIEWS = 1 << 21

_MOST_TOGETHER = 1 << 23
"""Tables of at most so many cells in all are made non-negative together: more would take minutes.
"""


@dataclass(frozen=True, kw_only=True)
class Residual:
    """Measure the residual components of all marginals up to some order, and answer any marginal
    from them.

    The component of a set of attributes is what its marginal says beyond the marginals on its
    subsets (see `OptimisedMarginals`). For Gaussian noise no other unbiased way to answer the
    workload, as far as `order` goes, has a smaller expected squared error (Xiao et al., NeurIPS
    2023). The tables that the components make up are consistent by construction; they are made
    non-negative, and what goes beyond them is answered by maximum entropy, as `PriView` does.

    Under pure differential privacy views that hold many attributes are usually better: see `Auto`.

    Parameters
    ----------
    order
        On how many attributes the measured components are at most. Every marginal of the workload
        on so many attributes is then covered, without bias but for the removal of negative counts.
    workload
        The views for which the shares of the budget are best; as `Workload.of` takes them. None
        takes those that `release` is given, or else all views of `order` attributes. A view of more
        attributes counts for the components it has up to `order`.
    largest
        Make the largest weighted variance of a cell small, instead of the sum over all cells.
    nonnegativity
        Removes negative counts; None leaves them. Tables of more than 2**23 cells in all keep them,
        without bias.
    reconstruction
        Answers what goes beyond `order`.

    Examples
    --------
    >>> from margin import ZCDP
    >>> Residual(order=3).expected_error(Domain({"a": 2, "b": 2, "c": 2}), [["a", "b", "c"]], ZCDP(0.5))
    8.0
    """

    order: int = 2
    workload: Workload | Iterable[Iterable[str]] | None = None
    largest: bool = False
    nonnegativity: NonNegativity | None = JointProjection()
    reconstruction: Solver = Newton()

    def __post_init__(self) -> None:
        if isinstance(self.order, bool) or not isinstance(self.order, int) or self.order < 1:
            raise DomainError(f"order ({self.order!r}) must be a whole number >= 1")
        if self.workload is not None and not isinstance(self.workload, Workload):
            if isinstance(self.workload, str) or not isinstance(self.workload, Iterable):
                raise DomainError("a workload is a list of views, each a list of attribute names")
            object.__setattr__(
                self, "workload", Workload(tuple(tuple(view) for view in self.workload))
            )

    def run(self, private: Private, workload: Workload | None) -> ViewSynopsis:
        """Measure the components with the whole budget, and make tables of them."""
        evidence = Evidence(
            sizes=private.domain.sizes, zeros=private.domain.zeros, known_total=private.domain.rows
        )
        self.components(private.domain, workload, private.budget).measure(private, evidence)
        tables = evidence.tables()
        if sum(value.size for value in tables.values) <= _MOST_TOGETHER:
            tables = possible(tables, self.nonnegativity, ResidualConsistency())
        return ViewSynopsis.of_tables(private.domain, tables, reconstruction=self.reconstruction)

    def expected_error(
        self, domain: Domain, workload: Workload | Iterable[Iterable[str]] | None, budget: Budget
    ) -> float:
        """The expected squared error over all cells of all marginals of the workload, times their
        weights, before negative counts are removed.

        Raises
        ------
        DomainError
            When a view of the workload goes beyond `order`: it is estimated without a closed form
            of the error.
        """
        asked = self._asked(domain, None if workload is None else Workload.of(domain, workload))
        measured = self.components(domain, asked, budget)
        variances = dict(zip(measured.sets, measured.variances(budget), strict=True))
        needed = Components("Residual", domain, asked)
        if not variances.keys() >= set(needed.sets):
            raise DomainError(
                "the workload goes beyond what is measured: its error has no closed form"
            )
        return sum(
            cost * variances[view] for view, cost in zip(needed.sets, needed.costs, strict=True)
        )

    def precisions(
        self, domain: Domain, workload: Workload | None, budget: Budget
    ) -> dict[View, float]:
        """How precisely each component will be known: that of total times moment (see
        `solvers.basis`)."""
        measured = self.components(domain, workload, budget)
        return {
            view: moments_in_answers(domain.shape(view) if view else ())
            / max(variance, LEAST_VARIANCE)
            for view, variance in zip(measured.sets, measured.variances(budget), strict=True)
        }

    def components(self, domain: Domain, workload: Workload | None, budget: Budget) -> Components:
        """What is measured, and with which shares."""
        best_for = workload if self.workload is None else Workload.of(domain, self.workload)
        components = Components("Residual", domain, self._asked(domain, best_for), order=self.order)
        return with_best_shares(components, budget, largest=self.largest)

    def _asked(self, domain: Domain, workload: Workload | None) -> Workload:
        if workload is not None:
            return workload
        order = min(self.order, len(domain))
        check_reach(
            "Residual",
            math.comb(len(domain), order),
            _MOST_VIEWS,
            what="views",
            instead="a lower order, or PriView",
        )
        return Workload.all_kway(domain, order)
