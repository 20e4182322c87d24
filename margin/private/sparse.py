"""Noisy counts of views with more cells than fit into memory: only some cells are kept."""

from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from .._checks import positive_integer
from .._numbers import Number
from .._types import Integers
from ..domain.domain import Domain
from ..errors import DomainError
from ..noise.entropy import Entropy
from ..noise.kept_cells import Keep
from ..noise.laws import DiscreteLaplace
from ..privacy.event import Event
from ..sparse.axes import Axis, Leaves
from ..sparse.grid import Grid, ordered
from .cell_counts import Cells, Counted, cells_in
from .counts import digest
from .gate import Gate
from .sparse_noise import MAX_KEPT, Kept, Largest, check_size, kept_cells, largest_cells

__all__ = ["Keep", "Largest", "Sparse", "SparseCells"]

Rule = Keep | Largest

_MOST_TOUCHED = 1 << 20  # largest number of nodes that one row is in
_MOST_BITS = 1000  # largest number of binary digits of the number of cells


@dataclass(
    frozen=True,
    kw_only=True,
    eq=False,
)
class SparseCells:
    """The noisy counts of the cells that were kept of a huge view.

    With trees as axes, nodes of these trees are kept instead of cells.

    Attributes
    ----------
    domain
        The attributes of the view.
    axes
        The axes whose nodes are counted, one for each attribute.
    codes
        The codes of the kept nodes, in order: shape (kept, attributes). With `Leaves` the nodes are
        the cells.
    counts
        Their noisy counts, integers: shape (kept,).
    keep
        The rule by which nodes were kept.
    cut
        For `Largest`: the cut, a point of the public grid of priorities; zero if nothing was cut
        off.
    variance
        The variance of the noise in each node, before any node was dropped.
    """

    domain: Domain
    axes: tuple[Axis, ...]
    codes: Integers
    counts: Integers
    keep: Rule
    cut: float
    variance: float


class Sparse(Gate):
    """The part of `Private` for views of huge size: its method `sparse_cells`."""

    def sparse_cells(
        self,
        view: Iterable[str],
        *,
        keep: "Rule | Callable[[int, DiscreteLaplace], Rule]",
        axes: Sequence[Axis] | None = None,
        within: npt.ArrayLike | None = None,
        spend: Number | None = None,
    ) -> SparseCells:
        """Add noise to every cell of a view of huge size, and keep the counts of some cells only.

        The result has the same distribution as the following. Discrete Laplace noise is added to
        each cell; there may be up to 10**300 cells. Then a rule drops most of the results. The rule
        depends on the noisy results only, so it is post-processing (Cormode, Procopiuc, Srivastava
        and Tran 2012). Adding a row changes one cell by one. With other axes than `Leaves` it
        changes one node of each combination of their levels by one, so the L1 sensitivity is the
        product of the numbers of levels. A budget of zCDP buys epsilon = sqrt(2 rho), rounded down.
        The theorem and its proof are in docs/proofs/sparse_cells.md.

        Parameters
        ----------
        view
            The attributes of the view.
        keep
            The rule that decides which noisy counts are kept, or a function that returns this rule.
            The function gets the number of cells and the noise, which are public. The rule must not
            depend on the data.
        axes
            One axis for each attribute, of its size; `Leaves` by default.
        within
            Codes of the first attributes of the view: distinct prefixes, integers of shape
            (prefixes, attributes). Only the cells that begin with one of them are considered. They
            must not depend on the data, except through results of `Private`. None takes all cells.
        spend
            The share of the whole budget to spend, such as "1/3"; by default all that is left.

        Raises
        ------
        DomainError
            When the table has 10**300 cells or more, the axes or the prefixes do not fit the view,
            or too many empty cells would be kept. Nothing is charged.
        BudgetError
            When the budget does not hold enough. Nothing is charged.
        """
        if axes is not None and within is not None:
            raise DomainError(
                "either axes or within may be given, but both are; leave one of them out"
            )
        checked = self.domain.view(view)
        sizes = self.domain.shape(checked)
        cells = Grid([Leaves(size) for size in sizes])
        grid = cells if axes is None else Grid(axes)
        _check_grid(grid, sizes)
        prefixes = None if within is None else _prefixes(within, sizes)
        if prefixes is not None:
            grid = _below(prefixes, sizes)

        # The noise; the squared L2 distance holds also for nodes that count with a sign.
        units = self._units(spend)
        l1, _ = self.budget.sensitivity(l1=grid.touched)
        l2_squared = self.budget.rows**2 * grid.touched
        together = self._is_all(units)
        if together:
            noise = self.budget.laplace_at_once(l1=l1)
        else:
            noise = self.budget.laplace(units, l1=l1)
        rule = self._rule(keep, grid, noise)
        event = Event(
            method="sparse_cells",
            about=(checked, grid.axes, grid.cells, rule, *_named(prefixes)),
            units=units,
            sampler=noise,
            l1=l1,
            l2_squared=l2_squared,
            together=together,
        )

        # Count, charge, draw.
        nodes = grid if prefixes is None else cells
        with closing(cells_in(self._source, self.domain, checked, cells, nodes)) as found:
            true = found if prefixes is None else _beginning(found, cells, grid, prefixes)

            def draw() -> Kept:
                return _drawn(grid, noise, true, rule, self._entropy)

            kept = self._answer([event], [true], draw)
        return SparseCells(
            domain=self.domain.restrict(checked),
            axes=grid.axes if prefixes is None else cells.axes,
            codes=_codes(kept, grid, prefixes),
            counts=kept.counts,
            keep=rule,
            cut=kept.cut,
            variance=noise.variance,
        )

    def _rule(
        self,
        keep: "Rule | Callable[[int, DiscreteLaplace], Rule]",
        grid: Grid,
        noise: DiscreteLaplace,
    ) -> Rule:
        """Check the rule that keeps cells; a function is first called to obtain it.

        The function gets the number of cells and the noise.
        """
        rule = keep if isinstance(keep, Keep | Largest) else keep(grid.cells, noise)
        positive_integer("theta", rule.theta)
        if isinstance(rule, Largest):
            if positive_integer("size", rule.size) > MAX_KEPT:
                raise DomainError(
                    f"size ({rule.size}) must be at most {MAX_KEPT}; keep fewer cells"
                )
        elif positive_integer("tau", rule.tau) < rule.theta or rule.tau > 1 << 124:
            raise DomainError(
                f"tau ({rule.tau}) must be at least theta ({rule.theta}) and at most 2**124; pass "
                "such a number"
            )
        elif rule.tau > 1 << 62 and rule.tau.bit_count() > 1:
            raise DomainError(
                f"tau ({rule.tau}) must be a power of two, because it is above 2**62; round it to "
                "one"
            )
        if rule.theta > 1 << 60:
            raise DomainError(f"theta ({rule.theta}) must be at most 2**60; pass a smaller number")
        check_size(grid.cells, noise, rule)
        return rule


