"""`CellSynopsis`: a synopsis with some cells of a noisy table that is too large to write out."""

import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from .._numbers import shown
from .._types import Floats, Integers
from ..domain.attribute import UNSEEN
from ..domain.bounds import LAPLACE_KURTOSIS
from ..domain.domain import Domain
from ..domain.marginal import Marginal
from ..domain.where import Chosen
from ..domain.workload import Workload
from ..errors import DomainError
from ..sparse.axes import Axis, Halves, Leaves, Pick, Tree
from .counts.conditions import common
from .counts.sums import Sums
from .noisy_tables import check_finite, check_variances, negative_left
from .synopsis import Packed, Provenance, Synopsis

__all__ = ["CellSynopsis", "Estimate"]

Test = Callable[[Mapping[str, Integers]], Any]
"""A function from the codes of cells, by the names of attributes, to truth values."""

Predicate = Test | Mapping[str, Iterable[Any]]

_MAX_CELLS = 1 << 24
"""Largest number of cells of a marginal."""

_MAX_TESTED = 1 << 22
"""Largest full table, in cells, for which the noise in the cells of a function is counted."""

_AXES: Mapping[str, type[Axis]] = {kind.__name__: kind for kind in (Leaves, Tree, Halves)}


class Estimate(float):
    """An estimated count with its standard error. It is a float with three attributes.

    Attributes
    ----------
    standard_error
        The standard deviation of the error, which noise and sampling cause, in rows. NaN if it is
        not known, such as after a filter: nothing tells how many rows are in the dropped cells.
        (`Synopsis.count` then tells the noise in the cells that passed as `noise_variance`.)
    raw
        The sum of the noisy counts themselves, in rows. It is biased after sampling, because small
        counts are missing, but nearer to the truth for few cells.
    noise_kurtosis
        The excess kurtosis of the error; see `Marginal`.
    """

    standard_error: float
    raw: float
    noise_kurtosis: float

    def __new__(
        cls,
        value: float,
        standard_error: float,
        raw: float,
        noise_kurtosis: float = 0.0,
    ) -> "Estimate":
        estimate = super().__new__(cls, value)
        estimate.standard_error = standard_error
        estimate.raw = raw
        estimate.noise_kurtosis = noise_kurtosis
        return estimate


