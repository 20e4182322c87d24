"""The excess kurtosis of noise as a field of a file, and back."""

from collections.abc import Mapping
from typing import Any

from ..domain.bounds import LAPLACE_KURTOSIS

__all__ = ["packed_kurtosis", "read_kurtosis"]


def packed_kurtosis(kurtosis: float) -> dict[str, float]:
    """The field of a file; none for a kurtosis of 0, as in older files."""
    return {"kurtosis": kurtosis} if kurtosis else {}


def read_kurtosis(fields: Mapping[str, Any]) -> float:
    """The kurtosis from the fields of a file: 0 if there is none. ValueError if it is damaged."""
    kurtosis = float(fields.get("kurtosis", 0.0))
    if not 0 <= kurtosis <= LAPLACE_KURTOSIS:
        raise ValueError(
            f"the kurtosis in a file must be from 0 to {LAPLACE_KURTOSIS:g}, but it is {kurtosis}; "
            "get a fresh copy of the file"
        )
    return kurtosis
