"""A second choice: what to measure with the rest of the budget, after a part of it has measured the
candidate that looked best."""

from collections.abc import Mapping

import numpy as np

from ...domain.domain import Domain, View
from ...solvers import Evidence
from ...solvers.tables.tables import Axes
from ..by_table import Precision, of_components
from .candidates import Candidate, Candidates
from .strength import Strength

__all__ = ["chosen_again"]


def chosen_again(
    domain: Domain,
    considered: Candidates,
    evidence: Evidence,
    first: Candidate,
    strength: Strength,
    rows: float,
    variance: float,
) -> tuple[Candidate, Evidence, Evidence | None]:
    """Choose the candidate that is best together with what has been measured.

    Each candidate is judged twice: with all earlier measurements, and with those alone of the
    components that it measures itself. The second is better where earlier measurements of other
    components are more noise than signal.

    Parameters
    ----------
    evidence
        All measurements so far, those of `first` among them.
    first
        The candidate that was measured with a part of the budget.
    strength
        The strength of structure that all measurements so far tell.
    rows
        The approximate number of rows, > 0.
    variance
        The factor by which the variance of noise grows, because a part of the budget is spent.

    Returns
    -------
    tuple
        The candidate to measure with the rest of the budget; the earlier measurements that are
        kept; and those that are left out, None if there are none.
    """
    held = of_components(domain, _by_names(domain, evidence.precision))
    best = considered.combined(held, first, strength, rows, variance=variance)[0]
    if best.keeps:
        return best.candidate, evidence, None
    return best.candidate, *_parted(evidence, considered.precision(best.candidate))


def _by_names(domain: Domain, precision: Mapping[Axes, float]) -> dict[View, float]:
    """The precision of each component by the names of its attributes."""
    names = domain.attributes
    return {tuple(names[axis] for axis in axes): own for axes, own in precision.items()}


def _parted(evidence: Evidence, measured: Precision) -> tuple[Evidence, Evidence]:
    """The measurements of the components that another mechanism measures, and those of others."""
    kept = evidence.empty()
    others = evidence.empty()
    for axes, precision in evidence.precision.items():
        # The total is kept in any case.
        is_kept = not axes or float(measured(np.array([axes]))[0, -1]) > 0
        part = kept if is_kept else others
        part.precision[axes] = precision
        part.weighted[axes] = evidence.weighted[axes]
    # The noise of a table's cells is in all of its components: in those that stay, too.
    kept.measured.extend(evidence.measured)
    return kept, others
