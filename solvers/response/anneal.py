"""Simulated annealing for a `BestResponse`: good records without a proof of optimality."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..fitted import ANNEALING_COLD, ANNEALING_HOT
from ..status import Status
from .best_response import BestResponse, Response, Seed
from .greedy import greedy_record
from .presolve import compress, presolve


@dataclass(
    frozen=True,
    kw_only=True,
)
class Anneal:
    """Simulated annealing (Kirkpatrick, Gelatt and Vecchi, Science 1983), from the greedy record.

    A sweep goes through the attributes and proposes another value for each. (Values that no term
    mentions count as one value; see `compress`.) The temperature falls by equal ratios from `hot`
    to `cold` times the mean absolute weight, so scaling all weights changes nothing. Each run ends
    with sweeps at temperature zero. Violated constraints are penalised, more and more during a run.

    If there are fewer terms than attributes, `presolve` runs first, because it then fixes most
    attributes. `Response.work` counts the proposed moves.

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

    Examples
    --------
    >>> instance = BestResponse.conjunctions([2, 2], [[0, 1]], [[1, 1]], [3])
    >>> Anneal().solve(instance).value
    3
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
        """Find a good record for the instance; see `Responder.solve`."""
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
    """The penalty for each unit by which a constraint is violated: at the start, at the end.

    The last penalty is more than a change of any single attribute can gain.
    """
    weight = np.abs(instance.weight)[instance.term]
    most = np.bincount(instance.attribute, weight, minlength=1).max(initial=0.0)
    return max(unit, 1.0), float(np.ceil(most)) + 1.0
