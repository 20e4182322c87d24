"""The strength of high-order structure: how much a marginal differs from its estimate from
marginals on fewer attributes. It is assumed, or learnt from noisy tables."""

import itertools
import math
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ..._names import did_you_mean
from ..._numbers import shown
from ..._types import Floats
from ...errors import DomainError
from ...solvers import Newton, Problem, Tables
from ..fitted import (
    LEAST_SPREAD,
    MOMENT_FALL,
    MOMENT_SIZE,
    PAIRS_STRENGTH,
    SINGLES_STRENGTH,
    SPREAD,
    SPREAD_DOUBT,
    STRENGTH_DOUBT,
    TRIPLES_TO_PAIRS,
    TYPICAL_VARIATION,
    UNSEEN_SHARE,
    VARIATION_DOUBT,
    WITH_CONTEXT,
)

__all__ = ["Strength", "Structure", "learned"]


Structure = Literal["weak", "medium", "strong"]

_MOST_PARTS = 120
"""Largest number of parts that are compared for each number of attributes."""

_MOST_CELLS = 4096
"""Largest number of cells of such a part."""

_LEAST_VARIATION = 1e-3
"""Smallest variation that is learnt."""

_GRID = np.linspace(-5, 9, 141)
"""Logarithms of the factors of a strength that are tried, in standard deviations."""


@dataclass(
    frozen=True,
    kw_only=True,
)
class Strength:
    """The assumed error of estimates of components that are not measured.

    Take a component whose parts on up to t attributes are all measured, but whose larger parts are
    not all measured. It is estimated by maximum entropy from the measured parts. The error of each
    of its moments (means of functions of mean square one) is assumed to have the mean square
    singles**2 for each of its pairs of attributes for t = 1, pairs**2 for t = 2, and triples**2 for
    t = 3. Beyond that it changes from each t to the next by the factor from 2 to 3. These values
    are for estimates over the component's own attributes. From t = 2 on, answers with context miss
    a constant part of them.

    Attributes
    ----------
    singles, pairs, triples
        The roots of these mean squares, > 0; no unit.
    spread
        How evenly rows are spread over the cells of a table: a table of C cells has about
        C**spread occupied ones, and the others are nearly empty; > 0 and <= 1, no unit.
    """

    singles: float
    pairs: float
    triples: float
    spread: float

    @classmethod
    def of(cls, structure: Structure) -> "Strength":
        """The assumed strength for "weak", "medium" or "strong", the values of `Auto(structure=)`.

        Raises
        ------
        DomainError
            When `structure` is not one of these values.
        """
        if not isinstance(structure, str) or structure not in PAIRS_STRENGTH:
            words = ", ".join(map(repr, PAIRS_STRENGTH))
            raise DomainError(
                f"structure ({shown(structure)}) must be one of {words}; pass one of "
                f"these{did_you_mean(structure, PAIRS_STRENGTH)}"
            )
        pairs = PAIRS_STRENGTH[structure]
        return cls(
            singles=SINGLES_STRENGTH,
            pairs=pairs,
            triples=TRIPLES_TO_PAIRS * pairs,
            spread=SPREAD,
        )

    def scaled(self, factor: float) -> "Strength":
        """Multiply all three numbers by a factor > 0."""
        return Strength(
            singles=factor * self.singles,
            pairs=factor * self.pairs,
            triples=factor * self.triples,
            spread=self.spread,
        )

    def blurred(self, hidden: float) -> "Strength":
        """The strengths as they are learnt from noise that hides structure up to `hidden` > 0."""
        return replace(
            self,
            singles=math.hypot(self.singles, hidden),
            pairs=math.hypot(self.pairs, hidden),
            triples=math.hypot(self.triples, hidden),
        )

    def square(
        self,
        depth: NDArray[np.int64],
        order: NDArray[np.int64],
    ) -> Floats:
        """The assumed mean squared error of moments that are not measured.

        Parameters
        ----------
        depth
            For each moment, the t described above: all its parts on up to t attributes are
            measured.
        order
            The number of attributes of each moment; broadcast with `depth`.
        """
        ratio = self.triples / self.pairs
        beyond = WITH_CONTEXT * self.pairs * ratio ** (depth - 2.0)
        number_of_pairs = order * (order - 1.0) / 2
        singles = self.singles * np.sqrt(number_of_pairs)
        shallow = np.where(depth == 1, singles, 1.0)
        return np.asarray(np.where(depth >= 2, beyond, shallow) ** 2)

    @staticmethod
    def size(order: NDArray[np.int64]) -> Floats:
        """The largest mean square of noise that the removal of negative counts leaves in a moment.

        It depends on the number of attributes `order` of the moment; infinite for the total.
        """
        return np.where(
            order > 0,
            (MOMENT_SIZE * MOMENT_FALL ** (order - 1.0)) ** 2,
            np.inf,
        )


