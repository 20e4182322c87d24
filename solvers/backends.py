"""Solving a programme by cvxpy: its options, and its statuses as `Status`."""

import ctypes
import importlib
import importlib.util
import os
import sys
import warnings
from functools import cache
from typing import Any

from .status import Status

_TIME_OPTION = {
    "CLARABEL": "time_limit",
    "SCS": "time_limit_secs",
    "OSQP": "time_limit",
    "HIGHS": "time_limit",
    "SCIPY": None,
    "PIQP": None,
}
"""The option of each solver that sets its time limit in seconds; None if it has none."""

_ACCURATE: dict[str, dict[str, Any]] = {
    "CLARABEL": {
        **dict.fromkeys(("tol_gap_abs", "tol_gap_rel", "tol_feas"), 1e-10),
        **dict.fromkeys(("tol_infeas_abs", "tol_infeas_rel"), 1e-10),
    },
    "SCS": {"eps_abs": 1e-7, "eps_rel": 1e-7, "eps_infeas": 1e-7, "max_iters": 20_000},
    "OSQP": {
        **dict.fromkeys(("eps_abs", "eps_rel", "eps_prim_inf", "eps_dual_inf"), 1e-7),
        "max_iter": 100_000,
    },
    "PIQP": dict.fromkeys(("eps_abs", "eps_rel", "eps_primal_inf", "eps_dual_inf"), 1e-9),
}
"""Options that replace default tolerances; the defaults are too loose for comparisons. What calls a
programme infeasible is as strict as what calls it solved."""


def tolerance_in_cvxpy(solver: str) -> float | None:
    """The tolerance that `run` sets for a solver of cvxpy; None if it leaves the solver its own."""
    tolerances = [
        value for name, value in _ACCURATE.get(solver.upper(), {}).items() if "iter" not in name
    ]
    return float(tolerances[0]) if tolerances else None


def available(module: str) -> bool:
    """Whether a module can be imported."""
    return importlib.util.find_spec(module) is not None


def cvxpy_solvers() -> tuple[list[str], list[str]]:
    """The names of all solvers that cvxpy knows, and of those that are installed."""
    cvxpy: Any = importlib.import_module("cvxpy")  # slow to import, and without types
    return list(cvxpy.settings.SOLVERS), list(cvxpy.installed_solvers())


def load_pulp() -> Any:
    """Import PuLP, after OSQP if that is installed.

    PuLP loads the library of HiGHS with its symbols visible to every library that is loaded later
    (``RTLD_GLOBAL``). HiGHS and OSQP both define ``csc_copy``, for integers of different sizes. An
    OSQP that is loaded after PuLP calls the function of HiGHS and the process crashes; an OSQP
    that is loaded before keeps its own.
    """
    if available("osqp"):
        importlib.import_module("osqp")
    return importlib.import_module("pulp")


def load_highs() -> Any:
    """Import highspy, and make its first model, which prints a banner, without output.

    Raises
    ------
    ImportError
        If the package highspy is not installed or cannot be loaded.
    """
    highspy = importlib.import_module("highspy")  # optional, and without types
    if os.name == "posix":
        _make_first_model(highspy)
    return highspy


@cache
def _make_first_model(highspy: Any) -> None:
    """Make a model of HiGHS while file descriptor 1, to which the library writes, leads nowhere."""
    library = ctypes.CDLL(None)
    # What the library has in its buffer belongs to the output of before, or to nobody.
    library.fflush(None)
    kept = os.dup(1)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 1)
        highspy.Highs()
        library.fflush(None)
    finally:
        os.dup2(kept, 1)
        os.close(kept)
        os.close(nowhere)


def _refuse_crash(solver: str) -> None:
    """Raise RuntimeError where OSQP would crash this process; `load_pulp` says why."""
    if solver != "OSQP" or not available("highspy"):
        return
    order = list(sys.modules)  # modules in the order in which they were first imported
    if "pulp" not in order:
        return
    if "osqp" not in order or order.index("pulp") < order.index("osqp"):
        raise RuntimeError(
            "OSQP must be imported before PuLP, but this process imported PuLP first and would "
            "crash (both load a function named csc_copy). Begin the script with 'import osqp', or "
            "choose another solver, for example 'CLARABEL'"
        )


def load_cvxpy(solver: str) -> Any:
    """Import cvxpy, and load all that it and a solver need, so that solves can be timed.

    The import takes about a second, and parts of both are loaded only in the first solve.

    Parameters
    ----------
    solver
        The solver's name in cvxpy, in any case.

    Returns
    -------
    module
        The module cvxpy.

    Raises
    ------
    RuntimeError
        See `run`.
    """
    _load(solver.upper())
    return importlib.import_module("cvxpy")  # slow to import, and without types


@cache
def _load(solver: str) -> None:
    """Solve a linear programme of one unknown; whether it is solved makes no difference."""
    cvxpy: Any = importlib.import_module("cvxpy")
    unknown = cvxpy.Variable()
    run(cvxpy.Problem(cvxpy.Minimize(unknown), [unknown >= 1]), solver, None)


def run(
    programme: Any,
    solver: str,
    time_limit: float | None,
    *,
    accurate: bool = True,
) -> tuple[Status, int]:
    """Solve a cvxpy programme; its variables then hold the answer, if one was found.

    Parameters
    ----------
    programme
        A `cvxpy.Problem`.
    solver
        The solver's name in cvxpy, in any case.
    time_limit
        Seconds, or None. Solvers without a time limit ignore it.
    accurate
        Whether to replace the solver's default tolerances by the tighter ones of `_ACCURATE`.

    Returns
    -------
    status, iterations
        How the solve ended, and the number of iterations (0 if the solver does not tell it).

    Raises
    ------
    RuntimeError
        If the solver is OSQP and this process imported PuLP before it.
    """
    name = solver.upper()
    _refuse_crash(name)
    cvxpy: Any = importlib.import_module("cvxpy")  # slow to import, and without types
    if name not in cvxpy.installed_solvers():
        return Status.MISSING, 0
    if name == "HIGHS":
        load_highs()  # so that its banner is not printed
    options = dict(_ACCURATE.get(name, {})) if accurate else {}
    option = _TIME_OPTION.get(name)
    if time_limit is not None and option is not None:
        options[option] = time_limit
    with warnings.catch_warnings():
        # cvxpy warns of inaccurate solutions. The status says the same.
        warnings.simplefilter("ignore")
        try:
            programme.solve(
                solver=name,
                **options,
            )
        except (cvxpy.error.SolverError, ValueError, ArithmeticError):
            # Back-ends raise these when they stop without an answer, also at the time limit.
            status = Status.FAILED if time_limit is None else Status.TIME_LIMIT
            return status, 0
    iterations = int(getattr(programme.solver_stats, "num_iters", 0) or 0)
    if programme.status == "user_limit" and time_limit is not None:
        return Status.TIME_LIMIT, iterations
    return _translate(programme.status), iterations


def _translate(status: str) -> Status:
    """Translate a status of cvxpy to a `Status`."""
    if status == "optimal":
        return Status.OPTIMAL
    if status in ("optimal_inaccurate", "user_limit"):
        return Status.ITERATION_LIMIT
    if status.startswith("infeasible"):
        return Status.INFEASIBLE
    return Status.FAILED
