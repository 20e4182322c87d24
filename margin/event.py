"""What was done to the data, apart from what it cost: one `Event` for each thing that left `Private`."""

from dataclasses import dataclass

from .noise import DiscreteGaussian, DiscreteLaplace, ExponentialMechanism

__all__ = ["Event"]


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
        For noise: the L1 distance, and the squared L2 distance, of the true answers of neighbouring tables, at most.
    spread
        For choices: how far the changes of two scores between neighbouring tables are apart, at most.
    """

    method: str
    about: tuple[object, ...]
    units: int
    sampler: DiscreteLaplace | DiscreteGaussian | ExponentialMechanism
    l1: int = 0
    l2_squared: int = 0
    spread: int = 0
