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
) -> tuple[Candidate, Evidence]:
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
        The candidate to measure with the rest of the budget, and the earlier measurements that are
        kept.
    """
    held = of_components(domain, _by_names(domain, evidence.precision))
    best = considered.combined(held, first, strength, rows, variance=variance)[0]
    if best.keeps:
        return best.candidate, evidence
    return best.candidate, _within(evidence, considered.precision(best.candidate))


def _by_names(domain: Domain, precision: Mapping[Axes, float]) -> dict[View, float]:
    """The precision of each component by the names of its attributes."""
    names = domain.attributes
    return {tuple(names[axis] for axis in axes): own for axes, own in precision.items()}


def _within(evidence: Evidence, measured: Precision) -> Evidence:
    """The measurements of the components that another mechanism measures, and of the total."""

    def kept(axes: Axes) -> bool:
        varying = [axis for axis in axes if evidence.sizes[axis] > 1]
        return not varying or float(measured(np.array([varying]))[0, -1]) > 0

    left = Evidence(
        sizes=evidence.sizes,
        zeros=evidence.zeros,
        known=evidence.known,
    )
    for axes in filter(kept, evidence.precision):
        left.precision[axes] = evidence.precision[axes]
        left.weighted[axes] = evidence.weighted[axes]
    # The noise of a table's cells is in all of its components: those that stay, too.
    left.measured.extend(evidence.measured)
    return left
