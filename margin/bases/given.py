"""What `release(base=)` takes: a public table, or an earlier release."""

import os
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from .._types import Integers
from ..data.opening import open_source
from ..domain.domain import Domain
from ..errors import DataError, DomainError, MarginError
from ..simulation import Simulation
from ..store import load, release_digest
from ..synopses import ViewSynopsis
from ..synopses.bases.forms import EarlierRelease, PublicRows, StatedBase

__all__ = ["PublicTable", "stated_base"]

_ACCEPTED = (
    "a PublicTable(data, source=...), a synopsis of views such as `margin.load` returns, or the "
    "path of its .margin file"
)


@dataclass(
    frozen=True,
    eq=False,
)
class PublicTable:
    """A table that is already public, as the base of a release.

    A release protects nobody in this table: its rows are stored in the `.margin` file. Pass only a
    table that anyone may read.

    Parameters
    ----------
    data
        The table, as `release` takes one. It must have the attributes of the release's domain.
    source
        Where the table was published. The provenance of the release states it.

    Raises
    ------
    MarginError
        If `source` is empty.

    Examples
    --------
    >>> survey = PublicTable({"sex": [0, 1], "smokes": [1, 0]}, source="example.org/survey-2024")
    >>> survey.source
    'example.org/survey-2024'
    """

    data: object
    source: str

    def __post_init__(self) -> None:
        if not isinstance(self.source, str) or not self.source.strip():
            raise MarginError(
                "source must say where the public table was published, but it is empty or not a "
                "text; pass it as in PublicTable(data, source='example.org/survey-2024')"
            )


def stated_base(
    base: object,
    domain: Domain,
    *,
    allow_simulation: bool,
) -> StatedBase:
    """Check what a user gave as a base, and read it.

    Parameters
    ----------
    base
        See `margin.release`.
    domain
        The domain of the release.
    allow_simulation
        Whether the base may be a simulation, which is not private.

    Raises
    ------
    MarginError
        If it is none of what is accepted, or does not fit the domain.
    """
    if isinstance(base, PublicTable):
        return _public(base, domain)
    if isinstance(base, str | os.PathLike):
        base = load(base, allow_simulation=allow_simulation)
    if isinstance(base, Simulation):
        base = base.synopsis
    if not isinstance(base, ViewSynopsis) or base.provenance is None:
        raise MarginError(
            f"base must be {_ACCEPTED}, but it is of type {type(base).__name__}; declare a table "
            "that anyone may read as PublicTable"
        )
    if not base.provenance.private and not allow_simulation:
        raise MarginError(
            "base must be public or a private release, but it is a simulation, which is not "
            "private; pass the result of `release`"
        )
    return _earlier(base, domain)


def _public(base: PublicTable, domain: Domain) -> PublicRows:
    """Count the different rows of a public table."""
    source = open_source(base.data)
    source.check(domain)
    found: list[tuple[Integers, Integers]] = []
    for batch in source.batches(domain):
        codes = np.column_stack([np.asarray(batch[name], np.int64) for name in domain])
        if len(codes):
            found.append(_different(codes, np.ones(len(codes), np.int64)))
    if not found:
        raise DataError("the base must have at least one row, but it has none; leave base out")
    codes = np.concatenate([one for one, _ in found])
    weights = np.concatenate([counts for _, counts in found])
    return PublicRows(domain, *_different(codes, weights), base.source)


def _different(codes: Integers, weights: Integers) -> tuple[Integers, Integers]:
    """The different rows, and the sums of their weights."""
    rows, which = np.unique(codes, axis=0, return_inverse=True)
    summed = np.bincount(which.ravel(), weights, len(rows))
    return rows, summed.astype(np.int64)


def _earlier(base: ViewSynopsis, domain: Domain) -> EarlierRelease:
    """Check that an earlier release has the attributes of the domain."""
    for name in domain:
        if name not in base.domain.position or base.domain[name] != domain[name]:
            raise DomainError(
                f"the base must declare the attribute {name!r} with the same values as the domain, "
                "but it does not; use the same declaration for both, or leave the attribute out of "
                "the domain. If released categories only need other names, or are put together, no "
                "new release is needed: see synopsis.recoded (margin publish --categories)"
            )
    if not base.held.total > 0:
        raise DomainError(
            "the base must have a positive noisy number of rows, but it does not; leave base out"
        )
    provenance = base.provenance
    assert provenance is not None
    stated: dict[str, Any] = {
        "kind": "release",
        "digest": release_digest(base),
        "private": provenance.private,
        "statement": provenance.statement.to_json(),
        "total_is_public": base.domain.rows is not None,
        "charge": None if provenance.token is None else asdict(provenance.token),
        "base": provenance.base,
    }
    return EarlierRelease(domain, base, base.held.total, stated)
