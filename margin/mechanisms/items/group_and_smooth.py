"""`GroupAndSmooth`: items of similar counts are counted together, and share the mean."""

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from ..._checks import positive_integer, whole_number
from ..._numbers import Number, exact
from ..._types import Floats, Integers
from ...domain.marginal import Marginal
from ...domain.workload import Workload
from ...privacy.budget import PureDP
from ...private import Private
from ...synopses.columns import ColumnCounts
from .dpsense import check_share, column_counts, items_of
from .item_counts import fine_grain

__all__ = ["GroupAndSmooth"]

_TOTAL = "1/20"
"""The part of the budget that measures the number of all items of all rows."""

_LARGEST_KEY = (1 << 63) - 1


@dataclass(
    frozen=True,
    kw_only=True,
)
class GroupAndSmooth:
    """A mechanism that counts items in groups, and gives each item the mean of its group (Kellaris
    and Papadopoulos, PVLDB 2013).

    A row that holds at most F items changes the sums of any groups by at most F in all. So the mean
    of a group of w items gets noise of scale F / (w epsilon), in place of F / epsilon for an item.
    In return a count is replaced by the mean: groups should have items of similar counts. A part of
    the budget therefore counts a sample, in which each row keeps one of its items (sensitivity one,
    so little noise). The items are sorted by these noisy counts s_1 >= s_2 >= ..., and the groups
    are runs of this order.

    As published, all groups have w items, chosen by hand. By default the runs are chosen. With v
    the variance of the noise in a single count, the runs solve

        minimise  sum over runs ( g**2 sum over i (s_i - m)**2  +  (w - 1) g (g - 1) m  +  v / w )

    over all divisions into runs of 1, 2, 4, 8, ... items, by dynamic programming. Here m is the
    mean of s in the run, and g scales the sample to all items: the noisy number of all items of all
    rows, less two standard deviations of its noise, divided by the sum of the sample, and from 1 to
    F. The first two terms are the squared error of smoothing: counts differ as the sample shows,
    and by the chance of sampling. The third is that of noise.

    Gaussian noise is smaller for separate items than for their groups, unless groups are larger
    than rows. Under such budgets items are counted by themselves, the mean is taken afterwards, and
    v / w becomes v.

    The stated variance is that of the noise. It does not include the error of smoothing.

    Parameters
    ----------
    longest
        F, the declared largest number of items of a row, >= 1; a row of more items counts less for
        each of them. None takes the number of all items.
    size
        w, the number of items of every group; the last group may be smaller. None chooses the runs.
    share
        The part of the budget for the sample, > 0 and < 1. None takes no sample; the groups are
        then random, and need `size`.
    key
        The public key of random groups, from 0 to 2**63 - 1.
    attributes
        See `DPSense`.

    Examples
    --------
    >>> GroupAndSmooth.paper(size=16).size
    16
    """

    longest: int | None = None
    size: int | None = None
    share: Number | None = "1/2"
    key: int = 0
    attributes: Iterable[str] | None = None

    def __post_init__(self) -> None:
        for name in ("longest", "size"):
            value = getattr(self, name)
            if value is not None:
                object.__setattr__(self, name, positive_integer(name, value))
        if self.share is not None:
            check_share(self.share)
        elif self.size is None:
            whole_number("size", self.size)
        whole_number("key", self.key, least=0, most=_LARGEST_KEY)
        if self.attributes is not None:
            object.__setattr__(self, "attributes", tuple(self.attributes))

    @classmethod
    def paper(
        cls,
        *,
        size: int,
        longest: int | None = None,
    ) -> "GroupAndSmooth":
        """The published form: groups of `size` items, half of the budget for the sample."""
        return cls(longest=longest, size=size, share="1/2")

    def run(
        self,
        private: Private,
        workload: Workload | None,
    ) -> ColumnCounts:
        """Sample, choose groups, and count them. The workload is not used."""
        items = items_of(private.domain, self.attributes)
        number = items.sizes[0]
        longest = min(self.longest or number, number)
        grain = fine_grain(longest)
        groups = self._groups(private, number, longest, grain)
        sizes = np.bincount(groups)
        pure = isinstance(private.budget, PureDP)
        counted = private.truncated_counts(
            self.attributes,
            most=longest,
            grain=grain,
            groups=groups if pure else None,
        )
        sums: Floats = counted.counts
        noise = counted.variance[0]
        if not pure:
            # The sum of w separate counts has w times their variance.
            sums = np.bincount(groups, counted.counts).astype(np.float64)
        variances = noise / sizes**2 if pure else noise / sizes
        means = sums / sizes
        smoothed = Marginal(
            items, means[groups], variances[groups], noise_kurtosis=counted.noise_kurtosis
        )
        # The mean of a group is not the count of each of its items.
        return column_counts(smoothed, missing=sizes[groups] > 1)

    def _groups(
        self,
        private: Private,
        items: int,
        longest: int,
        grain: int,
    ) -> Integers:
        """The group of each item: shape (items,)."""
        if self.share is None:
            assert self.size is not None
            order = np.random.Generator(np.random.Philox(key=self.key)).permutation(items)
            return _numbered(order, _equal(items, self.size))
        sample = private.sampled_counts(self.attributes, most=1, spend=self.share).counts
        # Ties are left in the order of the items.
        order = np.argsort(-sample, kind="stable")
        if self.size is not None:
            return _numbered(order, _equal(items, self.size))
        total = private.truncated_counts(
            self.attributes,
            most=longest,
            grain=grain,
            groups=np.zeros(items, np.int64),
            spend=_TOTAL,
        )
        # A factor that is too large would leave groups small where the noise is large.
        held = float(total.counts[0]) - 2 * math.sqrt(float(total.variance[0]))
        scale = min(max(held / max(float(sample.sum()), 1.0), 1.0), float(longest))
        noise = self._noise(private, longest, grain)
        pure = isinstance(private.budget, PureDP)
        return _numbered(order, _runs(sample[order], scale, noise, pure))

    def _noise(
        self,
        private: Private,
        longest: int,
        grain: int,
    ) -> float:
        """The variance of the noise in a single count, if the rest of the budget is spent on it.

        It depends on public numbers only.
        """
        assert self.share is not None
        budget = private.budget
        rest = 1 - exact("share", self.share) - exact("share", _TOTAL)
        units = max(math.floor(rest * budget.units), 1)
        l1, l2_squared = budget.sensitivity(l1=grain * longest, l2_squared=grain**2 * longest)
        noise = budget.noise(units, l1=l1, l2_squared=l2_squared)
        return noise.variance / grain**2


