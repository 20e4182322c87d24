"""`ViewSynopsis`: a synopsis that answers any marginal from consistent tables of views."""

import dataclasses
import math
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ..._checks import whole_number
from ..._types import Floats
from ...domain.domain import Domain, View
from ...domain.level_views import LevelView, split_level
from ...domain.marginal import Marginal
from ...domain.where import Chosen
from ...errors import DomainError
from ...solvers import (
    ComponentErrors,
    Newton,
    Population,
    Rows,
    Solver,
    Tables,
    coverage_error,
    learnt,
)
from ..bases.forms import StatedBase
from ..counts.sums import Sums
from ..exports import record_targets, to_mbi
from ..noisy_tables import check_kurtosis, in_view_order, negative_left, tables_of
from ..source import Source
from ..synopsis import Packed, Provenance, Synopsis, tables_by_size
from . import stored
from .answering import MOST_BASED, MOST_CELLS, Answering
from .sums import rolled, sums_of

__all__ = ["ViewSynopsis"]

_MOST_RECORDS = 10**8

_FACTOR_PRECISION = 1e-6
"""Precision of the factor by which scales of structure are multiplied."""

_NO_STRUCTURE = 1e-6
"""Smallest factor of scales of structure, which leaves next to none; a scale must be > 0."""

_LISTED = 20
"""Largest number of views that a summary names."""


