"""`Anneal`: simulated annealing for a `BestResponse`, for instances too dense for proofs."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..fitted import ANNEALING_COLD, ANNEALING_HOT
from ..status import Status
from .greedy import greedy_record
from .integer import BestResponse, Response, Seed
from .presolve import compress, presolve


@dataclass(
    frozen=True,
    kw_only=True,
)
class Anneal:
    """Simulated annealing (Kirkpatrick, Gelatt and Vecchi, Science 1983), from the greedy record.

    A sweep proposes another class to each attribute in turn. The temperature falls by equal ratios
    from `hot` to `cold` times the mean absolute weight, so scaling all weights changes nothing.
    Sweeps at temperature zero end each run. The price of missed constraints rises during the run.

    If there are fewer terms than attributes, attributes that have a best class for all values of
    the others are fixed first (`presolve`); few attributes are then left. `Response.work` counts
    the proposed moves.

    Parameters
    ----------
    sweeps
        The number of sweeps at positive temperature in each run, >= 0.
    runs
        The number of runs, >= 1. The first starts from the greedy record, the others from random
        ones; the best record is kept.
    hot, cold
        The first and the last temperature, in units of the mean absolute weight, > 0.

    Raises
    ------
    ValueError
        If a parameter is out of range.
    """

    sweeps: int = 100
    runs: int = 1
    hot: float = ANNEALING_HOT
    cold: float = ANNEALING_COLD

    def __post_init__(self) -> None:
        if self.sweeps < 0 or self.runs < 1:
            raise ValueError(
                f"sweeps ({self.sweeps}) must be >= 0 and runs ({self.runs}) >= 1; pass larger "
                "numbers"
            )
        if not (self.hot > 0 and self.cold > 0):
            raise ValueError(
                f"hot ({self.hot}) and cold ({self.cold}) must be > 0; pass larger numbers"
            )

    def solve(
        self,
        instance: BestResponse,
        /,
        *,
        seed: Seed = 0,
    ) -> Response:
        """See `Responder`."""
        from .loops import Layout, anneal

        rng = np.random.default_rng(seed)
        reduced = compress(instance)
        if reduced.instance.terms < len(reduced.instance.sizes):
            reduced = presolve(instance)
        small = reduced.instance
        layout = Layout.of(small)
        unit = float(np.abs(small.weight).mean()) if len(small.weight) else 1.0
        scale = max(unit, 1e-9)
        prices = _prices(small, unit)
        best: NDArray[np.int32] | None = None
        moves = 0
        for run in range(self.runs):
            x = rng.integers(0, layout.sizes, dtype=np.int32)
            if run == 0:
                greedy_record(layout, small.weight, x)
            made, met = anneal(
                layout,
                small.weight,
                x,
                self.sweeps,
                scale * self.hot,
                scale * self.cold,
                prices,
                rng,
            )
            moves += made
            if met and (best is None or small.objective(x) > small.objective(best)):
                best = x
        if best is None:
            return instance.respond(
                None,
                status=Status.ITERATION_LIMIT,
                work=moves,
            )
        record = instance.fill(reduced.lift(best, rng), rng)
        return instance.respond(
            record,
            status=Status.UNPROVEN,
            work=moves,
        )


def _prices(instance: BestResponse, unit: float) -> tuple[float, float]:
    """The price of a missed unit of a constraint at the start and at the end of a run.

    The last price is more than any single attribute can gain.
    """
    weight = np.abs(instance.weight)[instance.term]
    most = np.bincount(instance.attribute, weight, minlength=1).max(initial=0.0)
    return max(unit, 1.0), float(np.ceil(most)) + 1.0
