"""Many reconstruction problems of one shape, packed in arrays, and their solutions."""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import overload

import numpy as np
from numpy.typing import NDArray

from ..basis import transform
from ..status import Status
from ..tables.moments import known_moments, require_small
from ..tables.tables import Axes, Tables
from ..types import Floats, Integers
from .problem import Problem, Solution


@dataclass(
    frozen=True,
    kw_only=True,
)
class Batch:
    """Many problems of one shape, whose arrays are concatenated.

    Parameters
    ----------
    shape
        The sizes of the axes of every table.
    offsets
        Problem i has the entries ``offsets[i]:offsets[i + 1]`` of the next three arrays. Shape
        (n + 1,) for n problems.
    index, target, variance
        The known coefficients of all problems, their moments and error variances; see `Problem`.
    total, total_variance
        The sums of the tables' cells and their error variances, shape (n,).
    zeros
        Whether each cell must be zero, shape (n, cells); None if no cell must.
    base
        The distributions relative to which `Newton` measures entropy, shape (n, cells); None for
        the uniform ones. See `Problem`.
    ridge
        The tolerances of the moments of all problems, as `index`; None leaves them to the solver.

    Raises
    ------
    ValueError
        If the arrays do not fit each other or the shape, or a number is not finite or out of range.
    """

    shape: tuple[int, ...]
    offsets: Integers
    index: Integers
    target: Floats
    variance: Floats
    total: Floats
    total_variance: Floats
    zeros: NDArray[np.bool_] | None = None
    base: Floats | None = None
    ridge: Floats | None = None

    def __post_init__(self) -> None:
        require_small(self.shape)
        self._check_lengths()
        self._check_index()
        if not np.isfinite(self.target).all():
            raise ValueError("target must be finite, but one of its entries is not; correct it")
        if not (np.isfinite(self.variance).all() and (self.variance >= 0).all()):
            raise ValueError(
                "variance must be finite and >= 0, but one of its entries is not; correct it"
            )
        if not (np.isfinite(self.total).all() and (self.total > 0).all()):
            raise ValueError(
                "total must be positive and finite, but one of its entries is not; correct it"
            )
        if not (np.isfinite(self.total_variance).all() and (self.total_variance >= 0).all()):
            raise ValueError(
                "total_variance must be finite and >= 0, but one of its entries is not; correct it"
            )
        if self.zeros is not None:
            shape = (len(self.total), self.cells)
            if self.zeros.shape != shape or self.zeros.dtype != np.bool_:
                raise ValueError(
                    f"zeros must hold truth values with shape {shape}, one for each cell of each "
                    f"problem, but it has shape {self.zeros.shape} and type {self.zeros.dtype}; "
                    "convert it"
                )
            if self.zeros.all(axis=1).any():
                raise ValueError(
                    "zeros must leave at least one cell of each problem that may be positive, but "
                    "it marks every cell of one; unmark a cell"
                )
        if self.base is not None:
            shape = (len(self.total), self.cells)
            if self.base.shape != shape or not (self.base[self._may_be_positive] > 0).all():
                raise ValueError(
                    f"base must hold numbers of shape {shape}, positive where a cell need not be "
                    "zero, but it does not; add a small share to each cell"
                )

    def _check_lengths(self) -> None:
        """Refuse arrays whose lengths do not fit each other."""
        entries = len(self.index)
        count = len(self.total)
        if not len(self.target) == len(self.variance) == entries:
            raise ValueError(
                "index, target and variance must have the same length, but their lengths are "
                f"{entries}, {len(self.target)} and {len(self.variance)}; give one entry of each "
                "for each known coefficient"
            )
        if len(self.total_variance) != count:
            raise ValueError(
                "total and total_variance must have the same length, but their lengths are "
                f"{count} and {len(self.total_variance)}; give one of each for each problem"
            )
        if len(self.offsets) != count + 1 or self.offsets[0] != 0 or self.offsets[-1] != entries:
            raise ValueError(
                f"offsets must have {count + 1} entries, one more than there are problems, the "
                f"first 0 and the last {entries}, the length of index, but it has "
                f"{len(self.offsets)} entries, the first {self.offsets[:1]} and the last "
                f"{self.offsets[-1:]}; correct it"
            )
        if (np.diff(self.offsets) < 0).any():
            raise ValueError(
                "offsets must not fall, but an entry is smaller than the one before; sort the "
                "problems and their coefficients"
            )

        if self.ridge is not None and not (len(self.ridge) == entries and (self.ridge > 0).all()):
            raise ValueError(
                f"ridge must hold {entries} positive numbers, one for each entry of index, but it "
                "does not; correct it"
            )

    def _check_index(self) -> None:
        """Refuse positions that do not exist or do not ascend."""
        entries = len(self.index)
        if entries and not (self.index.min() >= 1 and self.index.max() < self.cells):
            raise ValueError(
                f"index must lie between 1 and {self.cells - 1}, one less than the number of "
                f"cells, but it goes from {self.index.min()} to {self.index.max()}; remove other "
                "positions"
            )
        starts = np.zeros(entries + 1, dtype=np.bool_)
        starts[self.offsets] = True
        if ((np.diff(self.index) <= 0) & ~starts[1:-1]).any():
            raise ValueError(
                "index must be ascending within each problem, but an entry is not larger than the "
                "one before; sort each problem's entries and give each position once"
            )

    @classmethod
    def of(
        cls,
        tables: Tables,
        axes: Sequence[Axes] | Integers,
    ) -> "Batch":
        """Make the problems of many marginals, from consistent tables of positive total.

        Parameters
        ----------
        tables
            The tables.
        axes
            The axes of each marginal, ascending, shape (n, k).

        Raises
        ------
        ValueError
            See `known_moments`.
        """
        known = known_moments(tables, axes)
        return cls(
            shape=known.shape,
            offsets=np.concatenate([[0], np.cumsum(known.counts)]),
            index=known.index,
            target=known.target,
            variance=known.variance,
            total=np.full(len(known.counts), tables.total),
            total_variance=known.total_variance,
            zeros=known.zeros,
        )

    @classmethod
    def pack(cls, problems: Sequence[Problem]) -> "Batch":
        """Join problems of one shape to a batch; ValueError if their shapes differ."""
        shapes = {problem.shape for problem in problems}
        if len(shapes) != 1:
            raise ValueError(
                "a batch needs one or more problems, all of the same shape, but it got "
                f"{len(problems)} problems of {len(shapes)} shapes; make one batch for each shape"
            )
        counts = [len(problem.index) for problem in problems]
        return cls(
            shape=problems[0].shape,
            offsets=np.concatenate([[0], np.cumsum(counts)]),
            index=np.concatenate([problem.index for problem in problems]),
            target=np.concatenate([problem.target for problem in problems]),
            variance=np.concatenate([problem.variance for problem in problems]),
            total=np.array([problem.total for problem in problems]),
            total_variance=np.array([problem.total_variance for problem in problems]),
            zeros=_stacked(problems),
            base=_bases(problems),
            ridge=_ridges(problems),
        )

    def __len__(self) -> int:
        return len(self.total)

    def __getitem__(self, row: int) -> Problem:
        if not 0 <= row < len(self):
            raise IndexError(
                f"row must be from 0 to {len(self) - 1} in this batch of problems, but it is "
                f"{row}; choose such a row"
            )
        own = slice(self.offsets[row], self.offsets[row + 1])
        zeros = None
        if self.zeros is not None and self.zeros[row].any():
            zeros = self.zeros[row]
        return Problem(
            shape=self.shape,
            index=self.index[own],
            target=self.target[own],
            variance=self.variance[own],
            total=float(self.total[row]),
            total_variance=float(self.total_variance[row]),
            zeros=zeros,
            base=None if self.base is None else self.base[row],
            ridge=None if self.ridge is None else self.ridge[own],
        )

    def __iter__(self) -> Iterator[Problem]:
        return (self[row] for row in range(len(self)))

    @cached_property
    def order(self) -> Integers:
        """The number of axes of each known coefficient, shape (entries,)."""
        return transform(self.shape).order[self.index]

    @cached_property
    def cells(self) -> int:
        """The number of cells of each table."""
        return math.prod(self.shape)

    @property
    def log_base(self) -> Floats:
        """The logarithms of the normalised bases, shape (n, cells).

        They are zero in cells that must be zero. There are no rows if the bases are uniform.
        """
        if self.base is None:
            return np.zeros((0, 0))
        positive = np.where(self._may_be_positive, self.base, 0.0)
        shares = positive / positive.sum(axis=1, keepdims=True)
        return np.asarray(np.log(np.where(self._may_be_positive, shares, 1.0)))

    @property
    def _may_be_positive(self) -> NDArray[np.bool_]:
        """Whether each cell may be positive, shape (n, cells)."""
        if self.zeros is None:
            return np.ones((len(self), self.cells), np.bool_)
        return ~self.zeros

    @property
    def possible(self) -> Integers:
        """The number of cells of each table that need not be zero, shape (n,)."""
        count = np.full(len(self), self.cells)
        return count if self.zeros is None else count - self.zeros.sum(axis=1)


