"""`HighsEngine`: the solver HiGHS, through the package highspy, for everything without cones."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ...backends import load_highs
from ...status import Status
from ...threads import end_threads_of_highs
from ...types import Floats
from ..models.model import Model
from .ended import Ended
from .library import Library

__all__ = ["HighsEngine", "from_highs", "to_highs"]

_STATUS = {
    "kOptimal": Status.OPTIMAL,
    "kTimeLimit": Status.TIME_LIMIT,
    "kIterationLimit": Status.ITERATION_LIMIT,
    "kInfeasible": Status.INFEASIBLE,
}
"""The `Status` for each status of HiGHS; any other one is `FAILED`."""


@dataclass(
    frozen=True,
    kw_only=True,
)
class HighsEngine(Library):
    """Solves linear, integer, and continuous quadratic models by HiGHS.

    Parameters
    ----------
    tolerance
        The tolerance of feasibility and optimality.
    seed
        The random seed of the solver.

    Examples
    --------
    >>> model = Model(cost=[1, 1], matrix=[[1, 2]], lower=[2], upper=[np.inf])
    >>> HighsEngine()(model).bound
    1.0
    """

    module: ClassVar[str] = "highspy"
    statuses: ClassVar[Mapping[Any, Status]] = _STATUS
    takes_integers: ClassVar[bool] = True
    tells_bound: ClassVar[bool] = True
    tolerance: float = 1e-9
    seed: int = 0

    def load(self) -> Any:
        return load_highs()

    def tells(self, integral: bool) -> bool:
        return integral

    def solve(
        self,
        highspy: Any,
        model: Model,
        time_limit: float | None,
        improved: Callable[[Floats], None] | None = None,
    ) -> Ended:
        solver = quiet(highspy)
        solver.setOptionValue("threads", 1)
        solver.setOptionValue("random_seed", self.seed)
        solver.setOptionValue("mip_rel_gap", 0.0)
        solver.setOptionValue("primal_feasibility_tolerance", self.tolerance)
        solver.setOptionValue("dual_feasibility_tolerance", self.tolerance)
        if time_limit is not None:
            solver.setOptionValue("time_limit", float(time_limit))
        end_threads_of_highs(highspy)
        solver.passModel(to_highs(highspy, model))
        if improved is not None:
            _tell(highspy, solver, model.columns, improved)
        solver.run()
        ended = solver.getModelStatus()
        status = _STATUS.get(ended.name, Status.FAILED)
        information = solver.getInfo()
        solution = solver.getSolution()
        point = np.array(solution.col_value) if solution.value_valid else None
        bound = None
        if model.integral:
            bound = float(information.mip_dual_bound)
        elif status is Status.OPTIMAL:
            bound = float(information.objective_function_value)
        steps = max(information.simplex_iteration_count, information.qp_iteration_count)
        nodes = max(information.mip_node_count, 0)
        has_dual = solution.dual_valid and not model.integral
        return Ended(
            status=status,
            point=point,
            bound=bound if bound is not None and np.isfinite(bound) else None,
            work=int(nodes if model.integral else steps),
            dual=np.array(solution.row_dual) if has_dual else None,
            detail=str(solver.modelStatusToString(ended)),
        )


def _tell(
    highspy: Any,
    solver: Any,
    columns: int,
    improved: Callable[[Floats], None],
) -> None:
    """Let HiGHS call a function with each better point of an integer programme."""
    kind = highspy.cb.HighsCallbackType.kCallbackMipImprovingSolution

    def called(which: Any, _message: str, told: Any, _control: Any, _data: Any) -> None:
        point = np.array(told.mip_solution) if which == kind else np.zeros(0)
        # Early versions of highspy pass on the first entries alone.
        if point.shape == (columns,):
            improved(point)

    solver.setCallback(called, None)
    solver.startCallback(kind)


def quiet(highspy: Any) -> Any:
    """A solver of HiGHS that prints nothing."""
    solver = highspy.Highs()
    solver.setOptionValue("output_flag", False)
    return solver


def to_highs(highspy: Any, model: Model) -> Any:
    """The model as a `highspy.HighsModel`."""
    columns = model.matrix.tocsc()
    made = highspy.HighsModel()
    linear = made.lp_
    linear.num_col_ = model.columns
    linear.num_row_ = model.rows
    linear.col_cost_ = model.cost
    linear.offset_ = model.offset
    linear.col_lower_ = model.least
    linear.col_upper_ = model.most
    linear.row_lower_ = model.lower
    linear.row_upper_ = model.upper
    linear.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    linear.a_matrix_.num_col_ = model.columns
    linear.a_matrix_.num_row_ = model.rows
    linear.a_matrix_.start_ = columns.indptr
    linear.a_matrix_.index_ = columns.indices
    linear.a_matrix_.value_ = columns.data
    if model.integral:
        kinds = highspy.HighsVarType
        linear.integrality_ = [
            kinds.kInteger if whole else kinds.kContinuous for whole in model.whole.tolist()
        ]
    if model.quadratic:
        squares = np.flatnonzero(model.square)
        hessian = made.hessian_
        hessian.dim_ = model.columns
        hessian.format_ = highspy.HessianFormat.kTriangular
        hessian.start_ = np.concatenate([[0], np.cumsum(model.square != 0)])
        hessian.index_ = squares
        hessian.value_ = model.square[squares]
    return made


def from_highs(highspy: Any, solver: Any) -> Model:
    """The model that a solver of HiGHS holds.

    Raises
    ------
    ValueError
        If its objective is maximised or has products of two columns, or a column is
        semi-continuous.
    """
    linear = solver.getLp()
    if linear.sense_ != highspy.ObjSense.kMinimize:
        raise ValueError("the file must minimise, but it maximises; turn the signs of its costs")
    from scipy import sparse

    matrix = sparse.csc_array(
        (
            np.array(linear.a_matrix_.value_, np.float64),
            np.array(linear.a_matrix_.index_, np.int64),
            np.array(linear.a_matrix_.start_, np.int64),
        ),
        shape=(linear.num_row_, linear.num_col_),
    )
    kinds = list(linear.integrality_)
    if set(kinds) - {highspy.HighsVarType.kContinuous, highspy.HighsVarType.kInteger}:
        raise ValueError(
            "each column of the file must be continuous or integer, but one is semi-continuous or "
            "semi-integer; state it by a column of 0 and 1 and two rows"
        )
    whole = [kind == highspy.HighsVarType.kInteger for kind in kinds] if kinds else False
    return Model(
        cost=np.array(linear.col_cost_),
        offset=float(linear.offset_),
        matrix=matrix,
        lower=np.array(linear.row_lower_),
        upper=np.array(linear.row_upper_),
        least=np.array(linear.col_lower_),
        most=np.array(linear.col_upper_),
        whole=whole,
        square=_squares(solver.getModel().hessian_, linear.num_col_),
    )


def _squares(hessian: Any, columns: int) -> Floats:
    """The diagonal of a Hessian; ValueError if it has other entries."""
    squares = np.zeros(columns)
    if hessian.dim_ == 0:
        return squares
    starts = np.array(hessian.start_, np.int64)
    rows = np.array(hessian.index_, np.int64)
    values = np.array(hessian.value_, np.float64)
    owner = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    if (values[owner != rows] != 0).any():
        raise ValueError(
            "the quadratic part must have squares alone, but it has products of two columns; "
            "add a column for each linear form that is squared"
        )
    squares[rows[owner == rows]] = values[owner == rows]
    return squares
