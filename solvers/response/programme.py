"""A `BestResponse` as a mixed integer linear programme, in arrays that all back-ends can take."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from ..types import Flags, Floats, Integers
from .best_response import BestResponse, Record
from .presolve import Reduced, compress


@dataclass(
    frozen=True,
    kw_only=True,
    eq=False,
)
class Programme:
    """A mixed integer linear programme whose best points are the best records of an instance.

    Maximise offset + cost . y subject to lower <= matrix y <= upper and 0 <= y <= top, where y_i is
    an integer if `whole[i]`. All coefficients are integers; solvers need them as floats.

    The first columns belong to the attributes. A binary attribute has one column, which is its
    value. Any other attribute has one 0-1 column for each class, with sum one. So each literal l is
    a column or one minus a column. Then each term of weight w with several literals has a column:

    - a conjunction with w > 0: c <= l for each literal l, with cost w; as published, one row k c <=
      sum of l for its k literals;
    - a conjunction with w < 0: n <= sum of (1 - l), with cost -w, and w is added to the offset.
      n is 1 if the conjunction does not hold;
    - a parity: sum of l = 2 e + 1 - c with a further integer column e, and cost w for c.

    With a row for each literal the linear relaxation is tighter, and c and n need not be declared
    integers: they are integers at the optimum. The published programme (Dual Query, section 5.2)
    has one row for each conjunction and declares c and n integers. Both have the same best records.
    The rows of the instance's constraints come last.

    Attributes
    ----------
    matrix
        Compressed rows, shape (rows, columns).
    lower, upper
        The bounds of the rows, shape (rows,); infinite for no bound.
    top, cost, whole
        The upper bounds of the columns, their costs, and which are integers, shape (columns,).
    offset
        The constant of the objective.
    reduced
        The compressed instance to which the columns belong, and the map back.
    """

    matrix: "scipy.sparse.csr_array"
    lower: Floats
    upper: Floats
    top: Floats
    cost: Floats
    whole: Flags
    offset: int
    reduced: Reduced

    @classmethod
    def of(
        cls,
        instance: BestResponse,
        *,
        published: bool = False,
    ) -> "Programme":
        """The programme of an instance, after `compress`.

        With `published`, each conjunction has one row and a whole column.
        """
        return _Builder(compress(instance), published=published).build()

    @property
    def columns(self) -> int:
        """The number of columns."""
        return len(self.cost)

    def rounded(self, point: NDArray[np.floating]) -> Floats:
        """The columns of the attributes at a point, rounded to a record, shape (used columns,).

        A binary attribute has the value to which its column is nearer; any other attribute has the
        class with the largest column.
        """
        sizes = self.reduced.instance.sizes
        first, width = _columns(sizes)
        values = np.round(point[: int(width.sum())])
        for start, count in zip(first[sizes != 2], width[sizes != 2], strict=True):
            group = slice(start, start + count)
            largest = np.argmax(point[group])
            values[group] = np.arange(count) == largest
        return values

    def record(
        self,
        instance: BestResponse,
        point: NDArray[np.floating] | None,
        rng: np.random.Generator,
    ) -> Record | None:
        """Convert a point of the programme, shape (columns,), to a record of `instance`.

        Returns None if the point is no record: it is None, too short or not finite, a column of an
        attribute is more than 0.001 from an integer, or an attribute has no class or several.
        """
        small = self.reduced.instance
        first, width = _columns(small.sizes)
        used = int(width.sum())
        if point is None or len(point) < used:
            return None
        values = np.asarray(point[:used], np.float64)
        if not np.isfinite(values).all():
            return None
        if (np.abs(values - np.round(values)) > 1e-3).any():
            return None
        chosen = np.round(values).astype(np.int64)
        if chosen.min(initial=0) < 0 or chosen.max(initial=0) > 1:
            return None
        owner = np.repeat(np.arange(len(width)), width)
        place = np.arange(used) - first[owner]
        binary = small.sizes == 2
        if (np.bincount(owner, chosen, minlength=len(width))[~binary] != 1).any():
            return None
        parts = np.where(binary[owner], chosen, chosen * place)
        classes = np.bincount(owner, parts, minlength=len(width))
        return instance.fill(self.reduced.lift(classes.astype(np.int64), rng), rng)


def _columns(sizes: Integers) -> tuple[Integers, Integers]:
    """The first column of each attribute, and the number of its columns."""
    width = np.where(sizes == 2, 1, sizes)
    return np.cumsum(width) - width, width


class _Builder:
    """Builds the programme: rows and columns are added family by family."""

    def __init__(
        self,
        reduced: Reduced,
        *,
        published: bool,
    ) -> None:
        self.reduced = reduced
        self.published = published
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
        """Add the rows and columns of all terms and constraints, and join them to a programme."""
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
        matrix = scipy.sparse.csr_array(
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
        self,
        attribute: Integers,
        value: Integers,
        negated: Flags,
    ) -> tuple[Integers, Integers, Integers]:
        """Write each literal as a linear expression: base + sign * column.

        Returns
        -------
        column, sign, base
            Each of shape (literals,).
        """
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
        """Add rows, numbered from zero, with their entries and bounds."""
        self.entries.append((rows + self.rows, columns, values))
        self.lower.append(np.asarray(lower, np.float64))
        self.upper.append(np.asarray(upper, np.float64))
        self.rows += len(lower)

    def _new(
        self,
        cost: Integers,
        *,
        top: Integers | None = None,
        whole: bool = False,
    ) -> Integers:
        """Add columns of these costs; returns their numbers."""
        begin = sum(map(len, self.cost))
        self.cost.append(cost.astype(np.float64))
        self.top.append(np.ones(len(cost)) if top is None else top.astype(np.float64))
        self.whole.append(np.full(len(cost), whole))
        return begin + np.arange(len(cost))

    def _literals(self, terms: Flags) -> tuple[Integers, Integers]:
        """The positions of the literals of some terms, and to which of these terms each belongs."""
        literals = np.flatnonzero(terms[self.instance.term])
        return literals, (np.cumsum(terms) - 1)[self.instance.term[literals]]

    def _groups(self) -> None:
        """Add the rows by which each attribute that is not binary has exactly one class."""
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
        """Add the weights of terms of one literal to the cost of its column.

        A parity of one literal holds if the literal does not.
        """
        literals, _ = self._literals(terms)
        weight = self.instance.weight[terms]
        parity = self.instance.parity[terms]
        sign = np.where(parity, -self.sign[literals], self.sign[literals])
        base = np.where(parity, 1 - self.base[literals], self.base[literals])
        np.add.at(self.cost[0], self.column[literals], (sign * weight).astype(np.float64))
        self.offset += int((base * weight).sum())

    def _wanted(self, terms: Flags) -> None:
        """Add conjunctions of positive weight: columns c, and rows c <= l for each literal l.

        As published, there is one row k c <= sum of l for the k literals of each.
        """
        columns = self._new(self.instance.weight[terms], whole=self.published)
        literals, own = self._literals(terms)
        if self.published:
            rows = np.arange(len(columns))
            lengths = np.bincount(own, minlength=len(columns))
            self._add(
                np.concatenate([own, rows]),
                np.concatenate([self.column[literals], columns]),
                np.concatenate([self.sign[literals], -lengths]),
                -np.bincount(own, self.base[literals], minlength=len(columns)),
                np.full(len(columns), np.inf),
            )
            return
        rows = np.arange(len(literals))
        self._add(
            np.concatenate([rows, rows]),
            np.concatenate([self.column[literals], columns[own]]),
            np.concatenate([self.sign[literals], np.full(len(literals), -1)]),
            -self.base[literals].astype(np.float64),
            np.full(len(literals), np.inf),
        )

    def _unwanted(self, terms: Flags) -> None:
        """Add conjunctions of negative weight: columns n, and rows n <= sum of (1 - l)."""
        weight = self.instance.weight[terms]
        self.offset += int(weight.sum())
        columns = self._new(-weight, whole=self.published)
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
        """Add parities: columns c and e, and rows sum of l = 2 e + 1 - c."""
        columns = self._new(self.instance.weight[terms])
        literals, own = self._literals(terms)
        lengths = np.bincount(own, minlength=len(columns))
        halves = self._new(
            np.zeros(len(columns), np.int64),
            top=lengths // 2,
            whole=True,
        )
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
        """Add one row for each constraint of the instance."""
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