def _stacked(problems: Sequence[Problem]) -> NDArray[np.bool_] | None:
    """The zeros of problems of one shape; None if no problem has any."""
    if all(problem.zeros is None for problem in problems):
        return None
    rows = []
    for problem in problems:
        none = np.zeros(problem.cells, np.bool_)
        rows.append(none if problem.zeros is None else problem.zeros)
    return np.stack(rows)


def _bases(problems: Sequence[Problem]) -> Floats | None:
    """The bases of problems of one shape; None if no problem has any."""
    if all(problem.base is None for problem in problems):
        return None
    return np.stack([problem.reference for problem in problems])


def _ridges(problems: Sequence[Problem]) -> Floats | None:
    """The ridges of problems, one after another; None unless all problems have them."""
    given = [problem.ridge for problem in problems if problem.ridge is not None]
    return np.concatenate(given) if len(given) == len(problems) else None


_ORDER = list(Status)
_GOOD = np.array([status.ok for status in _ORDER])


@dataclass(
    frozen=True,
    kw_only=True,
)
class Solutions:
    """The solutions of the n problems of a batch.

    Each attribute is as in `Solution`, with a first axis of length n; `bound` and `detail` are
    left out. The exceptions:

    Attributes
    ----------
    statuses
        How each solve ended, shape (n,), as positions in ``list(Status)``.
    seconds
        Process time of the whole batch.
    """

    table: Floats
    statuses: NDArray[np.int8]
    objective: Floats
    residual: Floats
    iterations: Integers
    seconds: float
    relaxation: Floats
    variance: Floats | None = None
    undetermined: Floats | None = None

    def __len__(self) -> int:
        return len(self.table)

    def __getitem__(self, row: int) -> Solution:
        return Solution(
            table=self.table[row],
            status=_ORDER[self.statuses[row]],
            objective=float(self.objective[row]),
            residual=float(self.residual[row]),
            iterations=int(self.iterations[row]),
            seconds=self.seconds / len(self),
            relaxation=float(self.relaxation[row]),
            variance=None if self.variance is None else self.variance[row],
            undetermined=None if self.undetermined is None else self.undetermined[row],
        )

    def __iter__(self) -> Iterator[Solution]:
        return (self[row] for row in range(len(self)))

    @property
    def status(self) -> Status:
        """The worst status among all solutions, in the order of `Status`."""
        return _ORDER[int(self.statuses.max())]

    @property
    def failures(self) -> list[int]:
        """The positions of the problems that were not solved."""
        return np.flatnonzero(~_GOOD[self.statuses]).tolist()

    @classmethod
    def stack(cls, solutions: Sequence[Solution]) -> "Solutions":
        """Join the solutions of problems of one shape."""
        statuses = [_ORDER.index(solution.status) for solution in solutions]
        return cls(
            table=np.stack([solution.table for solution in solutions]),
            statuses=np.array(statuses, dtype=np.int8),
            objective=np.array([solution.objective for solution in solutions]),
            residual=np.array([solution.residual for solution in solutions]),
            iterations=np.array([solution.iterations for solution in solutions]),
            seconds=sum(solution.seconds for solution in solutions),
            relaxation=np.array([solution.relaxation for solution in solutions]),
            variance=_all_of([solution.variance for solution in solutions]),
            undetermined=_all_of([solution.undetermined for solution in solutions]),
        )


def _all_of(tables: Sequence[Floats | None]) -> Floats | None:
    """Tables of one shape as one array; None if a table is missing."""
    present = [table for table in tables if table is not None]
    return np.stack(present) if len(present) == len(tables) else None


class OneByOne(ABC):
    """Base class of solvers that answer one `Problem`; `solve` then takes a `Batch`, too."""

    @abstractmethod
    def answer(self, problem: Problem) -> Solution:
        """Solve one problem; each solver defines this method."""

    @overload
    def solve(self, problem: Problem) -> Solution: ...
    @overload
    def solve(self, problem: Batch) -> Solutions: ...
    def solve(self, problem: Problem | Batch) -> Solution | Solutions:
        """Solve one problem, or all problems of a batch, one after another."""
        if isinstance(problem, Batch):
            return Solutions.stack([self.answer(one) for one in problem])
        return self.answer(problem)
