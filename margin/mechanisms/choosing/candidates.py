"""The mechanisms that `Auto` and `Adaptive` compare, with their expected errors.

The error of noise has a closed form; the error of missing components follows from an assumption
about the data.
"""

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..._types import Floats
from ...domain.countable import countable
from ...domain.domain import Domain
from ...domain.workload import Workload
from ...privacy.budget import Budget
from ..by_table import Precision, spreads, traces_of
from ..ordered.level_counts import LevelCounts
from ..views.priview import PriView
from .noise_left import share_left
from .offers import Axes, offers
from .residual import Residual
from .strength import Strength
from .tree import SpanningTree

__all__ = ["Candidate", "Candidates", "Combined", "nearly"]


_SAMPLE = 200
"""Largest number of views that prices are computed for; a larger workload is sampled."""

_LONGEST = 10
"""Largest number of attributes of such a view; a larger view has too many components."""


@dataclass(
    frozen=True,
    kw_only=True,
)
class Candidate:
    """One of the mechanisms that `Auto` compares, with its expected error for a workload.

    Errors are in squared rows, summed over all cells of all marginals of the workload, each times
    the weight of its marginal.

    Attributes
    ----------
    mechanism
        The mechanism, ready for `release`.
    note
        What the mechanism measures, in words.
    noise
        The expected squared error that noise causes.
    missed
        The expected squared error of the components that are not measured.
    """

    mechanism: PriView | Residual | SpanningTree | LevelCounts
    note: str
    noise: float
    missed: float

    @property
    def shallow(self) -> bool:
        """Whether at most single attributes are measured, with a tree of pairs or without."""
        mechanism = self.mechanism
        if isinstance(mechanism, PriView):
            return max(len(tuple(view)) for view in mechanism.views or [()]) == 1
        return isinstance(mechanism, SpanningTree) or (
            isinstance(mechanism, Residual) and mechanism.order <= 1
        )

    @property
    def error(self) -> float:
        """The expected squared error: `noise + missed`."""
        return self.noise + self.missed


@dataclass(
    frozen=True,
    kw_only=True,
)
class Combined:
    """A candidate that follows earlier measurements, with its expected error together with them.

    Attributes
    ----------
    candidate
        The candidate; its errors are those after both measurements.
    keeps
        Whether all earlier measurements are kept. If not, only those of the components that the
        candidate measures itself are kept.
    """

    candidate: Candidate
    keeps: bool


