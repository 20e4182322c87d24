"""`BoxSynopsis`: a tree of boxes of cells with noisy counts, such as the regions of a map."""

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from .._types import Floats, Integers
from ..domain.domain import Domain, View
from ..domain.marginal import Marginal
from ..domain.where import Chosen
from ..domain.workload import Workload
from ..errors import DomainError
from ..solvers import Tree
from .counts.sums import Sums
from .noisy_tables import check_finite, check_variances, negative_left
from .synopsis import Packed, Provenance, Synopsis

__all__ = ["BoxSynopsis", "box_of_cells"]


@dataclass(
    frozen=True,
    kw_only=True,
    eq=False,
    repr=False,
)
class BoxSynopsis(Synopsis):
    """Counts of nested boxes of cells. It answers marginals and products of ranges over the
    attributes of the boxes.

    A box is a product of ranges of codes. The children of a box divide it, and the boxes without
    children, the leaves, divide all cells. Answers are sums over leaves. A leaf that lies in an
    answer only in part contributes in proportion to its possible cells: its rows are taken to be
    spread evenly. How far that is from the truth is not known, so such an answer has no interval.

    Attributes
    ----------
    domain, provenance
        See `Synopsis`.
    view
        The attributes of the boxes.
    boxes
        For each box and each attribute of the view the first code, and one more than the last:
        integers of shape (boxes, attributes, 2).
    parents
        The place of the parent of each box, shape (boxes,); see `margin.solvers.Tree`.
    counts
        The estimated number of rows in each box, shape (boxes,). A box is the sum of its leaves.
    variances
        The variance of the noise in the measurement of each box, shape (boxes,): inf if it was not
        measured, and 0 if it is known. This is before negative counts were removed.
    """

    _knows_sums: ClassVar[bool] = True

    view: View
    boxes: Integers
    parents: Integers
    counts: Floats
    variances: Floats

    def __post_init__(self) -> None:
        check_finite(self, "counts")
        say = "put inf for a box that was not measured"
        check_variances(self, [self.variances], name="variances", say=say, inf=True)
        # Answers are sums over leaves.
        say = "measure each box that has no children"
        check_variances(self, [self.variances[self.leaves]], name="variances", say=say)

    @classmethod
    def of(
        cls,
        domain: Domain,
        view: View,
        tree: Tree,
        boxes: Integers,
        values: Floats,
        variances: Floats,
        *,
        nonnegative: bool,
        least_rows: float | None = None,
    ) -> "BoxSynopsis":
        """The least-squares estimate from measurements of the boxes; see `Tree.least_squares`.

        Parameters
        ----------
        domain, view, boxes
            See the attributes. The number of rows of the domain and its rules are used as exact
            measurements.
        tree
            The parents of the boxes.
        values, variances
            The measurement of each box and the variance of its noise, shape (boxes,).
        nonnegative
            Whether negative counts are removed.
        least_rows
            Boxes below a box with an estimate of fewer rows are left out; None keeps all.
        """
        values = values.copy()
        variances = variances.copy()
        if domain.rows is not None:
            values[0] = domain.rows
            variances[0] = 0.0
        if domain.zeros is not None:
            # A leaf without possible cells is known to be empty.
            leaf = box_of_cells(boxes[tree.leaves], domain.shape(view))
            possible = np.bincount(leaf.ravel(), domain.possible(view).ravel())
            empty = tree.leaves[possible == 0]
            values[empty] = 0.0
            variances[empty] = 0.0
        if least_rows is not None:
            tree, kept, values, variances = _pruned(tree, values, variances, least_rows)
            boxes = boxes[kept]
        counts = tree.least_squares(
            values,
            variances,
            nonnegative=nonnegative,
        )
        return cls(
            domain=domain,
            view=view,
            boxes=boxes,
            parents=tree.parents,
            counts=counts,
            variances=variances,
        )

    @property
    def leaves(self) -> Integers:
        """The places of the boxes without children, in ascending order."""
        return self._tree.leaves

    def _marginals(self, workload: Iterable[Iterable[str]]) -> list[Marginal]:
        """See `Synopsis.marginals`.

        Raises
        ------
        DomainError
            Also when a view has an attribute that the boxes do not have.
        """
        answers = []
        for view in Workload.of(self.domain, workload):
            unknown = [name for name in view if name not in self.view]
            if unknown:
                raise DomainError(
                    f"a view must have attributes of the boxes, which are {', '.join(self.view)}, "
                    f"but it has {unknown[0]!r}; leave it out, or release with a mechanism that "
                    "answers any marginal"
                )
            axes = tuple(self.view.index(name) for name in view)
            kept = tuple(sorted(axes))
            dropped = tuple(axis for axis in range(len(self.view)) if axis not in axes)
            counts = self._table.sum(axis=dropped)
            # The cell of the marginal of each cell of the table.
            cells = np.arange(counts.size).reshape(counts.shape)
            spread = np.broadcast_to(np.expand_dims(cells, dropped), self._table.shape)
            order = tuple(kept.index(axis) for axis in axes)
            noise, missed = self._variances(spread, counts.size)
            if missed is not None:
                missed = missed.reshape(counts.shape).transpose(order)
            answers.append(
                self._answered(
                    view,
                    counts.transpose(order),
                    noise.reshape(counts.shape).transpose(order),
                    missed=missed,
                )
            )
        return answers

    def _sums(self, chosen: Sequence[Chosen]) -> Sums:
        """The numbers of rows in products of codes, with the covariances of their noise.

        If a leaf lies in an answer only in part, what the even spread misses is not known.
        """
        weights = np.stack([self._weights(codes) for codes in chosen])
        count = len(chosen)
        noise = np.diag([self._noise(one) for one in weights])
        for row, column in itertools.combinations(range(count), 2):
            # The variance of a sum of two is the sum of theirs, and twice the covariance.
            both = self._noise(weights[row] + weights[column])
            covariance = (both - noise[row, row] - noise[column, column]) / 2
            noise[row, column] = covariance
            noise[column, row] = covariance
        spread = ~_are_whole(weights).all(axis=1)
        return Sums(
            estimates=weights @ self.counts[self.leaves],
            noise=noise,
            missed=np.where(np.logical_or.outer(spread, spread), math.nan, 0.0),
            reconstructed=bool(spread.any()),
        )

    def _weights(self, codes: Chosen) -> Floats:
        """The share of the rows of each leaf that have some codes, shape (leaves,)."""
        for name in codes:
            if name not in self.view:
                raise DomainError(
                    f"a count must be about the attributes {', '.join(self.view)}, but it is about "
                    f"{name!r}; leave it out, or release this attribute too"
                )
        every = [codes.get(name, tuple(range(self.domain[name].size))) for name in self.view]
        inside = np.ix_(*every)
        shares = self._shares[inside].ravel()
        leaves = self._leaf[inside].ravel()
        return np.bincount(leaves, shares, len(self.leaves)).astype(np.float64)

    def _noise(self, weights: Floats) -> float:
        """The noise variance of a weighted sum of the leaves."""
        used = np.flatnonzero(weights)
        answer = np.zeros_like(used)
        variance = self._tree.variance_of(self.variances, self.leaves[used], answer, weights[used])
        return float(variance.sum())

    def summary(self) -> dict[str, str]:
        """See `Synopsis.summary`."""
        return {
            "boxes": f"{len(self.leaves):,} leaves over {', '.join(self.view)}, "
            f"{len(self._tree.levels)} levels",
            **negative_left([self.counts]),
        }

    def pack(self) -> Packed:
        """See `Synopsis.pack`."""
        # Files hold finite numbers only: -1 stands for a box that was not measured.
        finite = np.isfinite(self.variances)
        arrays: dict[str, NDArray[np.generic]] = {
            "boxes": self.boxes.reshape(len(self.boxes), -1),
            "parents": self.parents,
            "counts": self.counts,
            "variances": np.where(finite, self.variances, -1.0),
        }
        return Packed({"view": list(self.view), "number": len(self.boxes)}, arrays)

    @classmethod
    def room(
        cls,
        fields: Mapping[str, Any],
        *,
        domain: Domain,
    ) -> Mapping[str, int]:
        """See `Synopsis.room`."""
        number = int(fields["number"])
        view = domain.view(fields["view"])
        # No level has more boxes than there are cells, and a path halves an attribute or stays.
        levels = 2 + sum(size.bit_length() for size in domain.shape(view))
        number = min(number, levels * domain.cells(view))
        sizes = dict.fromkeys(["parents", "counts", "variances"], number)
        return {"boxes": 2 * len(view) * number, **sizes}

    @classmethod
    def unpack(
        cls,
        packed: Packed,
        *,
        domain: Domain,
        provenance: Provenance,
    ) -> Self:
        """See `Synopsis.unpack`."""
        view = domain.view(packed.fields["view"])
        number = int(packed.fields["number"])
        boxes = _array(packed.arrays["boxes"], np.int64, (number, 2 * len(view)))
        variances = _array(packed.arrays["variances"], np.float64, (number,))
        synopsis = cls(
            domain=domain,
            provenance=provenance,
            view=view,
            boxes=boxes.reshape(number, len(view), 2),
            parents=_array(packed.arrays["parents"], np.int64, (number,)),
            counts=_array(packed.arrays["counts"], np.float64, (number,)),
            variances=np.where(variances < 0, math.inf, variances),
        )
        leaves = synopsis.leaves
        is_measured = bool((variances[leaves] >= 0).all())
        if not is_measured or not _divides(synopsis.boxes[leaves], domain.shape(view)):
            raise ValueError("unexpected array")
        return synopsis

    @cached_property
    def _tree(self) -> Tree:
        return Tree(self.parents)

    @cached_property
    def _leaf(self) -> Integers:
        """The place among the leaves of the leaf of each cell, array of the shape of the view."""
        return box_of_cells(self.boxes[self.leaves], self.domain.shape(self.view))

    @cached_property
    def _shares(self) -> Floats:
        """The share of each cell in the count of its leaf, array of the shape of the view."""
        possible = np.ones(self._leaf.shape)
        if self.domain.zeros is not None:
            possible = self.domain.possible(self.view).astype(np.float64)
        cells = np.bincount(self._leaf.ravel(), possible.ravel())
        return possible / np.maximum(cells, 1.0)[self._leaf]

    @cached_property
    def _table(self) -> Floats:
        """The estimated count of each cell, array of the shape of the view."""
        return np.asarray(self._shares * self.counts[self.leaves][self._leaf])

    def _variances(self, answer: Integers, number: int) -> tuple[Floats, Floats | None]:
        """The variances of answers that are sums of cells: of the noise, and of what is missed,
        each of shape (number,).

        What is missed is not known where a leaf lies in an answer only in part, and zero elsewhere.
        It is None if it is zero in all answers.

        Parameters
        ----------
        answer
            The answer to which each cell of the table belongs, array of its shape.
        number
            The number of answers.
        """
        # The weight of a leaf in an answer is the share of its rows that the answer holds.
        pairs, place = np.unique(
            self._leaf.ravel() * number + answer.ravel(),
            return_inverse=True,
        )
        weights = np.bincount(place, self._shares.ravel()).astype(np.float64)
        noise = self._tree.variance_of(
            self.variances,
            self.leaves[pairs // number],
            pairs % number,
            weights,
        )
        in_part = pairs[~_are_whole(weights)] % number
        if not in_part.size:
            return noise, None
        missed = np.zeros(number)
        missed[in_part] = math.nan
        return noise, missed


def _are_whole(weights: Floats) -> NDArray[np.bool_]:
    """Whether all rows of a leaf are in an answer, or none."""
    whole: NDArray[np.bool_] = np.isclose(weights, 0) | np.isclose(weights, 1)
    return whole


def box_of_cells(boxes: Integers, shape: tuple[int, ...]) -> Integers:
    """The place of the box of each cell.

    Parameters
    ----------
    boxes
        Boxes that divide the cells: for each box and each attribute the first code, and one more
        than the last, shape (boxes, attributes, 2).
    shape
        The numbers of codes of the attributes.

    Returns
    -------
    numpy.ndarray
        Array of the given shape.

    Examples
    --------
    >>> box_of_cells(np.array([[[0, 1], [0, 2]], [[1, 2], [0, 2]]]), (2, 2)).tolist()
    [[0, 0], [1, 1]]
    """
    widths = boxes[:, :, 1] - boxes[:, :, 0]
    cells = widths.prod(axis=1)
    box = np.repeat(np.arange(len(boxes)), cells)
    # The number of each cell within its box, then its code of each attribute.
    rest = np.arange(len(box)) - np.repeat(np.cumsum(cells) - cells, cells)
    place = np.zeros(len(box), np.int64)
    step = 1
    for axis in reversed(range(len(shape))):
        code = rest % widths[box, axis] + boxes[box, axis, 0]
        rest //= widths[box, axis]
        place += step * code
        step *= shape[axis]
    found = np.full(math.prod(shape), -1)
    found[place] = box
    return found.reshape(shape)


def _divides(boxes: Integers, shape: tuple[int, ...]) -> bool:
    """True if boxes divide all cells: each cell is in one of them."""
    first = boxes[:, :, 0]
    end = boxes[:, :, 1]
    if (first < 0).any() or (first >= end).any() or (end > np.array(shape)).any():
        return False
    cells = (end - first).astype(np.float64).prod(axis=1).sum()
    return bool(cells == math.prod(shape) and box_of_cells(boxes, shape).min() >= 0)


def _pruned(
    tree: Tree,
    values: Floats,
    variances: Floats,
    least: float,
) -> tuple[Tree, Integers, Floats, Floats]:
    """The tree without the nodes below nodes with estimates under `least`: the tree, the places of
    the nodes that are kept, their measurements and variances.

    A node whose children are left out keeps what they say about it: its measurement becomes the
    estimate from all measurements at and below it. So the estimates of the kept nodes stay.
    """
    fitted = tree.least_squares(values, variances)
    below = tree.below(values, variances)
    smaller, kept = tree.above(fitted >= least)
    ends = kept[smaller.leaves]
    values = values.copy()
    variances = variances.copy()
    values[ends] = below.values[ends]
    variances[ends] = below.variances[ends]
    return smaller, kept, values[kept], variances[kept]


def _array(
    array: NDArray[np.generic],
    kind: type[np.generic],
    shape: tuple[int, ...],
) -> NDArray[Any]:
    if array.dtype != kind or array.shape != shape:
        raise ValueError("unexpected array")
    return array
