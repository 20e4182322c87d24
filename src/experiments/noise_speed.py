"""Exact draws of noise per second against OpenDP, and whether larger draws take longer."""

import importlib.util
import time
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import numpy as np
from scipy import stats

from margin.noise.laws import (
    DiscreteGaussian,
    DiscreteLaplace,
    ExponentialMechanism,
    Noise,
    SystemEntropy,
)

SAMPLERS: dict[str, tuple[Noise, float]] = {
    "Laplace, scale 10": (DiscreteLaplace(Fraction(10)), 10.0),
    "Laplace, scale 10^6": (DiscreteLaplace(Fraction(10**6)), 1e6),
    "Gaussian, sigma 10": (DiscreteGaussian(Fraction(100)), 10.0),
    "Gaussian, sigma 10^4": (DiscreteGaussian(Fraction(10**8)), 1e4),
}


def run(smoke: bool, out: Path) -> str:
    """Measure draws per second of process time, their ratio to OpenDP, and the rank correlation of
    single draws.
    """
    count, theirs, singles = (10_000, 200, 500) if smoke else (10**6, 20_000, 100_000)
    entropy = SystemEntropy()
    lines = [f"{'':<24}{'draws a second':>16}{'OpenDP':>12}{'ratio':>8}{'rank correlation':>18}"]
    for name, (sampler, scale) in SAMPLERS.items():
        sampler.sample(1, entropy)  # the table of a new parameter
        ours = count / min(
            _seconds(lambda sampler=sampler: sampler.sample(count, entropy)) for _ in range(5)
        )
        other = _opendp(sampler, scale, theirs)
        compared = f"{other:>12.2e}{ours / other:>8.0f}" if other else f"{'-':>12}{'-':>8}"
        lines.append(f"{name:<24}{ours:>16.2e}{compared}{_correlation(sampler, singles):>18.4f}")
    for size in (100, 10**4, 10**6):
        scores = np.random.default_rng(1).integers(0, 100, size)
        choice = ExponentialMechanism(Fraction(1, 10))
        seconds = min(
            _seconds(lambda scores=scores, choice=choice: choice.draw(scores, 1, entropy))
            for _ in range(3)
        )
        lines.append(f"one of {size:>8} candidates: {1000 * seconds:.2f} ms")
    return "\n".join(lines)


def _seconds(work: Callable[[], object]) -> float:
    started = time.process_time()
    work()
    return time.process_time() - started


def _opendp(sampler: Noise, scale: float, count: int) -> float:
    """Draws per second of OpenDP's sampler of the same distribution; zero if OpenDP is not
    installed.
    """
    if importlib.util.find_spec("opendp") is None:
        return 0.0
    import opendp.prelude as dp

    dp.enable_features("contrib")
    make = dp.m.make_laplace if isinstance(sampler, DiscreteLaplace) else dp.m.make_gaussian
    metric = dp.l1_distance if isinstance(sampler, DiscreteLaplace) else dp.l2_distance
    bound = float if isinstance(sampler, DiscreteGaussian) else int
    draw = make(
        dp.vector_domain(dp.atom_domain(T="i64")),
        metric(T="f64" if bound is float else "i64"),
        scale,
    )
    zeros = [0] * count
    return count / min(_seconds(lambda: draw(zeros)) for _ in range(3))


def _correlation(sampler: Noise, count: int) -> float:
    """Spearman's correlation between the time of a single draw and its size."""
    entropy = SystemEntropy()
    times, sizes = np.empty(count), np.empty(count)
    for place in range(count):
        started = time.perf_counter_ns()
        drawn = sampler.sample(1, entropy)
        times[place] = time.perf_counter_ns() - started
        sizes[place] = abs(int(drawn[0]))
    return float(stats.spearmanr(times, sizes).statistic)
