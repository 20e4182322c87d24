"""`Structure`: how far the truth may be from a reconstruction, learnt from the views themselves."""

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from ..basis import transform
from ..fitted import (
    STRUCTURE_BY_AXIS,
    STRUCTURE_DOUBT,
    STRUCTURE_FALL,
    STRUCTURE_LEAST_RATIO,
    STRUCTURE_MEDIAN,
    STRUCTURE_RATIO,
    STRUCTURE_TILT,
    STRUCTURE_WIDENING,
)
from ..limits import JOINT_CELLS_OF_SCALES
from ..tables.tables import Axes, Tables
from ..types import Floats, Integers
from .batch import Solutions
from .context import Reconstruction
from .missed.emptied import emptied_covariance, emptied_variance
from .missed.lacking import cells_alone, lacking_sets, sums_alone
from .missed.misfit import misfit_covariance, misfit_variance
from .missed.unbalance import blurred, unbalance
from .problem import Solution, Solver
from .sums import Sums

__all__ = ["STRUCTURE_RULE", "Reconstructs", "Structure", "marginals_on", "parts_of_views"]

STRUCTURE_RULE = 4
"""Number of the rule by which scales are learnt; another number for each change of the rule.

Scales that were learnt by another rule are not used.
"""

_USUAL = 4
_USUAL_IN_SMALL_VIEWS = 6
"""Largest number of axes of marginals whose scales are learnt before they are asked for.

The second number holds if no view has more than `_USUAL` axes: more axes then cost nothing more.
"""

_SAMPLE = 200
"""Number of random sets of axes, of each size, that show which scales are needed."""

_PARTS = 48
"""Largest number of parts of views that are compared with their reconstructions."""

_PART_CELLS = 1 << 12
"""Largest number of cells of such a part."""

_GRID = np.exp(np.linspace(math.log(1e-5), math.log(3.0), 120))
"""Scales that are tried; no unit."""

_ROUNDING = 1e-9
"""Variance, in squared counts, below which differences are rounding errors."""


@dataclass(
    frozen=True,
    kw_only=True,
    eq=False,
)
class _Miss:
    """How far the reconstruction of a part of a view is from the view; tables of shape (cells,).

    Attributes
    ----------
    difference
        The view's counts less the reconstruction.
    noise
        The variance that noise causes in the difference.
    sampling
        The variance that a random sample of rows causes.
    structure
        The variance for a scale of one.
    weight
        The number of moments that were not known, for each cell.
    """

    difference: Floats
    noise: Floats
    sampling: Floats
    structure: Floats
    weight: float

    def log_likelihood(self) -> Floats:
        """The logarithm of the density of the differences, for each scale of the grid."""
        known = self.noise + self.sampling + _ROUNDING
        variance = known[:, None] + self.structure[:, None] * _GRID**2
        terms = self.difference[:, None] ** 2 / variance + np.log(variance)
        return np.asarray(-self.weight / 2 * terms.sum(axis=0))


class Reconstructs(Protocol):
    """The interface of `Reconstruction` that `Structure` uses."""

    def solve(self, axes: Sequence[Axes] | Integers, /) -> Solutions:
        """Estimate n marginals of one shape; see `Reconstruction.solve`."""


