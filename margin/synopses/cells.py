"""`CellSynopsis` answers from a summary of a noisy table that may be too large to be written out."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from .._types import Floats, Integers
from ..domain.attribute import UNSEEN
from ..domain.domain import Domain
from ..domain.marginal import Marginal
from ..domain.workload import Workload
from ..errors import DomainError
from ..sparse.axes import Axis, Halves, Leaves, Pick, Tree
from .synopsis import Packed, Provenance, Synopsis

__all__ = ["CellSynopsis", "Estimate"]

Predicate = Callable[[Mapping[str, Integers]], Any] | Mapping[str, Iterable[Any]]

_MAX_CELLS = 1 << 24
_AXES: Mapping[str, type[Axis]] = {kind.__name__: kind for kind in (Leaves, Tree, Halves)}


class Estimate(float):
    """An estimated count: a float, with two more.

    Attributes
    ----------
    standard_error
        The deviation that noise and sampling cause. After a filter it is that of what passed; what
        the filter dropped is a bias, which is not in it. NaN when it is not known.
    raw
        The sum of the noisy counts themselves. It is biased after sampling, since small counts are
        missing, but nearer to the truth where few cells matter.
    """

    standard_error: float
    raw: float

    def __new__(cls, value: float, standard_error: float, raw: float) -> "Estimate":
        estimate = super().__new__(cls, value)
        estimate.standard_error, estimate.raw = standard_error, raw
        return estimate


@dataclass(frozen=True, kw_only=True, eq=False)
class CellSynopsis(Synopsis):
    """Some cells of a noisy table, with weights; the others are taken for zero.

    The weight of a noisy count v is sign(v) max(|v|, tau). As it was sampled with probability
    min(1, |v| / tau), sums of weights are unbiased for the sums of all noisy counts that are at
    least theta in size, hence for sums of true counts when theta is one (Horvitz and Thompson;
    Duffield, Lund and Thorup 2007 for priority samples).

    Marginals and single cells are zero where the rules of the domain leave nothing; `sum` and
    `range` add up what was kept, rules or not.

    Attributes
    ----------
    domain, provenance
        See `Synopsis`.
    axes
        What was counted, an axis an attribute: cells (`Leaves`), or the nodes of trees.
    codes
        The cells, or nodes, that were kept, in order: shape (kept, attributes).
    values
        Their noisy counts, integers: shape (kept,).
    theta
        The least size of a noisy count that could be kept.
    tau
        The size from which on a noisy count was kept for certain; of no effect up to theta. Of a
        priority sample it is the cut, a point of a public grid (see `PrioritySample`), or zero when
        nothing was cut off.
    two_sided
        Whether negative counts could be kept.
    variance
        That of the noise in each cell, before any was dropped.
    agreed
        Estimates of the nodes of a tree that are nearer to each other's sums than the noisy counts,
        and count in their place: shape (kept,). None where there are none. Where no node is
        missing, the noise in a sum of theirs is at most its standard error (Gauss-Markov); what the
        filter dropped is in neither.
    """

    axes: tuple[Axis, ...]
    codes: Integers
    values: Integers
    theta: int
    tau: float
    two_sided: bool
    variance: float
    agreed: Floats | None = None

    @cached_property
    def weights(self) -> Floats:
        """What each kept cell counts for: shape (kept,)."""
        if self.agreed is not None:
            return self.agreed
        return np.where(self.values < 0, -1.0, 1.0) * np.maximum(np.abs(self.values), self.tau)

    def cells(self) -> tuple[Integers, Integers, Floats]:
        """The codes of what was kept, shape (kept, attributes), in order; its noisy counts; and its
        weights."""
        return self.codes, self.values, self.weights

    def point(self, cell: Mapping[str, Any]) -> Estimate:
        """The count of the cell with these categories, one an attribute of the domain; DomainError
        for any other."""
        if not isinstance(cell, Mapping) or set(cell) != set(self.domain):
            raise DomainError("a cell has one category for each attribute of the domain, by name")
        estimate = self.sum({name: [category] for name, category in cell.items()})
        if self.domain.zeros is not None:
            codes = np.array([[self.domain[name].code(cell[name]) for name in self.domain]])
            return Estimate(0.0, 0.0, 0.0) if self.domain.zeros.broken(codes)[0] else estimate
        return estimate

    def sum(self, predicate: "Predicate") -> Estimate:
        """The number of rows in some cells.

        Parameters
        ----------
        predicate
            A mapping from names to lists of categories: the cells that have one of them in each of
            these attributes. Or a function that is given the codes of cells, an integer array
            (cells,) for each name, and returns as many truth values; it sees cells only, so where
            trees were counted their leaves answer.

        Raises
        ------
        DomainError
            When a name or a category is not of the domain, the function returns something else, or
            differences of halves were counted, which answer to mappings only.
        """
        if isinstance(predicate, Mapping):
            picks = dict(self._pick(name, categories) for name, categories in predicate.items())
            return self._picked([picks.get(name) for name in self.domain])
        if not callable(predicate):
            raise DomainError(
                "a predicate is a function of the cells' codes, or a mapping from names to categories"
            )
        if any(isinstance(axis, Halves) for axis in self.axes):
            raise DomainError(
                "differences of halves answer ranges and mappings of categories, not functions"
            )
        leaves = np.ones(len(self.codes), np.bool_)
        for axis, column in zip(self.axes, self.codes.T, strict=True):
            leaves &= column < axis.size
        true = np.zeros(len(self.codes))
        true[leaves] = self._asked(predicate, self.codes[leaves])
        return self._estimate(true, self._noise_of(predicate))

    def range(
        self, bounds: Mapping[str, tuple[int, int]] | None = None, /, **named: tuple[int, int]
    ) -> Estimate:
        """The number of rows whose codes lie in some intervals.

        Parameters
        ----------
        bounds, named
            For some attributes (low, high): codes from low to high - 1. Other attributes are not
            restricted.

        Raises
        ------
        DomainError
            When a name is unknown, or bounds are not 0 <= low <= high <= size.
        """
        asked = {**(bounds or {}), **named}
        picks: list[Pick | None] = [None] * len(self.axes)
        for name, limits in asked.items():
            size = self.domain[name].size
            low, high = limits
            if not 0 <= low <= high <= size:
                raise DomainError(
                    f"a range of attribute {name!r} must have 0 <= low <= high <= {size}"
                )
            if low == high:
                return Estimate(0.0, 0.0, 0.0)
            picks[self.domain.position[name]] = Pick.interval(int(low), int(high))
        return self._picked(picks)

    def marginals(self, workload: Iterable[Iterable[str]]) -> list[Marginal]:
        """The marginals of several views; see `Synopsis.marginals`.

        The variance of a count is that of `Estimate.standard_error`; NaN where it is not known.
        """
        return [self._marginal(view) for view in Workload.of(self.domain, workload)]

    def summary(self) -> dict[str, str]:
        """What it consists of, for people."""
        cells = math.prod(axis.nodes for axis in self.axes)
        rule = f"at least {self.theta} in size" if self.theta > 1 or self.tau <= 1 else ""
        sampled = (
            f"sampled in proportion to size up to {self.tau:.6g}" if self.tau > self.theta else ""
        )
        return {
            "cells": f"{len(self.values)} kept of {cells:.3g}",
            "rule": ", ".join(filter(None, [rule, sampled])) or "all",
            "noise": f"standard deviation {math.sqrt(self.variance):.6g} a cell",
        }

    def pack(self) -> Packed:
        """See `Synopsis.pack`."""
        fields = {
            "axes": [type(axis).__name__ for axis in self.axes],
            "kept": len(self.values),
            "theta": self.theta,
            "tau": self.tau,
            "two_sided": self.two_sided,
            "variance": self.variance,
        }
        arrays: dict[str, NDArray[Any]] = {"codes": self.codes, "values": self.values}
        if self.agreed is not None:
            arrays["agreed"] = self.agreed
        return Packed(fields, arrays)

    @classmethod
    def room(cls, fields: Mapping[str, Any], *, domain: Domain) -> Mapping[str, int]:
        """See `Synopsis.room`."""
        kept = int(fields["kept"])
        return {"codes": kept * len(domain), "values": kept, "agreed": kept}

    @classmethod
    def unpack(cls, packed: Packed, *, domain: Domain, provenance: Provenance) -> Self:
        """See `Synopsis.unpack`."""
        fields, arrays = packed
        axes = tuple(
            _AXES[kind](size) for kind, size in zip(fields["axes"], domain.sizes, strict=True)
        )
        codes, values = (np.asarray(arrays[name]) for name in ("codes", "values"))
        nodes = np.array([axis.nodes for axis in axes])
        if (
            codes.dtype != np.int64
            or values.dtype != np.int64
            or codes.shape != (values.size, len(axes))
        ):
            raise ValueError("unexpected array")
        if (codes < 0).any() or (codes >= nodes).any():
            raise ValueError("a cell outside the domain")
        agreed = arrays.get("agreed")
        if agreed is not None and (agreed.dtype != np.float64 or agreed.shape != values.shape):
            raise ValueError("unexpected array")
        return cls(
            domain=domain,
            provenance=provenance,
            axes=axes,
            codes=codes,
            values=values,
            theta=int(fields["theta"]),
            tau=float(fields["tau"]),
            two_sided=bool(fields["two_sided"]),
            variance=float(fields["variance"]),
            agreed=None if agreed is None else agreed.astype(np.float64),
        )

    @property
    def _chances(self) -> Floats:
        """With which probability each kept cell was sampled, given that it passed the filter: shape
        (kept,)."""
        return np.minimum(np.abs(self.values) / max(self.tau, 1e-300), 1.0)

    def _pick(self, name: str, categories: Iterable[Any]) -> tuple[str, Pick]:
        attribute = self.domain[name]
        if isinstance(categories, str | bytes) or not isinstance(categories, Iterable):
            raise DomainError(f"categories of attribute {name!r} must be a list")
        codes = np.array([attribute.code(category) for category in categories], np.int64)
        if not codes.size or (codes == UNSEEN).any():
            raise DomainError(
                f"categories of attribute {name!r} must be one or more of those it declares"
            )
        return name, Pick.of(codes)

    def _picked(self, picks: Sequence[Pick | None]) -> Estimate:
        shares, noise = np.ones(len(self.codes)), self.variance
        for axis, pick, column in zip(self.axes, picks, self.codes.T, strict=True):
            chosen = Pick.interval(0, axis.size) if pick is None else pick
            shares *= axis.shares(chosen, column)
            noise *= axis.noise(chosen)
        return self._estimate(shares, noise)

    def _estimate(self, shares: Floats, noise: float) -> Estimate:
        used = np.flatnonzero(shares)
        share, weight = shares[used], self.weights[used]
        variance = float((share**2 * self._sampling(used)).sum())
        variance += (
            float((share**2 / self._chances[used]).sum() * self.variance)
            if self._filtered
            else noise
        )
        return Estimate(
            float(share @ weight), math.sqrt(variance), float(share @ self.values[used])
        )

    @property
    def _filtered(self) -> bool:
        return self.theta > 1 or not self.two_sided

    def _sampling(self, used: Integers) -> Floats:
        """An unbiased estimate of the variance that sampling adds: tau (tau - |v|) for each |v| <
        tau that was kept."""
        gap: Floats = np.maximum(self.tau - np.abs(self.values[used]), 0.0)
        return self.tau * gap

    def _asked(
        self, predicate: Callable[[Mapping[str, Integers]], Any], codes: Integers
    ) -> NDArray[np.bool_]:
        answer = np.asarray(predicate(dict(zip(self.domain, codes.T, strict=True))))
        if answer.shape != (len(codes),) or answer.dtype != np.bool_:
            raise DomainError("a predicate must return one truth value for each cell")
        return answer

    def _noise_of(self, predicate: Callable[[Mapping[str, Integers]], Any]) -> float:
        """The noise in all the cells asked for, where they are few enough to be counted."""
        if self._filtered or math.prod(self.domain.sizes) > _MAX_CELLS >> 2:
            return math.nan
        every = np.stack(
            np.unravel_index(np.arange(math.prod(self.domain.sizes)), self.domain.sizes), axis=1
        )
        return float(self._asked(predicate, every.astype(np.int64)).sum()) * self.variance

    def _marginal(self, view: tuple[str, ...]) -> Marginal:
        domain = self.domain.restrict(view, checked=True)
        if math.prod(domain.sizes) > _MAX_CELLS:
            raise DomainError(
                f"view {', '.join(view)} has more than {_MAX_CELLS} cells: ask for ranges or sums"
            )
        places = [self.domain.position[name] for name in view]
        shares, noise = np.ones(len(self.codes)), self.variance
        for place, axis in enumerate(self.axes):
            if place not in places:
                everything = Pick.interval(0, axis.size)
                shares *= axis.shares(everything, self.codes[:, place])
                noise *= axis.noise(everything)
            elif not isinstance(axis, Halves):
                shares *= self.codes[:, place] < axis.size
        used = np.flatnonzero(shares)
        halves = any(isinstance(self.axes[place], Halves) for place in places)
        nodes = tuple(_height(self.axes[place]) for place in places)
        if math.prod(nodes) > 4 * _MAX_CELLS:
            raise DomainError(
                f"view {', '.join(view)} is too large to be written out: ask for ranges or sums"
            )
        flat = np.asarray(
            np.ravel_multi_index(tuple(self.codes[used][:, places].T), nodes), np.int64
        )
        share = shares[used]
        counts = _table(flat, share * self.weights[used], nodes)
        if halves:
            for axis_of_table, place in enumerate(places):
                if isinstance(self.axes[place], Halves):
                    counts = _leaves(counts, axis_of_table, self.axes[place])
            return self._answered(view, counts, np.full(counts.shape, np.nan))
        spread = share**2 * self._sampling(used)
        if self._filtered:
            spread, noise = spread + share**2 / self._chances[used] * self.variance, 0.0
        variance = _table(flat, spread, nodes) + noise
        return self._answered(view, counts, variance)


def _table(cells: Integers, values: Floats, shape: tuple[int, ...]) -> Floats:
    """The sums of values by cell."""
    return np.bincount(cells, values, math.prod(shape)).astype(np.float64).reshape(shape)


def _height(axis: Axis) -> int:
    return axis.nodes if isinstance(axis, Halves) else axis.size


def _leaves(table: Floats, along: int, axis: Axis) -> Floats:
    """Counts of codes from sums and differences of halves, along an axis of a table."""
    codes = np.arange(axis.size)
    nodes = np.moveaxis(table, along, 0)
    counts = np.broadcast_to(nodes[0] / 2**axis.height, (axis.size, *nodes.shape[1:])).copy()
    for level in axis.levels[1:]:
        sign = np.where(codes >> (level.shift - 1) & 1, -1.0, 1.0) / 2**level.shift
        counts += nodes[level.offset + (codes >> level.shift)] * sign.reshape(
            -1, *[1] * (nodes.ndim - 1)
        )
    return np.moveaxis(counts, 0, along)
