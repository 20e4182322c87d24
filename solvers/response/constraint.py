"""`Constraint`: what every record of a `BestResponse` must meet."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..types import Integers
from ..zeros import Box

LARGEST = 2**50
"""What absolute weights or coefficients may sum to: floats of back-ends then hold every sum
exactly."""


@dataclass(frozen=True, kw_only=True, eq=False)
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
        When the lengths differ, or there is no bound.
    """

    attribute: Integers
    value: Integers
    coefficient: Integers
    lower: int | None = None
    upper: int | None = None

    def __post_init__(self) -> None:
        for name in ("attribute", "value", "coefficient"):
            object.__setattr__(
                self, name, integers(getattr(self, name), f"a constraint's {name}").ravel()
            )
        if not len(self.attribute) == len(self.value) == len(self.coefficient):
            raise ValueError("a constraint's attribute, value and coefficient must be equally long")
        if self.lower is None and self.upper is None:
            raise ValueError("a constraint needs a lower or an upper bound")
        if np.abs(self.coefficient).sum() > LARGEST:
            raise ValueError(
                "a constraint's coefficients are too large: their absolute sum must not pass 2**50"
            )

    @classmethod
    def forbid(cls, cells: Iterable[tuple[int, int]]) -> "Constraint":
        """No record may have all these values at once, given as (attribute, value): a structural
        zero."""
        pairs = np.array(list(cells), np.int64).reshape(-1, 2)
        return cls(
            attribute=pairs[:, 0],
            value=pairs[:, 1],
            coefficient=np.ones(len(pairs), np.int64),
            upper=len(pairs) - 1,
        )

    @classmethod
    def forbid_box(cls, box: Box) -> "Constraint":
        """No record may lie in a box, which gives attributes each with some values: many structural
        zeros at once."""
        attribute = [axis for axis, codes in box for _ in codes]
        value = [code for _, codes in box for code in codes]
        return cls(
            attribute=np.array(attribute, np.int64),
            value=np.array(value, np.int64),
            coefficient=np.ones(len(value), np.int64),
            upper=len(box) - 1,
        )

    def activity(self, record: NDArray[Any]) -> int:
        """The sum that is bounded, at a record."""
        return int(self.coefficient @ (record[self.attribute] == self.value))

    def met(self, record: NDArray[Any]) -> bool:
        """Whether a record meets the constraint."""
        activity = self.activity(record)
        return (self.lower is None or activity >= self.lower) and (
            self.upper is None or activity <= self.upper
        )


def integers(values: Any, name: str) -> Integers:
    """The values as int64; ValueError if they are not whole numbers."""
    array = np.asarray(values)
    if array.dtype.kind not in "biu" and array.size:
        whole = np.asarray(array, np.float64) if array.dtype.kind == "f" else None
        if whole is None or not (np.isfinite(whole) & (whole == np.round(whole))).all():
            raise ValueError(f"{name} must be integers")
    return array.astype(np.int64, copy=False)
