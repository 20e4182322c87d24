"""Certified epsilons of lists of answers and of rounds of choices, beside dp_accounting.

Answers: the epsilon of the certificate, that of rho converted, and the lower (optimistic) and upper
(pessimistic) values of dp_accounting. Choices: rounds t = 1, 2, ... of draws whose range grows by
equal steps; the certificate, and the largest epsilon found among lists of one fixed u for each
round. The worst adversary, who chooses u by the earlier draws, is between the two.
"""

import itertools
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.fft import irfft, next_fast_len

from experiments.tools.pages import page
from experiments.tools.study import bad, good, sweep
from margin.errors import MarginError
from margin.noise.laws import DiscreteGaussian, DiscreteLaplace
from margin.privacy.budget import epsilon_of
from margin.privacy.composition import Moved, composed_epsilon, shifts
from margin.privacy.loss import certified_epsilon

ANSWERS = {
    "100 tables, sigma2 = 100": Moved(DiscreteGaussian(Fraction(100)), 1, 1, 100),
    "1 table, sigma2 = 16": Moved(DiscreteGaussian(Fraction(16)), 1, 1, 1),
    "1 table, sigma2 = 0.9": Moved(DiscreteGaussian(Fraction("0.9")), 1, 1, 1),
    "1 table, sigma2 = 4, two rows of a person": Moved(DiscreteGaussian(Fraction(4)), 2, 4, 1),
    "20 tables, Laplace of scale 10": Moved(DiscreteLaplace(Fraction(10)), 1, 1, 20),
}
CHOICES = (
    (2, 1, "0.8", 2),
    (2, 1, "0.8", 4),
    (1, 1, "1", 1),
    (3, 2, "0.9", 3),
    (2, 3, "1.2", 5),
    (4, 1, "2", 6),
    (5, 5, "0.5", 6),
    (11, 5, "1.1", 5),
    (11, 20, "0.22", 6),
)
"""Rounds, draws of a round, the range of the last round, and -log10 of delta."""
DELTA = 6
CELLS = 100
"""Number of equal steps in which the u of the first round is looked for, from 0 to its range."""
STARTS = 10
"""Number of lists of u from which the search starts."""
COLUMNS = ("case", "delta", "rho converted", "certified", "lower", "upper", "fixed u")


def run(smoke: bool, out: Path) -> str:
    """Compute all cases; write a page."""
    cases = list(ANSWERS)[1:2] if smoke else list(ANSWERS)
    choices = CHOICES[2:3] if smoke else CHOICES
    names = ("rounds", "draws", "last", "digits")
    rows = sweep(out / "answers.csv", measure_answers, [{"case": case} for case in cases])
    drawn = sweep(
        out / "choices.csv",
        measure_choices,
        [dict(zip(names, choice, strict=True)) for choice in choices],
    )
    return page(
        out / "page.md",
        title="Certified epsilons",
        about=" ".join((__doc__ or "").partition("\n\n")[2].split()),
        rows=[{name: row.get(name, "") for name in COLUMNS} for row in good([*rows, *drawn])],
        notes=bad([*rows, *drawn]),
    )


def measure_answers(case: str) -> dict[str, Any]:
    """The epsilons of one list of equal answers."""
    answer, delta = ANSWERS[case], Fraction(1, 10**DELTA)
    certified = composed_epsilon((answer,), delta)
    converted = ""
    if isinstance(answer.noise, DiscreteGaussian):
        rho = Fraction(answer.l2_squared * answer.times) / (2 * answer.noise.sigma2)
        converted = f"{float(epsilon_of(rho, delta)):.4f}"
    bounds = [_another(answer, float(delta), pessimistic) for pessimistic in (False, True)]
    return {
        "delta": f"1e-{DELTA}",
        "rho converted": converted,
        "certified": "" if certified is None else f"{float(certified):.4f}",
        "lower": f"{bounds[0]:.4f}",
        "upper": f"{bounds[1]:.4f}",
    }


