"""Events: a record of each answer of `Private`, kept apart from the accounting of its cost."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any, Self

from ..noise.laws import DiscreteGaussian, DiscreteLaplace, ExponentialMechanism, Noise
from .rounds import Rounds

__all__ = ["Course", "Event", "Step", "pure_epsilon"]


@dataclass(
    frozen=True,
    kw_only=True,
)
class Event:
    """A record of one answer of `Private`: what was asked, its sensitivity, its noise, its cost.

    It depends on the rows only through earlier answers.

    Attributes
    ----------
    method
        Name of the method of `Private` that gave the answer.
    about
        The question: all arguments that determine the true answer.
    units
        The cost, in units of the budget.
    sampler
        The noise or the random choice, with its exact parameter.
    l1, l2_squared
        For noise: bounds on the L1 distance, and on the squared L2 distance, between the true
        answers of neighbouring tables.
    spread
        For choices: an upper bound on the difference between the changes of any two scores, from
        one table to its neighbour.
    draws
        For choices: the number of independent draws.
    rounds
        For draws of queries: all rounds, including this one. The first event pays for all of them.
    together
        For noise: True when this call spent the whole of an `ApproxDP` budget. Its noise was then
        computed from the distribution of the privacy loss of all its events together
        (`ApproxDP.at_once`), and the rhos of their samplers sum to more than the units.
    """

    method: str
    about: tuple[object, ...]
    units: int
    sampler: DiscreteLaplace | DiscreteGaussian | ExponentialMechanism
    l1: int = 0
    l2_squared: int = 0
    spread: int = 0
    draws: int = 1
    rounds: Rounds | None = None
    together: bool = False

    @property
    def noise(self) -> Noise:
        """The law of the noise; only for an answer with noise, not for a choice."""
        assert not isinstance(self.sampler, ExponentialMechanism)
        return self.sampler


def pure_epsilon(events: Iterable[Event]) -> Fraction | None:
    """The total epsilon of pure differential privacy of some events, from their noise parameters.

    None when an event used Gaussian noise, which has no finite epsilon.
    """
    total = Fraction(0)
    for event in events:
        if isinstance(event.sampler, DiscreteGaussian):
            return None
        if isinstance(event.sampler, DiscreteLaplace):
            total += event.l1 / event.sampler.scale
        else:
            total += event.sampler.rate * event.spread * event.draws
    return total


@dataclass(
    frozen=True,
    kw_only=True,
)
class Step:
    """A part of a run: the answers of one method for one purpose.

    Attributes
    ----------
    purpose
        What the mechanism said about it by `Private.begin`, such as "measuring a spanning tree of
        pairs". Empty if it said nothing.
    method
        The name of the method of `Private`.
    answers
        The number of answers: of tables, choices, or draws of queries.
    units
        What they were charged, in units of the budget.
    """

    purpose: str
    method: str
    answers: int
    units: int


@dataclass(
    frozen=True,
    kw_only=True,
)
class Course:
    """How a run of a mechanism went: what it measured, and how it divided the budget.

    It reveals nothing that was not paid for. An event depends on the rows only through earlier
    answers, and so does every decision of a mechanism, because a mechanism receives nothing else.
    So the number of events, their methods, their charges and the purposes are functions of noisy
    answers and of declarations: post-processing (docs/proofs/index.md).

    Attributes
    ----------
    steps
        The parts of the run, in the order of their first answers.
    units
        The whole budget, in the same units. What the steps leave of it was not used, but it counts
        as spent.

    Examples
    --------
    >>> import margin
    >>> table = {"a": [0, 1] * 3000, "b": [0, 1, 2] * 2000}
    >>> made = margin.release(table, domain={"a": 2, "b": 3}, budget=margin.PureDP(9))
    >>> [(step.purpose, step.method) for step in made.provenance.course.steps]
    [('counting the rows', 'measure_linear'), ('measuring 1 view of up to 6 cells', 'measure')]
    """

    steps: tuple[Step, ...]
    units: int

    @classmethod
    def of(cls, events: Sequence[Event], purposes: Sequence[str], units: int) -> Self:
        """Sum up the events of a run.

        Parameters
        ----------
        events
            All events, in order.
        purposes
            The purpose of each event.
        units
            The whole budget.
        """
        sums: dict[tuple[str, str], list[int]] = {}
        for event, purpose in zip(events, purposes, strict=True):
            found = sums.setdefault((purpose, event.method), [0, 0])
            found[0] += 1
            found[1] += event.units
        steps = tuple(
            Step(purpose=purpose, method=method, answers=answers, units=charged)
            for (purpose, method), (answers, charged) in sums.items()
        )
        return cls(steps=steps, units=units)

    @property
    def charged(self) -> int:
        """What all steps were charged, in units of the budget."""
        return sum(step.units for step in self.steps)

    @property
    def keeps_to_budget(self) -> bool:
        """Whether the steps were charged at most the whole budget, as in every run in which no code
        changed the account. A negative charge would hide others, so there must be none."""
        return self.charged <= self.units and all(step.units >= 0 for step in self.steps)

    def to_json(self) -> dict[str, Any]:
        """The course as JSON values."""
        return {"steps": [asdict(step) for step in self.steps], "units": self.units}

    @classmethod
    def from_json(cls, written: Any) -> Self:
        """Read what `to_json` made.

        Raises
        ------
        ValueError
            When it is anything else.
        """
        kinds = {"purpose": str, "method": str, "answers": int, "units": int}
        steps = written["steps"]
        are_right = all({name: type(part) for name, part in one.items()} == kinds for one in steps)
        if set(written) != {"steps", "units"} or type(written["units"]) is not int or not are_right:
            raise ValueError(
                "a course must have units, an integer, and steps with purpose and method, which "
                "are texts, and answers and units, which are integers, but it has other keys or "
                "types; get a fresh copy of the file"
            )
        return cls(steps=tuple(Step(**one) for one in steps), units=written["units"])
