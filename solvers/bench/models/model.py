"""`Model`: a programme as arrays, which every family of instances can be written as."""

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from ...types import Flags, Floats, Integers

__all__ = ["Model"]


@dataclass(
    frozen=True,
    kw_only=True,
    eq=False,
)
class Model:
    """A linear, quadratic, integer or exponential-cone programme over n columns x.

    Minimise ``offset + cost . x + sum_i square_i x_i ** 2 / 2`` subject to

    - ``lower <= matrix x <= upper``, r rows;
    - ``least <= x <= most``, and x_i is an integer if ``whole[i]``;
    - each three successive entries (a, b, c) of ``cone x + shift`` lie in the exponential cone, the
      closure of { b > 0, b exp(a / b) <= c }.

    A model always minimises. A family whose problems maximise writes the negative of their
    objective.

    Parameters
    ----------
    cost
        The linear part of the objective, shape (n,).
    square
        The diagonal of the quadratic part, >= 0, shape (n,); zero if it is left out.
    offset
        The constant of the objective.
    matrix
        The rows, a sparse array of shape (r, n).
    lower, upper
        The bounds of the rows, shape (r,); infinite for no bound.
    least, most
        The bounds of the columns, shape (n,); 0 and infinity if they are left out.
    whole
        Which columns are integers, shape (n,); none if it is left out.
    cone, shift
        The rows of the exponential cones, a sparse array of shape (3 k, n), and their constants,
        shape (3 k,); no cone if they are left out.

    Raises
    ------
    ValueError
        If the shapes do not fit, or an entry of `square` is negative.

    Examples
    --------
    Minimise x + y subject to x + 2 y >= 2 and x, y >= 0:

    >>> model = Model(cost=[1, 1], matrix=[[1, 2]], lower=[2], upper=[np.inf])
    >>> model.objective([0, 1]), model.violation([0, 0.5])
    (1.0, 1.0)
    >>> model
    Model(rows=1, columns=2, integers=0, squares=0, cones=0)
    """

    cost: Any
    matrix: Any
    lower: Any
    upper: Any
    square: Any = None
    offset: float = 0.0
    least: Any = 0.0
    most: Any = np.inf
    whole: Any = False
    cone: Any = None
    shift: Any = field(default_factory=lambda: np.zeros(0))

    def __post_init__(self) -> None:
        columns = np.size(self.cost)
        self._set("cost", _vector(self.cost, columns, np.float64))
        square = 0.0 if self.square is None else self.square
        self._set("square", _vector(square, columns, np.float64))
        self._set("offset", float(self.offset))
        self._set("matrix", _rows(self.matrix, columns))
        rows = self.matrix.shape[0]
        self._set("lower", _vector(self.lower, rows, np.float64))
        self._set("upper", _vector(self.upper, rows, np.float64))
        self._set("least", _vector(self.least, columns, np.float64))
        self._set("most", _vector(self.most, columns, np.float64))
        self._set("whole", _vector(self.whole, columns, np.bool_))
        cone = sparse.csr_array((0, columns)) if self.cone is None else self.cone
        self._set("cone", _rows(cone, columns))
        self._set("shift", _vector(self.shift, self.cone.shape[0], np.float64))
        if self.cone.shape[0] % 3:
            raise ValueError(
                "cone must have three rows for each exponential cone, but it has "
                f"{self.cone.shape[0]} rows; add or remove rows"
            )
        if (self.square < 0).any():
            raise ValueError(
                "square must be >= 0, so that the programme is convex, but an entry is negative; "
                "correct it"
            )

    def _set(self, name: str, value: Any) -> None:
        """Set a field of this frozen record."""
        object.__setattr__(self, name, value)

    def __repr__(self) -> str:
        squares = int((self.square > 0).sum())
        return (
            f"Model(rows={self.rows}, columns={self.columns}, integers={int(self.whole.sum())}, "
            f"squares={squares}, cones={self.cones})"
        )

    @property
    def columns(self) -> int:
        """The number of columns, n."""
        return len(self.cost)

    @property
    def rows(self) -> int:
        """The number of rows, r."""
        return int(self.matrix.shape[0])

    @property
    def cones(self) -> int:
        """The number of exponential cones, k."""
        return int(self.cone.shape[0]) // 3

    @property
    def linear(self) -> bool:
        """Whether there is no quadratic part and no cone."""
        return not self.cones and not self.quadratic

    @property
    def quadratic(self) -> bool:
        """Whether there is a quadratic part."""
        return bool(self.square.any())

    @property
    def integral(self) -> bool:
        """Whether some column is an integer."""
        return bool(self.whole.any())

    def objective(self, point: ArrayLike) -> float:
        """The value of the objective at a point of shape (n,)."""
        x = np.asarray(point, np.float64)
        return float(self.offset + self.cost @ x + 0.5 * self.square @ x**2)

    def violation(self, point: ArrayLike) -> float:
        """The largest amount by which a point of shape (n,) breaks a constraint; 0 if it is none.

        For an exponential cone it is b exp(a / b) - c, or the negative part of b.
        """
        x = np.asarray(point, np.float64)
        activity = self.matrix @ x
        parts = [
            self.lower - activity,
            activity - self.upper,
            self.least - x,
            x - self.most,
            np.abs(x - np.round(x))[self.whole],
            _cone_violation(self.cone @ x + self.shift),
        ]
        return float(np.concatenate(parts).max(initial=0.0))

    def lower_bound(self, dual: ArrayLike, *, box: ArrayLike = np.inf) -> float:
        """A lower bound on the objective of every feasible point, from multipliers of the rows.

        This is the Lagrangian bound: rows are replaced by their multipliers times what they miss,
        and each column is then minimised by itself. It holds for any multipliers, up to rounding,
        and equals the optimum for the best ones if no column is an integer.

        A cone must state a term of an entropy, t >= y log(y / s), over two columns t and y that no
        other cone has. They are minimised together: for the slopes v > 0 of t and u of y, the least
        of u y + v y log(y / s) is -v s exp(-u / v - 1).

        Parameters
        ----------
        dual
            The multipliers, finite, shape (rows,); `Ended.dual` says which sign they have.
        box
            Bounds on the absolute values of the columns that every feasible point meets, shape
            (columns,) or one number. They help where a column has no bound of its own.

        Returns
        -------
        bound
            Minus infinity if the multipliers prove nothing: a column without a bound could then
            lower the objective for ever. Multipliers with the opposite signs often do this.

        Raises
        ------
        ValueError
            If a cone is of another kind, or a vector has another shape or is not of numbers.
        """
        terms, cells, scales = self._entropies()
        y = np.asarray(dual, np.float64)
        if y.shape != (self.rows,) or not np.isfinite(y).all():
            raise ValueError(
                f"dual must hold {self.rows} finite numbers, one for each row of the matrix, but "
                f"it has shape {y.shape} or an entry that is not finite; pass the multipliers that "
                "a solver returned"
            )
        width = np.asarray(_vector(box, self.columns, np.float64), np.float64)
        # A multiplier of the wrong sign for a row with one bound says nothing: it becomes zero.
        y = np.where((y > 0) & np.isinf(self.lower), 0.0, y)
        y = np.where((y < 0) & np.isinf(self.upper), 0.0, y)
        sides = np.where(y > 0, self.lower, np.where(y < 0, self.upper, 0.0))
        least = np.maximum(self.least, -width)
        most = np.minimum(self.most, width)
        slope = self.cost - self.matrix.T @ y
        entropies = _least_entropies(slope[terms], slope[cells], scales)
        slope[terms] = slope[cells] = 0.0
        # The best value of a column is where its slope is zero, or at a bound.
        with np.errstate(divide="ignore", invalid="ignore"):
            inner = np.where(self.square > 0, -slope / self.square, -np.inf * slope)
        inner = np.where(slope == 0, 0.0, inner)
        x = np.clip(inner, least, most)
        moved = slope != 0
        curved = self.square > 0
        straight = slope[moved] * x[moved]
        squares = 0.5 * self.square[curved] * x[curved] ** 2
        return math.fsum([self.offset, *(y * sides), *straight, *squares, *entropies])

    def _entropies(self) -> tuple[Integers, Integers, Floats]:
        """The columns t and y and the number s >= 0 of each cone (-t, y, s), which says that
        t >= y log(y / s); ValueError if a cone is of another kind."""
        counts = np.diff(self.cone.indptr).reshape(-1, 3)
        is_plain = bool((counts == [1, 1, 0]).all())
        if is_plain:
            terms, cells = self.cone.indices.reshape(-1, 2).T
            values = self.cone.data.reshape(-1, 2)
            shifts = self.shift.reshape(-1, 3)
            own = np.concatenate([terms, cells])
            is_plain = (
                bool((values == [-1, 1]).all())
                and bool((shifts[:, :2] == 0).all() and (shifts[:, 2] >= 0).all())
                and len(np.unique(own)) == len(own)
                and not self.square[own].any()
            )
        if not is_plain:
            raise ValueError(
                "each exponential cone must state t >= y log(y / s), over columns of its own, for "
                "lower_bound, but one is of another kind; take a model of the bench"
            )
        return terms, cells, shifts[:, 2]