def _equal(items: int, size: int) -> Integers:
    """The sizes of groups of `size` items each; the last one has the rest."""
    full, rest = divmod(items, size)
    return np.array([size] * full + [rest] * (rest > 0), np.int64)


def _numbered(order: Integers, sizes: Integers) -> Integers:
    """The group of each item, from the order of the items and the sizes of the runs in it."""
    groups = np.empty(len(order), np.int64)
    groups[order] = np.repeat(np.arange(len(sizes)), sizes)
    return groups


def _runs(
    sample: Floats,
    scale: float,
    noise: float,
    pure: bool,
) -> Integers:
    """The sizes of the best runs of a sorted sample; see `GroupAndSmooth` for the problem.

    Parameters
    ----------
    sample, scale
        The counts s in their order, shape (items,), and the factor g.
    noise, pure
        The variance of the noise in a single count; and whether a sum of w counts has the same
        noise as one count, or w times its variance.
    """
    items = len(sample)
    sizes = 1 << np.arange(items.bit_length())
    first = np.concatenate([[0.0], np.cumsum(sample)])
    second = np.concatenate([[0.0], np.cumsum(sample**2)])
    # costs[t, e] is the cost of the run of sizes[t] items that ends before place e.
    costs = np.full((len(sizes), items + 1), math.inf)
    for row, size in enumerate(sizes.tolist()):
        sums = first[size:] - first[:-size]
        squares = second[size:] - second[:-size] - sums**2 / size
        chance = (size - 1) * scale * (scale - 1) * np.maximum(sums / size, 0.0)
        smoothing = scale**2 * np.maximum(squares, 0.0) + chance
        costs[row, size:] = smoothing + (noise / size if pure else noise)
    # The best division of the first e items ends with a run of sizes[last[e]] items.
    best = np.zeros(items + 1)
    last = np.zeros(items + 1, np.int64)
    for end in range(1, items + 1):
        fitting = end.bit_length()
        totals = best[end - sizes[:fitting]] + costs[:fitting, end]
        last[end] = totals.argmin()
        best[end] = totals[last[end]]
    chosen = []
    end = items
    while end:
        chosen.append(int(sizes[last[end]]))
        end -= chosen[-1]
    return np.array(chosen[::-1], np.int64)
