"""Integer noise from exact laws, the exponential mechanism, and the two sources of entropy."""

from .entropy import SeededEntropy, SystemEntropy
from .laws import (
    LARGEST_SUM,
    DiscreteGaussian,
    DiscreteLaplace,
    ExponentialMechanism,
    Noise,
    discrete_gaussian,
    discrete_laplace,
    noisy_sum,
)

__all__ = [
    "LARGEST_SUM",
    "DiscreteGaussian",
    "DiscreteLaplace",
    "ExponentialMechanism",
    "Noise",
    "SeededEntropy",
    "SystemEntropy",
    "discrete_gaussian",
    "discrete_laplace",
    "noisy_sum",
]
