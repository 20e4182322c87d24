"""`Status`: the possible outcomes of a solve, the same for all solvers."""

import enum

__all__ = ["Status", "UnsolvedError"]


class Status(enum.Enum):
    """How a solve ended, from best to worst. The text says what happened and what to change."""

    OPTIMAL = "solved to the stated tolerance"
    RELAXED = (
        "the constraints contradict each other; solved after relaxing them by `Solution.relaxation`"
    )
    UNPROVEN = (
        "an answer was found, but it may not be the best; take more steps or use an exact solver"
    )
    ITERATION_LIMIT = (
        "the iteration limit was reached before the tolerance; raise `iterations` or `tolerance`"
    )
    TIME_LIMIT = (
        "the time limit was reached before the tolerance; "
        "raise the limit or ask for fewer attributes"
    )
    INFEASIBLE = (
        "nothing meets the constraints; "
        "drop some, or use a solver that relaxes them (`Newton`, `Ladder`)"
    )
    MISSING = "the back-end is not installed; install it or choose another"
    UNSUPPORTED = "the solver does not take problems of this kind; choose another"
    FAILED = "no answer was found; the problem may be badly scaled: try another solver"

    @property
    def ok(self) -> bool:
        """Whether the solution is an answer."""
        return self in (Status.OPTIMAL, Status.RELAXED, Status.UNPROVEN)


class UnsolvedError(RuntimeError):
    """The error of a projection that found no tables, because tables carry no status.

    A mechanism ends with this error. In a comparison of solvers the outcome is ``nothing``, or
    ``unsupported`` with the status `UNSUPPORTED`.

    Parameters
    ----------
    text
        What was expected, what was found, and what to do.
    status
        How the solver ended.

    Examples
    --------
    >>> error = UnsolvedError("no tables after 9 rounds; take more", Status.ITERATION_LIMIT)
    >>> error.status.name
    'ITERATION_LIMIT'
    """

    def __init__(self, text: str, status: Status = Status.FAILED) -> None:
        super().__init__(text)
        self.status = status
