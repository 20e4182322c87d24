"""`ViewSynopsis` answers any marginal from consistent tables of views."""

import dataclasses
import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from .._types import Floats, Integers
from ..domain.domain import Domain, View
from ..domain.marginal import Marginal
from ..domain.workload import Workload
from ..errors import DomainError, SolverError
from ..solvers import (
    Ladder,
    Newton,
    Population,
    Reconstruction,
    Rows,
    Solutions,
    Solver,
    Tables,
    coverage_error,
)
from .describe import describe
from .exports import to_mbi
from .noisy_tables import tables_of
from .synopsis import Packed, Provenance, Synopsis

__all__ = ["ViewSynopsis"]


_MAX_CELLS = 1 << 24


@dataclass(frozen=True, kw_only=True, eq=False)
class ViewSynopsis(Synopsis):
    """Noisy tables of views, and the way to answer what they do not cover.

    A marginal within a view is that view's; any other is reconstructed from what the views say
    about its parts. Answers that no view covers need not agree with each other beyond the views.
    What the rules of the domain exclude has no count in any answer, and no record; where the domain
    declares the number of rows, answers add up to it.

    Attributes
    ----------
    domain, provenance
        See `Synopsis`.
    names
        The views, each with its attributes in the order they were asked for.
    tables
        The views' tables, with axes in the order of the domain.
    reconstruction
        The solver for marginals that no view covers.
    """

    names: tuple[View, ...]
    tables: Tables
    reconstruction: Solver = Newton()

    @classmethod
    def of(
        cls, domain: Domain, measured: Sequence[Marginal], *, reconstruction: Solver
    ) -> "ViewSynopsis":
        """A synopsis of tables as they were measured, with independent noise of one variance a
        table."""
        names = tuple(marginal.attributes for marginal in measured)
        variances = [marginal.variance.flat[0] for marginal in measured]
        tables = tables_of(domain, names, [marginal.counts for marginal in measured], variances)
        return cls(domain=domain, names=names, tables=tables, reconstruction=reconstruction)

    def with_tables(self, tables: Tables) -> "ViewSynopsis":
        """The same synopsis with other tables of the same views."""
        return dataclasses.replace(self, tables=tables)

    def with_reconstruction(self, reconstruction: Solver) -> "ViewSynopsis":
        """The same synopsis, answering by another solver."""
        return dataclasses.replace(self, reconstruction=reconstruction)

    @classmethod
    def of_tables(cls, domain: Domain, tables: Tables, *, reconstruction: Solver) -> "ViewSynopsis":
        """A synopsis of consistent tables of views of the domain."""
        names = tuple(tuple(domain.attributes[axis] for axis in view) for view in tables.views)
        return cls(domain=domain, names=names, tables=tables, reconstruction=reconstruction)

    @property
    def views(self) -> tuple[Marginal, ...]:
        """The consistent tables of the views; their variance is that of the best linear
        estimate."""
        views = []
        for names, axes, table in zip(
            self.names, self.tables.views, self.tables.values, strict=True
        ):
            counts = table.transpose(np.argsort(np.argsort(self.domain.axes(names))))
            variance = np.full(counts.shape, self.tables.variance(axes))
            if self.domain.zeros is not None:
                variance[~self.domain.possible(names)] = 0.0
            views.append(Marginal(self.domain, counts, variance, attributes=names))
        return tuple(views)

    def marginals(self, workload: Iterable[Iterable[str]]) -> list[Marginal]:
        """The marginals of any views of the domain, in their order.

        Those that no view covers are reconstructed together, by shape: much faster than one by one.

        Raises
        ------
        DomainError
            When a view is not one of the domain, or is too large to reconstruct.
        SolverError
            When the reconstruction fails; its text says what to change.
        """
        answers: list[Marginal | None] = [None] * len(views := self._checked(workload))
        for places, given in self._by_shape(views):
            axes = np.sort(given, axis=1)
            turned = (axes != given).any(axis=1)
            counts: list[Floats] = [_NOTHING] * len(places)
            variances = counts.copy()
            covered = self.tables.covered(axes)
            self._read(np.flatnonzero(covered), axes, counts, variances)
            self._reconstruct(np.flatnonzero(~covered), axes, counts, variances)
            for row in np.flatnonzero(turned).tolist():
                order = np.argsort(np.argsort(given[row]))
                counts[row], variances[row] = (
                    counts[row].transpose(order),
                    variances[row].transpose(order),
                )
            for place, table, variance in zip(places, counts, variances, strict=True):
                answers[place] = Marginal(self.domain, table, variance, attributes=views[place])
        return [answer for answer in answers if answer is not None]

    def _checked(self, workload: Iterable[Iterable[str]]) -> Sequence[View]:
        """The views of a workload; one that was made for this domain need not be checked again."""
        if isinstance(workload, Workload) and all(
            map(self.domain.position.keys().__ge__, map(set, workload.views))
        ):
            return workload.views
        return Workload.of(self.domain, workload).views

    def _by_shape(self, views: Sequence[View]) -> Iterator[tuple[list[int], Integers]]:
        """The places of views whose tables have one shape, and the axes that each names, shape (n,
        k)."""
        position = self.domain.position
        sizes = np.array(self.domain.sizes)
        lengths: dict[int, list[int]] = {}
        for place, view in enumerate(views):
            lengths.setdefault(len(view), []).append(place)
        for length, places in lengths.items():
            names = itertools.chain.from_iterable(map(views.__getitem__, places))
            given = np.fromiter(map(position.__getitem__, names), np.int64).reshape(-1, length)
            if len(set(self.domain.sizes)) == 1:
                yield places, given
                continue
            _, group = np.unique(sizes[np.sort(given, axis=1)], axis=0, return_inverse=True)
            for rows in np.split(
                np.argsort(group, kind="stable"), np.cumsum(np.bincount(group))[:-1]
            ):
                yield [places[row] for row in rows.tolist()], given[rows]

    def coverage_error(self, view: Iterable[str]) -> float:
        """An *estimate* of the error of a marginal apart from noise: the root mean square over its
        cells, in counts.

        Zero where a view covers the marginal; NaN where there is nothing to judge by. It tells how
        well the same solver does on marginals of the same shape that the views hold in full, from
        no more than is known of this one. The noise part is `Marginal.variance`.
        """
        axes = tuple(sorted(self.domain.axes(self.domain.view(view))))
        if self.tables.total <= 0:
            return math.nan
        return coverage_error(self.tables, self._reconstruction.solver, axes)

    def population(self, n: int, *, seed: int = 0) -> Rows:
        """Synthetic rows, and how far their tables are from the views': see
        `margin.solvers.Population`.

        Every row is of declared categories, in a combination that the rules of the domain allow.
        Their number may be any; the views' tables are scaled to it.

        Parameters
        ----------
        n
            How many rows.
        seed
            The same seed gives the same rows. This is post-processing: it has no part in the
            guarantee.

        Raises
        ------
        DomainError
            When n is not a whole number from 1 to 10**8, or the noisy number of rows is not
            positive.
        """
        if isinstance(n, bool) or not isinstance(n, int) or not 1 <= n <= 10**8:
            raise DomainError(f"n ({n}) must be a whole number from 1 to 10**8")
        if self.tables.total <= 0:
            raise DomainError("the noise hid all rows: there is nothing to make records of")
        return Population().fit(self.tables, n, seed=seed)

    def records(self, n: int) -> NDArray[np.int64]:
        """See `Synopsis.records`; `population` tells how well they fit."""
        return self.population(n).codes.astype(np.int64)

    def to_mbi(self) -> tuple[Any, list[Any]]:
        """The views for mbi 2.0; see `margin.synopses.exports.to_mbi`."""
        return to_mbi(self)

    def summary(self) -> dict[str, str]:
        """See `Synopsis.summary`."""
        listed = [", ".join(view) for view in self.names[:20]]
        if len(self.names) > len(listed):
            listed.append(f"... {len(self.names) - len(listed)} more")
        cells = sum(value.size for value in self.tables.values)
        return {"views": "\n".join([f"{len(self.names)}, {cells:,} cells", *listed])}

    def pack(self) -> Packed:
        """See `Synopsis.pack`: the tables one after another, each with its axes in the order of the
        domain."""
        fields = {
            "views": self.names,
            "variances": self.tables.variances,
            "reconstruction": describe(self.reconstruction),
        }
        arrays = {"tables": np.concatenate([value.ravel() for value in self.tables.values])}
        if self.tables.precisions is not None:
            arrays["precisions"] = np.concatenate(self.tables.precisions)
        return Packed(fields, arrays)

    @classmethod
    def room(cls, fields: Mapping[str, Any], *, domain: Domain) -> Mapping[str, int]:
        """See `Synopsis.room`."""
        views = [domain.view(view) for view in fields["views"]]
        return {
            "tables": sum(map(domain.cells, views)),
            "precisions": sum(1 << len(view) for view in views),
        }

    @classmethod
    def unpack(cls, packed: Packed, *, domain: Domain, provenance: Provenance) -> Self:
        """See `Synopsis.unpack`. A solver that is not one of this library's becomes the default."""
        names = tuple(domain.view(view) for view in packed.fields["views"])
        axes = [tuple(sorted(domain.axes(view))) for view in names]
        shapes = [tuple(domain.sizes[axis] for axis in view) for view in axes]
        arrays = dict(packed.arrays)
        parts = _split(arrays.pop("tables"), [math.prod(shape) for shape in shapes])
        known = arrays.pop("precisions", None)
        if arrays:
            raise ValueError("unexpected array")
        tables = Tables(
            sizes=domain.sizes,
            views=tuple(axes),
            values=tuple(part.reshape(shape) for part, shape in zip(parts, shapes, strict=True)),
            variances=tuple(float(variance) for variance in packed.fields["variances"]),
            precisions=None
            if known is None
            else tuple(_split(known, [1 << len(view) for view in axes])),
            zeros=domain.zeros,
            known_total=domain.rows,
        )
        solver = _solver(packed.fields["reconstruction"])
        return cls(
            domain=domain, names=names, tables=tables, reconstruction=solver, provenance=provenance
        )

    def _read(
        self, rows: Integers, axes: Integers, counts: list[Floats], variances: list[Floats]
    ) -> None:
        """Fill in the marginals that a view covers, given by their rows among axes of one shape."""
        known = self.tables.covered_variances(axes[rows]) if len(rows) else ()
        for row, variance in zip(rows.tolist(), known, strict=True):
            own = tuple(axes[row].tolist())
            view = self.tables.covering(own)
            assert view is not None
            counts[row] = self.tables.project(view, own)
            variances[row] = np.full(counts[row].shape, variance)
            if self.domain.zeros is not None:
                empty = self.domain.zeros.cells(own)
                counts[row][empty], variances[row][empty] = 0.0, 0.0

    def _reconstruct(
        self, rows: Integers, axes: Integers, counts: list[Floats], variances: list[Floats]
    ) -> None:
        """Fill in marginals of one shape that no view covers."""
        if not len(rows):
            return
        shape = tuple(self.domain.sizes[axis] for axis in axes[rows[0]].tolist())
        step = _at_once(shape)
        if self.tables.total <= 0:
            for row in rows.tolist():
                counts[row], variances[row] = np.zeros(shape), np.full(shape, np.nan)
            return
        for start in range(0, len(rows), step):
            some = rows[start : start + step]
            solutions = self._solved(axes[some])
            for place in solutions.failures:
                names = ", ".join(
                    self.domain.attributes[axis] for axis in axes[some[place]].tolist()
                )
                status = solutions[place].status.value
                raise SolverError(f"the marginal on {names} could not be reconstructed: {status}")
            unknown = (
                np.full_like(solutions.table, np.nan)
                if solutions.variance is None
                else solutions.variance
            )
            for row, table, variance in zip(some.tolist(), solutions.table, unknown, strict=True):
                counts[row], variances[row] = table, variance

    def _solved(self, axes: Integers) -> Solutions:
        try:
            return self._reconstruction.solve(axes)
        except Exception as error:  # the solver may be anybody's
            name = type(self.reconstruction).__name__
            raise SolverError(
                f"{name} broke down ({type(error).__name__}: {error}); try another solver"
            ) from error

    @cached_property
    def _reconstruction(self) -> Reconstruction:
        return Reconstruction(self.tables, self.reconstruction)


_NOTHING = np.empty(0)


def _split(flat: NDArray[np.generic], lengths: Sequence[int]) -> list[Floats]:
    """The parts of these lengths of an array from a file."""
    if flat.dtype != np.float64 or flat.shape != (sum(lengths),):
        raise ValueError("unexpected array")
    return np.split(flat.astype(np.float64), np.cumsum(lengths)[:-1])


def _at_once(shape: tuple[int, ...]) -> int:
    """How many marginals of a shape are reconstructed together."""
    cells = math.prod(shape)
    if cells > _MAX_CELLS:
        raise DomainError(
            f"the marginal has {cells} cells; at most {_MAX_CELLS} can be reconstructed: ask for fewer attributes"
        )
    return max(1, _MAX_CELLS // cells)


_SOLVERS: Mapping[str, type[Newton] | type[Ladder]] = {"Newton": Newton, "Ladder": Ladder}


def _solver(described: Mapping[str, Any]) -> Solver:
    """The solver of a description, or the default when it is not one of ours."""
    parameters = dict(described)
    made = _SOLVERS.get(parameters.pop("name"))
    return Newton() if made is None else made(**parameters)
