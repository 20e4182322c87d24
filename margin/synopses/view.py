"""`ViewSynopsis`: a synopsis that answers any marginal from consistent tables of views."""

import contextlib
import dataclasses
import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from .._checks import whole_number
from .._types import Floats, Integers
from ..domain.domain import Domain, View
from ..domain.level_views import LevelView
from ..domain.marginal import Marginal
from ..domain.where import Chosen
from ..domain.workload import Workload
from ..errors import DomainError, SolverError
from ..solvers import (
    BasedReconstruction,
    BasedStructure,
    ComponentErrors,
    Ladder,
    Newton,
    Population,
    Reconstruction,
    Rows,
    Solutions,
    Solver,
    Status,
    Structure,
    Tables,
    coverage_error,
    covered_group_variances,
    learnt_trust,
)
from .bases.forms import StatedBase, apart, base_room, prefixed, read_base
from .counting import Sums, covered_sums, weights_on
from .exports import to_mbi
from .noisy_tables import in_view_order, tables_of
from .synopsis import Packed, Provenance, Synopsis, describe

__all__ = ["ViewSynopsis"]


_MAX_CELLS = 1 << 24
"""Largest number of cells of a marginal, and of all marginals that are reconstructed together."""

_MOST_BASED = 1 << 12
"""Largest number of cells of a marginal within a view whose noise a base reduces."""

_MOST_RECORDS = 10**8

_MOST_WEIGHTS = 1 << 30
"""Largest number of weights, cells times sums, for which the errors of sums of reconstructed cells
are computed."""

_SUMS_AT_ONCE = 256
"""Largest number of sums of reconstructed cells that are computed together."""

_LISTED = 20
"""Largest number of views that a summary names."""

_NOTHING = np.empty(0)


@dataclass(
    frozen=True,
    eq=False,
)
class _Answers:
    """A working record of marginals of one shape whose tables are filled in step by step.

    Attributes
    ----------
    axes
        The axes of each marginal, ascending: shape (n, k).
    counts, variances
        A table for each marginal, with axes in this order: its counts, and their noise variances.
    missed
        The variances of what reconstructions miss; None for a marginal that a view covers.
    """

    axes: Integers
    counts: list[Floats]
    variances: list[Floats]
    missed: list[Floats | None]


