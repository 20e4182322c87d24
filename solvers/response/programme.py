"""`Programme`: a `BestResponse` as arrays of a mixed integer linear programme, the same for every
back-end."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..types import Flags, Floats, Integers
from .integer import BestResponse, Record
from .presolve import Reduced, compress


@dataclass(frozen=True, kw_only=True, eq=False)
class Programme:
    """Maximise offset + cost . y with lower <= matrix y <= upper, 0 <= y <= top, and y whole where
    `whole`.

    All numbers are integers, kept as floats where solvers want them so. The first columns are the
    attributes': of a binary one [its class is 1], of others one column for each class, which sum to
    one. Then each term that is not a single literal has a column c:

    - a conjunction of positive weight w: c <= l for each literal l, cost w;
    - one of negative weight: n <= sum of (1 - l), cost -w, offset w; n says that it does not hold;
    - a parity: sum of l = 2 e + 1 - c with a whole e, cost w.

    c and n need not be whole: they are at the best. One row for each literal (Dual Query, section
    5.2, has one for each conjunction) makes the relaxation tight. Rows of the instance follow.

    Attributes
    ----------
    matrix
        Compressed rows, shape (rows, columns).
    lower, upper
        Of the rows, infinite where there is no bound.
    top, cost, whole
        Of the columns.
    reduced
        The compressed instance that the columns are for, and the way back.
    """

    matrix: sparse.csr_array
    lower: Floats
    upper: Floats
    top: Floats
    cost: Floats
    whole: Flags
    offset: int
    reduced: Reduced

    @classmethod
    def of(cls, instance: BestResponse) -> "Programme":
        return _Builder(compress(instance)).build()

    @property
    def columns(self) -> int:
        """The number of columns."""
        return len(self.cost)

    def record(
        self, instance: BestResponse, point: NDArray[np.floating] | None, rng: np.random.Generator
    ) -> Record | None:
        """The record of a point, shape (columns,) or longer; None for a point that is not one: not
        finite, or with a column of an attribute more than 0.001 from a whole number, or more or
        less than one class."""
        small = self.reduced.instance
        first, width = _columns(small.sizes)
        used = int(width.sum())
        if point is None or len(point) < used:
            return None
        values = np.asarray(point[:used], np.float64)
        if not np.isfinite(values).all() or (np.abs(values - np.round(values)) > 1e-3).any():
            return None
        chosen = np.round(values).astype(np.int64)
        if chosen.min(initial=0) < 0 or chosen.max(initial=0) > 1:
            return None
        owner = np.repeat(np.arange(len(width)), width)
        place = np.arange(used) - first[owner]
        binary = small.sizes == 2
        if (np.bincount(owner, chosen, minlength=len(width))[~binary] != 1).any():
            return None
        classes = np.bincount(
            owner, np.where(binary[owner], chosen, chosen * place), minlength=len(width)
        )
        return instance.fill(self.reduced.lift(classes.astype(np.int64), rng), rng)


def _columns(sizes: Integers) -> tuple[Integers, Integers]:
    """Where each attribute's columns begin, and how many it has."""
    width = np.where(sizes == 2, 1, sizes)
    return np.cumsum(width) - width, width


