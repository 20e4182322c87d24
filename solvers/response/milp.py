"""`Milp`: a `BestResponse` by the mixed integer solver that scipy carries, HiGHS."""

import importlib
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..status import Status
from .anneal import Anneal
from .integer import BestResponse, Response, Seed
from .programme import Programme


@dataclass(frozen=True, kw_only=True)
class Milp:
    """`scipy.optimize.milp` on the arrays of `Programme`; nothing more need be installed.

    `Response.work` is the number of nodes.

    Parameters
    ----------
    nodes
        Of branch and bound at most, or None; the same everywhere.
    time_limit
        Seconds, or None.
    """

    nodes: int | None = None
    time_limit: float | None = None

    def solve(self, instance: BestResponse, /, *, seed: Seed = 0) -> Response:
        """See `Responder`."""
        programme = Programme.of(instance)
        if programme.columns == 0:
            return settled(instance, seed=seed)
        limits = {"node_limit": self.nodes, "time_limit": self.time_limit}
        optimize: Any = importlib.import_module(
            "scipy.optimize"
        )  # slow to load, and its types know no sparse matrices
        try:
            found = optimize.milp(
                -programme.cost,
                integrality=programme.whole.astype(np.int64),
                bounds=optimize.Bounds(0, programme.top),
                constraints=optimize.LinearConstraint(
                    programme.matrix, programme.lower, programme.upper
                ),
                options={name: limit for name, limit in limits.items() if limit is not None}
                | {"mip_rel_gap": 0.0},
            )
        except (ValueError, RuntimeError) as error:
            return instance.respond(None, status=Status.FAILED, detail=f"scipy: {error}")
        status = {0: Status.OPTIMAL, 1: Status.ITERATION_LIMIT, 2: Status.INFEASIBLE}.get(
            found.status, Status.FAILED
        )
        if found.status == 1 or (found.x is not None and status is Status.FAILED):
            # HiGHS ends its node limit as "solution limit", which scipy does not know.
            status = Status.TIME_LIMIT if "ime limit" in found.message else Status.ITERATION_LIMIT
        bound = None if found.mip_dual_bound is None else programme.offset - found.mip_dual_bound
        return conclude(
            instance,
            programme,
            found.x,
            status=status,
            bound=bound,
            work=int(found.mip_node_count or 0),
            seed=seed,
            detail="" if status.ok else str(found.message),
        )


def settled(instance: BestResponse, *, seed: Seed) -> Response:
    """The response where nothing is to be chosen: every record has one value, and meets the
    constraints or does not."""
    record = instance.fill(np.full(len(instance.sizes), -1), np.random.default_rng(seed))
    if not instance.feasible(record):
        return instance.respond(None, status=Status.INFEASIBLE)
    return instance.respond(record, status=Status.OPTIMAL)


def conclude(
    instance: BestResponse,
    programme: Programme,
    point: NDArray[Any] | None,
    *,
    status: Status,
    bound: float | None,
    work: int,
    seed: Seed,
    detail: str = "",
) -> Response:
    """The response for what a back-end of a `Programme` returned.

    Whoever claims that something is best, or that there is nothing, is held against a short run of
    annealing.
    """
    rng = np.random.default_rng(seed)
    record = programme.record(instance, point, rng)
    if (
        point is not None
        and record is None
        and status not in (Status.INFEASIBLE, Status.TIME_LIMIT)
    ):
        status = Status.FAILED
        bound = None
        detail = "the back-end returned a point that is no record"
    known = None
    if status in (Status.OPTIMAL, Status.INFEASIBLE):
        known = Anneal(sweeps=10).solve(instance, seed=seed).record
    return instance.respond(
        record, status=status, bound=bound, work=work, known=known, detail=detail
    )