class Candidates:
    """The list of all mechanisms that `Auto` and `Adaptive` compare for a domain and a workload.

    They are one-way tables, a spanning tree of pairs, the full table, the residual components of
    each order, and covers of all pairs, triples and quadruples by views of several sizes. Where all
    covers are too large, the pairs themselves are views; where these are too many, the one
    candidate is a cover of all pairs.

    Parameters
    ----------
    domain, workload, budget
        As in `margin.release`.
    """

    def __init__(
        self,
        domain: Domain,
        workload: Workload,
        budget: Budget,
    ) -> None:
        # What is asked beyond cells is priced by `asked_candidates`.
        workload = dataclasses.replace(workload, asked={})
        self._asked = _Asked(domain, workload)
        found = [
            (offer, self._asked.known(offer.precision))
            for offer in offers(domain, workload, budget)
        ]
        self._pairs = self._asked.known(_all_pairs)
        has_cover = any(isinstance(offer.mechanism, PriView) for offer, _ in found)
        self._found = found if has_cover else []
        self._only: PriView | None = None
        if not has_cover:
            self._only = PriView().planned(domain, workload, budget)
            # Views that cannot be counted are refused now, before anything is spent.
            countable(domain, self._only.views or ())

    def priced(
        self,
        strength: Strength,
        rows: float,
        *,
        variance: float = 1.0,
    ) -> list[Candidate]:
        """Compute the expected error of each candidate; the result is sorted, the best first.

        Parameters
        ----------
        strength
            The assumed or learnt size of components that are not measured.
        rows
            The approximate number of rows, > 0.
        variance
            A factor for all variances of noise. It is above 1 if a part of the budget is spent on
            something else.
        """
        if self._only is not None:
            note = "a cover of all pairs"
            unknown = math.nan
            return [
                Candidate(
                    mechanism=self._only,
                    note=note,
                    noise=unknown,
                    missed=unknown,
                )
            ]
        priced = []
        all_left = self._left(strength, rows, variance)
        for (offer, known), left in zip(self._found, all_left, strict=True):
            noise, missed = self._asked.errors(known, strength, rows, variance * left)
            if offer.tree is not None:
                # The part of the error that measuring all pairs would remove is reduced.
                _, beyond = self._asked.errors(self._pairs, strength, rows, variance * left)
                structure, of_pairs = offer.tree.left(strength, rows, variance)
                noise += of_pairs * (missed - beyond)
                missed = structure * (missed - beyond) + beyond
            priced.append(
                Candidate(
                    mechanism=offer.mechanism,
                    note=offer.note,
                    noise=noise,
                    missed=missed,
                )
            )
        # Of nearly equal errors, the candidate that is offered first is the simpler one.
        return sorted(priced, key=lambda candidate: nearly(candidate.error))

    def combined(
        self,
        held: Precision,
        first: Candidate,
        strength: Strength,
        rows: float,
        *,
        variance: float,
    ) -> list[Combined]:
        """Compute the expected error of each candidate together with earlier measurements.

        The result is sorted, the best first. A spanning tree is left out: other measurements would
        close cycles. The estimate of a component from both has the sum of the two precisions.

        Parameters
        ----------
        held
            The precision of each component from the earlier measurements.
        first
            The candidate that the earlier measurements are of, mostly.
        strength, rows, variance
            As in `priced`.
        """
        lefts = self._left(strength, rows, variance)
        # The share of the earlier noise that the removal of negative counts leaves.
        (left_of_first,) = (
            left
            for (offer, _), left in zip(self._found, lefts, strict=True)
            if offer.mechanism is first.mechanism
        )
        earlier = [known.precision / left_of_first for known in self._asked.known(held)]
        found = []
        for (offer, known), left in zip(self._found, lefts, strict=True):
            if offer.tree is not None:
                continue
            for keeps in (True, False):
                together = [
                    _together(one, before, variance * left, keeps)
                    for one, before in zip(known, earlier, strict=True)
                ]
                noise, missed = self._asked.errors(together, strength, rows, 1.0)
                candidate = Candidate(
                    mechanism=offer.mechanism,
                    note=offer.note,
                    noise=noise,
                    missed=missed,
                )
                found.append(
                    Combined(
                        candidate=candidate,
                        keeps=keeps,
                    )
                )
        return sorted(found, key=lambda one: nearly(one.candidate.error))

    def precision(self, candidate: Candidate) -> Precision:
        """How precisely a candidate measures each component."""
        (found,) = (
            offer.precision for offer, _ in self._found if offer.mechanism is candidate.mechanism
        )
        return found

    def _left(
        self,
        strength: Strength,
        rows: float,
        variance: float,
    ) -> list[float]:
        """The share of the squared noise that is left in the tables of each offer, in the mean.

        Negative counts are removed: in tables of mostly empty cells little noise is left.
        """
        lengths = [len(offer.cells) for offer, _ in self._found]
        if not lengths:
            return []
        # The tables of all offers in one array: one solution of the equations for all.
        cells = np.concatenate([offer.cells for offer, _ in self._found])
        variances = np.concatenate([offer.variances for offer, _ in self._found])
        shares = share_left(cells, variance * variances, rows, strength.spread)
        parts = np.split(shares, np.cumsum(lengths)[:-1])
        return [float(part.mean()) for part in parts]


def nearly(error: float) -> float:
    """An error to four digits: a difference beyond them is no reason for a choice."""
    return float(f"{error:.4g}")


@dataclass(
    frozen=True,
    kw_only=True,
)
class _Known:
    """How precisely a mechanism measures each component of some views of k attributes.

    The arrays have shape (views, 2 ** k). The place of a component is the bit mask of its
    attributes. `precision` is one divided by the error variance of the component, 0 if it is not
    measured; `depth` is described at `_depths`.
    """

    precision: Floats
    depth: NDArray[np.int64]


def _together(
    known: _Known,
    earlier: Floats,
    variance: float,
    keeps: bool,
) -> _Known:
    """How precisely components are measured by a mechanism and earlier measurements together.

    Parameters
    ----------
    known
        The precisions of the mechanism, if noise had its usual variance.
    earlier
        Those of the earlier measurements.
    variance
        A factor for the variance of the noise of the mechanism.
    keeps
        Whether earlier measurements of other components are kept.
    """
    kept = earlier if keeps else np.where(known.precision > 0, earlier, 0.0)
    precision = known.precision / variance + kept
    return _Known(
        precision=precision,
        depth=_depths(precision > 0),
    )


@dataclass(
    frozen=True,
    kw_only=True,
)
class _Group:
    """Asked views of the same number k of attributes of several categories.

    Attributes
    ----------
    views
        The axes of each view: shape (views, k).
    share
        The weight of each view, divided by its number of cells.
    width
        For each view and component, how much of the error of the component reaches what is asked
        (`spreads`): shape (views, 2 ** k).
    moments
        The number of moments of each component: shape (views, 2 ** k).
    order
        The number of attributes of each component: shape (2 ** k,).
    """

    views: NDArray[np.int64]
    share: Floats
    width: Floats
    moments: Floats
    order: NDArray[np.int64]


