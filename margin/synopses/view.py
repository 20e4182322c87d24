"""`ViewSynopsis` answers any marginal from consistent tables of views."""

import dataclasses
import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np

from ..describe import describe
from ..domain import Domain, View
from ..errors import DomainError, SolverError
from ..marginal import Floats, Marginal
from ..solvers import Ladder, Newton, Reconstruction, Solver, Tables, coverage_error
from ..synopsis import Packed, Provenance, Synopsis
from ..workload import Workload

__all__ = ["ViewSynopsis"]

_MAX_CELLS = 1 << 24

_LEAST_VARIANCE = 1e-12
"""Below this, noise is zero with near certainty, and weights by its inverse would overflow."""


@dataclass(frozen=True, kw_only=True, eq=False)
class ViewSynopsis(Synopsis):
    """Noisy tables of views, and the way to answer what they do not cover.

    A marginal within a view is that view's; any other is reconstructed from what the views say about its parts. Answers
    that no view covers need not agree with each other beyond the views.

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
    def of(cls, domain: Domain, measured: Sequence[Marginal], *, reconstruction: Solver) -> "ViewSynopsis":
        """A synopsis of tables as they were measured, with independent noise of one variance a table."""
        axes = [domain.axes(marginal.attributes) for marginal in measured]
        tables = Tables(
            sizes=domain.sizes,
            views=tuple(tuple(sorted(view)) for view in axes),
            values=tuple(
                marginal.counts.transpose(np.argsort(view)) for marginal, view in zip(measured, axes, strict=True)
            ),
            variances=tuple(max(float(marginal.variance.flat[0]), _LEAST_VARIANCE) for marginal in measured),
        )
        names = tuple(marginal.attributes for marginal in measured)
        return cls(domain=domain, names=names, tables=tables, reconstruction=reconstruction)

    def with_tables(self, tables: Tables) -> "ViewSynopsis":
        """The same synopsis with other tables of the same views."""
        return dataclasses.replace(self, tables=tables)

    def with_reconstruction(self, reconstruction: Solver) -> "ViewSynopsis":
        """The same synopsis, answering by another solver."""
        return dataclasses.replace(self, reconstruction=reconstruction)

    @property
    def views(self) -> tuple[Marginal, ...]:
        """The consistent tables of the views; their variance is that of the best linear estimate."""
        return tuple(
            self._marginal(names, table, np.full(table.shape, self.tables.variance(axes)))
            for names, axes, table in zip(self.names, self.tables.views, self.tables.values, strict=True)
        )

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
        position = self.domain.position
        asked = [
            (names, tuple(sorted(position[name] for name in names))) for names in Workload.of(self.domain, workload)
        ]
        shapes: dict[tuple[int, ...], list[int]] = {}
        for place, (_, axes) in enumerate(asked):
            shapes.setdefault(tuple(self.domain.sizes[axis] for axis in axes), []).append(place)
        answers: dict[int, Marginal] = {}
        for shape, places in shapes.items():
            covered = self.tables.covered([asked[place][1] for place in places])
            for place in itertools.compress(places, covered):
                answers[place] = self._read(*asked[place])
            uncovered = list(itertools.compress(places, ~covered))
            step = self._at_once(shape) if uncovered else 1
            for start in range(0, len(uncovered), step):
                some = uncovered[start : start + step]
                answered = self._reconstruct(shape, [asked[place] for place in some])
                answers.update(zip(some, answered, strict=True))
        return [answers[place] for place in range(len(asked))]

    def coverage_error(self, view: Iterable[str]) -> float:
        """An *estimate* of the error of a marginal apart from noise: the root mean square over its cells, in counts.

        Zero where a view covers the marginal; NaN where there is nothing to judge by. It tells how well the same solver
        does on marginals of the same shape that the views hold in full, from no more than is known of this one. The
        noise part is `Marginal.variance`.
        """
        axes = tuple(sorted(self.domain.axes(self.domain.view(view))))
        if self.tables.total <= 0:
            return math.nan
        return coverage_error(self.tables, self.reconstruction, axes)

    def summary(self) -> dict[str, str]:
        """See `Synopsis.summary`."""
        listed = [", ".join(view) for view in self.names[:20]]
        if len(self.names) > len(listed):
            listed.append(f"... {len(self.names) - len(listed)} more")
        cells = sum(value.size for value in self.tables.values)
        return {"views": "\n".join([f"{len(self.names)}, {cells:,} cells", *listed])}

    def pack(self) -> Packed:
        """See `Synopsis.pack`: the tables one after another, each with its axes in the order of the domain."""
        fields = {
            "views": self.names,
            "variances": self.tables.variances,
            "reconstruction": describe(self.reconstruction),
        }
        return Packed(fields, {"tables": np.concatenate([value.ravel() for value in self.tables.values])})

    @classmethod
    def unpack(cls, packed: Packed, *, domain: Domain, provenance: Provenance) -> Self:
        """See `Synopsis.unpack`. A solver that is not one of this library's becomes the default."""
        names = tuple(domain.view(view) for view in packed.fields["views"])
        axes = [tuple(sorted(domain.axes(view))) for view in names]
        shapes = [tuple(domain.sizes[axis] for axis in view) for view in axes]
        sizes = [math.prod(shape) for shape in shapes]
        (flat,) = packed.arrays.values()
        if flat.dtype != np.float64 or flat.shape != (sum(sizes),):
            raise ValueError("unexpected array")
        parts = np.split(flat.astype(np.float64), np.cumsum(sizes)[:-1])
        tables = Tables(
            sizes=domain.sizes,
            views=tuple(axes),
            values=tuple(part.reshape(shape) for part, shape in zip(parts, shapes, strict=True)),
            variances=tuple(float(variance) for variance in packed.fields["variances"]),
        )
        solver = _solver(packed.fields["reconstruction"])
        return cls(domain=domain, names=names, tables=tables, reconstruction=solver, provenance=provenance)

    def _read(self, names: View, axes: tuple[int, ...]) -> Marginal:
        """A marginal that a view covers."""
        row = self.tables.covering(axes)
        assert row is not None
        counts = self.tables.project(row, axes)
        return self._marginal(names, counts, np.full(counts.shape, self.tables.variance(axes)))

    def _at_once(self, shape: tuple[int, ...]) -> int:
        """How many marginals of a shape are reconstructed together."""
        cells = math.prod(shape)
        if cells > _MAX_CELLS:
            raise DomainError(
                f"the marginal has {cells} cells; at most {_MAX_CELLS} can be reconstructed: ask for fewer attributes"
            )
        return max(1, _MAX_CELLS // cells)

    def _reconstruct(self, shape: tuple[int, ...], asked: list[tuple[View, tuple[int, ...]]]) -> list[Marginal]:
        """Marginals of one shape, each given by its attributes and its ascending axes."""
        if self.tables.total <= 0:
            return [self._marginal(names, np.zeros(shape), np.full(shape, np.nan)) for names, _ in asked]
        solutions = self._reconstruction.solve([axes for _, axes in asked])
        for place in solutions.failures:
            names, status = ", ".join(asked[place][0]), solutions[place].status
            raise SolverError(f"the marginal on {names} could not be reconstructed: {status.value}")
        variances = np.full_like(solutions.table, np.nan) if solutions.variance is None else solutions.variance
        return [
            self._marginal(names, table, variance)
            for (names, _), table, variance in zip(asked, solutions.table, variances, strict=True)
        ]

    @cached_property
    def _reconstruction(self) -> Reconstruction:
        return Reconstruction(self.tables, self.reconstruction)

    def _marginal(self, names: View, counts: Floats, variance: Floats) -> Marginal:
        """Arrays with axes in the order of the domain as a marginal with axes in the order of the names."""
        position = self.domain.position
        axes = [position[name] for name in names]
        if axes != sorted(axes):
            order = np.argsort(np.argsort(axes))
            counts, variance = counts.transpose(order), variance.transpose(order)
        return Marginal(self.domain.restrict(names, checked=True), counts, variance)


_SOLVERS: Mapping[str, type[Newton] | type[Ladder]] = {"Newton": Newton, "Ladder": Ladder}


def _solver(described: Mapping[str, Any]) -> Solver:
    """The solver of a description, or the default when it is not one of ours."""
    parameters = dict(described)
    made = _SOLVERS.get(parameters.pop("name"))
    return Newton() if made is None else made(**parameters)
