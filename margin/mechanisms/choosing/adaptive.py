"""`Adaptive`: a mechanism that spends a part of the budget on learning which views to measure."""

import itertools
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar

import numpy as np

from ..._checks import share, whole_number
from ...domain.domain import View
from ...domain.marginal import Marginal
from ...domain.workload import Workload
from ...errors import DomainError
from ...privacy.budget import PureDP
from ...private import Private
from ...solvers import Evidence, JointProjection, NonNegativity, ResidualConsistency, Solver
from ...synopses import LevelSynopsis, ViewSynopsis
from ...synopses.estimate import possible, reconstruction_for
from ...synopses.noisy_tables import LEAST_VARIANCE
from ..asked import usual_workload
from ..fitted import (
    COMMON_DOUBT,
    FIRST_PART,
    LOOK_CHOICE_NOISE,
    LOOK_NOISE,
    LOOK_PRICE,
    LOOK_PRICE_PURE,
    MOST_PAYING_ROUNDS,
    ROUND_PART,
    TREE_CHOICE,
    TREE_SINGLES,
)
from ..ordered.level_counts import LevelCounts
from .again import chosen_again
from .asked_candidates import measured_as_asked
from .auto import counted_rows
from .begin import begin
from .candidates import Candidate, Candidates
from .contests import contestants
from .dependence import Learnt, PairDependence
from .drowned import without_drowned
from .in_rounds import CHOICE, PUBLIC, PayingRounds, measured_in_round, noise_penalties
from .look import Judge, look_share
from .probes import learning_share, pays, probes, variance_after
from .residual import Residual
from .scales import told_scales
from .strength import Strength, Structure, learned
from .strong_pairs import StrongPairs
from .tree import SpanningTree

__all__ = ["Adaptive"]


@dataclass(
    frozen=True,
    kw_only=True,
)
class Adaptive:
    """A mechanism that learns privately which views are worth measuring, and then measures them.

    `Adaptive()` is the default of `margin.release`.

    Under pure differential privacy one noisy number comes first: how far all pairs are from
    independent (`PairDependence`). It costs 1 to 8 percent of the budget, and is left out where it
    would not reduce the error.

    A few small views, chosen by a public rule, are measured next. Their distance from the
    maximum-entropy estimate tells how much structure there is, and how evenly rows are spread over
    cells. From both follows which candidate of `Auto` to measure. This step is skipped if the
    budget and the number of rows show that it would not reduce the error. This is so if one
    candidate is the best for any likely structure (such as the full table of a small domain), or if
    noise would hide the structure.

    Under concentrated differential privacy the candidate is measured with half of what is left. The
    structure is learnt again from all tables, and the rest measures the candidate that is best
    together with them (`chosen_again`).

    In a round the exponential mechanism chooses a view whose true table is far from the answers so
    far: in L1 distance, minus the expected noise of a measurement (as in AIM, McKenna et al., VLDB
    2022). That view is then measured. If all pairs have been measured with the first half, rounds
    of triples are made before the rest of the budget is spent. They go on as long as they pay
    (`PayingRounds`): what a round measured tells how much the error has become smaller. The first
    one that finds little, or the second, is the last.

    If a number of rounds is stated, rounds of pairs and triples follow the candidate instead. If a
    round changes the answers by less than its noise, the next round gets twice the budget. All
    measurements of all steps are combined, each weighted by its precision.

    At the end, components that are more noise than signal are left out, by what was measured. If
    the workload asks prefixes, ranges or levels, it does the same as `Auto`.

    Parameters
    ----------
    rounds
        The number of rounds that follow the candidate, each of which chooses one view; 0 for no
        rounds at all. None makes rounds of triples as long as they pay, under concentrated
        differential privacy, and none under pure differential privacy.
    learn_share
        The largest share of the budget for the first views, > 0 and < 1. Less is spent if less
        makes their noise small, and nothing if even this share leaves too much noise.
    rounds_share
        The share of the budget for a stated number of rounds, > 0 and < 1. The three shares must
        add up to less than 1.
    structure, count_share
        See `Auto`: the structure that is assumed before anything is learnt, and the share of the
        budget that measures the number of rows.
    max_cells
        The largest number of cells of a view that is chosen in a round.
    nonnegativity
        Removes negative counts; None leaves them.
    reconstruction
        The solver for marginals that no view covers. None takes maximum entropy: over all
        attributes at once if they are few, otherwise over at most 12 attributes that include the
        requested ones.

    Examples
    --------
    >>> import margin
    >>> table = {"a": [0, 1] * 50, "b": [0, 1] * 50}
    >>> domain = margin.Domain({"a": 2, "b": 2})
    >>> mechanism = margin.Adaptive(structure="weak")
    >>> made = margin.release(table, domain=domain, budget=margin.PureDP(9), mechanism=mechanism)
    >>> made.marginal(["a", "b"]).counts.shape
    (2, 2)
    """

    keeps_known: ClassVar[bool] = True

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
        if self.rounds is not None:
            object.__setattr__(self, "rounds", whole_number("rounds", self.rounds, least=0))
        object.__setattr__(self, "max_cells", whole_number("max_cells", self.max_cells))
        for name in ("learn_share", "rounds_share", "count_share"):
            share(name, getattr(self, name))
        if self.learn_share + self.rounds_share + self.count_share >= 1:
            raise DomainError(
                "learn_share, rounds_share and count_share must add up to less than 1, to leave "
                "some of the budget, but their sum is "
                f"{float(self.learn_share + self.rounds_share + self.count_share):g}; make one of "
                "them smaller"
            )

    def run(
        self,
        private: Private,
        workload: Workload | None,
    ) -> ViewSynopsis | LevelSynopsis:
        """Run the mechanism: learn, measure the best candidate, and choose more views in rounds.

        The candidate is measured with the whole rest of the budget, or rounds follow it.
        """
        asked = usual_workload(private.domain, workload)
        if asked.asked:
            return measured_as_asked(private, asked)
        course = _Course(self, private, asked)
        course.count_rows()
        course.ask_where_it_pays()
        course.learn_where_it_pays()
        judge = course.look_where_it_pays()
        return without_drowned(
            course.ordinary() if judge is None else course.strong_pairs(judge),
            course.workload,
            self.nonnegativity,
        )


