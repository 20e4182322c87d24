"""`UniformSynopsis`: a synopsis with the number of rows only, spread evenly over all cells."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from .._types import Floats
from ..domain.domain import Domain, View
from ..domain.marginal import Marginal
from ..domain.where import Chosen
from ..domain.workload import Workload
from ..errors import DomainError
from .counts.conditions import box
from .counts.sums import Sums
from .noisy_tables import check_finite, check_variances, in_view_order
from .synopsis import Packed, Provenance, Synopsis

__all__ = ["UniformSynopsis"]

_MAX_CELLS = 1 << 27
"""Largest number of cells of a marginal."""


@dataclass(
    frozen=True,
    kw_only=True,
    eq=False,
    repr=False,
)
class UniformSynopsis(Synopsis):
    """A synopsis that holds only the noisy number of rows.

    It answers any marginal as if all possible cells were equally likely. How far that is from the
    truth is not known, so only the number of all rows has an interval.

    Attributes
    ----------
    domain, provenance
        See `Synopsis`.
    total
        The noisy number of rows. Answers use the number that the domain declares, if any.
    variance
        The variance of the noise in `total`, in squared rows.
    """

    _knows_sums: ClassVar[bool] = True

    total: float
    variance: float

    def __post_init__(self) -> None:
        check_finite(self, "total")
        check_variances(self, [self.variance])

    def _marginals(self, workload: Iterable[Iterable[str]]) -> list[Marginal]:
        """Answer marginals by spreading the number of rows evenly over all possible cells."""
        total, variance = self._total
        answers = []
        for view in Workload.of(self.domain, workload):
            cells = self.domain.cells(view)
            if cells > _MAX_CELLS:
                raise DomainError(
                    f"a marginal must have at most {_MAX_CELLS:,} cells, but the marginal on "
                    f"{', '.join(view)} has {cells:,}; ask for fewer attributes"
                )
            # The noise of the total is spread like the total itself. What is missed is not known.
            share = self._shares(view)
            answers.append(
                self._answered(
                    view, total * share, variance * share**2, missed=np.full(share.shape, math.nan)
                )
            )
        return answers

    def _sums(self, chosen: Sequence[Chosen]) -> Sums:
        """The numbers of rows with some codes: shares of the total, whose noise they have.

        What is missed is not known, except that the number of all rows misses nothing.
        """
        total, variance = self._total
        shares = []
        for codes in chosen:
            cells = self._shares(tuple(codes))[box(codes, ())] if codes else np.ones(1)
            shares.append(cells.sum())
        share = np.array(shares)
        noise = variance * np.outer(share, share)
        guessed = np.array([bool(codes) for codes in chosen])
        return Sums(
            estimates=total * share,
            noise=noise,
            missed=np.where(np.logical_and.outer(guessed, guessed), math.nan, 0.0),
            reconstructed=bool(guessed.any()),
        )

    @property
    def _total(self) -> tuple[float, float]:
        """The number of rows that answers use, and the variance of its noise."""
        if self.domain.rows is None:
            return self.total, self.variance
        return float(self.domain.rows), 0.0

    def _shares(self, view: View) -> Floats:
        """The share of the possible cells of the full table that are in each cell of a view."""
        if self.domain.zeros is None:
            return np.full(self.domain.shape(view), 1 / self.domain.cells(view))
        axes = self.domain.axes(view)
        return in_view_order(self.domain.zeros.uniform(tuple(sorted(axes))), axes)

    def summary(self) -> dict[str, str]:
        """Describe the content in words for people: a dictionary of texts by their titles."""
        return {"table": "the number of rows, spread evenly over all cells"}

    def pack(self) -> Packed:
        """The content to write to a file; see `Synopsis.pack`."""
        return Packed({"total": self.total, "variance": self.variance}, {})

    @classmethod
    def room(
        cls,
        fields: Mapping[str, Any],
        *,
        domain: Domain,
    ) -> Mapping[str, int]:
        """The largest number of entries that `unpack` accepts in each array of a file, by name."""
        return {}

    @classmethod
    def unpack(
        cls,
        packed: Packed,
        *,
        domain: Domain,
        provenance: Provenance,
    ) -> Self:
        """Make the synopsis from the content of a file; see `Synopsis.unpack`."""
        total, variance = float(packed.fields["total"]), float(packed.fields["variance"])
        return cls(
            domain=domain,
            total=total,
            variance=variance,
            provenance=provenance,
        )
