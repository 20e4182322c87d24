"""`ItemsetCounts`: a synopsis with frequent sets of items and the noisy number of rows of each."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from .._types import Floats
from ..domain.domain import Domain
from ..domain.marginal import Marginal
from ..errors import DomainError
from .noisy_tables import check_finite, check_variances
from .synopsis import Packed, Provenance, Synopsis

__all__ = ["ItemsetCounts"]


@dataclass(
    frozen=True,
    kw_only=True,
    eq=False,
    repr=False,
)
class ItemsetCounts(Synopsis):
    """A synopsis that holds sets of items, each with a noisy count of the rows that hold all of it.

    Attributes
    ----------
    domain, provenance
        See `Synopsis`. The domain has one attribute, whose categories are the items.
    itemsets
        The sets, as places of items in the domain, the most frequent first.
    counts
        The noisy number of rows that hold each set: floats of shape (itemsets,).
    variance
        The variance of the noise in each count before sets were selected, in squared rows: shape
        (itemsets,). The counts select the sets, so a published count is too high on average, and
        its mean squared error is above `variance`, most of all near the end of the list.
    """

    itemsets: tuple[tuple[int, ...], ...]
    counts: Floats
    variance: Floats

    def __post_init__(self) -> None:
        check_finite(self, "counts")
        check_variances(self, [self.variance])

    def top(self, k: int) -> list[tuple[Any, ...]]:
        """The k most frequent sets, as tuples of labels of items; fewer if there are fewer."""
        (attribute,) = self.domain.values()
        return [tuple(attribute.labels[item] for item in items) for items in self.itemsets[:k]]

    def _marginals(self, workload: Iterable[Iterable[str]]) -> list[Marginal]:
        """Not available: a set of items is not a cell of a marginal.

        Raises
        ------
        DomainError
            Always.
        """
        raise DomainError(
            "a marginal counts cells, but this synopsis holds itemsets, which are not cells; ask "
            "for top(k), or for .itemsets and .counts"
        )

    def summary(self) -> dict[str, str]:
        """Describe the content in words for people: a dictionary of texts by their titles."""
        return {
            "itemsets": str(len(self.itemsets)),
            "longest": str(max(map(len, self.itemsets), default=0)),
        }

    def pack(self) -> Packed:
        """The content to write to a file; see `Synopsis.pack`."""
        fields = {"itemsets": [list(items) for items in self.itemsets]}
        return Packed(fields, {"counts": self.counts, "variance": self.variance})

    @classmethod
    def room(
        cls,
        fields: Mapping[str, Any],
        *,
        domain: Domain,
    ) -> Mapping[str, int]:
        """The largest number of entries that `unpack` accepts in each array of a file, by name."""
        return dict.fromkeys(("counts", "variance"), len(fields["itemsets"]))

    @classmethod
    def unpack(
        cls,
        packed: Packed,
        *,
        domain: Domain,
        provenance: Provenance,
    ) -> Self:
        """Make the synopsis from the content of a file; see `Synopsis.unpack`."""
        itemsets = tuple(tuple(int(item) for item in items) for items in packed.fields["itemsets"])
        counts = np.asarray(packed.arrays["counts"], np.float64)
        variance = np.asarray(packed.arrays["variance"], np.float64)
        # A crafted file may hold any arrays.
        if counts.shape != (len(itemsets),) or variance.shape != counts.shape:
            raise ValueError(
                f"counts and variance must have shape {(len(itemsets),)}, but they have "
                f"{counts.shape} and {variance.shape}; get a fresh copy of the file"
            )
        return cls(
            domain=domain,
            provenance=provenance,
            itemsets=itemsets,
            counts=counts,
            variance=variance,
        )
