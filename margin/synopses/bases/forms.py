"""Bases of a release: public tables, and earlier releases."""

import json
import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..._types import Floats, Integers
from ...domain.domain import Domain
from ...domain.marginal import Marginal
from ...solvers import CountedBase
from ..synopsis import Packed

__all__ = [
    "EarlierRelease",
    "PublicRows",
    "StatedBase",
    "apart",
    "base_room",
    "prefixed",
    "read_base",
]

T = TypeVar("T")

_PREFIX = "base."
"""What the names of the arrays of a base begin with in the file of a synopsis."""

_MOST_CODES = 1 << 28
"""Largest number of codes that the rows of a base may have in a file."""


class StatedBase(ABC):
    """A base with a statement of why it may be used; `margin.solvers.Base` explains its methods.

    Attributes
    ----------
    stated
        JSON values for `Provenance.base`: what the base is, and that it is public or already paid
        for.
    """

    stated: dict[str, Any]

    @property
    @abstractmethod
    def rows(self) -> float:
        """The number of rows that the base was counted from."""

    @abstractmethod
    def marginals(self, asked: Integers) -> Floats:
        """The counts of marginals of one shape; see `margin.solvers.Base`."""

    @abstractmethod
    def noise(self, asked: Integers) -> Floats:
        """The variances of the shares of marginals by noise; see `margin.solvers.Base`."""

    @abstractmethod
    def pack(self) -> Packed:
        """The content of a file: all that the base needs to answer marginals."""

    @property
    @abstractmethod
    def described(self) -> str:
        """The base in words."""

    @property
    def not_measured(self) -> tuple[str, ...]:
        """The attributes that the base tells nothing about."""
        return ()


class PublicRows(StatedBase):
    """The rows of a public table, as a base.

    Parameters
    ----------
    domain
        The attributes.
    codes
        The different rows, shape (n, attributes).
    weights
        How many times each of them occurs, shape (n,).
    source
        Where the table was published.

    Raises
    ------
    ValueError
        If the codes do not fit the domain or the weights.
    """

    def __init__(
        self,
        domain: Domain,
        codes: Integers,
        weights: Integers,
        source: str,
    ) -> None:
        if codes.size > _MOST_CODES:
            raise ValueError(
                f"the different rows of a base must have at most {_MOST_CODES:,} codes, but they "
                f"have {codes.size:,}; take a sample of the table"
            )
        self._counted = CountedBase(domain.sizes, codes, weights)
        self.source = source
        self.stated = {"kind": "public table", "source": source, "rows": int(weights.sum())}

    @property
    def rows(self) -> float:
        """The number of rows of the table."""
        return self._counted.rows

    def marginals(self, asked: Integers) -> Floats:
        """Count the rows in each cell of marginals; see `margin.solvers.Base`."""
        return self._counted.marginals(asked)

    def noise(self, asked: Integers) -> Floats:
        """Zero: a public table has no noise; see `margin.solvers.Base`."""
        return self._counted.noise(asked)

    def pack(self) -> Packed:
        """The different rows of the table and how many times each occurs."""
        fields = {"kind": "table", "source": self.source, "count": len(self._counted.weights)}
        arrays: dict[str, NDArray[np.generic]] = {
            "codes": self._counted.codes.astype(np.int32),
            "weights": self._counted.weights.astype(np.int64),
        }
        return Packed(fields, arrays)

    @classmethod
    def unpack(
        cls,
        packed: Packed,
        domain: Domain,
    ) -> "PublicRows":
        """Make the base from the result of `pack`; ValueError if it does not have that form."""
        codes = packed.arrays["codes"]
        weights = packed.arrays["weights"]
        if codes.dtype != np.int32 or weights.dtype != np.int64:
            raise ValueError(
                "the rows of a base must be 32-bit and their weights 64-bit integers, but they are "
                f"{codes.dtype} and {weights.dtype}; get a fresh copy of the file"
            )
        rows = np.asarray(codes, dtype=np.int64)
        return cls(domain, rows, np.asarray(weights, np.int64), str(packed.fields["source"]))

    @property
    def described(self) -> str:
        """The base in words."""
        return f"public table of {self.rows:,.0f} rows: {self.source}"


class _Answers(Protocol):
    """The part of `ViewSynopsis` that a base needs."""

    @property
    def domain(self) -> Domain:
        """The attributes."""

    @property
    def not_measured(self) -> tuple[str, ...]:
        """The attributes that it tells nothing about."""

    def marginals(self, workload: Iterable[Iterable[str]]) -> list[Marginal]:
        """The marginals of several views."""

    def pack(self) -> Packed:
        """The content of a file."""


