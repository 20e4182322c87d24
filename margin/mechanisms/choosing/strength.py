"""The strength of high-order structure: how much a marginal differs from its estimate from
marginals on fewer attributes. It is assumed, or learnt from noisy tables."""

import itertools
import math
from collections.abc import Callable
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
    FOREST_STRENGTH,
    LEAST_SPREAD,
    MOMENT_FALL,
    MOMENT_SIZE,
    PAIRS_STRENGTH,
    SHARED_MOMENTS,
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
    a constant part of them. For t = 0 it is ones**2 for each of its attributes. If a spanning tree
    of pairs is measured, the moments of all other pairs have the mean square forest**2.

    All these values are for components of few moments. Two attributes of many categories have many
    moments, but they cannot depend on each other much more than two attributes of few. So the mean
    square of a component of m moments is smaller by the factor 1 / (1 + m / `SHARED_MOMENTS`).

    Attributes
    ----------
    singles, pairs, triples, forest
        The roots of these mean squares, > 0; no unit.
    ones
        The root of the mean square of a moment of one attribute, > 0; no unit. It is 1 if all rows
        have the same category, and near 0 if all categories are equally frequent.
    spread
        How evenly rows are spread over the cells of a table: a table of C cells has about
        C**spread occupied ones, and the others are nearly empty; > 0 and <= 1, no unit.
    """

    singles: float
    pairs: float
    triples: float
    forest: float
    spread: float
    ones: float = 1.0

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
        # Structure in pairs differs less between tables than structure beyond pairs.
        factor = math.sqrt(pairs / PAIRS_STRENGTH["medium"])
        return cls(
            singles=factor * SINGLES_STRENGTH,
            pairs=pairs,
            triples=TRIPLES_TO_PAIRS * pairs,
            forest=factor * FOREST_STRENGTH,
            spread=SPREAD,
        )

    def scaled(self, factor: float) -> "Strength":
        """Multiply all strengths by a factor > 0."""
        return replace(
            self,
            singles=factor * self.singles,
            pairs=factor * self.pairs,
            triples=factor * self.triples,
            forest=factor * self.forest,
        )

    def blurred(self, hidden: float) -> "Strength":
        """The strengths as they are learnt from noise that hides structure up to `hidden` > 0."""
        return replace(
            self,
            singles=math.hypot(self.singles, hidden),
            pairs=math.hypot(self.pairs, hidden),
            triples=math.hypot(self.triples, hidden),
            forest=math.hypot(self.forest, hidden),
        )

    def square(
        self,
        depth: NDArray[np.int64],
        order: NDArray[np.int64],
        moments: Floats,
    ) -> Floats:
        """The assumed mean squared error of moments that are not measured.

        Parameters
        ----------
        depth
            For each moment, the t described above: all its parts on up to t attributes are
            measured.
        order
            The number of attributes of each moment; broadcast with `depth`.
        moments
            The number of moments on the same attributes; broadcast with `depth`.
        """
        ratio = self.triples / self.pairs
        beyond = WITH_CONTEXT * self.pairs * ratio ** (depth - 2.0)
        number_of_pairs = order * (order - 1.0) / 2
        singles = self.singles * np.sqrt(number_of_pairs)
        shallow = np.where(depth == 1, singles, self.ones * np.sqrt(order))
        of_few = np.where(depth >= 2, beyond, shallow) ** 2
        # A moment of a single attribute is `ones`, however many categories it has.
        return np.asarray(np.where(depth >= 1, of_few / _shared(moments), of_few))

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
    of single attributes; of the ratio of pairs to singles; of the ratio of triples to pairs; and of
    the ratio of forest to singles, for which the weakest pair of each part on three attributes is
    estimated from the two others. The estimate is the root of the posterior mean square, in which a
    small share of all parts stays as strong as was assumed: strong parts may be among the ones that
    the views do not hold. The variation of single attributes and the spread of rows over cells are
    learnt, too.
    """
    if tables.total <= 0:  # the tables are nothing but noise
        return before
    variation = _variation(tables)
    factor = variation / TYPICAL_VARIATION
    # Each strength is expected to differ from its assumption by the same factor as the one before.
    singles = _posterior(_misses(tables, 2, _lower), factor * before.singles)
    factor = singles / before.singles
    forest = _posterior(_misses(tables, 3, _two_pairs), factor * before.forest)
    pairs = _posterior(_misses(tables, 3, _lower), factor * before.pairs)
    factor = pairs / before.pairs
    triples = _posterior(_misses(tables, 4, _lower), factor * before.triples)
    return replace(
        before,
        singles=singles,
        pairs=pairs,
        triples=triples,
        forest=forest,
        ones=math.sqrt(max(_LEAST_VARIATION, 1 - variation)),
        spread=_spread(tables, before.spread),
    )


def _shared(moments: Floats) -> Floats:
    """The factor by which many moments make the mean square of each smaller."""
    return 1 + moments / SHARED_MOMENTS


def _posterior(misses: Floats, expected: float) -> float:
    """The learnt strength, from the errors of parts and the mean of its prior."""
    # The log-normal prior, on a grid of strengths, with the mean `expected`.
    grid = expected * np.exp(_GRID * STRENGTH_DOUBT)
    deviation = np.log(grid / expected) + STRENGTH_DOUBT**2
    likelihood = -(deviation**2) / (2 * STRENGTH_DOUBT**2)
    # Each part's errors are normal with the variance of structure and noise together.
    for squares, count, variance in misses.tolist():
        spread = variance + grid**2 / _shared(count)
        likelihood -= (squares / spread + count * np.log(spread)) / 2
    weight = np.exp(likelihood - likelihood.max())
    seen = float(weight @ grid**2 / weight.sum())
    return math.sqrt((1 - UNSEEN_SHARE) * seen + UNSEEN_SHARE * expected**2)


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


_Known = Callable[[Problem], tuple[NDArray[np.bool_], NDArray[np.bool_]]]
"""Which moments of a part its estimate is made from, and which ones it is compared with."""


def _lower(problem: Problem) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """All moments that do not involve all attributes, and those that do."""
    low = problem.order < len(problem.shape)
    return low, ~low


def _two_pairs(problem: Problem) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """The moments of three attributes and of their two strongest pairs; those of the weakest."""
    digits = np.stack(np.unravel_index(problem.index, problem.shape))
    missing = digits == 0
    beyond_noise = problem.target**2 - problem.variance
    # The pair that leaves out each attribute.
    pairs = [missing[place] & (problem.order == 2) for place in range(len(digits))]
    sizes = [float(beyond_noise[pair].sum()) for pair in pairs]
    weakest = pairs[int(np.argmin(sizes))]
    return (problem.order <= 2) & ~weakest, weakest


def _misses(tables: Tables, size: int, known: _Known) -> Floats:
    """Estimate parts of `size` attributes by maximum entropy, and sum up the squared errors.

    The result has shape (parts, 3). The columns are the sum of the squared errors, the number of
    moments, and the variance that noise causes in an error.
    """
    solver = Newton(bars=False)
    rng = np.random.default_rng(0)
    found = []
    moved = 0.0
    for axes in _parts(tables, size):
        problem = Problem.of(tables, axes)
        low, compared = known(problem)
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
        if not (first.status.ok and second.status.ok and compared.any()):
            continue
        estimate = problem.moments(first.table.ravel() / problem.total)[compared]
        again = problem.moments(second.table.ravel() / problem.total)[compared]
        missed = estimate - problem.target[compared]
        found.append((missed @ missed, len(missed), problem.variance[compared].mean()))
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