class Structure:
    """The variance of what reconstructions of consistent tables miss.

    The truth is taken to be p (1 + g), where p is the reconstruction as a distribution and g is
    random. For every function of mean square one under p, its coefficient in g has the variance
    1 / total + s ** 2. The first term is the structure of a random sample of rows. The scale s
    depends on t, the largest number such that all sets of t of the asked axes lie in a view, and on
    the number of asked axes k. If the views hold a share a of the sets of t + 1 axes, s lies
    between its values for t and for t + 1, at a ** 2 of the way on the logarithmic scale.

    Scales are learnt from the views: parts of views on k axes are reconstructed by the same solver
    from their marginals on t axes alone, and compared with the views. The prior of s is log-normal.
    For t = 0 and 1 its median is fixed, and for t = 2 it is a fixed part of the scale for t = 1.
    Beyond, it is the scale for t - 1 times the square of the ratio of the last two scales, within
    0.1 and 1. The estimate is the root of the posterior mean square. Where no part on k axes is
    small enough to compare, parts on fewer axes tell s; where none tells, s is the median of its
    prior. Pairs that share an axis have a part of their scale in common. So if the views hold pairs
    of few axes, such as all pairs with one axis, they tell less of the other pairs, and the prior
    for t = 1 keeps weight (see `unbalance`). For t >= 2 all parts count as independent: measured
    triples use the axes unequally, too, but intervals held the truth as often as they said.

    Large cells miss more than this model says, and small ones less. So s ** 2 is multiplied by
    (p x cells) ** 0.4. But what is missed has no part in the known moments: if only one moment is
    unknown, all cells of bits miss equally much. So these factors are averaged over the cells i
    for each cell j, with the weights P_ij ** 2 of the projection P on the unknown moments. It is
    also multiplied by a fixed factor, since some marginals miss more than others.

    An axis that no view holds is reconstructed as uniform. What its own counts miss is usually much
    more than what its dependence on other axes misses. So functions of this axis alone have the
    scale for t = 0 and k = 1, where it is larger than that of the marginal. Likewise, functions of
    a pair of axes that no view holds have the scale for t = 1 and k = 2: within a larger marginal
    the pair is as uncertain as alone.

    To this is added what is missed in categories that noise made empty (see `emptied_variance`),
    and the distance of the reconstruction from the views where it is more than noise (see
    `misfit_variance`).

    Parameters
    ----------
    tables
        Consistent tables of positive total.
    solver
        The solver of the reconstructions. Its solutions must have `Solution.undetermined`.
    learnt
        Scales that `usual_scales` has learnt from the same tables and solver.
    """

    _keeps_to_views: ClassVar[bool] = True
    """Whether reconstructions are to fit the views, so that a misfit is an error."""

    def __init__(
        self,
        tables: Tables,
        solver: Solver,
        learnt: Mapping[tuple[int, int], float] | None = None,
    ) -> None:
        self.tables = tables
        self.solver = solver
        self._width = max(len(view) for view in tables.views)
        self._scales = dict(learnt or {})
        self._likelihoods: dict[tuple[int, int], Floats | None] = {}

    def missed_variance(
        self,
        asked: Integers,
        solutions: Solutions,
    ) -> Floats:
        """The variance of the missed part of each cell, in squared counts.

        Parameters
        ----------
        asked
            The axes of the marginals, ascending, shape (n, k).
        solutions
            Their reconstructions.

        Returns
        -------
        ndarray of shape (n, ...), as `solutions.table`; NaN if `undetermined` is None
        """
        if solutions.undetermined is None:
            return np.full_like(solutions.table, math.nan)
        count = len(asked)
        known = self._known(asked)
        scales = self._scales_of(known).reshape(count, 1)
        tables = solutions.table.reshape(count, -1)
        tilts = _spread(_tilt(tables), solutions.table.shape[1:], ~known)
        factors = 1 / self.tables.total + scales**2 * tilts
        missed = factors.reshape(solutions.table.shape) * solutions.undetermined
        # Marginals of one pattern lack the same sets, and have one scale.
        patterns, pattern = np.unique(known, axis=0, return_inverse=True)
        for place, one in enumerate(patterns):
            rows = np.flatnonzero(pattern.ravel() == place)
            for axes in lacking_sets(one):
                own = cells_alone(solutions.table[rows], axes)
                # Rules, and what is known of other sets, may tell a part of it.
                left = np.minimum(own, solutions.undetermined[rows])
                missed[rows] += self._more_alone(len(axes), scales[rows[0], 0]) * left
        emptied = emptied_variance(self.tables, asked, solutions.table)
        alone = self._alone(asked).reshape(count, *[1] * (missed.ndim - 1))
        missed = missed + alone * emptied
        if self._keeps_to_views:
            missed = missed + misfit_variance(self.tables, asked, known, solutions.table)
        return np.asarray(missed)

    def missed_covariance(
        self,
        axes: Axes,
        weights: Floats,
        sums: Sums,
    ) -> Floats:
        """The covariance of the missed parts of weighted sums of the cells of one marginal.

        It is (1 / total + s ** 2 sqrt(t_i t_j)) undetermined_ij for the sums i and j. The factor t
        of a sum is the mean of the averaged factors (p x cells) ** 0.4 of its cells, weighted by
        the sum's weights times p. For the indicator of one cell this is `missed_variance`. A sum
        that the known moments determine misses only rows of categories that noise made empty, and
        what the reconstruction does not fit.

        Parameters
        ----------
        axes, weights
            The axes of the marginal, and the weights of its cells in the q sums, shape (cells, q);
            see `Reconstruction.sums`.
        sums
            The sums.

        Returns
        -------
        ndarray of shape (q, q), in squared counts
        """
        asked = np.array([axes], dtype=np.int64)
        known = self._known(asked)
        shape = tuple(self.tables.sizes[axis] for axis in axes)
        tilts = _spread(_tilt(sums.table)[None], shape, ~known)[0]
        parts = weights * sums.table[:, None]
        whole = parts.sum(axis=0)
        tilt = np.ones(len(whole))
        np.divide(tilts @ parts, whole, out=tilt, where=whole > 0)
        scale = self._scales_of(known)[0]
        factors = 1 / self.tables.total + scale**2 * np.sqrt(np.outer(tilt, tilt))
        missed = factors * sums.undetermined
        # As for cells: a part of what these sets miss may be known.
        most = np.maximum(sums.undetermined.diagonal(), 0.0)
        for places in lacking_sets(known[0]):
            own = sums_alone(sums.table.reshape(shape), places, weights)
            share = np.sqrt(np.minimum(1.0, most / np.maximum(own.diagonal(), 1e-300)))
            missed = missed + self._more_alone(len(places), scale) * own * np.outer(share, share)
        emptied = emptied_covariance(self.tables, axes, weights, sums.table)
        missed = missed + self._alone(asked)[0] * emptied
        if self._keeps_to_views:
            missed = missed + misfit_covariance(self.tables, axes, known[0], weights, sums.table)
        return np.asarray(missed)

    def _more_alone(
        self,
        count: int,
        scale: float,
    ) -> float:
        """The square of the scale of a marginal on `count` axes that no view holds, though views
        hold its parts, less that of a larger marginal; at least 0."""
        alone = STRUCTURE_WIDENING * self.scale(count - 1, count)
        return max(alone**2 - scale**2, 0.0)

    def scales(self, asked: Integers) -> Floats:
        """The scales s of marginals, with the fixed factor: array of shape (n,).

        `asked` are the axes of the marginals, ascending, shape (n, k). A scale is 0 where one view
        holds all axes.
        """
        return self._scales_of(self._known(asked))

    def scale(self, depth: int, count: int) -> float:
        """The scale of marginals on `count` axes that are known up to `depth` axes, without the
        fixed factor."""
        return self._learnt(depth, count)

    def usual_scales(self) -> dict[tuple[int, int], float]:
        """The scales that most marginals on 2 to 4 axes need; to 6 if no view has more than 4.

        They are learnt now, if they are not known yet. Their keys are the number of axes up to
        which all moments are known, and the number of axes of the marginal.
        """
        rng = np.random.default_rng(0)
        axes = len(self.tables.sizes)
        most = _USUAL_IN_SMALL_VIEWS if self._width <= _USUAL else _USUAL
        needed: set[tuple[int, int]] = set()
        for count in range(2, min(most, axes) + 1):
            drawn = [rng.choice(axes, count, replace=False) for _ in range(_SAMPLE)]
            for shares in np.unique(_shares(self._known(np.sort(drawn))), axis=0):
                needed.update(_needed(shares))
        return {key: self._learnt(*key) for key in sorted(needed)}

    def _alone(self, asked: Integers) -> Floats:
        """The part of the variance in emptied categories that counts, shape (n,): all of it."""
        return np.ones(len(asked))

    def _known(self, asked: Integers) -> NDArray[np.bool_]:
        """Which components of marginals the views hold, shape (n, 2 ** k)."""
        precision, _ = self.tables.holders(asked)
        return np.asarray(precision > 0)

    def _scales_of(self, known: NDArray[np.bool_]) -> Floats:
        """The scales of marginals, shape (n,), from the components that the views hold."""
        # Marginals of one pattern have one scale.
        patterns, pattern = np.unique(_shares(known), axis=0, return_inverse=True)
        return np.array([self._scale(one) for one in patterns])[pattern.ravel()]

    def _scale(self, shares: Floats) -> float:
        """The scale of marginals from the shares of sets of 0 to k axes that the views hold."""
        needed = _needed(shares)
        if not needed:
            return 0.0  # a view holds all axes, and nothing is missed
        depth, _ = needed[0]
        share = float(shares[depth + 1])
        low = self.scale(*needed[0])
        high = self.scale(*needed[-1])
        logarithm = (1 - share**2) * math.log(low) + share**2 * math.log(high)
        return STRUCTURE_WIDENING * math.exp(logarithm)

    def _learnt(
        self,
        depth: int,
        count: int,
    ) -> float:
        """The scale for marginals on `count` axes whose moments are known up to `depth` axes."""
        key = (depth, count)
        if key not in self._scales:
            if depth < 2:
                median = STRUCTURE_MEDIAN[depth]
            else:
                median = self._learnt(depth - 1, count) * self._ratio(depth, count)
            self._scales[key] = self._posterior(depth, count, median)
        return self._scales[key]

    def _ratio(
        self,
        depth: int,
        count: int,
    ) -> float:
        """The expected scale for `depth` known axes over that for one axis less; depth >= 2."""
        if depth == 2:
            return STRUCTURE_RATIO
        # Where the scales fell fast, the next one is expected to fall faster still.
        fall = self._learnt(depth - 1, count) / self._learnt(depth - 2, count)
        return float(np.clip(fall**STRUCTURE_FALL, STRUCTURE_LEAST_RATIO, 1.0))

    def _posterior(
        self,
        depth: int,
        count: int,
        median: float,
    ) -> float:
        """The root of the posterior mean square of a scale; the median if no view can tell.

        Without evidence, the mean square is far above the median. It would become the next prior,
        and so on for each depth.
        """
        likelihood = self._likelihood(depth, count)
        if likelihood is None:
            return median
        prior = -(np.log(_GRID / median) ** 2) / (2 * STRUCTURE_DOUBT**2)
        log_density = prior + likelihood
        density = np.exp(log_density - log_density.max())
        return math.sqrt(float(density @ _GRID**2 / density.sum()))

    def _likelihood(
        self,
        depth: int,
        count: int,
    ) -> Floats | None:
        """The log-likelihood of the scales of the grid, shape (grid,); None if no view can tell.

        It comes from parts of views on `count` axes. If there are none that are small enough, it
        comes from parts on fewer axes.
        """
        for size in range(min(count, self._width), depth, -1):
            key = (depth, size)
            if key not in self._likelihoods:
                likelihoods = [miss.log_likelihood() for miss in self._misses(*key)]
                self._likelihoods[key] = self._of_others(depth, likelihoods)
            if self._likelihoods[key] is not None:
                return self._likelihoods[key]
        return None

    def _of_others(
        self,
        depth: int,
        likelihoods: Sequence[Floats],
    ) -> Floats | None:
        """The log-likelihood of the scale of what no view holds, from those of parts of views."""
        if not likelihoods:
            return None
        whole = np.asarray(np.sum(likelihoods, axis=0))
        if depth != 1:
            return whole
        # The views may hold pairs of other axes than those of the pairs that no view holds.
        several = {axis for axis, size in enumerate(self.tables.sizes) if size > 1}
        views = [tuple(axis for axis in view if axis in several) for view in self.tables.views]
        variance = STRUCTURE_BY_AXIS**2 * unbalance(views, len(several))
        return whole if variance < _ROUNDING else blurred(whole, np.log(_GRID), variance)

    def _misses(
        self,
        depth: int,
        count: int,
    ) -> Iterator[_Miss]:
        """Compare parts of views on `count` axes with what their marginals on `depth` axes say."""
        parts = parts_of_views(self.tables, count)
        if not parts:
            return
        fewer = self._fewer(depth, count)
        shapes: dict[tuple[int, ...], list[Axes]] = {}
        for part in parts:
            shapes.setdefault(tuple(self.tables.sizes[axis] for axis in part), []).append(part)
        for some in shapes.values():
            solutions = fewer.solve(np.array(some))
            for part, solution in zip(some, solutions, strict=True):
                if solution.status.ok and solution.undetermined is not None:
                    yield self._miss(part, depth, solution)

    def _miss(
        self,
        part: Axes,
        depth: int,
        solution: Solution,
    ) -> _Miss:
        """Compare one part of a view with its reconstruction."""
        view = self.tables.covering(part)
        assert view is not None  # `_parts` takes it from a view
        basis = transform(solution.table.shape)
        table = solution.table.ravel()
        # The noise of the view in the moments that the reconstruction did not know, and in those
        # that it knew.
        precision = self.tables.component_precision(part)[basis.component]
        unknown = basis.order > depth
        above = (1 / precision[unknown]).sum() / basis.cells**2
        below = (1 / precision[~unknown & (basis.order > 0)]).sum() / basis.cells**2
        # The known moments agree, so only the rest of the reconstruction's noise counts.
        assert solution.variance is not None and solution.undetermined is not None
        rest = np.maximum(solution.variance.ravel() - below, 0.0)
        undetermined = solution.undetermined.ravel()
        above_depth = np.bitwise_count(np.arange(1 << len(part))) > depth
        tilt = _spread(_tilt(table)[None], solution.table.shape, above_depth[None])[0]
        return _Miss(
            difference=self.tables.project(view, part).ravel() - table,
            noise=above + rest,
            sampling=undetermined / self.tables.total,
            structure=undetermined * tilt,
            weight=float(unknown.mean()),
        )

    def _fewer(
        self,
        depth: int,
        count: int,
    ) -> Reconstructs:
        """What reconstructs marginals on `count` axes from those of the views on `depth` axes."""
        fewer = marginals_on(self.tables, depth)
        return Reconstruction(fewer, self.solver, joint_cells=JOINT_CELLS_OF_SCALES)