@dataclass(
    frozen=True,
    kw_only=True,
    eq=False,
    repr=False,
)
class ViewSynopsis(Synopsis):
    """A synopsis that holds consistent noisy tables of views, and reconstructs other marginals.

    A marginal within a view is a sum of its cells. Any other marginal is reconstructed by a solver
    from the marginals of the views on some of its attributes. Reconstructed marginals agree with
    the views, but need not agree with each other beyond them. Cells that the rules of the domain
    exclude are zero in all answers, and no record is in them. If the domain declares the number of
    rows, answers add up to it. They agree exactly with its known tables.

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
    base, trust, total
        A base, and what was learnt about it: see `margin.solvers.Learnt`. All marginals are then
        reconstructed: the base also reduces the noise of those within views. None and nothing
        without a base. `trust` has thousands of numbers; ``summary()["base"]`` says it in words.
    kurtosis
        The excess kurtosis of the noise in each measured cell or answer; see `Marginal`.
    scales
        Scales of what reconstructions miss (`margin.solvers.Structure`) that were read from a file,
        or that the mechanism knows better than the tables do. The others are learnt when answers
        need them. A copy with other tables, another solver or a base has none.
    """

    names: tuple[View, ...]
    held: Tables
    reconstruction: Solver = Newton()
    noise: ComponentErrors | None = None
    base: StatedBase | None = None
    trust: tuple[Floats, ...] = ()
    total: tuple[float, float] | None = None
    kurtosis: float = 0.0
    scales: Mapping[tuple[int, int], float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        # `Tables` checks the counts and the variances of the views.
        check_kurtosis(self, [self.kurtosis])

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
        # Known tables that lie in no measured view are views, too.
        names += tuple(
            tuple(domain.attributes[axis] for axis in axes) for axes in tables.views[len(names) :]
        )
        return cls(
            domain=domain,
            names=names,
            held=tables,
            reconstruction=reconstruction,
            kurtosis=min(float(np.min(marginal.noise_kurtosis)) for marginal in measured),
        )

    def with_tables(self, tables: Tables) -> "ViewSynopsis":
        """The same synopsis with other tables of the same views."""
        return dataclasses.replace(self, held=tables, scales={})

    def with_reconstruction(self, reconstruction: Solver) -> "ViewSynopsis":
        """The same synopsis with another solver for marginals that no view covers."""
        return dataclasses.replace(self, reconstruction=reconstruction, scales={})

    def with_base(self, base: StatedBase) -> "ViewSynopsis":
        """The same synopsis with a base; how far it is trusted is learnt from the views' tables.

        This is post-processing of the noisy tables.
        """
        found = learnt(self.held, base)
        return dataclasses.replace(
            self,
            base=base,
            trust=found.trust,
            total=found.total,
            scales={},
        )

    def with_distance(
        self,
        views: Iterable[Iterable[str]],
        distance: float,
        *,
        deviation: float = 0.0,
    ) -> "ViewSynopsis":
        """The same synopsis, told how far its answers on some views are from the truth.

        What reconstructions miss is learnt from the measured views. If these were chosen because
        they depend most on each other, they make it much too large. If they share an attribute that
        is nearly independent of all others, they make it much too small. The scales of structure
        are then multiplied by one number, so that the answers are expected to be as far from the
        truth as `distance` says. What is missed stays at least as large as the noise. This is
        post-processing: the distance must be an answer of `Private.total_distance`.

        Errors of many answers are taken to have a Laplace law: a mean absolute error of standard
        deviation / sqrt(2). Most answers miss little, and few miss much.

        Parameters
        ----------
        views
            Views that were not chosen for their answers, and most of which no measured view holds,
            such as all pairs of attributes. Answers on measured views miss nothing. If many of
            `views` were measured, and the others were passed over because they miss little, then
            the error bars of all other answers would be too short.
        distance
            The sum of their L1 distances from the true tables, in rows.
        deviation
            The standard deviation of the noise in `distance`, in rows. Error bars become wider only
            by what the distance says beyond two standard deviations.

        Warns
        -----
        UserWarning
            If an answer has no error bars, because the solver tells none. The synopsis is then
            returned unchanged. Run the mechanism with `simulate` first: it warns, too, and spends
            no budget. Likewise if measured views hold more than half of `views`: such a distance
            says little of what the others miss.

        Examples
        --------
        >>> from margin.synopses.estimate import from_measurements
        >>> pairs = [(["a", "b"], [[90, 10], [10, 90]], 1.0), (["c"], [100, 100], 1.0)]
        >>> made = from_measurements(pairs, domain={"a": 2, "b": 2, "c": 2})
        >>> told = made.with_distance([["a", "c"], ["b", "c"]], 20.0)
        >>> before, after = (one.marginal(["a", "c"]).missed_variance for one in (made, told))
        >>> bool((after < before / 4).all())
        True
        """
        asked = list(views)
        if not self.held.total > 0:
            return self  # all variances are unknown then
        answers = self.marginals(asked)
        noise = np.concatenate([answer.noise_variance.ravel() for answer in answers])
        missed = np.concatenate([answer.missed_variance.ravel() for answer in answers])
        if np.isnan(missed).any():
            warnings.warn(
                f"the distance changes no error bars, because {type(self.reconstruction).__name__} "
                "tells none: the intervals of its answers stay NaN; ask for no distance, or take "
                "a solver with error bars, such as margin.solvers.Newton()",
                stacklevel=2,
            )
            return self
        if not missed.sum() > 0:
            return self
        held = sum(not answer.reconstructed for answer in answers)
        if 2 * held > len(answers):
            warnings.warn(
                f"the distance changes no error bars, because measured views hold {held} of its "
                f"{len(answers)} views: it says little of what the others miss; ask for the "
                "distance of views that are mostly not measured, such as all pairs of attributes",
                stacklevel=2,
            )
            return self

        # A factor f leaves the part that is due to the sample, and multiplies the rest by f**2.
        without = self._scaled(_NO_STRUCTURE).marginals(asked)
        of_sample = np.concatenate([answer.missed_variance.ravel() for answer in without])
        structure = np.maximum(missed - of_sample, 0.0)
        if not structure.sum() > 0:
            return self

        def expected(factor: float) -> float:
            variance = noise + of_sample + factor**2 * structure
            return float(np.sqrt(variance / 2).sum())

        as_learnt = expected(1.0)
        if distance > as_learnt:
            # Two tables of one total differ by at most twice the total.
            most = 2 * self.held.total * len(answers)
            distance = max(as_learnt, min(distance, most) - 2 * deviation)
        room = max(0.0, noise.sum() - of_sample.sum())
        low = min(1.0, max(_NO_STRUCTURE, math.sqrt(room / structure.sum())))
        high = 1.0
        while expected(high) < distance:
            high *= 2
        # The distance grows with the factor: halve the interval in which the factor lies.
        while high - low > _FACTOR_PRECISION * high:
            factor = (low + high) / 2
            low, high = (factor, high) if expected(factor) < distance else (low, factor)
        return self._scaled(high)

    def _scaled(self, factor: float) -> "ViewSynopsis":
        """The same synopsis with scales of structure that are multiplied by a factor.

        The scale of single attributes stays where all of them are measured.
        """
        learnt = self.usual_scales()
        scales = {key: scale * (factor if key[0] else 1) for key, scale in learnt.items()}
        return dataclasses.replace(self, scales=scales)

    @classmethod
    def of_tables(
        cls,
        domain: Domain,
        tables: Tables,
        *,
        reconstruction: Solver,
        noise: ComponentErrors | None = None,
        kurtosis: float = 0.0,
    ) -> "ViewSynopsis":
        """Make a synopsis of consistent tables of views of the domain."""
        names = tuple(tuple(domain.attributes[axis] for axis in view) for view in tables.views)
        return cls(
            domain=domain,
            names=names,
            held=tables,
            reconstruction=reconstruction,
            noise=noise,
            kurtosis=kurtosis,
        )

    @property
    def views(self) -> tuple[Marginal, ...]:
        """The consistent tables of the views, with the variance of the best linear estimate.

        Empty if the total alone is kept.
        """
        views = []
        tables = zip(self.names, self.held.views, self.held.values, strict=True)
        for names, axes, table in tables:
            if not names:
                continue
            counts = in_view_order(table, self.domain.axes(names))
            variance = in_view_order(self._cell_variances(axes), self.domain.axes(names))
            if self.domain.zeros is not None:
                variance[~self.domain.possible(names)] = 0.0
            known = np.array([self.held.variance(axes)])
            (kurtosis,) = self._answering.cell_kurtosis(np.array([axes]), known)
            if isinstance(kurtosis, np.ndarray):
                kurtosis = in_view_order(kurtosis, self.domain.axes(names))
            view = Marginal(
                self.domain,
                counts,
                variance,
                attributes=names,
                noise_kurtosis=kurtosis,
            )
            views.append(view)
        return tuple(views)

    @cached_property
    def _answering(self) -> Answering:
        """What answers marginals and sums."""
        return Answering(
            domain=self.domain,
            held=self.held,
            solver=self.reconstruction,
            noise=self.noise,
            base=self.base,
            trust=self.trust,
            total=self.total,
            kurtosis=self.kurtosis,
            scales=self.scales,
        )

    def _marginals(self, workload: Iterable[Iterable[str]]) -> list[Marginal]:
        return self._answering.marginals(workload)

    def _rolled(self, view: LevelView) -> Marginal:
        return rolled(self._answering, view)

    def _sums(self, chosen: Sequence[Chosen]) -> Sums:
        return sums_of(self._answering, chosen)

    def _made(self, view: View) -> Source:
        """How the marginal of a view without levels is answered if it is not known."""
        axes = tuple(sorted(self.domain.position[name] for name in view))
        if self.held.covering(axes) is None:
            lacks_one = any(name in self.not_measured for name in view)
            return Source.ASSUMED if lacks_one else Source.RECONSTRUCTED
        is_based = self.base is not None and self._answering.cells(axes) <= MOST_BASED
        return Source.BASED if is_based else Source.MEASURED

    def _cell_variances(self, axes: tuple[int, ...]) -> Floats:
        """The variance of the noise in each cell of a view, with its axes ascending."""
        if self.noise is not None:
            return self.noise.cell_variances(axes)
        shape = tuple(self.domain.sizes[axis] for axis in axes)
        variances = np.full(shape, self.held.variance(axes))
        linked_errors = self._answering.linked_errors
        if linked_errors is None:
            return variances
        return np.maximum(variances - linked_errors.variances(axes), 0.0)

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
        return coverage_error(self.held, self._answering.reconstruction.solver, axes)

    def population(
        self,
        n: int,
        *,
        seed: int = 0,
    ) -> Rows:
        """Generate synthetic rows, and measure how far their tables are from those of the views.

        Every row has declared categories, in a combination that the rules of the domain allow. The
        tables of the views are scaled to the number of rows. If it is the known number of rows, the
        records agree exactly with the known tables. See `margin.solvers.Population`.

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
            positive; or when n is the known number of rows, and no records are found that agree
            exactly with known tables that overlap in a cycle.
        """
        n = whole_number("n", n, most=_MOST_RECORDS)
        if self.held.total <= 0:
            raise DomainError(
                "records need a noisy number of rows > 0, but it is not positive; release with a "
                "larger budget"
            )
        try:
            targets = record_targets(self._with_known_groups(), self._answering.reconstruction, n)
            found = Population().fit(targets, n, seed=seed)
            return dataclasses.replace(found, gaps=found.gaps[: len(self.held.views)])
        except ValueError as error:
            problem = str(error)
        raise DomainError(f"records: {problem}, or take another number of records")

    def _with_known_groups(self) -> Tables:
        """The tables of the views, and the answers on attributes of which levels are known together
        although no view holds them."""
        held = self.held
        for known in () if held.known is None else held.known.tables:
            if (
                held.covering(known.axes) is None
                and self._answering.cells(known.axes) <= MOST_CELLS
            ):
                names = [self.domain.attributes[axis] for axis in known.axes]
                (answer,) = self._marginals([names])
                held = held.with_view(known.axes, answer.counts)
        return held

    def records(self, n: int) -> NDArray[np.int64]:
        """Generate n synthetic rows: codes, shape (n, attributes). `population` also tells how well
        they fit the views."""
        return self.population(n).codes.astype(np.int64)

    def to_mbi(self) -> tuple[Any, list[Any]]:
        """Convert the views for the library mbi 2.0; see `margin.synopses.exports.to_mbi`."""
        return to_mbi(self)

    def _contents(self) -> str:
        """The tables, by their numbers of attributes."""
        return tables_by_size(self.names)

    def summary(self) -> dict[str, str]:
        """Describe the content in words for people: a dictionary of texts by their titles."""
        listed = [", ".join(view) or "the total" for view in self.names[:_LISTED]]
        if len(self.names) > len(listed):
            listed.append(f"... {len(self.names) - len(listed)} more")
        cells = sum(value.size for value in self.held.values)
        texts = {"views": "\n".join([f"{len(self.names)}, {cells:,} cells", *listed])}
        if self.not_measured:
            lacking = list(self.not_measured[:_LISTED])
            if len(self.not_measured) > _LISTED:
                lacking.append(f"{len(self.not_measured) - _LISTED} more")
            texts["unmeasured"] = ", ".join(lacking)
        if self.base is not None:
            texts["base"] = f"{self.base.described}\n{self._trusted}"
        return texts | negative_left(self.held.values)

    @cached_property
    def not_measured(self) -> tuple[str, ...]:
        """The attributes about which no view, no base and no declaration says anything.

        In answers, their categories are taken to be equally frequent.
        """
        domain = self.domain
        told = {split_level(domain, name)[0] for view in domain.known for name in view}
        told.update(*self.names)
        if self.base is not None:
            told.update(set(domain) - set(self.base.not_measured))
        for name, form in domain.determined.items():
            by = form if isinstance(form, str) else next(iter(form))
            if split_level(domain, by)[0] in told:
                told.add(name)
        sizes = zip(domain, domain.sizes, strict=True)
        return tuple(name for name, size in sizes if size > 1 and name not in told)

    @property
    def _trusted(self) -> str:
        """How far the base is trusted, in words: the number of rows that the median of its moments
        is worth; see `margin.solvers.Learnt`."""
        scales = np.concatenate([own.ravel()[1:] for own in self.trust])
        if not scales.size:
            return "trusted for the number of rows only"
        rows = 1 / max(float(np.median(scales)), 1 / self.base.rows if self.base else 1.0)
        return f"trusted about as much as a random sample of {max(rows, 1.0):,.0f} rows"

    def pack(self) -> Packed:
        """The content of a file: the tables in one array, with axes in the order of the domain."""
        content = stored.Content(
            names=self.names,
            held=self.held,
            reconstruction=self.reconstruction,
            noise=self.noise,
            base=self.base,
            trust=self.trust,
            total=self.total,
            kurtosis=self.kurtosis,
        )
        return stored.pack(content, {**self.scales, **self.usual_scales()})

    def usual_scales(self) -> Mapping[tuple[int, int], float]:
        """The scales of structure that most marginals need; see `Structure.usual_scales`.

        A file holds them, so that its first answers need not learn them. They are functions of the
        noisy tables alone. With a base, and for other solvers, there are none: learning could take
        long.
        """
        is_fast = isinstance(self.reconstruction, Newton) and self.reconstruction.bars
        if not is_fast or self.base is not None or self.held.total <= 0:
            return {}
        return self._answering.structure.usual_scales()

    @classmethod
    def room(
        cls,
        fields: Mapping[str, Any],
        *,
        domain: Domain,
    ) -> Mapping[str, int]:
        """The largest number of entries that `unpack` accepts in each array of a file, by name."""
        return stored.room(fields, domain, cls.room)

    @classmethod
    def unpack(
        cls,
        packed: Packed,
        *,
        domain: Domain,
        provenance: Provenance | None,
    ) -> Self:
        """Make the synopsis from the content of a file.

        A solver that is not part of this library is replaced by the default one; `margin.load`
        warns of it.
        """
        content = stored.unpack(packed, domain, cls.unpack)
        return cls(
            domain=domain,
            provenance=provenance,
            scales=stored.scales(packed.fields),
            **vars(content),
        )
