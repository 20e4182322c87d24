"""`UniformSynopsis`: the number of rows, spread evenly."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self

import numpy as np

from ..domain import Domain
from ..errors import DomainError
from ..marginal import Marginal
from ..synopsis import Packed, Provenance, Synopsis
from ..workload import Workload

__all__ = ["UniformSynopsis"]

_MAX_CELLS = 1 << 27


@dataclass(frozen=True, kw_only=True, eq=False)
class UniformSynopsis(Synopsis):
    """A number of rows. It answers any marginal as if all cells were equally likely.

    Attributes
    ----------
    domain, provenance
        See `Synopsis`.
    total
        The noisy number of rows.
    variance
        Of its noise.
    """

    total: float
    variance: float

    def marginals(self, workload: Iterable[Iterable[str]]) -> list[Marginal]:
        """See `Synopsis.marginals`."""
        answers = []
        for view in Workload.of(self.domain, workload):
            shape = self.domain.shape(view)
            if (cells := math.prod(shape)) > _MAX_CELLS:
                raise DomainError(f"the marginal has {cells} cells; at most {_MAX_CELLS} can be written out")
            counts, variance = np.full(shape, self.total / cells), np.full(shape, self.variance / cells**2)
            answers.append(Marginal(self.domain.restrict(view, checked=True), counts, variance))
        return answers

    def summary(self) -> dict[str, str]:
        """See `Synopsis.summary`."""
        return {"table": "the number of rows, spread evenly over all cells"}

    def pack(self) -> Packed:
        """See `Synopsis.pack`."""
        return Packed({"total": self.total, "variance": self.variance}, {})

    @classmethod
    def unpack(cls, packed: Packed, *, domain: Domain, provenance: Provenance) -> Self:
        """See `Synopsis.unpack`."""
        total, variance = float(packed.fields["total"]), float(packed.fields["variance"])
        return cls(domain=domain, total=total, variance=variance, provenance=provenance)