@dataclass(
    frozen=True,
    kw_only=True,
    eq=False,
    repr=False,
)
class CellSynopsis(Synopsis):
    """A synopsis that holds some cells of a noisy table, each with a weight for sums.

    The count of every other cell is taken as zero.

    The weight of a noisy count v is sign(v) max(|v|, tau). The count was sampled with probability
    min(1, |v| / tau). Sums of weights are thus unbiased estimates of the sums of all noisy counts
    of absolute value theta or more, and of sums of true counts if theta is one (Horvitz and
    Thompson; Duffield, Lund and Thorup 2007 for priority samples).

    Marginals and single cells are zero where the rules of the domain exclude a cell. `sum` and
    `range` add up all kept cells, whatever the rules.

    Attributes
    ----------
    domain, provenance
        See `Synopsis`.
    axes
        The kind of each attribute: `Leaves` for cells, `Tree` or `Halves` for the nodes of trees.
    codes
        The cells or nodes that were kept, in ascending order: shape (kept, attributes).
    values
        Their noisy counts, integers: shape (kept,).
    theta
        The smallest absolute value of a noisy count that could be kept.
    tau
        The absolute value from which on a noisy count was kept with certainty; it has no effect up
        to theta. For a priority sample it is the cut, a point of a public grid (see
        `PrioritySample`), or zero if nothing was cut.
    two_sided
        Whether negative counts could be kept.
    variance
        The variance of the noise in each cell, before any was dropped, in squared rows.
    agreed
        Fitted counts of the nodes of a tree, used instead of the noisy counts because a node is
        closer to the sum of its children: shape (kept,). None if there are none. If no node is
        missing, the noise in a sum of them is at most its standard error (Gauss-Markov); neither
        includes the cells that the filter dropped.
    """

    _knows_sums: ClassVar[bool] = True

    axes: tuple[Axis, ...]
    codes: Integers
    values: Integers
    theta: int
    tau: float
    two_sided: bool
    variance: float
    agreed: Floats | None = None

    def __post_init__(self) -> None:
        fitted = () if self.agreed is None else ("agreed",)
        check_finite(self, "tau", *fitted)
        check_variances(self, [self.variance])

    @cached_property
    def weights(self) -> Floats:
        """The weight of each kept cell in sums: shape (kept,)."""
        if self.agreed is not None:
            return self.agreed
        sign = np.where(self.values < 0, -1.0, 1.0)
        return sign * np.maximum(np.abs(self.values), self.tau)

    def cells(self) -> tuple[Integers, Integers, Floats]:
        """The kept cells: codes, shape (kept, attributes), noisy counts and weights, shape
        (kept,)."""
        return self.codes, self.values, self.weights

    def point(self, cell: Mapping[str, Any]) -> Estimate:
        """Estimate the count of one cell.

        Parameters
        ----------
        cell
            A category for each attribute of the domain, by name.

        Raises
        ------
        DomainError
            When a name is missing or unknown, or its attribute does not declare a category.
        """
        if not isinstance(cell, Mapping) or set(cell) != set(self.domain):
            is_mapping = isinstance(cell, Mapping)
            found = f"names {shown(list(cell))}" if is_mapping else f"is {shown(cell)}"
            raise DomainError(
                "a cell must be a mapping with one category for each attribute of the domain, but "
                f"it {found}; name each of {', '.join(self.domain)} once"
            )
        estimate = self.sum({name: [category] for name, category in cell.items()})
        if self.domain.zeros is None:
            return estimate
        codes = np.array([[self.domain[name].code(cell[name]) for name in self.domain]])
        is_excluded = self.domain.zeros.broken(codes)[0]
        return Estimate(0.0, 0.0, 0.0) if is_excluded else estimate

    def sum(self, predicate: "Predicate") -> Estimate:
        """Estimate the number of rows in some cells.

        Parameters
        ----------
        predicate
            A mapping from names to lists of categories, for the cells that have one of the
            categories in each of these attributes. Or a function that takes the codes of cells, a
            mapping from names to integer arrays of shape (cells,), and returns a boolean array of
            this shape. A function is applied to cells only: if trees were counted, their leaves
            answer.

        Raises
        ------
        DomainError
            When a name or a category is not in the domain, or the function returns another type or
            shape. Also for a function if Haar coefficients were counted.
        """
        if isinstance(predicate, Mapping):
            picks = dict(self._pick(name, categories) for name, categories in predicate.items())
            return self._told(self._picked([picks.get(name) for name in self.domain]))
        if not callable(predicate):
            raise DomainError(
                "predicate must be a mapping from names to lists of categories, or a function of "
                f"the codes of cells, but it is of type {type(predicate).__name__}; pass one of "
                "these"
            )
        if any(isinstance(axis, Halves) for axis in self.axes):
            raise DomainError(
                "a function needs counts of cells, but this synopsis holds Haar coefficients; pass "
                "a mapping from names to lists of categories, or use range()"
            )
        # Only leaves of trees are cells.
        leaves = np.ones(len(self.codes), np.bool_)
        for axis, column in zip(self.axes, self.codes.T, strict=True):
            leaves &= column < axis.size
        true = np.zeros(len(self.codes))
        true[leaves] = self._asked(predicate, self.codes[leaves])
        return self._told(self._estimate(true, self._noise_of(predicate)))

    def range(
        self,
        bounds: Mapping[str, tuple[int, int]] | None = None,
        /,
        **named: tuple[int, int],
    ) -> Estimate:
        """Estimate the number of rows whose codes lie in some intervals.

        Parameters
        ----------
        bounds, named
            Intervals (low, high) of the codes low, ..., high - 1, by the names of attributes. Other
            attributes are not restricted.

        Raises
        ------
        DomainError
            When a name is unknown, or an interval does not satisfy 0 <= low <= high <= size.
        """
        asked = {**(bounds or {}), **named}
        picks: list[Pick | None] = [None] * len(self.axes)
        for name, limits in asked.items():
            size = self.domain[name].size
            low, high = limits
            if not 0 <= low <= high <= size:
                raise DomainError(
                    f"the range of attribute {name!r} must be (low, high) with 0 <= low <= high <= "
                    f"{size}, but it is {(low, high)}; correct it"
                )
            # An empty interval holds no row, with certainty.
            if low == high:
                return Estimate(0.0, 0.0, 0.0)
            picks[self.domain.position[name]] = Pick.interval(int(low), int(high))
        return self._told(self._picked(picks))

    def _marginals(self, workload: Iterable[Iterable[str]]) -> list[Marginal]:
        """Estimate the marginals of some views by sums over the kept cells.

        The noise variance of a count is that of noise and sampling in the cells that passed the
        filter, if there is one; NaN if not known. What a count misses is not known if a filter
        dropped cells.
        """
        return [self._marginal(view) for view in Workload.of(self.domain, workload)]

    def summary(self) -> dict[str, str]:
        """Describe the content in words for people: a dictionary of texts by their titles."""
        cells = math.prod(axis.nodes for axis in self.axes)
        rules = []
        if self.theta > 1 or self.tau <= 1:
            rules.append(f"at least {self.theta} in size")
        if self.tau > self.theta:
            rules.append(f"sampled in proportion to size up to {self.tau:.6g}")
        return {
            "cells": f"{len(self.values)} kept of {cells:.3g}",
            "rule": ", ".join(rules) or "all",
            "noise": f"standard deviation {math.sqrt(self.variance):.6g} a cell",
            **negative_left([self.values]),
        }

    def pack(self) -> Packed:
        """The content to write to a file; see `Synopsis.pack`."""
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
    def room(
        cls,
        fields: Mapping[str, Any],
        *,
        domain: Domain,
    ) -> Mapping[str, int]:
        """The largest number of entries that `unpack` accepts in each array of a file, by name."""
        kept = int(fields["kept"])
        return {"codes": kept * len(domain), "values": kept, "agreed": kept}

    @classmethod
    def unpack(
        cls,
        packed: Packed,
        *,
        domain: Domain,
        provenance: Provenance,
    ) -> Self:
        """Make the synopsis from the content of a file; see `Synopsis.unpack`."""
        fields, arrays = packed
        kinds = zip(fields["axes"], domain.sizes, strict=True)
        axes = tuple(_AXES[kind](size) for kind, size in kinds)
        codes = np.asarray(arrays["codes"])
        values = np.asarray(arrays["values"])
        nodes = np.array([axis.nodes for axis in axes])
        are_integers = codes.dtype == np.int64 and values.dtype == np.int64
        if not are_integers or codes.shape != (values.size, len(axes)):
            raise ValueError(
                f"codes and values must be 64-bit integers of shapes (cells, {len(axes)}) and "
                f"(cells,), but they are {codes.dtype} and {values.dtype} of shapes {codes.shape} "
                f"and {values.shape}; get a fresh copy of the file"
            )
        # A crafted file may hold any codes.
        if (codes < 0).any() or (codes >= nodes).any():
            raise ValueError(
                "all cells must lie in the domain, but one lies outside; get a fresh copy of the "
                "file"
            )
        agreed = arrays.get("agreed")
        if agreed is not None and (agreed.dtype != np.float64 or agreed.shape != values.shape):
            raise ValueError(
                f"agreed must be floats of shape {values.shape}, but it is {agreed.dtype} of shape "
                f"{agreed.shape}; get a fresh copy of the file"
            )
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

    def _sums(self, chosen: Sequence[Chosen]) -> Sums:
        """The numbers of rows with some codes, with the squares of their standard errors.

        If every node is a cell, the errors of different cells are independent, and the covariance
        of two sums is the variance of the sum of their common cells. Otherwise it is not known. Nor
        is what a sum misses if a filter dropped cells.
        """
        count = len(chosen)
        noise = np.full((count, count), math.nan)
        estimates = np.empty(count)
        kurtosis = np.zeros(count)
        for row, codes in enumerate(chosen):
            found = self._chosen(codes)
            estimates[row] = found
            noise[row, row] = found.standard_error**2
            kurtosis[row] = found.noise_kurtosis
        if all(isinstance(axis, Leaves) for axis in self.axes):
            for row, column in itertools.combinations(range(count), 2):
                both = common(chosen[row], chosen[column])
                shared = 0.0 if both is None else self._chosen(both).standard_error ** 2
                noise[row, column] = shared
                noise[column, row] = shared
        return Sums(
            estimates=estimates,
            noise=noise,
            missed=np.full_like(noise, math.nan if self._filtered else 0.0),
            reconstructed=self._filtered,
            kurtosis=kurtosis,
        )

    def _chosen(self, codes: Chosen) -> Estimate:
        """The number of rows with some codes."""
        picks: list[Pick | None] = [None] * len(self.axes)
        for name, own in codes.items():
            picks[self.domain.position[name]] = Pick.of(np.array(own, np.int64))
        return self._picked(picks)

    @property
    def _chances(self) -> Floats:
        """The probability that a kept cell, which passed the filter, was sampled: shape (kept,)."""
        return np.minimum(np.abs(self.values) / max(self.tau, 1e-300), 1.0)

    def _pick(
        self,
        name: str,
        categories: Iterable[Any],
    ) -> tuple[str, Pick]:
        """Check some categories of an attribute; return its name and their codes."""
        attribute = self.domain[name]
        if isinstance(categories, str | bytes) or not isinstance(categories, Iterable):
            raise DomainError(
                f"the categories of attribute {name!r} must be a list, but they are of type "
                f"{type(categories).__name__}; put them into a list"
            )
        codes = np.array([attribute.code(category) for category in categories], np.int64)
        if not codes.size or (codes == UNSEEN).any():
            found = "holds a value that it does not declare" if codes.size else "is empty"
            raise DomainError(
                f"the categories of attribute {name!r} must be a list of categories that it "
                f"declares, at least one, but the list {found}; correct it"
            )
        return name, Pick.of(codes)

    def _picked(self, picks: Sequence[Pick | None]) -> Estimate:
        """Estimate the number of rows with some codes of each attribute; None stands for all its
        codes."""
        shares = np.ones(len(self.codes))
        noise = self.variance
        for axis, pick, column in zip(self.axes, picks, self.codes.T, strict=True):
            chosen = Pick.interval(0, axis.size) if pick is None else pick
            shares *= axis.shares(chosen, column)
            noise *= axis.noise(chosen)
        return self._estimate(shares, noise)

    def _estimate(
        self,
        shares: Floats,
        noise: float,
    ) -> Estimate:
        """Sum the weights of the kept cells, each times its share. The standard error covers noise
        and sampling, but not what a filter dropped; see `_told`.

        `noise` is the variance of the noise in all cells of the sum, kept or not.
        """
        used = np.flatnonzero(shares)
        share = shares[used]
        variance = float((share**2 * self._sampling(used)).sum())
        if self._filtered:
            # Only the cells that passed the filter count; each was sampled with its chance.
            kept = share**2 / self._chances[used] * self.variance
            variance += float(kept.sum())
            fourth = float((kept**2).sum())
        else:
            variance += noise
            # The noise is that of `noise / self.variance` independent cells.
            fourth = noise * self.variance
        kurtosis = LAPLACE_KURTOSIS * min(1.0, fourth / variance**2) if variance > 0 else 0.0
        value = float(share @ self.weights[used])
        raw = float(share @ self.values[used])
        return Estimate(value, math.sqrt(variance), raw, kurtosis)

    def _told(self, estimate: Estimate) -> Estimate:
        """The estimate as a user gets it: after a filter, its error is not known."""
        if not self._filtered:
            return estimate
        return Estimate(float(estimate), math.nan, estimate.raw, estimate.noise_kurtosis)

    @property
    def _filtered(self) -> bool:
        """Whether a filter dropped noisy counts other than zero."""
        return self.theta > 1 or not self.two_sided

    def _sampling(self, used: Integers) -> Floats:
        """An unbiased estimate of the variance that sampling adds, for some of the kept cells.

        It is tau (tau - |v|) for each |v| < tau that was kept.
        """
        gap: Floats = np.maximum(self.tau - np.abs(self.values[used]), 0.0)
        return self.tau * gap

    def _asked(
        self,
        predicate: Test,
        codes: Integers,
    ) -> NDArray[np.bool_]:
        """Call a user's function with the codes of some cells, and check its result.

        `codes` has shape (cells, attributes); the result has shape (cells,).
        """
        answer = np.asarray(predicate(dict(zip(self.domain, codes.T, strict=True))))
        if answer.shape != (len(codes),) or answer.dtype != np.bool_:
            raise DomainError(
                "the function must return a boolean array with one truth value for each cell, of "
                f"shape {(len(codes),)}, but it returned {answer.dtype} of shape {answer.shape}; "
                "correct the function"
            )
        return answer

    def _noise_of(self, predicate: Test) -> float:
        """The variance of the noise in all cells that a function selects; NaN for large tables."""
        sizes = self.domain.sizes
        cells = math.prod(sizes)
        if self._filtered or cells > _MAX_TESTED:
            return math.nan
        every = np.stack(np.unravel_index(np.arange(cells), sizes), axis=1)
        selected = self._asked(predicate, every.astype(np.int64))
        return float(selected.sum()) * self.variance

    def _marginal(self, view: tuple[str, ...]) -> Marginal:
        domain = self.domain.restrict(view, checked=True)
        if math.prod(domain.sizes) > _MAX_CELLS:
            raise DomainError(
                f"a view must have at most {_MAX_CELLS:,} cells, but view {', '.join(view)} has "
                f"{math.prod(domain.sizes):,}; use range() or sum(), or ask for fewer attributes"
            )
        places = [self.domain.position[name] for name in view]
        nodes = tuple(_height(self.axes[place]) for place in places)
        if math.prod(nodes) > 4 * _MAX_CELLS:
            raise DomainError(
                f"a view may need at most {4 * _MAX_CELLS:,} Haar coefficients, but view "
                f"{', '.join(view)} needs {math.prod(nodes):,}; use range() or sum()"
            )
        shares, noise = self._shares(places)
        # Add up the kept cells that fall into each cell of the view.
        used = np.flatnonzero(shares)
        share = shares[used]
        columns = tuple(self.codes[used][:, places].T)
        flat = np.asarray(np.ravel_multi_index(columns, nodes), np.int64)
        counts = _table(flat, share * self.weights[used], nodes)
        if any(isinstance(self.axes[place], Halves) for place in places):
            for along, place in enumerate(places):
                if isinstance(self.axes[place], Halves):
                    counts = _leaves(counts, along, self.axes[place])
            return self._answered(view, counts, np.full(counts.shape, np.nan))
        spread = share**2 * self._sampling(used)
        fourth: Floats | float
        if self._filtered:
            kept = share**2 / self._chances[used] * self.variance
            fourth = _table(flat, kept**2, nodes)
            spread += kept
            noise = 0.0
        else:
            # The noise is that of `noise / self.variance` independent cells.
            fourth = noise * self.variance
        variance = _table(flat, spread, nodes) + noise
        squares = np.where(variance > 0, variance**2, 1.0)
        kurtosis = LAPLACE_KURTOSIS * np.minimum(fourth / squares, 1.0)
        missed = np.full(counts.shape, math.nan) if self._filtered else None
        return self._answered(view, counts, variance, kurtosis, missed)

    def _shares(self, places: Sequence[int]) -> tuple[Floats, float]:
        """The share with which each kept cell counts in the marginal on some attributes, given by
        their places.

        Also the variance of the noise in a cell of the marginal, if nothing is filtered.
        """
        shares = np.ones(len(self.codes))
        noise = self.variance
        for place, axis in enumerate(self.axes):
            column = self.codes[:, place]
            if place not in places:
                everything = Pick.interval(0, axis.size)
                shares *= axis.shares(everything, column)
                noise *= axis.noise(everything)
            elif not isinstance(axis, Halves):
                # Inner nodes of a tree are not cells.
                shares *= column < axis.size
        return shares, noise


