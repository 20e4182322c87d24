"""The base class of `Private`: it counts the rows, charges the budget, and then draws noise."""

import logging
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
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
from ..interrupts import check
from ..interrupts.share import within
from ..noise.entropy import Entropy, check_entropy
from ..noise.laws import ExponentialMechanism, Noise, noisy_sum
from ..privacy.account import Account
from ..privacy.budget import ApproxDP, Budget, certified
from ..privacy.event import Course, Event, pure_epsilon
from ..privacy.ledger import Ledger, Token
from ..privacy.rounds import Rounds

__all__ = ["Chargeable", "Gate", "Integers"]

log = logging.getLogger("margin")

T = TypeVar("T")

_CELLS_TOGETHER = 1 << 15
"""Largest number of cells of small tables to which noise is added together."""

_DRAWN_TOGETHER = 1 << 20
"""Number of cells of small tables for which noise is drawn together. More would take memory."""


class Chargeable(Protocol):
    """Anything that can record durably what is spent on a data set, such as a ledger's data set.

    The usual one is `Ledger(path).dataset(name)`.
    """

    def charge(self, budget: Budget, /) -> Token | None:
        """Record durably that all of `budget` is spent; if that fails, raise and record nothing.

        The result is the receipt of the charge, or None.
        """


class Gate:
    """The object that holds the rows and the budget, charges, and only then draws noise.

    It is the base of the parts of `Private`; see `Private` for the parameters.
    """

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
            raise BudgetError(
                "ledger must be one data set, but a Ledger holds many; pass ledger.dataset(name)"
            )
        check_entropy(entropy)
        self.domain = domain
        self.budget = budget
        self._source = source
        self._entropy = entropy
        self._ledger = ledger
        self._account = Account(budget)
        self._deciding = RLock()
        self._events: list[Event] = []
        self._purposes: list[str] = []  # one for each event
        self._purpose = ""
        self._token: Token | None = None
        self._counted: dict[View, Integers] = {}
        self._contests: dict[object, Integers | None] = {}
        self._counted_queries: dict[str, tuple[Integers, int]] = {}
        self._certified: tuple[Rounds, Fraction] | None = None

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError(
            "Private cannot be copied, because neither copy would know the answers of the other; "
            "use the same object"
        )

    @property
    def events(self) -> tuple[Event, ...]:
        """Records of all answers so far, in order; see `Event`."""
        return tuple(self._events)

    @property
    def course(self) -> Course:
        """A summary of the events, for what they were asked, and of the charges; see `Course`."""
        return Course.of(self._events, self._purposes, self.budget.units)

    def begin(self, purpose: str) -> None:
        """Say what the next answers are for; it becomes part of the provenance of the release.

        No sensitivity: the rows are not looked at, and nothing is charged. A purpose is made of
        declarations and earlier answers, because a mechanism knows nothing else.

        Parameters
        ----------
        purpose
            Some words, such as "measuring a spanning tree of pairs".

        Raises
        ------
        DomainError
            When the purpose is no text.
        """
        if not isinstance(purpose, str):
            raise DomainError(
                f"purpose must be a text, but it is of type {type(purpose).__name__}; pass some "
                "words"
            )
        self._purpose = str(purpose)

    @property
    def spent(self) -> Budget:
        """The guarantee of all answers so far, for composition with other releases.

        It is the budget, or the `CertifiedDP` that the budget became.
        """
        whole = self._certified is not None or any(event.together for event in self._events)
        return certified(self.budget) if whole else self.budget

    @property
    def token(self) -> Token | None:
        """The receipt of the ledger; None before the charge, or without a ledger."""
        return self._token

    def _answer(
        self,
        events: Sequence[Event],
        true: Sequence[Any],
        draw: Callable[[], T],
    ) -> T:
        """Charge the events, record them, then draw; the result is that of `draw`.

        `true` holds the true values that the draw hides; only an audit looks at it. Events of zero
        units were paid by an earlier event.
        """
        # Threads may share a gate: no other answer may come between the check and the record.
        with self._deciding:
            self._check_certified(events)
            if units := sum(event.units for event in events):
                self._charge(units)
                log.info("drawing noise")
            self._events += events
            self._purposes += [self._purpose] * len(events)
        return draw()

    def _check_certified(self, events: Sequence[Event]) -> None:
        """Raise BudgetError if events cannot follow certified rounds of `sample_queries`.

        After such rounds every other answer must be purely private, and the epsilons of all other
        answers must sum to at most what the rounds leave.
        """
        if self._certified is None:
            return
        assert isinstance(self.budget, ApproxDP)
        rounds, epsilon = self._certified
        others = pure_epsilon(
            event for event in (*self._events, *events) if event.rounds is not rounds
        )
        if others is None or epsilon + others > self.budget.epsilon:
            raise BudgetError(
                "after rounds that were certified as a whole, every answer must be pure (Laplace "
                "noise) and cost at most the epsilon that the rounds leave, but this answer is "
                "not pure or costs more; use Laplace noise or spend less"
            )

    def _charge(self, units: int) -> None:
        """Charge the account, and, with the first charge, the ledger with the whole budget."""
        if units > self._account.remaining:
            self._account.charge(units)  # raises, before the ledger is charged
        check()  # an interrupt that a library dropped must not be charged
        if self._ledger is not None and not self._account.spent:
            self._token = self._ledger.charge(self.budget)
        self._account.charge(units)

    def _share(self, spend: Number | None) -> Fraction | None:
        """Check `spend`, a share of the whole budget, as a fraction; None means all that is
        left."""
        if spend is None:
            return None
        share = exact("spend", spend)
        if not 0 < share <= 1:
            raise BudgetError(
                f"spend ({shown(spend)}) must be a share of the whole budget, > 0 and <= 1; pass "
                "such a number"
            )
        return share

    def _units(self, spend: Number | None) -> int:
        """Convert `spend` to units of the budget; None means all that is left."""
        share = self._share(spend)
        if share is None:
            if not self._account.remaining:
                raise BudgetError(
                    "the budget is used up, but each answer needs a part of it; spend less on "
                    "earlier calls"
                )
            return self._account.remaining
        units = math.floor(share * self.budget.units)
        if units < 1:
            raise BudgetError(
                f"spend ({shown(spend)}) must pay for at least 1e-12 of epsilon or rho, but it "
                "pays for less; spend more"
            )
        return units

    def _is_all(self, units: int) -> bool:
        """True if a call that costs `units` may use the smaller noise of `ApproxDP.at_once`.

        This requires that the call is the first one, that it spends all of an `ApproxDP` budget,
        and that there is no ledger: a ledger adds up rhos, and such a call has no guarantee in rho.
        """
        first = not self._events and not self._account.spent
        approximate = isinstance(self.budget, ApproxDP) and self._ledger is None
        return approximate and first and units == self.budget.units

    def _choices(
        self,
        method: str,
        about: tuple[object, ...],
        charges: Sequence[int],
        spread: int,
    ) -> tuple[Event, ...]:
        """Make the records of private choices, one for each charge."""
        samplers = {units: self._selection(units, spread) for units in set(charges)}
        return tuple(
            Event(
                method=method,
                about=about,
                units=units,
                sampler=samplers[units],
                spread=spread,
            )
            for units in charges
        )

    def _one_number(
        self,
        method: str,
        about: tuple[object, ...],
        *,
        units: int,
        l1: int,
    ) -> Event:
        """Make the record of one noisy integer that moves by at most `l1`, up or down.

        The L2 norm of one integer is its L1 norm.
        """
        return Event(
            method=method,
            about=about,
            units=units,
            sampler=self.budget.noise(units, l1=l1, l2_squared=l1**2),
            l1=l1,
            l2_squared=l1**2,
        )

    def _selection(
        self,
        units: int,
        spread: int,
    ) -> ExponentialMechanism:
        return self.budget.selection(units, spread=spread)

    def _noisy(
        self,
        events: Sequence[Event],
        true: Sequence[Integers],
    ) -> list[Integers]:
        """Charge the events, then return the true values plus the noise of the events."""
        return self._answer(events, true, lambda: self._add_noise(events, true))

    def _add_noise(
        self,
        events: Sequence[Event],
        tables: Sequence[Integers],
    ) -> list[Integers]:
        """Add the noise of each event to its table, independently in each cell.

        Sums that do not fit into 64 bits are cut off: see `noisy_sum`.
        """
        noisy: list[Integers] = list(tables)
        # Events with equal samplers are drawn in one call.
        rows_of: dict[Noise, list[int]] = {}
        for row, event in enumerate(events):
            rows_of.setdefault(event.noise, []).append(row)
        every = max(1, sum(table.size for table in tables))
        done = 0
        for sampler, rows in rows_of.items():
            for some in _pieces(rows, tables, _DRAWN_TOGETHER):
                size = sum(tables[row].size for row in some)
                before, done = done, done + size
                with within(Fraction(before, every), Fraction(done, every)):
                    drawn = sampler.sample(size, self._entropy)
                stop = 0
                # The sums of several small tables are made together.
                for few in _pieces(some, tables, _CELLS_TOGETHER):
                    flat = [tables[row].reshape(-1) for row in few]
                    true = flat[0] if len(flat) == 1 else np.concatenate(flat)
                    begin, stop = stop, stop + true.size
                    sums = noisy_sum(true, drawn[begin:stop])
                    shapes = [tables[row].shape for row in few]
                    for row, own in zip(few, _apart(sums, shapes), strict=True):
                        noisy[row] = own
        return noisy

    def _views(self, views: Iterable[Iterable[str]]) -> list[View]:
        """Check that views belong to the domain; the result is the views as tuples of names."""
        checked = [self.domain.view(view) for view in views]
        if not checked:
            raise DomainError(
                "views must hold at least one view, but it is empty; give at least one view"
            )
        return checked

    def _items(self, attributes: Iterable[str]) -> View:
        """Check that attributes are items (have two categories); the result is their names."""
        names = self.domain.view(attributes)
        for name in names:
            if self.domain[name].size != 2:
                raise DomainError(
                    "an item is an attribute of two categories, absent and present, but attribute "
                    f"{name!r} has {self.domain[name].size}; name other attributes"
                )
        return names

    def _tables(self, views: Sequence[View]) -> list[Integers]:
        """Count the rows in each cell of each view: the true tables, which never leave this object.

        Each view is counted once and then kept, until an answer spends all that is left.
        """
        counted = self._counted
        new = list(dict.fromkeys(view for view in views if view not in counted))
        if new:
            if not counted:
                log.info("counting the views")
            else:
                log.info("counting more views in another pass over the table")
            tables = count(self._source, self.domain, new)
            counted.update(zip(new, tables, strict=True))
        return [counted[view] for view in views]


def _pieces(
    rows: Sequence[int],
    tables: Sequence[Integers],
    cells: int,
) -> Iterator[Sequence[int]]:
    """Cut a list of tables into pieces of about `cells` cells, or of one table."""
    step = max(1, cells // max(1, *(tables[row].size for row in rows)))
    for first in range(0, len(rows), step):
        yield rows[first : first + step]


def _apart(sums: Integers, shapes: Sequence[tuple[int, ...]]) -> Iterator[Integers]:
    """Cut the sums of several tables into these tables. Each gets memory of its own: behind what
    leaves the gate there is no other answer."""
    if len(shapes) == 1:
        yield sums.reshape(shapes[0])
        return
    stop = 0
    for shape in shapes:
        begin, stop = stop, stop + math.prod(shape)
        yield sums[begin:stop].copy().reshape(shape)
