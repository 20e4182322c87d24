"""The zoo: its tables, its two parts, and the regret that it reports."""

import numpy as np
import pytest

from experiments.peers import default_mechanism, zoo
from experiments.peers._tables import table
from experiments.peers._zoo_tables import DRAWS, FAMILIES, generated


@pytest.fixture(autouse=True)
def only_generated(monkeypatch):
    monkeypatch.delenv("MARGIN_DATA", raising=False)
    monkeypatch.setenv("MARGIN_CACHE", "/nonexistent")
    table.cache_clear()


def test_there_are_many_families_and_none_fits_and_validates():
    fits = {name for name, family in FAMILIES.items() if family.fits}
    assert len(FAMILIES) >= 12 and len(FAMILIES) * DRAWS >= 60
    assert 0 < len(fits) < len(FAMILIES)
    parts = {
        (key["family"], zoo._part((key["family"], key["draw"], "B1", 2))) for key in zoo.settings()
    }
    assert {name for name, part in parts if part == "fits"} == fits


@pytest.mark.parametrize(
    "family",
    [pytest.param(name, marks=() if name == "few rows" else pytest.mark.slow) for name in FAMILIES],
)
def test_tables_are_codes_within_their_sizes_and_repeatable(family):
    for draw in range(DRAWS):
        made = generated(family, draw)
        sizes = np.array(list(made.sizes.values()))
        assert made.rows.min() >= 0 and (made.rows.max(axis=0) < sizes).all()
    assert (generated(family, DRAWS - 1).rows == made.rows).all()


def row(method, error, family="few rows", draw=0):
    key = {"family": family, "draw": draw, "budget": "B1", "k": 2, "seed": 0}
    return {name: str(value) for name, value in key.items()} | {
        "method": method,
        "error": str(error),
        "status": "done",
    }


def test_regret_is_the_error_over_the_least_one(tmp_path):
    rows = [
        row("one-way tables", 0.2),
        row("Adaptive", 0.2),
        row("Auto", 0.3),
        row("Adaptive(rounds=0)", 0.1),
        row("one-way tables", 0.2, "register"),
        row("Adaptive", 0.2, "register"),
        row("Auto", 0.2, "register"),
        row("Adaptive(rounds=0)", 0.4, "register"),
    ]
    text = zoo.report(tmp_path, rows)
    few = "Adaptive 2.000 and 2.00; Auto 3.000 and 3.00; Adaptive(rounds=0) 1.000 and 1.00"
    register = "Adaptive 1.000 and 1.00; Auto 1.000 and 1.00; Adaptive(rounds=0) 2.000 and 2.00"
    # The default decides whether the claim holds.
    assert f"{few} | **no**" in text
    assert f"{register} | yes" in text


def test_the_default_is_decided_by_the_ratio_of_errors(tmp_path):
    errors = {"Auto": 0.2, "Adaptive(rounds=0)": 0.1, zoo.DEFAULT: 0.05}
    rows = [
        {**row(name, error, family), "seconds": "1.0"}
        for family in ("register", "shops")
        for name, error in errors.items()
    ]
    told = "Adaptive 0.250, Auto 1.000, Adaptive(rounds=0) 0.500 | yes"
    assert told in default_mechanism.report(tmp_path, rows)
    # A release that lacks one of the mechanisms does not count.
    assert told in default_mechanism.report(tmp_path, [*rows, row("Auto", 9.0, "clicks")])
    assert not any(FAMILIES[key["family"]].fits for key in default_mechanism._keys())


def test_a_constant_is_set_wherever_it_is_used(monkeypatch):
    from margin.mechanisms import fitted
    from margin.mechanisms.choosing import noise_left

    for module in (fitted, noise_left):
        monkeypatch.setattr(module, "LEAST_LEFT", fitted.LEAST_LEFT)
    zoo._set("LEAST_LEFT", 0.125)
    assert fitted.LEAST_LEFT == noise_left.LEAST_LEFT == 0.125
