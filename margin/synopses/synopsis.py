"""`Synopsis`, the result of a release, and `Provenance`, the record of how it was made."""

import dataclasses
import math
import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from .._names import explains_calls
from .._types import Floats
from .._upwards import upwards
from ..domain.domain import Domain, View
from ..domain.level_views import LevelView, level_view
from ..domain.marginal import Marginal
from ..domain.recoding.changes import Changes
from ..domain.workload import Workload
from ..errors import DomainError, FileError
from ..notebook import html_table
from ..privacy.budget import Budget
from ..privacy.event import Course
from ..privacy.ledger import Token
from ..privacy.statement import Statement
from ..queries import Queries
from ..queries.marginals import check_queries, shares
from .agreeing import agreed
from .counts.averages import Averages
from .source import Source

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Packed", "Provenance", "Synopsis", "check_synopsis", "describe", "tables_by_size"]

_LISTED = 6
"""Largest number of attributes that `repr` names."""


@dataclass(
    frozen=True,
    kw_only=True,
)
class Provenance:
    """A record of how a synopsis was made.

    No part of it is derived from the data, except `course`, which follows from answers that were
    paid for.

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
        published; or the digest of an earlier release (`margin.store.release_digest`), its
        statement, and the receipt of the ledger that paid for it. None without a base.
    known
        The views whose tables the domain declares as known. They were published as they are, and
        the guarantee does not protect what they say.
    description
        What the table is, in a sentence of its owner for readers; None if nobody wrote one.
    course
        What the mechanism measured, and how it divided the budget; None if it is not known, as in
        the file of an older version.

    Examples
    --------
    >>> import margin
    >>> made = margin.release({"a": [0, 1]}, domain={"a": 2}, budget=margin.PureDP(1))
    >>> made.provenance.private
    True
    """

    mechanism: Any
    statement: Statement
    private: bool
    version: str
    token: Token | None = None
    base: dict[str, Any] | None = None
    known: tuple[View, ...] = ()
    description: str | None = None
    course: Course | None = None

    @property
    def spent(self) -> Budget:
        """The budget that was spent."""
        return self.statement.budget


