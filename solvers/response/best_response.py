"""The best response of DualQuery as an integer programme: `BestResponse` and its `Response`.

The problem is to find a record x that meets all `constraints` and maximises

    value(x) = constant + sum over terms j of weight_j * [term j holds at x].

A record gives each attribute a one of its values 0, ..., size_a - 1. A *literal* is a condition on
one attribute: it has a certain value, or (negated) it does not have this value. A *term* is a set
of literals over distinct attributes. It is a conjunction, which holds if all its literals hold, or
a parity, which holds if an even number of them hold. Weights are integers of either sign.

DualQuery draws queries and negations of queries. If a query is drawn 3 times and its negation once,
this is a term of weight 3 - 1 = 2, and adds 1 to the constant, because the negation holds where the
query does not (Gaboardi et al., Dual Query, ICML 2014, section 5.1 and appendix A).

The contract
------------
An instance with n = 2 queries of k = 2 literals each on d = 3 attributes:

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
- A query that is drawn twice may be given twice: `presolve` merges terms with equal literals. The
  arrays may be of any integer type. The time of a solve depends on the number of literals, and only
  a little on d.
- `Response.record` has a value for every attribute. Attributes that no term and no constraint
  mentions get random values from `seed`. The record meets all constraints. It is None only if no
  record was found: `Status.MISSING`, `FAILED`, `INFEASIBLE`, or a limit that came before the first
  record. `ByComponents` finds a record whenever one exists, even if its back-ends fail.
- `Response.value` is computed from the record, not taken from the back-end. `bound` is an upper
  bound on the value of every record. `Status.OPTIMAL` means that the two are equal. Annealing
  usually ends with `UNPROVEN`. After `TIME_LIMIT` and `ITERATION_LIMIT` the record is the best one
  found so far. `detail` tells what went wrong in a back-end.
- The same instance, solver and seed give the same response, because the limits count sweeps, nodes
  or steps. Only a `time_limit`, which is off by default, uses a clock. `seed` may be a tuple, such
  as (run, round, record).
- Wrong arrays raise `ValueError` when the instance is made. `solve` raises nothing.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..stated import Stated
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
class BestResponse(Stated):
    """A set of weighted terms; the problem is to find the record of the largest value.

    The module states the problem and shows an example. `conjunctions` and `parities` make instances
    whose terms have equal lengths, and `together` joins instances. The constructor takes terms of
    any lengths: the literals of all terms follow each other in flat arrays.

    Parameters
    ----------
    sizes
        The number of categories of each attribute, shape (d,), each >= 1.
    offsets
        The literals of term j are those from offsets[j] to offsets[j + 1] - 1 in the flat arrays.
        Shape (terms + 1,).
    attribute, value, negated
        The literals, each of shape (literals,): the attribute has the value, or (if negated) does
        not have it.
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

    Examples
    --------
    Two binary attributes; the first term asks for (1, 1), the second for 0 at attribute 1:

    >>> instance = BestResponse(
    ...     sizes=[2, 2],
    ...     offsets=[0, 2, 3],
    ...     attribute=[0, 1, 1],
    ...     value=[1, 1, 0],
    ...     negated=[False, False, False],
    ...     weight=[3, 1],
    ...     parity=[False, False],
    ... )
    >>> instance.objective(np.array([1, 1])), instance.objective(np.array([0, 0]))
    (3, 1)
    """

    families: ClassVar[tuple[str, ...]] = ("response",)
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
        object.__setattr__(self, "constant", int(integers(self.constant, "constant")))
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
        """Make an instance from n conjunctions of k literals each.

        Parameters
        ----------
        sizes
            The number of categories of each attribute, shape (d,).
        attributes, values
            Literal (i, j) of conjunction i requires that attribute ``attributes[i, j]`` has the
            value ``values[i, j]``. Both have shape (n, k).
        weights
            The weight of each conjunction, an integer of either sign, shape (n,).
        negated
            Which literals require the opposite: the attribute does not have the value. Shape (n,
            k); None if no literal is negated.
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
        """Make an instance from n parities over k binary attributes each.

        A parity holds if an even number of its attributes are one.

        Parameters
        ----------
        sizes
            The number of categories of each attribute, shape (d,).
        attributes
            The attributes of each parity, of size 2, shape (n, k).
        weights
            The weight of each parity, an integer of either sign, shape (n,).
        constant, constraints
            See the class.

        Raises
        ------
        ValueError
            If an attribute is not binary; otherwise see the class.

        Examples
        --------
        >>> instance = BestResponse.parities([2, 2, 2], [[0, 1], [1, 2]], [3, -2])
        >>> instance.objective(np.array([1, 1, 0]))
        3
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
        """Join instances over the same attributes: values are added, and all constraints hold.

        Raises
        ------
        ValueError
            If there is no instance, or their sizes differ.
        """
        if not parts:
            raise ValueError("together needs at least one instance, but none is given; pass one")
        for place, part in enumerate(parts):
            if not np.array_equal(part.sizes, parts[0].sizes):
                raise ValueError(
                    "instances must be over attributes of the same sizes, but instance "
                    f"{place} has other sizes than instance 0; make them over the same attributes"
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
        """The number of the term to which each literal belongs, shape (literals,)."""
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
        """Mark the terms that hold at a record of shape (d,); the result has shape (terms,)."""
        literal = (np.asarray(record)[self.attribute] == self.value) != self.negated
        count = np.bincount(self.term[literal], minlength=self.terms)
        result: Flags = np.where(self.parity, count % 2 == 0, count == np.diff(self.offsets))
        return result

    def objective(self, record: NDArray[Any]) -> int:
        """Compute the value of a record of shape (d,), in exact integers."""
        return int(self.constant) + int(self.weight[self.holds(record)].sum())

    def feasible(self, record: NDArray[Any]) -> bool:
        """Whether a record meets all constraints."""
        return all(constraint.met(record) for constraint in self.constraints)

    @cached_property
    def ceiling(self) -> int:
        """An upper bound on the value of any record: the constant plus all positive weights."""
        return int(self.constant) + int(np.maximum(self.weight, 0).sum())

    def random(self, rng: np.random.Generator) -> Record:
        """Draw a record uniformly from all records; it may break constraints."""
        return self.fill(np.full(len(self.sizes), -1), rng)

    def fill(
        self,
        record: NDArray[Any],
        rng: np.random.Generator,
    ) -> Record:
        """Replace each -1 of a record, shape (d,), by a value drawn uniformly."""
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
        """Check what a back-end returned, and make it a `Response`.

        A record of the wrong shape, with values that do not exist, or that breaks a constraint, is
        dropped, and the status is `FAILED`. The value is computed here. The claims of the back-end
        are compared with two records, its own and `known`. If one of them contradicts a claim (that
        the record is optimal, that the bound holds, or that no record is feasible), the status is
        `FAILED`, and the better record is the answer. `OPTIMAL` means that the value reaches the
        bound. If a back-end calls a record optimal but gives no bound, the value is the bound.

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
        is_claimed = bound is not None and math.isfinite(bound)
        if not is_claimed:
            # Who calls a record optimal says that nothing exceeds its value.
            is_claimed = status is Status.OPTIMAL and value is not None
            bound = value if is_claimed else self.ceiling
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
            is_claimed = False
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
            is_bound_claimed=is_claimed,
        )

    def _fault(self, record: NDArray[Any]) -> str:
        """Describe what is wrong with a record; an empty text if nothing is."""
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
    """The best record that a back-end found, with its value, a bound and a status.

    The contract is in the text of the module, with an example.

    Attributes
    ----------
    record
        A value for every attribute, shape (d,), of the smallest unsigned type that holds them; None
        if none was found.
    value
        The value of the record; None without a record.
    bound
        An upper bound on the value of any record. If the back-end proved none, it is the constant
        plus all positive weights.
    status
        How the solve ended.
    work
        The amount of work in the back-end's own unit (moves, records, nodes). It is the same on
        every machine, unless a time limit ended the solve.
    detail
        What went wrong in a back-end, in one line; empty if nothing did.
    is_bound_claimed
        Whether the back-end claimed the bound, by a number or by calling its record optimal.
        Otherwise the bound is the constant plus all positive weights, and a comparison of solvers
        does not show it.
    """

    record: Record | None
    value: int | None
    bound: int
    status: Status
    work: int
    detail: str = ""
    is_bound_claimed: bool = True

    @property
    def gap(self) -> float:
        """The bound minus the value: zero if optimal, infinite without a record."""
        return math.inf if self.value is None else float(self.bound - self.value)


class Responder(Protocol):
    """A back-end: an object with a method `solve` that finds a good record for a `BestResponse`."""

    def solve(
        self,
        instance: BestResponse,
        /,
        *,
        seed: Seed = 0,
    ) -> Response:
        """Search for the record of the largest value.

        Parameters
        ----------
        instance
            The terms and the constraints.
        seed
            The same seed gives the same response.

        Returns
        -------
        Response
            The best record found, an upper bound on all values, and how the search ended. Nothing
            is raised: a failure is a status.
        """
