"""Certified epsilons of lists of answers and of rounds of choices, beside dp_accounting.

Answers: the epsilon of the certificate, that of rho converted, and the lower (optimistic) and upper
(pessimistic) values of dp_accounting. Choices: rounds t = 1, 2, ... of draws whose range grows by
equal steps; the certificate, and the best of 12 lists of fixed u by dp_accounting (optimistic). An
adversary who chooses u by the earlier draws reaches more than these.
"""

import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from experiments.tools.pages import page
from experiments.tools.study import bad, good, sweep
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
LISTS = 12
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
    from dp_accounting.pld import privacy_loss_distribution as pld

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
    """The certificate of some rounds of choices, and the best of some lists of fixed u."""
    step = Fraction(last) / rounds
    ranges = tuple((step * place, draws) for place in range(1, rounds + 1))
    delta = Fraction(1, 10**digits)
    rng = np.random.default_rng(7)
    found = 0.0
    for trial in range(LISTS):
        total: Any = None
        for reach, count in ranges:
            part = rng.choice([0.5, 0.1, 0.9, 0.3, 0.7, 0.02, 0.98]) if trial else 0.5
            one = _two_points(float(reach), part * float(reach)).self_compose(count)
            total = one if total is None else total.compose(one)
        found = max(found, total.get_epsilon_for_delta(float(delta)))
    return {
        "case": f"{rounds} x {draws}, {last}",
        "delta": f"1e-{digits}",
        "certified": f"{float(certified_epsilon(ranges, delta)):.4f}",
        "fixed u": f"{found:.4f}",
    }


def _two_points(reach: float, u: float) -> Any:
    """The loss that has u and u - reach as its only values, by dp_accounting (optimistic)."""
    from dp_accounting.pld import privacy_loss_distribution as pld

    p = math.expm1(reach - u) / (math.expm1(reach - u) - math.expm1(-u))
    logs = {0: math.log(p), 1: math.log1p(-p)}
    return pld.from_two_probability_mass_functions(
        logs,
        {0: logs[0] - u, 1: logs[1] - (u - reach)},
        value_discretization_interval=1e-3,
        pessimistic_estimate=False,
    )
