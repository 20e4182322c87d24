"""`ColumnCounts`: a synopsis with the noisy number of rows that hold each of many items."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from .._checks import whole_number
from .._types import Floats, Integers
from ..domain.domain import Domain
from ..domain.marginal import Marginal
from ..domain.where import Chosen
from ..errors import DomainError
from ..queries import Queries
from .counts.sums import Sums
from .noisy_tables import (
    check_finite,
    check_kurtosis,
    check_variances,
    negative_left,
    packed_kurtosis,
    read_kurtosis,
)
from .synopsis import Packed, Provenance, Synopsis

__all__ = ["ColumnCounts"]


@dataclass(
    frozen=True,
    kw_only=True,
    eq=False,
    repr=False,
)
class ColumnCounts(Synopsis):
    """A synopsis that holds a noisy count of each item, and names the most frequent items.

    Attributes
    ----------
    domain, provenance
        See `Synopsis`. The domain has one attribute, whose categories are the items.
    counts
        The noisy number of rows that hold each item: floats of shape (items,), possibly negative.
    variance
        The variance of the noise in each count, in squared rows: finite numbers >= 0, of shape
        (items,). It is 0 for an item that was not measured; `missed_variance` is NaN there, so that
        its count has no interval.
    missed_variance
        NaN for each count that truncation, selection or smoothing may move away from the truth, by
        how much is not known, and 0 for others: shape (items,). None if noise is the only error.
    kurtosis
        The excess kurtosis of the noise in each count; see `Marginal`.
    ranking
        The places of items that the method chose, the first choice first: shape (chosen,). Empty if
        it chooses none.
    parameters
        The parameters that the method chose privately, by name: theta, alpha.
    """

    _knows_sums: ClassVar[bool] = True

    counts: Floats
    variance: Floats
    ranking: Integers
    parameters: dict[str, float]
    kurtosis: float = 0.0
    missed_variance: Floats | None = None

    def __post_init__(self) -> None:
        check_finite(self, "counts", "ranking")
        # A file says only which counts miss something, not by how much.
        if self.missed_variance is not None:
            known = self.missed_variance[~np.isnan(self.missed_variance)]
            if known.any():
                raise DomainError(
                    "missed_variance of a ColumnCounts must be NaN or 0 for each item, but one "
                    "number is neither; put NaN for each count that misses something"
                )
        check_variances(
            self,
            [self.variance],
            say="put 0 for an item that was not measured, and NaN in missed_variance",
        )
        check_kurtosis(self, [self.kurtosis])
        for name, value in self.parameters.items():
            if not math.isfinite(value):
                raise DomainError(
                    f"parameters of a ColumnCounts must be finite numbers, but {name!r} is not; "
                    "leave it out"
                )

    def order(self, k: int) -> Integers:
        """The places of the k most frequent items, the most frequent first: shape (k,).

        Raises
        ------
        DomainError
            When k is not a whole number from 1 to the number of items.
        """
        k = whole_number("k", k, most=self.counts.size)
        if self.ranking.size >= k:
            return self.ranking[:k]
        # Items that the method chose come first, then the others by their counts.
        by_count = np.argsort(-self.counts, kind="stable")
        rest = by_count[~np.isin(by_count, self.ranking)]
        return np.concatenate([self.ranking, rest])[:k]

    def top(self, k: int) -> list[Any]:
        """The labels of the k most frequent items, the most frequent first."""
        (attribute,) = self.domain.values()
        return [attribute.labels[place] for place in self.order(k).tolist()]

    def _marginals(self, workload: Iterable[Iterable[str]]) -> list[Marginal]:
        """The marginals of some views. A view can only be the one attribute of the domain, so each
        marginal has the counts of all items.

        Raises
        ------
        DomainError
            When a view is not one of the domain.
        """
        for view in workload:
            self.domain.view(view)
        return [
            Marginal(
                self.domain,
                self.counts.copy(),
                self.variance.copy(),
                missed_variance=self.missed_variance,
                noise_kurtosis=self.kurtosis,
            )
            for _ in workload
        ]

    def _sums(self, chosen: Sequence[Chosen]) -> Sums:
        """The numbers of rows that hold an item, with independent noise.

        A row holds many items, so numbers of several items do not add up to a number of rows.
        """
        places = []
        for codes in chosen:
            items = next(iter(codes.values()), ())
            if len(items) != 1:
                found = f"{len(items)} items" if items else "all items"
                raise DomainError(
                    "a count of items must select exactly one item, because a row may hold "
                    f"several, but it selects {found}; ask for one at a time"
                )
            places.append(items[0])
        same = np.equal.outer(places, places)
        noise = np.where(same, self.variance[places], 0.0)
        missed = np.zeros_like(noise)
        if self.missed_variance is not None:
            unknown = np.isnan(self.missed_variance[places])
            missed[np.logical_or.outer(unknown, unknown)] = math.nan
        return Sums(
            estimates=self.counts[places],
            noise=noise,
            missed=missed,
            reconstructed=bool(np.isnan(missed).any()),
            kurtosis=np.full(len(places), self.kurtosis),
        )

    def answer(self, queries: Queries) -> Floats:
        """Not available: a row holds many items, so counts of items are not shares of the rows.

        Raises
        ------
        DomainError
            Always.
        """
        raise DomainError(
            "answers are shares of the rows, but this synopsis holds counts of items only; use "
            ".counts or top(k)"
        )

    def summary(self) -> dict[str, str]:
        """Describe the content in words for people: a dictionary of texts by their titles."""
        chosen = {name: f"{value:g}" for name, value in self.parameters.items()}
        deviation = float(np.sqrt(self.variance.max(initial=0.0)))
        return {
            "items": str(self.counts.size),
            "noise": f"standard deviation {deviation:.6g} an item",
            **chosen,
            **negative_left([self.counts]),
        }

    def pack(self) -> Packed:
        """The content to write to a file; see `Synopsis.pack`."""
        arrays = {"counts": self.counts, "variance": self.variance, "ranking": self.ranking}
        if self.missed_variance is not None:
            # The places of the counts that miss something: files hold no NaN.
            arrays["missing"] = np.flatnonzero(np.isnan(self.missed_variance)).astype(np.int64)
        fields = {"parameters": self.parameters, **packed_kurtosis(self.kurtosis)}
        return Packed(fields, arrays)  # type: ignore[arg-type]

    @classmethod
    def room(
        cls,
        fields: Mapping[str, Any],
        *,
        domain: Domain,
    ) -> Mapping[str, int]:
        """The largest number of entries that `unpack` accepts in each array of a file, by name."""
        names = ("counts", "variance", "ranking", "missing")
        return dict.fromkeys(names, math.prod(domain.sizes))

    @classmethod
    def unpack(
        cls,
        packed: Packed,
        *,
        domain: Domain,
        provenance: Provenance,
    ) -> Self:
        """Make the synopsis from the content of a file; see `Synopsis.unpack`."""
        counts = packed.arrays["counts"]
        variance = packed.arrays["variance"]
        ranking = packed.arrays["ranking"]
        # A crafted file may hold any arrays.
        if counts.shape != domain.sizes or variance.shape != domain.sizes or ranking.ndim != 1:
            raise ValueError(
                f"counts and variance must have shape {domain.sizes} and ranking one dimension, "
                f"but their shapes are {counts.shape}, {variance.shape} and {ranking.shape}; get a "
                "fresh copy of the file"
            )
        missed = None
        if "missing" in packed.arrays:
            missed = np.zeros(domain.sizes)
            missed[packed.arrays["missing"]] = math.nan
        parameters = packed.fields["parameters"].items()
        return cls(
            domain=domain,
            provenance=provenance,
            counts=np.asarray(counts, np.float64),
            variance=np.asarray(variance, np.float64),
            ranking=np.asarray(ranking, np.int64),
            parameters={str(name): float(value) for name, value in parameters},
            kurtosis=read_kurtosis(packed.fields),
            missed_variance=missed,
        )
