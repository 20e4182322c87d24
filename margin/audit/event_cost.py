"""What an event costs by the parameter of its noise alone, in exact fractions.

The audit does not use the code that it audits: neither `Budget`, nor the charges of an `Event`, nor
the account.
"""

from fractions import Fraction

from ..noise.laws import DiscreteGaussian, DiscreteLaplace, ExponentialMechanism
from ..privacy.budget import Budget, PureDP
from ..privacy.event import Event

__all__ = ["cost", "is_choice"]

# The cost of noise that gives no guarantee of the requested kind.
_INFINITE = Fraction(10**9)


def is_choice(event: Event) -> bool:
    """True if an event is a choice among candidates, and not noise on numbers."""
    return isinstance(event.sampler, ExponentialMechanism)


def cost(event: Event, budget: Budget) -> Fraction:
    """The cost of an event, from the parameter of its noise: epsilon for a pure budget, otherwise
    rho.

    - Laplace noise of scale b on answers at L1 distance d costs epsilon = d / b.
    - Gaussian noise of parameter sigma2 on answers at squared L2 distance d costs
      rho = d / (2 sigma2).
    - A choice at rate r among scores whose changes are at most `spread` apart has bounded range
      r spread. It costs epsilon = r spread, or rho = epsilon**2 / 8.
    - Noise that costs epsilon costs rho = epsilon**2 / 2.
    """
    sampler, pure = event.sampler, isinstance(budget, PureDP)
    if isinstance(sampler, DiscreteGaussian):
        return _INFINITE if pure else Fraction(event.l2_squared) / (2 * Fraction(sampler.sigma2))
    if isinstance(sampler, DiscreteLaplace):
        epsilon = Fraction(event.l1) / Fraction(sampler.scale)
        return epsilon if pure else epsilon**2 / 2
    if not isinstance(sampler, ExponentialMechanism):
        return _INFINITE
    epsilon = Fraction(sampler.rate) * event.spread
    return event.draws * (epsilon if pure else epsilon**2 / 8)
