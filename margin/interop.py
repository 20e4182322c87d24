"""Marginals and synopses in the forms of other libraries, each imported when asked for."""

import itertools
import json
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from .errors import MarginError
from .marginal import Marginal

if TYPE_CHECKING:
    import pandas

    from .domain import Domain
    from .synopses import ViewSynopsis

__all__ = ["to_arrow", "to_json", "to_mbi", "to_mbi_constraints", "to_pandas", "to_polars", "to_xarray"]


def to_arrow(marginal: Marginal) -> Any:
    """A `pyarrow.Table`, one row a cell: a column an attribute, "count", and "noise_sd", null where it is not known."""
    import pyarrow as pa

    labels = list(itertools.product(*(attribute.labels for attribute in marginal.domain.values())))
    columns = {name: list(column) for name, column in zip(marginal.attributes, zip(*labels, strict=True), strict=True)}
    deviations = [None if math.isnan(variance) else math.sqrt(variance) for variance in marginal.variance.flat]
    columns |= {"count": marginal.counts.ravel().tolist(), "noise_sd": deviations}
    return pa.table({name: _column(values) for name, values in columns.items()})


def _column(values: list[Any]) -> Any:
    """An Arrow array; texts where the categories are of several types."""
    import pyarrow as pa

    kinds = {type(value) for value in values if value is not None}
    return pa.array(values if len(kinds) <= 1 else list(map(str, values)))


def to_pandas(marginal: Marginal) -> "pandas.Series[float]":
    """The counts as a series named "count", indexed by the categories of the attributes."""
    import pandas

    levels = [attribute.labels for attribute in marginal.domain.values()]
    index = pandas.MultiIndex.from_product(levels, names=marginal.attributes)
    flat = index if len(levels) > 1 else index.get_level_values(0)
    return pandas.Series(marginal.counts.ravel(), index=flat, name="count")


def to_polars(marginal: Marginal) -> Any:
    """A `polars.DataFrame` with the columns of `to_arrow`."""
    polars = _needed("polars")
    return polars.from_arrow(to_arrow(marginal))


def to_xarray(marginal: Marginal) -> Any:
    """An `xarray.Dataset` of "count" and "noise_sd" over the attributes, with their categories as coordinates."""
    xarray = _needed("xarray")
    coordinates = {name: list(attribute.labels) for name, attribute in marginal.domain.items()}
    variables = {
        "count": (marginal.attributes, marginal.counts),
        "noise_sd": (marginal.attributes, np.sqrt(marginal.variance)),
    }
    return xarray.Dataset(variables, coords=coordinates)


def to_json(marginal: Marginal) -> str:
    """JSON: the categories of each attribute, and nested lists of counts and noise deviations (null: not known)."""
    deviations = np.sqrt(marginal.variance)
    return json.dumps(
        {
            "attributes": {name: list(attribute.labels) for name, attribute in marginal.domain.items()},
            "counts": marginal.counts.tolist(),
            "noise_sd": None if np.isnan(deviations).any() else deviations.tolist(),
        },
        ensure_ascii=False,
        allow_nan=False,
    )


def to_mbi(synopsis: "ViewSynopsis") -> tuple[Any, list[Any]]:
    """The views for mbi 2.0 (Private-PGM): its `Domain`, and a `LinearMeasurement` a view.

    The tables are the consistent ones, with a declared number of rows as their total; each has the standard deviation
    that it was measured with. Neither part of the result can say what is impossible: see `to_mbi_constraints`.

    Raises
    ------
    MarginError
        When mbi is not installed.
    """
    mbi = _needed("mbi")
    domain = mbi.Domain(synopsis.domain.attributes, synopsis.domain.sizes)
    measurements = [
        mbi.LinearMeasurement(
            table.ravel(), tuple(synopsis.domain.attributes[axis] for axis in axes), stddev=math.sqrt(variance)
        )
        for axes, table, variance in zip(
            synopsis.tables.views, synopsis.tables.values, synopsis.tables.variances, strict=True
        )
    ]
    return domain, measurements


def to_mbi_constraints(domain: "Domain") -> list[Any]:
    """What the domain declares to be impossible, for mbi 2.0: a `mbi.Constraint` for each set of attributes that a rule
    names, none without rules. Without them mbi's model has rows in impossible cells.

        domain, measurements = to_mbi(synopsis)
        rules = to_mbi_constraints(synopsis.domain)
        model = mbi.estimation.MirrorDescent().estimate(domain, measurements, constraints=rules)
        table = mbi.marginal_oracles.variable_elimination(model.potentials, asked, model.total, constraints=rules)

    The last line is for sets of attributes that no view covers: there `model.project` of mbi 2.0.0 forgets the rules.
    Its `synthetic_data` keeps them.

    Raises
    ------
    MarginError
        When mbi is not installed.
    """
    mbi = _needed("mbi")
    named = dict.fromkeys(tuple(name for name in domain if name in rule) for rule in domain.impossible)
    return [
        mbi.Constraint(mbi.Domain(view, domain.shape(view)), invalid=np.argwhere(~domain.possible(view)))
        for view in named
    ]


def _needed(name: str) -> Any:
    import importlib

    try:
        return importlib.import_module(name)
    except ImportError:
        raise MarginError(f"this needs {name}: pip install {name}") from None
