"""A back-end for a `BestResponse`: the integer programming solver HiGHS, by the package highspy."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..backends import load_highs
from ..status import Status
from ..threads import end_threads_of_highs
from .best_response import BestResponse, Response, Seed
from .milp import check_limits, conclude, settled
from .programme import Programme


@dataclass(
    frozen=True,
    kw_only=True,
)
class Highs:
    """Solves the integer programme of `Programme` by HiGHS (branch and bound), on one thread.

    It needs the package highspy, which cannot be loaded into one process with ortools; see `CpSat`.
    `Response.work` is the number of nodes. `seed` is also the random seed of HiGHS.

    Parameters
    ----------
    nodes
        The largest number of nodes of branch and bound, or None; the same on every machine.
    time_limit
        Seconds, or None.
    published
        Whether the programme is stated as in the paper, with one row for each conjunction, instead
        of one row for each literal. Both have the same best records; proofs take longer.
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
        try:
            highspy = load_highs()
        except ImportError as error:
            return instance.respond(
                None,
                status=Status.MISSING,
                detail=f"highspy: {error}",
            )
        programme = Programme.of(instance, published=self.published)
        if programme.columns == 0:
            return settled(instance, seed=seed)
        solver = highspy.Highs()
        options = {
            "output_flag": False,
            "threads": 1,
            "mip_rel_gap": 0.0,
            "random_seed": int(np.random.SeedSequence(seed).generate_state(1)[0] >> 1),
            "mip_max_nodes": self.nodes,
            "time_limit": self.time_limit,
        }
        for name, value in options.items():
            if value is not None:
                solver.setOptionValue(name, value)
        end_threads_of_highs(highspy)
        solver.passModel(_model(highspy, programme))
        solver.run()
        ended = solver.getModelStatus()
        info = solver.getInfo()
        status = _status(highspy, ended)
        feasible = highspy.SolutionStatus.kSolutionStatusFeasible
        found = info.primal_solution_status == feasible
        bound = programme.offset + info.mip_dual_bound if programme.whole.any() else None
        return conclude(
            instance,
            programme,
            np.array(solver.getSolution().col_value) if found else None,
            status=status,
            bound=bound,
            work=max(int(info.mip_node_count), 0),
            seed=seed,
            detail="" if status.ok else f"HiGHS: {solver.modelStatusToString(ended)}",
        )


def _status(highspy: Any, ended: Any) -> Status:
    """Translate a status of HiGHS to a `Status`."""
    kinds = highspy.HighsModelStatus
    statuses = {
        kinds.kOptimal: Status.OPTIMAL,
        kinds.kInfeasible: Status.INFEASIBLE,
        kinds.kUnboundedOrInfeasible: Status.INFEASIBLE,
        kinds.kTimeLimit: Status.TIME_LIMIT,
        kinds.kIterationLimit: Status.ITERATION_LIMIT,
        kinds.kSolutionLimit: Status.ITERATION_LIMIT,  # the limit of nodes
    }
    return statuses.get(ended, Status.FAILED)


def _model(highspy: Any, programme: Programme) -> Any:
    """Write the programme as a model of highspy."""
    model = highspy.HighsLp()
    model.num_row_, model.num_col_ = programme.matrix.shape
    model.sense_ = highspy.ObjSense.kMaximize
    model.col_cost_ = programme.cost
    model.col_lower_ = np.zeros(programme.columns)
    model.col_upper_ = programme.top
    model.row_lower_ = programme.lower
    model.row_upper_ = programme.upper
    model.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    matrix = programme.matrix
    model.a_matrix_.start_ = matrix.indptr
    model.a_matrix_.index_ = matrix.indices
    model.a_matrix_.value_ = matrix.data
    kinds = highspy.HighsVarType
    model.integrality_ = [
        kinds.kInteger if whole else kinds.kContinuous for whole in programme.whole
    ]
    return model
