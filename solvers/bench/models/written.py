"""A `Model` written as an object of cvxpy or of PuLP."""

import importlib
import warnings
from typing import Any

import numpy as np

from ...backends import load_pulp
from ...types import Floats
from .implied import least_needed
from .model import Model

__all__ = ["dual_of_cvxpy", "dual_of_pulp", "to_cvxpy", "to_pulp"]


def to_cvxpy(model: Model) -> Any:
    """The model as a `cvxpy.Problem`.

    Its only variable, ``x`` of shape (columns,), holds the columns. Lower bounds that the
    exponential cones imply are left out; see `least_needed`.

    Examples
    --------
    >>> model = Model(cost=[1, 1], matrix=[[1, 2]], lower=[2], upper=[np.inf])
    >>> programme = to_cvxpy(model)
    >>> round(float(programme.solve(solver="CLARABEL")), 6)
    1.0
    """
    cvxpy: Any = importlib.import_module("cvxpy")  # slow to import, and without types
    whole = np.flatnonzero(model.whole)
    x = cvxpy.Variable(
        model.columns,
        name="x",
        integer=[(place,) for place in whole.tolist()] if len(whole) else False,
    )
    objective = model.offset + model.cost @ x
    curved = np.flatnonzero(model.square)
    if len(curved):
        root = np.sqrt(model.square[curved] / 2)
        objective += cvxpy.sum_squares(cvxpy.multiply(root, x[curved]))
    constraints = []
    if model.rows:
        constraints += _between(model.matrix @ x, model.lower, model.upper)
    constraints += _between(x, least_needed(model), model.most)
    if model.cones:
        entries = model.cone @ x + model.shift
        first, second, third = (entries[place::3] for place in range(3))
        constraints.append(cvxpy.constraints.ExpCone(first, second, third))
    return cvxpy.Problem(cvxpy.Minimize(objective), constraints)


def dual_of_cvxpy(model: Model, programme: Any) -> Floats | None:
    """The multipliers of the rows, with the signs of `Ended.dual`; None if a row has none.

    The programme is that of `to_cvxpy`, after it was solved.
    """
    whole = np.zeros(model.rows)
    # The constraints on the rows come first, in the order of `_parts`.
    left = iter(programme.constraints)
    for rows, sign in zip(_parts(model.lower, model.upper), (-1.0, -1.0, 1.0), strict=True):
        if not len(rows):
            continue
        value = next(left).dual_value
        if value is None:
            return None
        whole[rows] = sign * np.ravel(value)
    return whole


def _parts(lower: Any, upper: Any) -> tuple[Any, Any, Any]:
    """The places with equal bounds, with an upper and with a lower bound."""
    equal = np.flatnonzero(lower == upper)
    below = np.flatnonzero(np.isfinite(upper) & (lower != upper))
    above = np.flatnonzero(np.isfinite(lower) & (lower != upper))
    return equal, below, above


def _between(expression: Any, lower: Any, upper: Any) -> list[Any]:
    """The constraints of cvxpy that keep an expression between bounds, where they are finite."""
    equal, below, above = _parts(lower, upper)
    made = []
    if len(equal):
        made.append(expression[equal] == lower[equal])
    if len(below):
        made.append(expression[below] <= upper[below])
    if len(above):
        made.append(expression[above] >= lower[above])
    return made


def to_pulp(model: Model, name: str = "model") -> Any:
    """The model as a `pulp.LpProblem`, with the variables x0, x1, ...

    Raises
    ------
    ValueError
        If the model has a quadratic part or cones, which PuLP does not know.
    """
    if not model.linear:
        raise ValueError(
            "PuLP takes linear programmes only, but this one has squares or exponential cones; "
            "use to_cvxpy()"
        )
    pulp = load_pulp()  # only on use, since it loads HiGHS
    with warnings.catch_warnings():
        # PuLP warns of its next version.
        warnings.simplefilter("ignore", DeprecationWarning)
        return _pulp_problem(pulp, model, name)


def dual_of_pulp(model: Model, problem: Any) -> Floats | None:
    """The multipliers of the rows, with the signs of `Ended.dual`; None if a row has none.

    The problem is that of `to_pulp`, after it was solved. A row with two bounds has two
    constraints, of which one at most is active.
    """
    with warnings.catch_warnings():
        # PuLP warns of its next version.
        warnings.simplefilter("ignore", DeprecationWarning)
        prices = [constraint.pi for constraint in problem.constraints.values()]
    if None in prices:
        return None
    is_double = np.isfinite(model.lower) & np.isfinite(model.upper) & (model.lower != model.upper)
    is_stated = np.isfinite(model.lower) | np.isfinite(model.upper)
    owner = np.repeat(np.arange(model.rows), is_stated.astype(int) + is_double)
    summed = np.bincount(owner, np.array(prices, np.float64), model.rows)
    return np.asarray(summed, np.float64)


def _pulp_problem(pulp: Any, model: Model, name: str) -> Any:
    """Write the model with the classes of PuLP."""
    problem = pulp.LpProblem(name.replace("-", "_").replace(" ", "_"), pulp.LpMinimize)
    bounds = zip(model.least.tolist(), model.most.tolist(), model.whole.tolist(), strict=True)
    columns = []
    for place, (least, most, whole) in enumerate(bounds):
        kind = pulp.LpInteger if whole else pulp.LpContinuous
        column = pulp.LpVariable(
            f"x{place}",
            None if least == -np.inf else least,
            None if most == np.inf else most,
            kind,
        )
        columns.append(column)
    # Columns of cost zero are in it, too: some solvers know only the columns that they see.
    costs = zip(columns, model.cost.tolist(), strict=True)
    problem += pulp.LpAffineExpression(costs, constant=model.offset)
    rows = model.matrix
    for row in range(model.rows):
        span = slice(rows.indptr[row], rows.indptr[row + 1])
        entries = zip(rows.indices[span].tolist(), rows.data[span].tolist(), strict=True)
        parts = [(columns[place], value) for place, value in entries]
        lower, upper = float(model.lower[row]), float(model.upper[row])
        total = pulp.LpAffineExpression(parts)
        if lower == upper:
            problem += pulp.LpConstraint(total, pulp.LpConstraintEQ, rhs=lower)
            continue
        if lower > -np.inf:
            problem += pulp.LpConstraint(total, pulp.LpConstraintGE, rhs=lower)
        if upper < np.inf:
            problem += pulp.LpConstraint(total.copy(), pulp.LpConstraintLE, rhs=upper)
    return problem
