"""`open_source`: a source of rows from a file, a data frame, an array or any other table."""

import os
from collections.abc import Mapping

import numpy as np

from .._optional import is_instance
from ..domain.domain import Domain
from ..errors import DataError
from .files import SUFFIXES
from .folders import open_path
from .packed import SparseSource
from .source import CodesSource, ColumnsSource, FrameSource, Source
from .spark import SparkSource

__all__ = ["open_source"]

_ACCEPTED = (
    f"the path of a file ending in {', '.join(SUFFIXES)}, or of a folder of such files; a data "
    "frame (pandas, polars, pyarrow, DuckDB relation, Spark); a dict of columns; a two-dimensional "
    "numpy array of integer codes; or a Source"
)


def open_source(data: object) -> Source:
    """A source of the rows of `data`. A `Source` is returned unchanged.

    Parameters
    ----------
    data
        One of these:

        - a path ending in .csv, .tsv, .csv.gz, .tsv.gz, .parquet, .pq, .json, .jsonl or .ndjson;
        - a pattern of such paths (`"visits/*.parquet"`), or a folder of such files, in which a
          folder named `name=value` adds a column;
        - a data frame that supports Arrow (pandas, polars, pyarrow, a DuckDB relation), or a Spark
          data frame;
        - a dict from names to columns of equal length;
        - an integer array of codes, shape (rows, attributes), with the columns in the order of the
          domain;
        - a `Source`, such as `Sql`.

    Raises
    ------
    DataError
        When `data` is none of these.

    Examples
    --------
    >>> from margin import Domain
    >>> source = open_source({"sex": ["F", "M", "F"], "children": [0, 2, 1]})
    >>> domain = Domain({"sex": ["M", "F"], "children": 4})
    >>> [batch["sex"].tolist() for batch in source.batches(domain)]
    [[1, 0, 1]]
    """
    if isinstance(data, str | os.PathLike):
        return open_path(data)
    if isinstance(data, Domain):
        raise DataError(
            "data must be the table to release, but it is a Domain; call "
            "release(table, domain=domain, budget=...)"
        )
    if isinstance(data, np.ndarray):
        return CodesSource(data)
    if isinstance(data, Mapping):
        return ColumnsSource(data)
    if is_instance(data, "pandas", "DataFrame"):
        return ColumnsSource(data)
    if type(data).__module__.startswith("pyspark.sql."):
        return SparkSource(data)
    if is_instance(data, "pandas", "Series"):
        raise DataError(
            "data must be a table with named columns, but it is a single column (a pandas Series); "
            "give the data frame, or series.to_frame()"
        )
    if hasattr(data, "__arrow_c_stream__"):
        return FrameSource(data)
    if callable(getattr(data, "tocsr", None)):
        return SparseSource(data)
    if isinstance(data, Source):
        return data
    if callable(getattr(data, "collect", None)):
        raise DataError(
            f"data must hold rows, but a {type(data).__name__} is a query that has not run yet; "
            "call its collect() first"
        )
    advice = ""
    if isinstance(data, list | tuple) and data and isinstance(data[0], Mapping):
        advice = "; a list of records can be given as pandas.DataFrame(records)"
    raise DataError(f"data of type {type(data).__name__} is not accepted; give {_ACCEPTED}{advice}")