def _another(answer: Moved, delta: float, pessimistic: bool) -> float:
    """The epsilon of dp_accounting, for the worst list of shifts."""
    try:
        from dp_accounting.pld import privacy_loss_distribution as pld
    except ImportError:
        raise MarginError(
            "these cases are compared with dp_accounting, which is not installed; run "
            "pip install '.[oracles]' in the repository"
        ) from None

    worst = 0.0
    for one in shifts(answer.l1, answer.l2_squared):
        total: Any = None
        for shift in one:
            more = {
                "value_discretization_interval": 2e-4,
                "pessimistic_estimate": pessimistic,
                "sensitivity": shift,
            }
            if isinstance(answer.noise, DiscreteGaussian):
                sigma = math.sqrt(answer.noise.sigma2)
                part = pld.from_discrete_gaussian_mechanism(sigma, **more)
            else:
                part = pld.from_discrete_laplace_mechanism(float(1 / answer.noise.scale), **more)
            part = part.self_compose(answer.times) if answer.times > 1 else part
            total = part if total is None else total.compose(part)
        worst = max(worst, total.get_epsilon_for_delta(delta))
    return worst


def measure_choices(rounds: int, draws: int, last: str, digits: int) -> dict[str, Any]:
    """The certificate of some rounds of choices, and the largest epsilon of fixed u."""
    step = Fraction(last) / rounds
    ranges = tuple((step * place, draws) for place in range(1, rounds + 1))
    delta = Fraction(1, 10**digits)
    return {
        "case": f"{rounds} x {draws}, {last}",
        "delta": f"1e-{digits}",
        "certified": f"{float(certified_epsilon(ranges, delta)):.4f}",
        "fixed u": f"{_best_fixed(rounds, draws, float(step), float(delta)):.4f}",
    }


def _best_fixed(rounds: int, draws: int, step: float, delta: float) -> float:
    """The largest epsilon found over lists of fixed u: a search from several starts."""
    tops = np.arange(1, rounds + 1) * CELLS
    rng = np.random.default_rng(7)
    shares = [np.full(rounds, share) for share in (0.5, 0.7, 0.9)]
    shares += [rng.random(rounds) for _ in range(STARTS - len(shares))]
    unit = step / CELLS
    best = 0.0
    for start in shares:
        places = np.rint(start * tops).astype(int)
        found = _fixed(places, draws, unit, delta)
        move = CELLS // 2 * rounds
        while move:
            # Move one u at a time, as long as epsilon grows. Then halve the moves.
            before = found
            for place, sign in itertools.product(range(rounds), (-1, 1)):
                tried = places.copy()
                tried[place] = np.clip(tried[place] + sign * move, 0, tops[place])
                reached = _fixed(tried, draws, unit, delta)
                if reached > found:
                    places, found = tried, reached
            move = move if found > before else move // 2
        best = max(best, found)
    return best


def _fixed(places: NDArray[np.int64], draws: int, unit: float, delta: float) -> float:
    """The epsilon of rounds whose t-th range is t CELLS units and whose t-th u is places[t - 1].

    All losses are whole numbers of units, so that nothing is rounded but the floats.
    """
    turns = np.arange(1, places.size + 1)
    reaches = CELLS * turns
    rest = np.expm1(unit * (reaches - places))
    up = rest / (rest - np.expm1(-unit * places))
    # The law of the sum of all losses, by the transform of each draw: `place` units with the
    # probability `up`, else `place - reach`.
    size = draws * int(reaches.sum()) + 1
    length = next_fast_len(size, real=True)
    wave = np.exp(-2j * np.pi * CELLS / length * np.arange(length // 2 + 1))
    transform, power = np.ones_like(wave), np.ones_like(wave)
    for share in up:
        power *= wave
        transform *= 1 - share + share * power
    law = irfft(transform**draws, length)[:size]
    losses = unit * (draws * int((places - reaches).sum()) + np.arange(size))
    # At an epsilon between two losses, delta is above - e**epsilon below, both summed from the loss
    # over epsilon to the largest one.
    above = np.cumsum(law[::-1])[::-1]
    below = np.cumsum((law * np.exp(-losses))[::-1])[::-1]
    curve = above - np.exp(losses) * below
    first = int(np.argmax(curve <= delta))
    return max(0.0, math.log((above[first] - delta) / below[first]))
