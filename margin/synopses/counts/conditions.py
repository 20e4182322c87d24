"""Cells that conditions select."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..._types import Flags, Floats, Integers
from ...domain.domain import Domain
from ...domain.where import Chosen

__all__ = ["box", "certain", "common", "implies", "left_open", "weights_on"]


def implies(one: Chosen, other: Chosen) -> bool:
    """Whether all cells that `one` selects are among those that `other` selects."""
    return all(name in one and set(one[name]) <= set(codes) for name, codes in other.items())


def common(one: Chosen, other: Chosen) -> Chosen | None:
    """The cells that two conditions both select; None if there are none."""
    both = {**one, **other}
    for name in one.keys() & other.keys():
        both[name] = tuple(sorted(set(one[name]) & set(other[name])))
    return both if all(both.values()) else None


def box(codes: Chosen, shape: tuple[int, ...]) -> tuple[Any, ...]:
    """The index of the selected cells of a marginal on the attributes of `codes`, in their order.

    Without attributes it selects all cells.
    """
    if not codes:
        return tuple(slice(None) for _ in shape)
    return np.ix_(*codes.values())


def left_open(
    domain: Domain,
    axes: tuple[int, ...],
    weights: Floats,
) -> Floats:
    """The part of the weights of a sum of cells that the known tables of the domain leave open.

    `axes` are those of the marginal, ascending; the weights have its shape.
    """
    # The total alone is known by the precision of its component.
    if domain.constraints is None or not domain.constraints.more:
        return weights
    empty = None if domain.zeros is None else domain.zeros.cells(axes)
    return domain.constraints.left_open(axes, weights, empty)


def certain(
    domain: Domain,
    axes: tuple[int, ...],
    groups: Sequence[Integers | None] | None = None,
) -> Flags:
    """Whether the count of each cell of a marginal follows from the rules and known tables.

    Parameters
    ----------
    domain
        The attributes.
    axes
        The axes of the marginal, in its order.
    groups
        For each axis the group of each category, shape (categories,), and None for the categories
        themselves. A group is then certain if the sum of its cells is. None for no groups.

    Returns
    -------
    ndarray
        A flag for each cell, also if there are groups.
    """
    sizes = [domain.sizes[axis] for axis in axes]
    empty = None
    if domain.zeros is not None:
        order = tuple(sorted(axes))
        empty = domain.zeros.cells(order).transpose([order.index(axis) for axis in axes])
    if domain.constraints is None:
        return np.zeros(sizes, np.bool_) if empty is None else empty
    sums = None
    if groups is not None:
        pairs = zip(groups, sizes, strict=True)
        codes = [np.arange(size) if group is None else group for group, size in pairs]
        shape = [int(own.max()) + 1 for own in codes]
        sums = np.ravel_multi_index(np.ix_(*codes), shape)
    return domain.constraints.told(axes, sums, empty)


def weights_on(
    domain: Domain,
    axes: Sequence[int],
    chosen: Sequence[Chosen],
) -> Floats:
    """The indicators of the selected cells of a marginal, shape (cells, q).

    Cells that the rules of the domain exclude have the weight zero: they hold no row for sure.

    Parameters
    ----------
    domain
        The attributes.
    axes
        The axes of the marginal, ascending.
    chosen
        The codes that each of the q sums selects; other attributes are not restricted.
    """
    columns = []
    for codes in chosen:
        column: Floats = np.ones(1)
        for axis in axes:
            own: Floats = np.ones(domain.sizes[axis])
            name = domain.attributes[axis]
            if name in codes:
                own = np.zeros(domain.sizes[axis])
                own[list(codes[name])] = 1.0
            column = np.outer(column, own).ravel()
        columns.append(column)
    weights = np.stack(columns, axis=1)
    if domain.zeros is not None and axes:
        weights[domain.zeros.cells(tuple(axes)).ravel()] = 0.0
    return weights