def describe(value: object) -> Any:
    """Describe a mechanism, or a part of one, by JSON values: the name of its class and its
    parameters.

    An object that is not a dataclass is described by the name of its class alone. So is a domain,
    because the file of a release holds the declarations beside the mechanism. JSON has no infinite
    numbers, so they are described by texts.
    """
    if isinstance(value, Domain):
        return {"name": "Domain"}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        names = [field.name for field in dataclasses.fields(value)]
        parameters = {name: describe(getattr(value, name)) for name in names}
        return {"name": type(value).__name__, **parameters}
    if isinstance(value, list | tuple):
        return [describe(item) for item in value]
    if isinstance(value, Mapping):
        return {str(name): describe(item) for name, item in value.items()}
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, np.floating) and not isinstance(value, float):
        return describe(float(value))
    if isinstance(value, np.integer | np.bool_):
        return value.item()
    # Plain values are JSON values already.
    if value is None or isinstance(value, str | int | float | bool):
        return value
    return {"name": type(value).__name__}


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
    repr=False,
)
class Synopsis(Averages):
    """The result of a release: an object that answers questions about the table.

    It contains nothing from the data except the noisy answers. The forms of `margin.synopses`
    answer marginals and counts.

    A mechanism of your own whose answers are no marginals returns a subclass that holds them: a
    frozen, keyword-only dataclass with a field for them. It needs no method. It has the statement,
    the `provenance` and the `spent` budget of every release. It answers no marginals, counts or
    records, and `save` refuses it: write the arrays yourself. `summary` may be overridden.

    Attributes
    ----------
    domain
        The attributes of the table.
    provenance
        How the synopsis was made; None until the release is complete.

    Examples
    --------
    >>> import margin
    >>> made = margin.release({"a": [0, 1] * 50}, domain={"a": 2}, budget=margin.PureDP(1))
    >>> isinstance(made, margin.Synopsis), made.marginal(["a"]).to_pandas().columns.tolist()
    (True, ['count', 'sd', 'low', 'high'])
    """

    _knows_sums: ClassVar[bool] = False
    """Whether `_sums` knows the errors of sums of cells by itself."""

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

    @property
    def known(self) -> Mapping[View, NDArray[np.int64]]:
        """The tables that the release takes as known, by their views: all answers agree with them
        exactly. See `Domain.known`."""
        return self.domain.known

    @explains_calls(further='put all attributes into one list, as in marginal(["age", "sex"])')
    def marginal(self, view: Iterable[str]) -> Marginal:
        """The marginal of a view of the domain, such as ``["place@state", "sex"]``; see
        `marginals`."""
        return self.marginals([view])[0]

    def marginals(self, workload: Iterable[Iterable[str]]) -> list[Marginal]:
        """The marginals of several views, in their order.

        A view may name a level of an attribute, as "place@state". Its counts are then the sums of
        those of the view on the attribute, and their variances those of the sums; they are NaN if
        the synopsis does not know the covariances of its cells.

        Raises
        ------
        DomainError
            When a view is not one of the domain, or is too large to write out.
        """
        source = self.source
        return [answer.answered_by(source) for answer in self._answers(workload)]

    def _answers(self, workload: Iterable[Iterable[str]]) -> list[Marginal]:
        """The marginals of several views, which may have levels."""
        if not self.domain.level_names:
            return self._marginals(workload)
        asked = Workload.of(self.domain, workload)
        if not asked.levels:
            return self._marginals(asked)
        views = [level_view(self.domain, names) for names in asked.names]
        # All views without a level are answered together, which may be much faster.
        plain = [one.view for one in views if not any(one.levels)]
        answers = iter(self._marginals(plain) if plain else ())
        return [self._rolled(one) if any(one.levels) else next(answers) for one in views]

    def source(self, view: Iterable[str]) -> Source:
        """How the marginal of a view, or the total for an empty one, is answered; see `Source`.

        Raises
        ------
        DomainError
            When the view is not one of the domain.
        """
        names = tuple(view)
        if not names:
            return self._made(()) if self.domain.rows is None else Source.KNOWN
        asked = level_view(self.domain, names)
        known = self.domain.constraints
        if known is not None and known.determines(self.domain.axes(asked.view), asked.groups):
            return Source.KNOWN
        return self._made(asked.view)

    def _made(self, _: View) -> Source:
        """How the marginal of a view without levels is answered if it is not known."""
        return Source.ANSWERED

    def _marginals(self, workload: Iterable[Iterable[str]]) -> list[Marginal]:
        """The marginals of several views without levels; the forms of this package define it."""
        raise DomainError(
            f"a {type(self).__name__} holds no marginals, but answers of its own; read them from "
            f"{self._own_fields}"
        )

    @property
    def _own_fields(self) -> str:
        """The fields that a subclass adds, as a list for a message."""
        inherited = {field.name for field in dataclasses.fields(Synopsis)}
        own = [field.name for field in dataclasses.fields(self) if field.name not in inherited]
        return ", ".join(own) or "its attributes"

    def tables(
        self,
        workload: Iterable[Iterable[str]],
        *,
        integers: bool = True,
        seed: int = 0,
    ) -> list[Marginal]:
        """Tables of several views that agree exactly, to publish them side by side.

        Answers of `marginals` need not agree with each other: two tables that were reconstructed
        may have different sums on attributes that they share. These tables agree on everything that
        they share, also across levels of attributes, and all have the same total. They are
        non-negative, zero in impossible cells, and agree with the number of rows and the known
        tables that the domain declares. They are near the separate answers: the sum of the squared
        differences is small, where each table counts by the inverse of its mean variance.

        This is post-processing: it spends no privacy. Tables of two calls need not agree with each
        other, so ask for all that are published together in one call.

        Parameters
        ----------
        workload
            The views. They may name levels, as "place@state".
        integers
            Whether counts must be whole numbers. They then agree to the last unit; other counts
            agree up to rounding errors of floats. `margin.solvers.WholeTables` has the method.
        seed
            The seed of the search for whole numbers, which is no part of the guarantee: the same
            seed gives the same tables.

        Returns
        -------
        list of Marginal
            The tables, in the order of the workload. Their variances are those of the separate
            answers, which agreement lowers on average but not in each cell; `noise_variance` also
            has the mean square of what rounding to whole numbers changed. Their intervals are those
            of the separate answers, wider only where a count would lie outside.

        Raises
        ------
        DomainError
            When a view is not one of the domain, cannot be answered, or all tables together are too
            large.

        Examples
        --------
        >>> import margin
        >>> from margin.datasets import people, people_domain
        >>> synopsis = margin.simulate(
        ...     people(), domain=people_domain(), budget=margin.PureDP(1), seed=1
        ... ).synopsis
        >>> one, other = synopsis.tables([["age", "region", "income"], ["region", "commute"]])
        >>> one.project(["region"]).counts.tolist() == other.project(["region"]).counts.tolist()
        True
        """
        asked = Workload.of(self.domain, workload)
        tables = self._agreed(asked, integers=integers, seed=seed)
        return [table.answered_by(self.source) for table in tables]

    def _agreed(
        self,
        asked: Workload,
        *,
        integers: bool,
        seed: int,
    ) -> list[Marginal]:
        """The tables of a workload that agree exactly."""
        views = [level_view(self.domain, names) for names in asked.names]
        answers = self._answers(asked)
        cells = self._marginals([view.view for view in views]) if asked.levels else answers
        return agreed(
            self.domain,
            views,
            cells,
            answers,
            integers=integers,
            seed=seed,
        )

    def recoded(self, changes: Mapping[str, Mapping[str, Any]]) -> "Synopsis":
        """The same release with categories that are renamed, or put together as one.

        This is post-processing: it spends no privacy. A category of the result is a set of declared
        ones, so its count is the sum of theirs, and its bounds allow for what their errors share.
        The result answers everything but `save`: keep the file of the release, and the changes.

        Parameters
        ----------
        changes
            For attributes, or levels such as "place@state", the new categories: a mapping from
            each new name to a category, or to the list of those that it stands for. All other
            categories stay. An attribute keeps those levels whose nodes hold its new categories
            whole.

        Raises
        ------
        DomainError
            When a category is not declared or listed twice, or a new name is already taken.

        Examples
        --------
        >>> import margin
        >>> from margin.datasets import people, people_domain
        >>> synopsis = margin.simulate(
        ...     people(), domain=people_domain(), budget=margin.PureDP(1), seed=1
        ... ).synopsis
        >>> new = synopsis.recoded({"region": {"lowland": ["coast", "valley"]}})
        >>> before = synopsis.count({"region": ["coast", "valley"]})
        >>> new.count({"region": "lowland"}) == before
        True
        """
        made: Synopsis = upwards("recoded")(self, changes)
        return made

    @property
    def released(self) -> "Synopsis":
        """The synopsis as it was released: itself, unless its categories were changed later."""
        return self

    @property
    def changed(self) -> Changes:
        """The categories that were changed after the release: for each attribute or level, each new
        one with those that it stands for. Empty if there are none."""
        return {}

    def _rolled(self, view: LevelView) -> Marginal:
        """The marginal of a view with levels."""
        if self._knows_sums and self.domain.zeros is None:
            return self._rolled_by_sums(view)
        (cells,) = self._marginals([view.view])
        counts = view.rolled_up(cells.counts)
        noise = view.variance_of_sums(cells.noise_variance)
        missed = view.variance_of_sums(cells.missed_variance)
        if self._knows_sums:
            # The error of a sum of several cells, with that of cells that rules exclude.
            sums = self._rolled_by_sums(view)
            noise = np.where(np.isnan(noise), sums.noise_variance, noise)
            missed = np.where(np.isnan(missed), sums.missed_variance, missed)
        return Marginal(
            view.rolled, counts, noise, missed_variance=missed if cells.reconstructed else None
        )

    def _rolled_by_sums(self, view: LevelView) -> Marginal:
        """The marginal of a view with levels, each cell by itself, without regard to rules."""
        sums = [self._sums([codes]) for codes in view.cells()]
        parts = [(one.estimates[0], one.noise[0, 0], one.missed[0, 0]) for one in sums]
        counts, noise, missed = np.array(parts).T.reshape(3, *view.rolled.sizes)
        reconstructed = any(one.reconstructed for one in sums)
        return Marginal(
            view.rolled, counts, noise, missed_variance=missed if reconstructed else None
        )

    def _answered(
        self,
        view: View,
        counts: Floats,
        variance: Floats,
        kurtosis: Floats | float = 0.0,
        missed: Floats | None = None,
    ) -> Marginal:
        """Make a marginal; cells that the rules of the domain exclude get count and variance
        zero."""
        if self.domain.zeros is not None:
            possible = self.domain.possible(view)
            counts = np.where(possible, counts, 0.0)
            variance = np.where(possible, variance, 0.0)
            missed = None if missed is None else np.where(possible, missed, 0.0)
        domain = self.domain.restrict(view, checked=True)
        return Marginal(domain, counts, variance, missed_variance=missed, noise_kurtosis=kurtosis)

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
        check_queries(queries, self.domain)
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

    @property
    def not_measured(self) -> tuple[str, ...]:
        """The attributes about which the release says nothing; empty if this is not known."""
        return ()

    def summary(self) -> dict[str, str]:
        """Describe the content in words for people: a dictionary of texts by their titles."""
        return {"answers of its own": self._own_fields}

    def __repr__(self) -> str:
        names = [repr(name) for name in self.domain]
        listed = ", ".join(names[:_LISTED]) + (", ..." if len(names) > _LISTED else "")
        parts = [f"{_counted(len(names), 'attribute')} ({listed})", self._contents()]
        if self.provenance is None:
            parts.append("not yet the result of a release")
        else:
            made = self.provenance
            name = made.mechanism.get("name") if isinstance(made.mechanism, dict) else None
            parts.append("" if made.private else "SIMULATION, not private")
            parts += [made.spent.describe(), f"mechanism {name!r}" if name else ""]
        return f"<{type(self).__name__}: {'; '.join(part for part in parts if part)}>"

    def _contents(self) -> str:
        """What the synopsis holds, in a few words for `repr`."""
        title, text = next(iter(self.summary().items()))
        return f"{title}: {text}"

    def _repr_html_(self) -> str:
        import pandas

        if self.provenance is None:
            heading = "Synopsis that is not yet the result of a release"
        elif self.provenance.private:
            heading = self.provenance.statement.describe()
        else:
            heading = f"SIMULATION, not private; {self.spent.describe()}"
        about = {"attributes": ", ".join(self.domain), **self.summary()}
        content = [text.replace("\n", "; ") for text in about.values()]
        table = pandas.DataFrame({"title": list(about), "content": content})
        return html_table(heading, table, index=False)

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

    def save(self, path: str | os.PathLike[str], *, replace: bool = True) -> None:
        """Write the synopsis to a .margin file; see `margin.load`.

        The file keeps the solvers of `margin.solvers` with their parameters. Of a solver of your
        own it keeps the name alone, and `margin.load` warns that the default one takes its place.

        Parameters
        ----------
        path
            The file. It appears complete or not at all.
        replace
            Whether an existing file is replaced.

        Raises
        ------
        FileError
            When `path` is no path, or when the file cannot be written, or exists and may not be
            replaced.
        """
        if not isinstance(path, str | os.PathLike):
            raise FileError(
                "save needs the path of the file to write, but it got an object of type "
                f"{type(path).__name__}; pass a path such as 'people.margin'"
            )
        upwards("save")(self, path, replace=replace)

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


def tables_by_size(views: Iterable[Sequence[str]]) -> str:
    """The number of tables for each number of attributes, in words.

    >>> tables_by_size([["age"], ["sex"], ["age", "sex"]])
    '2 tables of 1 attribute, 1 table of 2 attributes'
    """
    sizes = Counter(map(len, views))
    return ", ".join(
        f"{_counted(count, 'table')} of {_counted(size, 'attribute')}"
        for size, count in sorted(sizes.items())
    )


def _counted(count: int, noun: str) -> str:
    """A number with its noun, such as "2 tables"."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def check_synopsis(given: object) -> None:
    """Raise DomainError if an object is not a synopsis, such as a table that is not released."""
    if isinstance(given, Synopsis):
        return
    kind = type(given).__name__
    instead = "pass what margin.release or margin.load returns"
    if isinstance(getattr(given, "synopsis", None), Synopsis):
        instead = "pass its attribute synopsis"
    raise DomainError(f"a synopsis is needed, but an object of type {kind} is given; {instead}")
