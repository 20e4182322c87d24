"""The script that `apart` runs in a separate process: it reads arrays and writes JSON.

In a comparison, `apart` calls the functions of `SOLVERS` instead.

It imports no other module of margin.

It solves an integer programme: maximise cost . y subject to lower <= matrix y <= upper and
0 <= y <= top. All numbers are integers. The matrix is given by compressed sparse rows.
"""

import importlib
import io
import json
import os
import sys
from typing import Any

import numpy as np

FAR = 2**61
"""A bound beyond this number means no bound."""

CPSAT_WORDS = {
    "OPTIMAL": "OPTIMAL",
    "FEASIBLE": "TIME_LIMIT",
    "UNKNOWN": "TIME_LIMIT",
    "INFEASIBLE": "INFEASIBLE",
}
"""The name of the `Status` for each word of CP-SAT; any other one is ``FAILED``.

Without a time limit, ``ITERATION_LIMIT`` stands for ``TIME_LIMIT``.
"""

NO_CLAUSES = (
    "RC2 takes conjunctions, forbidden cells and covers only: rows of literals of which at least "
    "one, not all, or at most one must hold"
)
"""Why `maxsat` does not take a programme."""


def answer(
    status: str,
    point: Any = None,
    bound: Any = None,
    work: int = 0,
    detail: str = "",
) -> dict[str, Any]:
    """The answer as a dictionary for JSON."""
    return {"status": status, "point": point, "bound": bound, "work": work, "detail": detail}


def cpsat(arrays: Any, options: dict[str, Any]) -> dict[str, Any]:
    """Solve the programme by CP-SAT of ortools; returns an `answer`."""
    cp_model: Any = importlib.import_module("ortools.sat.python.cp_model")
    model = cp_model.CpModel()
    columns = [model.new_int_var(0, top, "") for top in arrays["top"].tolist()]
    for members, values, lower, upper in rows(arrays):
        total = cp_model.LinearExpr.weighted_sum([columns[place] for place in members], values)
        model.add_linear_constraint(total, max(lower, -FAR), min(upper, FAR))
    model.maximize(cp_model.LinearExpr.weighted_sum(columns, arrays["cost"].tolist()))
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.random_seed = options["seed"]
    if options["steps"] is not None:
        solver.parameters.max_deterministic_time = options["steps"]
    if options["seconds"] is not None:
        solver.parameters.max_time_in_seconds = options["seconds"]
    improved = options.get("improved")
    telling = None if improved is None else _telling(cp_model, columns, improved)
    ended = solver.solve(model, telling)
    word = solver.status_name(ended)
    status = CPSAT_WORDS.get(word, "FAILED")
    if status == "TIME_LIMIT" and options["seconds"] is None:
        status = "ITERATION_LIMIT"
    found = ended in (cp_model.OPTIMAL, cp_model.FEASIBLE)
    return answer(
        status,
        [solver.value(column) for column in columns] if found else None,
        solver.best_objective_bound if found else None,
        solver.num_branches,
        "" if status == "OPTIMAL" else f"CP-SAT: {word}",
    )


def _telling(cp_model: Any, columns: list[Any], improved: Any) -> Any:
    """A callback of CP-SAT that calls a function with each better point."""

    class Telling(cp_model.CpSolverSolutionCallback):  # type: ignore[misc]
        """Is called at each better point."""

        def on_solution_callback(self) -> None:
            improved(np.array([self.value(column) for column in columns], np.float64))

    return Telling()


def maxsat(arrays: Any, options: dict[str, Any]) -> dict[str, Any]:
    """Solve the programme by the MaxSAT solver RC2 of python-sat; returns an `answer`."""
    rc2: Any = importlib.import_module("pysat.examples.rc2")
    formulas: Any = importlib.import_module("pysat.formula")
    solvers: Any = importlib.import_module("pysat.solvers")
    formula: Any = formulas.WCNF()
    for members, values, lower, upper in rows(arrays):
        hard = clauses(members, values, lower, upper)
        if hard is None:
            return answer("UNSUPPORTED", detail=NO_CLAUSES)
        formula.extend(hard)
    # The value of the answer: all positive costs less those of the clauses that fail.
    lost = 0
    for place, cost in enumerate(arrays["cost"].tolist()):
        if cost:
            formula.append([place + 1 if cost > 0 else -place - 1], weight=abs(cost))
            lost += max(cost, 0)
    formula.nv = max(formula.nv, len(arrays["cost"]))
    with solvers.Solver(bootstrap_with=formula.hard) as solver:
        if not solver.solve():
            return answer("INFEASIBLE")
        model = solver.get_model()
    if formula.soft:
        with rc2.RC2Stratified(formula) as solver:
            model = solver.compute()
            lost -= solver.cost
    true = {literal for literal in model if literal > 0}
    return answer("OPTIMAL", [int(place + 1 in true) for place in range(len(arrays["cost"]))], lost)


SOLVERS = {"cpsat": cpsat, "maxsat": maxsat}
"""The solvers by name; each takes the arrays and its options, and returns an `answer`."""


def rows(arrays: Any) -> Any:
    """Yield the columns, the coefficients, and the two bounds of each row of the matrix."""
    start = arrays["start"].tolist()
    column = arrays["column"].tolist()
    value = arrays["value"].tolist()
    bounds = zip(arrays["lower"].tolist(), arrays["upper"].tolist(), strict=True)
    for row, (lower, upper) in enumerate(bounds):
        span = slice(start[row], start[row + 1])
        yield column[span], value[span], lower, upper


def clauses(
    members: list[int],
    values: list[int],
    lower: int,
    upper: int,
) -> list[list[int]] | None:
    """Translate a row over 0-1 columns to clauses.

    Possible are the conditions that at least one literal holds, that not all hold, and that at most
    one holds. The result is None for any other row.
    """
    if any(abs(value) != 1 for value in values):
        return None
    literals = [(place + 1) * value for place, value in zip(members, values, strict=True)]
    negative = values.count(-1)
    # The smallest and the largest number of literals that hold.
    least = lower + negative
    most = upper + negative
    made: list[list[int]] = []
    if least == 1:
        made.append(literals)
    elif least > 1:
        return None
    if most == len(literals) - 1:
        made.append([-literal for literal in literals])
    elif most == 1:
        for place, one in enumerate(literals):
            made += [[-one, -other] for other in literals[:place]]
    elif most < len(literals):
        return None
    return made


def main() -> None:
    """Read the arrays from standard input, and write the answer to standard output.

    Whatever a solver prints goes to standard error.
    """
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    arrays = np.load(io.BytesIO(sys.stdin.buffer.read()), allow_pickle=False)
    options = json.loads(arrays["options"].tobytes())
    out.write(json.dumps(SOLVERS[sys.argv[1]](arrays, options)))
    out.close()


if __name__ == "__main__":
    main()
