"""`Simulation`: a synopsis with noise from a seed, together with the true counts."""

import os
from collections.abc import Iterable
from typing import Generic, NoReturn, TypeVar

import numpy as np
from numpy.typing import NDArray

from ._names import explains_calls
from .data.baskets import holders
from .data.count import count
from .data.source import Source
from .domain.domain import Domain
from .domain.level_views import level_view
from .domain.marginal import Marginal
from .domain.workload import Workload
from .errors import DomainError
from .privacy.budget import Budget
from .queries import Queries
from .queries.marginals import check_queries, shares
from .synopses.synopsis import Synopsis

__all__ = ["Simulation", "true_marginals"]

S = TypeVar("S", bound=Synopsis)


class Simulation(Generic[S]):
    """The result of `simulate`: a synopsis with noise from a seed, and the true counts.

    It is not private. It is a type of its own, so that no code takes it for a release.

    Attributes
    ----------
    synopsis
        The synopsis that the mechanism made, marked as not private.

    Examples
    --------
    >>> import margin
    >>> made = margin.simulate({"a": [0, 1]}, domain={"a": 2}, budget=margin.PureDP(1), seed=0)
    >>> made.truth(["a"]).counts.tolist()
    [1.0, 1.0]
    """

    def __init__(
        self,
        synopsis: S,
        source: Source | None = None,
    ) -> None:
        self.synopsis = synopsis
        self._source = source

    def __repr__(self) -> str:
        kind = type(self.synopsis).__name__
        return f"<Simulation: {kind}, attributes: {', '.join(self.domain)}; not private>"

    def _repr_html_(self) -> str:
        return self.synopsis._repr_html_()

    def __getattr__(self, name: str) -> NoReturn:
        found = f"{type(self).__name__!r} object has no attribute {name!r}"
        # While the object is unpickled, it has no synopsis yet.
        synopsis = self.__dict__.get("synopsis")
        if not name.startswith("_") and hasattr(synopsis, name):
            found += f"; its synopsis has it: write simulation.synopsis.{name}"
        raise AttributeError(found)

    @property
    def domain(self) -> Domain:
        """The attributes of the table."""
        return self.synopsis.domain

    @property
    def spent(self) -> Budget:
        """The budget that a release would have spent."""
        return self.synopsis.spent

    @explains_calls(further='put all attributes into one list, as in marginal(["age", "sex"])')
    def marginal(self, view: Iterable[str]) -> Marginal:
        """The noisy counts of one view of the domain."""
        return self.synopsis.marginal(view)

    def marginals(self, workload: Iterable[Iterable[str]]) -> list[Marginal]:
        """The noisy counts of several views of the domain, in their order."""
        return self.synopsis.marginals(workload)

    def answer(self, queries: Queries) -> NDArray[np.float64]:
        """The noisy answers to queries, as shares of the rows; see `Synopsis.answer`."""
        return self.synopsis.answer(queries)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the synopsis to a .margin file that is marked as a simulation.

        `load` reads such a file only with `allow_simulation=True`. The file does not hold the true
        counts.
        """
        self.synopsis.save(path)

    def truth(self, view: Iterable[str]) -> Marginal:
        """The true counts of one view of the domain; not private.

        These are counts of all rows, as for `truths`. `true_answer` has those of queries.

        Raises
        ------
        DomainError
            As for `truths`. Also if `view` holds queries.
        """
        if isinstance(view, Queries):
            raise DomainError(
                "truth needs a view, such as ['age'], but it got queries, whose true answers are "
                "shares of the rows; call simulation.true_answer(queries)"
            )
        return self.truths([view])[0]

    def true_answer(self, queries: Queries) -> NDArray[np.float64]:
        """The true answers to queries, as shares of the rows, shape (queries,); not private.

        `answer` gives those of the synopsis, in the same order. The rows are read once for every
        few thousand sets of attributes that the queries name.

        Raises
        ------
        DomainError
            If the queries are about another domain. Also if the simulation was loaded from a file.

        Examples
        --------
        >>> import margin
        >>> table, domain = {"a": [0, 1, 1, 1], "b": [0, 0, 1, 1]}, margin.Domain({"a": 2, "b": 2})
        >>> made = margin.simulate(table, domain=domain, budget=margin.PureDP(1), seed=0)
        >>> queries = margin.queries.Conjunctions.cells(domain, [["a", "b"]])
        >>> made.true_answer(queries).tolist()
        [0.25, 0.0, 0.25, 0.5]
        >>> made.answer(queries).shape
        (4,)
        """
        check_queries(queries, self.domain)
        return shares(queries, self.truths)

    def truths(self, workload: Iterable[Iterable[str]]) -> list[Marginal]:
        """Count the rows in each cell of several views, without noise, in one pass over the data.

        All rows count, also those that a simulation with `unit=` leaves out because their unit has
        more than `rows_per_person`. The intervals of the synopsis are for the counted rows.

        If each row of the data is a set of items, the result holds the number of rows that contain
        each item.

        Raises
        ------
        DomainError
            If a view is not one of the domain. Also if the simulation was loaded from a file, which
            does not hold the true counts.
        """
        if self._source is None:
            raise DomainError(
                "the truth needs the rows of the simulation, but one that was loaded from a file "
                "does not hold them; run margin.simulate again"
            )
        return true_marginals(self._source, self.domain, workload)


def true_marginals(
    source: Source,
    domain: Domain,
    workload: Iterable[Iterable[str]],
) -> list[Marginal]:
    """The true counts of several views, as of `Simulation.truths`."""
    asked = Workload.of(domain, workload)
    # The counts of rows that are sets of items do not depend on the view.
    held = holders(source, domain)
    tables = count(source, domain, asked.views) if held is None else [held] * len(asked)
    truths = []
    for names, table in zip(asked.names, tables, strict=True):
        view = level_view(domain, names)
        counts = view.rolled_up(table.astype(np.float64))
        truths.append(Marginal(view.rolled, counts, np.zeros(counts.shape)))
    return truths
