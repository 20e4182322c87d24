"""`Answering`: the marginals of a `ViewSynopsis`, read from its views or reconstructed."""

import contextlib
import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ..._types import Floats, Integers
from ...domain.domain import Domain, View
from ...domain.marginal import Marginal
from ...domain.workload import Workload
from ...errors import DomainError, SolverError
from ...solvers import (
    BasedReconstruction,
    BasedStructure,
    ComponentErrors,
    LinkedErrors,
    Reconstruction,
    Solutions,
    Solver,
    Status,
    Structure,
    Tables,
    errors_of_components,
    with_total,
)
from ..bases.forms import StatedBase
from ..counts.conditions import certain
from ..noisy_tables import in_view_order

__all__ = ["MOST_BASED", "MOST_CELLS", "Answering", "at_once"]

MOST_CELLS = 1 << 24
"""Largest number of cells of a marginal, and of all marginals that are reconstructed together."""

MOST_BASED = 1 << 20
"""Largest number of cells of a marginal within a view whose noise a base reduces."""

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
    kurtosis
        The excess kurtosis of the noise of each marginal: a number, or a table like its counts.
    """

    axes: Integers
    counts: list[Floats]
    variances: list[Floats]
    missed: list[Floats | None]
    kurtosis: list[Floats | float]


@dataclass(
    frozen=True,
    kw_only=True,
    eq=False,
)
class Answering:
    """What answers marginals: tables of views, a solver, and perhaps a base.

    Attributes
    ----------
    domain
        The attributes.
    held, noise, base, trust, total, kurtosis, scales
        See `ViewSynopsis`.
    solver
        The solver for marginals that no view covers.
    """

    domain: Domain
    held: Tables
    solver: Solver
    noise: ComponentErrors | None
    base: StatedBase | None
    trust: tuple[Floats, ...]
    total: tuple[float, float] | None
    kurtosis: float
    scales: Mapping[tuple[int, int], float]

    def marginals(self, workload: Iterable[Iterable[str]]) -> list[Marginal]:
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
            number = len(places)
            answers = _Answers(
                axes, nothing.copy(), nothing.copy(), [None] * number, [0.0] * number
            )
            # Read the marginals within views, and reconstruct the others.
            covered = self.reads_directly(axes)
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
                kurtosis = answers.kurtosis[row]
                if isinstance(kurtosis, np.ndarray):
                    answers.kurtosis[row] = in_view_order(kurtosis, given[row])
            tables = zip(
                places,
                answers.counts,
                answers.variances,
                answers.missed,
                answers.kurtosis,
                strict=True,
            )
            for place, table, variance, missed, kurtosis in tables:
                marginals[place] = Marginal(
                    self.domain,
                    table,
                    variance,
                    missed_variance=missed,
                    attributes=views[place],
                    noise_kurtosis=kurtosis,
                )
        return [marginal for marginal in marginals if marginal is not None]

    def reads_directly(self, axes: Integers) -> NDArray[np.bool_]:
        """Whether marginals are sums of a view's cells; `axes` has shape (n, k)."""
        covered = self.held.covered(axes)
        if self.base is None:
            return covered
        cells = np.prod(np.array(self.domain.sizes)[axes], axis=1)
        return np.asarray(covered & ((cells > MOST_BASED) | self._is_known(axes)))

    def _is_known(self, axes: Integers) -> NDArray[np.bool_]:
        """Whether marginals are sums of a known table's cells; `axes` has shape (n, k)."""
        if self.held.known is None:
            return np.zeros(len(axes), np.bool_)
        return self.held.known.components(axes)[:, -1]

    def cells(self, axes: Sequence[int]) -> int:
        """The number of cells of the marginal on some axes."""
        return math.prod(self.domain.sizes[axis] for axis in axes)

    def _checked(self, workload: Iterable[Iterable[str]]) -> Sequence[View]:
        """Check that the views of a workload belong to the domain, and return them."""
        if isinstance(workload, Workload):
            workload.check_listed()
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

    def _read(
        self,
        rows: Integers,
        answers: _Answers,
    ) -> None:
        """Fill in some rows of the answers: marginals that a view covers."""
        if not len(rows):
            return
        known = self.tables.covered_variances(answers.axes[rows])
        kurtosis = self.cell_kurtosis(answers.axes[rows], known)
        for row, variance, excess in zip(rows.tolist(), known, kurtosis, strict=True):
            own = tuple(answers.axes[row].tolist())
            view = self.tables.covering(own)
            assert view is not None
            counts = self.tables.project(view, own)
            variances = np.full(counts.shape, variance)
            if self.noise is not None and variance > 0:
                variances = self.noise.cell_variances(own)
            if self.linked_errors is not None:
                variances = np.maximum(variances - self.linked_errors.variances(own), 0.0)
            if self.domain.zeros is not None:
                counts[self.domain.zeros.cells(own)] = 0.0
            self._without_error(own, variances)
            answers.counts[row] = counts
            answers.variances[row] = variances
            answers.kurtosis[row] = excess

    def cell_kurtosis(
        self,
        axes: Integers,
        variances: Floats,
    ) -> Sequence[Floats | float]:
        """The excess kurtosis of the noise in the cells of n marginals that views cover.

        It is a number for each, or a table if attributes were measured in bases of their own. It is
        0 if the noise is normal.

        Parameters
        ----------
        axes
            The axes of the marginals, ascending and of one shape, shape (n, k).
        variances
            The variance of the cells of each, shape (n,).
        """
        if not self.kurtosis:
            return [0.0] * len(axes)
        if self.noise is not None:
            own = map(tuple, axes.tolist())
            return [self.kurtosis * self.noise.concentration(one) for one in own]
        if self.tables.by_components:
            found = self.tables.component_concentration(axes)
        elif len(axes) == 1:
            own_axes = tuple(axes[0].tolist())
            found = np.array([self.tables.concentration_of(own_axes, float(variances[0]), 1.0)])
        else:
            found = self.tables.concentration(axes, variances)
        excess: list[float] = (self.kurtosis * found).tolist()
        return excess

    def group_kurtosis(
        self,
        axes: tuple[int, ...],
        groups: Sequence[Integers | None],
        variances: Floats,
        cells: Floats,
    ) -> Floats:
        """The excess kurtosis of the noise in sums of cells of one marginal that a view covers.

        Parameters
        ----------
        axes
            The axes of the marginal, ascending.
        groups
            The group of each category of each axis; see `ComponentErrors.cell_variances`.
        variances, cells
            The variance of each sum, and the number of its cells, both shaped like the groups.
        """
        if not self.kurtosis:
            return np.zeros(variances.shape)
        if self.noise is not None or self.tables.by_components:
            errors = self.noise or errors_of_components(self.tables, axes)
            return self.kurtosis * errors.concentration(axes, groups)
        found = self.tables.concentration(np.array([axes]), variances.ravel(), cells.ravel())
        return np.asarray(self.kurtosis * found.reshape(variances.shape))

    def _reconstruct(
        self,
        rows: Integers,
        answers: _Answers,
    ) -> None:
        """Fill in some rows of the answers: marginals that no view covers."""
        if not len(rows):
            return
        shape = tuple(self.domain.sizes[axis] for axis in answers.axes[rows[0]].tolist())
        step = at_once(shape)
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
            missed = self.structure.missed_variance(answers.axes[some], solutions)
            tables = zip(some.tolist(), solutions.table, variances, missed, strict=True)
            for row, table, variance, left_out in tables:
                own = tuple(answers.axes[row].tolist())
                answers.counts[row] = self.kept(own, table)
                self._without_error(own, variance, left_out)
                answers.variances[row] = variance
                answers.missed[row] = left_out

    def _without_error(
        self,
        axes: tuple[int, ...],
        *variances: Floats,
    ) -> None:
        """Set the variances of a marginal to zero in cells that rules and known tables tell."""
        known = self.domain.constraints
        if self.domain.zeros is None and (known is None or not known.more):
            return
        told = certain(self.domain, axes)
        for variance in variances:
            variance[told] = 0.0

    def kept(
        self,
        axes: tuple[int, ...],
        table: Floats,
    ) -> Floats:
        """A reconstructed marginal, changed so that it agrees exactly with what is known."""
        known = self.held.known
        if known is None or not known.more:
            return table
        return known.raked(axes, np.maximum(table, 0.0))

    def _solved(self, axes: Integers) -> Solutions:
        """Reconstruct the marginals on some axes; SolverError if one of them fails."""
        with self.reporting():
            solutions = self.reconstruction.solve(axes)
        for place in solutions.failures:
            self.check(axes[place].tolist(), solutions[place].status)
        return solutions

    @contextlib.contextmanager
    def reporting(self) -> Iterator[None]:
        """Turn errors of the solver, which may be a user's own, into SolverError."""
        try:
            yield
        except Exception as error:
            name = type(self.solver).__name__
            raise SolverError(
                f"solver {name} must return solutions, but it raised {type(error).__name__} "
                f"({error}); choose another with reconstruction="
            ) from error

    def check(
        self,
        axes: Sequence[int],
        status: Status,
    ) -> None:
        """Refuse the answer of a solver that failed for the marginal on some axes."""
        if not status.ok:
            names = ", ".join(self.domain.attributes[axis] for axis in axes)
            fault = self._fault(axes) if status is Status.FAILED else ""
            raise SolverError(
                f"the marginal on {names} must be reconstructed, but the solver failed: "
                f"{fault or status.value} (choose another solver with reconstruction=)"
            )

    def _fault(self, axes: Sequence[int]) -> str:
        """What is wrong with the table that the solver gives, which answers once more; may be
        empty."""
        with self.reporting():
            return Reconstruction(self.held, self.solver).one(tuple(axes)).detail

    @cached_property
    def tables(self) -> Tables:
        """The tables of the views, with the total that was learnt with a base."""
        return self.held if self.total is None else with_total(self.held, *self.total)

    @cached_property
    def linked_errors(self) -> LinkedErrors | None:
        """How much smaller the errors of covered marginals are because rules link views.

        None if they do not, or if it is not computed: the errors are then taken to be as large as
        without links.
        """
        if self.noise is not None or self.base is not None:
            return None
        return LinkedErrors.of(self.held)

    @cached_property
    def reconstruction(self) -> Reconstruction | BasedReconstruction:
        if self.base is None:
            return Reconstruction(self.held, self.solver)
        return BasedReconstruction(
            self.tables,
            self.base,
            self.trust,
            self.solver,
            errors=self.noise,
        )

    @cached_property
    def structure(self) -> Structure:
        if isinstance(self.reconstruction, BasedReconstruction):
            return BasedStructure(self.reconstruction)
        return Structure(self.held, self.reconstruction.solver, self.scales)


def at_once(shape: tuple[int, ...]) -> int:
    """The number of marginals of a shape that are reconstructed together."""
    cells = math.prod(shape)
    if cells > MOST_CELLS:
        raise DomainError(
            f"a marginal must have at most {MOST_CELLS:,} cells to be reconstructed, but this one "
            f"has {cells:,}; ask for fewer attributes"
        )
    return max(1, MOST_CELLS // cells)
