"""What `release(known=)` takes: tables of public counts."""

import os
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from .._types import Integers
from ..data.encode import Encoder
from ..data.files import FileSource
from ..data.folders import open_path
from ..data.opening import open_source
from ..data.source import Tabular
from ..domain.attribute import Attribute
from ..domain.domain import Domain
from ..domain.level_views import attribute_at
from ..errors import DataError, DomainError

__all__ = ["COUNT", "view_of", "with_known"]

COUNT = "count"
"""The column of the counts in a file or a data frame."""


def with_known(domain: Domain, known: object) -> Domain:
    """A domain that also declares known tables.

    Parameters
    ----------
    domain
        The attributes.
    known
        See `margin.release`.

    Raises
    ------
    MarginError
        If a table is not one of what is accepted, or tables contradict each other.
    """
    if not isinstance(known, Mapping):
        return Domain(domain, known=known)  # type: ignore[arg-type]  # refused there
    tables = {names: _table(domain, names, given) for names, given in known.items()}
    return Domain(domain, known=tables)


def view_of(path: str | os.PathLike[str]) -> tuple[str, ...]:
    """The view of a known table in a file: all its columns except that of the counts.

    Raises
    ------
    DataError
        If the file cannot be read.
    DomainError
        If it has no column of counts.
    """
    source = open_path(path)
    if not isinstance(source, FileSource):
        raise DataError(f"a known table must be one file, but {str(path)!r} is not; name one file")
    names = [field.name for field in source.fields()]
    if COUNT not in names:
        raise DomainError(
            f"the known table {str(path)!r} must have a column {COUNT!r}, but its columns are "
            f"{', '.join(map(repr, names))}; rename the column of the counts"
        )
    return tuple(name for name in names if name != COUNT)


def _table(
    domain: Domain,
    names: Any,
    given: object,
) -> object:
    """The counts of a view, from an array, a data frame or a file."""
    named = isinstance(given, str | os.PathLike | Mapping) or hasattr(given, "columns")
    if not named and not hasattr(given, "__arrow_c_stream__"):
        return given
    view = (names,) if isinstance(names, str) else names
    if not isinstance(view, Iterable):
        return given
    return _counted(domain, tuple(view), given)


def _counted(
    domain: Domain,
    view: tuple[str, ...],
    given: object,
) -> Integers:
    """The counts from a table that has a column for each name of a view, and one of counts."""
    listed = ", ".join(map(str, view))
    source = open_source(given)
    if not isinstance(source, Tabular):
        raise DataError(
            f"the known table of ({listed}) must be an array, a data frame or a file, but it is of "
            f"type {type(given).__name__}; convert it"
        )
    attributes = [attribute_at(domain, name) for name in view]
    counts = np.full([attribute.size for attribute in attributes], -1, np.int64)
    encoders = [Encoder(name, one) for name, one in zip(view, attributes, strict=True)]
    for columns in source.columns([*view, COUNT]):
        numbers = [_whole(value, listed) for value in columns[-1].to_pylist()]
        pairs = zip(encoders, columns[:-1], strict=True)
        cells = tuple(_codes(encoder, column, listed) for encoder, column in pairs)
        for place, number in enumerate(numbers):
            cell = tuple(int(codes[place]) for codes in cells)
            if counts[cell] >= 0:
                raise DomainError(
                    f"the known table of ({listed}) must have one row for each cell, but it has "
                    f"two for {_named(view, attributes, cell)}; leave one of them out"
                )
            counts[cell] = number
    if (counts < 0).any():
        first = tuple(np.argwhere(counts < 0)[0].tolist())
        raise DomainError(
            f"the known table of ({listed}) must have a row for each cell, but it has none for "
            f"{_named(view, attributes, first)}; add it, with a count of 0 if it is impossible"
        )
    return counts


def _codes(
    encoder: Encoder,
    column: Any,
    listed: str,
) -> Integers:
    """The codes of a column; the message may quote what does not fit, because it is public."""
    try:
        return np.asarray(encoder.encode(column))
    except DataError:
        for place in range(len(column)):
            value = column.slice(place, 1)
            try:
                encoder.encode(value)
            except DataError:
                raise DomainError(
                    f"the known table of ({listed}) must hold only categories of the domain, but "
                    f"its column {encoder.name!r} holds {value[0].as_py()!r}; correct the table or "
                    "the domain"
                ) from None
        raise


def _whole(value: object, listed: str) -> int:
    """A count as a whole number."""
    try:
        number = float(value)  # type: ignore[arg-type]  # what is no number is refused below
        if number == int(number) and number >= 0:
            return int(number)
    except (TypeError, ValueError, OverflowError):
        pass
    raise DomainError(
        f"column {COUNT!r} of the known table of ({listed}) must hold whole numbers >= 0, but it "
        f"holds {value!r}; correct it"
    )


def _named(
    view: tuple[str, ...],
    attributes: list[Attribute],
    cell: tuple[int, ...],
) -> str:
    """A cell for a message."""
    triples = zip(view, attributes, cell, strict=True)
    return ", ".join(f"{name}={one.name(code)!r}" for name, one, code in triples)
