"""How much marginals say beyond marginals on fewer attributes: assumed, or learnt from noisy
tables."""

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ..._types import Floats
from ...errors import DomainError
from ...solvers import Newton, Problem, Tables

__all__ = ["Strength", "Structure", "learned"]


Structure = Literal["weak", "medium", "strong"]

_DOUBT = 1.0
"""The standard deviation of the logarithm of a strength, before anything is learnt."""

_UNLIKE = 0.05
"""This part of all parts is taken to be as strong as was assumed, whatever the others are: strong
ones may be among those not looked at."""

_WITH_CONTEXT = 0.8
"""So much is left of what is missed over some attributes alone when they are answered with others
around them."""

_MOST_PARTS = 120
"""So many parts of the tables are looked at, for each number of attributes."""

_MOST_CELLS = 4096

_SINGLES = 0.1
_PAIRS: Mapping[str, float] = {"weak": 0.005, "medium": 0.02, "strong": 0.06}
_FEWER = 0.4
"""What is assumed of singles; of pairs, by the words of `Auto`; and of triples, as a part of that
of pairs. They were fitted on generated tables, see docs/design.md."""

_SIZE = 1.5
_FALL = 0.45
"""The size of moments on one attribute that noise is compared with, and how it changes with each
attribute more."""


@dataclass(frozen=True, kw_only=True)
class Strength:
    """How much is missed of what is not measured.

    A component of which all parts on up to t attributes are measured, but not all larger ones, is
    estimated by maximum entropy from those. What is missed of it is taken to have, for each of its
    moments (means of functions of mean square one), the mean square singles**2 for each of its
    pairs of attributes for t = 1, pairs**2 for t = 2 and triples**2 for t = 3; beyond that it
    changes from each t to the next by the same factor as from 2 to 3. These are for estimates over
    the component's own attributes; from t = 2 answers with context miss a constant part of that.

    Attributes
    ----------
    singles, pairs, triples
        As above, > 0.
    """

    singles: float
    pairs: float
    triples: float

    @classmethod
    def of(cls, structure: Structure) -> "Strength":
        """By the words of `Auto`.

        Raises
        ------
        DomainError
            When it is none of them.
        """
        if not isinstance(structure, str) or structure not in _PAIRS:
            raise DomainError(
                f"structure ({structure!r}) must be one of {', '.join(map(repr, _PAIRS))}"
            )
        return cls(singles=_SINGLES, pairs=_PAIRS[structure], triples=_FEWER * _PAIRS[structure])

    def scaled(self, factor: float) -> "Strength":
        """All of it times a factor > 0."""
        return Strength(
            singles=factor * self.singles, pairs=factor * self.pairs, triples=factor * self.triples
        )

    def square(self, depth: NDArray[np.int64], order: NDArray[np.int64]) -> Floats:
        """The mean square of what is missed of a moment on so many attributes, by the t above."""
        beyond = _WITH_CONTEXT * self.pairs * (self.triples / self.pairs) ** (depth - 2.0)
        singles = self.singles * np.sqrt(order * (order - 1.0) / 2)
        return np.asarray(np.where(depth >= 2, beyond, np.where(depth == 1, singles, 1.0)) ** 2)

    @staticmethod
    def size(order: NDArray[np.int64]) -> Floats:
        """The mean square to which the noise in a moment on so many attributes is limited by the
        removal of negative counts; infinite for the total."""
        return np.where(order > 0, (_SIZE * _FALL ** (order - 1.0)) ** 2, np.inf)


def learned(tables: Tables, before: Strength) -> Strength:
    """The strength that noisy tables of a few views speak for, together with what was assumed
    before.

    Parts of the views on t + 1 attributes are estimated by maximum entropy from all that they say
    on up to t; the squares of what that misses, less those of the noise, tell the strength. Before,
    that of singles and the ratios of pairs to singles and of triples to pairs are log-normal with
    the means that were assumed; an estimate is the root of the mean square after, where a small
    part of all parts stays as strong as was assumed.
    """
    if tables.total <= 0:  # nothing but noise
        return before
    found: dict[str, float] = {}
    factor = 1.0
    for known, name in enumerate(("singles", "pairs", "triples"), start=1):
        assumed = getattr(before, name)
        grid = factor * assumed * np.exp(np.linspace(-5, 9, 141) * _DOUBT)
        likelihood = -((np.log(grid / (factor * assumed)) + _DOUBT**2) ** 2) / (2 * _DOUBT**2)
        misses = _misses(tables, known)
        for squares, count, variance in misses.tolist():
            spread = variance + grid**2
            likelihood -= (squares / spread + count * np.log(spread)) / 2
        weight = np.exp(likelihood - likelihood.max())
        seen = float(weight @ grid**2 / weight.sum())
        found[name] = math.sqrt((1 - _UNLIKE) * seen + _UNLIKE * (factor * assumed) ** 2)
        factor = found[name] / assumed
    return replace(before, **found)


def _misses(tables: Tables, known: int) -> Floats:
    """For parts on one attribute more than known, the moments of the component of all its
    attributes: the sum of the squares of what is missed of them, their number, and the variance of
    what noise does to what is missed; shape (parts, 3)."""
    solver, rng = Newton(bars=False), np.random.default_rng(0)
    found, moved = [], 0.0
    for axes in _parts(tables, known + 1):
        problem = Problem.of(tables, axes)
        low = problem.order <= known
        target, variance = problem.target[low], problem.variance[low]
        fewer = replace(problem, index=problem.index[low], target=target, variance=variance)
        # As much noise once more tells what it does to the estimate; that in the moments themselves
        # is known.
        twice = replace(fewer, target=target + np.sqrt(variance) * rng.standard_normal(len(target)))
        first, second = solver.solve(fewer), solver.solve(twice)
        if first.status.ok and second.status.ok and not low.all():
            estimate, again = (
                problem.moments(solution.table.ravel() / problem.total)[~low]
                for solution in (first, second)
            )
            missed = estimate - problem.target[~low]
            found.append((missed @ missed, len(missed), problem.variance[~low].mean()))
            moved += float((again - estimate) @ (again - estimate))
    misses = np.array(found).reshape(-1, 3)
    misses[:, 2] += moved / max(1.0, misses[:, 1].sum())
    return misses


def _parts(tables: Tables, size: int) -> list[tuple[int, ...]]:
    """Some sets of so many attributes within a view, an even sample of all of them."""
    sizes = np.array(tables.sizes)
    all_parts = sorted(
        {part for view in tables.views for part in itertools.combinations(view, size)}
    )
    small = [
        part
        for part in all_parts
        if sizes[list(part)].min() > 1 and sizes[list(part)].prod() <= _MOST_CELLS
    ]
    return small[:: max(1, len(small) // _MOST_PARTS)]