def _table(
    cells: Integers,
    values: Floats,
    shape: tuple[int, ...],
) -> Floats:
    """Sum values by their cells; the result is a table of the given shape."""
    return np.bincount(cells, values, math.prod(shape)).astype(np.float64).reshape(shape)


def _height(axis: Axis) -> int:
    """The number of entries along one axis of the table that `marginals` builds from kept cells.

    It is the number of nodes for `Halves`, and the number of codes for every other kind.
    """
    return axis.nodes if isinstance(axis, Halves) else axis.size


def _leaves(
    table: Floats,
    along: int,
    axis: Axis,
) -> Floats:
    """Transform Haar coefficients back to counts of codes, along one axis of a table."""
    codes = np.arange(axis.size)
    nodes = np.moveaxis(table, along, 0)
    mean = nodes[0] / 2**axis.height
    counts = np.broadcast_to(mean, (axis.size, *nodes.shape[1:])).copy()
    for level in axis.levels[1:]:
        # A code in the first half of a node gets its difference, one in the second half loses it.
        in_second = codes >> (level.shift - 1) & 1
        sign = np.where(in_second, -1.0, 1.0) / 2**level.shift
        column = sign.reshape(-1, *[1] * (nodes.ndim - 1))
        counts += nodes[level.offset + (codes >> level.shift)] * column
    return np.moveaxis(counts, 0, along)