def _shares(known: NDArray[np.bool_]) -> Floats:
    """The shares of the sets of 0, 1, ..., k axes that the views hold, shape (n, k + 1).

    `known` tells which components of n marginals on k axes they hold, shape (n, 2 ** k).
    """
    order = np.bitwise_count(np.arange(known.shape[1]))
    sizes = range(int(order[-1]) + 1)
    return np.stack([known[:, order == size].mean(axis=1) for size in sizes], axis=1)


def _needed(shares: Floats) -> list[tuple[int, int]]:
    """The keys of the scales from which the scale of marginals is made.

    `shares` are the shares of sets of 0 to k axes that the views hold. There is no key if a view
    holds all axes.
    """
    partly = np.flatnonzero(shares < 1)
    if not len(partly):
        return []
    # All moments up to `depth` axes are known, and a share of those on one axis more.
    depth = int(partly[0]) - 1
    count = len(shares) - 1
    return [(depth, count), (depth + 1, count)] if shares[depth + 1] > 0 else [(depth, count)]


def parts_of_views(tables: Tables, count: int) -> list[Axes]:
    """Random sets of `count` axes within views, the same ones in every call."""
    rng = np.random.default_rng(0)
    sizes = np.array(tables.sizes)
    views = [view for view in tables.views if len(view) >= count]
    found: set[Axes] = set()
    for _ in range(20 * _PARTS if views else 0):
        view = views[int(rng.integers(len(views)))]
        part = tuple(sorted(rng.choice(view, count, replace=False).tolist()))
        shape = sizes[list(part)]
        # A table of the total alone has no attributes.
        if shape.size and shape.min() > 1 and shape.prod() <= _PART_CELLS:
            found.add(part)
        if len(found) == _PARTS:
            break
    return sorted(found)


