"""`GroupedView`: a view whose cells are sums over any groups of categories."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from ..._types import Floats, Integers
from ..domain import Domain, View

__all__ = ["GroupedView", "sums_of_groups"]

Number = TypeVar("Number", np.int64, np.float64)


@dataclass(
    frozen=True,
    eq=False,
)
class GroupedView:
    """A view whose cells are sums of cells of the view on its attributes, for any groups of
    categories. `LevelView` is the same for the nodes of levels.

    Attributes
    ----------
    domain
        The domain of the attributes.
    view
        The attributes.
    groups
        For each attribute the group of each of its codes, shape (categories,), where every group
        has a code; None for the attribute itself.
    rolled
        The domain of the groups.
    """

    domain: Domain
    view: View
    groups: tuple[Integers | None, ...]
    rolled: Domain

    def rolled_up(self, table: Floats) -> Floats:
        """Sum the cells of a table on `view` to the cells of this view."""
        for axis, group in enumerate(self.groups):
            if group is not None:
                table = sums_of_groups(table, group, axis)
        return table

    def codes(self, cell: Sequence[int]) -> dict[str, tuple[int, ...]]:
        """The codes of the attributes that belong to a cell, in the order of the domain. An
        attribute all of whose codes belong to the cell is left out."""
        found = {}
        for name, group, place in zip(self.view, self.groups, cell, strict=True):
            own = (place,) if group is None else tuple(np.flatnonzero(group == place).tolist())
            if len(own) < self.domain[name].size:
                found[name] = own
        return {name: found[name] for name in self.domain if name in found}


def sums_of_groups(
    table: NDArray[Number],
    group: Integers,
    axis: int,
) -> NDArray[Number]:
    """The sums of a table over groups of the categories of an axis.

    `group` is the group of each category, shape (categories,).
    """
    shape = (*table.shape[:axis], int(group.max()) + 1, *table.shape[axis + 1 :])
    summed = np.zeros(shape, table.dtype)
    np.add.at(np.moveaxis(summed, axis, 0), group, np.moveaxis(table, axis, 0))
    return summed
