"""`PriView`: a mechanism that measures a few overlapping views and reconstructs any marginal from
them."""

import logging
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from ..._checks import positive_number
from ..._numbers import shown
from ...domain.domain import Domain, View, check_domain
from ...domain.workload import Workload, refuse_names
from ...errors import DomainError
from ...noise.laws import variances_of
from ...privacy.budget import Budget
from ...private import Private
from ...solvers import (
    Consistency,
    JointProjection,
    Ladder,
    LatticeConsistency,
    NonNegativity,
    ResidualConsistency,
    Ripple,
    Solver,
)
from ...synopses import ViewSynopsis
from ...synopses.estimate import estimate
from ..asked import asked, error_of_views
from ..by_table import Precision, largest_errors, of_views, table_errors
from ..query_bases.removal import removal
from .paper_views import PaperViews, UsesRows, noise_error
from .selection import BestViews, Selection

__all__ = ["BestViews", "PaperViews", "PriView", "Selection", "UsesRows", "noise_error"]

log = logging.getLogger("margin")


@dataclass(
    frozen=True,
    kw_only=True,
)
class PriView:
    """A mechanism that measures overlapping views and answers any marginal from them (Qardaji, Yang
    and Li, SIGMOD 2014).

    Each step of the paper is replaced by the best method known. One call of `Private.measure`
    spends the budget on the views. Before it, `Private.count_rows` spends a small share if the
    selection needs the number of rows, as that of `paper` may. Everything after `measure` is
    post-processing.

    Parameters
    ----------
    views
        The views to measure, as lists of attribute names. None chooses them by `selection`.
    shares
        One number > 0 for each of `views`; the budget is divided in proportion to these numbers.
        None for equal shares.
    selection
        The rule that chooses views and shares if `views` is None: from the sizes of the attributes,
        the workload and the budget, and if it is a `UsesRows` from the number of rows.
    consistency
        The step that makes the noisy views agree with each other.
    nonnegativity
        The step that removes negative counts; None leaves them. `JointProjection` gives way to
        `QueryProjection` if the workload asks prefixes or ranges, or an attribute has levels.
    reconstruction
        The solver for marginals that no view covers. None takes maximum entropy with context: views
        of further attributes improve the answers (`margin.solvers.Newton`, `context`). `Newton()`
        solves over the requested attributes alone, as in the paper. It takes half the time.

    Examples
    --------
    >>> PriView(views=[["age", "sex"], ["age", "region"]]).views
    (('age', 'sex'), ('age', 'region'))
    """

    keeps_known: ClassVar[bool] = True
    prices_asked: ClassVar[bool] = True

    views: Sequence[Iterable[str]] | None = None
    shares: Sequence[float] | None = None
    selection: Selection = BestViews()
    consistency: Consistency = ResidualConsistency()
    nonnegativity: NonNegativity | None = JointProjection()
    reconstruction: Solver | None = None

    def __post_init__(self) -> None:
        if self.views is None:
            if self.shares is not None:
                raise DomainError(
                    "shares divides the budget among views, but no views are given; pass a list of "
                    "views too, or leave shares out"
                )
            return
        if _is_list(self.views):
            refuse_names("views", self.views)
        if not _is_list(self.views) or not all(map(_is_list, self.views)):
            raise DomainError(
                "views must be a list of views, each a list of attribute names, but it is "
                f"{shown(self.views)}; write it as in [['age', 'sex']]"
            )
        object.__setattr__(self, "views", tuple(tuple(view) for view in self.views))
        if not self.views:
            raise DomainError(
                "views must contain at least one view, or be None, but the list is empty; add a "
                "view"
            )
        if self.shares is not None:
            object.__setattr__(self, "shares", _checked(self.shares, len(self.views)))

    @classmethod
    def paper(
        cls,
        *,
        views: Sequence[Iterable[str]] | None = None,
        t: int | None = None,
        rows: float | None = None,
    ) -> "PriView":
        """Make the mechanism as it was published.

        It has covering views chosen by the noise error (`PaperViews`), lattice consistency, ripple,
        consistency again, and maximum entropy with relaxed constraints. One thing differs: the
        paper adds continuous Laplace noise. Here noise is discrete Laplace of the same scale, which
        can be drawn exactly, while floating-point draws of continuous noise can reveal the true
        count. Under zCDP it is discrete Gaussian noise, which the paper does not have.

        The number of rows decides how many attributes the views cover together. It is taken from
        `rows`, or from `Domain.rows`. If neither is given and the choice depends on it, a
        thousandth of the budget is charged for a noisy number of rows.

        Parameters
        ----------
        views
            The views to measure, in place of the published choice.
        t, rows
            See `PaperViews`.

        Raises
        ------
        DomainError
            If a parameter is out of range.

        Examples
        --------
        >>> from margin import PureDP
        >>> domain = Domain({f"page{place}": 2 for place in range(32)})
        >>> for epsilon in (1, "0.1"):
        ...     planned = PriView.paper(rows=912_627).planned(domain, None, PureDP(epsilon))
        ...     print(len(planned.views))
        108
        20
        """
        return cls(
            views=views,
            selection=PaperViews(t=t, rows=rows),
            consistency=LatticeConsistency(),
            nonnegativity=Ripple(),
            reconstruction=Ladder(),
        )

    def run(
        self,
        private: Private,
        workload: Workload | None,
    ) -> ViewSynopsis:
        """Run the mechanism: choose views, measure them, and make them consistent and
        non-negative."""
        domain = self._with_rows(private)
        views, shares = self._chosen(domain, workload, private.budget)
        measured = private.measure(views, shares=shares)
        cells = sum(marginal.counts.size for marginal in measured)
        checked = None if workload is None else Workload.of(domain, workload)
        return estimate(
            private.domain,
            measured,
            consistency=self.consistency,
            nonnegativity=removal(domain, checked, self.nonnegativity, cells=cells),
            reconstruction=self.reconstruction,
        )

    def expected_error(
        self,
        domain: Domain,
        workload: Workload | Iterable[Iterable[str]] | None,
        budget: Budget,
    ) -> float:
        """The expected squared error of the workload, before negative counts are removed.

        It is in squared rows: the errors of all cells of all marginals are added, each times the
        weight of its marginal. It is the error of the least-squares estimate from the noisy views,
        which consistency gives; see `designs.least_squares_error`.

        Raises
        ------
        DomainError
            When a view of the workload is not within a measured view: the error of its estimate has
            no closed form.
        """
        asked_for = asked(domain, workload)
        views, variances = self._variances(
            domain,
            None if workload is None else asked_for,
            budget,
        )
        error = error_of_views(domain, views, variances, asked_for)
        if math.isinf(error):
            raise DomainError(
                "the error can be computed in advance only for marginals within a measured view, "
                "but some views of the workload are not; measure them too, or ask for marginals "
                "within the views"
            )
        return error

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
        asked_for = asked(domain, workload)
        precision = self._precision(domain, None if workload is None else asked_for, budget)
        return table_errors(domain, asked_for, precision)

    def largest_errors(
        self,
        domain: Domain,
        workload: Workload | Iterable[Iterable[str]] | None,
        budget: Budget,
    ) -> list[float]:
        """The largest expected squared error of a count of each table, as in `table_errors`."""
        asked_for = asked(domain, workload)
        precision = self._precision(domain, None if workload is None else asked_for, budget)
        return largest_errors(domain, asked_for, precision)

    def _precision(
        self,
        domain: Domain,
        workload: Workload | None,
        budget: Budget,
    ) -> Precision:
        views, variances = self._variances(domain, workload, budget)
        return of_views(domain, [sorted(domain.axes(view)) for view in views], variances)

    def planned(
        self,
        domain: Domain,
        workload: Workload | Iterable[Iterable[str]] | None,
        budget: Budget,
    ) -> "PriView":
        """Choose the views and shares now, without the data; return a `PriView` that has them as
        `views` and `shares`.

        Raises
        ------
        DomainError
            When the selection needs the number of rows, which only a release can measure.
        """
        check_domain(domain)
        checked = None if workload is None else Workload.of(domain, workload)
        views, shares = self._chosen(domain, checked, budget)
        return replace(
            self,
            views=views,
            shares=shares,
        )

    def _variances(
        self,
        domain: Domain,
        workload: Workload | None,
        budget: Budget,
    ) -> tuple[list[View], list[float]]:
        """The views to measure, and the noise variance of a cell of each."""
        views, shares = self._chosen(domain, workload, budget)
        # The noise of each view follows from its share of the budget.
        noises = budget.counts_at_once(len(views) if shares is None else shares)
        return views, variances_of(noises)

    def _with_rows(self, private: Private) -> Domain:
        """The domain, with a noisy number of rows if the selection needs one."""
        domain, selection = private.domain, self.selection
        if self.views is not None or not isinstance(selection, UsesRows):
            return domain
        if not selection.needs_rows(domain):
            return domain
        rows = private.count_rows(spend=selection.rows_share)
        return Domain(domain, rows=max(1, rows))

    def _chosen(
        self,
        domain: Domain,
        workload: "Workload | Iterable[Iterable[str]] | None",
        budget: Budget,
    ) -> tuple[list[View], Sequence[float] | None]:
        """The views to measure, and their shares of the budget (None for equal shares).

        Known views are not measured, unless all are known.
        """
        if self.views is not None:
            views = [domain.view(view) for view in self.views]
            open_ = [place for place, view in enumerate(views) if not domain.knows(view)]
            if not open_:
                return views, self.shares
            shares = None if self.shares is None else [self.shares[place] for place in open_]
            return [views[place] for place in open_], shares
        log.info("choosing views")
        checked = None if workload is None else Workload.of(domain, workload)
        if checked is not None and domain.known:
            checked = _unknown(domain, checked)
        return self.selection.plan(domain, checked, budget)


def _unknown(domain: Domain, workload: Workload) -> Workload:
    """The views of a workload that are not known; all of them if all are known."""
    open_ = [place for place, view in enumerate(workload) if not domain.knows(view)]
    if not open_:
        return workload
    return Workload(
        tuple(workload.views[place] for place in open_),
        tuple(workload.weights[place] for place in open_),
        levels=tuple(workload.levels[place] for place in open_) if workload.levels else (),
        asked=workload.asked,
    )


def _is_list(value: object) -> bool:
    return isinstance(value, Iterable) and not isinstance(value, str | bytes)


def _checked(shares: Sequence[float], count: int) -> tuple[float, ...]:
    given = tuple(shares) if _is_list(shares) else ()
    if len(given) != count:
        raise DomainError(
            f"shares has {len(given)} numbers, but there are {count} views; give one number for "
            "each view"
        )
    checked = [positive_number("each share", share) for share in given]
    return tuple(share if isinstance(share, int | float) else float(share) for share in checked)
