"""`StrongPairs`: a mechanism that measures pairs of attributes that depend on each other."""

import logging
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from ..._checks import share
from ...domain.domain import Domain, View
from ...domain.workload import Workload
from ...privacy.budget import Budget, PureDP
from ...private import Private
from ...solvers import JointProjection, Newton, NonNegativity, Solver
from ...solvers.reconstruct.scaling.junction import has_junction_tree
from ...solvers.tables.tables import Axes
from ...synopses import ViewSynopsis
from ...synopses.estimate import CONTEXT
from ..asked import usual_workload
from ..fitted import (
    AGAIN_CHOICE,
    AGAIN_DISTANCE,
    AGAIN_TREE,
    LOOK_BATCHES,
    LOOK_CHOICE,
    LOOK_DISTANCE,
    LOOK_SHARE,
    LOOK_SHARE_PURE,
    LOOK_SINGLES,
    LOOK_SINGLES_PURE,
    LOOK_TREE,
    LOOK_TREE_CHOICE,
)
from .begin import begin
from .contests import break_evens, choose_in_turn, comparable, contestants, mean_noise, penalty
from .look import Found, Judge, best_shares
from .tree import MOST_PAIR_CELLS, SpanningTree, add, asked_names, with_singles

__all__ = ["StrongPairs"]

log = logging.getLogger("margin")

_LEAST_AGAIN = 0.01
"""Smallest part of what a look leaves of the budget that measures its tree a third time."""


