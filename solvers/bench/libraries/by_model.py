"""`ByModel`: a library as a solver of every family whose programme it can solve."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...types import Floats
from ..engines.ended import Engine
from ..families.family import Claim, Family
from ..instance import Instance
from ..models.model import Model

__all__ = ["Answered", "ByModel"]


@dataclass(
    frozen=True,
    kw_only=True,
    eq=False,
)
class Answered:
    """A bare answer with what the library says of it.

    Attributes
    ----------
    answer
        The bare array or arrays, as the family's `check` takes them; None if there is none.
    claim
        The status and the bound that the library claims.
    detail
        What the library says of its end, in its own words.
    point, dual
        The point of ``instance.model`` that the answer comes from, and the multipliers of its rows,
        as in `Ended`; None if they are not told. A comparison computes residuals and a bound from
        them, for programmes without integers.
    """

    answer: Any
    claim: Claim
    detail: str = ""
    point: Floats | None = None
    dual: Floats | None = None


@dataclass(
    frozen=True,
    kw_only=True,
)
class ByModel:
    """Solves the model of an instance by an engine, and translates the point to an answer.

    `compare` writes the problem as a `Model` before the clock of each solve starts, so this is not
    counted.

    Parameters
    ----------
    engine
        An object that solves a `Model`; see `Engine`.
    time_limit
        Seconds, or None.

    Examples
    --------
    >>> from margin.solvers import bench
    >>> from margin.solvers.bench.engines.scip import ScipEngine
    >>> solver = bench.ByModel(engine=ScipEngine())
    >>> instance = bench.instances(family="cover", size="small")[0]
    >>> solver.solve_instance(instance).claim.status.name
    'OPTIMAL'
    """

    engine: Engine
    time_limit: float | None = None

    def tells(self, family: Family) -> bool:
        """Whether the engine tells better points of a family's programmes on the way."""
        told = getattr(self.engine, "tells", None)
        return bool(told is not None and told(family.integral))

    def solve_instance(
        self,
        instance: Instance,
        *,
        improved: Callable[[Any], None] | None = None,
    ) -> Answered:
        """Solve an instance of any family.

        Parameters
        ----------
        instance
            The instance.
        improved
            Is called with the answers on the way, if the engine tells them.
        """
        family = instance.family
        problem = instance.problem
        options: dict[str, Any] = {"time_limit": self.time_limit}
        if improved is not None and self.tells(family):
            options["improved"] = lambda point: improved(family.answer(problem, point))
        ended = self.engine(instance.model, **options)
        answer = None if ended.point is None else family.answer(problem, ended.point)
        detail = ended.detail
        if ended.point is not None and answer is None:
            detail = "; ".join(filter(None, [detail, _no_answer(instance.model, ended.point)]))
        bound = None if ended.bound is None else family.from_model(ended.bound)
        return Answered(
            answer=answer,
            claim=Claim(status=ended.status, bound=bound),
            detail=detail,
            point=ended.point,
            dual=ended.dual,
        )


def _no_answer(model: Model, point: Floats) -> str:
    """Why a point of a model gives no answer."""
    shape = np.shape(point)
    if shape != (model.columns,):
        return f"its point has shape {shape}; expected {(model.columns,)}"
    if not np.isfinite(point).all():
        return "its point is not finite"
    broken = model.violation(point)
    return f"its point breaks a row, a bound or an integrality of the model by {broken:.3g}"
