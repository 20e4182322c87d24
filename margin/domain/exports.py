"""Conversions of a marginal for other libraries, which are imported only when they are needed."""

import itertools
import json
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from .._optional import needed

if TYPE_CHECKING:
    import pandas

    from .marginal import Marginal

__all__ = ["to_arrow", "to_json", "to_pandas", "to_polars", "to_xarray"]


def to_arrow(marginal: "Marginal") -> Any:
    """A `pyarrow.Table` with one row for each cell.

    Its columns are the attributes, "count" (the number of rows), and "noise_sd" (the standard
    deviation of the noise in the count, in rows; null where it is not known).
    """
    import pyarrow as pa

    labels = [attribute.labels for attribute in marginal.domain.values()]
    cells = list(itertools.product(*labels))
    columns: dict[str, list[Any]] = {}
    for axis, name in enumerate(marginal.attributes):
        columns[name] = [cell[axis] for cell in cells]
    columns["count"] = marginal.counts.ravel().tolist()
    columns["noise_sd"] = [_deviation(variance) for variance in marginal.variance.flat]
    return pa.table({name: _column(values) for name, values in columns.items()})


def _deviation(variance: float) -> float | None:
    return None if math.isnan(variance) else math.sqrt(variance)


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
    """An `xarray.Dataset` with the variables "count" and "noise_sd". Its dimensions are the
    attributes, and its coordinates their categories."""
    xarray = needed("xarray")
    coordinates = {name: list(attribute.labels) for name, attribute in marginal.domain.items()}
    variables = {
        "count": (marginal.attributes, marginal.counts),
        "noise_sd": (marginal.attributes, np.sqrt(marginal.variance)),
    }
    return xarray.Dataset(variables, coords=coordinates)


def to_json(marginal: "Marginal") -> str:
    """A JSON text with the categories of each attribute, and nested lists of the counts and of the
    standard deviations of their noise. If any deviation is unknown, null replaces all of them."""
    deviations = np.sqrt(marginal.variance)
    is_known = not np.isnan(deviations).any()
    form = {
        "attributes": {name: list(form.labels) for name, form in marginal.domain.items()},
        "counts": marginal.counts.tolist(),
        "noise_sd": deviations.tolist() if is_known else None,
    }
    return json.dumps(
        form,
        ensure_ascii=False,
        allow_nan=False,
    )
