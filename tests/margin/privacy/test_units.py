"""Releases with one unit and different numbers of rows: see docs/proofs/units.md."""

import dataclasses
import itertools
import json
import sqlite3
from contextlib import closing
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import margin
from margin import (
    ZCDP,
    Bound,
    BudgetError,
    DomainError,
    Ledger,
    MarginError,
    Neighbours,
    PureDP,
    Statement,
)
from margin.cli.main import main
from margin.data.opening import open_source
from margin.data.rows_per_person import bound
from margin.domain.domain import Domain
from margin.mechanisms import Flat
from margin.privacy.statement import for_data_set
from margin.privacy.strength import with_base

ROWS = {"id": ["x", "x", "x", "y", "z"], "a": [0, 1, 1, 1, 0]}
DOMAIN = Domain({"a": 2})
LIMITS = (1, 2, 5)
OLD = Path(__file__).with_name("ledger_with_rows_of_units.sql")


def released(ledger, name, budget, **unit):
    return margin.release(
        ROWS,
        domain=DOMAIN,
        budget=budget,
        mechanism=Flat(),
        ledger=ledger.dataset(name),
        **unit,
    )


@pytest.fixture
def old(tmp_path):
    """A ledger that an earlier version wrote, which registered a number of rows with a unit."""
    path = tmp_path / "old.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.executescript(OLD.read_text())
    return Ledger(path)


# The corollary


def kept(rows, limit, key):
    """The counts of the rows that a release with this limit counts."""
    if not rows:
        return [0, 0]
    table = {"id": [unit for unit, _ in rows], "a": [code for _, code in rows]}
    source = bound(open_source(table), "id", limit, key)
    codes = [int(code) for batch in source.batches(DOMAIN) for code in batch["a"]]
    return [codes.count(0), codes.count(1)]


@settings(max_examples=15)
@given(
    others=st.lists(st.tuples(st.sampled_from("bc"), st.integers(0, 1)), max_size=5),
    mine=st.lists(st.integers(0, 1), min_size=1, max_size=7),
    limits=st.lists(st.sampled_from(LIMITS), min_size=2, max_size=3),
)
def test_releases_with_different_numbers_of_rows_lose_no_more_than_is_charged(others, mine, limits):
    """The largest loss of discrete Laplace noise is the L1 distance over its scale. All rows of a
    unit come or go: the losses of all releases together are at most the sum of their charges."""
    whole = for_data_set(PureDP(9), "id").budget
    loss = charged = Fraction(0)
    for number, limit in enumerate(limits):
        key = bytes([number]) * 16
        with_me = kept([*others, *(("a", code) for code in mine)], limit, key)
        without = kept(others, limit, key)
        distance = sum(abs(one - other) for one, other in zip(with_me, without, strict=True))
        budget = PureDP(Fraction(number + 1, 2), rows_per_person=limit)
        loss += distance / budget.count_noise(budget.units).scale
        charged += dataclasses.replace(whole, rows_per_person=limit).cost_of(budget)
    assert loss <= charged * margin.privacy.budget.UNIT
    # If a unit has as many rows as every release may count, the bound is reached.
    if len(mine) >= max(limits):
        assert loss == charged * margin.privacy.budget.UNIT


# The ledger


@pytest.mark.parametrize("kind", [PureDP, ZCDP])
@pytest.mark.parametrize("limits", list(itertools.permutations(LIMITS, 2)))
def test_a_data_set_with_a_unit_takes_releases_with_any_number_of_rows(tmp_path, kind, limits):
    ledger = Ledger(tmp_path / "l.db")
    ledger.register("d", kind(1), unit="id")
    for limit in limits:
        budget = PureDP("0.5") if limit == 1 else kind("0.5")
        made = released(ledger, "d", budget, unit="id", rows_per_person=limit)
        assert ledger.charges("d")[-1] == made.provenance.statement
    # Each entry keeps its own number, and the sum does not depend on it.
    assert tuple(charge.rows for charge in ledger.charges("d")) == limits
    cost = {PureDP: Fraction(1), ZCDP: Fraction(5, 8) if 1 in limits else Fraction(1)}[kind]
    assert ledger.spent("d") == cost and ledger.verify() == 2


@pytest.mark.parametrize("rows", [1, 3])
def test_a_data_set_with_a_unit_is_said_to_have_no_number_of_rows(tmp_path, capsys, rows):
    path = tmp_path / "l.db"
    ledger = Ledger(path)
    assert ledger.register("d", PureDP(1, rows_per_person=rows), unit="id")
    assert not ledger.register("d", PureDP(1), unit="id", if_missing=True)
    whole = ledger.statement("d")
    assert whole.bound is Bound.EACH_RELEASE and ledger.budget("d") == PureDP(1)
    assert (
        whole.protects == "all rows with the same 'id', of which each release counts its own number"
    )
    assert whole.guarantee.endswith("neighbours: add or remove all rows with the same 'id'")
    assert "Each release counts at most its own number of them" in whole.whom
    assert whole.left_out == ""
    released(ledger, "d", PureDP("0.5"), unit="id", rows_per_person=2)
    assert main(["ledger", "show", str(path)]) == 0
    said = capsys.readouterr().out
    assert "entry 2: epsilon = 0.5, counted at most 2 of the rows with the same 'id'" in said
    assert main(["ledger", "show", str(path), "--json"]) == 0
    (shown,) = json.loads(capsys.readouterr().out)["datasets"]
    assert shown["statement"]["rows"] is shown["budget"]["rows_per_person"] is None
    assert [charge["rows"] for charge in shown["charges"]] == [2]