class _Builder:
    """The rows and columns, added family by family."""

    def __init__(self, reduced: Reduced) -> None:
        self.reduced = reduced
        self.instance = reduced.instance
        instance = self.instance
        self.first, width = _columns(instance.sizes)
        self.width = int(width.sum())
        self.entries: list[
            tuple[NDArray[np.integer], NDArray[np.integer], NDArray[np.integer]]
        ] = []
        self.lower: list[Floats] = []
        self.upper: list[Floats] = []
        self.rows = 0
        self.cost = [np.zeros(self.width)]
        self.offset = int(instance.constant)
        self.top = [np.ones(self.width)]
        self.whole = [np.ones(self.width, np.bool_)]
        self.column, self.sign, self.base = self._affine(
            instance.attribute, instance.value, instance.negated
        )

    def build(self) -> Programme:
        self._groups()
        lengths = np.diff(self.instance.offsets)
        weight = self.instance.weight
        parity = self.instance.parity
        self.offset += int(weight[lengths == 0].sum())
        self._single(lengths == 1)
        several = lengths > 1
        self._wanted(several & ~parity & (weight > 0))
        self._unwanted(several & ~parity & (weight < 0))
        self._parities(several & parity & (weight != 0))
        self._rows()
        rows, columns, values = (
            np.concatenate([entry[part] for entry in self.entries]) for part in range(3)
        )
        cost = np.concatenate(self.cost)
        matrix = sparse.csr_array(
            (values.astype(np.float64), (rows, columns)), shape=(self.rows, len(cost))
        )
        return Programme(
            matrix=matrix,
            lower=np.concatenate(self.lower),
            upper=np.concatenate(self.upper),
            top=np.concatenate(self.top),
            cost=cost,
            whole=np.concatenate(self.whole),
            offset=self.offset,
            reduced=self.reduced,
        )

    def _affine(
        self, attribute: Integers, value: Integers, negated: Flags
    ) -> tuple[Integers, Integers, Integers]:
        """[attribute has value], or has not, as base + sign x column."""
        binary = self.instance.sizes[attribute] == 2
        column = self.first[attribute] + np.where(binary, 0, value)
        turned = negated != (binary & (value == 0))
        return column, np.where(turned, -1, 1), turned.astype(np.int64)

    def _add(
        self,
        rows: Integers,
        columns: Integers,
        values: Integers,
        lower: NDArray[Any],
        upper: NDArray[Any],
    ) -> None:
        """Rows counted from zero, and their bounds."""
        self.entries.append((rows + self.rows, columns, values))
        self.lower.append(np.asarray(lower, np.float64))
        self.upper.append(np.asarray(upper, np.float64))
        self.rows += len(lower)

    def _new(self, cost: Integers, *, top: Integers | None = None, whole: bool = False) -> Integers:
        """New columns."""
        begin = sum(map(len, self.cost))
        self.cost.append(cost.astype(np.float64))
        self.top.append(np.ones(len(cost)) if top is None else top.astype(np.float64))
        self.whole.append(np.full(len(cost), whole))
        return begin + np.arange(len(cost))

    def _literals(self, terms: Flags) -> tuple[Integers, Integers]:
        """The literals of some terms, and each one's term counted from zero."""
        literals = np.flatnonzero(terms[self.instance.term])
        return literals, (np.cumsum(terms) - 1)[self.instance.term[literals]]

    def _groups(self) -> None:
        """Each attribute that is not binary has one class."""
        groups = np.flatnonzero(self.instance.sizes != 2)
        widths = self.instance.sizes[groups]
        rows = np.repeat(np.arange(len(groups)), widths)
        columns = (
            np.repeat(self.first[groups], widths)
            + np.arange(widths.sum())
            - (np.cumsum(widths) - widths)[rows]
        )
        one = np.ones(len(groups))
        self._add(rows, columns, np.ones(len(rows), np.int64), one, one)

    def _single(self, terms: Flags) -> None:
        """Terms of one literal are worth something by themselves; such a parity holds where the
        literal does not."""
        literals, _ = self._literals(terms)
        weight = self.instance.weight[terms]
        parity = self.instance.parity[terms]
        sign = np.where(parity, -self.sign[literals], self.sign[literals])
        base = np.where(parity, 1 - self.base[literals], self.base[literals])
        np.add.at(self.cost[0], self.column[literals], (sign * weight).astype(np.float64))
        self.offset += int((base * weight).sum())

    def _wanted(self, terms: Flags) -> None:
        columns = self._new(self.instance.weight[terms])
        literals, own = self._literals(terms)
        rows = np.arange(len(literals))
        self._add(
            np.concatenate([rows, rows]),
            np.concatenate([self.column[literals], columns[own]]),
            np.concatenate([self.sign[literals], np.full(len(literals), -1)]),
            -self.base[literals].astype(np.float64),
            np.full(len(literals), np.inf),
        )

    def _unwanted(self, terms: Flags) -> None:
        weight = self.instance.weight[terms]
        self.offset += int(weight.sum())
        columns = self._new(-weight)
        literals, own = self._literals(terms)
        rows = np.arange(len(columns))
        room = np.bincount(own, 1 - self.base[literals], minlength=len(columns))
        self._add(
            np.concatenate([own, rows]),
            np.concatenate([self.column[literals], columns]),
            np.concatenate([-self.sign[literals], np.full(len(columns), -1)]),
            -room,
            np.full(len(columns), np.inf),
        )

    def _parities(self, terms: Flags) -> None:
        columns = self._new(self.instance.weight[terms])
        literals, own = self._literals(terms)
        lengths = np.bincount(own, minlength=len(columns))
        halves = self._new(np.zeros(len(columns), np.int64), top=lengths // 2, whole=True)
        rows = np.arange(len(columns))
        right = 1.0 - np.bincount(own, self.base[literals], minlength=len(columns))
        self._add(
            np.concatenate([own, rows, rows]),
            np.concatenate([self.column[literals], columns, halves]),
            np.concatenate(
                [self.sign[literals], np.ones(len(rows), np.int64), np.full(len(rows), -2)]
            ),
            right,
            right,
        )

    def _rows(self) -> None:
        for row in self.instance.constraints:
            column, sign, base = self._affine(
                row.attribute, row.value, np.zeros(len(row.value), np.bool_)
            )
            shift = int((base * row.coefficient).sum())
            lower = -np.inf if row.lower is None else row.lower - shift
            upper = np.inf if row.upper is None else row.upper - shift
            self._add(
                np.zeros(len(column), np.int64),
                column,
                sign * row.coefficient,
                np.array([lower]),
                np.array([upper]),
            )
