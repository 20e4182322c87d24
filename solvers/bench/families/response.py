"""Best responses: the record that satisfies most weighted queries."""

import math
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from ...response.best_response import BestResponse
from ...response.constraint import Constraint
from ...response.programme import Programme
from ...types import Floats, Integers
from ..models.model import Model
from .family import Check, Claim, Family

__all__ = ["ResponseFamily"]

_ARRAYS = ("sizes", "offsets", "attribute", "value", "negated", "weight", "parity")


class ResponseFamily(Family):
    """The record of the largest value: DualQuery's best response (Gaboardi et al., ICML 2014)."""

    name: ClassVar[str] = "response"
    group: ClassVar[str] = "response"
    integral: ClassVar[bool] = True
    takes: ClassVar[str] = "margin.solvers.BestResponse"
    gives: ClassVar[str] = "margin.solvers.Response, or a record: a value for each attribute"
    sense: ClassVar[Literal["minimise", "maximise"]] = "maximise"
    unit: ClassVar[str] = "broken constraints"

    columns: ClassVar[str] = (
        "one for each binary attribute that matters (its value), and one for each class of any "
        "other (0 or 1), after values that no term and no constraint tells apart were merged; then "
        "one or two for each term of several literals"
    )
    rows: ClassVar[str] = (
        "for each attribute with columns for its classes: their sum = 1; then, of the terms of "
        "several literals: one for each literal of a conjunction of positive weight, one for each "
        "conjunction of negative weight, and one for each parity; then the constraints of the "
        "problem"
    )

    def statement(self) -> str:
        return (
            r"\max_{x \in X} \; w_0 + \sum_{j \in C} w_j \prod_{(a, v) \in L_j} [x_a = v] + "
            r"\sum_{j \in P} w_j \, \frac{1 + \prod_{(a, v) \in L_j} (1 - 2 [x_a = v])}{2} \quad "
            r"\text{subject to} \quad l_k \le \sum_{(a, v) \in K_k} g_{kav} [x_a = v] \le u_k"
        )

    def symbols(self) -> Mapping[str, str]:
        return {
            r"x \in X": "a record: a value x_a for each attribute a",
            r"C, P": "the terms that are conjunctions and those that are parities",
            r"w_j": "the weight of term j, an integer of either sign; w_0 is a constant",
            r"L_j": "the literals of term j; a negated one has 1 - [x_a = v] in place of [x_a = v]",
            r"K_k, g, l, u": "linear constraints on the record, if there are any",
        }

    def check(self, problem: BestResponse, answer: Any) -> Check:
        record = getattr(answer, "record", answer)
        if record is None:
            return Check.unreadable("the answer holds no record")
        try:
            values = np.asarray(record, np.float64)
        except (TypeError, ValueError):
            return Check.unreadable(f"the answer is a {type(answer).__name__}, not a record")
        if values.shape != problem.sizes.shape:
            return Check.unreadable(
                f"the record has shape {values.shape}; expected {problem.sizes.shape}"
            )
        if not (np.isfinite(values) & (values == np.round(values))).all():
            return Check.unreadable("a value of the record is not an integer")
        if ((values < 0) | (values >= problem.sizes)).any():
            return Check.unreadable("an attribute has a value that does not exist")
        codes = values.astype(np.int64)
        objective = float(_value(problem, codes))
        missed = sum(not constraint.met(codes) for constraint in problem.constraints)
        if missed:
            fault = f"the record breaks {missed} constraints"
            return Check(feasible=False, objective=objective, violation=float(missed), fault=fault)
        return Check(feasible=True, objective=objective, violation=0.0)

    def claim(self, answer: Any) -> Claim:
        # `BestResponse.respond` puts in a bound where the solver claims none.
        is_claimed = getattr(answer, "is_bound_claimed", True)
        return Claim(
            status=getattr(answer, "status", None),
            objective=getattr(answer, "value", None),
            bound=getattr(answer, "bound", None) if is_claimed else None,
        )

    def model(self, problem: BestResponse) -> Model:
        programme = _programme(problem)
        return Model(
            cost=-programme.cost,
            offset=-float(programme.offset),
            matrix=programme.matrix,
            lower=programme.lower,
            upper=programme.upper,
            most=programme.top,
            whole=programme.whole,
        )

    def answer(self, problem: BestResponse, point: Floats) -> Any:
        rounded = np.asarray(point, np.float64)
        return _programme(problem).record(problem, rounded, np.random.default_rng(0))

    def pack(self, problem: BestResponse) -> dict[str, NDArray[Any]]:
        arrays: dict[str, NDArray[Any]] = {name: getattr(problem, name) for name in _ARRAYS}
        arrays["constant"] = np.array(problem.constant)
        for number, row in enumerate(problem.constraints):
            entries = np.stack([row.attribute, row.value, row.coefficient])
            arrays[f"constraint{number}"] = entries
            # A missing bound is an empty array.
            arrays[f"lower{number}"] = np.array([] if row.lower is None else [row.lower], np.int64)
            arrays[f"upper{number}"] = np.array([] if row.upper is None else [row.upper], np.int64)
        return arrays

    def unpack(self, arrays: Mapping[str, NDArray[Any]]) -> BestResponse:
        constraints: list[Constraint] = []
        while f"constraint{len(constraints)}" in arrays:
            number = len(constraints)
            attribute, value, coefficient = arrays[f"constraint{number}"]
            lower, upper = arrays[f"lower{number}"], arrays[f"upper{number}"]
            constraints.append(
                Constraint(
                    attribute=attribute,
                    value=value,
                    coefficient=coefficient,
                    lower=int(lower[0]) if len(lower) else None,
                    upper=int(upper[0]) if len(upper) else None,
                )
            )
        return BestResponse(
            constant=int(arrays["constant"]),
            constraints=tuple(constraints),
            **{name: arrays[name] for name in _ARRAYS},
        )


def _value(problem: BestResponse, record: Integers) -> int:
    """The value of a record, term by term, in Python's integers."""
    total = int(problem.constant)
    hold = (record[problem.attribute] == problem.value) != problem.negated
    bounds = problem.offsets.tolist()
    terms = zip(problem.weight.tolist(), problem.parity.tolist(), strict=True)
    for term, (weight, parity) in enumerate(terms):
        literals = hold[bounds[term] : bounds[term + 1]]
        holds = math.fsum(literals) % 2 == 0 if parity else bool(literals.all())
        total += weight if holds else 0
    return total


@lru_cache(maxsize=1)
def _programme(problem: BestResponse) -> Programme:
    """The programme of the last problem, which is kept for the answers to it."""
    return Programme.of(problem)