def _tilt(tables: Floats) -> Floats:
    """(p x cells) ** 0.4 for flattened tables, shape (..., cells); p x cells is at least 0.01."""
    total = np.maximum(tables.sum(axis=-1, keepdims=True), 1e-300)
    relative = tables * tables.shape[-1] / total
    return np.asarray(np.maximum(relative, 0.01) ** STRUCTURE_TILT)


def _spread(
    tilts: Floats,
    shape: tuple[int, ...],
    unknown: NDArray[np.bool_],
) -> Floats:
    """Factors of cells, averaged with the squares of the projection on the unknown moments.

    Parameters
    ----------
    tilts
        The factors, shape (n, cells).
    shape
        The sizes of the axes.
    unknown
        Which components are unknown, shape (n, 2 ** axes).
    """
    basis = transform(shape)
    result = tilts.copy()
    patterns, pattern = np.unique(unknown, axis=0, return_inverse=True)
    for place, one in enumerate(patterns):
        if one.any():
            rows = pattern.ravel() == place
            factors = _averaging(shape, one)[basis.component]
            averaged = basis.synthesise(basis.analyse(tilts[rows]) * factors)
            # An average is at least the smallest factor; rounding may lower it.
            result[rows] = np.maximum(averaged, tilts[rows].min(axis=1, keepdims=True))
    return result


