"""Linear constraints on the records of a `BestResponse`."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..limits import WEIGHT_SUM as LARGEST
from ..types import Integers
from ..zeros import Box

__all__ = ["LARGEST", "Constraint", "integers"]


@dataclass(
    frozen=True,
    kw_only=True,
    eq=False,
)
class Constraint:
    """A linear constraint: lower <= sum of coefficient_i * [attribute_i has value_i] <= upper.

    Parameters
    ----------
    attribute, value, coefficient
        Sequences of integers of equal length, one entry for each term i of the sum.
    lower, upper
        Integers, or None for no bound on that side.

    Raises
    ------
    ValueError
        If the lengths differ, a number is not whole, the coefficients are too large, or there is no
        bound.

    Examples
    --------
    >>> rule = Constraint.forbid([(0, 1), (2, 0)])  # not attribute 0 = 1 and attribute 2 = 0
    >>> rule.met(np.array([1, 1, 0])), rule.met(np.array([1, 1, 1]))
    (False, True)
    """

    attribute: Integers
    value: Integers
    coefficient: Integers
    lower: int | None = None
    upper: int | None = None

    def __post_init__(self) -> None:
        for name in ("attribute", "value", "coefficient"):
            array = integers(getattr(self, name), f"a constraint's {name}")
            object.__setattr__(self, name, array.ravel())
        for name in ("lower", "upper"):
            bound = getattr(self, name)
            if bound is not None:
                object.__setattr__(self, name, int(integers(bound, f"a constraint's {name}")))
        lengths = len(self.attribute), len(self.value), len(self.coefficient)
        if len(set(lengths)) != 1:
            raise ValueError(
                "the attribute, value and coefficient of a constraint must have the same length, "
                f"but their lengths are {lengths}; give one of each for each term of its sum"
            )
        if self.lower is None and self.upper is None:
            raise ValueError(
                "a constraint needs a lower or an upper bound, but it has neither; give one"
            )
        if np.abs(self.coefficient).sum() > LARGEST:
            raise ValueError(
                "the absolute values of the coefficients of a constraint must sum to at most "
                "2**50, but they sum to more; use smaller ones"
            )

    @classmethod
    def forbid(cls, cells: Iterable[tuple[int, int]]) -> "Constraint":
        """Make the constraint that no record has all the given values (a structural zero).

        `cells` are pairs (attribute, value).
        """
        pairs = np.array(list(cells)).reshape(-1, 2)
        return cls(
            attribute=pairs[:, 0],
            value=pairs[:, 1],
            coefficient=np.ones(len(pairs), np.int64),
            upper=len(pairs) - 1,
        )

    @classmethod
    def forbid_box(cls, box: Box) -> "Constraint":
        """Make the constraint that no record lies in a box, that is, many structural zeros at once.

        A box gives some attributes, each with some values (`zeros.Box`).
        """
        attribute = [axis for axis, codes in box for _ in codes]
        value = [code for _, codes in box for code in codes]
        return cls(
            attribute=np.array(attribute),
            value=np.array(value),
            coefficient=np.ones(len(value), np.int64),
            upper=len(box) - 1,
        )

    def activity(self, record: NDArray[Any]) -> int:
        """Compute the sum that the constraint bounds, for a record of shape (d,)."""
        return int(self.coefficient @ (record[self.attribute] == self.value))

    def met(self, record: NDArray[Any]) -> bool:
        """Whether a record meets the constraint."""
        activity = self.activity(record)
        if self.lower is not None and activity < self.lower:
            return False
        return self.upper is None or activity <= self.upper


def integers(values: Any, name: str) -> Integers:
    """Convert values to int64; ValueError if they are not whole numbers."""
    array = np.asarray(values)
    if array.dtype.kind in "biu" or not array.size:
        return array.astype(np.int64, copy=False)
    if array.dtype.kind != "f":
        raise ValueError(f"{name} must be integers, but its type is {array.dtype}; convert it")
    numbers = np.asarray(array, np.float64)
    if not (np.isfinite(numbers) & (numbers == np.round(numbers))).all():
        raise ValueError(f"{name} must be integers, but one of its numbers is not whole; round it")
    return array.astype(np.int64, copy=False)
