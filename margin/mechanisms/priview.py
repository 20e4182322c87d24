"""`PriView`: a few overlapping views, made consistent and non-negative, from which any marginal is reconstructed."""

import itertools
import logging
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ..budget import PureDP
from ..designs import choose_views
from ..domain import View
from ..errors import DomainError
from ..private import Private
from ..solvers import (
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
from ..synopses import ViewSynopsis
from ..workload import Workload

__all__ = ["PriView", "noise_error"]

log = logging.getLogger("margin")


@dataclass(frozen=True, kw_only=True)
class PriView:
    """Release through views (Qardaji, Yang and Li, SIGMOD 2014), with the best known step in each place.

    Parameters
    ----------
    views
        The views to measure, as lists of attribute names. None chooses views that cover every pair of attributes (or
        every pair within a view of the workload), from the sizes of the attributes alone.
    consistency
        Makes the noisy views agree.
    nonnegativity
        Removes negative counts; None leaves them.
    reconstruction
        Answers what no view covers.

    All noise comes from one call of `Private.measure`, which spends the whole budget in equal parts on the views;
    everything after it is post-processing.

    Examples
    --------
    >>> PriView(views=[["age", "sex"], ["age", "region"]]).views
    (('age', 'sex'), ('age', 'region'))
    """

    views: Sequence[Iterable[str]] | None = None
    consistency: Consistency = ResidualConsistency()
    nonnegativity: NonNegativity | None = JointProjection()
    reconstruction: Solver = Newton()

    def __post_init__(self) -> None:
        if self.views is None:
            return
        if not _is_list(self.views) or not all(map(_is_list, self.views)):
            raise DomainError("views must be a list of views, each a list of attribute names")
        object.__setattr__(self, "views", tuple(tuple(view) for view in self.views))
        if not self.views:
            raise DomainError("views must hold at least one view, or be None")

    @classmethod
    def paper(cls, *, views: Sequence[Iterable[str]] | None = None) -> "PriView":
        """The method as published: lattice consistency, ripple, and maximum entropy with relaxed constraints."""
        return cls(views=views, consistency=LatticeConsistency(), nonnegativity=Ripple(), reconstruction=Ladder())

    def run(self, private: Private, workload: Workload | None) -> ViewSynopsis:
        """Choose views, measure them, make them consistent and non-negative."""
        measured = private.measure(self._chosen(private, workload))
        synopsis = ViewSynopsis.of(private.domain, measured, reconstruction=self.reconstruction)
        log.info("making the views consistent")
        tables = self.consistency(synopsis.tables)
        if self.nonnegativity is not None:
            tables = self.nonnegativity(tables)
            if not self.nonnegativity.keeps_consistency:
                tables = self.consistency(tables)
        return synopsis.with_tables(tables)

    def _chosen(self, private: Private, workload: Workload | None) -> Sequence[View]:
        domain = private.domain
        if self.views is not None:
            return [domain.view(view) for view in self.views]
        log.info("choosing views")
        # A cell's noise variance falls with the square of a share of epsilon, but in proportion to a share of rho.
        power = 2 if isinstance(private.budget, PureDP) else 1
        sets = None
        if workload is not None:
            parts = (itertools.combinations(sorted(domain.axes(view)), min(2, len(view))) for view in workload)
            sets = sorted(set(itertools.chain.from_iterable(parts)))
        chosen = choose_views(domain.sizes, t=2, sets=sets, power=power)
        return [tuple(domain.attributes[axis] for axis in view) for view in chosen]


def _is_list(value: object) -> bool:
    return isinstance(value, Iterable) and not isinstance(value, str | bytes)


def noise_error(*, attributes: int, block: int, views: int, rows: float, epsilon: float) -> float:
    """The published estimate of the noise error of a pair, as a share of the rows.

    Equation (5) of Qardaji, Yang and Li, SIGMOD 2014, for binary attributes under pure differential privacy, with
    `views` views of `block` attributes each; they advise to cover pairs, triples or quadruples so that it lies between
    0.001 and 0.003, with a rough idea of the number of rows.

    Examples
    --------
    >>> round(noise_error(attributes=32, block=8, views=20, rows=912_627, epsilon=1), 5)
    0.00047
    """
    covered = views * block * (block - 1) / (attributes * (attributes - 1))
    return math.sqrt(2 ** (block + 1) * views**2 / covered) / (rows * epsilon)