def _averaging(shape: tuple[int, ...], unknown: NDArray[np.bool_]) -> Floats:
    """The factors by which `_spread` multiplies the components of a table, shape (2 ** axes,).

    An entry of the projection depends only on the axes on which its two cells agree. So its square
    is multiplication by one factor for each component.
    """
    values = unknown.astype(np.float64)
    # The entries of the projection, by the set of axes on which two cells agree.
    for place, size in enumerate(shape):
        pairs = values.reshape(-1, 2, 1 << place)
        without, within = pairs[:, 0], pairs[:, 1]
        agree = (without + within * (size - 1)) / size
        values = np.stack([(without - within) / size, agree], axis=1).ravel()
    own = values[-1]
    if own <= 0:
        return np.ones(len(values))  # no function belongs to the unknown components
    values = values**2
    # Its squares as factors of components.
    for place, size in enumerate(shape):
        pairs = values.reshape(-1, 2, 1 << place)
        differ, agree = pairs[:, 0], pairs[:, 1]
        values = np.stack([agree + (size - 1) * differ, agree - differ], axis=1).ravel()
    return np.asarray(values / own)


def marginals_on(tables: Tables, count: int) -> Tables:
    """The marginals of all views on `count` axes, as precise as the views make them."""
    subsets = {
        subset
        for view in tables.views
        for subset in itertools.combinations(view, min(count, len(view)))
    }
    # A view on fewer axes may lie within another view.
    full = [set(subset) for subset in subsets if len(subset) == count]
    kept = sorted(
        subset
        for subset in subsets
        if len(subset) == count or not any(set(subset) <= other for other in full)
    )
    values = []
    for subset in kept:
        view = tables.covering(subset)
        assert view is not None
        values.append(tables.project(view, subset))
    precisions, variances = _precisions_and_variances(tables, kept)
    return Tables(
        sizes=tables.sizes,
        views=tuple(kept),
        values=tuple(values),
        variances=tuple(max(variances[subset], _ROUNDING) for subset in kept),
        precisions=tuple(precisions[subset] for subset in kept),
        zeros=tables.zeros,
        known=tables.known,
    )


def _precisions_and_variances(
    tables: Tables,
    subsets: Sequence[Axes],
) -> tuple[dict[Axes, Floats], dict[Axes, float]]:
    """`Tables.component_precision` and `Tables.variance` of many marginals.

    Marginals of one shape are looked up together, which is much faster than one by one.
    """
    shapes: dict[tuple[int, ...], list[Axes]] = {}
    for subset in subsets:
        shapes.setdefault(tuple(tables.sizes[axis] for axis in subset), []).append(subset)
    precisions: dict[Axes, Floats] = {}
    variances: dict[Axes, float] = {}
    for some in shapes.values():
        asked = np.array(some, dtype=np.int64).reshape(len(some), -1)
        precisions |= zip(some, tables.holders(asked)[0], strict=True)
        variances |= zip(some, tables.covered_variances(asked).tolist(), strict=True)
    return precisions, variances
