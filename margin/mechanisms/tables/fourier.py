"""`Fourier`: noise on the Fourier coefficients of the workload's marginals."""

from collections.abc import Iterable
from dataclasses import dataclass

from ...domain.domain import Domain
from ...domain.workload import Workload
from ...privacy.budget import Budget
from ...private import Private
from ...solvers import NonNegativity, Simplex
from ...synopses import MarginalSynopsis
from ..asked import asked
from ..components import Components

__all__ = ["Fourier"]


@dataclass(frozen=True, kw_only=True)
class Fourier:
    """Release the Fourier coefficients that make up the workload's marginals, with equal noise
    (Barak et al., PODS 2007).

    All k-way marginals of binary attributes are made of the Walsh-Hadamard coefficients of at most
    k attributes, of which each row adds 1 or -1 to every one: m coefficients have sensitivity m.
    The marginals agree with each other. Attributes of more values have residual components in place
    of coefficients. Without a workload all pairs of attributes are released.

    Parameters
    ----------
    nonnegativity
        Removes negative counts from each marginal; see `Direct`.
    """

    nonnegativity: NonNegativity | None = Simplex()

    def run(self, private: Private, workload: Workload | None) -> MarginalSynopsis:
        """Measure the coefficients as one vector and transform them back."""
        answers = Components("Fourier", private.domain, asked(private.domain, workload)).answers(
            private
        )
        return MarginalSynopsis.of(private.domain, answers, self.nonnegativity)

    def expected_error(
        self, domain: Domain, workload: Workload | Iterable[Iterable[str]] | None, budget: Budget
    ) -> float:
        """The expected squared error over all cells of all marginals of the workload, times their
        weights, before negative counts are removed.

        For binary attributes the noise variance of a coefficient, whatever the marginal: the 2**k
        cells have 2**-k of it each.
        """
        return Components("Fourier", domain, asked(domain, workload)).expected_error(budget)