def learned(tables: Tables, before: Strength) -> Strength:
    """Estimate the strength of structure from noisy tables of a few views and the assumed strength.

    Parts of the views on t + 1 attributes are estimated by maximum entropy from all that the views
    say on up to t attributes. The squares of the errors, less the squares of the noise, tell the
    strength. The prior is log-normal with the assumed means: of singles, times the learnt variation
    of single attributes; of the ratio of pairs to singles; and of the ratio of triples to pairs.
    The estimate is the root of the posterior mean square, in which a small share of all parts stays
    as strong as was assumed: strong parts may be among the ones that the views do not hold. The
    spread of rows over cells is learnt, too.
    """
    if tables.total <= 0:  # the tables are nothing but noise
        return before
    found: dict[str, float] = {}
    factor = _variation(tables) / TYPICAL_VARIATION
    for known, name in enumerate(("singles", "pairs", "triples"), start=1):
        assumed = getattr(before, name)
        expected = factor * assumed
        # The log-normal prior, on a grid of strengths, with the mean `expected`.
        grid = expected * np.exp(_GRID * STRENGTH_DOUBT)
        deviation = np.log(grid / expected) + STRENGTH_DOUBT**2
        likelihood = -(deviation**2) / (2 * STRENGTH_DOUBT**2)
        # Each part's errors are normal with the variance of structure and noise together.
        for squares, count, variance in _misses(tables, known).tolist():
            spread = variance + grid**2
            likelihood -= (squares / spread + count * np.log(spread)) / 2
        weight = np.exp(likelihood - likelihood.max())
        seen = float(weight @ grid**2 / weight.sum())
        found[name] = math.sqrt((1 - UNSEEN_SHARE) * seen + UNSEEN_SHARE * expected**2)
        # The next strength is expected to differ from its assumption by the same factor.
        factor = found[name] / assumed
    return replace(before, spread=_spread(tables, before.spread), **found)


def _variation(tables: Tables) -> float:
    """The learnt mean variation of single attributes, as a posterior mean.

    It is 1 if the categories are equally frequent, and 0 if all rows have the same category.
    """
    precision = 1 / VARIATION_DOUBT**2
    weighted = TYPICAL_VARIATION * precision
    for view, value, variance in zip(tables.views, tables.values, tables.variances, strict=True):
        for place, axis in enumerate(view):
            size = tables.sizes[axis]
            if size == 1:
                continue
            others = tuple(other for other in range(len(view)) if other != place)
            noise = variance * value.size / size
            squares, error = _squares(value.sum(axis=others), noise, tables.total)
            most = size / (size - 1)
            own = 1 / (VARIATION_DOUBT**2 + (most * error) ** 2)
            precision += own
            weighted += own * most * (1 - squares)
    return max(_LEAST_VARIATION, weighted / precision)


def _squares(
    counts: Floats,
    variance: float,
    total: float,
) -> tuple[float, float]:
    """The sum of the squared shares of rows in the cells of a table, less what noise adds to it;
    and the standard deviation of its error."""
    noise = variance / total**2
    squares = float((counts**2).sum()) / total**2 - counts.size * noise
    possible = min(1.0, max(1 / counts.size, squares))
    error = math.sqrt(2 * counts.size) * noise + 2 * math.sqrt(possible * noise)
    return possible, error


def _spread(tables: Tables, expected: float) -> float:
    """The learnt spread of rows over cells: the posterior mean with a normal prior."""
    precision = 1 / SPREAD_DOUBT**2
    weighted = expected * precision
    for value, variance in zip(tables.values, tables.variances, strict=True):
        if value.size == 1:
            continue
        squares, error = _squares(value, variance, tables.total)
        # One over the sum of squares is the number of equal cells with the same sum.
        spread = -math.log(squares) / math.log(value.size)
        deviation = error / (squares * math.log(value.size))
        own = 1 / (SPREAD_DOUBT**2 + deviation**2)
        precision += own
        weighted += own * spread
    return min(1.0, max(LEAST_SPREAD, weighted / precision))


def _misses(tables: Tables, known: int) -> Floats:
    """Estimate parts of `known + 1` attributes by maximum entropy, and sum up the squared errors.

    The result has shape (parts, 3).
    Errors are taken over the moments that involve all attributes of a part. The columns are the sum
    of their squares, the number of moments, and the variance that noise causes in an error.
    """
    solver = Newton(bars=False)
    rng = np.random.default_rng(0)
    found = []
    moved = 0.0
    for axes in _parts(tables, known + 1):
        problem = Problem.of(tables, axes)
        low = problem.order <= known
        target = problem.target[low]
        variance = problem.variance[low]
        fewer = replace(
            problem,
            index=problem.index[low],
            target=target,
            variance=variance,
        )
        # The effect of noise on the estimate is found by adding as much noise once more. Its effect
        # on the moments themselves is known.
        noise = np.sqrt(variance) * rng.standard_normal(len(target))
        twice = replace(fewer, target=target + noise)
        first = solver.solve(fewer)
        second = solver.solve(twice)
        if not (first.status.ok and second.status.ok) or low.all():
            continue
        estimate = problem.moments(first.table.ravel() / problem.total)[~low]
        again = problem.moments(second.table.ravel() / problem.total)[~low]
        missed = estimate - problem.target[~low]
        found.append((missed @ missed, len(missed), problem.variance[~low].mean()))
        moved += float((again - estimate) @ (again - estimate))
    misses = np.array(found).reshape(-1, 3)
    misses[:, 2] += moved / max(1.0, misses[:, 1].sum())
    return misses


def _parts(tables: Tables, size: int) -> list[tuple[int, ...]]:
    """Sets of `size` attributes within a view: an even sample of all of them."""
    sizes = np.array(tables.sizes)
    parts = {part for view in tables.views for part in itertools.combinations(view, size)}
    small = []
    for part in sorted(parts):
        shape = sizes[list(part)]
        if shape.min() > 1 and shape.prod() <= _MOST_CELLS:
            small.append(part)
    return small[:: max(1, len(small) // _MOST_PARTS)]
