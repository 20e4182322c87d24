"""`Synopsis`: what a release leaves behind, whatever its form; `Provenance`: how it came about."""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from .._types import Floats
from .._upwards import upwards
from ..domain.domain import Domain, View
from ..domain.marginal import Marginal
from ..errors import DomainError
from ..privacy.budget import Budget
from ..privacy.ledger import Token
from ..privacy.statement import Statement
from ..queries import Queries
from ..queries.marginals import shares

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Packed", "Provenance", "Synopsis"]


@dataclass(frozen=True, kw_only=True)
class Provenance:
    """How a synopsis came about; nothing in it is derived from the data.

    Attributes
    ----------
    mechanism
        The mechanism's name and parameters, as JSON values.
    statement
        What is protected, and the budget that was spent.
    private
        Whether the noise came from the operating system's entropy; False for a simulation.
    version
        The version of this library.
    token
        The receipt of the ledger that was charged; None without a ledger.
    """

    mechanism: Any
    statement: Statement
    private: bool
    version: str
    token: Token | None = None

    @property
    def spent(self) -> Budget:
        """The budget that was spent."""
        return self.statement.budget


class Packed(NamedTuple):
    """What of a synopsis goes into a file, beside its domain and provenance: JSON values, and
    arrays by name."""

    fields: dict[str, Any]
    arrays: dict[str, NDArray[np.generic]]


@dataclass(frozen=True, kw_only=True, eq=False)
class Synopsis:
    """What a release leaves behind. Each form of it is a subclass with `marginals`, `pack` and
    `unpack`.

    Attributes
    ----------
    domain
        The attributes of the table.
    provenance
        How the synopsis came about; None until the release is complete.
    """

    domain: Domain
    provenance: Provenance | None = None

    @property
    def spent(self) -> Budget:
        """The budget that the release spent; DomainError before there was one."""
        if self.provenance is None:
            raise DomainError("this synopsis is not yet the result of a release")
        return self.provenance.spent

    def marginal(self, view: Iterable[str]) -> Marginal:
        """The marginal of a view of the domain; see `marginals`."""
        return self.marginals([view])[0]

    def marginals(self, workload: Iterable[Iterable[str]]) -> list[Marginal]:
        """The marginals of several views, in their order.

        Raises
        ------
        DomainError
            When a view is not one of the domain, or is too large to write out.
        """
        raise NotImplementedError

    def _answered(self, view: View, counts: Floats, variance: Floats) -> Marginal:
        """A marginal of the domain: where its rules leave nothing, no count and no variance."""
        if self.domain.zeros is not None:
            possible = self.domain.possible(view)
            counts, variance = np.where(possible, counts, 0.0), np.where(possible, variance, 0.0)
        return Marginal(self.domain.restrict(view, checked=True), counts, variance)

    def answer(self, queries: Queries) -> NDArray[np.float64]:
        """The answers to queries of the domain, such as `margin.queries.Conjunctions`: shares of
        the rows.

        Those of queries about the same attributes come from their marginal.

        Returns
        -------
        numpy.ndarray
            Shape (queries,), from 0 to 1.

        Raises
        ------
        DomainError
            When the queries are of another domain, or the synopsis cannot give a marginal that one
            is about.
        """
        if not isinstance(queries, Queries) or queries.domain != self.domain:
            raise DomainError(
                "answer takes queries of the domain of the synopsis, such as Conjunctions"
            )
        return shares(queries, self.marginals)

    def records(self, n: int) -> NDArray[np.int64]:
        """Synthetic rows: the code of each attribute in each row, shape (n, attributes).

        Raises
        ------
        DomainError
            When n is not a whole number >= 1, or this kind of synopsis has no records.
        """
        raise DomainError(
            f"a {type(self).__name__} has no records; release with PriView or DualQuery to get some"
        )

    def summary(self) -> dict[str, str]:
        """What it consists of, for people: texts by their titles."""
        raise NotImplementedError

    def plot_error(
        self, *, sizes: Sequence[int] = (1, 2, 3, 4), axes: "Axes | None" = None
    ) -> "Axes":
        """A picture of the noise to expect, by the number of attributes; see
        `margin.plots.results.plot_error`."""
        drawn: Axes = upwards("plot_error")(self, sizes=sizes, axes=axes)
        return drawn

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the synopsis to a .margin file; see `margin.load`."""
        upwards("save")(self, path)

    def pack(self) -> Packed:
        """What a file must hold to make this synopsis again."""
        raise NotImplementedError

    @classmethod
    def room(cls, fields: Mapping[str, Any], *, domain: Domain) -> Mapping[str, int]:
        """The largest number of numbers in each array that `unpack` takes, by its name.

        A file is read no further than that: whoever wrote it may be anyone. `fields` are those of
        `pack`.

        Raises
        ------
        ValueError, TypeError, KeyError, MarginError
            When they are not what `pack` gives.
        """
        raise NotImplementedError

    @classmethod
    def unpack(cls, packed: Packed, *, domain: Domain, provenance: Provenance) -> Self:
        """The synopsis of what `pack` gave.

        Raises
        ------
        ValueError, TypeError, KeyError, MarginError
            When it is not what `pack` gives.
        """
        raise NotImplementedError
