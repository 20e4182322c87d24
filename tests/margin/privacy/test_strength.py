"""The strength that every output states, together with public totals and earlier releases."""

import dataclasses
import json
import math

import pytest

import margin
from margin import ZCDP, ApproxDP, Domain, Neighbours, PureDP
from margin.cli.main import main
from margin.privacy.statement import Statement
from margin.privacy.strength import beside, spent_before, strength
from margin.privacy.words import in_words
from margin.publication import publish
from margin.report.content import content

PUBLIC = Domain({"sex": ["F", "M"]}, known={("sex",): [3, 4]})
OPEN = Domain({"sex": ["F", "M"]})


@pytest.mark.parametrize(
    ("budget", "numbers"),
    [
        (PureDP("0.5"), "epsilon = 2 x 0.5 = 1"),
        (ZCDP("0.1"), "rho = 4 x 0.1 = 0.4"),
        (ApproxDP(1, "1e-6"), "epsilon = 2 x 1 = 2, delta = 3.72e-06"),
    ],
)
def test_public_totals_double_the_distance_if_rows_come_and_go(budget, numbers):
    found = strength(Statement(budget=budget), PUBLIC)
    assert (found.steps, found.numbers) == (2, numbers)
    assert strength(Statement(budget=budget), OPEN).steps == 1
    said = beside(Statement(budget=budget), PUBLIC)
    assert numbers in said and "whether someone is in the table is not hidden" in said
    assert beside(Statement(budget=budget), OPEN) == ""


def test_replaced_rows_are_neighbours_with_the_same_totals():
    statement = Statement(budget=PureDP(1, neighbours=Neighbours.REPLACE_ROW))
    assert strength(statement, PUBLIC).steps == 1
    assert "epsilon" not in beside(statement, PUBLIC)


def test_delta_is_that_of_two_steps():
    found = strength(Statement(budget=ApproxDP(1, "1e-6")), PUBLIC)
    assert found.delta == pytest.approx(1e-6 * (1 + math.e))


def earlier(budget, unit=None, base=None, total_is_public=False):
    statement = Statement(budget=budget, unit=unit).to_json()
    return {
        "kind": "release",
        "private": True,
        "statement": statement,
        "charge": None,
        "total_is_public": total_is_public,
        "base": base,
    }


def test_the_guarantees_of_a_base_add_up():
    statement = Statement(budget=PureDP("0.5"))
    said = spent_before(statement, earlier(PureDP(1)))
    assert "an earlier release with epsilon = 1 (without a ledger)" in said
    assert said.endswith("For a person in both, the guarantees add up: epsilon = 1.5.")
    chain = earlier(PureDP(1), base=earlier(PureDP(2)))
    assert spent_before(statement, chain).endswith(
        "in all 3, the guarantees add up: epsilon = 3.5."
    )
    both = spent_before(statement, earlier(PureDP(1)), PUBLIC)
    assert "given the public totals epsilon = 2 x 1.5 = 3." in both
    known_before = earlier(PureDP(1), total_is_public=True)
    for found in (known_before, earlier(PureDP(2), base=known_before)):
        assert "given the public totals epsilon = 2 x " in spent_before(statement, found)
    replaced = dataclasses.replace(PureDP(1), neighbours=Neighbours.REPLACE_ROW)
    same_total = earlier(replaced, total_is_public=True)
    alone = Statement(budget=replaced)
    assert "public totals" not in spent_before(alone, same_total)
    for other in (earlier(ZCDP(1)), earlier(PureDP(1), unit="person")):
        assert "no single number" in spent_before(statement, other)
    public = {"kind": "public table", "source": "example.org", "rows": 7}
    assert "a public table (example.org)" in spent_before(statement, public)


def test_one_counted_row_of_a_person_is_said():
    one = Statement(budget=PureDP(1), unit="person_id")
    assert one.guarantee.endswith("all rows of a person (one of them is counted)")
    assert Statement(budget=PureDP(1)).guarantee == PureDP(1).describe()


def test_every_output_states_the_true_strength(tmp_path, capsys):
    rows = {"sex": ["F"] * 3 + ["M"] * 4, "smokes": ["y", "n"] * 3 + ["y"]}
    domain = Domain({"sex": ["F", "M"], "smokes": ["y", "n"]})
    options = {"domain": domain, "known": {("sex",): [3, 4]}, "mechanism": margin.Residual(order=2)}
    last = margin.release(rows, budget=PureDP(1), **options)
    synopsis = margin.release(rows, budget=PureDP("0.5"), base=last, **options)
    synopsis.save(tmp_path / "s.margin")
    data = content(synopsis, title="t", live=False)
    manifest = publish(synopsis, [["sex", "smokes"]], tmp_path / "tables")
    assert main(["info", str(tmp_path / "s.margin")]) == 0
    printed = capsys.readouterr().out
    csvw = json.loads(next((tmp_path / "tables").glob("*metadata.json")).read_text())
    stat = json.loads((tmp_path / "tables" / "001-sex-smokes.json").read_text())
    texts = [
        " ".join(data["words"]),
        manifest["privacy"],
        printed,
        csvw["dc:rights"],
        stat["note"][0],
    ]
    for text in texts:
        assert "epsilon = 2 x 0.5 = 1" in text
        assert "the guarantees add up: epsilon = 1.5" in text
    assert manifest["base"] == synopsis.provenance.base
    assert "trusted about as much as a random sample of" in printed


def test_the_page_states_the_factor_of_the_true_strength():
    said = in_words(Statement(budget=PureDP("0.5")), PUBLIC)
    assert "by a factor of at most 2.72 (epsilon = 2 x 0.5 = 1)" in said[1]
    assert "with the same public totals" in said[0]
    assert "at most 1.65 (epsilon = 0.5)" in in_words(Statement(budget=PureDP("0.5")), OPEN)[1]


@pytest.mark.parametrize(
    ("budget", "domain", "factor"),
    [
        (PureDP(1), OPEN, "7.39"),
        (PureDP(1), PUBLIC, "54.60"),
        (ApproxDP(1, "1e-7"), OPEN, "7.39, except with a probability of 2e-07"),
    ],
)
def test_the_page_states_the_factor_together_with_earlier_releases(budget, domain, factor):
    said = in_words(Statement(budget=budget), domain, earlier(budget))[-1]
    assert said.endswith(f"change the odds of any conclusion by a factor of at most {factor}.")
    assert "ledger" not in said
    for other in (earlier(ZCDP(1)), {"kind": "public table", "source": "example.org", "rows": 7}):
        assert "factor" not in in_words(Statement(budget=budget), domain, other)[-1]
