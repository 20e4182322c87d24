"""`Uniform`: a mechanism that measures only the number of rows and spreads it evenly."""

from dataclasses import dataclass

from ...domain.workload import Workload
from ...private import Private, Strategy
from ...synopses import UniformSynopsis

__all__ = ["Uniform"]


@dataclass(
    frozen=True,
    kw_only=True,
)
class Uniform:
    """A mechanism that measures only the number of rows, and answers as if all cells were equally
    likely.

    It is the baseline that every method should beat (Qardaji, Yang and Li, SIGMOD 2014, section 5).
    It has no `expected_error`, because nearly all of its error is bias, not noise.
    """

    def run(
        self,
        private: Private,
        workload: Workload | None,
    ) -> UniformSynopsis:
        """Run the mechanism: measure the number of rows with the whole budget."""
        (measured,) = private.measure_linear([Strategy.total(private.domain)])
        return UniformSynopsis(
            domain=private.domain,
            total=float(measured.values.sum()),
            variance=measured.variance,
        )
