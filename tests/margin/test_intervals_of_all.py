"""Intervals hold about as often as they say, or they are not given: every mechanism, on rows that
are far from independent."""

import itertools
import re
from pathlib import Path

import numpy as np
import pytest
from ordered_axes import ordered_axes

from margin import ApproxDP, Domain, MarginError, mechanisms, simulate
from margin.queries import Conjunctions

ATTRIBUTES = 7
DOMAIN = Domain(ordered_axes(**{f"x{place}": 2 for place in range(ATTRIBUTES)}))
PAIRS = list(itertools.combinations(DOMAIN, 2))
BUDGET = ApproxDP(1, "1/1000")

# Mechanisms that need parameters, or that miss nothing on so small a table without them.
MADE = {
    "CountSketch": {"width": 64},
    "DPSense": {"grid": [1, 2, 4]},
    "DPSenseS": {"grid": [1, 2, 4], "scales": [1, 1.5]},
    "Dyadic": {"inner": mechanisms.HighPass(theta=5)},
    "DualQuery": {
        "queries": Conjunctions.random(DOMAIN, 3, 40, 1),
        "rounds": 20,
        "samples": 10,
    },
    "FilterPriority": {"size": 30, "theta": 5},
    "FourierItems": {"k": 3},
    "GroupAndSmooth": {"share": None, "size": 3},
    "Haar": {"inner": mechanisms.PrioritySample(size=20)},
    "HighPass": {"theta": 5},
    "LogThreshold": {"most": 2},
    "PeeledItems": {"k": 2},
    "PrioritySample": {"size": 25},
    "SampledItems": {"most": 2},
    "ThresholdSample": {"tau": 20},
    "Zealous": {"most": 2, "least": 5},
}

# Sets of items, sequences, and levels are no cells of these attributes.
OTHERS = {"DiffPart", "LevelCounts", "PrefixTree", "PrivBasis"}
NAMES = [
    name
    for name in mechanisms.__all__
    if hasattr(getattr(mechanisms, name), "run") and name not in OTHERS
]

# Those of them whose answers have no interval: sets are no cells, and a filter drops sequences.
OTHERS_WITHOUT = {"DiffPart", "PrefixTree", "PrivBasis"}

# What their answers miss is not known.
WITHOUT = {
    "Compressive",
    "CountSketch",
    "DPSense",
    "DPSenseS",
    "DualQuery",
    "Dyadic",
    "FilterPriority",
    "FourierItems",
    "FourierLP",
    "Haar",
    "HighPass",
    "Learning",
    "LogThreshold",
    "MWEM",
    "PMW",
    "SampledItems",
    "Uniform",
    "Zealous",
}


def rows():
    """A chain: each attribute mostly repeats the one before."""
    rng = np.random.default_rng(11)
    codes = np.zeros((3_000, ATTRIBUTES), np.int64)
    codes[:, 0] = rng.random(3_000) < 0.3
    for place in range(1, ATTRIBUTES):
        repeats = rng.random(3_000) < 0.8
        codes[:, place] = np.where(repeats, codes[:, place - 1], rng.random(3_000) < 0.3)
    return codes


def answered(simulation):
    """The answers to the first of some workloads that the mechanism answers, and the truth."""
    if simulation.synopsis.domain != DOMAIN:  # items
        return [(simulation.synopsis.marginal(simulation.synopsis.domain), rows().sum(axis=0))]
    for views in (PAIRS, [tuple(DOMAIN)]):
        try:
            answers = simulation.marginals(views)
        except MarginError:
            continue
        truths = simulation.truths(views)
        return [(answer, truth.counts) for answer, truth in zip(answers, truths, strict=True)]
    raise AssertionError("the mechanism answers neither pairs nor the whole table")


def simulated(name, seed, **given):
    """A simulated release of a mechanism, told the pairs if it takes them."""
    return simulate(
        rows(),
        domain=DOMAIN,
        budget=BUDGET,
        mechanism=getattr(mechanisms, name)(**(MADE.get(name, {}) | given)),
        workload=None if name in ("CountSketch", "Dyadic") else PAIRS,
        seed=seed,
    )


@pytest.mark.parametrize("name", NAMES)
def test_intervals_hold_or_are_not_given(name):
    known, inside = [], []
    for seed in range(4):
        for answer, truth in answered(simulated(name, seed)):
            low, high = answer.interval(0.95)
            known.append(np.isfinite(low))
            assert (low <= answer.counts)[known[-1]].all()
            assert (answer.counts <= high)[known[-1]].all()
            inside.append(((low <= truth) & (truth <= high))[known[-1]])
    shares = np.concatenate([np.ravel(some) for some in known])
    assert shares.any() == (name not in WITHOUT)
    # The errors of the cells of a release depend on each other, so their share varies.
    if shares.any():
        assert np.concatenate(inside).mean() > 0.85


def test_the_page_names_those_without_intervals():
    page = Path(__file__).parents[2] / "docs" / "howto" / "error_bars.md"
    rows = re.findall(r"^\| (`[A-Z].*?) \| all.*? \| .*? \|$", page.read_text(), re.MULTILINE)
    named = {name for row in rows for name in re.findall(r"`(\w+)`", row)}
    assert named == WITHOUT | OTHERS_WITHOUT


# A sum of Haar coefficients has a variance; a whole table of such sums is given without.
COUNTED = [(name, {}) for name in NAMES if name != "Haar"]


@pytest.mark.parametrize(("name", "given"), [*COUNTED, ("CountSketch", {"median": False})])
def test_a_cell_has_the_variances_of_its_count(name, given):
    made = simulated(name, 0, **given)
    answer, _ = answered(made)[0]
    for place in list(np.ndindex(answer.counts.shape))[:4]:
        where = {
            attribute: answer.domain[attribute].labels[code]
            for attribute, code in zip(answer.attributes, place, strict=True)
        }
        count = made.synopsis.count(where)
        assert answer.counts[place] == pytest.approx(count.estimate, rel=1e-6, abs=1e-6)
        for own, other in (
            (answer.noise_variance, count.noise_variance),
            (answer.missed_variance, count.missed_variance),
        ):
            assert own[place] == pytest.approx(other, rel=1e-6, abs=1e-6, nan_ok=True)
