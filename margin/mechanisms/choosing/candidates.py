"""What could be measured, and what each choice is expected to give: noise in closed form, and what
is missed by an assumption about the data."""

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from ..._types import Floats
from ...designs import covering_views
from ...domain.countable import countable
from ...domain.domain import Domain, View
from ...domain.workload import Workload
from ...privacy.budget import Budget
from ...solvers import Newton
from ...solvers.basis import widths
from ...synopses.noisy_tables import tables_of
from ..views.priview import PriView
from .residual import Residual
from .strength import Strength

__all__ = ["Candidate", "Candidates"]


_Precision = Callable[[NDArray[np.int64]], Floats]
"""The precision of the estimates of all components of sets of axes, zero where they are not
measured: shape (n, k) to (n, 2 ** k)."""

_SAMPLE = 200
"""Of a larger workload so many views are looked at."""

_LONGEST = 10
"""Of a larger view so many attributes are looked at: it has a component for each set of them."""

_LIMITS = tuple(1 << power for power in range(4, 15))
"""How many cells the views of a cover may have at most."""

_MOST_VIEWS = 3_000
_MOST_SETS = 20_000
_MOST_CELLS = 1 << 20
"""How many cells all measured tables may have: they are made non-negative together, in seconds."""

_WIDEST = 1 << 10
"""Attributes of more categories are measured in views only: a component takes a matrix of the
square of that."""

_JOINT_CELLS = 1 << 17
"""Up to this size of the full table maximum entropy is taken over all attributes at once."""

_CONTEXT = 12
"""Over so many at most otherwise: some milliseconds for an answer, and nearly all that more would
gain."""


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """A mechanism, and what is expected of it for a workload.

    Attributes
    ----------
    mechanism
        It, ready for `release`.
    note
        What it measures, in words.
    noise
        The squared error that noise is expected to leave in all cells of all marginals of the
        workload, times their weights.
    missed
        That which comes from what is not measured.
    """

    mechanism: PriView | Residual
    note: str
    noise: float
    missed: float

    @property
    def error(self) -> float:
        """The expected squared error."""
        return self.noise + self.missed


class Candidates:
    """Everything that is considered: the full table, the residual components of each order, and
    covers of all pairs, triples and quadruples by views of several sizes, in equal shares. Where
    there are too many attributes to compare, a cover of all pairs.

    Parameters
    ----------
    domain, workload, budget
        What is asked.
    """

    def __init__(self, domain: Domain, workload: Workload, budget: Budget) -> None:
        self._asked = _Asked(domain, workload)
        considered: Iterator[tuple[PriView | Residual, str, _Precision]] = itertools.chain(
            _residuals(domain, workload, budget), _covers(domain, workload, budget)
        )
        found = [
            (mechanism, note, self._asked.known(precision))
            for mechanism, note, precision in considered
        ]
        self._found = (
            found if any(isinstance(mechanism, PriView) for mechanism, *_ in found) else []
        )
        self._only: PriView | None = None
        if not self._found:  # what cannot be counted is refused now, before anything is spent
            self._only = PriView().planned(domain, workload, budget)
            countable(domain, self._only.views or ())

    def priced(self, strength: Strength, rows: float, *, variance: float = 1.0) -> list[Candidate]:
        """All of them with what is expected of each, the best first.

        Parameters
        ----------
        strength
            What is known of the data, or assumed.
        rows
            About how many there are, > 0.
        variance
            What all variances of noise are multiplied by, where a part of the budget is spent
            otherwise.
        """
        if self._only is not None:
            return [
                Candidate(
                    mechanism=self._only,
                    note="a cover of all pairs",
                    noise=math.nan,
                    missed=math.nan,
                )
            ]
        priced = []
        for mechanism, note, known in self._found:
            noise, missed = self._asked.errors(known, strength, rows, variance)
            priced.append(Candidate(mechanism=mechanism, note=note, noise=noise, missed=missed))
        return sorted(priced, key=lambda candidate: candidate.error)


def _of_views(domain: Domain, views: list[View], variance: float) -> _Precision:
    empty = (np.broadcast_to(np.zeros(()), domain.shape(view)) for view in views)
    tables = tables_of(domain, views, empty, [variance] * len(views))
    return lambda axes: tables.holders(axes)[0]


def _of_components(known: Mapping[View, float], names: View) -> _Precision:
    def precision(axes: NDArray[np.int64]) -> Floats:
        found = np.zeros((len(axes), 1 << axes.shape[1]))
        for row, some in enumerate(axes.tolist()):
            for mask in range(found.shape[1]):
                view = tuple(names[axis] for place, axis in enumerate(some) if mask >> place & 1)
                found[row, mask] = known.get(view, 0.0)
        return found

    return precision


@dataclass(frozen=True, kw_only=True)
class _Known:
    """Of views of the same number k of attributes, shape (views, 2 ** k): the precision of the
    estimate of each component, by bit masks, and how deep it is known, see `_depths`."""

    precision: Floats
    depth: NDArray[np.int64]