class EarlierRelease(StatedBase):
    """A release whose budget is already spent, as a base.

    Parameters
    ----------
    domain
        The attributes of the new release. The earlier one must have them too.
    synopsis
        The earlier release.
    rows
        Its noisy number of rows, > 0.
    stated
        See `StatedBase`.
    """

    def __init__(
        self,
        domain: Domain,
        synopsis: _Answers,
        rows: float,
        stated: dict[str, Any],
    ) -> None:
        self._names = domain.attributes
        self._synopsis = synopsis
        self._rows = rows
        self.stated = stated

    @property
    def rows(self) -> float:
        """The noisy number of rows of the earlier release."""
        return self._rows

    def marginals(self, asked: Integers) -> Floats:
        """The answers of the earlier release; see `margin.solvers.Base`."""
        if not asked.shape[1]:  # the total, if a release measured nothing else
            return np.full(len(asked), self._rows)
        views = [[self._names[axis] for axis in axes] for axes in asked.tolist()]
        tables = [np.maximum(one.counts, 0.0) for one in self._synopsis.marginals(views)]
        # A table without rows says nothing: uniform.
        return np.stack([table if table.sum() > 0 else np.ones_like(table) for table in tables])

    def noise(self, asked: Integers) -> Floats:
        """The variances that the earlier release states, 0 where it states none, for shares."""
        if not asked.shape[1]:  # the share of all rows is 1
            return np.zeros(len(asked))
        views = [[self._names[axis] for axis in axes] for axes in asked.tolist()]
        variances = [np.nan_to_num(one.variance) for one in self._synopsis.marginals(views)]
        return np.stack(variances) / self._rows**2

    def pack(self) -> Packed:
        """The content of the earlier release."""
        packed = self._synopsis.pack()
        fields = {
            "kind": "release",
            "rows": self._rows,
            "stated": self.stated,
            "domain": self._synopsis.domain.to_json(),
            "synopsis": packed.fields,
        }
        return Packed(fields, packed.arrays)

    @property
    def described(self) -> str:
        """The base in words."""
        return "an earlier release, paid for by its own budget"

    @property
    def not_measured(self) -> tuple[str, ...]:
        """The attributes that the base tells nothing about."""
        return self._synopsis.not_measured


class _Room(Protocol):
    """The interface of `ViewSynopsis.room`."""

    def __call__(
        self,
        fields: Mapping[str, Any],
        *,
        domain: Domain,
    ) -> Mapping[str, int]:
        """The largest number of entries of each array."""


class _Unpack(Protocol):
    """The interface of `ViewSynopsis.unpack`."""

    def __call__(
        self,
        packed: Packed,
        *,
        domain: Domain,
        provenance: None,
    ) -> _Answers:
        """Make the synopsis."""


def base_room(
    fields: Mapping[str, Any],
    domain: Domain,
    room: _Room,
) -> dict[str, int]:
    """The largest number of entries in each array of a base, by its name in the file.

    Parameters
    ----------
    fields
        The fields of the base, as read from the file.
    domain
        The domain of the release.
    room
        The same for an earlier release.

    Raises
    ------
    ValueError
        If the rows are too many for a file.
    """
    if fields["kind"] != "table":
        return prefixed(room(fields["synopsis"], domain=_domain(fields)))
    count = int(fields["count"])
    if not 0 < count * len(domain) <= _MOST_CODES:
        raise ValueError(
            f"the rows of a base must have from 1 to {_MOST_CODES:,} codes, but they have "
            f"{count * len(domain):,}; get a fresh copy of the file"
        )
    return prefixed({"codes": count * len(domain), "weights": count})


def read_base(
    packed: Packed,
    domain: Domain,
    unpack: _Unpack,
) -> StatedBase:
    """Make the base from the content of a file; `unpack` makes an earlier release.

    Raises
    ------
    ValueError
        If the content is not that of a base.
    """
    fields = packed.fields
    if fields["kind"] == "table":
        return PublicRows.unpack(packed, domain)
    own = _domain(fields)
    synopsis = unpack(Packed(fields["synopsis"], packed.arrays), domain=own, provenance=None)
    rows = float(fields["rows"])
    if not 0 < rows < math.inf:
        raise ValueError(
            f"the rows of a base ({rows}) must be positive and finite; get a fresh copy of the file"
        )
    return EarlierRelease(domain, synopsis, rows, dict(fields["stated"]))


def prefixed(arrays: Mapping[str, T]) -> dict[str, T]:
    """The entries of the arrays of a base, under the names that they have in the file."""
    return {_PREFIX + name: array for name, array in arrays.items()}


def apart(arrays: Mapping[str, T]) -> tuple[dict[str, T], dict[str, T]]:
    """The arrays of a synopsis itself, and those of its base by their own names."""
    own = {name: array for name, array in arrays.items() if not name.startswith(_PREFIX)}
    others = {
        name.removeprefix(_PREFIX): array
        for name, array in arrays.items()
        if name.startswith(_PREFIX)
    }
    return own, others


def _domain(fields: Mapping[str, Any]) -> Domain:
    """The domain of an earlier release in a file. It must be an object: `Domain` would open a text
    as a path."""
    declared = json.loads(fields["domain"])
    if not isinstance(declared, dict):
        raise ValueError(
            "the domain of a base must be an object, but it is of type "
            f"{type(declared).__name__}; get a fresh copy of the file"
        )
    return Domain(declared)
