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
from .violation import Violation

__all__ = ["Replay", "check_replay", "check_tape"]

TrueAnswers = list[Sequence[Any]]


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
    ) -> tuple[TrueAnswers, TrueAnswers]:
        """Run on the first table and replay on the second one; the true answers on both.

        The second table is opened after the run on the first one, because both may be written to
        the same file. For an `ApproxDP` budget both are done a second time with a ledger: then no
        answer may be certified, and the ledger must be charged.

        Raises
        ------
        Violation
            If anything but the answers depends on the rows.
        """
        true = self._compare(first, second, watches_ledger=False)
        if isinstance(self.budget, ApproxDP):
            self._compare(first, second, watches_ledger=True)
        return true

    def _compare(
        self,
        first: Callable[[], Source],
        second: Callable[[], Source],
        *,
        watches_ledger: bool,
    ) -> tuple[TrueAnswers, TrueAnswers]:
        recorder = self._gate(Recorder, first(), watches_ledger)
        before = outcome(self.mechanism, recorder, self.workload)
        player = self._gate(Player, second(), watches_ledger)
        player.tape = list(recorder.tape)
        after = outcome(self.mechanism, player, self.workload)
        check_tape(recorder.tape, self.budget, may_certify=not watches_ledger)
        for reply in recorder.tape:
            self.law.add(reply.events, reply.true, reply.answer)
        check_replay(player, before, after)
        return [reply.true for reply in recorder.tape], player.true

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
            "The mechanism asks for fewer answers on a neighbouring table, although all answers "
            f"were equal: it does not ask for the last {len(player.tape)}."
        )
    if before != after:
        raise Violation(
            "The outcome on a neighbouring table is another one, although every answer was equal: "
            "information about the rows, or random numbers from elsewhere, went past the gate. "
            f"The first difference is in: {after.differs(before)}"
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
