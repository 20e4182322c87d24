"""`SpanningTree`: a mechanism that measures pairs of attributes that it chooses privately."""

import itertools
import logging
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from ..._checks import share
from ...domain.domain import Domain, View
from ...domain.marginal import Marginal
from ...domain.workload import Workload
from ...errors import DomainError
from ...private import Private
from ...solvers import Evidence, JointProjection, Newton, NonNegativity, ResidualConsistency, Solver
from ...synopses import ViewSynopsis
from ...synopses.estimate import CONTEXT, possible
from ..asked import usual_workload
from ..fitted import AGAIN_DISTANCE, TREE_CHOICE, TREE_PENALTY, TREE_SINGLES
from .contests import break_evens, choose_in_turn, comparable, contestants, mean_noise, penalty
from .look import Found, Judge

__all__ = ["MOST_PAIR_CELLS", "SpanningTree", "add", "asked_names", "with_singles"]

log = logging.getLogger("margin")

MOST_PAIR_CELLS = 1 << 14
"""Largest number of cells of a pair that may be chosen."""


@dataclass(
    frozen=True,
    kw_only=True,
)
class SpanningTree:
    """A mechanism that measures all attributes, and a spanning tree of pairs that it chooses.

    First it measures the one-way table of every attribute. Then it chooses pairs one after another
    (Kruskal's algorithm): among the pairs that join two trees of the forest so far, the exponential
    mechanism chooses one whose true table is far from what independence predicts, in L1 distance,
    minus half of what the noise of both measurements is expected to add. The choice ends when all
    attributes are connected, or earlier if it is better to choose no further pair. The rest of the
    budget measures the chosen pairs, and again the attributes that are in no pair, in equal shares.
    Last, a fiftieth measures one noisy distance of all answers from the truth, which tells how much
    they miss: the chosen pairs are the strongest ones, and would say far too much of the others.
    Marginals are answered from the distribution of maximum entropy on the forest, which is exact
    for any number of attributes (`solvers.reconstruct.scaling.junction`).

    The choice of a tree follows MST (McKenna, Miklau and Sheldon, Journal of Privacy and
    Confidentiality 2021). The end of the choice and the answers are ours.

    Parameters
    ----------
    singles_share, choice_share
        The shares of the budget for the first one-way tables and for the choice of pairs, each > 0
        and < 1, together less than 1.
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
    ...     mechanism=SpanningTree(),
    ...     seed=0,
    ... ).synopsis
    >>> {"a", "b"} in [set(view) for view in made.names]  # these two depend on each other
    True
    """

    singles_share: float = TREE_SINGLES
    choice_share: float = TREE_CHOICE
    nonnegativity: NonNegativity | None = JointProjection()
    reconstruction: Solver = Newton(context=CONTEXT)

    def __post_init__(self) -> None:
        for name in ("singles_share", "choice_share"):
            share(name, getattr(self, name))
        if self.singles_share + self.choice_share >= 1:
            raise DomainError(
                "singles_share and choice_share must add up to less than 1, to leave some of the "
                f"budget, but their sum is {float(self.singles_share + self.choice_share):g}; make "
                "one of them smaller"
            )

    def run(
        self,
        private: Private,
        workload: Workload | None,
    ) -> ViewSynopsis:
        """Run the mechanism: measure attributes, choose pairs, and measure these."""
        return self.measure_and_judge(private, workload, Fraction(1))

    def measure_and_judge(
        self,
        private: Private,
        workload: Workload | None,
        left: Fraction,
    ) -> ViewSynopsis:
        """Make the measurements with all that is `left` of the budget, and then the synopsis.

        The pairs of a tree are the strongest ones. So they would say far too much of what the
        answers miss. The last measurement is a noisy distance of all answers from the truth, which
        tells it (`look.Judge`).
        """
        domain = private.domain
        of_tables = left * (1 - AGAIN_DISTANCE)
        evidence, pairs = self.measure(private, workload, of_tables)
        found = Found(evidence=evidence, views=with_singles(domain, workload, pairs))
        judge = Judge(domain, usual_workload(domain, workload), found)
        judge.measure(private, spend=None)
        synopsis = found.synopsis(domain, self.nonnegativity, self.reconstruction)
        synopsis = replace(synopsis, kurtosis=private.budget.kurtosis)
        return judge.with_missed(synopsis)

    def measure(
        self,
        private: Private,
        workload: Workload | None,
        spend: Fraction,
        *,
        again: Fraction = Fraction(0),
        by_luck: bool = True,
    ) -> tuple[Evidence, list[View]]:
        """Make the measurements, as a part of another mechanism; return them and the chosen pairs.

        Parameters
        ----------
        spend
            The share of the whole budget to spend.
        again
            The share of the budget that will measure the chosen pairs once more.
        by_luck
            See `choose_in_turn`. If not, all the noise that is expected is subtracted from scores.
        """
        domain = private.domain
        names = asked_names(domain, workload)
        first = spend * Fraction(self.singles_share).limit_denominator(10**6)
        choice = spend * Fraction(self.choice_share).limit_denominator(10**6)
        evidence = Evidence(
            sizes=domain.sizes,
            zeros=domain.zeros,
            known=domain.constraints,
        )
        singles = private.measure([(name,) for name in names], spend=first)
        add(evidence, domain, singles)
        rest = spend - first - choice
        noise = mean_noise(private.budget, first / len(names))
        chosen, spent = self._chosen(
            private,
            workload,
            evidence,
            choice,
            rest + again,
            noise,
            by_luck,
        )
        views = with_singles(domain, workload, chosen)
        log.info("measuring %d pairs", len(chosen))
        add(evidence, domain, private.measure(views, spend=spend - first - spent))
        return evidence, chosen

    def _chosen(
        self,
        private: Private,
        workload: Workload | None,
        evidence: Evidence,
        choice: Fraction,
        rest: Fraction,
        noise: float,
        by_luck: bool,
    ) -> tuple[list[View], Fraction]:
        """The chosen pairs, and the share of the budget that the choices spent.

        `rest` is the share for the measurement of the pairs, and `noise` the mean absolute noise of
        a count of the one-way tables.
        """
        domain = private.domain
        tables = possible(evidence.tables(), JointProjection(), ResidualConsistency())
        synopsis = ViewSynopsis.of_tables(domain, tables, reconstruction=self.reconstruction)
        rows = max(1.0, tables.total)
        asked = workload or Workload.all_kway(domain, min(2, len(domain)))
        pairs = contestants(domain, asked, MOST_PAIR_CELLS, rows, (2,))
        paired = sorted({name for pair in pairs for name in pair})
        most = len(paired) - 1
        if most < 1:
            return [], Fraction(0)
        # What independence predicts, and what the noise of both measurements adds to a distance.
        singles = synopsis.marginals([[name] for name in paired])
        counts = {name: single.counts for name, single in zip(paired, singles, strict=True)}
        answers = comparable(np.outer(counts[one], counts[other]) / rows for one, other in pairs)
        later = mean_noise(private.budget, rest / most)
        shapes = [domain.shape(pair) for pair in pairs]
        # The errors of the two one-way tables are independent.
        sizes = [TREE_PENALTY * sum(shape) if by_luck else math.hypot(*shape) for shape in shapes]
        each = choice / most
        chosen, choices = choose_in_turn(
            private,
            pairs,
            answers,
            break_evens(later, answers),
            [penalty(noise, size) for size in sizes],
            rule=_Forest(paired),
            most=most,
            each=each,
            by_luck=by_luck,
        )
        return chosen, each * choices


