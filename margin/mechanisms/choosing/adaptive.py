"""`Adaptive`: a part of the budget learns how much high-order structure there is, and where; the
rest measures that."""

import itertools
import logging
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from ..._types import Floats
from ...domain.domain import Domain, View
from ...domain.marginal import Marginal
from ...domain.workload import Workload
from ...errors import DomainError
from ...privacy.budget import Budget, PureDP
from ...private import Private
from ...private.choose import LARGEST_ANSWERS, LARGEST_PENALTY
from ...solvers import Evidence, JointProjection, Newton, NonNegativity, ResidualConsistency, Solver
from ...synopses import ViewSynopsis
from ...synopses.estimate import possible
from ..views.priview import PriView
from .auto import counted_rows, usual_workload
from .candidates import Candidate, Candidates
from .probes import learning_share, pays, probes, variance_after
from .residual import Residual
from .strength import Strength, Structure, learned

__all__ = ["Adaptive"]

log = logging.getLogger("margin")

_CONTESTANTS = 1_500
"""How many views compete in a round at most."""

_FAR_MORE = 25.0
"""How much more than noise must be expected to be missed for rounds to be made by default."""

_SCATTERED = 2.5
"""How many views for each attribute are so many that a few pairs by themselves tell more, where
noise is large."""

_FOR_PAIRS = Fraction(7, 10)
"""What part of the rest of the budget then goes into the pairs."""

_CHOICE = Fraction(1, 10)
"""The part of a round that chooses; the rest measures (McKenna et al., VLDB 2022)."""

_PUBLIC = Newton(bars=False, tolerance=1e-5)
"""Answers what the views in a round are compared with: their own noise is far above this."""


