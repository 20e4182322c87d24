"""`check_answers`: a battery for solvers of any family, on its small instances, in this process."""

import math
from typing import Any

import numpy as np

from ...known.known import Known
from ...status import UnsolvedError
from ...tables.tables import Tables
from ...zeros import Zeros
from ..instance import Instance
from ..instances import instances
from .fingerprint import fingerprint
from .messages import packed_answer, unpacked_answer
from .process import Found
from .verdict import Outcome, judged
from .worker import answer_of, claim_of

__all__ = ["check_answers"]

_TOLERANCE = 1e-4
"""The largest gap at which an answer counts as solved, as in `compare`."""

_NO_ANSWER = "without an answer"

_ROUNDING = 1e-6
"""The largest error of what must be kept, as a share of the total."""


def check_answers(solver: Any, family: str) -> str:
    """Check the answers of a solver to the small instances of a family, as `compare` judges them.

    The solver runs in this process, without limits. An answer may be worse than the best known one,
    if the solver does not call it optimal; and a solver may say that it has none. No answer may be
    wrong, no problem may be changed, and at least one instance must be answered.

    A projection that is a callable gets one more problem, with cells that must be zero and a known
    total. Its result must keep both.

    Parameters
    ----------
    solver
        An object with the method of the family.
    family
        The name of the family.

    Returns
    -------
    str
        What was found, such as "15 solved, 0 feasible, 0 without an answer", with the names of the
        instances that are not solved.

    Raises
    ------
    AssertionError
        If an answer is wrong, or the solver raises an error; the text names the instance and says
        what is wrong.
    ValueError
        If there is no such family.

    Examples
    --------
    >>> from margin.solvers import ResidualConsistency, bench
    >>> bench.check_answers(ResidualConsistency(), "consistency")
    '15 solved, 0 feasible, 0 without an answer'
    """
    if isinstance(solver, type):
        name = solver.__name__
        raise AssertionError(
            f"a solver must be an object, but it is the class {name}; call it: {name}()"
        )
    listed = instances(family=family, size="small")
    ended: dict[Outcome, list[str]] = {Outcome.FEASIBLE: [], Outcome.NOTHING: []}
    for instance in listed:
        # A solved instance needs no name.
        ended.get(_outcome(solver, instance), []).append(instance.name)
    feasible, nothing = ended.values()
    if len(nothing) == len(listed):
        raise AssertionError(
            f"a solver must answer at least one of the {len(nothing)} small instances of {family}, "
            "but it answers none; raise its limits"
        )
    if listed[0].family.group == "projection" and callable(solver):
        _check_kept(solver)
    solved = len(listed) - len(feasible) - len(nothing)
    return f"{solved} solved, {_counted(feasible, 'feasible')}, {_counted(nothing, _NO_ANSWER)}"


def _counted(names: list[str], what: str) -> str:
    """The number of some instances, with their names if there are any."""
    named = f" ({', '.join(names)})" if names else ""
    return f"{len(names)} {what}{named}"


def _outcome(solver: Any, instance: Instance) -> Outcome:
    """How one instance ended; AssertionError if the answer is wrong or an error was raised."""
    before = fingerprint(instance)
    try:
        answer = answer_of(solver, instance, lambda answer: None)
    except Exception as error:  # a user's solver may raise anything
        raise AssertionError(
            f"{instance.name}: it raises {type(error).__name__} ({error}); return an answer with a "
            "status, or let a projection raise UnsolvedError"
        ) from error
    found = Found(
        repeat=0,
        end="answered",
        answer=unpacked_answer(*packed_answer(answer)),
        claim=claim_of(instance, answer) | {"seconds": None},
        changed=fingerprint(instance) != before,
    )
    verdict = judged(instance, found, tolerance=_TOLERANCE, limit=math.inf)
    if verdict.outcome is Outcome.WRONG:
        raise AssertionError(f"{instance.name}: {verdict.cause}")
    # A solver that does not take this instance has no answer to it.
    is_foreign = verdict.outcome is Outcome.UNSUPPORTED
    return Outcome.NOTHING if is_foreign else verdict.outcome


def _check_kept(projection: Any) -> None:
    """Check that a projection keeps the cells that must be zero and the known total."""
    rng = np.random.default_rng(0)
    sizes = (2, 3, 2)
    views = ((0, 1), (1, 2))
    zeros = Zeros(sizes, (((0, (1,)), (1, (0,))),))
    tables = Tables(
        sizes=sizes,
        views=views,
        values=tuple(rng.normal(8.0, 4.0, [sizes[axis] for axis in view]) for view in views),
        variances=(1.0, 2.0),
        zeros=zeros,
        known=Known.of_total(sizes, 50.0, zeros),
    )
    name = "tables with zeros and a known total"
    try:
        result = projection(tables)
    except UnsolvedError:
        return
    except Exception as error:  # a user's projection may raise anything
        raise AssertionError(f"{name}: it raises {type(error).__name__} ({error})") from error
    if not isinstance(result, Tables) or result.zeros is None or result.known is None:
        raise AssertionError(
            f"{name}: the result must be Tables with the same zeros and known; make it with "
            "tables.with_values(values)"
        )
    assert tables.empty is not None
    for view, value, empty in zip(views, result.values, tables.empty, strict=True):
        if np.abs(value[empty]).max(initial=0.0) > _ROUNDING * 50:
            raise AssertionError(f"{name}: a cell of {view} is not zero that must be zero")
        if abs(float(value.sum()) - 50) > _ROUNDING * 50:
            raise AssertionError(f"{name}: the table of {view} must sum to the known total, 50")
