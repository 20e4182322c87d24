"""An interval holds the truth as often as it says, or it is not given: every mechanism, on rows
that are far from independent."""

import itertools

import numpy as np
import pytest

from margin import ApproxDP, Domain, MarginError, mechanisms, simulate
from margin.queries import Conjunctions

ATTRIBUTES = 7
DOMAIN = Domain(dict.fromkeys([f"x{place}" for place in range(ATTRIBUTES)], 2))
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


@pytest.mark.parametrize("name", NAMES)
def test_intervals_hold_or_are_not_given(name):
    mechanism = getattr(mechanisms, name)(**MADE.get(name, {}))
    known, inside = [], []
    for seed in range(4):
        made = simulate(
            rows(),
            domain=DOMAIN,
            budget=BUDGET,
            mechanism=mechanism,
            workload=None if name in ("CountSketch", "Dyadic") else PAIRS,
            seed=seed,
        )
        for answer, truth in answered(made):
            low, high = answer.interval(0.95)
            known.append(np.isfinite(low))
            inside.append(((low <= truth) & (truth <= high))[known[-1]])
    shares = np.concatenate([np.ravel(some) for some in known])
    assert shares.any() == (name not in WITHOUT)
    # The errors of the cells of a release depend on each other, so their share varies.
    if shares.any():
        assert np.concatenate(inside).mean() > 0.85