def _least_entropies(term: Floats, cell: Floats, scale: Floats) -> Floats:
    """The least of term t + cell y subject to t >= y log(y / scale), for each entry."""
    rises = term > 0
    # Without a slope of t there is no least, unless both slopes are zero.
    flat = np.where((term == 0) & (cell >= 0), 0.0, -np.inf)
    v = np.where(rises, term, 1.0)
    with np.errstate(over="ignore"):
        return np.where(rises, -v * scale * np.exp(-cell / v - 1), flat)


def _cone_violation(entries: Floats) -> Floats:
    """How far each cone's three entries (a, b, c) break b exp(a / b) <= c and b >= 0."""
    a, b, c = entries.reshape(-1, 3).T
    inner = np.where(b > 0, b, 1.0)
    with np.errstate(over="ignore"):
        reached = np.where(b > 0, inner * np.exp(a / inner), np.maximum(a, 0.0))
    return np.concatenate([reached - c, -b])


def _vector(values: Any, length: int, kind: Any) -> Floats | Flags:
    """Values as a vector of this length, from one number or from as many numbers."""
    array = np.asarray(values, kind)
    if array.ndim and array.shape != (length,):
        raise ValueError(
            f"a vector of a model must have {length} entries, but it has shape {array.shape}; give "
            "one entry for each column, or for each row"
        )
    return np.array(np.broadcast_to(array, (length,)))


def _rows(matrix: Any, columns: int) -> sparse.csr_array:
    """A matrix as sparse rows in their usual order: no repeated entry, columns ascending."""
    made = sparse.csr_array(matrix, dtype=np.float64)
    if made.shape[1] != columns:
        raise ValueError(
            f"a matrix of a model must have {columns} columns, one for each entry of cost, but it "
            f"has {made.shape[1]}; correct it"
        )
    made.sum_duplicates()
    made.eliminate_zeros()
    made.sort_indices()
    return made
