"""The queries that a workload asks of one attribute: its cells, prefixes, ranges or levels."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .._types import Floats
from ..domain.domain import Domain
from ..domain.workload import Workload

__all__ = ["AxisQueries", "asked_queries", "queries_of"]


@dataclass(frozen=True)
class AxisQueries:
    """The queries W that are asked of one attribute of n values.

    Attributes
    ----------
    kind
        "cells": the n counts. "prefixes": the n counts of the codes up to each code. "ranges": the
        n (n + 1) / 2 counts of the codes from one to another. "levels": the counts of all nodes of
        all levels of a tree.
    size
        The number n of values.
    groups
        For "levels", the node of each code on each level, as bytes of arrays of type int64, so that
        equal queries are equal keys; empty for other kinds.
    """

    kind: str
    size: int
    groups: tuple[bytes, ...] = ()

    @classmethod
    def levels(cls, groups: Sequence[NDArray[np.int64]]) -> "AxisQueries":
        """The queries of a tree, from the node of each code on each level."""
        arrays = [np.ascontiguousarray(group, dtype=np.int64) for group in groups]
        return cls("levels", arrays[0].size, tuple(array.tobytes() for array in arrays))

    @property
    def count(self) -> int:
        """The number of queries."""
        if self.kind == "ranges":
            return self.size * (self.size + 1) // 2
        if self.kind == "levels":
            return sum(int(group.max()) + 1 for group in self._groups)
        return self.size

    @property
    def cells(self) -> Floats:
        """The number of codes of each query, shape (count,)."""
        codes = np.arange(1.0, self.size + 1)
        if self.kind == "prefixes":
            return codes
        if self.kind == "ranges":
            # There are n ranges of one code, and so on to one range of n codes.
            return np.repeat(codes, np.arange(self.size, 0, -1))
        if self.kind == "levels":
            return np.concatenate([np.bincount(group) for group in self._groups]).astype(np.float64)
        return np.ones(self.size)

    @property
    def gram(self) -> Floats:
        """The matrix W'W, shape (n, n).

        Number (i, j) is the number of queries that contain both codes: n - max(i, j) prefixes, and
        (min(i, j) + 1) (n - max(i, j)) ranges.
        """
        codes = np.arange(self.size, dtype=np.float64)
        if self.kind == "cells":
            return np.eye(self.size)
        if self.kind == "levels":
            gram = np.zeros((self.size, self.size))
            for group in self._groups:
                gram += group[:, None] == group
            return gram
        above: Floats = self.size - np.maximum.outer(codes, codes)
        if self.kind == "prefixes":
            return above
        return np.asarray(above * (np.minimum.outer(codes, codes) + 1))

    @property
    def matrix(self) -> Floats:
        """The queries W, one in each row, shape (count, n)."""
        codes = np.arange(self.size)
        if self.kind == "cells":
            return np.eye(self.size)
        if self.kind == "prefixes":
            return np.tril(np.ones((self.size, self.size)))
        if self.kind == "levels":
            nodes = [np.arange(int(group.max()) + 1)[:, None] == group for group in self._groups]
            return np.concatenate(nodes).astype(np.float64)
        first, last = np.triu_indices(self.size)
        inside = (first[:, None] <= codes) & (codes <= last[:, None])
        return inside.astype(np.float64)

    def variances(self, covariance: Floats) -> Floats:
        """The variances of the answers, from the covariance C of the counts of the codes: the
        diagonal of W C W', in any order of the queries.

        Parameters
        ----------
        covariance
            One matrix C or more, shape (..., n, n).

        Returns
        -------
        ndarray of shape (..., count)
        """
        if self.kind == "cells":
            return np.asarray(covariance.diagonal(axis1=-2, axis2=-1))
        if self.kind == "levels":
            # The variance of a node is the sum of the covariances of all pairs of its codes.
            parts = []
            for group in self._groups:
                nodes = np.arange(int(group.max()) + 1)[:, None] == group
                of_codes = np.where(group[:, None] == group, covariance, 0.0).sum(axis=-1)
                parts.append(of_codes @ nodes.T)
            return np.concatenate(parts, axis=-1)
        # The covariances of the prefixes, from the empty one to that of all codes.
        prefixes = np.zeros((*covariance.shape[:-2], self.size + 1, self.size + 1))
        prefixes[..., 1:, 1:] = covariance.cumsum(axis=-2).cumsum(axis=-1)
        own = prefixes.diagonal(axis1=-2, axis2=-1)
        if self.kind == "prefixes":
            return np.asarray(own[..., 1:])
        # A range is the difference of two different prefixes.
        first, last = np.triu_indices(self.size + 1, 1)
        return np.asarray(own[..., first] + own[..., last] - 2 * prefixes[..., first, last])

    @property
    def _groups(self) -> list[NDArray[np.int64]]:
        return [np.frombuffer(group, dtype=np.int64) for group in self.groups]


def asked_queries(domain: Domain, workload: Workload | None) -> dict[str, AxisQueries]:
    """The queries on each attribute of which a workload asks more than cells; empty for None."""
    found = {}
    for name, ask in ({} if workload is None else workload.asked).items():
        levels = domain[name].levels
        if ask == "levels" and levels is not None:
            found[name] = AxisQueries.levels(levels.groups)
        elif ask != "cells":
            found[name] = AxisQueries(ask, domain[name].size)
    return found


def queries_of(
    domain: Domain,
    name: str,
    level: str | None,
    asked: Mapping[str, AxisQueries],
) -> AxisQueries:
    """The queries of an attribute that a view asks, at the level that it names.

    A view that names a level asks the counts of this level alone. Otherwise it asks the queries in
    `asked` (see `asked_queries`), or the cells.
    """
    declared = domain[name].levels
    if declared is not None and level is not None:
        return AxisQueries.levels([declared.groups[declared.index(level)]])
    return asked.get(name) or AxisQueries("cells", domain[name].size)
