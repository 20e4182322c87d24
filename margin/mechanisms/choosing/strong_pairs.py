"""`StrongPairs`: a mechanism that measures the pairs of attributes that depend most on each other.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from ..._checks import share, whole_number
from ...domain.domain import Domain, View
from ...domain.workload import Workload
from ...privacy.budget import Budget, PureDP
from ...private import Private
from ...solvers import Evidence, JointProjection, Newton, NonNegativity, ResidualConsistency, Solver
from ...solvers.trees.junction import has_junction_tree
from ...synopses import ViewSynopsis
from ...synopses.estimate import possible
from ..fitted import LOOK_BATCHES, LOOK_CHOICE, LOOK_SHARE, LOOK_SHARE_PURE, LOOK_TREE, TREE_PENALTY
from .contests import choose_in_turn, comparable, contestants, mean_noise, penalty
from .tree import MOST_PAIR_CELLS, SpanningTree, add, asked_names

__all__ = ["Found", "StrongPairs"]

log = logging.getLogger("margin")

_CONTEXT = 12
"""Largest number of attributes of the context from which variances are computed."""

_PUBLIC = Newton(
    bars=False,
    context=_CONTEXT,
    tolerance=1e-5,
)
"""Solver of the answers that true tables are compared with."""


@dataclass(
    frozen=True,
    kw_only=True,
    eq=False,
)
class Found:
    """What a look found.

    Attributes
    ----------
    evidence
        All measurements of the look.
    views
        The chosen pairs, and the attributes that are in none of them. Together they have a small
        junction tree.
    """

    evidence: Evidence
    views: list[View]

    def synopsis(
        self,
        domain: Domain,
        nonnegativity: NonNegativity | None = JointProjection(),
        reconstruction: Solver = _PUBLIC,
    ) -> ViewSynopsis:
        """What all measurements say together."""
        tables = possible(self.evidence.tables(), nonnegativity, ResidualConsistency())
        return ViewSynopsis.of_tables(domain, tables, reconstruction=reconstruction)


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
    junction tree of the pairs (`solvers.trees.junction`).

    That pairs are chosen where answers are wrong follows MWEM (Hardt, Ligett and McSherry, NIPS
    2012) and AIM (McKenna et al., VLDB 2022). The batches, the end of the choice, the measurement of
    all pairs at the end and the answers are ours.

    Parameters
    ----------
    look_share
        The share of the budget for the look, > 0 and < 1.
    batches
        The number of batches; with 0 the pairs are a spanning tree.
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

    look_share: float = float(LOOK_SHARE)
    batches: int = LOOK_BATCHES
    nonnegativity: NonNegativity | None = JointProjection()
    reconstruction: Solver = Newton(context=_CONTEXT)

    def __post_init__(self) -> None:
        share("look_share", self.look_share)
        object.__setattr__(self, "batches", whole_number("batches", self.batches, least=0))

    def run(
        self,
        private: Private,
        workload: Workload | None,
    ) -> ViewSynopsis:
        """Run the mechanism: look, and measure what was found with the rest of the budget."""
        found = self.look(private, workload, _fraction(self.look_share))
        return self.measure_again(private, found)

    def measure_again(
        self,
        private: Private,
        found: Found,
    ) -> ViewSynopsis:
        """Measure what a look found, with all that is left of the budget, and make the synopsis."""
        domain = private.domain
        log.info("measuring %d tables again", len(found.views))
        measured = private.measure(
            found.views,
            shares=shares_of(domain, private.budget, found.views),
        )
        add(found.evidence, domain, measured)
        return found.synopsis(domain, self.nonnegativity, self.reconstruction)

    def choice_noise(
        self,
        private: Private,
        workload: Workload | None,
        spend: Fraction,
    ) -> float:
        """The mean absolute noise of a score in the choice of a tree, in rows, with that look."""
        tree = SpanningTree()
        choices = max(1, len(asked_names(private.domain, workload)) - 1)
        return mean_noise(private.budget, spend * LOOK_TREE * _fraction(tree.choice_share) / choices)

    def look(
        self,
        private: Private,
        workload: Workload | None,
        spend: Fraction,
    ) -> Found:
        """Choose pairs and measure them, with at most a share of the whole budget."""
        domain = private.domain
        tree = SpanningTree()
        first = spend * LOOK_TREE if self.batches else spend
        evidence, chosen = tree.measure(
            private,
            workload,
            first,
            last=False,
            again=1 - spend,
        )
        names = asked_names(domain, workload)
        of_pairs = first * (1 - _fraction(tree.singles_share + tree.choice_share))
        noise = mean_noise(private.budget, of_pairs / len(names))
        for _ in range(self.batches):
            batch = (spend - first) / self.batches
            more, spent = self._more(private, workload, evidence, chosen, batch, noise)
            if more:
                add(evidence, domain, private.measure(more, spend=batch - spent))
            chosen = [*chosen, *more]
        connected = {name for pair in chosen for name in pair}
        return Found(
            evidence=evidence,
            views=[*chosen, *((name,) for name in names if name not in connected)],
        )

    def _more(
        self,
        private: Private,
        workload: Workload | None,
        evidence: Evidence,
        chosen: Sequence[View],
        batch: Fraction,
        noise: float,
    ) -> tuple[list[View], Fraction]:
        """Choose the pairs of one batch; the result is the pairs, and what their choice spent.

        `batch` is the share of the budget for choice and measurement, and `noise` the mean absolute
        noise of a count of the pairs so far.
        """
        domain = private.domain
        synopsis = Found(evidence=evidence, views=list(chosen)).synopsis(domain)
        asked = workload or Workload.all_kway(domain, min(2, len(domain)))
        known = {frozenset(pair) for pair in chosen}
        rows = max(1.0, evidence.tables().total)
        every = contestants(domain, asked, MOST_PAIR_CELLS, rows, (2,))
        pairs = [pair for pair in every if frozenset(pair) not in known]
        most = len(asked_names(domain, workload))
        answers = comparable(answer.counts for answer in synopsis.marginals(pairs))
        # What the noise of the last measurement adds to a distance, and that of the answers.
        last = _fraction(1 - self.look_share)
        later = mean_noise(private.budget, last / (len(chosen) + most))
        penalties = [
            penalty(TREE_PENALTY * later, domain.cells(pair))
            + penalty(TREE_PENALTY * noise, sum(domain.shape(pair)))
            for pair in pairs
        ]
        each = batch * LOOK_CHOICE / most
        more, choices = choose_in_turn(
            private,
            pairs,
            answers,
            penalties,
            rule=_SmallCliques(domain, chosen),
            most=most,
            each=each,
        )
        return more, choices * each


class _SmallCliques:
    """The rule that the junction tree of all pairs is small."""

    def __init__(
        self,
        domain: Domain,
        chosen: Sequence[View],
    ) -> None:
        self.domain = domain
        self.pairs = [tuple(sorted(domain.axes(pair))) for pair in chosen]

    def take(self, view: View) -> bool:
        pairs = [*self.pairs, tuple(sorted(self.domain.axes(view)))]
        small = has_junction_tree(self.domain.sizes, pairs)
        if small:
            self.pairs = pairs
        return small

    def allows(self, view: View) -> bool:
        return True


def look_share(budget: Budget) -> Fraction:
    """The share of a budget for a look.

    It is smaller for pure differential privacy, where noise is in proportion to one over the
    budget, not to one over its root.
    """
    return LOOK_SHARE_PURE if isinstance(budget, PureDP) else LOOK_SHARE


def shares_of(
    domain: Domain,
    budget: Budget,
    views: Sequence[View],
) -> list[float]:
    """Shares of the budget that minimise the sum of the expected squared errors of some tables.

    A table of c cells and share s has an expected squared error in proportion to c / s**p. The
    shares that minimise the sum are in proportion to c**(1 / (p + 1)).
    """
    power = 2 if isinstance(budget, PureDP) else 1
    return [domain.cells(view) ** (1 / (power + 1)) for view in views]


def _fraction(share: float) -> Fraction:
    return Fraction(share).limit_denominator(10**6)