class _Asked:
    """The workload, or a sample of it that stands for all."""

    def __init__(self, domain: Domain, workload: Workload) -> None:
        rows, rng = np.arange(len(workload)), np.random.default_rng(0)
        if len(rows) > _SAMPLE:
            rows = np.sort(rng.choice(rows, _SAMPLE, replace=False))
        self._weight = len(workload) / len(rows)
        self._groups: dict[int, tuple[list[tuple[int, ...]], list[float]]] = {}
        for row in rows.tolist():
            axes = tuple(a for a in sorted(domain.axes(workload.views[row])) if domain.sizes[a] > 1)
            if len(axes) > _LONGEST:
                axes = tuple(sorted(rng.choice(axes, _LONGEST, replace=False).tolist()))
            views, weights = self._groups.setdefault(len(axes), ([], []))
            views.append(axes)
            weights.append(workload.weights[row])
        self._sizes = np.array(domain.sizes)

    def known(self, precision: _Precision) -> list[_Known]:
        """What a way to measure tells of the views, in groups of views of the same number of
        attributes."""
        groups = []
        for length, (views, _) in self._groups.items():
            found = precision(np.array(views, dtype=np.int64).reshape(-1, length))
            groups.append(_Known(precision=found, depth=_depths(found > 0)))
        return groups

    def errors(
        self, known: Sequence[_Known], strength: Strength, rows: float, variance: float
    ) -> tuple[float, float]:
        """What noise leaves and what is missed, over the whole workload."""
        noise = missed = 0.0
        for group, (length, (views, weights)) in zip(known, self._groups.items(), strict=True):
            sizes = self._sizes[np.array(views, dtype=np.int64).reshape(-1, length)]
            width = widths(sizes)
            share = np.array(weights) / sizes.prod(axis=1) * rows**2
            measured = group.precision > 0
            order = np.bitwise_count(np.arange(1 << length)).astype(np.int64)
            # Noise larger than the moments themselves leaves no more than these: counts are not
            # negative.
            precision = np.where(
                measured, group.precision, 1.0
            ) * rows**2 / variance + 1 / strength.size(order)
            noise += float(share @ np.where(measured, width / precision, 0.0).sum(axis=1))
            squares = width * strength.square(group.depth, order)
            missed += float(share @ np.where(measured, 0.0, squares).sum(axis=1))
        return noise * self._weight, missed * self._weight


def _depths(measured: NDArray[np.bool_]) -> NDArray[np.int64]:
    """For each component, by bit masks, the largest t such that all its parts on t attributes are
    measured."""
    count = measured.shape[1]
    depths = np.zeros(measured.shape, dtype=np.int64)
    for mask in range(1, count):
        parts = [
            mask & ~(1 << place) for place in range(count.bit_length() - 1) if mask >> place & 1
        ]
        depths[:, mask] = np.where(
            measured[:, mask], mask.bit_count(), depths[:, parts].min(axis=1)
        )
    return depths


def _residuals(
    domain: Domain, workload: Workload, budget: Budget
) -> Iterator[tuple[Residual, str, _Precision]]:
    for order in range(1, max(map(len, workload)) + 1):
        sizes = _parts(domain, workload, order)
        if (
            not sizes
            or len(sizes) > _MOST_SETS
            or sum(map(math.prod, sizes.values())) > _MOST_CELLS
        ):
            return
        if max(domain.sizes) > _WIDEST:
            return
        mechanism = Residual(order=order, reconstruction=_reconstruction(domain))
        known = mechanism.precisions(domain, workload, budget)
        yield (
            mechanism,
            f"components of up to {order} attributes",
            _of_components(known, domain.attributes),
        )


def _parts(
    domain: Domain, workload: Workload, order: int
) -> dict[tuple[int, ...], tuple[int, ...]]:
    """The sets of so many attributes of several values within views of the workload, as axes, and
    their sizes; of too many only the first."""
    sizes, found = domain.sizes, {}
    if workload.kway is not None:
        views = [domain.attributes] if order <= workload.kway else []
    else:
        views = list(workload.views)
    for view in views:
        axes = sorted(axis for axis in map(domain.position.__getitem__, view) if sizes[axis] > 1)
        for part in itertools.combinations(axes, order):
            found[part] = tuple(sizes[axis] for axis in part)
            if len(found) > _MOST_SETS:
                return found
    return found


def _covers(
    domain: Domain, workload: Workload, budget: Budget
) -> Iterator[tuple[PriView, str, _Precision]]:
    seen = set()
    for strength in range(min(2, max(map(len, workload))), 5):
        sets = _parts(domain, workload, strength)
        if not sets or len(sets) > _MOST_SETS:
            return
        for limit in (*_LIMITS, _MOST_CELLS):
            if limit == _MOST_CELLS and math.prod(domain.sizes) > limit:
                continue
            wanted = None if len(sets) == math.comb(len(domain), strength) else tuple(sets)
            views = _cover(domain.sizes, limit, strength, wanted)
            cells = [math.prod(domain.sizes[axis] for axis in view) for view in views]
            if views in seen or len(views) > _MOST_VIEWS or sum(cells) > _MOST_CELLS:
                continue
            seen.add(views)
            names = [tuple(domain.attributes[axis] for axis in view) for view in views]
            variance = budget.count_noise(min(budget.split(len(views)))).variance
            note = f"{len(views)} view{'s' if len(views) > 1 else ''} of up to {max(cells):,} cells"
            mechanism = PriView(views=names, reconstruction=_reconstruction(domain))
            yield mechanism, note, _of_views(domain, names, variance)


@lru_cache(maxsize=64)
def _cover(
    sizes: tuple[int, ...], limit: int, strength: int, wanted: tuple[tuple[int, ...], ...] | None
) -> tuple[tuple[int, ...], ...]:
    """The views of a cover, kept because many releases of one domain ask for the same ones."""
    return covering_views(sizes, max_cells=limit, t=strength, sets=wanted)


def _reconstruction(domain: Domain) -> Newton:
    """Maximum entropy over all attributes at once where they are few, else over some around those
    asked for."""
    return Newton(context=len(domain) if math.prod(domain.sizes) <= _JOINT_CELLS else _CONTEXT)
