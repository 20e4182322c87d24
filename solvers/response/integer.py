"""The best response of DualQuery as an integer programme: `BestResponse` and its `Response`.

The question: which record x makes

    value(x) = constant + sum over terms j of weight_j * [term j holds at x]

largest, among the records that meet all `constraints`? A record gives each attribute a one of its
categories, 0..size_a - 1. A *literal* says that an attribute has a value, or (negated) that it has
not. A *term* of literals over distinct attributes is a conjunction, which holds when all its
literals hold, or a parity, which holds when an even number of them do. Weights are integers of
either sign. A query drawn 3 times and its negation drawn once is a term of weight 3 - 1 = 2, and
adds 1 to the constant: the negation holds where the query does not. (Gaboardi et al., Dual Query,
ICML 2014, section 5.1 and appendix A.)

The contract
------------
Building, for n queries of k literals each on d attributes:

>>> import numpy as np
>>> from margin.solvers import BestResponse, ByComponents
>>> instance = BestResponse.conjunctions(
...     [2, 2, 5],  # sizes, shape (d,)
...     [[0, 1], [1, 2]],  # attributes, shape (n, k): positions in `sizes`
...     [[1, 0], [1, 4]],  # values, shape (n, k)
...     [2, -1],  # weights, shape (n,): times drawn minus times its negation was drawn
...     constant=1,  # how many negations were drawn
... )
>>> response = ByComponents().solve(instance, seed=7)
>>> response.value, response.bound, response.status.name
(3, 3, 'OPTIMAL')

- Any back-end is an object with ``solve(instance, *, seed=0) -> Response``: the `Responder`
  protocol. `ByComponents` is the default: presolve, components, proofs where they are cheap, and
  annealing elsewhere.
- Queries that are drawn twice may be given twice: `presolve` merges terms with equal literals. The
  arrays may be of any integer type. Cost grows with the literals. It grows mildly with d, because
  sizes are copied and the record is filled.
- `Response.record` is a whole record: attributes that nothing mentions are filled uniformly at
  random from `seed`. It never breaks a constraint. It is None only if no record was found:
  `Status.MISSING`, `FAILED`, `INFEASIBLE`, or a limit that came before the first record.
  `ByComponents` returns a record if one exists, whatever its back-ends return; without constraints,
  always.
- `Response.value` is recomputed from the record. `bound` is an upper bound on every record's value,
  and `Status.OPTIMAL` means that they are equal. `UNPROVEN` is the usual end of annealing. After
  `TIME_LIMIT` and `ITERATION_LIMIT` the record is the best one found so far. `detail` tells what
  went wrong in a back-end.
- Equal instance, solver and seed give an equal response: limits are sweeps, nodes and steps. Only a
  `time_limit`, None unless set, uses a clock. `seed` may be a tuple, such as (run, round, record).
- Wrong arrays raise `ValueError` when the instance is made. `solve` raises nothing.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..status import Status
from ..types import Flags, Integers
from .constraint import LARGEST, Constraint, integers

Record = NDArray[np.unsignedinteger[Any]]
Seed = int | Sequence[int]


@dataclass(
    frozen=True,
    kw_only=True,
    eq=False,
)
class BestResponse:
    """An instance of the programme that the module states.

    `conjunctions` and `parities` make instances, and `together` joins them. The constructor takes
    terms of any lengths in flat arrays.

    Parameters
    ----------
    sizes
        The number of categories of each attribute, shape (d,), each >= 1.
    offsets
        Where each term's literals begin in the flat arrays, then the number of all literals, shape
        (terms + 1,).
    attribute, value, negated
        The literals, flat: the attribute has the value, or (negated) has not.
    weight
        The weight of each term, of either sign, shape (terms,).
    parity
        Which terms are parities rather than conjunctions, shape (terms,).
    constant
        Added to the value of every record.
    constraints
        The conditions that every record must meet.

    Raises
    ------
    ValueError
        If shapes do not fit, an attribute or value does not exist, a term names an attribute twice,
        or the absolute weights sum to more than 2**50.
    """

    sizes: Integers
    offsets: Integers
    attribute: Integers
    value: Integers
    negated: Flags
    weight: Integers
    parity: Flags
    constant: int = 0
    constraints: tuple[Constraint, ...] = ()

    def __post_init__(self) -> None:
        for name in ("sizes", "offsets", "attribute", "value", "weight"):
            object.__setattr__(self, name, integers(getattr(self, name), name))
        for name in ("negated", "parity"):
            object.__setattr__(self, name, np.asarray(getattr(self, name), np.bool_))
        object.__setattr__(self, "constraints", tuple(self.constraints))
        self._check()

    @classmethod
    def conjunctions(
        cls,
        sizes: ArrayLike,
        attributes: ArrayLike,
        values: ArrayLike,
        weights: ArrayLike,
        *,
        negated: ArrayLike | None = None,
        constant: int = 0,
        constraints: Iterable[Constraint] = (),
    ) -> "BestResponse":
        """n conjunctions of k literals each.

        Parameters
        ----------
        sizes
            The number of categories of each attribute, shape (d,).
        attributes, values
            The literals, shape (n, k).
        weights
            Shape (n,).
        negated
            Which literals say "does not have this value", shape (n, k); None for none. On a binary
            attribute, "not 1" and "is 0" are the same.
        constant, constraints
            See the class.

        Raises
        ------
        ValueError
            See the class.
        """
        places = integers(attributes, "attributes")
        if places.ndim != 2:
            raise ValueError(
                "attributes must have shape (n, k), one row for each of n conjunctions of k "
                f"conditions, but it has shape {places.shape}; reshape it"
            )
        flags = np.zeros(places.shape, np.bool_)
        if negated is not None:
            flags = np.asarray(negated, np.bool_)
        count, literals = places.shape
        if not np.shape(values) == flags.shape == places.shape:
            raise ValueError(
                f"values and negated must have the shape of attributes, {places.shape}, but they "
                f"have shapes {np.shape(values)} and {flags.shape}; reshape them"
            )
        if np.shape(weights) != (count,):
            raise ValueError(
                f"weights must have shape ({count},), one for each conjunction, but its shape is "
                f"{np.shape(weights)}; reshape it"
            )
        return cls(
            sizes=integers(sizes, "sizes"),
            offsets=np.arange(count + 1) * literals,
            attribute=places.ravel(),
            value=integers(values, "values").ravel(),
            negated=flags.ravel(),
            weight=integers(weights, "weights"),
            parity=np.zeros(count, np.bool_),
            constant=constant,
            constraints=tuple(constraints),
        )

    @classmethod
    def parities(
        cls,
        sizes: ArrayLike,
        attributes: ArrayLike,
        weights: ArrayLike,
        *,
        constant: int = 0,
        constraints: Iterable[Constraint] = (),
    ) -> "BestResponse":
        """n parities over k binary attributes each, shape (n, k).

        A parity holds if an even number of its attributes are one.
        """
        ones = np.ones(np.shape(attributes), np.int64)
        made = cls.conjunctions(
            sizes,
            attributes,
            ones,
            weights,
            constant=constant,
            constraints=constraints,
        )
        if (made.sizes[made.attribute] != 2).any():
            raise ValueError(
                "parities need attributes of size 2, but one of these has another size; name other "
                "attributes"
            )
        return replace(made, parity=np.ones(made.terms, np.bool_))

    @classmethod
    def together(cls, *parts: "BestResponse") -> "BestResponse":
        """The sum of instances over the same attributes, under the constraints of all."""
        if not parts or any(not np.array_equal(part.sizes, parts[0].sizes) for part in parts):
            raise ValueError(
                "BestResponse.together needs one or more instances with equal sizes, but the "
                f"{len(parts)} that are given are not such; make them over the same attributes"
            )
        lengths = np.concatenate([np.diff(part.offsets) for part in parts])
        flat = {}
        for name in ("attribute", "value", "negated", "weight", "parity"):
            flat[name] = np.concatenate([getattr(part, name) for part in parts])
        constraints: tuple[Constraint, ...] = ()
        for part in parts:
            constraints += part.constraints
        return cls(
            sizes=parts[0].sizes,
            offsets=np.concatenate([[0], np.cumsum(lengths)]),
            constant=sum(part.constant for part in parts),
            constraints=constraints,
            **flat,
        )

    @property
    def terms(self) -> int:
        """The number of terms."""
        return len(self.weight)

    @cached_property
    def term(self) -> Integers:
        """The term of each literal, in the order of the flat arrays."""
        return np.repeat(np.arange(self.terms), np.diff(self.offsets))

    @cached_property
    def mentioned(self) -> Integers:
        """The attributes that a term or a constraint mentions, ascending."""
        flags = np.zeros(len(self.sizes), np.bool_)
        flags[self.attribute] = True
        for constraint in self.constraints:
            flags[constraint.attribute] = True
        return np.flatnonzero(flags)

    @cached_property
    def record_type(self) -> np.dtype[np.unsignedinteger[Any]]:
        """The smallest unsigned integer type that holds every value."""
        return np.min_scalar_type(int(self.sizes.max(initial=1)) - 1)

    def holds(self, record: NDArray[Any]) -> Flags:
        """Which terms hold at a record of shape (d,), shape (terms,)."""
        literal = (np.asarray(record)[self.attribute] == self.value) != self.negated
        count = np.bincount(self.term[literal], minlength=self.terms)
        result: Flags = np.where(self.parity, count % 2 == 0, count == np.diff(self.offsets))
        return result

    def objective(self, record: NDArray[Any]) -> int:
        """The value of a record of shape (d,), exactly."""
        return int(self.constant) + int(self.weight[self.holds(record)].sum())

    def feasible(self, record: NDArray[Any]) -> bool:
        """Whether a record meets all constraints."""
        return all(constraint.met(record) for constraint in self.constraints)

    @cached_property
    def ceiling(self) -> int:
        """A bound on every value: the constant and all positive weights."""
        return int(self.constant) + int(np.maximum(self.weight, 0).sum())

    def random(self, rng: np.random.Generator) -> Record:
        """A record drawn uniformly, whether or not it meets the constraints."""
        return self.fill(np.full(len(self.sizes), -1), rng)

    def fill(
        self,
        record: NDArray[Any],
        rng: np.random.Generator,
    ) -> Record:
        """A record of shape (d,) with every -1 replaced by a uniformly drawn value."""
        top = int(self.sizes.max(initial=1))
        if (self.sizes == top).all():
            drawn = rng.integers(0, top, len(self.sizes), self.record_type)
        else:
            drawn = rng.integers(0, self.sizes).astype(self.record_type)
        return np.where(record < 0, drawn, record).astype(self.record_type)

    def respond(
        self,
        record: NDArray[Any] | None,
        *,
        status: Status,
        bound: float | None = None,
        work: int = 0,
        known: NDArray[Any] | None = None,
        detail: str = "",
    ) -> "Response":
        """The `Response` for the result of a back-end, which is not trusted.

        A record of the wrong shape, with values that do not exist, or that breaks a constraint is
        `FAILED`, and not returned. The value is computed here. If `known` or the record itself
        refutes a claim (a best value, a bound, that there is no record), the status is `FAILED` and
        the better record is the answer. `OPTIMAL` means that the value reaches the bound. If a
        back-end calls a record optimal and gives no bound, the value is the bound.

        Parameters
        ----------
        record, status
            The back-end's record, and how it says that it ended.
        bound
            The largest value that any record can have, as the back-end says; None if it says
            nothing.
        work, detail
            See `Response`.
        known
            A record from elsewhere, to check the claims.
        """
        fault = "" if record is None else self._fault(record)
        if fault:
            record = None
            status = Status.FAILED
            bound = None
            detail = f"the back-end returned {fault}"
        value = None if record is None else self.objective(record)
        if bound is None or not math.isfinite(bound):
            claimed = status is Status.OPTIMAL and value is not None
            bound = value if claimed else self.ceiling
        assert bound is not None
        # Values are integers: a bound is rounded down, with room for rounding errors.
        proved = min(math.floor(bound + 1e-6 * max(1.0, abs(bound))), self.ceiling)
        for other in (record, known):
            if other is None or self._fault(other):
                continue
            reached = self.objective(other)
            if status is not Status.INFEASIBLE and reached <= proved:
                continue
            claim = f"no value exceeds {proved}"
            if status is Status.INFEASIBLE:
                claim = "there is no record"
            detail = f"the back-end claimed that {claim}, but a record reaches {reached}"
            record = other
            value = reached
            status = Status.FAILED
            proved = self.ceiling
        if value == proved and status is not Status.FAILED:
            status = Status.OPTIMAL
        elif status.ok:
            status = Status.FAILED if record is None else Status.UNPROVEN
        return Response(
            record=None if record is None else record.astype(self.record_type),
            value=value,
            bound=proved,
            status=status,
            work=work,
            detail=detail,
        )

    def _fault(self, record: NDArray[Any]) -> str:
        """What is wrong with a record; empty if nothing is."""
        if record.shape != self.sizes.shape or record.dtype.kind not in "biu":
            return (
                f"an array of shape {record.shape} and type {record.dtype}, "
                "not one value for each attribute"
            )
        if ((record < 0) | (record >= self.sizes)).any():
            return "a value that its attribute does not have"
        return "" if self.feasible(record) else "a record that breaks a constraint"

    def _check(self) -> None:
        """Refuse arrays that do not fit each other or the sizes."""
        if self.sizes.ndim != 1 or (self.sizes < 1).any():
            raise ValueError(
                "sizes must be a list of numbers >= 1, one for each attribute, but it has shape "
                f"{self.sizes.shape} or holds a smaller number; correct it"
            )
        if len(self.offsets) < 1 or self.offsets[0] != 0 or (np.diff(self.offsets) < 0).any():
            raise ValueError(
                "offsets must ascend from zero, but it is empty, begins with another number, or "
                "falls; give the place of the first condition (attribute and value) of each term, "
                "and then the number of conditions"
            )
        terms = (len(self.offsets) - 1,)
        if not self.weight.shape == self.parity.shape == terms:
            raise ValueError(
                f"weight and parity must have shape {terms}, one entry for each term, but they "
                f"have shapes {self.weight.shape} and {self.parity.shape}; reshape them"
            )
        literals = (self.offsets[-1],)
        if not self.attribute.shape == self.value.shape == self.negated.shape == literals:
            raise ValueError(
                f"attribute, value and negated must have shape {literals}, one entry for each "
                "condition of a term (the last of offsets is their number), but they have shapes "
                f"{self.attribute.shape}, {self.value.shape} and {self.negated.shape}; reshape them"
            )
        self._check_cells(self.attribute, self.value, "a term")
        for constraint in self.constraints:
            self._check_cells(constraint.attribute, constraint.value, "a constraint")
        key = self.term * max(len(self.sizes), 1) + self.attribute
        if len(key) and (np.diff(np.sort(key)) == 0).any():
            raise ValueError(
                "the attributes of a term must differ, but a term names an attribute twice; name "
                "it once"
            )
        total = float(np.abs(self.weight.astype(np.float64)).sum()) + abs(self.constant)
        if len(self.weight) and total > LARGEST:
            raise ValueError(
                "the absolute values of the weights and the constant must sum to at most 2**50, "
                f"but they sum to {total:.3g}; use smaller ones"
            )

    def _check_cells(
        self,
        attribute: Integers,
        value: Integers,
        what: str,
    ) -> None:
        """Refuse attributes and values that do not exist."""
        if len(attribute) == 0:
            return
        if attribute.min() < 0 or attribute.max() >= len(self.sizes):
            raise ValueError(
                f"the attributes of {what} must be from 0 to {len(self.sizes) - 1}, but they go "
                f"from {attribute.min()} to {attribute.max()}; correct them"
            )
        if ((value < 0) | (value >= self.sizes[attribute])).any():
            raise ValueError(
                f"the values of {what} must be from 0 to the size of their attribute minus 1, but "
                "one of them is not; correct it"
            )


@dataclass(
    frozen=True,
    kw_only=True,
    eq=False,
)
class Response:
    """The result of a back-end; the module states the contract.

    Attributes
    ----------
    record
        A value for every attribute, shape (d,), of the smallest unsigned type that holds them; None
        if none was found.
    value
        The record's value, recomputed; None without a record.
    bound
        An upper bound on every record's value. Without any proof it is the constant plus all
        positive weights.
    status
        How the solve ended.
    work
        The amount of work in the back-end's own unit (moves, records, nodes). It is the same on
        every machine, unless a time limit ended the solve.
    detail
        What went wrong in a back-end, in one line; empty if nothing did.
    """

    record: Record | None
    value: int | None
    bound: int
    status: Status
    work: int
    detail: str = ""

    @property
    def gap(self) -> float:
        """The bound less the value: zero if optimal, infinite without a record."""
        return math.inf if self.value is None else float(self.bound - self.value)


class Responder(Protocol):
    """A way to answer a `BestResponse`."""

    def solve(
        self,
        instance: BestResponse,
        /,
        *,
        seed: Seed = 0,
    ) -> Response:
        """The best record that was found, and whether it is proved to be the best.

        The same seed gives the same response.
        """
