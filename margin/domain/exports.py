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

    from .domain import Domain
    from .marginal import Marginal

__all__ = [
    "domain_to_pandas",
    "to_arrow",
    "to_json",
    "to_pandas",
    "to_polars",
    "to_xarray",
    "uncertainty",
]


_MOST_SHOWN = 5
"""Largest number of categories that a summary of a domain shows."""


def to_arrow(marginal: "Marginal") -> Any:
    """A `pyarrow.Table` with one row for each cell.

    Its columns are the attributes, "count" (the number of rows), "low" and "high" (the bounds of
    `Marginal.interval` at 95 %), and "noise_sd" and "missed_sd" (the roots of the two parts of the
    variance, in rows). The last four are null where they are not known.
    """
    import pyarrow as pa

    labels = [attribute.names for attribute in marginal.domain.values()]
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


def to_pandas(marginal: "Marginal") -> "pandas.DataFrame":
    """A `pandas.DataFrame` with one row for each cell, indexed by the categories.

    Its columns are "count", "sd" (the root of the variance, in rows), and "low" and "high" (the
    bounds of `Marginal.interval` at 95 %). The last three are NaN where they are not known. Each
    level of the index is categorical, so sorting and plotting keep the declared order of the
    categories; it is ordered for bins, dates and attributes that are declared as ordered.
    """
    import pandas

    low, high = marginal.interval(0.95)
    columns = {
        "count": marginal.counts,
        "sd": np.sqrt(marginal.variance),
        "low": low,
        "high": high,
    }
    return pandas.DataFrame(
        {name: numbers.ravel() for name, numbers in columns.items()},
        index=_index(marginal.domain),
    )


def _index(domain: "Domain") -> "pandas.Index":
    """The index of `to_pandas`: the cells, as categories of each attribute."""
    import pandas

    categories = [
        pandas.CategoricalIndex(
            form.names,
            categories=form.names,
            ordered=form.ordered or form.bins is not None,
            name=name,
        )
        for name, form in domain.items()
    ]
    if len(categories) == 1:
        return categories[0]
    return pandas.MultiIndex.from_product(categories)


def domain_to_pandas(domain: "Domain") -> "pandas.DataFrame":
    """A `pandas.DataFrame` with one row for each attribute.

    Its columns are "kind" (how the categories are declared), "size" (their number) and "categories"
    (the first and the last of them, as a reader would write them).
    """
    import pandas

    rows = {
        name: {
            "kind": attribute.kind,
            "size": attribute.size,
            "categories": _first_and_last(attribute.captions),
        }
        for name, attribute in domain.items()
    }
    table = pandas.DataFrame.from_dict(
        rows,
        orient="index",
        columns=["kind", "size", "categories"],
    )
    return table.rename_axis("attribute")


def _first_and_last(captions: tuple[str, ...]) -> str:
    """A text with all captions, or with the first ones and the last one; dots replace at least
    two."""
    shown = list(captions)
    if len(shown) > _MOST_SHOWN + 1:
        shown = [*shown[: _MOST_SHOWN - 1], "...", shown[-1]]
    return ", ".join(shown)


def to_polars(marginal: "Marginal") -> Any:
    """A `polars.DataFrame` with the columns of `to_arrow`."""
    polars = needed("polars")
    return polars.from_arrow(to_arrow(marginal))


def to_xarray(marginal: "Marginal") -> Any:
    """An `xarray.Dataset` with the columns of `to_arrow` as variables. Its dimensions are the
    attributes, and its coordinates their categories."""
    xarray = needed("xarray")
    coordinates = {name: list(attribute.names) for name, attribute in marginal.domain.items()}
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
        "attributes": {name: list(form.names) for name, form in marginal.domain.items()},
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