def test_a_charge_by_hand_says_how_many_rows_its_release_counts(tmp_path):
    ledger = Ledger(tmp_path / "l.db")
    ledger.register("d", PureDP(1), unit="id")
    with pytest.raises(BudgetError, match="must say how many rows of a unit"):
        ledger.charge("d", PureDP(1), statement=for_data_set(PureDP(1), "id"))
    assert ledger.spent("d") == 0


@pytest.mark.parametrize(
    ("budget", "unit", "error"),
    [
        (PureDP(1, neighbours=Neighbours.REPLACE_ROW), "id", BudgetError),
        (PureDP(1), "", DomainError),
        (PureDP(1), 3, DomainError),
    ],
)
def test_a_data_set_whose_unit_cannot_be_protected_is_refused(tmp_path, budget, unit, error):
    with pytest.raises(error):
        Ledger(tmp_path / "l.db").register("d", budget, unit=unit)


# Files of earlier versions


def test_an_old_ledger_is_read_and_means_the_same(old):
    assert old.datasets() == ("visits", "panel", "people") and old.verify() == 4
    assert old.spent("visits") == Fraction(3, 8) and old.remaining("visits") == Fraction(5, 8)
    assert old.spent("panel") == old.spent("people") == Fraction(1, 2)
    assert old.statement("visits") == for_data_set(ZCDP(1), "id")
    assert old.statement("panel") == Statement(budget=PureDP(2, rows_per_person=3))
    assert old.statement("people") == Statement(budget=PureDP(2))
    assert [charge.rows for charge in old.charges("visits")] == [3, 3]
    assert old.charged("visits")[0].label == "spring"
    assert not old.register("visits", ZCDP(1), unit="id", if_missing=True)
    with pytest.raises(BudgetError, match="already registered"):
        old.register("visits", ZCDP(2), unit="id", if_missing=True)


ASKED = {
    "one row": (PureDP("0.1"), {}),
    "one row replaced": (PureDP("0.1", neighbours=Neighbours.REPLACE_ROW), {}),
    "two rows declared": (PureDP("0.1", rows_per_person=2), {}),
    "three rows declared": (PureDP("0.1", rows_per_person=3), {}),
    "one row of a unit": (PureDP("0.1"), {"unit": "id", "rows_per_person": 1}),
    "three rows of a unit": (PureDP("0.1"), {"unit": "id", "rows_per_person": 3}),
    "rows of another unit": (PureDP("0.1"), {"unit": "a", "rows_per_person": 3}),
}
TAKEN = {
    ("visits", "one row of a unit"),
    ("visits", "three rows of a unit"),
    ("panel", "three rows declared"),
    ("people", "one row"),
}


@pytest.mark.parametrize("name", ["visits", "panel", "people"])
@pytest.mark.parametrize("asked", ASKED)
def test_an_old_ledger_takes_what_protects_the_same_unit(old, name, asked):
    budget, unit = ASKED[asked]
    before = old.spent(name)
    if (name, asked) in TAKEN:
        released(old, name, budget, **unit)
        cost = Fraction(1, 200) if name == "visits" else Fraction(1, 10)
    else:
        with pytest.raises(BudgetError, match="these guarantees do not add up"):
            released(old, name, budget, **unit)
        cost = 0
    assert old.spent(name) == before + cost and old.verify() == 4 + bool(cost)


# Sums of statements


@pytest.mark.parametrize("mine", ASKED)
@pytest.mark.parametrize("theirs", ASKED)
def test_statements_add_up_if_they_protect_the_same_unit(mine, theirs):
    def said(name):
        budget, unit = ASKED[name]
        rows = unit.get("rows_per_person", budget.rows_per_person)
        return Statement(
            budget=dataclasses.replace(budget, rows_per_person=rows), unit=unit.get("unit")
        )

    units = {mine, theirs}
    expected = len(units) == 1 or units == {"one row of a unit", "three rows of a unit"}
    assert said(mine).same_unit(said(theirs)) == expected
    base = {"kind": "release", "statement": said(theirs).to_json(), "base": None}
    found = with_base(said(mine), base)
    assert (found is not None) == expected
    if expected:
        assert found.numbers == "epsilon = 0.2"


def test_the_statement_of_a_data_set_has_no_number_of_rows():
    whole = for_data_set(PureDP(1), "id")
    record = json.loads(json.dumps(whole.to_json()))
    assert record["rows"] is None and Statement.from_json(record) == whole
    for wrong in (
        {**record, "rows": 1},
        {**record, "bound": "enforced"},
        {**record, "unit": None},
    ):
        with pytest.raises(MarginError):
            Statement.from_json(wrong)
    with pytest.raises(BudgetError, match="must have rows_per_person=1"):
        Statement(budget=PureDP(1, rows_per_person=2), unit="id", bound=Bound.EACH_RELEASE)
