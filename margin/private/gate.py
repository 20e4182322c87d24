"""What all methods of `Private` have in common: they check, count, charge, and only then draw."""

import logging
import math
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from threading import RLock
from typing import Any, NoReturn, Protocol, TypeVar

import numpy as np

from .._numbers import Number, exact, shown
from .._types import Integers
from ..data.count import count
from ..data.source import Source
from ..domain.domain import Domain, View
from ..errors import BudgetError, DomainError
from ..noise.entropy import Entropy
from ..noise.laws import ExponentialMechanism, noisy_sum
from ..privacy.account import Account
from ..privacy.budget import ApproxDP, Budget, certified
from ..privacy.event import Event, pure_epsilon
from ..privacy.ledger import Ledger, Token
from ..privacy.rounds import Rounds

__all__ = ["LARGEST_WEIGHT", "Chargeable", "Gate", "Integers"]

log = logging.getLogger("margin")

T = TypeVar("T")

LARGEST_WEIGHT = 1 << 20
"""The most that a weight, a multiplier or the L1 sensitivity of counts in small units may be."""


class Chargeable(Protocol):
    """A record of what has been spent on a data set, kept beyond the process:
    `Ledger.dataset(name)`."""

    def charge(self, budget: Budget, /) -> Token | None:
        """Record durably that the budget is spent, or raise and record nothing."""


class Gate:
    """A source of rows, what may be spent on them, and what has been done; see `Private` for the
    parameters."""

    def __init__(
        self,
        source: Source,
        *,
        domain: Domain,
        budget: Budget,
        entropy: Entropy,
        ledger: Chargeable | None = None,
    ) -> None:
        if isinstance(ledger, Ledger):
            raise BudgetError("a ledger holds many data sets: pass ledger.dataset(name)")
        self.domain = domain
        self.budget = budget
        self._source = source
        self._entropy = entropy
        self._ledger = ledger
        self._account = Account(budget)
        self._deciding = RLock()
        self._events: list[Event] = []
        self._token: Token | None = None
        self._counted: dict[View, Integers] = {}
        self._counted_queries: dict[str, tuple[Integers, int]] = {}
        self._certified: tuple[Rounds, Fraction] | None = None

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError(
            "Private cannot be copied: two objects would not know what the other has answered"
        )

    @property
    def events(self) -> tuple[Event, ...]:
        """What has been done so far."""
        return tuple(self._events)

    @property
    def spent(self) -> Budget:
        """The guarantee of what has been done, for whoever adds up: the budget, or what it has been
        certified as."""
        whole = self._certified is not None or any(event.together for event in self._events)
        return certified(self.budget) if whole else self.budget

    @property
    def token(self) -> Token | None:
        """What the ledger gave for the charge, once it has been charged."""
        return self._token

    def _answer(self, events: Sequence[Event], true: Sequence[Any], draw: Callable[[], T]) -> T:
        """Charge for the events, note them, and draw. `true` is what the draw will hide, for an
        audit to look at.

        Events of no units have been charged with an earlier one.
        """
        # Threads may share a gate: no other answer comes between what is checked and what is noted.
        with self._deciding:
            self._check_certified(events)
            if units := sum(event.units for event in events):
                self._charge(units)
                log.info("drawing noise")
            self._events += events
        return draw()

    def _check_certified(self, events: Sequence[Event]) -> None:
        """Where rounds were certified, all else must be purely private, within the rest of epsilon."""
        if self._certified is None:
            return
        assert isinstance(self.budget, ApproxDP)
        rounds, epsilon = self._certified
        others = pure_epsilon(
            event for event in (*self._events, *events) if event.rounds is not rounds
        )
        if others is None or epsilon + others > self.budget.epsilon:
            raise BudgetError(
                "what certified rounds leave of epsilon pays for less, and for pure privacy only"
            )

    def _charge(self, units: int) -> None:
        """The ledger with all of the budget the first time, then the account."""
        if units > self._account.remaining:
            self._account.charge(units)  # refuses, before the ledger is touched
        if self._ledger is not None and not self._account.spent:
            self._token = self._ledger.charge(self.budget)
        self._account.charge(units)

    def _share(self, spend: Number | None) -> Fraction | None:
        """A part of the whole budget, checked; None for all that is left."""
        if spend is None:
            return None
        share = exact("spend", spend)
        if not 0 < share <= 1:
            raise BudgetError(
                f"spend ({shown(spend)}) must be a part of the whole budget, > 0 and <= 1"
            )
        return share

    def _units(self, spend: Number | None) -> int:
        """A part of the whole budget, or what is left of it, in units."""
        share = self._share(spend)
        if share is None:
            if not self._account.remaining:
                raise BudgetError("nothing is left of the budget: spend less on earlier calls")
            return self._account.remaining
        units = math.floor(share * self.budget.units)
        if units < 1:
            raise BudgetError(
                f"spend ({shown(spend)}) comes to less than one unit of 1e-12: spend more"
            )
        return units

    def _is_all(self, units: int) -> bool:
        """Whether a call that is charged so much is all that is ever answered, and may be bought by
        its loss.

        Nothing has been answered, and nothing will be left. A ledger adds up rho, which such a call
        does not keep to.
        """
        first = not self._events and not self._account.spent
        approximate = isinstance(self.budget, ApproxDP) and self._ledger is None
        return approximate and first and units == self.budget.units

    def _choices(
        self, method: str, about: tuple[object, ...], charges: Sequence[int], spread: int
    ) -> tuple[Event, ...]:
        """The events of choices, one a charge."""
        samplers = {units: self._selection(units, spread) for units in set(charges)}
        return tuple(
            Event(method=method, about=about, units=units, sampler=samplers[units], spread=spread)
            for units in charges
        )

    def _selection(self, units: int, spread: int) -> ExponentialMechanism:
        return self.budget.selection(units, spread=spread)

    def _add_noise(self, events: Sequence[Event], tables: Sequence[Integers]) -> list[Integers]:
        """Each table with independent noise of its event in every cell; equal samplers draw
        together.

        The sums are clamped: see `noisy_sum`.
        """
        noisy: list[Integers] = list(tables)
        for sampler in dict.fromkeys(event.sampler for event in events):
            assert not isinstance(sampler, ExponentialMechanism)
            rows = [row for row, event in enumerate(events) if event.sampler == sampler]
            ends = np.cumsum([tables[row].size for row in rows])
            drawn = np.split(sampler.sample(int(ends[-1]), self._entropy), ends[:-1])
            for row, draws in zip(rows, drawn, strict=True):
                true = tables[row]
                noisy[row] = noisy_sum(true, draws.reshape(true.shape))
        return noisy

    def _views(self, views: Iterable[Iterable[str]]) -> list[View]:
        checked = [self.domain.view(view) for view in views]
        if not checked:
            raise DomainError("there must be at least one view")
        return checked

    def _items(self, attributes: Iterable[str]) -> View:
        names = self.domain.view(attributes)
        for name in names:
            if self.domain[name].size != 2:
                raise DomainError(
                    f"attribute {name!r} is no item: it must have two categories, absent and present"
                )
        return names

    def _tables(self, views: Sequence[View]) -> list[Integers]:
        """The true tables. Rows are read once for each view, and kept from every eye."""
        new = list(dict.fromkeys(view for view in views if view not in self._counted))
        if new:
            log.info("counting the views")
            tables = count(self._source, self.domain, new)
            self._counted.update(zip(new, tables, strict=True))
        return [self._counted[view] for view in views]
