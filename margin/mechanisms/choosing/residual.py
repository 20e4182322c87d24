"""`Residual`: a mechanism that measures residual components, each with its best share of the
budget."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from ..._checks import whole_number
from ...domain.domain import Domain, View, check_domain
from ...domain.workload import Workload, refuse_names
from ...errors import DomainError
from ...privacy.budget import Budget
from ...private import Private
from ...solvers import (
    Evidence,
    JointProjection,
    NonNegativity,
    ResidualConsistency,
    Solver,
    Tables,
)
from ...synopses import ViewSynopsis
from ...synopses.estimate import possible, reconstruction_for
from ..asked import check_reach
from ..axis_queries import asked_queries
from ..by_table import largest_errors, of_components, table_errors, weighted
from ..components import Components, closure
from ..query_bases.plan import AskedComponents
from ..query_bases.removal import removal
from ..strategies.optimised_marginals import with_best_shares

__all__ = ["Residual"]

_MOST_VIEWS = 1 << 21
"""Largest number of views of a workload that is made up here."""

_MOST_TOGETHER = 1 << 23
"""Largest number of cells of all tables that are made non-negative together; more take minutes."""


_UNMEASURED = (
    "the error can be computed in advance only for views that are measured, but some views of the "
    "workload are not; raise order, or add them to Residual(workload=)"
)
"""The refusal to price a workload that is not measured."""


@dataclass(
    frozen=True,
    kw_only=True,
)
class Residual:
    """A mechanism that measures the residual components of all marginals up to some order.

    Any marginal can be answered from them.
    The component of a set of attributes is the part of its marginal that the marginals on its
    subsets do not determine (see `margin.mechanisms.strategies.OptimisedMarginals`). For Gaussian
    noise, no other unbiased way to answer the workload up to `order` has a smaller expected squared
    error (Xiao et al., NeurIPS 2023). The components add up to tables that are consistent by
    construction. These are made non-negative, and marginals beyond them are answered by maximum
    entropy, as `PriView` does.

    Under pure differential privacy, views of many attributes are usually better: see `Auto`.

    Components that known tables of the domain determine are not measured, and the others share the
    budget.

    If the workload asks prefixes, ranges or levels of an attribute (`Workload.asked`), its
    components are measured by integer queries that are optimised for them (see
    `margin.mechanisms.query_bases`), and the sum of the squared errors of the asked queries decides
    the shares. Negative counts are then removed in the metric of these queries, so that prefixes
    are monotone and the errors of the queries do not grow (see `margin.solvers.QueryProjection`).

    Parameters
    ----------
    order
        The largest number of attributes of a measured component, >= 0. With 0 the total alone is
        measured, and answers are uniform, as those of `Uniform`. Every marginal of the
        workload on up to `order` attributes is covered; only the removal of negative counts biases
        it.
    workload
        The views for which the shares of the budget are best, as `Workload.of` takes them. None
        takes the workload of `release`, or all views of `order` attributes without one. A view of
        more attributes counts with its components up to `order`.
    largest
        If True, the shares of the budget minimise the largest weighted variance of a cell, or of a
        query that is asked; if False, the sum over all of them.
    nonnegativity
        Removes negative counts; None leaves them. Tables of more than 2**23 cells in all keep their
        negative counts, and are then unbiased; 2**17 cells if prefixes, ranges or levels are asked.
    reconstruction
        The solver for marginals on more than `order` attributes; None takes maximum entropy with
        context, as `PriView` does.

    Examples
    --------
    >>> from margin import ZCDP
    >>> domain = Domain({"a": 2, "b": 2, "c": 2})
    >>> Residual(order=3).expected_error(domain, [["a", "b", "c"]], ZCDP(0.5))
    8.0
    """

    keeps_known: ClassVar[bool] = True
    prices_asked: ClassVar[bool] = True

    order: int = 2
    workload: Workload | Iterable[Iterable[str]] | None = None
    largest: bool = False
    nonnegativity: NonNegativity | None = JointProjection()
    reconstruction: Solver | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "order", whole_number("order", self.order, least=0))
        if self.workload is None or isinstance(self.workload, Workload):
            return
        if isinstance(self.workload, str) or not isinstance(self.workload, Iterable):
            raise DomainError(
                "workload must be a list of views, each a list of attribute names, but it is of "
                f"type {type(self.workload).__name__}; write it as in [['age', 'sex']]"
            )
        given = refuse_names("workload", self.workload)
        views = tuple((view,) if isinstance(view, str) else tuple(view) for view in given)
        object.__setattr__(self, "workload", Workload(views))

    def run(
        self,
        private: Private,
        workload: Workload | None,
    ) -> ViewSynopsis:
        """Run the mechanism: measure the components with the whole budget, and make tables of
        them."""
        domain = private.domain
        stated = self.reconstruction
        solver = reconstruction_for(domain) if stated is None else stated
        follows = self._following(domain, workload, private.budget)
        if follows is not None:
            tables, noise = follows.measure(private)
            return ViewSynopsis.of_tables(
                domain,
                self._possible(tables, domain, workload),
                reconstruction=solver,
                noise=noise,
                kurtosis=private.budget.kurtosis,
            )
        evidence = Evidence(
            sizes=domain.sizes,
            zeros=domain.zeros,
            known=domain.constraints,
        )
        # The plan is not kept: its many objects would take memory.
        self.components(domain, workload, private.budget).measure(private, evidence)
        tables = self._possible(evidence.tables(), domain, workload)
        return ViewSynopsis.of_tables(
            domain,
            tables,
            reconstruction=solver,
            kurtosis=private.budget.kurtosis,
        )

    def expected_error(
        self,
        domain: Domain,
        workload: Workload | Iterable[Iterable[str]] | None,
        budget: Budget,
    ) -> float:
        """The expected squared error of the workload, before negative counts are removed.

        The errors of all cells of all marginals are added, each times the weight of its marginal.

        Raises
        ------
        DomainError
            When a view of the workload is not measured, as one of more than `order` attributes: the
            error of its estimate has no closed form.
        """
        asked = self._asked(domain, None if workload is None else Workload.of(domain, workload))
        if asked.levels or self._following(domain, asked, budget) is not None:
            errors = self.table_errors(domain, asked, budget)
            if math.inf in errors:
                raise DomainError(_UNMEASURED)
            return weighted(asked, errors)
        measured = self.components(domain, asked, budget)
        variances = dict(zip(measured.sets, measured.variances(budget), strict=True))
        needed = Components("Residual", domain, asked, skip_known=True)
        costs = {
            view: cost
            for view, cost in zip(needed.sets, needed.costs, strict=True)
            if not domain.knows(view)
        }
        if not variances.keys() >= costs.keys():
            raise DomainError(_UNMEASURED)
        return sum(cost * variances[view] for view, cost in costs.items())

    def table_errors(
        self,
        domain: Domain,
        workload: Workload | Iterable[Iterable[str]] | None,
        budget: Budget,
    ) -> list[float]:
        """The expected squared error of each table of the workload, before negative counts are
        removed: the summed error of its counts, in squared rows.

        It is infinite for a table that is not measured but reconstructed.
        """
        asked = self._asked(domain, None if workload is None else Workload.of(domain, workload))
        follows = self._following(domain, asked, budget)
        if follows is not None:
            return follows.table_errors(asked)
        precision = of_components(domain, self.precisions(domain, asked, budget))
        return table_errors(domain, asked, precision)

    def largest_errors(
        self,
        domain: Domain,
        workload: Workload | Iterable[Iterable[str]] | None,
        budget: Budget,
    ) -> list[float]:
        """The largest expected squared error of a count of each table, as in `table_errors`."""
        asked = self._asked(domain, None if workload is None else Workload.of(domain, workload))
        follows = self._following(domain, asked, budget)
        if follows is not None:
            return follows.largest_errors(asked)
        precision = of_components(domain, self.precisions(domain, asked, budget))
        return largest_errors(domain, asked, precision)

    def precisions(
        self,
        domain: Domain,
        workload: Workload | None,
        budget: Budget,
    ) -> dict[View, float]:
        """For each component that will be measured, one divided by the noise variance of its
        moments.

        The variance is of a moment times the total (see `solvers.basis`), in squared rows.
        """
        follows = self._following(domain, workload, budget)
        if follows is not None:
            return follows.precisions
        measured = self.components(domain, workload, budget)
        reached = closure("Residual", domain, measured.workload, self.order)
        known = filter(domain.knows, reached)
        precisions = dict.fromkeys(known, math.inf)
        return measured.precisions(budget) | precisions

    def components(
        self,
        domain: Domain,
        workload: Workload | None,
        budget: Budget,
    ) -> Components:
        """The components that are measured, with their shares of the budget."""
        best_for = workload if self.workload is None else Workload.of(domain, self.workload)
        asked = self._asked(domain, best_for)
        components = Components(
            "Residual",
            domain,
            asked,
            order=self.order,
            skip_known=True,
        )
        return with_best_shares(components, budget, largest=self.largest)

    def _following(
        self,
        domain: Domain,
        workload: Workload | None,
        budget: Budget,
    ) -> AskedComponents | None:
        """The components in bases for the queries of the workload; None if only cells are asked."""
        given = workload if self.workload is None else Workload.of(domain, self.workload)
        best_for = self._asked(domain, given)
        queries = asked_queries(domain, best_for)
        if not queries and not asked_queries(domain, workload):
            return None
        return AskedComponents(
            "Residual",
            domain,
            best_for,
            queries,
            budget,
            order=self.order,
            largest=self.largest,
        )

    def _possible(
        self,
        tables: Tables,
        domain: Domain,
        workload: Workload | None,
    ) -> Tables:
        """The tables without negative counts, if they are not too large for that."""
        given = workload if self.workload is None else Workload.of(domain, self.workload)
        cells = sum(value.size for value in tables.values)
        method = removal(domain, given, self.nonnegativity, cells=cells)
        if cells > _MOST_TOGETHER:
            method = None
        return possible(tables, method, ResidualConsistency())

    def _asked(
        self,
        domain: Domain,
        workload: Workload | None,
    ) -> Workload:
        check_domain(domain)
        if workload is not None:
            return workload
        order = max(1, min(self.order, len(domain)))
        check_reach(
            "Residual",
            math.comb(len(domain), order),
            _MOST_VIEWS,
            what="views",
            instead="a lower order, or PriView",
        )
        return Workload.all_kway(domain, order)
