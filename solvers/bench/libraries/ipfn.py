"""`Ipfn`: iterative proportional fitting by the package ipfn."""

import importlib
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...backends import available
from ...reconstruct.problem import Problem
from ...status import Status
from ..families.family import Claim
from .by_model import Answered

__all__ = ["Ipfn"]


@dataclass(
    frozen=True,
    kw_only=True,
)
class Ipfn:
    """Scales the uniform table to its known marginals by ipfn.

    The package does not say whether it converged. So no status is claimed.

    Parameters
    ----------
    tolerance
        The relative change of the last round at which it stops.
    iterations
        The largest number of rounds.
    """

    tolerance: float = 1e-10
    iterations: int = 20_000

    def solve(self, problem: Problem) -> Answered:
        """The table after the last round."""
        if not available("ipfn"):
            missing = Claim(status=Status.MISSING)
            return Answered(answer=None, claim=missing, detail="ipfn is not installed")
        ipfn: Any = importlib.import_module("ipfn.ipfn")  # optional, and without types
        margins = problem.margins()
        start = problem.uniform.reshape(problem.shape).copy()
        if not margins:
            return Answered(answer=start * problem.total, claim=Claim())
        fitted = ipfn.ipfn(
            start,
            [np.maximum(marginal, 0.0) for _, marginal in margins],
            [list(places) for places, _ in margins],
            convergence_rate=self.tolerance,
            max_iteration=self.iterations,
        ).iteration()
        return Answered(answer=np.asarray(fitted) * problem.total, claim=Claim())