class _Asked:
    """The views of the workload over which expected errors are summed; a sample if they are
    many."""

    def __init__(
        self,
        domain: Domain,
        workload: Workload,
    ) -> None:
        rows = np.arange(len(workload))
        rng = np.random.default_rng(0)
        if len(rows) > _SAMPLE:
            rows = np.sort(rng.choice(rows, _SAMPLE, replace=False))
        self._weight = len(workload) / len(rows)
        # Views, their weights and the traces of their attributes at the levels that are asked, by
        # the number of attributes of several categories.
        found: dict[int, tuple[list[Axes], list[float], list[Floats]]] = {}
        for row in rows.tolist():
            view = workload.views[row]
            levels = workload.levels[row] if workload.levels else (None,) * len(view)
            level = dict(zip(domain.axes(view), levels, strict=True))
            axes = tuple(axis for axis in sorted(level) if domain.sizes[axis] > 1)
            if len(axes) > _LONGEST:
                axes = tuple(sorted(rng.choice(axes, _LONGEST, replace=False).tolist()))
            traces = [traces_of(domain, domain.attributes[axis], level[axis], {}) for axis in axes]
            views, weights, of_views = found.setdefault(len(axes), ([], [], []))
            views.append(axes)
            weights.append(workload.weights[row])
            of_views.append(np.array(traces).reshape(len(axes), 2))
        sizes = np.array(domain.sizes)
        self._groups = [_group(sizes, *asked) for asked in found.values()]

    def known(self, precision: Precision) -> list[_Known]:
        """Find how precisely a mechanism measures the views: a record for each group of views with
        the same number of attributes."""
        groups = []
        for group in self._groups:
            found = precision(group.views)
            groups.append(
                _Known(
                    precision=found,
                    depth=_depths(found > 0),
                )
            )
        return groups

    def errors(
        self,
        known: Sequence[_Known],
        strength: Strength,
        rows: float,
        variance: float,
    ) -> tuple[float, float]:
        """The expected squared errors of noise and of missing components, for the workload."""
        noise = 0.0
        missed = 0.0
        for one, group in zip(known, self._groups, strict=True):
            measured = one.precision > 0
            # Counts are not negative: the error of a moment is at most its own size, however large
            # the noise. The sum of the two precisions is a smooth minimum of the two errors.
            of_noise = np.where(measured, one.precision, 1.0) * rows**2 / variance
            precision = of_noise + 1 / strength.size(group.order)
            left = np.where(measured, group.width / precision, 0.0)
            noise += float(group.share @ left.sum(axis=1))
            # A component that is not measured misses the assumed mean square.
            squares = strength.square(one.depth, group.order, group.moments)
            lost = np.where(measured, 0.0, group.width * squares)
            missed += float(group.share @ lost.sum(axis=1))
        scale = self._weight * rows**2
        return noise * scale, missed * scale


def _group(
    all_sizes: NDArray[np.int64],
    views: Sequence[Axes],
    weights: Sequence[float],
    traces: Sequence[Floats],
) -> _Group:
    """The group of some views of the same number of attributes, with `traces_of` these."""
    length = len(views[0])
    axes = np.array(views, dtype=np.int64).reshape(len(views), length)
    sizes = all_sizes[axes]
    order = np.bitwise_count(np.arange(1 << length)).astype(np.int64)
    return _Group(
        views=axes,
        share=np.array(weights) / sizes.prod(axis=1),
        width=spreads(np.stack(traces)),
        moments=spreads(np.stack([np.ones(sizes.shape), sizes - 1.0], axis=-1)),
        order=order,
    )


def _all_pairs(axes: NDArray[np.int64]) -> Floats:
    """Precisions of one for all components of up to two attributes, and zero for others."""
    order = np.bitwise_count(np.arange(1 << axes.shape[1]))
    return np.broadcast_to((order <= 2).astype(np.float64), (len(axes), len(order)))


def _depths(measured: NDArray[np.bool_]) -> NDArray[np.int64]:
    """For each component, the largest t such that all its parts on t attributes are measured.

    Components are bit masks: shape (views, 2 ** k) to the same shape.
    """
    count = measured.shape[1]
    attributes = count.bit_length() - 1
    depths = np.zeros(measured.shape, dtype=np.int64)
    for mask in range(1, count):
        members = [place for place in range(attributes) if mask >> place & 1]
        parts = [mask & ~(1 << place) for place in members]
        shallowest = depths[:, parts].min(axis=1)
        depths[:, mask] = np.where(measured[:, mask], len(members), shallowest)
    return depths
