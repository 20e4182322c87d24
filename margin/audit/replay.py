"""Record and replay: a mechanism runs on a table, then on a neighbour with the same noisy answers.

It must ask the same questions, the true answers must be as close as was declared, and everything
that leaves must be equal bit by bit, because only the answers may depend on the rows. See
`margin.audit`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..data.source import Source
from ..domain.domain import Domain
from ..noise.entropy import Entropy
from ..privacy.budget import ApproxDP, Budget
from .budget_check import check_costs
from .event_cost import is_choice
from .laws.law import Law
from .outputs.outcome import Outcome, outcome
from .recorder import Player, Recorder, Reply
from .thresholds import check_cuts
from .violation import NotRepeatable, Violation

__all__ = ["Replay", "check_replay", "check_tape"]

TrueAnswers = list[Sequence[Any]]

# Largest number of repetitions on the first table, if a replay on the second one fails. A mechanism
# that chooses one of two things at random fails all but one of 1000 times.
_REPETITIONS = 10

_NOT_REPEATABLE = (
    "The audit cannot replay this mechanism, so it does not say whether it is private: repeated on "
    "the same table, with the same answers of the gate, the mechanism did something else. It draws "
    "random numbers of its own, reads a clock, or keeps something from an earlier run. Seed its "
    "random numbers from a field of the mechanism or from noisy answers, as in "
    "docs/howto/own_mechanism.md. What differed: "
)


@dataclass(
    frozen=True,
    kw_only=True,
)
class Replay:
    """A mechanism that is recorded and replayed.

    Parameters
    ----------
    mechanism
        An object with a method ``run(private, workload)``.
    domain, budget, workload
        What the mechanism is run with.
    entropy
        The source of the noise.
    law
        Looks at the draws.
    """

    mechanism: Any
    domain: Domain
    budget: Budget
    workload: Any = None
    entropy: Entropy
    law: Law

    def compare(
        self,
        first: Callable[[], Source],
        second: Callable[[], Source],
        *,
        repeats: bool = False,
    ) -> tuple[TrueAnswers, TrueAnswers]:
        """Run on the first table and replay on the second one; the true answers on both.

        The second table is opened after the run on the first one, because both may be written to
        the same file. For an `ApproxDP` budget both are done a second time with a ledger: then no
        answer may be certified, and the ledger must be charged.

        With `repeats`, a replay that fails is followed by replays on the first table. If these fail
        too, the cause is in the mechanism and not in the rows.

        Raises
        ------
        NotRepeatable
            If a replay on the first table fails.
        Violation
            If anything but the answers depends on the rows.
        """
        true = self._compare(first, second, repeats, watches_ledger=False)
        if isinstance(self.budget, ApproxDP):
            self._compare(first, second, repeats, watches_ledger=True)
        return true

    def _compare(
        self,
        first: Callable[[], Source],
        second: Callable[[], Source],
        repeats: bool,
        *,
        watches_ledger: bool,
    ) -> tuple[TrueAnswers, TrueAnswers]:
        recorder = self._gate(Recorder, first(), watches_ledger)
        before = outcome(self.mechanism, recorder, self.workload)
        check_tape(recorder.tape, self.budget, may_certify=not watches_ledger)
        for reply in recorder.tape:
            self.law.add(reply.events, reply.true, reply.answer)
        player = self._gate(Player, second(), watches_ledger)
        violation = self._violation(recorder.tape, player, before)
        if violation is not None:
            # Outside a handler of the violation: Python would make it the context of all errors
            # that the repeated runs raise, and no repetition would be equal to the recorded run.
            for _ in range(_REPETITIONS if repeats else 0):
                again = self._gate(Player, first(), watches_ledger)
                again.table = "the same table"
                self._check_repeatable(recorder.tape, again, before)
            raise violation
        return [reply.true for reply in recorder.tape], player.true

    def _violation(
        self,
        tape: Sequence[Reply],
        player: Player,
        before: Outcome,
    ) -> Violation | None:
        """What a run with the answers of a tape does differently from the run in which it was
        recorded; None if nothing."""
        player.tape = list(tape)
        try:
            after = outcome(self.mechanism, player, self.workload)
            check_replay(player, before, after)
        except Violation as violation:
            return violation
        return None

    def _check_repeatable(
        self,
        tape: Sequence[Reply],
        player: Player,
        before: Outcome,
    ) -> None:
        """Check that a replay on the recorded table itself is like the recorded run."""
        violation = self._violation(tape, player, before)
        if violation is not None:
            raise NotRepeatable(f"{_NOT_REPEATABLE}{violation}")

    def observe(self, source: Source) -> None:
        """Run on a table once, and let `law` look at many draws of each answer."""
        recorder = self._gate(Recorder, source)
        recorder.law = self.law
        self.law.start_run()
        outcome(self.mechanism, recorder, self.workload)

    def _gate(
        self,
        kind: Any,
        source: Source,
        watches_ledger: bool = False,
    ) -> Any:
        return kind(
            source,
            domain=self.domain,
            budget=self.budget,
            entropy=self.entropy,
            watches_ledger=watches_ledger,
        )


def check_replay(
    player: Player,
    before: Outcome,
    after: Outcome,
) -> None:
    """Check that a replay asked for all answers of its tape, and had the same outcome.

    Raises
    ------
    Violation
        If it did not.
    """
    if player.tape:
        raise Violation(
            f"The mechanism asks for fewer answers on {player.table}, although all answers were "
            f"equal: it does not ask for the last {len(player.tape)}."
        )
    if before != after:
        raise Violation(
            f"The outcome on {player.table} is another one, although every answer was equal: "
            "something besides the answers went past the gate. The first difference is in: "
            f"{after.differs(before)}"
        )


def check_tape(
    tape: Sequence[Reply],
    budget: Budget,
    *,
    may_certify: bool = True,
) -> None:
    """Check, without the account, that the noise of all replies costs no more than their charges.
    See `check_costs` for `may_certify`.

    Raises
    ------
    Violation
        If it costs more, or if an answer has another number of choices than was declared.
    """
    for reply in tape:
        event = reply.events[0]
        if event.rounds is None and not is_choice(event):
            continue
        # One event has several draws, or one choice in each of several parts of the table; or each
        # choice has an event of its own.
        parts = max(len(reply.events), len(reply.true))
        declared = parts if event.rounds is None else event.draws
        found = np.size(reply.answer)
        if found != declared:
            raise Violation(
                f"{event.method}: {declared} choices were declared, but the answer has {found}."
            )
    events = [event for reply in tape for event in reply.events]
    check_costs(events, budget, may_certify=may_certify)
    check_cuts(events, budget)