@dataclass(
    frozen=True,
    kw_only=True,
    eq=False,
)
class ViewSynopsis(Synopsis):
    """A synopsis that holds consistent noisy tables of views, and reconstructs other marginals.

    A marginal within a view is a sum of its cells. Any other marginal is reconstructed by a solver
    from the marginals of the views on some of its attributes. Reconstructed marginals agree with
    the views, but need not agree with each other beyond them. Cells that the rules of the domain
    exclude are zero in all answers, and no record is in them. If the domain declares the number of
    rows, answers add up to it.

    Attributes
    ----------
    domain, provenance
        See `Synopsis`.
    names
        The views, each with its attributes in the order in which they were asked for.
    held
        The tables of the views, with axes in the order of the domain.
    reconstruction
        The solver for marginals that no view covers.
    noise
        The covariance of the noise, if attributes were measured in bases of their own (see
        `Residual`); None if all cells of a view have the same variance. Reconstructions use its
        mean over the cells.
    base, trust
        A base, and what was learnt about it (see `margin.solvers.learnt_trust`). All marginals are
        then reconstructed: the base also reduces the noise of those within views. None and nothing
        without a base.
    """

    names: tuple[View, ...]
    held: Tables
    reconstruction: Solver = Newton()
    noise: ComponentErrors | None = None
    base: StatedBase | None = None
    trust: tuple[Floats, ...] = ()

    @classmethod
    def of(
        cls,
        domain: Domain,
        measured: Sequence[Marginal],
        *,
        reconstruction: Solver,
    ) -> "ViewSynopsis":
        """Make a synopsis of tables as they were measured, each with noise of one variance."""
        names = tuple(marginal.attributes for marginal in measured)
        variances = [marginal.variance.flat[0] for marginal in measured]
        tables = tables_of(
            domain,
            names,
            [marginal.counts for marginal in measured],
            variances,
        )
        return cls(
            domain=domain,
            names=names,
            held=tables,
            reconstruction=reconstruction,
        )

    def with_tables(self, tables: Tables) -> "ViewSynopsis":
        """The same synopsis with other tables of the same views."""
        return dataclasses.replace(self, held=tables)

    def with_reconstruction(self, reconstruction: Solver) -> "ViewSynopsis":
        """The same synopsis with another solver for marginals that no view covers."""
        return dataclasses.replace(self, reconstruction=reconstruction)

    def with_base(self, base: StatedBase) -> "ViewSynopsis":
        """The same synopsis with a base; how far it is trusted is learnt from the views' tables.

        This is post-processing of the noisy tables.
        """
        return dataclasses.replace(self, base=base, trust=learnt_trust(self.held, base))

    @classmethod
    def of_tables(
        cls,
        domain: Domain,
        tables: Tables,
        *,
        reconstruction: Solver,
        noise: ComponentErrors | None = None,
    ) -> "ViewSynopsis":
        """Make a synopsis of consistent tables of views of the domain."""
        names = tuple(tuple(domain.attributes[axis] for axis in view) for view in tables.views)
        return cls(
            domain=domain,
            names=names,
            held=tables,
            reconstruction=reconstruction,
            noise=noise,
        )

    @property
    def views(self) -> tuple[Marginal, ...]:
        """The consistent tables of the views, with the variance of the best linear estimate."""
        views = []
        tables = zip(self.names, self.held.views, self.held.values, strict=True)
        for names, axes, table in tables:
            counts = in_view_order(table, self.domain.axes(names))
            variance = in_view_order(self._cell_variances(axes), self.domain.axes(names))
            if self.domain.zeros is not None:
                variance[~self.domain.possible(names)] = 0.0
            views.append(Marginal(self.domain, counts, variance, attributes=names))
        return tuple(views)

    def _marginals(self, workload: Iterable[Iterable[str]]) -> list[Marginal]:
        """Answer the marginals of any views of the domain, in the order of the workload.

        Marginals of one shape that no view covers are reconstructed together, which is much faster
        than one by one.

        Raises
        ------
        DomainError
            When a view is not one of the domain, or is too large to reconstruct.
        SolverError
            When the reconstruction fails; the message says what to change.
        """
        views = self._checked(workload)
        marginals: list[Marginal | None] = [None] * len(views)
        for places, given in self._by_shape(views):
            axes = np.sort(given, axis=1)
            nothing = [_NOTHING] * len(places)
            answers = _Answers(axes, nothing.copy(), nothing.copy(), [None] * len(places))
            # Read the marginals within views, and reconstruct the others.
            covered = self._read_directly(axes)
            self._read(np.flatnonzero(covered), answers)
            self._reconstruct(np.flatnonzero(~covered), answers)
            # Turn the axes of the tables to the order of the names, where it differs.
            turned = (axes != given).any(axis=1)
            for row in np.flatnonzero(turned).tolist():
                answers.counts[row] = in_view_order(answers.counts[row], given[row])
                answers.variances[row] = in_view_order(answers.variances[row], given[row])
                missed = answers.missed[row]
                if missed is not None:
                    answers.missed[row] = in_view_order(missed, given[row])
            tables = zip(places, answers.counts, answers.variances, answers.missed, strict=True)
            for place, table, variance, missed in tables:
                marginals[place] = Marginal(
                    self.domain,
                    table,
                    variance,
                    missed_variance=missed,
                    attributes=views[place],
                )
        return [marginal for marginal in marginals if marginal is not None]

    def _read_directly(self, axes: Integers) -> NDArray[np.bool_]:
        """Whether marginals are sums of a view's cells; `axes` has shape (n, k)."""
        covered = self.held.covered(axes)
        if self.base is None:
            return covered
        cells = np.prod(np.array(self.domain.sizes)[axes], axis=1)
        return np.asarray(covered & (cells > _MOST_BASED))

    def _rolled(self, view: LevelView) -> Marginal:
        """The marginal of a view with levels: sums of cells of the marginal on its attributes."""
        (cells,) = self._marginals([view.view])
        counts = view.rolled_up(cells.counts)
        axes = self.domain.axes(view.view)
        if self._read_directly(np.array([sorted(axes)]))[0]:
            groups = [view.groups[axes.index(axis)] for axis in sorted(axes)]
            if self.noise is None:
                variance = covered_group_variances(self.held, tuple(sorted(axes)), groups)
            else:
                variance = self.noise.cell_variances(tuple(sorted(axes)), groups)
            return Marginal(view.rolled, counts, in_view_order(variance, axes))
        noise = np.full(counts.size, math.nan)
        missed = np.full(counts.size, math.nan)
        if counts.size * cells.counts.size <= _MOST_WEIGHTS:
            chosen = list(view.cells())
            step = max(1, min(_SUMS_AT_ONCE, _MAX_CELLS // cells.counts.size))
            for start in range(0, len(chosen), step):
                sums = self._sums(chosen[start : start + step])
                noise[start : start + step] = sums.noise.diagonal()
                missed[start : start + step] = sums.missed.diagonal()
        shape = counts.shape
        return Marginal(
            view.rolled, counts, noise.reshape(shape), missed_variance=missed.reshape(shape)
        )

    def _checked(self, workload: Iterable[Iterable[str]]) -> Sequence[View]:
        """Check that the views of a workload belong to the domain, and return them."""
        if isinstance(workload, Workload):
            # It was checked when it was made, but the domain may have been another one.
            names = self.domain.position.keys()
            if all(map(names.__ge__, map(set, workload.views))):
                return workload.views
        return Workload.of(self.domain, workload).views

    def _by_shape(self, views: Sequence[View]) -> Iterator[tuple[list[int], Integers]]:
        """Group views so that the tables of each group have the same shape.

        Each group is a pair: the positions of its n views in `views`, and the axes of the k
        attributes of each of them, shape (n, k).
        """
        # Views of one length first: their axes make one array.
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
            # Then views of one shape, in a stable order.
            shapes = sizes[np.sort(given, axis=1)]
            _, group = np.unique(
                shapes,
                axis=0,
                return_inverse=True,
            )
            ends = np.cumsum(np.bincount(group))
            for rows in np.split(np.argsort(group, kind="stable"), ends[:-1]):
                yield [places[row] for row in rows.tolist()], given[rows]

    def _sums(self, chosen: Sequence[Chosen]) -> Sums:
        """The numbers of rows with some codes; see `margin.synopses.view_sums`."""
        asked = self._axes({name: () for codes in chosen for name in codes})
        covered = all(self.held.covering(self._axes(codes)) is not None for codes in chosen)
        if covered and (self.base is None or self._cells(asked) > _MOST_BASED):
            return covered_sums(self.domain, self.held, chosen, self.noise)
        _at_once(tuple(self.domain.sizes[axis] for axis in asked))
        weights = weights_on(self.domain, asked, chosen)
        # With no positive total, zero is the only non-negative answer.
        if self.held.total <= 0:
            unknown = np.full((len(chosen), len(chosen)), math.nan)
            nothing = np.zeros(len(chosen))
            return Sums(estimates=nothing, noise=unknown, missed=unknown, reconstructed=True)
        with self._reporting():
            found = self._reconstruction.sums(asked, weights)
        self._check(asked, found.status)
        return Sums(
            estimates=found.estimate,
            noise=found.variance,
            missed=self._structure.missed_covariance(asked, weights, found),
            reconstructed=True,
        )

    def _cell_variances(self, axes: tuple[int, ...]) -> Floats:
        """The variance of the noise in each cell of a view, with its axes ascending."""
        if self.noise is not None:
            return self.noise.cell_variances(axes)
        shape = tuple(self.domain.sizes[axis] for axis in axes)
        return np.full(shape, self.held.variance(axes))

    def _cells(self, axes: Sequence[int]) -> int:
        """The number of cells of the marginal on some axes."""
        return math.prod(self.domain.sizes[axis] for axis in axes)

    def _axes(self, codes: Chosen) -> tuple[int, ...]:
        """The axes of the attributes that a condition restricts, ascending."""
        return tuple(sorted(self.domain.position[name] for name in codes))

    def coverage_error(self, view: Iterable[str]) -> float:
        """Estimate the error of a marginal that is not caused by noise.

        It is the root of the mean square over the cells, in rows: 0 where a view covers the
        marginal, NaN where no estimate is possible. The solver is tried on marginals of the same
        shape that the views contain, with only as much information as there is about this one. The
        error by noise is in `Marginal.noise_variance`. `Marginal.missed_variance` estimates the
        same error for each cell, and always has an estimate.

        Raises
        ------
        DomainError
            When `view` is not a view of the domain.
        """
        axes = tuple(sorted(self.domain.axes(self.domain.view(view))))
        if self.held.total <= 0:
            return math.nan
        return coverage_error(self.held, self._reconstruction.solver, axes)

    def population(
        self,
        n: int,
        *,
        seed: int = 0,
    ) -> Rows:
        """Generate synthetic rows, and measure how far their tables are from those of the views.

        Every row has declared categories, in a combination that the rules of the domain allow. The
        tables of the views are scaled to the number of rows. See `margin.solvers.Population`.

        Parameters
        ----------
        n
            The number of rows, from 1 to 10**8.
        seed
            The seed of this post-processing, which is no part of the guarantee: the same seed gives
            the same rows.

        Raises
        ------
        DomainError
            When n is not a whole number from 1 to 10**8, or the noisy number of rows is not
            positive.
        """
        n = whole_number("n", n, most=_MOST_RECORDS)
        if self.held.total <= 0:
            raise DomainError(
                "records need a noisy number of rows > 0, but it is not positive; release with a "
                "larger budget"
            )
        return Population().fit(self.held, n, seed=seed)

    def records(self, n: int) -> NDArray[np.int64]:
        """Generate n synthetic rows: codes, shape (n, attributes). `population` also tells how well
        they fit the views."""
        return self.population(n).codes.astype(np.int64)

    def to_mbi(self) -> tuple[Any, list[Any]]:
        """Convert the views for the library mbi 2.0; see `margin.synopses.exports.to_mbi`."""
        return to_mbi(self)

    def summary(self) -> dict[str, str]:
        """Describe the content in words for people: a dictionary of texts by their titles."""
        listed = [", ".join(view) for view in self.names[:_LISTED]]
        if len(self.names) > len(listed):
            listed.append(f"... {len(self.names) - len(listed)} more")
        cells = sum(value.size for value in self.held.values)
        texts = {"views": "\n".join([f"{len(self.names)}, {cells:,} cells", *listed])}
        if self.base is not None:
            texts["base"] = self.base.described
        return texts

    def pack(self) -> Packed:
        """The content of a file: the tables in one array, with axes in the order of the domain."""
        fields = {
            "views": self.names,
            "variances": self.held.variances,
            "reconstruction": describe(self.reconstruction),
        }
        arrays = {"tables": np.concatenate([value.ravel() for value in self.held.values])}
        if self.held.precisions is not None:
            arrays["precisions"] = np.concatenate(self.held.precisions)
        if self.noise is not None:
            fields["components"], own = self.noise.pack()
            arrays |= own
        if self.base is not None:
            packed = self.base.pack()
            fields["base"] = packed.fields
            arrays["trust"] = np.concatenate([scales.ravel() for scales in self.trust])
            arrays |= prefixed(packed.arrays)
        return Packed(fields, arrays)

    @classmethod
    def room(
        cls,
        fields: Mapping[str, Any],
        *,
        domain: Domain,
    ) -> Mapping[str, int]:
        """The largest number of entries that `unpack` accepts in each array of a file, by name."""
        views = [domain.view(view) for view in fields["views"]]
        room = {
            "tables": sum(map(domain.cells, views)),
            "precisions": sum(1 << len(view) for view in views),
            **ComponentErrors.room(domain.sizes, fields.get("components", ())),
        }
        if "base" in fields:
            room["trust"] = room["tables"]
            room |= base_room(fields["base"], domain, cls.room)
        return room

    @classmethod
    def unpack(
        cls,
        packed: Packed,
        *,
        domain: Domain,
        provenance: Provenance | None,
    ) -> Self:
        """Make the synopsis from the content of a file.

        A solver that is not part of this library is replaced by the default one.
        """
        names = tuple(domain.view(view) for view in packed.fields["views"])
        axes = [tuple(sorted(domain.axes(view))) for view in names]
        shapes = [tuple(domain.sizes[axis] for axis in view) for view in axes]
        arrays, of_base = apart(packed.arrays)
        # Tables stand one after another, each with its axes in the order of the domain.
        parts = _split(arrays.pop("tables"), [math.prod(shape) for shape in shapes])
        known = arrays.pop("precisions", None)
        base = None
        trust: list[Floats] = []
        if "base" in packed.fields:
            base = read_base(Packed(packed.fields["base"], of_base), domain, cls.unpack)
            trust = _split(arrays.pop("trust"), [math.prod(shape) for shape in shapes])
        noise = None
        if "components" in packed.fields:
            noise = ComponentErrors.unpack(domain.sizes, packed.fields["components"], arrays)
        elif arrays:
            raise ValueError(
                "a file of views must hold only tables and precisions, but it also holds "
                f"{', '.join(sorted(arrays))}; get a fresh copy of the file"
            )
        precisions = None
        if known is not None:
            precisions = tuple(_split(known, [1 << len(view) for view in axes]))
        tables = Tables(
            sizes=domain.sizes,
            views=tuple(axes),
            values=tuple(
                part.reshape(shape)
                for part, shape in zip(
                    parts,
                    shapes,
                    strict=True,
                )
            ),
            variances=tuple(float(variance) for variance in packed.fields["variances"]),
            precisions=precisions,
            zeros=domain.zeros,
            known_total=domain.rows,
        )
        solver = _solver(packed.fields["reconstruction"])
        return cls(
            domain=domain,
            names=names,
            held=tables,
            reconstruction=solver,
            provenance=provenance,
            noise=noise,
            base=base,
            trust=tuple(
                scales.reshape(shape) for scales, shape in zip(trust, shapes, strict=False)
            ),
        )

    def _read(
        self,
        rows: Integers,
        answers: _Answers,
    ) -> None:
        """Fill in some rows of the answers: marginals that a view covers."""
        if not len(rows):
            return
        known = self.held.covered_variances(answers.axes[rows])
        for row, variance in zip(rows.tolist(), known, strict=True):
            own = tuple(answers.axes[row].tolist())
            view = self.held.covering(own)
            assert view is not None
            counts = self.held.project(view, own)
            variances = np.full(counts.shape, variance)
            if self.noise is not None:
                variances = self.noise.cell_variances(own)
            if self.domain.zeros is not None:
                empty = self.domain.zeros.cells(own)
                counts[empty] = 0.0
                variances[empty] = 0.0
            answers.counts[row] = counts
            answers.variances[row] = variances

    def _reconstruct(
        self,
        rows: Integers,
        answers: _Answers,
    ) -> None:
        """Fill in some rows of the answers: marginals that no view covers."""
        if not len(rows):
            return
        shape = tuple(self.domain.sizes[axis] for axis in answers.axes[rows[0]].tolist())
        step = _at_once(shape)
        # With no positive total, zero is the only non-negative answer.
        if self.held.total <= 0:
            for row in rows.tolist():
                answers.counts[row] = np.zeros(shape)
                answers.variances[row] = np.full(shape, np.nan)
                answers.missed[row] = np.full(shape, np.nan)
            return
        for start in range(0, len(rows), step):
            some = rows[start : start + step]
            solutions = self._solved(answers.axes[some])
            variances = solutions.variance
            if variances is None:
                variances = np.full_like(solutions.table, np.nan)
            missed = self._structure.missed_variance(answers.axes[some], solutions)
            tables = zip(some.tolist(), solutions.table, variances, missed, strict=True)
            for row, table, variance, left_out in tables:
                answers.counts[row] = table
                answers.variances[row] = variance
                answers.missed[row] = left_out

    def _solved(self, axes: Integers) -> Solutions:
        """Reconstruct the marginals on some axes; SolverError if one of them fails."""
        with self._reporting():
            solutions = self._reconstruction.solve(axes)
        for place in solutions.failures:
            self._check(axes[place].tolist(), solutions[place].status)
        return solutions

    @contextlib.contextmanager
    def _reporting(self) -> Iterator[None]:
        """Turn errors of the solver, which may be a user's own, into SolverError."""
        try:
            yield
        except Exception as error:
            name = type(self.reconstruction).__name__
            raise SolverError(
                f"solver {name} must return solutions, but it raised {type(error).__name__} "
                f"({error}); choose another with reconstruction="
            ) from error

    def _check(
        self,
        axes: Sequence[int],
        status: Status,
    ) -> None:
        """Refuse the answer of a solver that failed for the marginal on some axes."""
        if not status.ok:
            names = ", ".join(self.domain.attributes[axis] for axis in axes)
            raise SolverError(
                f"the marginal on {names} must be reconstructed, but the solver failed: "
                f"{status.value} (choose another solver with reconstruction=)"
            )

    @cached_property
    def _reconstruction(self) -> Reconstruction | BasedReconstruction:
        if self.base is None:
            return Reconstruction(self.held, self.reconstruction)
        return BasedReconstruction(self.held, self.base, self.trust, self.reconstruction)

    @cached_property
    def _structure(self) -> Structure:
        if isinstance(self._reconstruction, BasedReconstruction):
            return BasedStructure(self._reconstruction)
        return Structure(self.held, self._reconstruction.solver)


def _split(
    flat: NDArray[np.generic],
    lengths: Sequence[int],
) -> list[Floats]:
    """Split an array from a file into parts of the given lengths; ValueError if it does not fit."""
    if flat.dtype != np.float64 or flat.shape != (sum(lengths),):
        raise ValueError(
            f"the array must be floats of shape {(sum(lengths),)}, but it is {flat.dtype} of shape "
            f"{flat.shape}; get a fresh copy of the file"
        )
    return np.split(flat.astype(np.float64), np.cumsum(lengths)[:-1])


def _at_once(shape: tuple[int, ...]) -> int:
    """The number of marginals of a shape that are reconstructed together."""
    cells = math.prod(shape)
    if cells > _MAX_CELLS:
        raise DomainError(
            f"a marginal must have at most {_MAX_CELLS:,} cells to be reconstructed, but this one "
            f"has {cells:,}; ask for fewer attributes"
        )
    return max(1, _MAX_CELLS // cells)


_SOLVERS: Mapping[str, type[Newton] | type[Ladder]] = {"Newton": Newton, "Ladder": Ladder}


def _solver(described: Mapping[str, Any]) -> Solver:
    """Make the solver that a file describes, or the default if it is not part of this library."""
    parameters = dict(described)
    kind = _SOLVERS.get(parameters.pop("name"))
    return Newton() if kind is None else kind(**parameters)