@dataclass(
    frozen=True,
    kw_only=True,
)
class StrongPairs:
    """A mechanism that measures the pairs of attributes that depend most on each other.

    First it looks: with a part of the budget it chooses a spanning tree of pairs and measures it
    (`SpanningTree`). Then the exponential mechanism chooses further pairs, one after another, whose
    true tables are far from the answers so far, in L1 distance, minus what noise is expected to
    add. There are at most as many choices as attributes. They end earlier if it is better to choose
    no further pair. A pair is left out if the junction tree of all pairs would get too large.

    Under concentrated differential privacy the look chooses two such batches and measures each;
    then the rest of the budget measures all pairs again. Two measurements are as good there as one
    with both budgets. Under pure differential privacy they are worse. So the look is a tree alone.
    Most of the rest measures it again, then one batch is chosen and measured once. If its pairs are
    few, what is left measures the tree once more. Last, one noisy distance of all answers from the
    truth tells how much they miss.

    Marginals are answered from the distribution of maximum entropy over all attributes, on the
    junction tree of the pairs (`solvers.reconstruct.scaling.junction`).

    That pairs are chosen where answers are wrong follows MWEM (Hardt, Ligett and McSherry, NIPS
    2012) and AIM (McKenna et al., VLDB 2022). The order of the measurements, the end of the choice
    and the answers are ours.

    Parameters
    ----------
    look_share
        The share of the budget for the look, > 0 and < 1. None takes 0.165 for pure differential
        privacy, where noise grows faster with what is spent, and 0.22 otherwise.
    nonnegativity
        Removes negative counts; None leaves them.
    reconstruction
        The solver for marginals that no view covers. With one that tells no error bars
        (`Solution.undetermined`), the last distance, a fiftieth of what the look leaves, is of no
        use.

    Examples
    --------
    >>> import margin
    >>> table = {"a": [0, 0, 1, 1] * 50, "b": [0, 0, 1, 1] * 50, "c": [0, 1, 0, 1] * 50}
    >>> made = margin.simulate(
    ...     table,
    ...     domain=margin.Domain({"a": 2, "b": 2, "c": 2}),
    ...     budget=margin.ZCDP(1),
    ...     mechanism=StrongPairs(),
    ...     seed=0,
    ... ).synopsis
    >>> [sorted(view) for view in made.names]  # the attributes that depend on each other
    [['a', 'b'], ['c']]
    """

    look_share: float | None = None
    nonnegativity: NonNegativity | None = JointProjection()
    reconstruction: Solver = Newton(context=CONTEXT)

    def __post_init__(self) -> None:
        if self.look_share is not None:
            share("look_share", self.look_share)

    def run(
        self,
        private: Private,
        workload: Workload | None,
    ) -> ViewSynopsis:
        """Run the mechanism: look, and measure what was found with the rest of the budget."""
        left = 1 - self.spend(private.budget)
        return self.measure_again(private, workload, self.look(private, workload).found, left)

    def spend(self, budget: Budget) -> Fraction:
        """The share of a budget that the look may spend."""
        if self.look_share is not None:
            return Fraction(self.look_share).limit_denominator(10**6)
        return LOOK_SHARE_PURE if isinstance(budget, PureDP) else LOOK_SHARE

    def choice_noise(
        self,
        private: Private,
        workload: Workload | None,
    ) -> float:
        """The mean absolute noise of a score in the choice of the tree, in rows."""
        choices = max(1, len(asked_names(private.domain, workload)) - 1)
        of_choices = self._spend_on_tree(private.budget) * LOOK_TREE_CHOICE
        return mean_noise(private.budget, of_choices / choices)

    def share_of_tree(self, budget: Budget) -> Fraction:
        """The share of a budget that measures the tables of the tree of the look."""
        of_singles = LOOK_SINGLES_PURE if isinstance(budget, PureDP) else LOOK_SINGLES
        return self._spend_on_tree(budget) * (1 - of_singles - LOOK_TREE_CHOICE)

    def _spend_on_tree(self, budget: Budget) -> Fraction:
        """The share of a budget for the choice and the measurement of the tree of the look."""
        of_pairs = self.spend(budget) * (1 - LOOK_DISTANCE)
        return of_pairs if isinstance(budget, PureDP) else of_pairs * LOOK_TREE

    def look(
        self,
        private: Private,
        workload: Workload | None,
    ) -> Judge:
        """Choose pairs, measure them and judge them, with the share of the budget for the look."""
        domain = private.domain
        spend = self.spend(private.budget)
        of_pairs = spend * (1 - LOOK_DISTANCE)
        pure = isinstance(private.budget, PureDP)
        of_singles = LOOK_SINGLES_PURE if pure else LOOK_SINGLES
        batches = 0 if pure else LOOK_BATCHES
        of_tree = self._spend_on_tree(private.budget)
        tree = SpanningTree(
            singles_share=float(of_singles),
            choice_share=float(LOOK_TREE_CHOICE),
        )
        evidence, pairs = tree.measure(
            private,
            usual_workload(domain, workload),
            of_tree,
            again=1 - spend,
            by_luck=not pure,
        )
        found = Found(evidence=evidence, views=with_singles(domain, workload, pairs))
        of_measured = self.share_of_tree(private.budget)
        names = len(asked_names(domain, workload))
        for _ in range(batches):
            of_batch = (of_pairs - of_tree) / batches
            more, of_choices = self._choose_more(
                private,
                workload,
                found,
                so_far=of_measured / names,
                later=(1 - spend) / (len(pairs) + names),
                spend=of_batch * LOOK_CHOICE,
            )
            if more:
                add(evidence, domain, private.measure(more, spend=of_batch - of_choices))
            pairs = [*pairs, *more]
            found = Found(evidence=evidence, views=with_singles(domain, workload, pairs))
        judge = Judge(domain, usual_workload(domain, workload), found)
        judge.measure(private, spend=spend * LOOK_DISTANCE)
        return judge

    def measure_again(
        self,
        private: Private,
        workload: Workload | None,
        looked: Found,
        left: Fraction,
    ) -> ViewSynopsis:
        """Measure what a look found, choose further pairs, and make the synopsis.

        Parameters
        ----------
        looked
            What the look found. All further measurements are added to its evidence.
        left
            The share of the whole budget that is left; all of it is spent.
        """
        domain = private.domain
        evidence = looked.evidence
        of_tables = left * (1 - AGAIN_DISTANCE)
        begin(private, f"measuring the {len(looked.views)} tables of the strong pairs again")
        if isinstance(private.budget, PureDP):
            more = self._measure_and_choose(private, workload, looked, of_tables)
        else:
            more = []
            shares = best_shares(domain, private.budget, looked.views)
            add(evidence, domain, private.measure(looked.views, shares=shares, spend=of_tables))

        # Tell what the answers miss, with all that is left.
        pairs = [view for view in [*looked.views, *more] if len(view) == 2]
        found = Found(evidence=evidence, views=with_singles(domain, workload, pairs))
        judge = Judge(domain, usual_workload(domain, workload), found)
        judge.measure(private, spend=None)
        synopsis = found.synopsis(domain, self.nonnegativity, self.reconstruction)
        return judge.with_missed(replace(synopsis, kurtosis=private.budget.kurtosis))

    def _measure_and_choose(
        self,
        private: Private,
        workload: Workload | None,
        looked: Found,
        spend: Fraction,
    ) -> list[View]:
        """Measure a tree again, then choose further pairs and measure them; return these."""
        domain = private.domain
        tree = looked.views
        shares = best_shares(domain, private.budget, tree)
        of_tree = spend * AGAIN_TREE
        add(looked.evidence, domain, private.measure(tree, shares=shares, spend=of_tree))

        # Answers are better now: further pairs are chosen by what they still miss.
        of_more = spend * (1 - AGAIN_TREE - AGAIN_CHOICE)
        more, of_choices = self._choose_more(
            private,
            workload,
            looked,
            so_far=of_tree / len(tree),
            later=of_more / len(asked_names(domain, workload)),
            spend=spend * AGAIN_CHOICE,
        )
        log.info("measuring %d further pairs", len(more))

        # Each further pair gets as much as a table of the tree. The tree gets what is left then.
        unit = float(of_tree) / sum(shares)
        of_each = [unit * share for share in best_shares(domain, private.budget, more)]
        rest = spend - of_tree - of_choices
        again = float(rest) - sum(of_each)
        if again > _LEAST_AGAIN * spend:
            of_again = [again * share / sum(shares) for share in shares]
            last = private.measure([*more, *tree], shares=[*of_each, *of_again], spend=rest)
        else:
            last = private.measure(more, shares=of_each, spend=rest)
        add(looked.evidence, domain, last)
        return more

    def _choose_more(
        self,
        private: Private,
        workload: Workload | None,
        found: Found,
        *,
        so_far: Fraction,
        later: Fraction,
        spend: Fraction,
    ) -> tuple[list[View], Fraction]:
        """Choose pairs beside those that were found; return them and the share that it cost.

        `so_far` is the share of the budget that measured each pair so far, and `later` the share
        that will measure each chosen pair.
        """
        domain = private.domain
        rows = max(1.0, found.evidence.tables().total)
        asked = usual_workload(domain, workload)
        every = contestants(domain, asked, MOST_PAIR_CELLS, rows, (2,))
        held = {frozenset(view) for view in found.views}
        rivals = [pair for pair in every if frozenset(pair) not in held]
        if not rivals:
            return [], Fraction(0)
        answers = comparable(answer.counts for answer in found.synopsis(domain).marginals(rivals))
        # A pair must pay for the noise of its measurement. And the noise of the answers so far is
        # no reason to choose it.
        pays = mean_noise(private.budget, later)
        of_answers = mean_noise(private.budget, so_far)
        # Under pure differential privacy a pair without a gain costs more, so that none may win by
        # luck; the errors of the answers on two attributes are taken as independent there.
        pure = isinstance(private.budget, PureDP)
        sizes = [math.hypot(*answer.shape) if pure else sum(answer.shape) for answer in answers]
        most = len(asked_names(domain, workload))
        more, choices = choose_in_turn(
            private,
            rivals,
            answers,
            break_evens(pays, answers),
            [penalty(of_answers, size) for size in sizes],
            rule=_SmallCliques(domain, [view for view in found.views if len(view) == 2]),
            most=most,
            each=spend / most,
            by_luck=not pure,
        )
        return more, spend * choices / most


class _SmallCliques:
    """The rule that the junction tree of all pairs is small."""

    def __init__(
        self,
        domain: Domain,
        chosen: Sequence[View],
    ) -> None:
        self.domain = domain
        self.pairs = [_ascending(domain, pair) for pair in chosen]

    def take(self, view: View) -> bool:
        pairs = [*self.pairs, _ascending(self.domain, view)]
        small = has_junction_tree(self.domain.sizes, pairs)
        if small:
            self.pairs = pairs
        return small

    def allows(self, view: View) -> bool:
        return True


def _ascending(domain: Domain, view: View) -> Axes:
    return tuple(sorted(domain.axes(view)))
