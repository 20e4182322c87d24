"""`Family`: a kind of problem, what a solver of it gets and gives, and how an answer is checked."""

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from numpy.typing import NDArray

from ...status import Status
from ...types import Floats
from ..models.model import Model

__all__ = ["Check", "Claim", "Family"]


@dataclass(
    frozen=True,
    kw_only=True,
)
class Check:
    """What an answer is worth, computed from the problem and the answer alone.

    Attributes
    ----------
    feasible
        Whether the answer has the right shape, is finite, and breaks no constraint by more than the
        family's `tolerance`.
    objective
        The family's objective at the answer, recomputed; NaN if the answer cannot be read.
    violation
        The largest amount by which a constraint is broken, in the family's `unit`; infinite if the
        answer cannot be read.
    fault
        What is wrong, in one line; empty if nothing is.
    """

    feasible: bool
    objective: float
    violation: float
    fault: str = ""

    @classmethod
    def unreadable(cls, fault: str) -> "Check":
        """The check of something that is no answer at all."""
        return cls(feasible=False, objective=math.nan, violation=math.inf, fault=fault)


@dataclass(
    frozen=True,
    kw_only=True,
)
class Claim:
    """What a solver says of its own answer.

    Attributes
    ----------
    status
        How it ended; None if the answer carries no status.
    objective
        The objective that it claims, in the family's sense; None if it claims none.
    bound
        The bound on the objective of all answers that it claims; None if it claims none.
    """

    status: Status | None = None
    objective: float | None = None
    bound: float | None = None


class Family(ABC):
    """A kind of problem; each is one object, listed in `FAMILIES`.

    Attributes
    ----------
    name
        A word, for files and for the command line.
    group
        One of the five groups of families: entropy, reconstruction, projection, response, cover.
    method
        The method that a solver must have: ``solve`` or ``__call__``. It gets the problem, and
        returns the answer.
    takes, gives
        What the method gets and what it returns, in words.
    sense
        Whether the objective is minimised or maximised.
    unit
        The unit in which a violation is measured.
    tolerance
        The largest violation of a feasible answer.
    integral
        Whether the columns of the programme are integers.
    columns
        The columns of the programme as arrays, in their order and with their scale, in ASCII.
        `answer` maps them back.
    rows
        The rows of the programme as arrays, in their order and with their scale, in ASCII.
    """

    name: ClassVar[str]
    group: ClassVar[str]
    method: ClassVar[str] = "solve"
    takes: ClassVar[str]
    gives: ClassVar[str]
    sense: ClassVar[Literal["minimise", "maximise"]] = "minimise"
    unit: ClassVar[str]
    tolerance: ClassVar[float] = 1e-6
    integral: ClassVar[bool] = False
    columns: ClassVar[str]
    rows: ClassVar[str]

    @abstractmethod
    def statement(self) -> str:
        """The programme in LaTeX, with the meaning of its symbols in `symbols`."""

    @abstractmethod
    def symbols(self) -> Mapping[str, str]:
        """The meaning of each symbol of `statement`, from LaTeX to words."""

    def solve(self, solver: Any, problem: Any) -> Any:
        """Call the solver's method on a problem; returns its answer, whatever it is."""
        return getattr(solver, self.method)(problem)

    @abstractmethod
    def check(self, problem: Any, answer: Any) -> Check:
        """Compute the objective and the violation of an answer, by code that no solver shares.

        The answer is what a solver returns (`gives`), or its bare array. Nothing is raised: what
        cannot be read as an answer is infeasible, and `Check.fault` says why.
        """

    @abstractmethod
    def claim(self, answer: Any) -> Claim:
        """What an answer says of itself."""

    @abstractmethod
    def model(self, problem: Any) -> Model:
        """The problem as a `Model`, whose optimal points are the best answers.

        The model minimises the objective, or its negative where the family maximises.
        """

    @abstractmethod
    def answer(self, problem: Any, point: Floats) -> Any:
        """The answer that a point of the model stands for, as a bare array or arrays."""

    def box(self, problem: Any, columns: int, check: Check) -> Floats | float:
        """Bounds on the absolute columns of the model that every best point meets.

        Without them, multipliers with a rounding error prove nothing where a column has no bound.

        Parameters
        ----------
        columns
            The number of columns of the model.
        check
            That of an answer which was found.
        """
        return math.inf

    @abstractmethod
    def pack(self, problem: Any) -> dict[str, NDArray[Any]]:
        """The problem as named arrays without Python objects, for a file."""

    @abstractmethod
    def unpack(self, arrays: Mapping[str, NDArray[Any]]) -> Any:
        """The problem of some packed arrays, equal to the bit."""

    def better(self, one: float, other: float) -> bool:
        """Whether one objective is strictly better than another one."""
        return one < other if self.sense == "minimise" else one > other

    def from_model(self, objective: float) -> float:
        """The family's objective for an objective of the model."""
        return objective if self.sense == "minimise" else -objective
