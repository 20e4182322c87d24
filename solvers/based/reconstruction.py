"""Reconstruction from consistent tables and a base."""

import dataclasses
import math
from collections.abc import Sequence
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from ..basis import transform
from ..reconstruct.batch import Batch, Solutions
from ..reconstruct.context import Reconstruction
from ..reconstruct.newton import Newton
from ..reconstruct.problem import Problem, Solution, Solver
from ..reconstruct.split import dual_of
from ..reconstruct.structure import Structure, marginals_on, parts_of_views
from ..reconstruct.sums import Sums, covariances, no_sums, sums_of
from ..tables.component_errors import ComponentErrors
from ..tables.moments import known_moments
from ..tables.tables import Axes, Tables
from ..types import Floats, Integers
from .base import Base, positive_shares
from .beyond import Beyond
from .held import held_solutions, held_sums
from .improved import LEAST_LEFT, MOMENTS_CELLS, improved
from .large import large_solutions, large_sums
from .own_errors import OwnErrors
from .relative import Relative, relative

__all__ = ["BasedReconstruction", "BasedStructure"]

_CAUTION = 0.8
"""Prior mean of a weight, divided by the square of the weight for one axis fewer; no unit."""

_DOUBT = 0.3
"""Standard deviation of the weights of parts about their mean, and of this about its prior mean."""

_LEAST_SQUARE = 1e-12
"""Sum of squares below which a part tells nothing, in squared counts."""

_SURE = 0.02
"""A weight that is nearer to 0 or 1 is rounded, so that one reconstruction suffices."""

_CELLS_AT_ONCE = 1 << 22
"""Largest number of cells of the bases of a batch."""