@dataclass(frozen=True, kw_only=True)
class Adaptive:
    """Learn privately what pays, then measure it.

    First a few small views, chosen by a public rule, are measured. How far maximum entropy is from
    them tells how much high-order structure there is, and so which of the candidates of `Auto` to
    measure. Nothing is spent on that where the budget and the number of rows tell that it would not
    pay: where one candidate is the best for any structure that is likely, as the full table of a
    small domain is, or where noise would hide what there is to learn. In each round after that the
    exponential mechanism chooses the view that the answers so far are furthest from, in L1 distance
    less what noise alone would cost, and it is measured, too; when a round changes the answers by
    less than its noise, the next one gets twice as much (as in AIM, McKenna et al., VLDB 2022). All
    that was measured, in whatever step, counts by its precision.

    Under pure differential privacy noise grows with the number of views. Where it is too large to
    learn from, and the best candidate has more than two and a half views for each attribute, single
    attributes are measured instead, and rounds choose among the pairs: a few that say much,
    measured well, for all of them measured badly.

    Parameters
    ----------
    rounds
        How many views are chosen by their gap at most; 0 for none. None takes as many as there are
        attributes where far more is expected to be missed than noise adds, or where pairs are
        chosen, else none.
    learn_share
        What part of the budget measures the first views at most, > 0 and < 1: less where less makes
        their noise small, and none where all of it would leave that too large to learn from.
    rounds_share
        What part goes into the rounds that follow a candidate, if any, > 0 and < 1; with the other
        shares less than 1.
    structure, count_share
        See `Auto`: what is assumed before anything is learnt, and what part of the budget measures
        the number of rows.
    max_cells
        The most cells of a view that is chosen in a round.
    nonnegativity
        Removes negative counts; None leaves them.
    reconstruction
        Answers what no view covers; None takes maximum entropy, over all attributes at once where
        they are few, else over up to 12 around those asked for.
    """

    rounds: int | None = None
    learn_share: float = 0.1
    rounds_share: float = 0.3
    structure: Structure = "medium"
    count_share: float = 0.01
    max_cells: int = 4096
    nonnegativity: NonNegativity | None = JointProjection()
    reconstruction: Solver | None = None

    def __post_init__(self) -> None:
        Strength.of(self.structure)
        if self.rounds is not None and (
            not isinstance(self.rounds, int) or self.rounds < 0 or self.rounds is True
        ):
            raise DomainError(f"rounds ({self.rounds!r}) must be a whole number >= 0, or None")
        if (
            isinstance(self.max_cells, bool)
            or not isinstance(self.max_cells, int)
            or self.max_cells < 1
        ):
            raise DomainError(f"max_cells ({self.max_cells!r}) must be a whole number >= 1")
        for name in ("learn_share", "rounds_share", "count_share"):
            share = getattr(self, name)
            if (
                isinstance(share, bool)
                or not isinstance(share, int | float | Fraction)
                or not 0 < share < 1
            ):
                raise DomainError(f"{name} ({share!r}) must be a number > 0 and < 1")
        if self.learn_share + self.rounds_share + self.count_share >= 1:
            raise DomainError(
                "the three shares must leave some of the budget: they add up to 1 or more"
            )

    def run(self, private: Private, workload: Workload | None) -> ViewSynopsis:
        """Learn, choose, measure, and go after the largest gaps."""
        domain, budget = private.domain, private.budget
        asked = usual_workload(domain, workload)
        considered, strength = Candidates(domain, asked, budget), Strength.of(self.structure)
        rows = counted_rows(private, spend=self.count_share)
        spent = Fraction(0) if domain.rows is not None else _part(self.count_share)
        evidence = Evidence(sizes=domain.sizes, zeros=domain.zeros, known_total=domain.rows)
        share = learning_share(domain, budget, rows, _part(self.learn_share))
        if share and pays(considered, strength, rows, variance_after(budget, share)):
            _add(evidence, domain, private.measure(probes(domain), spend=share))
            spent += share
            tables = evidence.tables()
            rows, strength = max(1.0, tables.total), learned(tables, strength)
        chosen = considered.priced(strength, rows, variance=variance_after(budget, spent))[0]
        solver = self.reconstruction or chosen.mechanism.reconstruction
        # So few that their public answers add up to no more than may be compared.
        most = min(_CONTESTANTS, math.floor(LARGEST_ANSWERS / (2 * rows)))
        scattered = self.rounds is None and not share and _is_scattered(chosen, domain, budget)
        if scattered and (pairs := _contestants(domain, asked, self.max_cells, most, (2,))):
            log.info("measuring single attributes, then pairs")
            contestants, rounds, left = pairs, len(domain), _FOR_PAIRS * (1 - spent)
            _add(evidence, domain, private.measure(_singles(domain), spend=1 - spent - left))
        else:
            log.info("measuring %s", chosen.note)
            contestants = _contestants(domain, asked, self.max_cells, most, (2, 3))
            rounds, left = (
                min(self._rounds(domain, chosen), len(contestants)),
                _part(self.rounds_share),
            )
            _measured(
                chosen.mechanism, evidence, private, asked, 1 - spent - left if rounds else None
            )
        synopsis = self._synopsis(domain, evidence, solver)
        return (
            self._go_on(private, evidence, synopsis, contestants, rounds, left)
            if rounds
            else synopsis
        )

    def _rounds(self, domain: Domain, chosen: Candidate) -> int:
        if self.rounds is not None:
            return self.rounds
        return len(domain) if chosen.missed > _FAR_MORE * chosen.noise else 0

    def _go_on(
        self,
        private: Private,
        evidence: Evidence,
        synopsis: ViewSynopsis,
        contestants: list[View],
        rounds: int,
        left: Fraction,
    ) -> ViewSynopsis:
        """Round after round the view with the largest gap, until the part of the budget that is
        left is spent."""
        domain = private.domain
        solver = synopsis.reconstruction
        synopsis = synopsis.with_reconstruction(_PUBLIC)
        each = left / rounds
        while left:
            if left < 2 * each:
                each = left
            left -= each
            deviation = _deviation(private.budget, each * (1 - _CHOICE))
            noise = [
                min(math.ceil(deviation * domain.cells(view)), LARGEST_PENALTY)
                for view in contestants
            ]
            (place,) = private.select(
                contestants,
                _comparable(synopsis.marginals(contestants)),
                penalties=noise,
                spend=each * _CHOICE,
            )
            view = contestants[place]
            log.info("measuring %s", ", ".join(view))
            _add(
                evidence,
                domain,
                private.measure([view], spend=each * (1 - _CHOICE) if left else None),
            )
            before, synopsis = synopsis, self._synopsis(domain, evidence, _PUBLIC)
            change = np.abs(synopsis.marginal(view).counts - before.marginal(view).counts).sum()
            if change <= noise[place]:
                each *= 2
        return synopsis.with_reconstruction(solver)

    def _synopsis(self, domain: Domain, evidence: Evidence, solver: Solver) -> ViewSynopsis:
        tables = possible(evidence.tables(), self.nonnegativity, ResidualConsistency())
        return ViewSynopsis.of_tables(domain, tables, reconstruction=solver)


