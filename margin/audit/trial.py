"""`audit`: tries a mechanism on pairs of neighbouring tables and reports what is wrong."""

import contextlib
import logging
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from .._checks import check_has_run
from .._types import Floats
from ..data.opening import open_source
from ..data.rows_per_person import bound
from ..data.source import CodesSource, Source
from ..domain.domain import Domain, GivenDomain, domain_of
from ..noise.entropy import SeededEntropy
from ..privacy.budget import Budget
from ..private import Private
from .black_box import STEPS, BlackBox, many_outputs
from .distinguishing_event import JudgedEvent, distinguishing_event, largest_probability
from .laws.law import Law
from .neighbouring_tables import full_table, neighbours
from .outputs.outcome import outcome
from .replay import Replay
from .violation import NotRepeatable, Violation

__all__ = ["Audit", "Trial", "audit"]

log = logging.getLogger("margin")

Pair = tuple[Any, Any]

# Number of runs in which each answer is drawn many times.
_LAW_RUNS = 6

# Number of pairs on which the black box runs.
_BLACK_BOX_PAIRS = 3

# The key that decides which rows of a unit are kept.
_KEY = bytes(range(16))


@dataclass(
    frozen=True,
    kw_only=True,
)
class Audit:
    """What an audit found.

    Attributes
    ----------
    pairs
        The number of pairs of neighbouring tables that were tried.
    runs
        The number of runs of the black box on each table; 0 without a black box.
    findings
        Everything that is wrong, one sentence or more each. Empty if nothing was found, which
        proves nothing beyond the pairs that were tried.
    alpha
        An upper bound on the probability that the black box accuses a correct mechanism; 0 without
        a black box.
    least_loss
        What the runs of the black box show: the mechanism has at least this epsilon (or rho, for a
        budget of zCDP), with probability at least 1 - `alpha`. It is the largest one over the
        pairs whose runs raised no error, and 0 if the runs show nothing. NaN without a black box
        or without such a pair.

        It is the verdict of the black box alone: there is a finding of the black box if, and only
        if, ``least_loss`` is above the stated epsilon or rho. (A rho is rounded down, by at most
        0.1 %.) `ok` is also False for a mechanism that cannot be replayed, whatever its noise.
    """

    pairs: int
    runs: int
    findings: tuple[str, ...]
    alpha: float
    least_loss: float = math.nan

    @property
    def ok(self) -> bool:
        """True if nothing was found.

        A mechanism that refuses every run reveals nothing, so it passes here.
        `margin.testing.check_mechanism` rejects it.
        """
        return not self.findings


def audit(
    mechanism: Any,
    *,
    domain: GivenDomain,
    budget: Budget,
    workload: Any = None,
    pairs: int | Iterable[Pair] = 50,
    seed: int = 0,
    unit: str | None = None,
    black_box: BlackBox | None = None,
) -> Audit:
    """Look for ways in which a mechanism reveals more than its budget allows.

    Parameters
    ----------
    mechanism
        An object with a method ``run(private, workload)``; see `Mechanism`.
    domain, budget, workload
        What the mechanism is run with, as `release` takes them.
    pairs
        Pairs of neighbouring tables: of codes, or of anything that `release` reads, such as data
        frames and paths of files. Or the number of random pairs of tables of codes.
    seed
        The seed of the random tables and of the noise.
    unit
        The column that identifies the unit of a row, as for `release`. At most
        `budget.rows_per_person` rows of each unit are counted, and neighbours differ in all rows of
        one unit.
    black_box
        The settings of the black box. By default, it is skipped.

    Returns
    -------
    Audit

    Raises
    ------
    MarginError
        If `mechanism` has no method ``run``.

    Examples
    --------
    >>> from margin.privacy.budget import PureDP
    >>> class Nothing:
    ...     def run(self, private, workload):
    ...         return None
    >>> audit(Nothing(), domain=Domain({"a": 2}), budget=PureDP(1), pairs=5).ok
    True
    """
    check_has_run(mechanism)
    declared = domain_of(domain)
    tables = list(neighbours(declared, budget, pairs, seed) if isinstance(pairs, int) else pairs)
    trial = Trial(
        mechanism=mechanism,
        domain=declared,
        budget=budget,
        workload=workload,
        tables=tables,
        is_random=isinstance(pairs, int),
        seed=seed,
        unit=unit,
        black_box=black_box,
    )
    findings = list(trial.findings())
    if black_box is None:
        return Audit(
            pairs=len(tables),
            runs=0,
            findings=tuple(dict.fromkeys(findings)),
            alpha=0.0,
        )
    events, errors = trial.black_box_events(SeededEntropy(seed))
    bound_of_budget = largest_probability(budget)
    findings += errors
    findings += filter(None, (event.finding(bound_of_budget) for event in events))
    return Audit(
        pairs=len(tables),
        runs=black_box.runs,
        findings=tuple(dict.fromkeys(findings)),
        alpha=black_box.alpha,
        least_loss=max((event.least_loss(budget) for event in events), default=math.nan),
    )


