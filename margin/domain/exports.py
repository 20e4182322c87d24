"""Conversions of a marginal for other libraries, which are imported only when they are needed."""

import itertools
import json
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from .._optional import needed
from .._types import Floats

if TYPE_CHECKING:
    import pandas

    from .marginal import Marginal

__all__ = ["to_arrow", "to_json", "to_pandas", "to_polars", "to_xarray", "uncertainty"]


def to_arrow(marginal: "Marginal") -> Any:
    """A `pyarrow.Table` with one row for each cell.

    Its columns are the attributes, "count" (the number of rows), "low" and "high" (the bounds of
    `Marginal.interval` at 95 %), and "noise_sd" and "missed_sd" (the roots of the two parts of the
    variance, in rows). The last four are null where they are not known.
    """
    import pyarrow as pa

    labels = [attribute.labels for attribute in marginal.domain.values()]
    cells = list(itertools.product(*labels))
    columns: dict[str, list[Any]] = {}
    for axis, name in enumerate(marginal.attributes):
        columns[name] = [cell[axis] for cell in cells]
    columns["count"] = marginal.counts.ravel().tolist()
    for name, numbers in uncertainty(marginal).items():
        columns[name] = [None if math.isnan(number) else number for number in numbers.flat]
    return pa.table({name: _column(values) for name, values in columns.items()})


def uncertainty(marginal: "Marginal") -> dict[str, Floats]:
    """The bounds and standard deviations of the columns of `to_arrow`, by name.

    Each has the shape of the counts, and is NaN where it is not known.
    """
    low, high = marginal.interval(0.95)
    return {
        "low": low,
        "high": high,
        "noise_sd": np.sqrt(marginal.noise_variance),
        "missed_sd": np.sqrt(marginal.missed_variance),
    }


def _column(values: list[Any]) -> Any:
    """An Arrow array of the values. Values of several types are written as texts."""
    import pyarrow as pa

    kinds = {type(value) for value in values if value is not None}
    if len(kinds) > 1:
        values = list(map(str, values))
    return pa.array(values)


def to_pandas(marginal: "Marginal") -> "pandas.Series[float]":
    """A `pandas.Series` of the counts, named "count" and indexed by the categories of the
    attributes."""
    import pandas

    levels = [attribute.labels for attribute in marginal.domain.values()]
    index = pandas.MultiIndex.from_product(levels, names=marginal.attributes)
    flat = index if len(levels) > 1 else index.get_level_values(0)
    return pandas.Series(
        marginal.counts.ravel(),
        index=flat,
        name="count",
    )


def to_polars(marginal: "Marginal") -> Any:
    """A `polars.DataFrame` with the columns of `to_arrow`."""
    polars = needed("polars")
    return polars.from_arrow(to_arrow(marginal))


def to_xarray(marginal: "Marginal") -> Any:
    """An `xarray.Dataset` with the columns of `to_arrow` as variables. Its dimensions are the
    attributes, and its coordinates their categories."""
    xarray = needed("xarray")
    coordinates = {name: list(attribute.labels) for name, attribute in marginal.domain.items()}
    variables = {
        name: (marginal.attributes, numbers)
        for name, numbers in {"count": marginal.counts, **uncertainty(marginal)}.items()
    }
    return xarray.Dataset(variables, coords=coordinates)


def to_json(marginal: "Marginal") -> str:
    """A JSON text with the categories of each attribute, whether the counts were reconstructed, and
    nested lists of the counts and of the other columns of `to_arrow`. A list is null if one of its
    numbers is not known."""
    form: dict[str, Any] = {
        "attributes": {name: list(form.labels) for name, form in marginal.domain.items()},
        "reconstructed": marginal.reconstructed,
        "counts": marginal.counts.tolist(),
    }
    for name, numbers in uncertainty(marginal).items():
        form[name] = None if np.isnan(numbers).any() else numbers.tolist()
    return json.dumps(
        form,
        ensure_ascii=False,
        allow_nan=False,
    )
