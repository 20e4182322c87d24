"""`Constraint`: a condition that every record of a `BestResponse` must meet."""

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
        Integer sequences of equal length.
    lower, upper
        Integers, or None for no bound on that side.

    Raises
    ------
    ValueError
        If the lengths differ, a number is not whole, the coefficients are too large, or there is no
        bound.
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
        lengths = len(self.attribute), len(self.value), len(self.coefficient)
        if len(set(lengths)) != 1:
            raise ValueError(
                "the attribute, value and coefficient of a constraint must be equally long, but "
                f"their lengths are {lengths}; give one of each for each term of its sum"
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
        """No record may have all these values at once: a structural zero.

        `cells` are pairs (attribute, value).
        """
        pairs = np.array(list(cells), np.int64).reshape(-1, 2)
        return cls(
            attribute=pairs[:, 0],
            value=pairs[:, 1],
            coefficient=np.ones(len(pairs), np.int64),
            upper=len(pairs) - 1,
        )

    @classmethod
    def forbid_box(cls, box: Box) -> "Constraint":
        """No record may lie in a box: many structural zeros at once.

        A box gives attributes, each with some values.
        """
        attribute = [axis for axis, codes in box for _ in codes]
        value = [code for _, codes in box for code in codes]
        return cls(
            attribute=np.array(attribute, np.int64),
            value=np.array(value, np.int64),
            coefficient=np.ones(len(value), np.int64),
            upper=len(box) - 1,
        )

    def activity(self, record: NDArray[Any]) -> int:
        """The bounded sum at a record."""
        return int(self.coefficient @ (record[self.attribute] == self.value))

    def met(self, record: NDArray[Any]) -> bool:
        """Whether a record meets the constraint."""
        activity = self.activity(record)
        if self.lower is not None and activity < self.lower:
            return False
        return self.upper is None or activity <= self.upper


def integers(values: Any, name: str) -> Integers:
    """The values as int64; ValueError if they are not whole numbers."""
    array = np.asarray(values)
    if array.dtype.kind in "biu" or not array.size:
        return array.astype(np.int64, copy=False)
    if array.dtype.kind != "f":
        raise ValueError(f"{name} must be integers, but its type is {array.dtype}; convert it")
    numbers = np.asarray(array, np.float64)
    if not (np.isfinite(numbers) & (numbers == np.round(numbers))).all():
        raise ValueError(f"{name} must be integers, but one of its numbers is not whole; round it")
    return array.astype(np.int64, copy=False)
