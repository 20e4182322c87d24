"""The excess kurtosis of noise as a field or an array of a file, and back."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from .._types import Floats
from ..domain.bounds import LAPLACE_KURTOSIS

__all__ = ["check_kurtosis", "packed_kurtosis", "read_kurtosis"]


def packed_kurtosis(kurtosis: float) -> dict[str, float]:
    """The field of a file; none for a kurtosis of 0, as in older files."""
    return {"kurtosis": kurtosis} if kurtosis else {}


def read_kurtosis(fields: Mapping[str, Any]) -> float:
    """The kurtosis from the fields of a file: 0 if there is none. ValueError if it is damaged."""
    kurtosis = float(fields.get("kurtosis", 0.0))
    check_kurtosis(np.array(kurtosis))
    return kurtosis


def check_kurtosis(kurtosis: Floats) -> None:
    """Refuse numbers from a file that are no kurtosis of noise: ValueError. Rounding is allowed."""
    fits = (kurtosis >= 0) & (kurtosis <= LAPLACE_KURTOSIS * (1 + 1e-9))
    if not fits.all():
        raise ValueError(
            f"the kurtosis in a file must be from 0 to {LAPLACE_KURTOSIS:g}, but it is "
            f"{kurtosis[~fits][0]}; get a fresh copy of the file"
        )
