"""Events: a record of each answer of `Private`, kept apart from the accounting of its cost."""

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from ..noise.laws import DiscreteGaussian, DiscreteLaplace, ExponentialMechanism, Noise
from .rounds import Rounds

__all__ = ["Event", "pure_epsilon"]


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
