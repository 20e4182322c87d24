"""`LogThreshold` and `Zealous`: counts of frequent items, published above a threshold."""

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from ..._checks import positive_integer
from ...domain.bounds import LAPLACE_KURTOSIS
from ...domain.workload import Workload
from ...privacy.budget import ApproxDP
from ...private import FrequentItems, Private
from ...synopses.columns import ColumnCounts

__all__ = ["LogThreshold", "Zealous"]


@dataclass(
    frozen=True,
    kw_only=True,
)
class LogThreshold:
    """Counts of all items that are frequent enough (Korolova, Kenthapadi, Mishra and Ntoulas,
    WWW 2009).

    Each row (a user's log) keeps at most d items. Every item that is left gets Laplace noise of
    scale d / epsilon, and is published if its noisy count reaches a threshold K. Items that no row
    holds get no noise. An `ApproxDP` budget is spent as a whole: epsilon on the noise, delta on the
    items that one row alone could bring to the threshold. The theorem is in
    docs/proofs/frequent_items.md. The paper draws the published counts a second time, from further
    budget. Here the count that passed is published, which is private already.

    Parameters
    ----------
    most
        d, the largest number of items that a row keeps, >= 1.
    threshold
        K. None takes the smallest whole number that is proved to be enough for the budget.
    attributes
        See `DPSense`.

    Examples
    --------
    >>> LogThreshold.paper(ApproxDP(1, "1e-5"), most=10).threshold
    142
    """

    most: int
    threshold: int | None = None
    attributes: Iterable[str] | None = None

    def __post_init__(self) -> None:
        positive_integer("most", self.most)
        if self.threshold is not None:
            positive_integer("threshold", self.threshold)

    @classmethod
    def paper(
        cls,
        budget: ApproxDP,
        *,
        most: int,
    ) -> "LogThreshold":
        """The threshold of the paper: K = d (1 - ln(2 delta / d) / epsilon), and half a row more.

        The paper's noise is continuous. The tail of the discrete noise at k is at most the tail of
        the continuous noise at k - 1/2.
        """
        d = positive_integer("most", most)
        rarity = -math.log(2 * float(budget.delta) / d)
        return cls(most=d, threshold=math.ceil(d * (1 + rarity / float(budget.epsilon)) + 0.5))

    def run(
        self,
        private: Private,
        workload: Workload | None,
    ) -> ColumnCounts:
        """Count, add noise and cut. The workload is not used."""
        found = private.frequent_items(
            self.attributes,
            most=self.most,
            threshold=self.threshold,
        )
        return _published(found)


@dataclass(
    frozen=True,
    kw_only=True,
)
class Zealous:
    """Counts of frequent items with two thresholds (Götz, Machanavajjhala, Wang, Xiao and Gehrke,
    IEEE TKDE 24(3), 2012).

    Each row (a user's log) keeps at most m items. Items of fewer than tau rows are dropped. The
    others get Laplace noise, and are published if their noisy count reaches tau'. `LogThreshold` is
    the case tau = 1. The paper proves a probabilistic form of differential privacy, for which a
    larger tau allows a smaller distance tau' - tau. The theorem here is about (epsilon, delta), and
    needs the same distance for every tau; so tau = 1 publishes the most items.

    Parameters
    ----------
    most
        m, the largest number of items that a row keeps, >= 1.
    least
        tau, the smallest true count to which noise is added, >= 1.
    threshold
        tau', the smallest noisy count that is published. None takes the smallest whole number that
        is proved to be enough for the budget.
    attributes
        See `DPSense`.

    Examples
    --------
    >>> Zealous.paper(ApproxDP(1, "1e-5"), most=10, least=20, users=100_000).threshold
    454
    """

    most: int
    least: int = 1
    threshold: int | None = None
    attributes: Iterable[str] | None = None

    def __post_init__(self) -> None:
        positive_integer("most", self.most)
        positive_integer("least", self.least)
        if self.threshold is not None:
            positive_integer("threshold", self.threshold)

    @classmethod
    def paper(
        cls,
        budget: ApproxDP,
        *,
        most: int,
        least: int,
        users: int,
    ) -> "Zealous":
        """The thresholds of the paper's theorem, for a public number U of users, and half a
        row more, as for `LogThreshold.paper`.

        With lambda = 2 m / epsilon, tau' - tau is the larger of -lambda ln(2 - 2 exp(-1 / lambda))
        and -lambda ln(2 delta tau / (U m)).
        """
        m = positive_integer("most", most)
        tau = positive_integer("least", least)
        scale = 2 * m / float(budget.epsilon)
        hidden = -scale * math.log(-2 * math.expm1(-1 / scale))
        items = positive_integer("users", users) * m / tau
        rare = -scale * math.log(2 * float(budget.delta) / items)
        return cls(most=m, least=tau, threshold=tau + math.ceil(max(hidden, rare) + 0.5))

    def run(
        self,
        private: Private,
        workload: Workload | None,
    ) -> ColumnCounts:
        """Count, cut, add noise and cut again. The workload is not used."""
        found = private.frequent_items(
            self.attributes,
            most=self.most,
            least=self.least,
            threshold=self.threshold,
        )
        return _published(found)


def _published(found: FrequentItems) -> ColumnCounts:
    """The counts of the published items, the most frequent first; all others are zero.

    An item is published if its noisy count is large, and rows may have been cut, so noise is not
    the only error of any count.
    """
    size = found.items.sizes[0]
    counts = np.zeros(size)
    variance = np.zeros(size)
    counts[found.places] = found.counts
    variance[found.places] = found.variance
    order = np.argsort(-found.counts, kind="stable")
    return ColumnCounts(
        domain=found.items,
        counts=counts,
        variance=variance,
        kurtosis=LAPLACE_KURTOSIS,
        ranking=found.places[order],
        parameters={"threshold": float(found.threshold)},
        missed_variance=np.full(size, math.nan),
    )
