"""`SolvedRound`: how the integer programme of one synthetic record was solved, and in what time."""

import contextlib
import math
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..solvers import Status

RANDOM_RECORD = "random record"
"""Stands in place of the solver's name after it failed."""

__all__ = [
    "RANDOM_RECORD",
    "SolvedRound",
    "clock_seconds",
    "pack_rounds",
    "stopped_clock",
    "unpack_rounds",
]

_clock: list[Callable[[], float]] = [time.perf_counter]
"""The last entry tells the time."""


def clock_seconds() -> float:
    """Seconds since some fixed moment, for the seconds that a synopsis reports."""
    return _clock[-1]()


@contextlib.contextmanager
def stopped_clock() -> Generator[None]:
    """Let `clock_seconds` return zero meanwhile, so that equal runs report equal times."""
    _clock.append(lambda: 0.0)
    try:
        yield
    finally:
        _clock.pop()


@dataclass(
    frozen=True,
    kw_only=True,
)
class SolvedRound:
    """How one record of Dual Query was found.

    All of it is post-processing: the integer programme is a function of the noisy draws, which are
    paid for, and of earlier records. This holds for `seconds` as well. The time of a solve depends
    on the programme and on the machine, and the rows of the table are not read meanwhile.

    Attributes
    ----------
    solver
        The solver that was asked; "random record" if it failed and a random record took its place.
    status
        How the solve ended. `Status.OPTIMAL` says that no record has a larger value. After
        `Status.TIME_LIMIT` the record is the best one that the solver had found.
    value
        The value of the record: the sum of the weights of the drawn queries that are true for it.
        For the first record of a round a weight is the number of draws.
    bound
        An upper bound on the value of every record. Without any proof it is the sum of all weights.
    seconds
        The time that the solver took, by the clock on the wall. It is NaN after loading: a file
        holds nothing but what follows from the noisy draws.
    """

    solver: str
    status: Status
    value: int
    bound: int
    seconds: float


def pack_rounds(
    rounds: Sequence[SolvedRound],
) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """The fields and arrays of rounds in a file: names in lists, numbers in arrays."""
    solvers = sorted({one.solver for one in rounds})
    statuses = sorted({one.status.name for one in rounds})
    numbers = [
        (solvers.index(one.solver), statuses.index(one.status.name), one.value, one.bound)
        for one in rounds
    ]
    arrays = {
        "solved": np.array(numbers, np.int64).reshape(-1, 4),
    }
    return {"rounds": len(rounds), "solvers": solvers, "statuses": statuses}, arrays


def unpack_rounds(
    fields: Mapping[str, Any],
    arrays: Mapping[str, NDArray[Any]],
) -> tuple[SolvedRound, ...]:
    """The rounds of `pack_rounds`.

    Raises
    ------
    ValueError, KeyError, IndexError, TypeError
        If the fields and arrays are not from `pack_rounds`.
    """
    solvers, statuses = fields["solvers"], fields["statuses"]
    if not all(isinstance(name, str) for name in (*solvers, *statuses)):
        raise ValueError(
            "the names of solvers and statuses must be texts, but one is not; get a fresh copy of "
            "the file"
        )
    solved = arrays["solved"].astype(np.int64, casting="equiv")
    shape = (int(fields["rounds"]), 4)
    if solved.shape != shape or (solved[:, :2] < 0).any():
        raise ValueError(
            f"solved must have shape {shape}, with places >= 0 in its first two columns, but it "
            f"has shape {solved.shape} or a negative place; get a fresh copy of the file"
        )
    rounds = []
    for solver, status, value, bound in solved.tolist():
        one = SolvedRound(
            solver=solvers[solver],
            status=Status[statuses[status]],
            value=value,
            bound=bound,
            seconds=math.nan,
        )
        rounds.append(one)
    return tuple(rounds)
