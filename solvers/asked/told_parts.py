"""`ToldParts`: what known tables tell of the components of tables, in the metric of the queries."""

from collections.abc import Mapping

import numpy as np

from ..known.known import Known
from ..types import Floats, Integers
from .axis_metrics import AxisMetric

__all__ = ["ToldParts"]

_Axes = tuple[int, ...]


class ToldParts:
    """The projections of components onto the part that known tables tell.

    A known table states sums C x of cells, where C is the Kronecker product of one map C_a to
    groups of categories for each of its axes a. Let E_a be the `AxisMetric.extension` of axis a.
    Then P_a = E_a C_a is a projection onto what the sums tell that is orthogonal in the metric of
    the axis. So the Kronecker product P of the P_a is one, too. It maps each component into itself:
    P_a keeps the sum of all categories, and the spread of the axis, which is the `extension` of the
    total. So a known table tells the part P x_S of each component S on some of its axes, and leaves
    (I - P) x_S open.

    Along one axis the groups of two known tables are the same, or those of one lie within those of
    the other. So all these P commute, and the part that all known tables leave open is the product
    of their I - P.

    Parameters
    ----------
    known
        What is known.
    metrics
        The metric of each axis of which more than cells is asked.
    """

    def __init__(
        self,
        known: Known,
        metrics: Mapping[int, AxisMetric],
    ) -> None:
        # The axes of each known table, each with its groups and extension; None for whole axes.
        self._tables: list[dict[int, tuple[Integers, Floats] | None]] = []
        for table in known.tables:
            own: dict[int, tuple[Integers, Floats] | None] = {}
            for axis, group in zip(table.axes, table.groups, strict=True):
                own[axis] = None
                if group is not None:
                    starts = np.flatnonzero(np.diff(group, prepend=-1)).astype(np.int64)
                    own[axis] = (starts, _extension(metrics.get(axis), group))
            self._tables.append(own)

    def of(
        self,
        part: _Axes,
        component: Floats,
    ) -> Floats:
        """The part of a component that is told; `part` are its axes, in the order of its table."""
        left = component
        for table in self._tables:
            if table.keys() >= set(part):
                left = left - _projected(left, [table[axis] for axis in part])
        return component - left


def _projected(
    component: Floats,
    axes: list[tuple[Integers, Floats] | None],
) -> Floats:
    """P x for the starts of groups and the extension of each axis; None for P_a = I."""
    for place, grouped in enumerate(axes):
        if grouped is not None:
            starts, extension = grouped
            sums = np.add.reduceat(component, starts, axis=place)
            component = np.moveaxis(np.tensordot(extension, sums, axes=(1, place)), 0, place)
    return component


def _extension(
    metric: AxisMetric | None,
    group: Integers,
) -> Floats:
    """`AxisMetric.extension`; without a metric, sums are shared out evenly."""
    if metric is not None:
        return metric.extension(group)
    inside = group[:, None] == np.arange(group[-1] + 1)
    return np.asarray(inside / inside.sum(axis=0))
