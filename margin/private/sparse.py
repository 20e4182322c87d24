"""Summaries of noisy tables too large to be written out."""

from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass

from .._checks import positive_integer
from .._numbers import Number
from .._types import Integers
from ..domain.domain import Domain
from ..errors import DomainError
from ..noise.kept_cells import Keep
from ..noise.laws import DiscreteLaplace
from ..privacy.event import Event
from ..sparse.axes import Axis, Leaves
from ..sparse.grid import Grid
from .cell_counts import cells_in
from .gate import Gate
from .sparse_noise import MAX_KEPT, Kept, Largest, check_size, kept_cells, largest_cells

__all__ = ["Keep", "Largest", "Sparse", "SparseCells"]

Rule = Keep | Largest

_MOST_TOUCHED = 1 << 20
_MOST_BITS = 1000


@dataclass(frozen=True, kw_only=True, eq=False)
class SparseCells:
    """What a summary kept of a noisy table.

    Attributes
    ----------
    domain
        The attributes of the view.
    axes
        What the counts are of: an axis an attribute.
    codes
        Which nodes of the axes were kept, in order: shape (kept, attributes). The cells themselves,
        with `Leaves`.
    counts
        Their noisy counts, integers: shape (kept,).
    keep
        The rule.
    cut
        For `Largest`: the cut, a point of the public grid of priorities; zero when nothing was cut
        off.
    variance
        That of the noise in each node, before any was dropped.
    """

    domain: Domain
    axes: tuple[Axis, ...]
    codes: Integers
    counts: Integers
    keep: Rule
    cut: float
    variance: float


class Sparse(Gate):
    """The part of `Private` that adds noise to huge views."""

    def sparse_cells(
        self,
        view: Iterable[str],
        *,
        keep: "Rule | Callable[[int, DiscreteLaplace], Rule]",
        axes: Sequence[Axis] | None = None,
        spend: Number | None = None,
    ) -> SparseCells:
        """A summary of the noisy table of a huge view: of some of its cells, the noisy counts.

        As if discrete Laplace noise were added to each cell, of which there may be 10**300, and all
        but some of the results were dropped by a rule that looks at the results only, which is
        post-processing (Cormode, Procopiuc, Srivastava and Tran 2012). Adding a row changes one
        cell by one; with other axes than `Leaves` it changes one node of each combination of their
        levels by one, so that the L1 sensitivity is the product of the numbers of levels. A budget
        of zCDP buys epsilon = sqrt(2 rho), rounded down. The theorem and its proof are in
        docs/proofs/sparse_cells.md.

        Parameters
        ----------
        view
            The attributes.
        keep
            Which noisy counts are kept, chosen without looking at the data; or a function of the
            number of cells and the noise that says so. Both are public.
        axes
            One an attribute, of its size; `Leaves` when not given.
        spend
            See `Private`.

        Raises
        ------
        DomainError
            When the table has 10**300 cells or more, axes do not fit, or millions of empty cells
            would be kept. Nothing is charged.
        """
        checked = self.domain.view(view)
        sizes = self.domain.shape(checked)
        cells = Grid([Leaves(size) for size in sizes])
        grid = cells if axes is None else Grid(axes)
        if tuple(axis.size for axis in grid.axes) != sizes:
            raise DomainError(
                "axes must be as many as the attributes of the view, and of their sizes"
            )
        if grid.cells.bit_length() > _MOST_BITS:
            raise DomainError("the view has more than 10**300 cells: leave attributes out")
        if grid.touched > _MOST_TOUCHED:
            raise DomainError(
                f"a row is in {grid.touched} nodes of so many trees: use trees for fewer attributes"
            )
        units = self._units(spend)
        l1, _ = self.budget.sensitivity(l1=grid.touched)
        l2_squared = self.budget.rows**2 * grid.touched  # also for nodes that count with a sign
        together = self._is_all(units)
        noise = (
            self.budget.laplace_at_once(l1=l1) if together else self.budget.laplace(units, l1=l1)
        )
        rule = self._rule(keep, grid, noise)
        event = Event(
            method="sparse_cells",
            about=(checked, grid.axes, grid.cells, rule),
            units=units,
            sampler=noise,
            l1=l1,
            l2_squared=l2_squared,
            together=together,
        )
        with closing(cells_in(self._source, self.domain, checked, cells, grid)) as true:

            def draw() -> Kept:
                if isinstance(rule, Keep):
                    return kept_cells(grid, noise, true, rule, self._entropy)
                return largest_cells(grid, noise, true, rule, self._entropy)

            kept = self._answer([event], [true], draw)
        return SparseCells(
            domain=self.domain.restrict(checked),
            axes=grid.axes,
            codes=grid.unpack(kept.words),
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
        """The rule, checked."""
        rule = keep if isinstance(keep, Keep | Largest) else keep(grid.cells, noise)
        positive_integer("theta", rule.theta)
        if isinstance(rule, Largest):
            if positive_integer("size", rule.size) > MAX_KEPT:
                raise DomainError(f"size ({rule.size}) must be at most {MAX_KEPT}")
        elif positive_integer("tau", rule.tau) < rule.theta or rule.tau > 1 << 124:
            raise DomainError(
                f"tau ({rule.tau}) must be at least theta ({rule.theta}), and at most 2**124"
            )
        elif rule.tau > 1 << 62 and rule.tau.bit_count() > 1:
            raise DomainError("a tau above 2**62 must be a power of two")
        if rule.theta > 1 << 60:
            raise DomainError("theta must be at most 2**60")
        check_size(grid.cells, noise, rule)
        return rule
