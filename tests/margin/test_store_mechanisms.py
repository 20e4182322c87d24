"""What was paid for can be saved and read again: every mechanism, on attributes of every kind."""

import math
from dataclasses import dataclass

import numpy as np
import pytest

import margin
from margin import ApproxDP, Domain, PureDP, mechanisms
from margin.mechanisms import strategies
from margin.queries import Conjunctions
from margin.solvers import Greedy
from margin.synopses.estimate import estimate

# Two categories each, so that mechanisms for sets of items take them too; "end" is one of each but
# the first, so that those for sequences do.
DOMAIN = Domain(
    {
        "age": {"bins": [None, 18, None], "ordered": True},
        "income": {"bins": [1000, None], "labels": ["größer"], "other": "end"},
        "born": {"dates": {"from": "2020", "to": "2020", "by": "year"}, "other": "end"},
        "place": {"levels": {"names": ["state", "county"], "paths": [["CA", 6], ["NV", "end"]]}},
        "sex": {"values": {"F": ["f", "日本"]}, "other": "end", "missing": "end"},
        "smokes": {"values": [0.5], "missing": "end"},
    }
)
TABLE = {
    "age": [18, -5, 18.5, 90] * 10,
    "income": [-1, 999.5, 1e9, 1000] * 10,
    "born": ["2020-05-01", "2020", "2021-12-31", "2020"] * 10,
    "place": ["6", "6", "end", "6"] * 10,
    "sex": ["F", "f", "M", None] * 10,
    "smokes": [0.5, None, 0.5, 0.5] * 10,
}
BUDGET = ApproxDP("3/2", "1/20")
"""With so large a delta, some cells and sets are frequent enough to be published."""

# Mechanisms that need parameters. The others are made with none.
MADE = {
    "CountSketch": {"width": 7},
    "DPSense": {"grid": [1, 2, 4]},
    "DPSenseS": {"grid": [1, 2, 4], "scales": [1, 1.5]},
    "Dyadic": {"inner": mechanisms.HighPass(theta=2)},
    "DualQuery": {
        "queries": Conjunctions.random(DOMAIN, 3, 40, 1),
        "rounds": 2,
        "samples": 3,
        "response": Greedy(),
        "size": 40,
    },
    "FilterPriority": {"size": 30, "theta": 2},
    "FourierItems": {"k": 3},
    "Haar": {"inner": mechanisms.PrioritySample(size=20)},
    "HighPass": {"theta": 3},
    "LogThreshold": {"most": 1},
    "PeeledItems": {"k": 2},
    "PrefixTree": {"theta": 2},
    "PrioritySample": {"size": 25},
    "PrivBasis": {"k": 3},
    "ThresholdSample": {"tau": 4},
    "Zealous": {"most": 1, "least": 2},
}


@pytest.mark.slow
@pytest.mark.parametrize("name", dict.fromkeys([*mechanisms.__all__, *strategies.__all__]))
def test_a_release_of_every_mechanism_is_read_again(name, tmp_path):
    kind = getattr(mechanisms, name, None) or getattr(strategies, name)
    mechanism = kind(**MADE.get(name, {}))
    if not hasattr(mechanism, "run"):
        mechanism = mechanisms.MatrixMechanism(strategy=mechanism)
    synopsis = margin.release(TABLE, domain=DOMAIN, budget=BUDGET, mechanism=mechanism)
    synopsis.save(tmp_path / "one.margin")
    again = margin.load(tmp_path / "one.margin")
    assert again.domain == synopsis.domain and again.provenance == synopsis.provenance
    again.save(tmp_path / "two.margin")
    assert (tmp_path / "two.margin").read_bytes() == (tmp_path / "one.margin").read_bytes()


@dataclass(frozen=True, kw_only=True)
class Own:
    """A user's mechanism with a parameter of any kind."""

    given: object

    def run(self, private, workload):
        return estimate(private.domain, private.measure([["age"]]))


@pytest.mark.parametrize(
    ("given", "described"),
    [
        (math.inf, "inf"),
        ([-math.inf, np.float64("nan")], ["-inf", "nan"]),
        (np.array([np.inf]), {"name": "ndarray"}),
        (DOMAIN, {"name": "Domain"}),
        ({1: DOMAIN}, {"1": {"name": "Domain"}}),
    ],
    ids=["infinite", "list", "array", "domain", "domains"],
)
def test_every_parameter_is_described(given, described, tmp_path):
    synopsis = margin.release(TABLE, domain=DOMAIN, budget=PureDP(1), mechanism=Own(given=given))
    synopsis.save(tmp_path / "one.margin")
    again = margin.load(tmp_path / "one.margin").provenance
    assert again.mechanism == {"name": "Own", "given": described}


def test_a_parameter_that_cannot_be_described_is_refused_before_the_charge(tmp_path):
    ledger = margin.Ledger(tmp_path / "agency.db")
    ledger.register("people", PureDP(1))
    endless: list = []
    endless.append(endless)
    with pytest.raises(RecursionError):
        margin.release(
            TABLE,
            domain=DOMAIN,
            budget=PureDP(1),
            mechanism=Own(given=endless),
            ledger=ledger.dataset("people"),
        )
    assert ledger.spent("people") == 0
