"""`MarginalSynopsis`: a synopsis with the marginals of a workload, each estimated by itself."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from .._types import Floats
from ..domain.domain import Domain, View
from ..domain.marginal import Marginal
from ..domain.workload import Workload
from ..errors import DomainError
from ..solvers import NonNegativity, ResidualConsistency, Tables
from .noisy_tables import (
    check_finite,
    check_kurtosis,
    check_variances,
    packed_kurtosis,
    read_kurtosis,
    tables_of,
)
from .synopsis import Packed, Provenance, Synopsis, tables_by_size

__all__ = ["MarginalSynopsis"]

_LISTED = 8
"""Largest number of marginals that a message names."""


@dataclass(
    frozen=True,
    kw_only=True,
    eq=False,
    repr=False,
)
class MarginalSynopsis(Synopsis):
    """A synopsis that holds separate estimates of some marginals.

    It answers these and the marginals on fewer attributes within one of them, and refuses others.

    The variance of each cell is known, but not the covariances of the cells, whose errors may be
    correlated. So the interval of a `count` that is one held cell is known. That of a sum of
    cells, of a `difference` and of a `ratio` is NaN.

    Attributes
    ----------
    domain, provenance
        See `Synopsis`.
    held
        The marginals, each with its attributes in the order in which they were asked for. The
        variance is of the noise, before negative counts were removed. `missed_variance` is NaN for
        an estimate that misses something else, of a size that is not known.
    """

    held: tuple[Marginal, ...]

    def __post_init__(self) -> None:
        for marginal in self.held:
            check_finite(marginal, "counts")
        noise = [marginal.noise_variance for marginal in self.held]
        say = "put 0, and NaN as missed_variance, where the error is not known"
        check_variances(self, noise, say=say)
        check_kurtosis(self, [marginal.noise_kurtosis for marginal in self.held])

    @classmethod
    def of(
        cls,
        domain: Domain,
        marginals: Sequence[Marginal],
        nonnegativity: NonNegativity | None,
    ) -> "MarginalSynopsis":
        """Make a synopsis of noisy marginals; `nonnegativity` removes negative counts from each.

        With `nonnegativity=None` negative counts stay. If the domain has rules or a number of rows,
        each marginal is then replaced by the nearest one that satisfies them.
        """
        # Rules and a number of rows must hold even if negative counts may stay.
        change: Callable[[Tables], Tables] | None = nonnegativity
        if change is None and (domain.zeros is not None or domain.rows is not None):
            change = ResidualConsistency()
        if change is not None:
            marginals = [_changed(marginal, change) for marginal in marginals]
        return cls(
            domain=domain,
            held=tuple(marginals),
        )

    def _marginals(self, workload: Iterable[Iterable[str]]) -> list[Marginal]:
        """Answer marginals that are held, or that are within one that is held.

        A marginal within a held one is a sum of its cells, of unknown variance.

        Raises
        ------
        DomainError
            Also when a view is not within a held marginal. The message names some that are held.
        """
        answers = ((view, self._answer(view)) for view in Workload.of(self.domain, workload))
        return [
            self._answered(
                view,
                answer.counts,
                answer.noise_variance,
                answer.noise_kurtosis,
                missed=_missed(answer),
            )
            for view, answer in answers
        ]

    def _contents(self) -> str:
        """The tables, by their numbers of attributes."""
        return tables_by_size(marginal.attributes for marginal in self.held)

    def summary(self) -> dict[str, str]:
        """Describe the content in words for people: a dictionary of texts by their titles."""
        cells = sum(marginal.counts.size for marginal in self.held)
        return {"marginals": f"{len(self.held)}, {cells:,} cells: {self._listing}"}

    def pack(self) -> Packed:
        """The content of a file: the marginals one after another, then the variances of noise.

        If all counts have one kurtosis, it is a field; otherwise an array like the variances. The
        field `missing` has the places of the marginals that miss something.
        """
        arrays = {
            "tables": np.concatenate([marginal.counts.ravel() for marginal in self.held]),
            "variances": np.concatenate(
                [marginal.noise_variance.ravel() for marginal in self.held]
            ),
        }
        fields: dict[str, Any] = {"views": [marginal.attributes for marginal in self.held]}
        missing = [place for place, marginal in enumerate(self.held) if marginal.reconstructed]
        if missing:
            fields["missing"] = missing
        kurtosis = [
            np.broadcast_to(marginal.noise_kurtosis, marginal.counts.shape).ravel()
            for marginal in self.held
        ]
        together = np.concatenate(kurtosis).astype(np.float64)
        if (together == together[0]).all():
            fields |= packed_kurtosis(float(together[0]))
        else:
            arrays["kurtosis"] = together
        return Packed(fields, arrays)

    @classmethod
    def room(
        cls,
        fields: Mapping[str, Any],
        *,
        domain: Domain,
    ) -> Mapping[str, int]:
        """The largest number of entries that `unpack` accepts in each array of a file, by name."""
        cells = sum(domain.cells(view) for view in fields["views"])
        return {"tables": cells, "variances": cells, "kurtosis": cells}

    @classmethod
    def unpack(
        cls,
        packed: Packed,
        *,
        domain: Domain,
        provenance: Provenance,
    ) -> Self:
        """Make the synopsis from the content of a file; see `Synopsis.unpack`."""
        views = [domain.view(view) for view in packed.fields["views"]]
        counts = _parts(packed.arrays["tables"], domain, views)
        variances = _parts(packed.arrays["variances"], domain, views)
        law: Sequence[Floats | float] = [read_kurtosis(packed.fields)] * len(views)
        if "kurtosis" in packed.arrays:
            law = _parts(packed.arrays["kurtosis"], domain, views)
        missed: list[Floats | None] = [None] * len(views)
        for place in packed.fields.get("missing", ()):
            missed[place] = np.full(counts[place].shape, math.nan)
        held = [
            Marginal(
                domain.restrict(view, checked=True),
                table,
                variance,
                missed_variance=unknown,
                noise_kurtosis=kurtosis,
            )
            for view, table, variance, unknown, kurtosis in zip(
                views, counts, variances, missed, law, strict=True
            )
        ]
        return cls(
            domain=domain,
            held=tuple(held),
            provenance=provenance,
        )

    @cached_property
    def _place(self) -> Mapping[frozenset[str], int]:
        return {frozenset(marginal.attributes): place for place, marginal in enumerate(self.held)}

    @property
    def _listing(self) -> str:
        listed = ["(" + ", ".join(marginal.attributes) + ")" for marginal in self.held[:_LISTED]]
        more = len(self.held) - len(listed)
        return ", ".join(listed) + (f" and {more} more" if more else "")

    def _answer(self, view: View) -> Marginal:
        place = self._place.get(frozenset(view))
        if place is not None:
            return _reordered(self.held[place], view)
        # The smallest marginal that contains the view has the least noise in its sums.
        holders = [marginal for marginal in self.held if set(view) <= set(marginal.attributes)]
        if not holders:
            raise DomainError(
                f"the marginal on {', '.join(view)} must be within a released marginal, but these "
                f"are {self._listing}; ask for one of them, or release with a mechanism that "
                "answers any marginal, such as PriView"
            )
        return min(holders, key=lambda marginal: marginal.counts.size).project(view)


def _changed(
    marginal: Marginal,
    change: Callable[[Tables], Tables],
) -> Marginal:
    """Apply `change` to the table of one marginal; the variance stays."""
    mean = marginal.noise_variance.mean()
    tables = tables_of(marginal.domain, [marginal.attributes], [marginal.counts], [mean])
    return Marginal(
        marginal.domain,
        change(tables).values[0],
        marginal.noise_variance,
        missed_variance=_missed(marginal),
        noise_kurtosis=marginal.noise_kurtosis,
    )


def _missed(marginal: Marginal) -> Floats | None:
    """The missed variance of a marginal, and None if it misses nothing."""
    return marginal.missed_variance if marginal.reconstructed else None


def _reordered(marginal: Marginal, view: View) -> Marginal:
    """Bring the attributes of a marginal into the order of `view`."""
    if marginal.attributes == view:
        return marginal
    order = marginal.domain.axes(view)
    missed = _missed(marginal)
    kurtosis = marginal.noise_kurtosis
    if isinstance(kurtosis, np.ndarray):
        kurtosis = kurtosis.transpose(order)
    return Marginal(
        marginal.domain.restrict(view),
        marginal.counts.transpose(order),
        marginal.noise_variance.transpose(order),
        missed_variance=None if missed is None else missed.transpose(order),
        noise_kurtosis=kurtosis,
    )


def _parts(
    flat: NDArray[np.generic],
    domain: Domain,
    views: Sequence[View],
) -> list[Floats]:
    """The tables of views from one array of a file, in which they stand one after another."""
    shapes = [domain.shape(view) for view in views]
    sizes = [math.prod(shape) for shape in shapes]
    if flat.dtype != np.float64 or flat.shape != (sum(sizes),):
        raise ValueError(
            f"the array of tables must be floats of shape {(sum(sizes),)}, but it is {flat.dtype} "
            f"of shape {flat.shape}; get a fresh copy of the file"
        )
    parts = np.split(flat.astype(np.float64), np.cumsum(sizes)[:-1])
    return [part.reshape(shape) for part, shape in zip(parts, shapes, strict=True)]
