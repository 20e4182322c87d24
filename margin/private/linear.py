"""Noisy answers of linear queries."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from .._numbers import Number
from .._types import Floats, Integers
from ..errors import DomainError
from ..noise.laws import ExponentialMechanism
from ..privacy.budget import Budget, PureDP
from ..privacy.event import Event
from ..privacy.split import split_units
from .gate import Gate
from .strategy import Strategy, private_copies

__all__ = ["Answers", "Linear", "linear_events", "variance_of"]


@dataclass(frozen=True, eq=False)
class Answers:
    """Noisy answers of a strategy.

    Attributes
    ----------
    strategy
        What was asked.
    values
        Array of shape ``strategy.shape``.
    variance
        Of the independent noise in each of them.
    """

    strategy: Strategy
    values: Floats
    variance: float


class Linear(Gate):
    """The part of `Private` that adds noise to linear queries."""

    def measure_linear(
        self,
        strategies: Iterable[Strategy],
        *,
        shares: Sequence[Number] | None = None,
        spend: Number | None = None,
    ) -> tuple[Answers, ...]:
        """The answers of some strategies, each with independent noise.

        Adding a row adds one column of a strategy's matrix to its answers. Its sensitivity is
        therefore the largest norm of a column: of a Kronecker product the product of the factors'
        largest norms, computed in integers (see `Strategy.sensitivity`, also for rows that are
        replaced). Answers are integers, computed without rounding, and cut off at +-2**61, which
        moves no two of them apart. A strategy of sensitivity D that is charged e of pure
        differential privacy gets discrete Laplace noise of scale D / e, one that is charged r of
        zCDP discrete Gaussian noise of variance parameter D**2 / (2 r); the charges of the
        strategies add up to what is spent. A first call that spends all of an `ApproxDP` budget
        gets less noise: see `measure`.

        Norms and answers are computed from copies of the matrices, by `Strategy` itself: a subclass
        that says otherwise is not asked.

        Parameters
        ----------
        strategies
            What to measure.
        shares
            Their parts of what is spent, positive, in proportion. When not given, in proportion to
            their sensitivities (L1 under pure differential privacy, else squared L2), which gives
            all answers the same noise: as if they were one vector, whose sensitivity is at most the
            sum.
        spend
            See `Private`.

        Returns
        -------
        tuple of Answers

        Raises
        ------
        DomainError
            When a strategy does not fit the domain, or shares are not as many as strategies.
            Nothing is charged.
        BudgetError
            When nothing is left, or a share comes to nothing. Nothing is charged.
        DataError
            When the rows do not fit the domain. Nothing is charged.
        """
        asked = list(strategies)
        copies = private_copies(asked)
        for strategy in copies:
            strategy.check(self.domain)
        units = self._units(spend)
        together = self._is_all(units)
        events = linear_events(self.budget, copies, shares=shares, units=units, together=together)
        true = self._linear(copies)
        noisy = self._answer(events, true, lambda: self._add_noise(events, true))
        return tuple(
            Answers(strategy, answers.astype(np.float64), variance_of(event))
            for strategy, answers, event in zip(asked, noisy, events, strict=True)
        )

    def _linear(self, strategies: Sequence[Strategy]) -> list[Integers]:
        """The true answers. Only views that no other contains are counted; the tables of the others
        are their sums."""
        axes = [self.domain.axes(strategy.view) for strategy in strategies]
        largest = sorted({tuple(sorted(view)) for view in axes}, key=len, reverse=True)
        member = np.zeros((len(largest), len(self.domain)), np.bool_)
        counted: list[tuple[int, ...]] = []
        holder: dict[tuple[int, ...], tuple[int, ...]] = {}
        # how many of the counted have more attributes than the view at hand: only they can hold it
        longer = 0
        for view in largest:
            while longer < len(counted) and len(counted[longer]) > len(view):
                longer += 1
            containing = np.flatnonzero(member[:longer, view].all(axis=1))
            if not containing.size:
                member[len(counted), view] = True
                counted.append(view)
            holder[view] = counted[containing[0]] if containing.size else view
        names = [tuple(self.domain.attributes[axis] for axis in view) for view in counted]
        tables = dict(zip(counted, self._tables(names), strict=True))
        answers = []
        for strategy, view in zip(strategies, axes, strict=True):
            whole = holder[tuple(sorted(view))]
            table = tables[whole].sum(
                axis=tuple(p for p, axis in enumerate(whole) if axis not in view)
            )
            answers.append(strategy.answers(table.transpose(np.argsort(np.argsort(view)))))
        return answers


def linear_events(
    budget: Budget,
    strategies: Sequence[Strategy],
    *,
    shares: Sequence[Number] | None = None,
    units: int,
    together: bool = False,
) -> list[Event]:
    """What `Private.measure_linear` will do, one event a strategy, whose sampler tells the noise;
    no charge.

    `together`: whether it is all that an `ApproxDP` budget ever answers, and is bought so
    (`ApproxDP.at_once`).
    """
    if not strategies:
        raise DomainError("there must be at least one strategy")
    if shares is not None and len(shares) != len(strategies):
        raise DomainError(
            f"{len(shares)} shares are given for {len(strategies)} strategies; give one for each"
        )
    bounds = [strategy.sensitivity(budget) for strategy in strategies]
    if shares is None:
        shares = [bound[0] if isinstance(budget, PureDP) else bound[1] for bound in bounds]
    charges = split_units(units, shares)
    if together:
        noises = budget.at_once(shares, bounds)
    else:
        asked = list(zip(charges, bounds, strict=True))
        bought = {
            (charge, l1, l2): budget.noise(charge, l1=l1, l2_squared=l2)
            for charge, (l1, l2) in set(asked)
        }
        noises = tuple(bought[charge, l1, l2] for charge, (l1, l2) in asked)
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


def variance_of(event: Event) -> float:
    """The variance of the noise of an event of `linear_events`."""
    assert not isinstance(event.sampler, ExponentialMechanism)
    return event.sampler.variance
