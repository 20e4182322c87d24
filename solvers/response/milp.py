"""A back-end for a `BestResponse`: the integer programming solver HiGHS that is part of scipy."""

import importlib
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..fitted import CHECK_SWEEPS
from ..status import Status
from .anneal import Anneal
from .best_response import BestResponse, Response, Seed
from .programme import Programme


@dataclass(
    frozen=True,
    kw_only=True,
)
class Milp:
    """Solves the integer programme of `Programme` by `scipy.optimize.milp` (branch and bound).

    It needs no further package. `Response.work` is the number of nodes.

    Parameters
    ----------
    nodes
        The largest number of nodes of branch and bound, or None; the same on every machine.
    time_limit
        Seconds, or None.
    published
        Whether the programme is stated as in the paper, with one row for each conjunction, instead
        of one row for each literal. Both have the same best records; proofs take longer.

    Examples
    --------
    >>> instance = BestResponse.conjunctions([2, 2], [[0, 1]], [[1, 1]], [3])
    >>> Milp().solve(instance).value
    3
    """

    nodes: int | None = None
    time_limit: float | None = None
    published: bool = False

    def __post_init__(self) -> None:
        check_limits(self.nodes, self.time_limit)

    def solve(
        self,
        instance: BestResponse,
        /,
        *,
        seed: Seed = 0,
    ) -> Response:
        """Find a good record for the instance; see `Responder.solve`."""
        programme = Programme.of(instance, published=self.published)
        if programme.columns == 0:
            return settled(instance, seed=seed)
        options: dict[str, float] = {"mip_rel_gap": 0.0}
        if self.nodes is not None:
            options["node_limit"] = self.nodes
        if self.time_limit is not None:
            options["time_limit"] = self.time_limit
        # scipy.optimize is slow to load, and its types do not know sparse matrices.
        optimize: Any = importlib.import_module("scipy.optimize")
        rows = optimize.LinearConstraint(programme.matrix, programme.lower, programme.upper)
        try:
            found = optimize.milp(
                -programme.cost,
                integrality=programme.whole.astype(np.int64),
                bounds=optimize.Bounds(0, programme.top),
                constraints=rows,
                options=options,
            )
        except (ValueError, RuntimeError) as error:
            return instance.respond(
                None,
                status=Status.FAILED,
                detail=f"scipy: {error}",
            )
        status = _status(found)
        bound = None
        if found.mip_dual_bound is not None:
            bound = programme.offset - found.mip_dual_bound
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


def check_limits(nodes: int | None, time_limit: float | None) -> None:
    """Refuse limits of branch and bound that are out of range: ValueError."""
    if nodes is not None and not nodes >= 0:
        raise ValueError(f"nodes ({nodes}) must be >= 0; pass such a number, or None for no limit")
    if time_limit is not None and not time_limit > 0:
        raise ValueError(
            f"time_limit ({time_limit}) must be a number of seconds > 0; pass such a number, or "
            "None for no limit"
        )


def _status(found: Any) -> Status:
    """Translate a status of scipy to a `Status`."""
    statuses = {0: Status.OPTIMAL, 1: Status.ITERATION_LIMIT, 2: Status.INFEASIBLE}
    status = statuses.get(found.status, Status.FAILED)
    # At its node limit HiGHS reports "solution limit", a status that scipy does not know.
    stopped = found.status == 1 or (found.x is not None and status is Status.FAILED)
    if not stopped:
        return status
    return Status.TIME_LIMIT if "ime limit" in found.message else Status.ITERATION_LIMIT


def settled(instance: BestResponse, *, seed: Seed) -> Response:
    """Answer an instance whose programme has no columns: any record is as good as any other."""
    nothing = np.full(len(instance.sizes), -1)
    record = instance.fill(nothing, np.random.default_rng(seed))
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
    """Make a `Response` from the point, shape (columns,), that solves a `Programme`.

    If the back-end claims that the record is optimal, or that no record is feasible, a short run of
    annealing checks this claim. The other arguments are those of `BestResponse.respond`.
    """
    rng = np.random.default_rng(seed)
    record = programme.record(instance, point, rng)
    may_lack_one = status in (Status.INFEASIBLE, Status.TIME_LIMIT)
    if point is not None and record is None and not may_lack_one:
        status = Status.FAILED
        bound = None
        detail = "the back-end returned a point that is not a record"
    known = None
    if status in (Status.OPTIMAL, Status.INFEASIBLE):
        known = Anneal(sweeps=CHECK_SWEEPS).solve(instance, seed=seed).record
    return instance.respond(
        record,
        status=status,
        bound=bound,
        work=work,
        known=known,
        detail=detail,
    )
