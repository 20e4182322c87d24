"""Exact draws of noise per second against OpenDP, and whether larger draws take longer."""

import importlib.util
import time
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats

from experiments.tools.pages import page
from experiments.tools.study import bad, good, sweep
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
    "Gaussian, sigma 1000": (DiscreteGaussian(Fraction(10**6)), 1e3),
    "Gaussian, sigma 10^4": (DiscreteGaussian(Fraction(10**8)), 1e4),
}


CHOICE = "one of the candidates"


def run(smoke: bool, out: Path) -> str:
    """Measure draws per second of process time, their ratio to OpenDP, and the rank correlation of
    the time and the size of single draws.
    """
    count, theirs, singles = (10_000, 200, 500) if smoke else (10**6, 20_000, 100_000)
    keys = [
        {"sampler": name, "draws": count, "opendp draws": theirs, "singles": singles}
        for name in SAMPLERS
    ]
    choices = [{"sampler": CHOICE, "draws": size} for size in (100, 10**4, 10**6)]
    rows = sweep(out / "rows.csv", measure, keys)
    chosen = sweep(out / "choices.csv", measure_choice, choices)
    return page(
        out / "page.md",
        title="Draws of noise",
        about=__doc__ or "",
        rows=[
            {name: row.get(name, "") for name in COLUMNS} for row in [*good(rows), *good(chosen)]
        ],
        notes=[*bad(rows), *bad(chosen)],
    )


COLUMNS = ("sampler", "draws", "seconds", "seconds of one", "OpenDP / ours", "rank correlation")


def measure(**key: Any) -> dict[str, Any]:
    """The best of five times of many draws, and of OpenDP's; and of single draws."""
    sampler, scale = SAMPLERS[key["sampler"]]
    entropy = SystemEntropy()
    sampler.sample(1, entropy)  # the table of a new parameter
    count = key["draws"]
    seconds = min(_seconds(lambda: sampler.sample(count, entropy)) for _ in range(5))
    other = _opendp(sampler, scale, key["opendp draws"])
    single, correlation = _singles(sampler, key["singles"])
    return {
        "seconds": f"{seconds:.4g}",
        "OpenDP / ours": f"{count / seconds / other:.4g}" if other else "",
        "seconds of one": f"{single:.4g}",
        "rank correlation": f"{correlation:.4f}",
    }


def measure_choice(sampler: str, draws: int) -> dict[str, Any]:
    """The best of three times of one choice among many candidates."""
    scores = np.random.default_rng(1).integers(0, 100, draws)
    choice = ExponentialMechanism(Fraction(1, 10))
    entropy = SystemEntropy()
    seconds = min(_seconds(lambda: choice.draw(scores, 1, entropy)) for _ in range(3))
    return {"seconds": f"{seconds:.4g}"}


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


def _singles(sampler: Noise, count: int) -> tuple[float, float]:
    """The median time of a single draw in seconds, and Spearman's correlation between the time and
    the size of a draw."""
    entropy = SystemEntropy()
    times, sizes = np.empty(count), np.empty(count)
    for place in range(count):
        started = time.perf_counter_ns()
        drawn = sampler.sample(1, entropy)
        times[place] = time.perf_counter_ns() - started
        sizes[place] = abs(int(drawn[0]))
    return float(np.median(times)) / 1e9, float(stats.spearmanr(times, sizes).statistic)
