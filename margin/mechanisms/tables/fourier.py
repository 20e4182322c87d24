"""`Fourier`: a mechanism that adds noise to the Fourier coefficients of the workload's
marginals."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from ...domain.domain import Domain
from ...domain.workload import Workload
from ...privacy.budget import Budget
from ...private import Private
from ...solvers import NonNegativity, Simplex
from ...synopses import MarginalSynopsis
from ..asked import asked
from ..components import Components

__all__ = ["Fourier"]


@dataclass(
    frozen=True,
    kw_only=True,
)
class Fourier:
    """A mechanism that measures the Fourier coefficients of the workload's marginals, with equal
    noise (Barak et al., PODS 2007).

    All k-way marginals of binary attributes are sums of the Walsh-Hadamard coefficients of at most
    k attributes. Each row adds 1 or -1 to every coefficient, so m coefficients have sensitivity m.
    The marginals agree with each other. Attributes of more than two values have residual components
    in place of coefficients. Without a workload all pairs of attributes are released.

    Parameters
    ----------
    nonnegativity
        The step that removes negative counts from each marginal; None leaves them.
    """

    prices_asked: ClassVar[bool] = True

    nonnegativity: NonNegativity | None = Simplex()

    def run(
        self,
        private: Private,
        workload: Workload | None,
    ) -> MarginalSynopsis:
        """Run the mechanism: measure the coefficients as one vector and transform them back."""
        domain = private.domain
        components = Components("Fourier", domain, asked(domain, workload))
        return MarginalSynopsis.of(domain, components.answers(private), self.nonnegativity)

    def expected_error(
        self,
        domain: Domain,
        workload: Workload | Iterable[Iterable[str]] | None,
        budget: Budget,
    ) -> float:
        """The expected squared error of the workload, before negative counts are removed.

        It is in squared rows: the errors of all cells of all marginals are added, each times the
        weight of its marginal. For binary attributes the error of every marginal is the noise
        variance of a coefficient: each of its 2**k cells has 2**-k of it.
        """
        return Components("Fourier", domain, asked(domain, workload)).expected_error(budget)

    def table_errors(
        self,
        domain: Domain,
        workload: Workload | Iterable[Iterable[str]] | None,
        budget: Budget,
    ) -> list[float]:
        """The expected squared error of each table of the workload, before negative counts are
        removed: the summed error of its counts, in squared rows."""
        return Components("Fourier", domain, asked(domain, workload)).table_errors(budget)

    def largest_errors(
        self,
        domain: Domain,
        workload: Workload | Iterable[Iterable[str]] | None,
        budget: Budget,
    ) -> list[float]:
        """The largest expected squared error of a count of each table, as in `table_errors`."""
        return Components("Fourier", domain, asked(domain, workload)).largest_errors(budget)
