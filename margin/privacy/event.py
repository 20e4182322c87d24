"""What was done to the data, apart from what it cost: one `Event` for each thing that left
`Private`."""

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from ..noise.laws import DiscreteGaussian, DiscreteLaplace, ExponentialMechanism
from .rounds import Rounds

__all__ = ["Event", "pure_epsilon"]


@dataclass(frozen=True, kw_only=True)
class Event:
    """One answer of `Private`. Nothing in it depends on the rows, but through earlier answers.

    Attributes
    ----------
    method
        The method of `Private` that gave it.
    about
        What was asked: all arguments that determine the true answer.
    units
        What it cost, in units of the budget.
    sampler
        The noise or the choice, with its exact parameter.
    l1, l2_squared
        For noise: the L1 distance, and the squared L2 distance, of the true answers of neighbouring
        tables, at most.
    spread
        For choices: how far the changes of two scores between neighbouring tables are apart, at
        most.
    draws
        For choices: how many were drawn, independently.
    rounds
        For draws of queries: the rounds of which this is one. They are charged together, with the
        first.
    together
        For noise: whether this call spent the whole of an `ApproxDP` budget, so that its noise was
        bought by the distribution of the privacy loss of all its events together
        (`ApproxDP.at_once`). The rhos of their samplers then add up to more than the units do.
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


def pure_epsilon(events: Iterable[Event]) -> Fraction | None:
    """The sum of the epsilons of what was done, by the parameters of its noise; None when some of
    it has none."""
    total = Fraction(0)
    for event in events:
        if isinstance(event.sampler, DiscreteGaussian):
            return None
        if isinstance(event.sampler, DiscreteLaplace):
            total += event.l1 / event.sampler.scale
        else:
            total += event.sampler.rate * event.spread * event.draws
    return total
