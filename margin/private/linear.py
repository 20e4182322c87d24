"""Noisy answers of linear queries."""

import functools
import operator
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._numbers import Number
from .._types import Floats, Integers
from ..errors import DomainError
from ..noise.laws import Noise
from ..privacy.budget import Budget, PureDP
from ..privacy.event import Event
from ..privacy.split import split_units
from .gate import Gate
from .strategy import Strategy, private_copies, sensitivities

__all__ = [
    "Answers",
    "Linear",
    "linear_events",
    "linear_noises",
    "linear_variances",
    "variance_of",
]


_CELLS_TOGETHER = 1 << 15
"""Largest number of cells of tables whose answers are computed together."""


@dataclass(
    frozen=True,
    eq=False,
)
class Answers:
    """The noisy answers to the queries of a strategy.

    Attributes
    ----------
    strategy
        The strategy as it was passed.
    noisy
        The answers as integers, array of shape ``strategy.shape``.
    variance
        The variance of the noise in each answer. The noise is independent from answer to answer.
    """

    strategy: Strategy
    noisy: Integers
    variance: float

    @property
    def values(self) -> Floats:
        """The answers as floats; each call makes a new array."""
        return self.noisy.astype(np.float64)


class Linear(Gate):
    """The part of `Private` that answers linear queries: its method `measure_linear`."""

    def measure_linear(
        self,
        strategies: Iterable[Strategy],
        *,
        shares: Sequence[Number] | None = None,
        spend: Number | None = None,
    ) -> tuple[Answers, ...]:
        """Answer the linear queries of strategies, each answer with independent noise.

        Adding a row adds one column of a strategy's matrix to its answers. So the sensitivity is
        the largest norm of a column. For a Kronecker product it is the product of the largest norms
        of the factors, computed in integers (see `Strategy.sensitivity`, also for replaced rows).
        Answers are integers, computed without rounding, and cut off at +-2**61, which does not
        increase the difference of any two of them.

        Let D be the sensitivity of a strategy. If it is charged e of pure differential privacy, it
        gets discrete Laplace noise of scale D / e. If it is charged r of zCDP, it gets discrete
        Gaussian noise of variance parameter D**2 / (2 r). The charges of the strategies sum to the
        amount that is spent. A first call that spends all of an `ApproxDP` budget gets less noise:
        see `measure`.

        Norms and answers are computed from copies of the matrices, by `Strategy` itself. Methods of
        a subclass are not called.

        Parameters
        ----------
        strategies
            The strategies to measure.
        shares
            A positive weight for each strategy: its share of the amount that is spent. The default
            is its sensitivity (L1 under pure differential privacy, else squared L2). Then all
            answers get the same noise, as if they were one vector, whose sensitivity is at most the
            sum of the sensitivities.
        spend
            The share of the whole budget to spend, such as "1/3"; by default all that is left.

        Returns
        -------
        tuple of Answers
            One for each strategy.

        Raises
        ------
        DomainError
            When a strategy does not fit the domain, or the number of shares is not the number of
            strategies. Nothing is charged.
        BudgetError
            When nothing is left, or a share is less than one unit. Nothing is charged.
        DataError
            When the rows do not fit the domain. Nothing is charged.
        """
        asked = list(strategies)
        copies = private_copies(asked)
        for strategy in copies:
            strategy.check(self.domain)
        units = self._units(spend)
        together = self._is_all(units)
        events = linear_events(
            self.budget,
            copies,
            shares=shares,
            units=units,
            together=together,
        )
        true = self._linear(copies)
        if units == self._account.remaining:
            self._counted = {}  # nothing is left for another answer
        noisy = self._noisy(events, true)
        del true
        return tuple(
            Answers(strategy, answers, variance_of(event))
            for strategy, answers, event in zip(asked, noisy, events, strict=True)
        )

    def _linear(self, strategies: Sequence[Strategy]) -> list[Integers]:
        """The true answers to all queries of the strategies.

        Only views that no other view contains are counted; the tables of the others are sums.
        """
        axes = [self.domain.axes(strategy.view) for strategy in strategies]
        counted, holder = _counted_views(axes, len(self.domain))
        names = [tuple(self.domain.attributes[axis] for axis in view) for view in counted]
        tables = dict(zip(counted, self._tables(names), strict=True))

        # Sum each table over the attributes that the view lacks, and bring its axes into order.
        def table_of(row: int) -> Integers:
            view = axes[row]
            whole = holder[tuple(sorted(view))]
            table = tables[whole]
            if len(whole) > len(view):
                left_out = tuple(place for place, axis in enumerate(whole) if axis not in view)
                table = table.sum(axis=left_out)
            return table if len(view) < 2 else table.transpose(_ranks(view))

        # Strategies of equal matrices are answered together, a bounded number of cells at a time.
        alike: dict[tuple[Any, ...], list[int]] = {}
        sizes = self.domain.sizes
        for row, (strategy, view) in enumerate(zip(strategies, axes, strict=True)):
            key = strategy.factors, *[sizes[axis] for axis in view]
            alike.setdefault(key, []).append(row)
        answers: list[Integers] = [np.empty(0, np.int64)] * len(strategies)
        for rows in alike.values():
            first = strategies[rows[0]]
            # One array, so that its memory goes back to the system as a whole.
            together = np.empty((len(rows), *first.shape), np.int64)
            step = max(1, _CELLS_TOGETHER // self.domain.cells(first.view))
            for start in range(0, len(rows), step):
                some = rows[start : start + step]
                tables_of = np.stack([table_of(row) for row in some])
                together[start : start + step] = first.answers_to_each(tables_of)
            for row, own in zip(rows, together, strict=True):
                answers[row] = own
        return answers


_Axes = tuple[int, ...]  # the attributes of a view, by their places in the domain


def _counted_views(
    views: Iterable[_Axes], attributes: int
) -> tuple[list[_Axes], dict[_Axes, _Axes]]:
    """The views that no other view contains, and for each view, in ascending order, one of these
    that contains it."""
    # Views are visited from the largest to the smallest. `member` tells which attributes the
    # counted views have. `having` holds, for each attribute, the counted views with it as the ones
    # of a long integer.
    largest = sorted({tuple(sorted(view)) for view in views}, key=len, reverse=True)
    member = np.zeros((len(largest), attributes), np.bool_)
    counted: list[_Axes] = []
    holder: dict[_Axes, _Axes] = {}
    having = [0] * attributes
    length = 0
    for view in largest:
        # Only views with more attributes can contain this one.
        if len(view) != length:
            length = len(view)
            packed = np.packbits(member[: len(counted)], axis=0, bitorder="little")
            having = [int.from_bytes(bits.tobytes(), "little") for bits in packed.T]
        containing = functools.reduce(operator.and_, [having[axis] for axis in view])
        if containing:
            first = (containing & -containing).bit_length() - 1
            holder[view] = counted[first]
        else:
            member[len(counted), view] = True
            counted.append(view)
            holder[view] = view
    return counted, holder


def _ranks(view: _Axes) -> list[int]:
    """The rank of each attribute of a view among its attributes, in the order of the domain."""
    ordered = sorted(view)
    return [ordered.index(axis) for axis in view]


def linear_events(
    budget: Budget,
    strategies: Sequence[Strategy],
    *,
    shares: Sequence[Number] | None = None,
    units: int,
    together: bool = False,
) -> list[Event]:
    """Make the records of a call of `Private.measure_linear`, one for each strategy.

    Nothing is charged. The field `sampler` of each record is the noise that its answers get.
    `together` is true if the call spends all of an `ApproxDP` budget at once; see
    `ApproxDP.at_once`.
    """
    if not strategies:
        raise DomainError(
            "strategies must hold at least one strategy, but it is empty; give at least one "
            "strategy"
        )
    bounds = sensitivities(strategies, budget)
    charges, noises = linear_noises(
        budget,
        bounds,
        shares=shares,
        units=units,
        together=together,
    )
    return [
        Event(
            method="measure_linear",
            about=(strategy.view, *(factor.digest for factor in strategy.factors)),
            units=charge,
            sampler=noise,
            l1=bound[0],
            l2_squared=bound[1],
            together=together,
        )
        for strategy, charge, bound, noise in zip(strategies, charges, bounds, noises, strict=True)
    ]


def linear_noises(
    budget: Budget,
    bounds: Sequence[tuple[int, int]],
    *,
    shares: Sequence[Number] | None = None,
    units: int,
    together: bool = False,
) -> tuple[Sequence[int], Sequence[Noise]]:
    """The charge and the noise of each strategy of a call of `Private.measure_linear`.

    `bounds` has the bounds of `Strategy.sensitivity` for each strategy; for the rest see
    `linear_events`.
    """
    if shares is not None and len(shares) != len(bounds):
        raise DomainError(
            f"{len(shares)} shares are given for {len(bounds)} strategies; give one for each"
        )
    if shares is None:
        norm = 0 if isinstance(budget, PureDP) else 1  # the place of L1 or of squared L2
        shares = [bound[norm] for bound in bounds]
    charges = split_units(units, shares)
    if together:
        return charges, budget.at_once(shares, bounds)
    # Equal charges for equal bounds buy one noise object.
    asked = list(zip(charges, bounds, strict=True))
    bought = {
        (charge, l1, l2): budget.noise(
            charge,
            l1=l1,
            l2_squared=l2,
        )
        for charge, (l1, l2) in set(asked)
    }
    return charges, tuple(bought[charge, l1, l2] for charge, (l1, l2) in asked)


def linear_variances(
    strategies: Sequence[Strategy],
    budget: Budget,
    *,
    shares: Sequence[Number] | None = None,
) -> list[float]:
    """The variance of the noise in the answers to each strategy, before anything is spent.

    It is that of one call of `Private.measure_linear` with these strategies and shares that spends
    the whole budget. It depends on the strategies and the budget alone.

    Examples
    --------
    >>> import margin
    >>> queries = margin.Strategy(("a",), [[[1, 1], [1, -1]]])
    >>> linear_variances([queries], margin.ZCDP("0.01"))
    [100.0]
    """
    events = linear_events(
        budget,
        strategies,
        shares=shares,
        units=budget.units,
        together=True,
    )
    return [variance_of(event) for event in events]


def variance_of(event: Event) -> float:
    """The variance of the noise of an event of `linear_events`."""
    return event.noise.variance
