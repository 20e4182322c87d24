"""What a release, its file, its page and its entry in a ledger say about what is protected."""

import hashlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

import margin
from margin import ApproxDP, Bound, BudgetError, Domain, DomainError, Neighbours, PureDP, Statement
from margin.cli.main import main
from margin.mechanisms import Flat
from margin.privacy.budget import CertifiedDP
from margin.privacy.statement import digest

TABLE = {"id": ["x", "x", "y", "z"], "a": [0, 1, 1, 0]}
DOMAIN = Domain({"a": 2})
REPLACE = Neighbours.REPLACE_ROW


@st.composite
def statements(draw):
    rows = draw(st.integers(1, 10**6))
    neighbours = draw(st.sampled_from(list(Neighbours)))
    kind = draw(st.sampled_from([PureDP, margin.ZCDP, ApproxDP, CertifiedDP]))
    numbers = [draw(st.fractions("1/1000", 1000)), "1e-9"][: 2 if issubclass(kind, ApproxDP) else 1]
    unit = draw(st.none() | st.text(min_size=1))
    bounds = (
        [Bound.ENFORCED, Bound.DECLARED_AND_ENFORCED]
        if unit
        else [Bound.DECLARED]
        if rows > 1
        else [Bound.NOT_NEEDED, Bound.DECLARED]
    )
    return Statement(
        budget=kind(*numbers, neighbours=neighbours, rows_per_person=rows),
        unit=unit,
        bound=draw(st.sampled_from([None, *bounds])),
        domain=draw(st.none() | st.just(digest(DOMAIN))),
    )


@given(statements())
def test_a_statement_survives_json_and_says_its_numbers(said):
    record = json.loads(json.dumps(said.to_json()))
    assert Statement.from_json(record) == said
    assert (record["unit"], record["rows"]) == (said.unit, said.budget.rows_per_person)
    assert said.rows == 1 or str(said.rows) in said.whom
    assert said.unit is None or repr(said.unit) in said.whom
    assert ("declared" in said.whom) == (said.unit is None and said.rows > 1)
    assert said.guarantee in said.describe()
    assert ("number of rows is public" in said.whom) == said.budget.number_of_rows_is_public


GOOD = Statement(budget=PureDP(1), domain=digest(DOMAIN)).to_json()
BAD = {
    "no object": "pure",
    "a field missing": {name: value for name, value in GOOD.items() if name != "bound"},
    "a field more": {**GOOD, "rows_per_person": "1"},
    "rows as a text": {**GOOD, "rows": "1"},
    "rows as a truth value": {**GOOD, "rows": True},
    "no rows": {**GOOD, "rows": 0},
    "enforced without a unit": {**GOOD, "bound": "enforced"},
    "several rows that nobody answers for": {**GOOD, "rows": 3},
    "declared and enforced without a unit": {**GOOD, "bound": "declared and enforced"},
    "a unit that is not enforced": {**GOOD, "unit": "id"},
    "an empty unit": {**GOOD, "unit": "", "bound": "enforced"},
    "a unit that is a number": {**GOOD, "unit": 3, "bound": "enforced"},
    "unknown bound": {**GOOD, "bound": []},
    "unknown neighbours": {**GOOD, "neighbours": "add or remove one row"},
    "neighbours in a list": {**GOOD, "neighbours": ["replace_row"]},
    "no budget": {**GOOD, "budget": None},
    "rows twice": {**GOOD, "budget": {**GOOD["budget"], "rows_per_person": "7"}},
    "a negative budget": {**GOOD, "budget": {"kind": "pure", "epsilon": "-1"}},
    "a short digest": {**GOOD, "domain": GOOD["domain"][:-1]},
    "a digest that is none": {**GOOD, "domain": "sha256:" + "x" * 64},
}


@pytest.mark.parametrize("record", BAD.values(), ids=BAD)
def test_what_is_no_statement_is_refused(record):
    with pytest.raises((BudgetError, DomainError)):
        Statement.from_json(record)


def test_the_digest_is_that_of_canonical_json():
    """As anyone can compute it, with any JSON library."""
    domain = Domain({"b": ["y", "\u00e4"], "a": {"bins": [0, 18.5, None], "missing": "?"}}, rows=7)
    canonical = b'{"$rows":7,"a":{"bins":[0,18.5,null],"missing":"?"},"b":["y","\\u00e4"]}'
    values = json.loads(domain.to_json())
    assert json.dumps(values, sort_keys=True, separators=(",", ":")).encode() == canonical
    assert digest(domain) == f"sha256:{hashlib.sha256(canonical).hexdigest()}"
    others = [
        Domain({"b": ["y", "a"], "a": 2}),
        Domain({"b": ["\u00e4", "y"], "a": 2}),
        Domain({"b": ["y", "a"]}),
    ]
    assert len({digest(it) for it in [domain, *others]}) == 4


RELEASES = {
    "a row": ({}, PureDP(1), (None, Bound.NOT_NEEDED, 1)),
    "rows of a person, declared": ({}, PureDP(1, rows_per_person=3), (None, Bound.DECLARED, 3)),
    "a unit": ({"unit": "id", "rows_per_person": 1}, PureDP(1), ("id", Bound.ENFORCED, 1)),
    "a unit of many rows": (
        {"unit": "id", "rows_per_person": 2},
        margin.ZCDP(1),
        ("id", Bound.ENFORCED, 2),
    ),
    "a row replaced": ({}, PureDP(1, neighbours=REPLACE), (None, Bound.NOT_NEEDED, 1)),
}


@pytest.mark.parametrize(("asked", "budget", "said"), RELEASES.values(), ids=RELEASES)
def test_a_release_its_file_and_its_entry_say_what_is_protected(
    asked, budget, said, tmp_path, capsys
):
    ledger = margin.Ledger(tmp_path / "l.db")
    ledger.register("d", budget, unit=asked.get("unit"))
    release = margin.release(
        TABLE, domain=DOMAIN, budget=budget, mechanism=Flat(), ledger=ledger.dataset("d"), **asked
    )
    statement = release.provenance.statement
    assert (statement.unit, statement.bound, statement.rows) == said
    assert statement.neighbours is budget.neighbours and statement.domain == digest(DOMAIN)
    assert type(statement.budget) is type(budget) and statement.budget == release.spent
    assert ledger.charges("d") == (statement,)
    release.save(tmp_path / "x.margin")
    assert margin.load(tmp_path / "x.margin").provenance.statement == statement
    capsys.readouterr()
    assert main(["info", str(tmp_path / "x.margin")]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert statement.whom in shown and statement.domain in shown
    assert main(["info", str(tmp_path / "x.margin"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["statement"] == statement.to_json()


def test_a_simulation_promises_nothing(tmp_path, capsys):
    margin.simulate(TABLE, domain=DOMAIN, budget=PureDP(1), seed=1).save(tmp_path / "x.margin")
    main(["info", str(tmp_path / "x.margin"), "--allow-simulation"])
    assert "rotects" not in capsys.readouterr().out


def test_what_somebody_else_measured_is_declared():
    noisy = [(["a"], [10.2, 3.9], 1.0)]
    made = margin.from_measurements(noisy, domain=DOMAIN, guarantee=PureDP(1))
    assert made.provenance.statement.bound is Bound.DECLARED
