"""How near synthetic records are to the release that they were made from."""

import itertools
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .._checks import whole_number
from ..domain.domain import View
from ..errors import DomainError, MarginError
from ..synopses.synopsis import Synopsis, check_synopsis

__all__ = ["RecordsDistance", "records_distance"]

_MOST_TABLES = 100
"""Largest number of tables of each size that are compared."""

_MOST_CELLS = 100_000
"""Largest number of cells of a table that is compared."""


@dataclass(
    frozen=True,
    kw_only=True,
)
class RecordsDistance:
    """The distances between tables of synthetic records and the answers of their release.

    Attributes
    ----------
    size
        The number of attributes of each table.
    tables
        The number of tables that were compared.
    mean, largest
        The mean and the largest distance: the share of the records that would have to change for
        the table to equal the answer, from 0 to 1.
    """

    size: int
    tables: int
    mean: float
    largest: float

    def __str__(self) -> str:
        return (
            f"{self.tables} tables of {self.size} attributes differ from the release by "
            f"{self.mean:.2%} of the rows on average, {self.largest:.2%} at most"
        )


def records_distance(
    synopsis: Synopsis,
    codes: NDArray[np.integer],
    *,
    size: int = 2,
) -> RecordsDistance:
    """Compare tables of records with the answers of the release that the records were made from.

    The distance of a table is half the sum of the absolute differences of shares. It needs no data
    and costs no privacy. It does not tell how far the release itself is from the truth: that is
    what the intervals of its answers are for.

    Parameters
    ----------
    synopsis
        The release.
    codes
        The records: codes of all attributes, shape (n, attributes), as `Synopsis.records` gives.
    size
        The number of attributes of each table. Of more than 100 tables, 100 are drawn at random,
        always the same ones.

    Returns
    -------
    RecordsDistance
        The mean and the largest distance.

    Raises
    ------
    DomainError
        When there are no records, `size` is not a number of attributes, or the release answers no
        table of this size.

    Examples
    --------
    >>> import margin
    >>> table = {"a": [0, 1] * 50, "b": [1, 0] * 50}
    >>> made = margin.release(table, domain={"a": 2, "b": 2}, budget=margin.PureDP(9))
    >>> records_distance(made, made.records(1000)).mean < 0.01
    True
    """
    check_synopsis(synopsis)
    domain = synopsis.domain
    whole_number("size", size, most=len(domain))
    if not len(codes):
        raise DomainError("records can be compared if there is at least one, but there is none")

    distances = []
    for view in _views(synopsis, size):
        try:
            answer = synopsis.marginal(view).counts
        except MarginError:  # some synopses answer only a few views
            continue
        columns = tuple(codes[:, axis] for axis in domain.axes(view))
        cells = np.ravel_multi_index(columns, answer.shape)
        counts = np.bincount(cells, minlength=answer.size).reshape(answer.shape)
        wanted = np.maximum(answer, 0.0)
        if wanted.sum() > 0:
            difference = counts / counts.sum() - wanted / wanted.sum()
            distances.append(float(np.abs(difference).sum()) / 2)
    if not distances:
        raise DomainError(
            f"records are compared with the answers of the release, but it answers no table of "
            f"{size} attributes; pass another size"
        )
    return RecordsDistance(
        size=size,
        tables=len(distances),
        mean=float(np.mean(distances)),
        largest=max(distances),
    )


def _views(
    synopsis: Synopsis,
    size: int,
) -> list[View]:
    """The views to compare: all small enough ones, or some of them at random."""
    names = synopsis.domain.attributes
    rng = np.random.default_rng(size)
    sets = list(itertools.islice(itertools.combinations(range(len(names)), size), 100_000))
    views = []
    for place in rng.permutation(len(sets)):
        view = tuple(names[axis] for axis in sets[place])
        if synopsis.domain.cells(view) <= _MOST_CELLS:
            views.append(view)
        if len(views) == _MOST_TABLES:
            break
    return views
