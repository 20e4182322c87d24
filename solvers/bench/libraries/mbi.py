"""`Mbi`: maximum entropy under known marginals by the estimators of the package mbi."""

import importlib
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...backends import available
from ...reconstruct.problem import Problem
from ...status import Status
from ..families.family import Claim
from .by_model import Answered

__all__ = ["Mbi"]


@dataclass(
    frozen=True,
    kw_only=True,
)
class Mbi:
    """Fits a graphical model to the known marginals by an estimator of mbi (McKenna et al., 2019).

    The estimators minimise the squared misses of the marginals over graphical models, which start
    at the uniform table. If the marginals agree, their limit has the largest entropy. They do not
    say whether they converged. So no status is claimed.

    Parameters
    ----------
    estimator
        The name of a class of ``mbi.estimation``: MirrorDescent, LBFGS, InteriorGradient, ...
    iterations
        The largest number of iterations.
    """

    estimator: str = "LBFGS"
    iterations: int = 5_000

    def solve(self, problem: Problem) -> Answered:
        """The table of the model after the last iteration."""
        if not available("mbi"):
            missing = Claim(status=Status.MISSING)
            return Answered(answer=None, claim=missing, detail="mbi is not installed")
        if problem.zeros is not None:
            detail = "this adapter takes no cells that must be zero"
            return Answered(answer=None, claim=Claim(status=Status.UNSUPPORTED), detail=detail)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # mbi warns of the precision, which is set here
            jax: Any = importlib.import_module("jax")
            jax.config.update("jax_enable_x64", True)
            mbi: Any = importlib.import_module("mbi")
            estimation: Any = importlib.import_module("mbi.estimation")
            names = [f"a{place}" for place in range(len(problem.shape))]
            domain = mbi.Domain(names, problem.shape)
            measured = [
                mbi.LinearMeasurement(marginal.ravel(), tuple(names[place] for place in places))
                for places, marginal in problem.margins()
            ]
            model = getattr(estimation, self.estimator)().estimate(
                domain,
                measured,
                known_total=1.0,
                iters=self.iterations,
            )
            cells = np.asarray(model.project(tuple(names)).datavector(), np.float64)
        return Answered(answer=cells.reshape(problem.shape) * problem.total, claim=Claim())