@dataclass(
    frozen=True,
    kw_only=True,
)
class Trial:
    """A mechanism and the tables on which it is tried; see `audit`.

    Parameters
    ----------
    mechanism, domain, budget, workload, seed, unit, black_box
        As for `audit`.
    tables
        Pairs of neighbouring tables.
    is_random
        Whether the tables are random codes over the domain.
    """

    mechanism: Any
    domain: Domain
    budget: Budget
    tables: list[Pair]
    workload: Any = None
    is_random: bool = True
    seed: int = 0
    unit: str | None = None
    black_box: BlackBox | None = None

    def findings(self) -> Iterator[str]:
        """Everything that replays and draws find wrong, one finding after another: first of pairs
        of tables, then of the laws of the draws."""
        entropy, law = SeededEntropy(self.seed), Law(self.seed)
        replay = Replay(
            mechanism=self.mechanism,
            domain=self.domain,
            budget=self.budget,
            workload=self.workload,
            entropy=entropy,
            law=law,
        )
        self._warm_up()
        has_failed = False
        for finding in self._compare_pairs(replay):
            has_failed = True
            yield finding
        # If a replay failed, the answers are drawn no more.
        runs = 0 if has_failed else min(len(self.tables), _LAW_RUNS)
        yield from self._test_laws(replay, runs)

    def black_box_events(self, entropy: SeededEntropy) -> tuple[list[JudgedEvent], list[str]]:
        """What the black box finds; nothing without one.

        The first list has the event that it tests for each pair of tables whose runs raise no
        error. The second list has a finding for each other pair.
        """
        if self.black_box is None:
            return [], []
        chosen = self.tables[:_BLACK_BOX_PAIRS]
        bound_of_budget = largest_probability(self.budget)
        alpha = self.black_box.alpha / len(chosen)
        events = []
        errors = []
        before = len(self.tables)
        runs = self.black_box.runs
        for one, other in chosen:
            try:
                first = self._outputs(self.black_box, one, entropy, before)
                second = self._outputs(self.black_box, other, entropy, before + runs)
            except Violation as violation:
                errors.append(str(violation))
            else:
                events.append(distinguishing_event(first, second, bound_of_budget, alpha))
            before += 2 * runs
        return events, errors

    @property
    def _steps(self) -> int:
        """The number of steps: pairs that are replayed, and runs of the black box."""
        runs = 0 if self.black_box is None else self.black_box.runs
        return len(self.tables) + 2 * runs * len(self.tables[:_BLACK_BOX_PAIRS])

    def _outputs(
        self,
        black_box: BlackBox,
        data: Any,
        entropy: SeededEntropy,
        before: int,
    ) -> Floats:
        return many_outputs(
            black_box,
            self.mechanism,
            self._opened(data),
            domain=self.domain,
            budget=self.budget,
            workload=self.workload,
            entropy=entropy,
            before=before,
            steps=self._steps,
        )

    def _opened(self, data: Any) -> Source:
        source = CodesSource(data) if isinstance(data, np.ndarray) else open_source(data)
        if self.unit is None:
            return source
        return bound(source, self.unit, self.budget.rows_per_person, _KEY)

    def _warm_up(self) -> None:
        """Run once before anything is compared, because libraries write files when they are first
        loaded or compiled."""
        for table, _ in self.tables[:1]:
            with contextlib.suppress(Violation):
                private = Private(
                    self._opened(table),
                    domain=self.domain,
                    budget=self.budget,
                    entropy=SeededEntropy(self.seed),
                )
                outcome(self.mechanism, private, self.workload)

    def _compare_pairs(self, replay: Replay) -> Iterator[str]:
        repeats = True
        for number, (first, second) in enumerate(self.tables):
            log.info(STEPS, number + 1, self._steps)
            pair = (partial(self._opened, first), partial(self._opened, second))
            try:
                replay.compare(*pair, repeats=repeats)
            except NotRepeatable as violation:
                yield str(violation)
                return  # nothing can be concluded from the other pairs
            except Violation as violation:
                yield str(violation)
                repeats = False  # the mechanism was repeated

    def _test_laws(self, replay: Replay, runs: int) -> Iterator[str]:
        for number in range(runs):
            # Every second run is on the table with many rows, if the tables are random. The other
            # runs take the first and the second table of a pair in turn.
            pair = self.tables[number % len(self.tables)]
            takes_full = self.is_random and number % 2 == 1
            data = full_table(self.domain) if takes_full else pair[number // 2 % 2]
            try:
                replay.observe(self._opened(data))
            except Violation as violation:
                yield str(violation)
        yield from replay.law.judge()
