"""`PMW`: queries in the order in which they are asked; only those that surprise are measured."""

import logging
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from ..._checks import whole_number
from ..._types import Floats
from ...domain.domain import Domain, View
from ...domain.workload import Workload
from ...privacy.budget import Budget
from ...private import Private, Strategy
from ...queries import Conjunctions
from ...solvers.tables.multiplicative import replayed
from ...synopses import TableSynopsis
from ...synopses.noisy_tables import in_view_order
from ..asked import asked, check_reach

__all__ = ["PMW"]

log = logging.getLogger("margin")

_COMPARED = 0.6
"""The part of a round's epsilon that the comparisons get; see `Private.above_threshold`."""


@dataclass(
    frozen=True,
    kw_only=True,
)
class PMW:
    """Private multiplicative weights: an online mechanism (Hardt and Rothblum, FOCS 2010).

    The queries are the cells of the workload's marginals, in the order of the workload. A table
    answers them one after another. The sparse vector technique compares each answer with the truth
    under noise, and passes on without a charge until an answer seems to be wrong by `threshold`
    rows. That query is measured, and multiplicative weights move the table towards the measurement.
    This is a round. A query costs nothing while the table answers it well, so there may be many
    more queries than rounds.

    The paper answers linear queries one by one. A cell and its whole marginal have the same
    sensitivity, so by default the marginal is measured in place of the cell. The paper takes the
    number of rows as public; here it is measured as well. It and each comparison and measurement
    get the share 1 / (2 T + 1) of the budget. Without a workload the stream is all pairs of
    attributes. All marginals of the workload must have the same number of attributes.

    Parameters
    ----------
    rounds
        T; None for ceil(4 log2 d) + 2 with d attributes, as for `MWEM`.
    threshold
        The error, in rows, from which on a query is measured. None takes b ln(Q), about the largest
        of the noises of Q queries, where b is the scale of the noise of a comparison. It depends on
        public numbers only.
    whole
        Whether the marginal of the query is measured, or the query alone. The stream goes on behind
        what was measured.
    again
        Whether the stream starts anew after its last query, until all rounds have been used. A pass
        that finds nothing halves the threshold. Otherwise the run ends with the stream.
    replays
        The number of passes over all measurements in each round.
    max_cells
        The largest number of cells of the full table that is accepted.

    Examples
    --------
    >>> PMW.paper(rounds=5).whole
    False
    """

    rounds: int | None = None
    threshold: int | None = None
    whole: bool = True
    again: bool = True
    replays: int = 100
    max_cells: int = 1 << 22

    def __post_init__(self) -> None:
        for name in ("rounds", "threshold", "replays", "max_cells"):
            value = getattr(self, name)
            if value is not None:
                object.__setattr__(self, name, whole_number(name, value))

    @classmethod
    def paper(
        cls,
        *,
        rounds: int | None = None,
        threshold: int | None = None,
    ) -> "PMW":
        """The published form: one pass over the stream, and in each round one step for the measured
        query alone."""
        return cls(
            rounds=rounds,
            threshold=threshold,
            whole=False,
            again=False,
            replays=1,
        )

    def run(
        self,
        private: Private,
        workload: Workload | None,
    ) -> TableSynopsis:
        """Compare, measure and update, at most `rounds` times."""
        domain = private.domain
        self._check(domain)
        views = asked(domain, workload).views
        queries = Conjunctions.cells(domain, views)
        rounds = self.rounds or math.ceil(4 * math.log2(len(domain))) + 2
        part = Fraction(1, 2 * rounds + 1)
        threshold = self.threshold or _default(private.budget, part, len(queries))

        # The first table spreads the noisy number of rows evenly.
        (total,) = private.measure_linear([Strategy.total(domain)], spend=part)
        rows = max(float(total.values.sum()), 1.0)
        table = np.full(domain.sizes, rows / math.prod(domain.sizes))
        measured: list[_Measured] = []
        place = 0
        for number in range(rounds):
            # The sparse vector technique passes on to the first query that surprises.
            found = private.above_threshold(
                queries,
                _answers(table, domain, views),
                threshold=threshold,
                start=place,
                spend=part,
            )
            if found is None:
                if not self.again:
                    break
                threshold = threshold if place else max(1, threshold // 2)
                place = 0
                continue
            # Multiplicative weights go through all measurements so far, `replays` times.
            log.info("round %d of %d: measuring", number + 1, rounds)
            one, following = self._measure(private, views, found, part)
            measured.append(one)
            recent = measured if self.replays > 1 else measured[-1:]
            for _ in range(self.replays):
                for counts in recent:
                    table = counts.moved(table)
            place = following % len(queries)
        return TableSynopsis(
            domain=domain,
            table=table,
            variance=math.nan,
            covariances={},
        )

    def _measure(
        self,
        private: Private,
        views: Sequence[View],
        place: int,
        part: Fraction,
    ) -> "tuple[_Measured, int]":
        """The noisy count of a query of the stream, or of all cells of its marginal; and the place
        of the query that follows."""
        domain = private.domain
        sizes = [domain.cells(view) for view in views]
        ends = np.cumsum(sizes)
        number = int(np.searchsorted(ends, place, side="right"))
        view = views[number]
        axes = domain.axes(view)
        if self.whole:
            (marginal,) = private.measure([view], spend=part)
            return _Measured(axes, marginal.counts, None), int(ends[number])
        cell = np.unravel_index(place - (ends[number] - sizes[number]), domain.shape(view))
        factors = []
        for size, code in zip(domain.shape(view), cell, strict=True):
            row = np.zeros((1, size), np.int64)
            row[0, code] = 1
            factors.append(row)
        (answers,) = private.measure_linear([Strategy(view, factors)], spend=part)
        codes = tuple(int(code) for code in cell)
        return _Measured(axes, answers.values, codes), place + 1

    def _check(self, domain: Domain) -> None:
        """Refuse a full table of more than `max_cells` cells; a few tables of its size are held."""
        instead = "PriView, Direct or DualQuery, which do not hold it"
        check_reach(
            "PMW",
            math.prod(domain.sizes),
            self.max_cells,
            instead=instead,
            limit="max_cells",
        )


@dataclass(
    frozen=True,
    eq=False,
)
class _Measured:
    """A measured marginal, or one measured cell of it."""

    axes: tuple[int, ...]
    counts: Floats
    cell: tuple[int, ...] | None

    def moved(self, table: Floats) -> Floats:
        """The table after one step of multiplicative weights; see `replayed`."""
        target = self.counts
        if self.cell is not None:
            # The other cells of the marginal stay as they are, up to the scaling to the total.
            target = _marginal(table, self.axes)
            target[self.cell] = float(self.counts.sum())
        return replayed(table, [self.axes], [target], times=1)


def _default(
    budget: Budget,
    part: Fraction,
    queries: int,
) -> int:
    """The default threshold: b ln(Q), rounded up."""
    epsilon = float(budget.pure_epsilon(math.floor(part * budget.units)))
    scale = 2 * budget.rows_per_person / (epsilon * _COMPARED)
    return max(1, math.ceil(scale * math.log(queries)))


def _answers(
    table: Floats,
    domain: Domain,
    views: Sequence[View],
) -> Floats:
    """The table's answers to all queries of the stream: array (queries,)."""
    return np.concatenate([_marginal(table, domain.axes(view)).ravel() for view in views])


def _marginal(table: Floats, axes: Sequence[int]) -> Floats:
    dropped = tuple(axis for axis in range(table.ndim) if axis not in axes)
    return np.array(in_view_order(table.sum(axis=dropped), axes))
