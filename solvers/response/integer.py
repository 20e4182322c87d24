"""The best response of DualQuery as an integer programme: `BestResponse`, and the `Response` of
whoever solves it.

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

- Any back-end is an object with ``solve(instance, *, seed=0) -> Response``: the `Responder` protocol. `ByComponents` is
  the default: presolve, components, exact where that is cheap, annealing elsewhere.
- Queries that are drawn twice may be given twice; terms with equal literals are merged by `presolve`. The arrays may be
  of any integer type. Cost grows with the literals and, for copying sizes and filling the record,
  mildly with d.
- `Response.record` is a whole record: attributes that nothing mentions are filled uniformly at random from `seed`. It
  is never a record that breaks a constraint. It is None only if no record was found:
  `Status.MISSING`, `FAILED`, `INFEASIBLE`, or a limit that came before the first record.
  `ByComponents` returns a record whenever there is one, whatever its back-ends return; without
  constraints, always.
- `Response.value` is recomputed from the record, `bound` is an upper bound on every record's value, and
  `Status.OPTIMAL` means that they are equal. `UNPROVEN` is the usual end of annealing. After
  `TIME_LIMIT` and `ITERATION_LIMIT` the record is the best one found until then. `detail` tells
  what went wrong in a back-end.
- Equal instance, solver and seed give an equal response: limits are sweeps, nodes and steps. Only a `time_limit`, None
  unless set, looks at a clock. `seed` may be a tuple, such as (run, round, record).
- Wrong arrays raise `ValueError` when the instance is made, and nothing is raised by `solve`.
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


@dataclass(frozen=True, kw_only=True, eq=False)
class BestResponse:
    """An instance; see the head of this file for what it asks and the contract. Made by
    `conjunctions` and `parities`, joined by `together`; the constructor takes terms of any lengths
    in flat arrays.

    Parameters
    ----------
    sizes
        The number of categories of each attribute, shape (d,), each >= 1.
    offsets
        Where each term's literals begin in the flat arrays, and their number, shape (terms + 1,).
    attribute, value, negated
        The literals, flat: attribute has value, or has not.
    weight
        Of each term, of either sign, shape (terms,).
    parity
        Which terms are parities rather than conjunctions, shape (terms,).
    constant
        Added to the value of every record.
    constraints
        What every record must meet.

    Raises
    ------
    ValueError
        When shapes do not fit, an attribute or value does not exist, a term names an attribute
        twice, or the absolute weights sum to more than 2**50.
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
            Which literals say "has not this value", shape (n, k); None for none. On a binary
            attribute, "not 1" and "is 0" are the same.
        constant, constraints
            See the class.
        """
        places = integers(attributes, "attributes")
        if places.ndim != 2:
            raise ValueError(f"attributes must have shape (n, k), not {places.shape}")
        flags = (
            np.zeros(places.shape, np.bool_) if negated is None else np.asarray(negated, np.bool_)
        )
        if not (
            np.shape(values) == flags.shape == places.shape
            and np.shape(weights) == places.shape[:1]
        ):
            raise ValueError(
                "values and negated must have the shape (n, k) of attributes, and weights shape (n,)"
            )
        return cls(
            sizes=integers(sizes, "sizes"),
            offsets=np.arange(len(places) + 1) * places.shape[1],
            attribute=places.ravel(),
            value=integers(values, "values").ravel(),
            negated=flags.ravel(),
            weight=integers(weights, "weights"),
            parity=np.zeros(len(places), np.bool_),
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
        """n parities over k binary attributes each, shape (n, k): each holds when an even number of
        them are one."""
        ones = np.ones(np.shape(attributes), np.int64)
        made = cls.conjunctions(
            sizes, attributes, ones, weights, constant=constant, constraints=constraints
        )
        if (made.sizes[made.attribute] != 2).any():
            raise ValueError("parities are over binary attributes")
        return replace(made, parity=np.ones(made.terms, np.bool_))

    @classmethod
    def together(cls, *parts: "BestResponse") -> "BestResponse":
        """The sum of instances over the same attributes, under the constraints of all."""
        if not parts or any(not np.array_equal(part.sizes, parts[0].sizes) for part in parts):
            raise ValueError("instances can be put together only over the same attributes")
        lengths = np.concatenate([np.diff(part.offsets) for part in parts])
        flat = {
            name: np.concatenate([getattr(part, name) for part in parts])
            for name in ("attribute", "value", "negated", "weight", "parity")
        }
        return cls(
            sizes=parts[0].sizes,
            offsets=np.concatenate([[0], np.cumsum(lengths)]),
            constant=sum(part.constant for part in parts),
            constraints=sum((part.constraints for part in parts), ()),
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

    def fill(self, record: NDArray[Any], rng: np.random.Generator) -> Record:
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
        """The `Response` for what a back-end returned, none of which is trusted.

        A record of the wrong shape, with values that do not exist, or that breaks a constraint, is
        `FAILED`, and kept from the response. The value is computed here. A claim that `known` or
        the record itself refutes (a best value, a bound, that there is no record) is `FAILED`, and
        the better record is the answer. `OPTIMAL` is what reaches the bound; a record that a
        back-end calls optimal without a bound is its own bound.

        Parameters
        ----------
        record, status
            What it returned, and how it says that it ended.
        bound
            What it says no value can pass, if it says so.
        work, detail
            See `Response`.
        known
            A record from elsewhere, to hold its claims against.
        """
        fault = "" if record is None else self._fault(record)
        if fault:
            record = None
            status = Status.FAILED
            bound = None
            detail = f"the back-end returned {fault}"
        value = None if record is None else self.objective(record)
        if bound is None or not math.isfinite(bound):
            bound = value if status is Status.OPTIMAL and value is not None else self.ceiling
        proved = min(math.floor(bound + 1e-6 * max(1.0, abs(bound))), self.ceiling)
        for other in (record, known):
            if other is None or self._fault(other):
                continue
            reached = self.objective(other)
            if status is Status.INFEASIBLE or reached > proved:
                claim = (
                    "there is no record"
                    if status is Status.INFEASIBLE
                    else f"no value passes {proved}"
                )
                detail = f"the back-end claimed that {claim}, but {reached} is reached"
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
        """What is wrong with a record, or nothing."""
        if record.shape != self.sizes.shape or record.dtype.kind not in "biu":
            return f"an array of shape {record.shape} and type {record.dtype}, not one value for each attribute"
        if ((record < 0) | (record >= self.sizes)).any():
            return "a value that its attribute does not have"
        return "" if self.feasible(record) else "a record that breaks a constraint"

    def _check(self) -> None:
        if self.sizes.ndim != 1 or (self.sizes < 1).any():
            raise ValueError("sizes must have shape (d,), each >= 1")
        if len(self.offsets) < 1 or self.offsets[0] != 0 or (np.diff(self.offsets) < 0).any():
            raise ValueError("offsets must ascend from zero")
        if not (self.weight.shape == self.parity.shape == (len(self.offsets) - 1,)):
            raise ValueError("weight and parity must have one entry for each term")
        if not (
            self.attribute.shape == self.value.shape == self.negated.shape == (self.offsets[-1],)
        ):
            raise ValueError("attribute, value and negated must have one entry for each literal")
        self._check_cells(self.attribute, self.value, "a literal")
        for constraint in self.constraints:
            self._check_cells(constraint.attribute, constraint.value, "a constraint")
        key = self.term * max(len(self.sizes), 1) + self.attribute
        if len(key) and (np.diff(np.sort(key)) == 0).any():
            raise ValueError(
                "a term names an attribute twice; a term's attributes must be distinct"
            )
        if (
            len(self.weight)
            and float(np.abs(self.weight.astype(np.float64)).sum()) + abs(self.constant) > LARGEST
        ):
            raise ValueError("the weights are too large: their absolute sum must not pass 2**50")

    def _check_cells(self, attribute: Integers, value: Integers, what: str) -> None:
        if len(attribute) == 0:
            return
        if attribute.min() < 0 or attribute.max() >= len(self.sizes):
            raise ValueError(f"{what} names an attribute outside 0..{len(self.sizes) - 1}")
        if ((value < 0) | (value >= self.sizes[attribute])).any():
            raise ValueError(f"{what} names a value that its attribute does not have")


@dataclass(frozen=True, kw_only=True, eq=False)
class Response:
    """What a back-end found; see the contract at the head of this file.

    Attributes
    ----------
    record
        A value for every attribute, shape (d,), of the smallest unsigned type that holds them; None
        when none was found.
    value
        The record's value, recomputed; None without a record.
    bound
        What no record's value can pass; without any proof, the constant and all positive weights.
    status
        How the solve ended.
    work
        What was done, in the back-end's own unit (moves, records, nodes): the same on every
        machine, unless a time limit struck.
    detail
        What went wrong in a back-end, in one line; empty when nothing did.
    """

    record: Record | None
    value: int | None
    bound: int
    status: Status
    work: int
    detail: str = ""

    @property
    def gap(self) -> float:
        """By how much a better record could exceed the value: zero when optimal, infinite without a
        record."""
        return math.inf if self.value is None else float(self.bound - self.value)


class Responder(Protocol):
    """A way to answer a `BestResponse`."""

    def solve(self, instance: BestResponse, /, *, seed: Seed = 0) -> Response:
        """The best that was found, and whether it is known to be the best; the same seed gives the
        same one."""
