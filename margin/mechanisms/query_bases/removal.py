"""How negative counts are removed where more than cells is asked of an attribute."""

from ...domain.domain import Domain
from ...domain.workload import Workload
from ...solvers import (
    AxisMetric,
    JointProjection,
    NonNegativity,
    OrderMetric,
    QueryProjection,
    TreeMetric,
)

__all__ = ["removal"]

_MOST_CELLS = 1 << 17
"""Largest number of cells of all tables whose negative counts are removed in the metric of the
queries; more take minutes."""


def removal(
    domain: Domain,
    workload: Workload | None,
    nonnegativity: NonNegativity | None,
    *,
    cells: int,
) -> NonNegativity | None:
    """The method that removes negative counts from tables of a domain.

    `JointProjection` treats all cells alike, which raises sums of many cells. So `QueryProjection`
    takes its place if the workload asks prefixes or ranges, or an attribute has levels. Any other
    method is returned as it is.

    Parameters
    ----------
    domain, workload
        What is declared and asked.
    nonnegativity
        The method that is set.
    cells
        The number of cells of all tables. If they are too many for `QueryProjection`, negative
        counts stay where the workload asks prefixes, ranges or levels.
    """
    if not isinstance(nonnegativity, JointProjection):
        return nonnegativity
    asked = {} if workload is None else workload.asked
    metrics: dict[int, AxisMetric] = {}
    for axis, (name, attribute) in enumerate(domain.items()):
        kind = asked.get(name, "cells")
        if kind in ("prefixes", "ranges"):
            metrics[axis] = OrderMetric(attribute.size, kind == "ranges")
        elif attribute.levels is not None:
            metrics[axis] = TreeMetric.of(attribute.levels.groups)
    if not metrics:
        return nonnegativity
    if cells > _MOST_CELLS:
        return None if asked else nonnegativity
    return QueryProjection(metrics=metrics)