def _drawn(
    grid: Grid,
    noise: DiscreteLaplace,
    true: Cells,
    rule: Rule,
    entropy: Entropy,
) -> Kept:
    """Draw the noise and keep the cells that the rule selects."""
    if isinstance(rule, Keep):
        return kept_cells(grid, noise, true, rule, entropy)
    return largest_cells(grid, noise, true, rule, entropy)


def _codes(
    kept: Kept,
    grid: Grid,
    prefixes: Integers | None,
) -> Integers:
    """The codes of the kept cells; with prefixes, the grid's first axis numbers these."""
    codes = grid.unpack(kept.words)
    if prefixes is None:
        return codes
    return np.hstack([prefixes[codes[:, 0]], codes[:, 1:]])


def _named(prefixes: Integers | None) -> tuple[str, ...]:
    """What identifies prefixes in an event."""
    return () if prefixes is None else (digest(prefixes),)


def _prefixes(within: npt.ArrayLike, sizes: tuple[int, ...]) -> Integers:
    """A copy of the prefixes in ascending order, checked."""
    given: npt.NDArray[Any] = np.array(within)
    fits = given.ndim == 2 and given.dtype.kind in "iu" and 1 <= given.shape[1] < len(sizes)
    if not fits or not 1 <= len(given) <= MAX_KEPT:
        raise DomainError(
            f"within must hold from 1 to {MAX_KEPT} rows of integer codes, of the first 1 to "
            f"{len(sizes) - 1} attributes of the view, but it has shape {given.shape} and type "
            f"{given.dtype}; pass one row for each prefix"
        )
    limits = np.array(sizes[: given.shape[1]], object)
    if (given < 0).any() or (given >= limits).any():
        raise DomainError(
            "within must hold codes that the attributes declare, but one is not declared; remove "
            "its row"
        )
    rows: Integers = np.unique(given.astype(np.int64), axis=0)
    if len(rows) < len(given):
        raise DomainError(
            "within must hold each prefix once, but it repeats one; remove the repeated rows"
        )
    return rows


def _below(prefixes: Integers, sizes: tuple[int, ...]) -> Grid:
    """The grid of the cells that begin with one of some prefixes: their number, then the rest."""
    rest = sizes[prefixes.shape[1] :]
    return Grid([Leaves(len(prefixes)), *map(Leaves, rest)])


def _beginning(
    found: Cells,
    cells: Grid,
    grid: Grid,
    prefixes: Integers,
) -> Counted:
    """The non-empty cells that begin with one of some prefixes, as nodes of the grid of `_below`.

    Each cell begins with at most one of them.
    """
    width = prefixes.shape[1]
    words = []
    counts = []
    for some, numbers in found.blocks():
        codes = cells.unpack(some)
        # Rank prefixes and the beginnings of cells together.
        together = np.concatenate([prefixes, codes[:, :width]])
        _, rank = np.unique(together, axis=0, return_inverse=True)
        rank = rank.ravel()
        number_of = np.full(int(rank.max()) + 1, -1)
        number_of[rank[: len(prefixes)]] = np.arange(len(prefixes))
        places = number_of[rank[len(prefixes) :]]
        inside = places >= 0
        words.append(grid.pack([places[inside], *codes[inside, width:].T]))
        counts.append(numbers[inside])
    if not words:
        return Counted(np.empty((0, len(grid.radices)), np.int64), np.empty(0, np.int64))
    all_words = np.concatenate(words)
    order = ordered(all_words)
    return Counted(all_words[order], np.concatenate(counts)[order])


def _check_grid(grid: Grid, sizes: tuple[int, ...]) -> None:
    """Check that the axes fit attributes of these sizes, and that the grid is not too large."""
    if tuple(axis.size for axis in grid.axes) != sizes:
        raise DomainError(
            "axes must have the sizes of the attributes of the view in their order, "
            f"{', '.join(map(str, sizes))}, but they have "
            f"{', '.join(str(axis.size) for axis in grid.axes)}; give one axis for each attribute"
        )
    if grid.cells.bit_length() > _MOST_BITS:
        raise DomainError(
            "the view must have at most 10**300 cells, but it has more; leave attributes out"
        )
    if grid.touched > _MOST_TOUCHED:
        raise DomainError(
            f"a row may be in at most {_MOST_TOUCHED} nodes, but with these trees it is in "
            f"{grid.touched}; use trees for fewer attributes"
        )
