"""A marginal in the forms of other libraries, each imported when asked for."""

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
    """A `pyarrow.Table`, one row a cell: a column an attribute, "count", and "noise_sd", null where
    it is not known."""
    import pyarrow as pa

    labels = list(itertools.product(*(attribute.labels for attribute in marginal.domain.values())))
    columns = {
        name: list(column)
        for name, column in zip(marginal.attributes, zip(*labels, strict=True), strict=True)
    }
    deviations = [
        None if math.isnan(variance) else math.sqrt(variance) for variance in marginal.variance.flat
    ]
    columns |= {"count": marginal.counts.ravel().tolist(), "noise_sd": deviations}
    return pa.table({name: _column(values) for name, values in columns.items()})


def _column(values: list[Any]) -> Any:
    """An Arrow array; texts where the categories are of several types."""
    import pyarrow as pa

    kinds = {type(value) for value in values if value is not None}
    return pa.array(values if len(kinds) <= 1 else list(map(str, values)))


def to_pandas(marginal: "Marginal") -> "pandas.Series[float]":
    """The counts as a series named "count", indexed by the categories of the attributes."""
    import pandas

    levels = [attribute.labels for attribute in marginal.domain.values()]
    index = pandas.MultiIndex.from_product(levels, names=marginal.attributes)
    flat = index if len(levels) > 1 else index.get_level_values(0)
    return pandas.Series(marginal.counts.ravel(), index=flat, name="count")


def to_polars(marginal: "Marginal") -> Any:
    """A `polars.DataFrame` with the columns of `to_arrow`."""
    polars = needed("polars")
    return polars.from_arrow(to_arrow(marginal))


def to_xarray(marginal: "Marginal") -> Any:
    """An `xarray.Dataset` of "count" and "noise_sd" over the attributes, with their categories as
    coordinates."""
    xarray = needed("xarray")
    coordinates = {name: list(attribute.labels) for name, attribute in marginal.domain.items()}
    variables = {
        "count": (marginal.attributes, marginal.counts),
        "noise_sd": (marginal.attributes, np.sqrt(marginal.variance)),
    }
    return xarray.Dataset(variables, coords=coordinates)


def to_json(marginal: "Marginal") -> str:
    """JSON: the categories of each attribute, and nested lists of counts and noise deviations
    (null: not known)."""
    deviations = np.sqrt(marginal.variance)
    return json.dumps(
        {
            "attributes": {
                name: list(attribute.labels) for name, attribute in marginal.domain.items()
            },
            "counts": marginal.counts.tolist(),
            "noise_sd": None if np.isnan(deviations).any() else deviations.tolist(),
        },
        ensure_ascii=False,
        allow_nan=False,
    )
