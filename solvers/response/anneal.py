"""`Anneal`: simulated annealing for a `BestResponse`, fast on instances too dense for proofs."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..status import Status
from .greedy import greedy_record
from .integer import BestResponse, Response, Seed
from .presolve import compress, presolve


@dataclass(frozen=True, kw_only=True)
class Anneal:
    """Simulated annealing (Kirkpatrick, Gelatt and Vecchi, Science 1983), from the greedy record.

    A sweep proposes another class to each attribute in turn; the temperature falls by equal ratios
    from `hot` to `cold` times the mean absolute weight, so scaling all weights changes nothing.
    Sweeps without heat end each run. Missed constraints cost more and more. Where there are fewer
    terms than attributes, what has a best class whatever the others do is fixed first (`presolve`),
    which leaves little. `Response.work` counts the proposed moves.

    Parameters
    ----------
    sweeps
        With heat, in each run.
    runs
        The first from the greedy record, the others from random ones; the best record is kept.
    hot, cold
        The first and the last temperature, > 0.

    Raises
    ------
    ValueError
        When a number is out of range.
    """

    sweeps: int = 100
    runs: int = 1
    hot: float = 0.5
    cold: float = 0.1

    def __post_init__(self) -> None:
        if self.sweeps < 0 or self.runs < 1 or not (self.hot > 0 and self.cold > 0):
            raise ValueError("an annealer needs sweeps >= 0, runs >= 1, hot > 0 and cold > 0")

    def solve(self, instance: BestResponse, /, *, seed: Seed = 0) -> Response:
        """See `Responder`."""
        from .loops import Layout, anneal

        rng = np.random.default_rng(seed)
        small = compress(instance)
        if small.instance.terms < len(small.instance.sizes):
            small = presolve(instance)
        layout = Layout.of(small.instance)
        weight = small.instance.weight
        unit = float(np.abs(weight).mean()) if len(weight) else 1.0
        heat = (max(unit, 1e-9) * self.hot, max(unit, 1e-9) * self.cold)
        best: NDArray[np.int32] | None = None
        moves = 0
        for run in range(self.runs):
            x = rng.integers(0, layout.sizes, dtype=np.int32)
            if run == 0:
                greedy_record(layout, weight, x)
            done, met = anneal(
                layout, weight, x, self.sweeps, *heat, _prices(small.instance, unit), rng
            )
            moves += done
            if met and (
                best is None or small.instance.objective(x) > small.instance.objective(best)
            ):
                best = x
        record = None if best is None else instance.fill(small.lift(best, rng), rng)
        status = Status.UNPROVEN if record is not None else Status.ITERATION_LIMIT
        return instance.respond(record, status=status, work=moves)


def _prices(instance: BestResponse, unit: float) -> tuple[float, float]:
    """What a missed unit of a constraint costs at first, and in the end: more than any single
    attribute can gain."""
    weight = np.abs(instance.weight)[instance.term]
    most = np.bincount(instance.attribute, weight, minlength=1).max(initial=0.0)
    return max(unit, 1.0), float(np.ceil(most)) + 1.0
