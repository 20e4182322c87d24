"""`ColumnCounts`: how many rows hold each of many items."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from .._types import Floats, Integers
from ..domain.domain import Domain
from ..domain.marginal import Marginal
from ..errors import DomainError
from ..queries import Queries
from .synopsis import Packed, Provenance, Synopsis

__all__ = ["ColumnCounts"]


@dataclass(frozen=True, kw_only=True, eq=False)
class ColumnCounts(Synopsis):
    """Estimated counts of items, and which are the most frequent.

    Attributes
    ----------
    domain, provenance
        See `Synopsis`. The domain has one attribute, whose categories are the items.
    counts
        How many rows hold each item: floats of shape (items,), which may be negative.
    variance
        That of the noise in each; what truncation or selection takes away is a bias, which is not
        in it.
    ranking
        Items that were chosen one after another, where the method chooses: places, shape (chosen,);
        else empty.
    parameters
        What the method chose privately, by name: theta, alpha.
    """

    counts: Floats
    variance: Floats
    ranking: Integers
    parameters: dict[str, float]

    def order(self, k: int) -> Integers:
        """The places of the k most frequent items, the most frequent first: shape (k,). DomainError
        for other k."""
        if isinstance(k, bool) or not isinstance(k, int) or not 1 <= k <= self.counts.size:
            raise DomainError(
                f"k ({k}) must be an integer from 1 to the number of items ({self.counts.size})"
            )
        if self.ranking.size >= k:
            return self.ranking[:k]
        by_count = np.argsort(-self.counts, kind="stable")
        rest = by_count[~np.isin(by_count, self.ranking)]
        return np.concatenate([self.ranking, rest])[:k]

    def top(self, k: int) -> list[Any]:
        """The k most frequent items, the most frequent first."""
        (attribute,) = self.domain.values()
        return [attribute.labels[place] for place in self.order(k).tolist()]

    def marginals(self, workload: Iterable[Iterable[str]]) -> list[Marginal]:
        """The counts, for each view that is the one attribute.

        Raises
        ------
        DomainError
            When a view is another one.
        """
        for view in workload:
            self.domain.view(view)
        return [Marginal(self.domain, self.counts.copy(), self.variance.copy()) for _ in workload]

    def answer(self, queries: Queries) -> Floats:
        """Refused: a row holds many items, so that counts of items are no shares of the rows."""
        raise DomainError("counts of items are no shares of the rows: ask for .counts or top(k)")

    def summary(self) -> dict[str, str]:
        """What it consists of, for people."""
        chosen = {name: f"{value:g}" for name, value in self.parameters.items()}
        deviation = float(np.sqrt(self.variance.max(initial=0.0)))
        return {
            "items": str(self.counts.size),
            "noise": f"standard deviation {deviation:.6g} an item",
            **chosen,
        }

    def pack(self) -> Packed:
        """See `Synopsis.pack`."""
        arrays = {"counts": self.counts, "variance": self.variance, "ranking": self.ranking}
        return Packed({"parameters": self.parameters}, arrays)  # type: ignore[arg-type]

    @classmethod
    def room(cls, fields: Mapping[str, Any], *, domain: Domain) -> Mapping[str, int]:
        """See `Synopsis.room`."""
        return dict.fromkeys(("counts", "variance", "ranking"), math.prod(domain.sizes))

    @classmethod
    def unpack(cls, packed: Packed, *, domain: Domain, provenance: Provenance) -> Self:
        """See `Synopsis.unpack`."""
        counts, variance, ranking = (
            packed.arrays[name] for name in ("counts", "variance", "ranking")
        )
        if counts.shape != domain.sizes or variance.shape != domain.sizes or ranking.ndim != 1:
            raise ValueError("unexpected array")
        return cls(
            domain=domain,
            provenance=provenance,
            counts=np.asarray(counts, np.float64),
            variance=np.asarray(variance, np.float64),
            ranking=np.asarray(ranking, np.int64),
            parameters={
                str(name): float(value) for name, value in packed.fields["parameters"].items()
            },
        )