class _Course:
    """The state of one run of `Adaptive`: the measurements so far, what was learnt, and the budget
    that is left."""

    def __init__(
        self,
        mechanism: Adaptive,
        private: Private,
        workload: Workload,
    ) -> None:
        self.mechanism = mechanism
        self.private = private
        self.domain = private.domain
        self.budget = private.budget
        self.workload = workload
        # Candidates refuse tables that cannot be counted: that comes before any charge.
        self.considered = Candidates(self.domain, self.workload, self.budget)
        self.strength = Strength.of(mechanism.structure)
        self.doubt = COMMON_DOUBT
        self.evidence = Evidence(
            sizes=self.domain.sizes,
            zeros=self.domain.zeros,
            known=self.domain.constraints,
        )
        self.rows = 1.0
        self.spent = Fraction(0)

    def count_rows(self) -> None:
        """Measure the number of rows, unless the domain declares it.

        The measurement is evidence like all others. It is often more precise than the sum of a
        noisy table of many cells.
        """
        count_share = self.mechanism.count_share
        rows, variance = counted_rows(self.private, spend=count_share)
        self.rows = max(1.0, rows)
        if self.domain.rows is None:
            self.spent += _part(count_share)
            self.evidence.add_component((), np.array(rows), max(variance, LEAST_VARIANCE))

    def ask_where_it_pays(self) -> None:
        """Ask for one noisy number that tells the strength of the structure in pairs, but only if
        this is expected to reduce the error.

        Under concentrated differential privacy it changed nothing: the probes cost little there.
        """
        if not isinstance(self.budget, PureDP):
            return
        dependence = PairDependence(self.domain, self.workload, self.budget)
        before = Learnt(strength=self.strength, doubt=self.doubt)
        kept = _part(self.mechanism.learn_share) + _part(self.mechanism.rounds_share)
        share = dependence.share(
            self.considered,
            before,
            self.rows,
            most=1 - self.spent - kept,
        )
        if share is None:
            return
        begin(self.private, "learning how strongly pairs of attributes depend on each other")
        learnt = dependence.ask(self.private, before, self.rows, share)
        self.strength = learnt.strength
        self.doubt = learnt.doubt
        self.spent += share

    def learn_where_it_pays(self) -> None:
        """Measure a few small views and learn the strength of high-order structure from them, but
        only if this is expected to reduce the error.

        Under pure differential privacy the variance of noise grows as the square of what is spent
        before. So nothing is learnt there if a look follows anyway.
        """
        if isinstance(self.budget, PureDP) and self._look_share() is not None:
            return
        most = _part(self.mechanism.learn_share)
        learn_share, deviation = learning_share(self.domain, self.budget, self.rows, most)
        variance = variance_after(self.budget, learn_share)
        if not pays(self.considered, self.strength, self.rows, variance, deviation, self.doubt):
            return
        begin(self.private, "learning from small views how strong the structure is")
        self._add(self.private.measure(probes(self.domain), spend=learn_share))
        self.spent += learn_share
        tables = self.evidence.tables()
        self.rows = max(1.0, tables.total)
        self.strength = learned(tables, self.strength)

    def look_where_it_pays(self) -> Judge | None:
        """Look for strong pairs if they may be the best candidate; None if they are not.

        Then what the look measured is evidence for the other candidates. Where rounds are stated,
        they are made, and there is no look.
        """
        share = self._look_share()
        if share is None:
            return None
        mechanism = replace(self._strong_pairs(), look_share=float(share))
        begin(self.private, "looking for pairs of attributes that depend on each other")
        judge = mechanism.look(self.private, self.workload)
        self.spent += mechanism.spend(self.budget)
        expected = judge.error_after(self.budget, 1 - self.spent)
        # The price of another candidate is the sum over all asked marginals.
        best, _ = self._best_and_tree(self.strength)
        # Single attributes alone are another candidate.
        found_pairs = any(len(view) == 2 for view in judge.found.views)
        if found_pairs and expected < best.error / sum(self.workload.weights):
            return judge
        self.evidence.add_evidence(judge.found.evidence)
        return None

    def _look_share(self) -> Fraction | None:
        """The share of the budget for a look at strong pairs; None if a look cannot pay, or if
        rounds are stated.

        Cells that must be zero leave no junction tree. Choices must not be hidden by noise. The
        noise of a tree must be less than the error of the other candidates. And its price may be
        too high, but not by any factor: what it misses is learnt from few triples.
        """
        if self.mechanism.rounds:
            return None
        pairs = self._strong_pairs()
        choice_noise = pairs.choice_noise(self.private, self.workload)
        if self.domain.zeros is not None or choice_noise > LOOK_CHOICE_NOISE * self.rows:
            return None
        best, tree = self._best_and_tree(self.strength)
        # A tree that misses as little as all pairs do.
        _, hoped = self._best_and_tree(replace(self.strength, forest=self.strength.pairs))
        if tree is None or hoped is None or hoped.noise > LOOK_NOISE * best.error:
            return None
        is_pure = isinstance(self.budget, PureDP)
        if tree.error > (LOOK_PRICE_PURE if is_pure else LOOK_PRICE) * best.error:
            return None
        most = pairs.spend(self.budget)
        if is_pure:
            return most
        # The tree of a look is measured with a smaller share than a tree alone.
        of_tree_alone = (1 - self.spent) * (1 - TREE_SINGLES - TREE_CHOICE)
        return look_share(
            most,
            noise=hoped.noise * float(of_tree_alone / pairs.share_of_tree(self.budget)),
            error=best.error,
            choice_noise=choice_noise,
            rows=self.rows,
        )

    def _best_and_tree(self, strength: Strength) -> tuple[Candidate, Candidate | None]:
        """The best candidate but the spanning tree, and this tree if it is a candidate."""
        variance = variance_after(self.budget, self.spent)
        priced = self.considered.priced(strength, self.rows, variance=variance)
        trees = [one for one in priced if isinstance(one.mechanism, SpanningTree)]
        others = [one for one in priced if not isinstance(one.mechanism, SpanningTree)]
        return others[0], trees[0] if trees else None

    def _strong_pairs(self) -> StrongPairs:
        return StrongPairs(
            nonnegativity=self.mechanism.nonnegativity,
            reconstruction=self.mechanism.reconstruction or reconstruction_for(self.domain),
        )

    def ordinary(self) -> ViewSynopsis:
        """Measure the best candidate, and make rounds if they are stated or pay."""
        chosen = self._priced(self.spent)[0]
        if self.mechanism.rounds:
            views = self.contestants((2, 3))
            count = min(self.mechanism.rounds, len(views))
            if count:
                return self.candidate_then_rounds(chosen, views, count)
        return self.candidate_alone(chosen)

    def strong_pairs(self, judge: Judge) -> ViewSynopsis:
        """Measure the strong pairs with all that is left of the budget."""
        return self._strong_pairs().measure_again(
            self.private,
            self.workload,
            judge.found,
            1 - self.spent,
        )

    def _priced(self, spent: Fraction) -> list[Candidate]:
        """The candidates, the best first, if a share of the budget is spent on something else."""
        variance = variance_after(self.budget, spent)
        return self.considered.priced(self.strength, self.rows, variance=variance)

    def contestants(self, lengths: tuple[int, ...]) -> list[View]:
        """The views among which a round chooses; `lengths` are their numbers of attributes."""
        return contestants(
            self.domain,
            self.workload,
            self.mechanism.max_cells,
            self.rows,
            lengths,
        )

    def candidate_then_rounds(
        self,
        chosen: Candidate,
        views: list[View],
        count: int,
    ) -> ViewSynopsis:
        """Measure the candidate, then spend the share of the rounds on `count` rounds."""
        share = _part(self.mechanism.rounds_share)
        self._measure_candidate(chosen, 1 - self.spent - share)
        synopsis = self._after_rounds(views, count, share)
        return synopsis.with_reconstruction(self._solver(chosen))

    def candidate_alone(self, chosen: Candidate) -> ViewSynopsis:
        """Measure the candidate with all that is left of the budget.

        Under concentrated differential privacy the second half measures what is chosen again, and
        rounds may come before it.
        """
        if isinstance(chosen.mechanism, SpanningTree):
            begin(self.private, f"measuring {chosen.note}")
            tree = replace(
                chosen.mechanism,
                nonnegativity=self.mechanism.nonnegativity,
                reconstruction=self._solver(chosen),
            )
            # The probes would close cycles: answers are exact for the tables of the tree alone.
            return tree.measure_and_judge(self.private, self.workload, 1 - self.spent)
        left_out: list[Evidence] = []
        rounds: list[Evidence] = []
        if not isinstance(self.budget, PureDP) and not math.isnan(chosen.error):
            chosen, left_out = self._after_a_part(chosen)
            if self.mechanism.rounds is None:
                rounds = self._rounds_that_pay(chosen)
        self._measure_candidate(chosen, None)
        solver = self._solver(chosen)
        if not left_out and not rounds:
            return self._synopsis(solver)
        # What is left out still tells how strong the structure is that the answers then miss. What
        # rounds have chosen does not: it is the strongest, and the answers do not miss it.
        depth = _depth(self.evidence)
        telling = self._synopsis(solver, self.evidence.joined(*left_out))
        scales = told_scales(telling, (depth, depth + 1))
        self.evidence = self.evidence.joined(*rounds)
        return replace(self._synopsis(solver), scales=scales)

    def _after_a_part(self, chosen: Candidate) -> tuple[Candidate, list[Evidence]]:
        """Measure a candidate with a part of what is left, and choose again: the second choice.

        Under concentrated differential privacy two measurements of one candidate are together as
        precise as a single one with both budgets. So a second choice costs nothing, and it knows
        far more: the strength of the structure is learnt from all that has been measured. The
        result is what to measure next, and the measurements that are left out.
        """
        part = (1 - self.spent) * FIRST_PART
        self._measure_candidate(chosen, part)
        self.spent += part
        tables = self.evidence.tables()
        self.rows = max(1.0, tables.total)
        self.strength = learned(tables, Strength.of(self.mechanism.structure))
        again, self.evidence, left_out = chosen_again(
            self.domain,
            self.considered,
            self.evidence,
            chosen,
            self.strength,
            self.rows,
            variance_after(self.budget, self.spent),
        )
        return again, [left_out] if left_out else []

    def _rounds_that_pay(self, chosen: Candidate) -> list[Evidence]:
        """Make rounds of triples as long as they pay, before the rest measures the candidate.

        They follow if all pairs have been measured, and choose among the triples that the candidate
        leaves out. The result is what they measured; nothing if there is no such triple, or if a
        choice would cost less than a unit of the budget.
        """
        if _depth(self.evidence) != 2:
            return []
        views = self._triples_beyond(chosen)
        each = (1 - self.spent) * ROUND_PART
        if not views or each * CHOICE * self.budget.units < 1:
            return []
        begin(self.private, "choosing and measuring views in rounds, as long as they pay")
        rounds = PayingRounds(
            private=self.private,
            workload=self.workload,
            views=views,
            rows=self.rows,
            spread=self.strength.spread,
            each=each,
            most=min(MOST_PAYING_ROUNDS, len(views)),
            # All noise of the candidate is taken to come from the rest of the budget.
            cost=chosen.noise * float(ROUND_PART),
        )
        found, made = rounds.make(
            self.evidence,
            lambda evidence, some: [
                answer.counts for answer in self._synopsis(PUBLIC, evidence).marginals(some)
            ],
        )
        self.spent += made * rounds.each
        return [found]

    def _triples_beyond(self, chosen: Candidate) -> list[View]:
        """The triples of the workload whose component the candidate does not measure."""
        views = self.contestants((3,))
        if not views:
            return []
        position = self.domain.position
        axes = np.array([[position[name] for name in view] for view in views])
        measured = self.considered.precision(chosen)(axes)[:, -1] > 0
        return [view for view, known in zip(views, measured.tolist(), strict=True) if not known]

    def _solver(self, chosen: Candidate) -> Solver:
        assert not isinstance(chosen.mechanism, LevelCounts)  # it is for levels that are asked
        stated = self.mechanism.reconstruction or chosen.mechanism.reconstruction
        return stated or reconstruction_for(self.domain)

    def _measure_candidate(
        self,
        chosen: Candidate,
        spend: Fraction | None,
    ) -> None:
        """Make the measurements of the candidate, and add them to the evidence."""
        begin(self.private, f"measuring {chosen.note}")
        mechanism = chosen.mechanism
        assert not isinstance(mechanism, LevelCounts)
        if isinstance(mechanism, SpanningTree):
            assert spend is not None  # rounds follow; see `candidate_alone`
            self.evidence, _ = mechanism.measure(self.private, self.workload, spend)
            return
        if isinstance(mechanism, Residual):
            components = mechanism.components(self.domain, self.workload, self.budget)
            components.measure(self.private, self.evidence, spend=spend)
            return
        planned = mechanism.planned(self.domain, self.workload, self.budget)
        views = planned.views or ()
        self._add(
            self.private.measure(
                views,
                shares=planned.shares,
                spend=spend,
            )
        )

    def _after_rounds(
        self,
        views: list[View],
        rounds: int,
        left: Fraction,
    ) -> ViewSynopsis:
        """Run rounds that spend the share `left` of the budget; return the synopsis after them."""
        begin(self.private, "choosing and measuring views in rounds")
        synopsis = self._synopsis(PUBLIC)
        each = left / rounds
        while left:
            # The last round takes all that is left.
            if left < 2 * each:
                each = left
            left -= each
            answers = [answer.counts for answer in synopsis.marginals(views)]
            place, table, variance = measured_in_round(
                self.private,
                views,
                answers,
                spend=each,
                is_last=not left,
            )
            view = views[place]
            axes = tuple(map(self.domain.position.__getitem__, view))
            self.evidence.add_table(axes, table, variance)
            synopsis = self._synopsis(PUBLIC)
            # A round that changed less than its noise would: the next one gets twice the budget.
            difference = synopsis.marginal(view).counts - answers[place]
            (noise,) = noise_penalties(self.private, [view], each)
            if np.abs(difference).sum() <= noise:
                each *= 2
        return synopsis

    def _add(self, measured: Sequence[Marginal]) -> None:
        tables = ViewSynopsis.of(self.domain, measured, reconstruction=PUBLIC).held
        # Known tables follow those that were measured.
        parts = zip(tables.views, tables.values, tables.variances, strict=True)
        for view, value, variance in itertools.islice(parts, len(measured)):
            self.evidence.add_table(view, value, variance)

    def _synopsis(self, solver: Solver, evidence: Evidence | None = None) -> ViewSynopsis:
        """Answers from all measurements, or from the ones that are given."""
        nonnegativity = self.mechanism.nonnegativity
        measured = (evidence or self.evidence).tables()
        tables = possible(measured, nonnegativity, ResidualConsistency())
        return ViewSynopsis.of_tables(
            self.domain,
            tables,
            reconstruction=solver,
            kurtosis=self.budget.kurtosis,
        )


def _depth(evidence: Evidence) -> int:
    """The largest number t such that the components of all sets of t attributes are measured."""
    orders = Counter(map(len, evidence.precision))
    varying = sum(size > 1 for size in evidence.sizes)
    depth = 0
    while depth < varying and orders[depth + 1] == math.comb(varying, depth + 1):
        depth += 1
    return depth


def _part(share: float) -> Fraction:
    return Fraction(share).limit_denominator(10**6)