class _Forest:
    """The rule that pairs make no cycle (Kruskal's algorithm)."""

    def __init__(self, names: Sequence[str]) -> None:
        self.trees = {name: name for name in names}

    def take(self, view: View) -> bool:
        kept, gone = (self.trees[name] for name in view)
        # The two trees become one.
        self.trees = {name: kept if tree == gone else tree for name, tree in self.trees.items()}
        return True

    def allows(self, view: View) -> bool:
        first, second = view
        return self.trees[first] != self.trees[second]


def with_singles(
    domain: Domain,
    workload: Workload | None,
    pairs: Sequence[View],
) -> list[View]:
    """Pairs, and the attributes that are in none of them."""
    connected = {name for pair in pairs for name in pair}
    names = asked_names(domain, workload)
    return [*pairs, *((name,) for name in names if name not in connected)]


def asked_names(domain: Domain, workload: Workload | None) -> list[str]:
    """The attributes of several categories that a workload asks for; all of them without one."""
    asked = set(domain) if workload is None else {name for view in workload for name in view}
    names = [name for name in domain if name in asked and domain[name].size > 1]
    return names or list(domain.attributes[:1])


def add(
    evidence: Evidence,
    domain: Domain,
    measured: Sequence[Marginal],
) -> None:
    """Add noisy tables to the evidence."""
    held = ViewSynopsis.of(domain, measured, reconstruction=Newton()).held
    # Known tables follow those that were measured.
    parts = zip(held.views, held.values, held.variances, strict=True)
    for view, value, variance in itertools.islice(parts, len(measured)):
        evidence.add_table(view, value, variance)
