"""`StrongPairs`: a mechanism that measures pairs of attributes that depend on each other."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from ..._checks import share, whole_number
from ...domain.domain import Domain, View
from ...domain.workload import Workload
from ...privacy.budget import Budget, PureDP
from ...private import Private
from ...solvers import Evidence, JointProjection, Newton, NonNegativity, Solver
from ...solvers.reconstruct.scaling.junction import has_junction_tree
from ...solvers.tables.tables import Axes
from ...synopses import ViewSynopsis
from ..fitted import (
    LOOK_CHOICE,
    LOOK_DISTANCE,
    LOOK_SHARE,
    LOOK_SHARE_PURE,
    LOOK_SINGLES,
    LOOK_TREE,
    LOOK_TREE_CHOICE,
)
from .auto import usual_workload
from .contests import break_even, choose_in_turn, comparable, contestants, mean_noise, penalty
from .look import CONTEXT, Found, Judge, best_shares
from .tree import MOST_PAIR_CELLS, SpanningTree, add, asked_names

__all__ = ["StrongPairs"]

log = logging.getLogger("margin")


@dataclass(
    frozen=True,
    kw_only=True,
)
class StrongPairs:
    """A mechanism that measures the pairs of attributes that depend most on each other.

    First it looks: with a part of the budget it chooses a spanning tree of pairs and measures it
    (`SpanningTree`). Then it chooses more pairs, in batches. In each batch the exponential
    mechanism chooses pairs one after another whose true tables are far from the answers so far, in
    L1 distance, minus what noise is expected to add. A batch ends when it has as many choices as
    there are attributes, or earlier if it is better to choose no further pair; then its pairs are
    measured. A pair is left out if the junction tree of all pairs would get too large. Last, the
    rest of the budget measures all chosen pairs, and the attributes that are in no pair, again.

    Marginals are answered from the distribution of maximum entropy over all attributes, on the
    junction tree of the pairs (`solvers.reconstruct.scaling.junction`).

    That pairs are chosen where answers are wrong follows MWEM (Hardt, Ligett and McSherry, NIPS
    2012) and AIM (McKenna et al., VLDB 2022). The batches, the end of the choice, the last
    measurement of all pairs and the answers are ours.

    Parameters
    ----------
    look_share
        The share of the budget for the look, > 0 and < 1. None takes 0.165 for pure differential
        privacy, where noise grows faster with what is spent, and 0.22 otherwise.
    batches
        The number of batches; with 0 the pairs are a spanning tree. None takes one for pure
        differential privacy, and two otherwise.
    nonnegativity
        Removes negative counts; None leaves them.
    reconstruction
        The solver for marginals that no view covers.

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
    batches: int | None = None
    nonnegativity: NonNegativity | None = JointProjection()
    reconstruction: Solver = Newton(context=CONTEXT)

    def __post_init__(self) -> None:
        if self.look_share is not None:
            share("look_share", self.look_share)
        if self.batches is not None:
            object.__setattr__(self, "batches", whole_number("batches", self.batches, least=0))

    def run(
        self,
        private: Private,
        workload: Workload | None,
    ) -> ViewSynopsis:
        """Run the mechanism: look, and measure what was found with the rest of the budget."""
        return self.measure_again(private, self.look(private, workload))

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
        of_pairs = self.spend(private.budget) * (1 - LOOK_DISTANCE)
        share_of_choice = of_pairs * LOOK_TREE * LOOK_TREE_CHOICE
        return mean_noise(private.budget, share_of_choice / choices)

    def look(
        self,
        private: Private,
        workload: Workload | None,
    ) -> Judge:
        """Choose pairs, measure them and judge them, with the share of the budget for the look."""
        budget = private.budget
        pure = isinstance(budget, PureDP)
        batches = (1 if pure else 2) if self.batches is None else self.batches
        spend = self.spend(budget)
        of_pairs = spend * (1 - LOOK_DISTANCE)
        of_tree = of_pairs * LOOK_TREE if batches else of_pairs
        looking = _Looking(private, workload, spend)
        looking.choose_tree(of_tree)
        for _ in range(batches):
            looking.choose_more((of_pairs - of_tree) / batches)
        judge = Judge(private.domain, usual_workload(private.domain, workload), looking.found())
        judge.measure(private, spend=spend * LOOK_DISTANCE)
        return judge

    def measure_again(
        self,
        private: Private,
        judge: Judge,
    ) -> ViewSynopsis:
        """Measure what a look found, with all that is left of the budget, and make the synopsis."""
        domain = private.domain
        found = judge.found
        log.info("measuring %d tables again", len(found.views))
        measured = private.measure(
            found.views,
            shares=best_shares(domain, private.budget, found.views),
        )
        add(found.evidence, domain, measured)
        synopsis = found.synopsis(domain, self.nonnegativity, self.reconstruction)
        return judge.with_missed(replace(synopsis, kurtosis=private.budget.kurtosis))