class BasedReconstruction:
    """Estimates marginals on any axes from consistent tables and a base.

    Where a view holds the marginal, the base reduces its noise. The estimate minimises
    n KL(p || base) + sum_S (E_p[f_S] - target_S) ** 2 / (2 variance_S), as `Newton` does with the
    ridge n times the variance: it is the most probable truth if the truth scatters about the base
    as if the base were n of its rows. `learnt_trust` estimates n for each moment, and `relative`
    states the problem if they differ. `held_solutions` mixes it with the view's own table. If the
    marginal has more than 4,096 cells, `large_solutions` does both.

    Any other marginal is a mixture of two estimates. One is that of `Reconstruction` from the
    views' tables, whose noise the base has reduced (`improved`). The other adds what the base says
    beyond the views (`Beyond`). The weight of the second is the product of the part of this that
    is not chance (`Beyond.sure`), and of a weight that depends on the largest t such that all sets
    of t asked axes lie in views. The latter is learnt from parts of views: these are reconstructed
    in both ways from their marginals on t axes, which tells a weight for each part (`_slope`). The
    weights of parts are taken to scatter about their mean, which is the result. So a few strong
    pairs, which any base knows, do not decide for all. The prior mean is 0.8 times the square of
    the weight for t - 1, or a half for t = 0. No view tells of marginals on more axes than it has:
    their weight is that of marginals as wide as the widest view, to the power of the ratio of the
    numbers of axes.

    Parameters
    ----------
    tables
        Consistent tables of positive total.
    base, trust
        The base, and 1 / (the number of rows that it is worth) for each moment of each view, shaped
        like the tables; see `learnt_trust`.
    solver
        The solver of the estimate without the base.
    weight
        One weight for all marginals that no view holds. None learns them.
    better
        The tables with less noise; None makes them.
    errors
        The covariance of the noise of the tables, if attributes were measured in bases of their
        own; see `OwnErrors`. None if it has one variance within each component.
    bars
        Whether variances are computed. Without them the solutions are tables alone.
    """

    def __init__(
        self,
        tables: Tables,
        base: Base,
        trust: tuple[Floats, ...],
        solver: Solver,
        *,
        weight: float | None = None,
        better: Tables | None = None,
        errors: ComponentErrors | None = None,
        bars: bool = True,
    ) -> None:
        if isinstance(solver, Newton) and not bars:
            solver = dataclasses.replace(solver, bars=False)
        self.tables = tables
        self.base = base
        self.trust = trust
        self.solver = Reconstruction(tables, solver).solver
        self._given = solver
        self._better = better
        self.own = OwnErrors(tables, errors)
        self.trusting = Newton(bars=bars)
        # The trust as moments of tables, so that they can be looked up like those of the views.
        self._scales = _with_moments(tables, trust)
        self._weight = weight
        self._weights: dict[tuple[int, int], float] = {}
        self._width = max(len(view) for view in tables.views)
        # The removal of negative counts lowers what views say beyond fewer axes.
        self._unbiased = tables
        if tables.unbiased is not None:
            self._unbiased = dataclasses.replace(tables, values=tables.unbiased, unbiased=None)

    def solve(self, axes: Sequence[Axes] | Integers) -> Solutions:
        """Estimate n marginals of one shape; see `Reconstruction.solve`."""
        asked = np.asarray(axes, dtype=np.int64)
        held = self.tables.covered(asked)
        if held.all():
            return self._held(asked)
        if held.any():
            parts = (self.solve(asked[held]), self.solve(asked[~held]))
            return _joined(held, *parts)
        weights = self.weights(asked)
        using = np.flatnonzero(weights > 0)
        alone = self.alone.solve(asked)
        if not len(using):
            return alone
        based = self._based(asked[using], alone.table[using])
        return _mixed(weights, alone, based, using)

    def sums(
        self,
        axes: Axes,
        weights: Floats,
    ) -> Sums:
        """Estimate weighted sums of the cells of one marginal; see `Reconstruction.sums`."""
        asked = np.array([axes], dtype=np.int64)
        if self.tables.covered(asked)[0]:
            return self._held_sums(asked, weights)
        share = float(self.weights(asked)[0])
        if share == 0:
            return self.alone.sums(axes, weights)
        problem = self._adding(asked, self.alone.solve(asked).table)[0]
        solution = dataclasses.replace(self.trusting, bars=False).solve(problem)
        based = self._sums_of(problem, solution, weights)
        if share == 1 or not based.status.ok:
            return based
        other = self.alone.sums(axes, weights)
        if not other.status.ok:
            return other
        return dataclasses.replace(
            based,
            table=_between(share, other.table, based.table),
            estimate=_between(share, other.estimate, based.estimate),
            variance=_between(share, other.variance, based.variance),
            undetermined=_between(share, other.undetermined, based.undetermined),
        )

    def weights(self, asked: Integers) -> Floats:
        """The weights of the estimates with the base, for marginals on `asked`, shape (n, k)."""
        count = asked.shape[1]
        held = self.tables.holders(asked)[0] > 0
        order = np.bitwise_count(np.arange(held.shape[1]))
        complete = np.stack([held[:, order == size].all(axis=1) for size in range(count + 1)])
        # The largest number of axes up to which all moments are known.
        depths = np.minimum.accumulate(complete, axis=0).sum(axis=0) - 1
        weights = np.array([self.weight(int(depth), count) for depth in depths])
        open_ones = np.flatnonzero((weights > 0) & (depths < count))
        if len(open_ones):
            weights[open_ones] *= self._beyond.sure(asked[open_ones], held[open_ones])
        return weights

    def weight(
        self,
        depth: int,
        count: int,
    ) -> float:
        """The weight for marginals on `count` axes whose moments are known up to `depth` axes."""
        if depth >= count:
            return 1.0
        if self._weight is not None:
            return self._weight
        if depth < self._width < count:
            # Nothing tells of more axes than the views have.
            widest = self.weight(depth, self._width)
            return math.pow(widest, count / self._width)
        key = (depth, count)
        if key not in self._weights:
            before = 0.5
            if depth:
                fewer = self.weight(depth - 1, min(count, self._width))
                before = _CAUTION * fewer**2
            self._weights[key] = self._learnt(depth, count, before)
        return self._weights[key]

    def fewer(
        self,
        depth: int,
        weight: float,
        *,
        bars: bool = True,
    ) -> "BasedReconstruction":
        """The same reconstruction from the marginals of the views on `depth` axes."""
        scales = marginals_on(self._scales, depth)
        return BasedReconstruction(
            marginals_on(self.tables, depth),
            self.base,
            tuple(_moments_of(value) for value in scales.values),
            self._given,
            weight=weight,
            better=marginals_on(self.better, depth),
            bars=bars,
        )

    @cached_property
    def alone(self) -> Reconstruction:
        """What estimates marginals from the improved tables, without more of the base."""
        return Reconstruction(self.better, self.solver)

    @cached_property
    def better(self) -> Tables:
        """The tables of the views, with less noise."""
        return self._improved[0]

    @cached_property
    def _improved(self) -> tuple[Tables, Floats]:
        """The tables with less noise, and the weights of the base for moments on 0, 1, ... axes."""
        if self._better is not None:
            return self._better, np.ones(2)
        return improved(
            self.tables,
            self.base,
            lambda asked: (self.relative(asked), self.scales(asked)),
            lambda asked: self._left(Batch.of(self.tables, asked), asked),
        )

    @cached_property
    def _beyond(self) -> Beyond:
        return Beyond(self.tables, self.base, self._given)

    def _learnt(
        self,
        depth: int,
        count: int,
        before: float,
    ) -> float:
        """The posterior mean of a weight; `before` is its prior mean."""
        if depth >= self._width:
            return before
        parts = parts_of_views(self.tables, max(min(count, self._width), depth + 1))
        shapes: dict[tuple[int, ...], list[Axes]] = {}
        for part in parts:
            shapes.setdefault(tuple(self.tables.sizes[axis] for axis in part), []).append(part)
        fewer = self.fewer(depth, 1.0, bars=False)
        slopes = []
        for some in shapes.values():
            alone = fewer.alone.solve(np.array(some))
            based = fewer.solve(np.array(some))
            for part, without, using in zip(some, alone.table, based.table, strict=True):
                if np.isfinite(without).all() and np.isfinite(using).all():
                    slopes.append(self._slope(part, depth, without, using))
        # The prior counts as one part that is known exactly.
        means, variances = np.array([(before, 0.0), *slopes]).T
        precisions = 1 / (_DOUBT**2 + variances)
        mean = float(precisions @ means / precisions.sum())
        if mean < _SURE:
            return 0.0
        return 1.0 if mean > 1 - _SURE else mean

    def _slope(
        self,
        part: Axes,
        depth: int,
        without: Floats,
        using: Floats,
    ) -> tuple[float, float]:
        """The weight that one part of a view tells, and the variance of its noise.

        Let x be the difference of the two reconstructions, and y what the first misses, both as
        coefficients on more than `depth` axes. The slope of y on x is too large where y was
        measured because it is large. So the weight is at most the slope of x on y. What noise may
        have added to y ** 2, up to two standard errors, is left out.
        """
        row = self._unbiased.covering(part)
        assert row is not None  # `parts_of_views` takes it from a view
        view = self._unbiased.project(row, part)
        basis = transform(view.shape)
        unknown = basis.order > depth
        missed = basis.analyse((view - without).ravel())[unknown]
        change = basis.analyse((using - without).ravel())[unknown]
        precision = self.tables.component_precision(part)[basis.component[unknown]]
        variance = 1 / (precision * view.size)
        told = (missed**2 - variance).sum() - 2 * math.sqrt(2 * (variance**2).sum())
        most = max(float(change @ change), float(told))
        if most < _LEAST_SQUARE:
            return 0.0, math.inf  # it tells nothing
        return float(change @ missed) / most, float(change**2 @ variance) / most**2

    def _based(self, asked: Integers, alone: Floats) -> Solutions:
        """Estimate marginals of one shape relative to the base; `alone` is without it."""
        cells = math.prod(self.tables.sizes[axis] for axis in asked[0].tolist())
        step = max(1, _CELLS_AT_ONCE // cells)
        answers = []
        for start in range(0, len(asked), step):
            part = slice(start, start + step)
            answers += list(self.trusting.solve(self._adding(asked[part], alone[part])))
        return Solutions.stack(answers)

    def _held(self, asked: Integers) -> Solutions:
        """Estimate marginals of one shape that views hold."""
        if self._is_large(asked):
            return self.own.limited(asked, large_solutions(self.tables, self.base, asked))
        problems = self.relative(asked)
        variances = self.tables.covered_variances(asked)
        based = self.trusting.solve(problems.batch)
        left = self._left(problems.noisy, asked)
        mixed = held_solutions(problems, based, variances, left, self._most(asked))
        return self.own.limited(asked, mixed)

    def _held_sums(
        self,
        asked: Integers,
        weights: Floats,
    ) -> Sums:
        """Estimate weighted sums of the cells of one marginal that a view holds."""
        axes = tuple(asked[0].tolist())
        if self._is_large(asked):
            found = large_sums(self.tables, self.base, axes, weights)
            return self.own.limited_sums(axes, weights, found)
        problems = self.relative(asked)
        based = self.trusting.solve(problems.batch)
        sums = self._sums_of(problems.batch[0], based[0], weights)
        if not sums.status.ok:
            return self.alone.sums(axes, weights)
        left = self._left(problems.noisy, asked)
        mixed = held_sums(problems, based, sums, weights, left, self._most(asked))
        return self.own.limited_sums(axes, weights, mixed)

    def _most(self, asked: Integers) -> float:
        """The largest weight of the base in marginals that views hold.

        A single axis has few moments, so its weight is at most that for all of them together.
        """
        return float(self._improved[1][1]) if asked.shape[1] == 1 else 1.0

    def _left(self, batch: Batch, asked: Integers) -> Floats:
        """The part of the noise that the removal of negative counts left, shape (n,).

        It moves tables towards the truth, so by Pythagoras' theorem at least the square of the way
        is taken from the squared error.
        """
        own = Batch.of(self._unbiased, asked).target * self._unbiased.total / self.tables.total
        squares = ((own - batch.target) ** 2).reshape(len(asked), -1).sum(axis=1)
        noise = batch.variance.reshape(len(asked), -1).sum(axis=1)
        return np.asarray(np.clip(1 - squares / np.maximum(noise, 1e-300), LEAST_LEFT, 1.0))

    def _is_large(self, asked: Integers) -> bool:
        """Whether marginals of one shape are improved cell by cell; see `large_solutions`."""
        cells = math.prod(self.tables.sizes[axis] for axis in asked[0].tolist())
        return bool(cells > MOMENTS_CELLS)

    def _adding(self, asked: Integers, alone: Floats) -> Batch:
        """The problems of marginals to which the base adds what it says beyond the views."""
        batch = self._refining(Batch.of(self.better, asked), alone)
        return self._beyond.problems(batch, asked, alone)

    def _refining(self, batch: Batch, alone: Floats) -> Batch:
        """Problems whose known moments are those of the estimates without the base.

        These have less noise than the views' moments, because they were shrunk within a context.
        Where an estimate failed, the views' moments stay.

        Parameters
        ----------
        batch
            The problems of marginals relative to the base.
        alone
            The estimates without the base, shape (n, ...).
        """
        basis = transform(batch.shape)
        scale = math.sqrt(batch.cells)
        target = batch.target.copy()
        for place, table in enumerate(alone):
            total = table.sum()
            if not (np.isfinite(total) and total > 0):
                continue
            part = slice(batch.offsets[place], batch.offsets[place + 1])
            shares = table.ravel() / total
            target[part] = (basis.analyse(shares) * scale)[batch.index[part]]
        return dataclasses.replace(batch, target=target)

    def relative(self, asked: Integers) -> Relative:
        """The problems of some marginals relative to the base."""
        shares = positive_shares(self.base, asked)
        return relative(Batch.of(self.tables, asked), shares, self.scales(asked))

    def scales(self, asked: Integers) -> Floats:
        """The trust for all known moments of marginals of one shape, one after another."""
        return known_moments(self._scales, asked).target

    def _sums_of(
        self,
        problem: Problem,
        solution: Solution,
        weights: Floats,
    ) -> Sums:
        """Estimate weighted sums of the cells of one problem relative to the base."""
        if not solution.status.ok:
            return no_sums(solution.status, weights.shape[1])
        shares = solution.table.ravel() / problem.total
        ridge = self.trusting.ridge(problem)
        rows = np.ascontiguousarray(weights.T)
        changes = dual_of(problem, ridge).solver(shares)(covariances(problem, shares, rows))
        return sums_of(problem, solution, ridge, changes, rows)


class BasedStructure(Structure):
    """The variance of what a `BasedReconstruction` misses.

    The scales of marginals that no view holds are learnt as `Structure` does, with the base. Beyond
    the widest view nothing tells, and `scale` follows from the two estimates that are mixed. The
    rows of the base are a sample, too, so they add to the structure of a random sample, and the
    noise of the base is added. Where a view holds the marginal, `held_solutions` has computed the
    missed part without the noise of the base; `_with_noise_of_base` adds it. So what a view holds
    is never said to be less certain than its own table.

    Parameters
    ----------
    based
        The reconstruction.
    """

    # A base moves answers away from the views, because it tells more than they do.
    _keeps_to_views: ClassVar[bool] = False

    def __init__(self, based: BasedReconstruction) -> None:
        super().__init__(based.tables, based.solver)
        self.based = based

    def scale(self, depth: int, count: int) -> float:
        """The scale of marginals on `count` axes that are known up to `depth` axes.

        Views tell it up to their width, from mixtures as they are used. Beyond, the base has less
        weight w than in what they tell. The error is (1 - w) times that without the base, plus w
        times that with it, and both are taken to be independent.
        """
        using = super().scale(depth, count)
        if depth < self._width:
            return using
        weight = self.based.weight(depth, count)
        return math.hypot((1 - weight) * self._alone_scales.scale(depth, count), weight * using)

    @cached_property
    def _alone_scales(self) -> Structure:
        """What is missed without that which the base says beyond the views."""
        return Structure(self.based.better, self.based.solver)

    def missed_variance(
        self,
        asked: Integers,
        solutions: Solutions,
    ) -> Floats:
        """The variance of the missed part of each cell; see `Structure.missed_variance`."""
        missed = super().missed_variance(asked, solutions)
        if solutions.undetermined is None or solutions.variance is None:
            return missed
        weights = self.based.weights(asked)
        held = self.tables.covered(asked)
        per_row = (-1, *[1] * (missed.ndim - 1))
        sampling = (weights**2 / self.based.base.rows).reshape(per_row)
        noise = self._noise(asked).reshape(missed.shape)
        missed = missed + sampling * solutions.undetermined + (weights**2).reshape(per_row) * noise
        if held.any():
            variance = solutions.variance[held]
            own = self.based.own.cell_variances(asked[held]).reshape(variance.shape)
            whole = _with_noise_of_base(own, variance + solutions.undetermined[held], noise[held])
            missed[held] = np.maximum(whole - variance, 0.0)
        return np.asarray(missed)

    def missed_covariance(
        self,
        axes: Axes,
        weights: Floats,
        sums: Sums,
    ) -> Floats:
        """The covariance of the missed parts of sums; see `Structure.missed_covariance`."""
        asked = np.array([axes], dtype=np.int64)
        # The errors of the base's cells are taken to be independent.
        noise = (weights * self._noise(asked).ravel()[:, None]).T @ weights
        if self.tables.covered(asked)[0]:
            return self._held_covariance(asked, weights, sums, noise)
        share = float(self.based.weights(asked)[0])
        sampling = share**2 / self.based.base.rows * sums.undetermined
        return super().missed_covariance(axes, weights, sums) + sampling + share**2 * noise

    def _held_covariance(
        self,
        asked: Integers,
        weights: Floats,
        sums: Sums,
        noise: Floats,
    ) -> Floats:
        """The covariance of the missed parts of sums that a view holds: the variances are those of
        `missed_variance`, and the correlations those of the estimate and the noise of the base."""
        variance = sums.variance.diagonal()
        own = self.based.own.covariance(tuple(asked[0].tolist()), weights).diagonal()
        whole = _with_noise_of_base(own, variance + sums.undetermined.diagonal(), noise.diagonal())
        missed = sums.undetermined + noise
        rest = np.maximum(whole - variance, 0.0)
        share = rest / np.maximum(missed.diagonal(), 1e-300)
        return np.asarray(missed * np.sqrt(np.outer(share, share)))

    def _alone(self, asked: Integers) -> Floats:
        """The base tells of emptied categories, as far as it has weight."""
        return np.asarray((1 - self.based.weights(asked)) ** 2)

    def _noise(self, asked: Integers) -> Floats:
        """The variance of the noise of the base in each cell, in squared counts, (n, cells)."""
        noise = self.based.base.noise(asked).reshape(len(asked), -1) * self.tables.total**2
        if self.tables.zeros is not None:
            empty = self.tables.zeros.cells_of_many(asked)
            if empty is not None:
                noise[empty] = 0.0
        return np.asarray(noise)

    def _fewer(
        self,
        depth: int,
        count: int,
    ) -> BasedReconstruction:
        """The reconstruction with the base from the views' marginals on `depth` axes."""
        return self.based.fewer(depth, self.based.weight(depth, count))


def _with_noise_of_base(
    own: Floats,
    whole: Floats,
    noise: Floats,
) -> Floats:
    """The error variances of estimates whose base has noise, at most those of the views' tables.

    A view's table, of the variance v, and a base of the variance p have a weighted mean of the
    variance v p / (v + p). So `whole` tells p, which becomes p plus the noise of the base. This is
    cautious, because the trust in a base was learnt with its noise, and p may hold a part of it.

    Parameters
    ----------
    own
        The variances of the views' tables, v.
    whole
        The error variances if the base had no noise.
    noise
        The variances of the noise of the base.
    """
    least = np.maximum(whole, 1e-300)
    of_base = np.maximum(1 / least - 1 / np.maximum(own, 1e-300), 0.0)
    with_noise = of_base / (1 + of_base * noise)
    return np.where(whole > 0, own / (1 + own * with_noise), 0.0)


def _joined(
    chosen: NDArray[np.bool_],
    first: Solutions,
    second: Solutions,
) -> Solutions:
    """The solutions of marginals in their order; `first` are those that are chosen."""
    ones, others = iter(first), iter(second)
    return Solutions.stack([next(ones if one else others) for one in chosen.tolist()])


def _with_moments(tables: Tables, moments: Sequence[Floats]) -> Tables:
    """Tables of the same views whose moments are the given ones, each shaped like its table."""
    values = []
    for table in moments:
        ones = table.copy()
        ones.flat[0] = 1.0
        flat = transform(table.shape).synthesise(ones.ravel()) / math.sqrt(table.size)
        values.append(flat.reshape(table.shape))
    return Tables(
        sizes=tables.sizes,
        views=tables.views,
        values=tuple(values),
        variances=tuple(1.0 for _ in values),
    )


def _moments_of(table: Floats) -> Floats:
    """The moments of a table of sum one, shaped like the table."""
    coefficients = transform(table.shape).analyse(table.ravel())
    return (coefficients * math.sqrt(table.size)).reshape(table.shape)


def _mixed(
    weights: Floats,
    alone: Solutions,
    based: Solutions,
    using: Integers,
) -> Solutions:
    """Mix the solutions of marginals, with the base at the positions `using`.

    The square root of a variance is convex, so a mixture of variances is not too small.
    """
    ours = dict(zip(using.tolist(), based, strict=True))
    answers = []
    for place, (share, other) in enumerate(zip(weights.tolist(), alone, strict=True)):
        one = ours.get(place)
        if one is None or not one.status.ok or not other.status.ok:
            answers.append(other if one is None or not one.status.ok else one)
            continue
        variance = undetermined = None
        if one.variance is not None and other.variance is not None:
            variance = _between(share, other.variance, one.variance)
        if one.undetermined is not None and other.undetermined is not None:
            undetermined = _between(share, other.undetermined, one.undetermined)
        answers.append(
            dataclasses.replace(
                one,
                table=_between(share, other.table, one.table),
                variance=variance,
                undetermined=undetermined,
            )
        )
    return Solutions.stack(answers)


def _between(
    weight: float,
    first: Floats,
    second: Floats,
) -> Floats:
    """The mixture of two arrays; `weight` is that of the second."""
    return np.asarray((1 - weight) * first + weight * second)