def _part(share: float) -> Fraction:
    return Fraction(share).limit_denominator(10**6)


def _deviation(budget: Budget, part: Fraction) -> float:
    """The expected size of the noise in a count that is measured with a part of the budget."""
    charge = max(1, math.floor(part * budget.units))
    return math.sqrt(2 / math.pi * budget.count_noise(charge).variance)


def _add(evidence: Evidence, domain: Domain, measured: Sequence[Marginal]) -> None:
    tables = ViewSynopsis.of(domain, measured, reconstruction=_PUBLIC).tables
    for view, value, variance in zip(tables.views, tables.values, tables.variances, strict=True):
        evidence.add_table(view, value, variance)


def _measured(
    mechanism: PriView | Residual,
    evidence: Evidence,
    private: Private,
    workload: Workload,
    spend: Fraction | None,
) -> None:
    """Add what a mechanism would measure."""
    domain = private.domain
    if isinstance(mechanism, Residual):
        mechanism.components(domain, workload, private.budget).measure(
            private, evidence, spend=spend
        )
        return
    planned = mechanism.planned(domain, workload, private.budget)
    _add(evidence, domain, private.measure(planned.views or (), shares=planned.shares, spend=spend))


def _comparable(answers: Sequence[Marginal]) -> list[Floats]:
    """Public answers, scaled down where noise makes them add up to more than may be compared."""
    size = sum(float(np.abs(answer.counts).sum()) for answer in answers)
    return [answer.counts * min(1.0, LARGEST_ANSWERS / (2 * size + 1)) for answer in answers]


def _is_scattered(chosen: Candidate, domain: Domain, budget: Budget) -> bool:
    """Whether a candidate spreads a budget of pure differential privacy over very many views."""
    views = chosen.mechanism.views if isinstance(chosen.mechanism, PriView) else None
    return isinstance(budget, PureDP) and len(views or ()) > _SCATTERED * len(domain)


def _singles(domain: Domain) -> list[View]:
    return [(name,) for name in domain if domain[name].size > 1] or [domain.attributes[:1]]


def _contestants(
    domain: Domain, workload: Workload, max_cells: int, most: int, lengths: tuple[int, ...]
) -> list[View]:
    """Sets of so many attributes within views of the workload, at most so many: an even sample of
    them."""
    if most < 1:
        return []
    step = max(1, len(workload) // _CONTESTANTS)
    found: dict[View, None] = {}
    for view in workload.views[::step]:
        names = sorted(
            (name for name in view if domain[name].size > 1), key=domain.position.__getitem__
        )
        for size in lengths:
            found.update(dict.fromkeys(itertools.combinations(names, size)))
    small = [view for view in found if domain.cells(view) <= max_cells]
    return small[:: max(1, math.ceil(len(small) / most))]
