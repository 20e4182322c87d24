"""Tables of whole numbers that agree exactly, as close as possible to given tables.

The problem, for views v with the given tables t_v, the cell variances s_v and the total n:

    minimise  sum_v |T_v - t_v|^2 / s_v
    over      T_v of whole numbers >= 0 with the total n, such that any two of them have the same
              marginal on the axes that they share

Whether tables of whole numbers with given marginals exist is NP-complete from three axes on (Irving
and Jerrum, SIAM Journal on Computing 23, 1994). So the optimum is approached in up to three steps:

1. If the rounded tables agree, they are the answer.
2. Otherwise the tables are counted from n whole rows. Such tables always agree. `RowDescent`
   changes one category of one row at a time while that lowers the objective, and the categories of
   axes that zeros link together. If the variances differ much, it begins with more even ones.
3. Rows round all views at once, and thus more coarsely than each by itself. If a table of step 2
   is far from its target compared with its noise, counts are exchanged between its cells in ways
   that no other view can see, while that brings it closer.

What is known of the tables is kept: rows are moved after step 2 (`margin.solvers.known.rows`), and
step 3 does not change it.

Above a number of rows, large groups of equal rows are moved first and single rows last. So the time
does not grow with n.
"""

import dataclasses
import itertools
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ..limits import GROUPED_CELLS, MOST_GROUPS
from ..types import Floats, Integers
from .implied import implied_axes
from .row_descent import RowDescent, kept_exactly
from .start_rows import drawn
from .tables import Axes, Tables

__all__ = ["WholeTables", "agree"]

_FAR = 0.25
"""Distance of a table from its target, in standard deviations of its cells, from which counts are
exchanged. The error of a table grows by 3 % at this distance."""

_UNEVEN = 100.0
"""Ratio of the largest to the smallest variance above which the descent begins with more even
variances."""

_EVEN = 10.0
"""Largest ratio of these more even variances. With 1 and 100 the objective is at most 1.4 times as
large, and without this stage 100 times, on the table of `experiments/answers/intervals.py` in which
categories follow from others."""

_EXCHANGED_AXES = 5
"""Largest number of axes along which counts are exchanged: 32 cells change at once."""

_LEAST_GROUPS = 1000
"""Smallest limit on the number of groups of rows."""

_TRIES = 20
"""Number of exchanges that are tried from each cell of a table."""


