"""`Haar`: a mechanism for ranges that keeps some noisy Haar coefficients."""

from collections.abc import Iterable
from dataclasses import dataclass

from ...domain.workload import Workload
from ...errors import DomainError
from ...private import Private
from ...sparse.axes import Halves, Leaves
from ...synopses.cells import CellSynopsis
from .high_pass import HighPass
from .summaries import Summary, checked_summary, chosen_axes, kept, listed

__all__ = ["Haar"]


@dataclass(frozen=True)
class Haar:
    """A mechanism for ranges over huge tables: it adds noise to integer Haar coefficients and keeps
    some of them (Cormode et al., ICDT 2012, section 5; Xiao, Wang and Gehrke 2011).

    The coefficients of an ordered attribute are the sum of all counts and, for each interval of
    2**l codes, the sum of the first half less the sum of the second half. With several attributes,
    a coefficient is a product of one coefficient of each. A row changes the sum, and one
    coefficient of each level, by one.

    Parameters
    ----------
    inner
        The mechanism that decides which coefficients are kept, as for `Dyadic`. A `HighPass` must
        be two-sided, because coefficients have both signs.
    attributes
        The attributes whose codes are ordered; None for those that the domain declares as ordered.
        If it declares none, the release is refused before anything is charged. Others are counted
        by category.
    """

    inner: Summary
    attributes: Iterable[str] | None = None

    def __post_init__(self) -> None:
        checked_summary(self.inner)
        if isinstance(self.inner, HighPass) and not self.inner.two_sided:
            raise DomainError(
                "inner must keep coefficients of both signs, but it is a one-sided HighPass; pass "
                "HighPass(..., two_sided=True)"
            )
        object.__setattr__(self, "attributes", listed(self.attributes))

    def run(
        self,
        private: Private,
        workload: Workload | None,
    ) -> CellSynopsis:
        """Run the mechanism: transform, add noise and keep some coefficients. The workload is not
        used."""
        axes = chosen_axes("Haar", private.domain, self.attributes, Halves, Leaves)
        return kept(private, self.inner, axes)
