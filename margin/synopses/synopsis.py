"""`Synopsis`, the result of a release, and `Provenance`, the record of how it was made."""

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
from .counting import Counting

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Packed", "Provenance", "Synopsis"]


@dataclass(
    frozen=True,
    kw_only=True,
)
class Provenance:
    """A record of how a synopsis was made. No part of it is derived from the data.

    Attributes
    ----------
    mechanism
        The name and the parameters of the mechanism, as JSON values.
    statement
        The unit that is protected, and the budget that was spent.
    private
        Whether the noise came from the entropy of the operating system; False for a simulation.
    version
        The version of this library.
    token
        The receipt of the ledger that was charged; None without a ledger.
    base
        The base of the release as JSON values: that it is a public table, and where it was
        published; or the statement, and the receipt of the ledger, of the release that paid for it.
        None without a base.
    """

    mechanism: Any
    statement: Statement
    private: bool
    version: str
    token: Token | None = None
    base: dict[str, Any] | None = None

    @property
    def spent(self) -> Budget:
        """The budget that was spent."""
        return self.statement.budget


class Packed(NamedTuple):
    """The content of a synopsis in a file, beside its domain and provenance.

    Attributes
    ----------
    fields
        JSON values by name.
    arrays
        Arrays of numbers by name.
    """

    fields: dict[str, Any]
    arrays: dict[str, NDArray[np.generic]]


@dataclass(
    frozen=True,
    kw_only=True,
    eq=False,
)
class Synopsis(Counting):
    """The result of a release: an object that answers questions about the table.

    It contains nothing from the data except the noisy answers. Each form of it is a subclass with
    the methods `marginals`, `summary`, `pack`, `room` and `unpack`.

    Attributes
    ----------
    domain
        The attributes of the table.
    provenance
        How the synopsis was made; None until the release is complete.
    """

    domain: Domain
    provenance: Provenance | None = None

    @property
    def spent(self) -> Budget:
        """The budget that the release spent.

        Raises
        ------
        DomainError
            When the synopsis does not come from a complete release.
        """
        if self.provenance is None:
            raise DomainError(
                "the budget is known for the result of a release, but this synopsis is not yet "
                "one; read it from the synopsis that release() returns"
            )
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

    def _answered(
        self,
        view: View,
        counts: Floats,
        variance: Floats,
    ) -> Marginal:
        """Make a marginal; cells that the rules of the domain exclude get count and variance
        zero."""
        if self.domain.zeros is not None:
            possible = self.domain.possible(view)
            counts = np.where(possible, counts, 0.0)
            variance = np.where(possible, variance, 0.0)
        return Marginal(self.domain.restrict(view, checked=True), counts, variance)

    def answer(self, queries: Queries) -> NDArray[np.float64]:
        """The answers to queries, such as `margin.queries.Conjunctions`, as shares of the rows.

        Queries about the same attributes are answered from the marginal on these.

        Returns
        -------
        numpy.ndarray
            Shares from 0 to 1, shape (queries,).

        Raises
        ------
        DomainError
            When the queries are about another domain, or need a marginal that the synopsis cannot
            give.
        """
        if not isinstance(queries, Queries) or queries.domain != self.domain:
            is_queries = isinstance(queries, Queries)
            found = "about another domain" if is_queries else f"of type {type(queries).__name__}"
            raise DomainError(
                f"answer needs queries about the domain of the synopsis, but these are {found}; "
                "make them as in Conjunctions(synopsis.domain, ...)"
            )
        return shares(queries, self.marginals)

    def records(self, n: int) -> NDArray[np.int64]:
        """Make n synthetic rows: the code of each attribute in each row, shape (n, attributes).

        Raises
        ------
        DomainError
            When n is not a whole number >= 1, or this kind of synopsis has no records.
        """
        raise DomainError(
            "records need a synopsis that models all attributes together, but a "
            f"{type(self).__name__} has no records; release with PriView or DualQuery instead"
        )

    def summary(self) -> dict[str, str]:
        """Describe the content in words for people: a dictionary of texts by their titles."""
        raise NotImplementedError

    def plot_error(
        self,
        *,
        sizes: Sequence[int] = (1, 2, 3, 4),
        axes: "Axes | None" = None,
    ) -> "Axes":
        """Plot the expected noise by the number of attributes.

        See `margin.plots.results.plot_error`.
        """
        drawn: Axes = upwards("plot_error")(
            self,
            sizes=sizes,
            axes=axes,
        )
        return drawn

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the synopsis to a .margin file; see `margin.load`."""
        upwards("save")(self, path)

    def pack(self) -> Packed:
        """The content to write to a file, from which `unpack` makes the same synopsis."""
        raise NotImplementedError

    @classmethod
    def room(
        cls,
        fields: Mapping[str, Any],
        *,
        domain: Domain,
    ) -> Mapping[str, int]:
        """For each array by its name, the largest number of entries that `unpack` accepts.

        A file is read up to these sizes only, because anyone may have written it.

        Parameters
        ----------
        fields
            The fields of `pack`, as read from the file.
        domain
            The domain of the synopsis.

        Raises
        ------
        ValueError, TypeError, KeyError, MarginError
            When `fields` do not have the form that `pack` returns.
        """
        raise NotImplementedError

    @classmethod
    def unpack(
        cls,
        packed: Packed,
        *,
        domain: Domain,
        provenance: Provenance,
    ) -> Self:
        """Make the synopsis from the result of `pack`.

        Raises
        ------
        ValueError, TypeError, KeyError, MarginError
            When `packed` does not have the form that `pack` returns.
        """
        raise NotImplementedError