@dataclass(
    frozen=True,
    kw_only=True,
)
class WholeTables:
    """Finds tables of whole numbers that agree exactly; the text of the module states the problem.

    Parameters
    ----------
    sweeps
        The largest number of sweeps over all rows, >= 0.
    gain
        The descent ends if a sweep lowers the objective by less than this share, >= 0 and < 1.

    Raises
    ------
    ValueError
        If a parameter is out of range.

    Examples
    --------
    >>> views = Tables(
    ...     sizes=(2, 2),
    ...     views=((0,), (0, 1)),
    ...     values=(np.array([4.5, 3.5]), np.array([[2.2, 2.3], [0.1, 3.4]])),
    ...     variances=(1.0, 1.0),
    ... )
    >>> single, pair = WholeTables()(views, 8, seed=0).values
    >>> pair.tolist(), (pair.sum(axis=1) == single).all()
    ([[2.0, 2.0], [0.0, 4.0]], np.True_)
    """

    sweeps: int = 10
    gain: float = 0.001

    def __post_init__(self) -> None:
        if self.sweeps < 0:
            raise ValueError(f"sweeps ({self.sweeps}) must be >= 0; pass a larger number")
        if not 0 <= self.gain < 1:
            raise ValueError(f"gain ({self.gain}) must be >= 0 and < 1; pass such a number")

    def __call__(
        self,
        tables: Tables,
        total: int,
        *,
        seed: int,
    ) -> Tables:
        """Find such tables.

        Parameters
        ----------
        tables
            Consistent, non-negative, of positive total. Each view occurs once.
        total
            The sum of the cells of each table of the result, from 0 to 2**50.
        seed
            The same arguments give the same tables.

        Raises
        ------
        ValueError
            If a view occurs twice, the tables have no positive total, or `total` is out of range or
            not the known one; or if no tables are found that agree with what is known.
        """
        self._check(tables, total)
        if total == 0:
            return tables.with_values([np.zeros_like(value) for value in tables.values])
        scale = total / tables.total
        target = [value * scale for value in tables.values]
        # Step 1: the rounded tables.
        rounded = tables.with_values([np.rint(value) for value in target])
        implied = implied_axes(tables)
        has_total = rounded.values[0].sum() == total
        if has_total and not implied and agree(rounded) and _keeps_known(rounded):
            return rounded
        # Step 2: tables counted from rows.
        rng = np.random.default_rng(seed)
        most = min(MOST_GROUPS, GROUPED_CELLS // len(tables.views))
        repeats = _groups(total, max(most, _LEAST_GROUPS))
        codes, repeats = drawn(tables, len(repeats), rng), rng.permutation(repeats)
        for stage in _stages(tables):
            descent = RowDescent(stage, codes, repeats)
            descent.run(self.sweeps, self.gain, rng)
            codes, repeats = descent.codes, descent.repeats
        if tables.known is not None and tables.known.more:
            descent = kept_exactly(tables, descent, rng)
        counts = descent.values
        # Step 3: exchanges within single tables.
        _exchange(tables, target, counts, implied, rng)
        return tables.with_values(counts)

    def _check(
        self,
        tables: Tables,
        total: int,
    ) -> None:
        if len(set(tables.views)) < len(tables.views):
            raise ValueError("each view must occur once, but one occurs twice; leave one out")
        if not tables.total > 0:
            raise ValueError(
                "the total of the tables must be positive, but it is not; give tables with a "
                "larger sum"
            )
        if not 0 <= total <= 2**50:
            raise ValueError(f"total ({total}) must be from 0 to 2**50; pass such a number")
        if tables.known is not None and tables.known.more and total != tables.known.total:
            raise ValueError(
                f"total ({total}) must be the known one, {tables.known.total:,.0f}; pass it"
            )


def agree(tables: Tables) -> bool:
    """Whether any two of the tables have exactly the same marginal on the axes that they share.

    Examples
    --------
    >>> views = Tables(
    ...     sizes=(2, 2),
    ...     views=((0,), (0, 1)),
    ...     values=(np.array([4.0, 4.0]), np.array([[2.0, 2.0], [1.0, 3.0]])),
    ...     variances=(1.0, 1.0),
    ... )
    >>> agree(views)
    True
    """
    holders = _holders(tables.views)
    seen: dict[Axes, Floats] = {}
    for row, view in enumerate(tables.views):
        for axes in _subsets(view, len(view)):
            if holders[axes] < 2:
                continue
            marginal = tables.project(row, axes)
            if not np.array_equal(seen.setdefault(axes, marginal), marginal):
                return False
    return True


def _stages(tables: Tables) -> list[Tables]:
    """The problems of the descent, one after another: the last one is the stated problem.

    If some tables have much smaller variances than others, rows that fit them hardly move any more,
    although the other tables are still far from their targets. So the variances are made more even
    at first.
    """
    largest = _EVEN * min(tables.variances)
    if max(tables.variances) <= _UNEVEN * min(tables.variances):
        return [tables]
    even = tuple(min(variance, largest) for variance in tables.variances)
    return [dataclasses.replace(tables, variances=even), tables]


def _keeps_known(tables: Tables) -> bool:
    """Whether tables of whole numbers agree exactly with what is known."""
    known = tables.known
    if known is None or not known.more:
        return True
    pairs = zip(tables.views, tables.values, strict=True)
    return all(known.kept(view, value) for view, value in pairs)


def _subsets(view: Axes, most: int) -> Iterator[Axes]:
    """The subsets of a view with at most `most` axes, small ones first."""
    for size in range(min(len(view), most) + 1):
        yield from itertools.combinations(view, size)


def _holders(views: Sequence[Axes]) -> Counter[Axes]:
    """The number of views that hold each set of axes."""
    return Counter(axes for view in views for axes in _subsets(view, len(view)))


def _groups(total: int, most: int) -> Floats:
    """Divide rows into at most `most` groups, whose sizes are powers of two but for one.

    There are equally many groups of each size, so that small groups can correct what large ones
    leave. The result has shape (groups,) and the sum `total`.
    """
    if total <= most:
        return np.ones(total)
    levels = 1
    while (most // levels) * (2**levels - 1) < total:
        levels += 1
    sizes = np.repeat(2.0 ** np.arange(levels), most // levels)
    # Leave out large groups until the sum would be too small, and make one group smaller.
    surplus = sizes.sum() - total
    left_out = int(surplus // sizes[-1])
    sizes = sizes[: len(sizes) - left_out]
    sizes[-1] -= surplus - left_out * 2.0 ** (levels - 1)
    return sizes[sizes > 0]


def _exchange(
    tables: Tables,
    target: Sequence[Floats],
    counts: Sequence[Floats],
    implied: Axes,
    rng: np.random.Generator,
) -> None:
    """Bring tables that are far from their targets closer, without changing what views share.

    `target` and `counts` hold an array for each view; `counts` are changed in place. Through the
    axes `implied`, views share more than their axes.
    """
    from .row_loops import exchange

    pairs = zip(counts, target, strict=True)
    distance = np.array([math.sqrt(((mine - goal) ** 2).mean()) for mine, goal in pairs])
    far = np.flatnonzero(distance > _FAR * np.sqrt(tables.variances))
    if not far.size:
        return
    holders = _holders(tables.views)
    # What is known does not change either.
    for table in () if tables.known is None else tables.known.tables:
        holders.update(_subsets(table.axes, len(table.axes)))
    for row in far.tolist():
        excess = np.ravel(counts[row] - target[row])
        empty = np.zeros(excess.size, np.bool_)
        if tables.empty is not None:
            empty = np.ravel(tables.empty[row])
        flat = np.ravel(counts[row]).copy()
        for axes in _own(tables.views[row], holders):
            if set(axes) & set(implied):
                continue
            sizes = np.array([tables.sizes[axis] for axis in axes])
            strides = tables.strides[row, list(axes)]
            partners = _partners(flat.size, sizes, strides, rng)
            exchange(flat, excess, empty, partners, strides)
        counts[row][...] = flat.reshape(counts[row].shape)


def _own(view: Axes, holders: Counter[Axes]) -> list[Axes]:
    """The smallest sets of axes that this view holds and no other view does."""
    own: list[Axes] = []
    for axes in _subsets(view, _EXCHANGED_AXES):
        # The total stays, even if there is no other view.
        is_own = len(axes) > 0 and holders[axes] == 1
        if is_own and not any(set(small) <= set(axes) for small in own):
            own.append(axes)
    return own


def _partners(
    cells: int,
    sizes: Integers,
    strides: Integers,
    rng: np.random.Generator,
) -> Integers:
    """For each exchange a cell and its steps along the axes: shape (exchanges, 1 + axes).

    The steps lead to another category of each axis, in cells.
    """
    tries = _TRIES if (sizes > 2).any() else 2
    cell = np.concatenate([rng.permutation(cells) for _ in range(tries)])
    place = cell[:, None] // strides % sizes
    other = (place + rng.integers(1, np.maximum(sizes, 2), place.shape)) % sizes
    return np.column_stack([cell, (other - place) * strides])