class _Looking:
    """The state of one look: the measurements so far and the chosen pairs.

    Parameters
    ----------
    spend
        The share of the whole budget for the look; the rest will measure the pairs again.
    """

    def __init__(
        self,
        private: Private,
        workload: Workload | None,
        spend: Fraction,
    ) -> None:
        self.private = private
        self.domain = private.domain
        self.workload = usual_workload(self.domain, workload)
        self.names = asked_names(self.domain, workload)
        self.spend = spend
        self.pairs: list[View] = []
        self.evidence = Evidence(sizes=self.domain.sizes)
        self.noise = 0.0

    def choose_tree(self, spend: Fraction) -> None:
        """Choose a spanning tree and measure it, with a share of the whole budget."""
        tree = SpanningTree(
            singles_share=float(LOOK_SINGLES),
            choice_share=float(LOOK_TREE_CHOICE),
        )
        self.evidence, self.pairs = tree.measure(
            self.private,
            self.workload,
            spend,
            last=False,
            again=1 - self.spend,
        )
        of_pairs = spend * (1 - LOOK_SINGLES - LOOK_TREE_CHOICE)
        self.noise = mean_noise(self.private.budget, of_pairs / len(self.names))

    def choose_more(self, spend: Fraction) -> None:
        """Choose a batch of further pairs and measure them, with a share of the whole budget."""
        rivals = self._rivals()
        if not rivals:
            return
        most = len(self.names)
        synopsis = self.found().synopsis(self.domain)
        answers = comparable(answer.counts for answer in synopsis.marginals(rivals))
        # A pair must pay for the noise of its last measurement. And the noise of the answers so far
        # is no reason to choose it.
        last = mean_noise(self.private.budget, (1 - self.spend) / (len(self.pairs) + most))
        penalties = [
            break_even(last, answer) + penalty(self.noise, sum(answer.shape)) for answer in answers
        ]
        each = spend * LOOK_CHOICE / most
        more, choices = choose_in_turn(
            self.private,
            rivals,
            answers,
            penalties,
            rule=_SmallCliques(self.domain, self.pairs),
            most=most,
            each=each,
        )
        if more:
            measured = self.private.measure(more, spend=spend - choices * each)
            add(self.evidence, self.domain, measured)
        self.pairs += more

    def _rivals(self) -> list[View]:
        """The pairs that may be chosen beside those that are."""
        rows = max(1.0, self.evidence.tables().total)
        every = contestants(self.domain, self.workload, MOST_PAIR_CELLS, rows, (2,))
        chosen = {frozenset(pair) for pair in self.pairs}
        return [pair for pair in every if frozenset(pair) not in chosen]

    def found(self) -> Found:
        """What was found so far."""
        connected = {name for pair in self.pairs for name in pair}
        alone: list[View] = [(name,) for name in self.names if name not in connected]
        return Found(evidence=self.evidence, views=[*self.pairs, *alone])


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
