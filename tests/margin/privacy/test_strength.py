"""The strength that every output states, together with public totals and earlier releases."""

import dataclasses
import json
import math
import re
from decimal import Decimal, localcontext
from pathlib import Path

import numpy as np
import pytest

import margin
from margin import ZCDP, ApproxDP, Domain, Neighbours, PureDP
from margin.cli.main import main
from margin.privacy.odds import budget_of_factor
from margin.privacy.statement import Statement
from margin.privacy.strength import beside, for_contents, spent_before, strength
from margin.privacy.words import change_of_odds, how_strong, in_a_paragraph, in_words
from margin.publication import publish
from margin.report.content import content

PUBLIC = Domain({"sex": ["F", "M"]}, known={("sex",): [3, 4]})
OPEN = Domain({"sex": ["F", "M"]})


@pytest.mark.parametrize(
    ("budget", "numbers"),
    [
        (PureDP("0.5"), "epsilon = 2 x 0.5 = 1"),
        (ZCDP("0.1"), "rho = 4 x 0.1 = 0.4"),
        (ApproxDP(1, "1e-6"), "epsilon = 2 x 1 = 2, delta = 0.00000372"),
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


def test_a_sum_of_rho_stands_first_and_as_an_epsilon():
    """The number of this release alone must not be taken for that of both."""
    statement = Statement(budget=ZCDP("0.029"), unit="pid")
    said = in_a_paragraph(statement, PUBLIC, earlier(ZCDP("0.029"), unit="pid"))
    both = strength(Statement(budget=ZCDP("0.058"), unit="pid"), PUBLIC)
    assert f"the guarantees add up: rho = 0.058 ({_as_epsilon('0.058')})" in said
    assert f"given the public totals rho = 4 x 0.058 = 0.232 ({both.converted})" in said
    order = ["add up: rho = 0.058", "Guarantee: zero-concentrated", "rho = 0.029, neighbours"]
    places = [said.index(part) for part in order]
    assert places == sorted(places)
    strong = said[
        said.index("Strength: given the public totals, the results of this release and") :
    ]
    assert "and of the earlier one change" in strong
    # No other number of the strength is that of this release alone.
    alone = strength(statement, PUBLIC)
    assert alone.numbers not in said and alone.converted not in said
    # Without an earlier release there is nothing to add up.
    assert "earlier" not in in_a_paragraph(statement, PUBLIC)


def _as_epsilon(rho):
    return strength(Statement(budget=ZCDP(rho)), OPEN).converted


def test_one_counted_row_of_a_person_is_said():
    one = Statement(budget=PureDP(1), unit="person_id")
    assert one.guarantee.endswith("all rows with the same 'person_id' (one of them is counted)")
    assert Statement(budget=PureDP(1)).guarantee == PureDP(1).describe()


@pytest.mark.parametrize("domain", [OPEN, PUBLIC])
@pytest.mark.parametrize("budget", [PureDP(1), ZCDP("0.1"), ApproxDP(1, "1e-6")])
@pytest.mark.parametrize("before", [PureDP(1), ZCDP("0.1"), ApproxDP(1, "1e-6"), None])
def test_with_a_column_of_units_nobody_is_called_a_person(domain, budget, before):
    """The unit may be a household; only the facts of no one person are not about it."""
    statement = Statement(budget=budget, unit="hh")
    base = None if before is None else earlier(before, unit="hh")
    texts = [in_a_paragraph(statement, domain, base), beside(statement, domain, base)]
    texts += [*in_words(statement, domain, base), statement.protects, statement.contents]
    text = " ".join(texts).replace("the data of any one person", "")
    assert "person" not in text and "the same 'hh'" in text


@pytest.mark.parametrize(
    ("budget", "larger"),
    [(PureDP(1), False), (ZCDP("0.1"), True), (ApproxDP(1, "1e-6"), True)],
)
def test_a_factor_that_has_exceptions_is_said_to_be_larger_than_exp_of_epsilon(budget, larger):
    said = how_strong(Statement(budget=budget), OPEN)
    assert ("It is larger than exp(epsilon)" in said) == larger
    found = strength(Statement(budget=budget), OPEN)
    assert (found.loss > found.epsilon) == larger


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
        csvw["skos:note"],
        stat["note"][0],
    ]
    for text in texts:
        assert "the guarantees add up: epsilon = 1.5" in text
        assert "by a factor of at most 20.09 (epsilon = 2 x 1.5 = 3)" in text
        assert "epsilon = 2 x 0.5 = 1" not in text
    assert printed.startswith("adds up ")
    assert data["guarantee"].endswith("earlier releases that it uses, epsilon = 2 x 1.5 = 3")
    assert manifest["privacy"].startswith("This release uses an earlier release with epsilon = 1 ")
    assert manifest["base"] == synopsis.provenance.base
    assert "trusted about as much as a random sample of" in printed


def test_the_page_states_the_factor_of_the_true_strength():
    said = in_words(Statement(budget=PureDP("0.5")), PUBLIC)
    assert "by a factor of at most 2.72 (epsilon = 2 x 0.5 = 1)" in said[-1]
    assert all("with the same public totals" in words for words in (said[0], said[-1]))
    assert "at most 1.65 (epsilon = 0.5)" in in_words(Statement(budget=PureDP("0.5")), OPEN)[-1]


PRESENCE = "the odds that a row is in the table"
CONTENTS = "the odds of any conclusion about what their row says"


@pytest.mark.parametrize(
    ("budget", "domain", "factors"),
    [
        (PureDP(1), OPEN, {PRESENCE: "7.39", CONTENTS: "54.60"}),
        (PureDP(1), PUBLIC, {"the odds of any conclusion about a row": "54.60"}),
        (
            ApproxDP(1, "1e-7"),
            OPEN,
            {
                PRESENCE: "14.78, except with a probability of at most 1 in 2,340,000",
                CONTENTS: "110, except with a probability of at most 1 in 295,000",
            },
        ),
    ],
)
def test_the_page_states_the_factor_together_with_earlier_releases(budget, domain, factors):
    statement = Statement(budget=budget)
    _, sum_of_both, in_short, *_, in_numbers = in_words(statement, domain, earlier(budget))
    both = "the results of this release and of the earlier one"
    for odds, factor in factors.items():
        assert f"{both} change {odds} by a factor of at most {factor}" in in_numbers
    assert in_numbers.count("by a factor") == len(factors)
    assert "ledger" not in sum_of_both
    # The short answer has the percentages of the sum, and says so.
    sure = re.findall(r"at most ([\d.]+) % sure after (the results .+? earlier one)", in_short)
    into = re.findall(r"of 50 % into at most ([\d.]+) %", in_numbers)
    assert sure == [(percent, both) for percent in into] and len(sure) == len(factors)


@pytest.mark.parametrize("domain", [OPEN, PUBLIC])
@pytest.mark.parametrize("budget", [PureDP(1), ApproxDP(1, "1e-7")])
def test_the_strength_is_that_of_the_release_if_there_is_no_sum(budget, domain):
    statement = Statement(budget=budget)
    public = {"kind": "public table", "source": "example.org", "rows": 7}
    assert how_strong(statement, domain, base=public) == how_strong(statement, domain)
    said = how_strong(statement, domain, base=earlier(ZCDP(1)))
    alone = "the results of this release alone change"
    assert said.replace(alone, "the results change") == how_strong(statement, domain)
    assert alone in said
    # A public table is not what the paragraph begins with: the rows of it are protected by nothing.
    assert in_a_paragraph(statement, domain, public).startswith("Protects one row")


def test_a_chain_of_releases_is_added_up_in_the_strength():
    chain = earlier(PureDP(1), base=earlier(PureDP(2)))
    said = how_strong(Statement(budget=PureDP(1)), OPEN, base=chain)
    assert "of this release and of the earlier ones change" in said and "(epsilon = 4)" in said


@pytest.mark.parametrize(
    ("rho", "factor"),
    [("0.1", "12.30"), ("0.4", "185"), ("1", "5,540")],
)
def test_a_factor_is_the_smallest_number_of_three_digits_that_is_not_below(rho, factor):
    """exp(0.4 + 2 sqrt(0.4 ln 2e6)) = 184.58, for example."""
    said = how_strong(Statement(budget=ZCDP(rho)), OPEN)
    assert f"by a factor of at most {factor}, except" in said


GRID = np.arange(-40, 41)


def two_counts(law, counts):
    """The exact probabilities of two noisy counts on a grid of results, of shape (81, 81)."""
    one, other = (law(GRID - count) for count in counts)
    return np.outer(one, other)


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0])
def test_the_stated_factors_are_those_of_two_counts_with_geometric_noise(epsilon):
    """Whether a row is there is one step; what it says, yes or no, is two."""
    released = {
        said: two_counts(lambda x: np.tanh(epsilon / 2) * np.exp(-epsilon * abs(x)), counts)
        for said, counts in {"left out": (5, 4), "no": (6, 4), "yes": (5, 5)}.items()
    }

    def worst(one, other):
        return np.log(released[one] / released[other]).max()

    statement = Statement(budget=PureDP(epsilon))
    assert worst("yes", "left out") == pytest.approx(strength(statement, OPEN).epsilon)
    assert worst("yes", "no") == pytest.approx(for_contents(statement).epsilon)
    said = how_strong(statement, OPEN)
    stated = [float(part.split(" ")[0]) for part in said.split("by a factor of at most ")[1:]]
    for factor, found in zip(stated, (epsilon, 2 * epsilon), strict=True):
        assert 0 <= factor - math.exp(found) < 0.011


@pytest.mark.parametrize("epsilon", ["0.01", "4.6", "4.61", "7.43", "17.2"])
@pytest.mark.parametrize("delta", ["0.04", "0.001", "1e-4", "3.3e-6", "1e-6", "7e-10", "1e-14"])
def test_factors_and_chances_are_rounded_up_and_have_no_exponents(epsilon, delta):
    statement = Statement(budget=ApproxDP(epsilon, delta))
    said = how_strong(statement, OPEN)
    found = strength(statement, OPEN)
    factor, chance = re.search(
        r"factor of at most ([\d.,]+), except with a probability of ([\w ,.]+) \(", said
    ).groups()
    factor = float(factor.replace(",", ""))
    assert found.loss == pytest.approx(float(epsilon) + math.log(2))
    exact = math.exp(found.loss)
    unit = 10.0 ** max(math.floor(math.log10(exact)) - 2, -2)
    assert exact <= factor < exact + 1.001 * unit
    top, _, bottom = chance.removeprefix("at most ").partition(" in ")
    bound = float(top) / float(bottom.replace(",", "") or 1)
    assert found.chance * (1 - 1e-8) <= bound <= 1.11 * found.chance
    assert not re.search(r"\de[+-]\d", said.partition("(")[0])


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0])
@pytest.mark.parametrize("deviation", [2.0, 4.0])
def test_the_two_steps_of_approximate_and_concentrated_privacy_hold_exactly(epsilon, deviation):
    """Compared with the exact divergences of two counts with discrete Gaussian noise."""
    weights = np.exp(-(np.arange(-120, 121) ** 2) / (2 * deviation**2))

    def law(x):
        return np.exp(-(x**2) / (2 * deviation**2)) / weights.sum()

    def delta(one, other, at):
        return np.maximum(two_counts(law, one) - np.exp(at) * two_counts(law, other), 0).sum()

    # The smallest delta for which neighbours satisfy this epsilon, in both directions.
    out, no, yes = (5, 4), (6, 4), (5, 5)
    least = max(delta(yes, out, epsilon), delta(out, yes, epsilon))
    approximate = for_contents(Statement(budget=ApproxDP(epsilon, least)))
    concentrated = for_contents(Statement(budget=ZCDP(1 / (2 * deviation**2))))
    for found in (approximate, concentrated):
        assert delta(yes, no, found.epsilon) <= found.delta


def losses(deviation, squares):
    """The losses between counts whose squared distance is `squares`, all one apart in `squares`
    places, with discrete Gaussian noise, and their exact probabilities."""
    grid = np.arange(-400, 401)
    weights = np.exp(-(grid**2) / (2 * deviation**2))
    # The loss is the sum of (2 x + 1) / (2 deviation ** 2) over the places.
    of_sum = weights / weights.sum()
    for _ in range(squares - 1):
        of_sum = np.convolve(of_sum, weights / weights.sum())
    sums = np.arange(len(of_sum)) - (len(of_sum) - 1) // 2
    return (2 * sums + squares) / (2 * deviation**2), of_sum


def exceeded(deviation, squares, loss):
    """The exact probability that the loss is larger, in either direction."""
    values, probabilities = losses(deviation, squares)
    return probabilities[abs(values) > loss].sum()


@pytest.mark.parametrize("squares", [1, 4, 10])
@pytest.mark.parametrize("rho", ["0.001", "0.1", "0.5", "2"])
def test_the_factor_is_exceeded_no_more_often_than_stated(rho, squares):
    """One count, and several tables that share the budget: rho = squares / (2 deviation ** 2)."""
    deviation = math.sqrt(squares / (2 * float(rho)))
    concentrated = strength(Statement(budget=ZCDP(rho)), OPEN)
    assert 0 < exceeded(deviation, squares, concentrated.loss) <= concentrated.chance == 1e-6
    # The smallest delta with which the same noise has this epsilon.
    epsilon = 2 * math.sqrt(float(rho))
    values, probabilities = losses(deviation, squares)
    delta = (probabilities * -np.expm1(np.minimum(epsilon - values, 0))).sum()
    approximate = strength(Statement(budget=ApproxDP(epsilon, delta)), OPEN)
    assert exceeded(deviation, squares, approximate.loss) <= approximate.chance


def test_delta_is_no_bound_for_the_factor_of_epsilon():
    """The noise that `ApproxDP(1, 0.05)` buys for one table; its delta is tight."""
    law = ApproxDP(1, "0.05").counts_at_once(1)[0]
    deviation = math.sqrt(float(law.sigma2))
    values, probabilities = losses(deviation, 1)
    delta = (probabilities * -np.expm1(np.minimum(1 - values, 0))).sum()
    assert 0.0499 < delta <= 0.05
    assert exceeded(deviation, 1, 1.0) > 0.12
    found = strength(Statement(budget=ApproxDP(1, "0.05")), OPEN)
    assert exceeded(deviation, 1, found.loss) <= found.chance == pytest.approx(0.05 * 2.3679, 1e-4)


def test_what_a_replaced_row_says_is_one_step():
    statement = Statement(budget=PureDP(1, neighbours=Neighbours.REPLACE_ROW))
    assert for_contents(statement) == strength(statement, OPEN)
    said = how_strong(statement, OPEN)
    assert "the odds of any conclusion about a row by a factor of at most 2.72" in said
    assert "7.39" not in said and "known to be in the table" not in said


@pytest.mark.parametrize(
    "epsilon", ["0.001", "0.1", "0.5", "1", "2", "3.7", "4.6", "7.43", "17.2", "60", "1000"]
)
def test_what_even_odds_become_is_rounded_up_once(epsilon):
    """From epsilon itself, not from a factor that was rounded up before."""
    said = how_strong(Statement(budget=PureDP(epsilon)), None)
    start = "Before it is rounded up, this factor turns a probability of 50 % into at most"
    found = [float(text) for text in re.findall(rf"{start} ([\d.]+) %", said)]
    for steps, most in enumerate(found, 1):
        with localcontext(prec=50):
            odds = (steps * Decimal(epsilon)).exp()
            exact = 100 * odds / (1 + odds)
            assert 0 <= Decimal(str(most)) - exact < Decimal("0.01")
    assert len(found) == 2


FACTORS = [1.0001, 1.5, 2, 7.39, 10, 100, 1_000, 203_000, 1e9, 1e50, 1e300]


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("neighbours", Neighbours)
@pytest.mark.parametrize("kind", [PureDP, ZCDP])
def test_a_budget_of_a_factor_has_it_and_hardly_a_larger_one_has(kind, neighbours, known):
    """The factor is that of the statement of the budget."""

    def loss(budget):
        statement = Statement(budget=budget)
        return (for_contents(statement) if known else strength(statement, OPEN)).loss

    for factor in FACTORS:
        asked = {"kind": kind, "neighbours": neighbours, "known_to_be_there": known}
        budget = budget_of_factor(factor, **asked)
        assert isinstance(budget, kind) and budget.neighbours is neighbours
        amount = budget.epsilon if kind is PureDP else budget.rho
        assert math.exp(loss(budget)) <= factor
        larger = kind(amount * 1001 / 1000, neighbours=neighbours)
        assert loss(larger) > math.log(factor)


@pytest.mark.parametrize("factor", [1, 0.5, 0, -2, math.inf, math.nan, "10", None])
def test_no_budget_has_such_a_factor(factor):
    with pytest.raises(margin.BudgetError, match="must be a number above 1"):
        budget_of_factor(factor)


@pytest.mark.parametrize(
    "options",
    [
        ["--epsilon", "3"],
        ["--rho", "0.1"],
        ["--rho", "0.1", "--replace-row"],
        ["--epsilon", "5", "--delta", "1e-6"],
    ],
)
def test_the_factor_is_told_before_anything_is_spent(options, tmp_path, monkeypatch, capsys):
    """By `ledger create` as by `ledger show`; by `plan` in the same words for one release."""
    monkeypatch.chdir(tmp_path)
    assert main(["ledger", "create", "x.db", "--dataset", "a", *options]) == 0
    (_, created) = capsys.readouterr().out.splitlines()
    assert main(["ledger", "show", "x.db"]) == 0
    assert created in capsys.readouterr().out.splitlines()
    (tmp_path / "domain.json").write_text('{"sex": ["F", "M"]}')
    line = ["plan", "--domain", "domain.json", "--workload", "sex", *options]
    assert main(line) == 0
    text = capsys.readouterr().out
    assert main([*line, "--json"]) == 0
    odds = json.loads(capsys.readouterr().out)["odds"]
    assert odds in text.splitlines()
    said = created.replace("  with the whole budget", "with this budget")
    # An epsilon with a delta has another bound by itself than the rho of its ledger.
    assert said == odds or "--delta" in options


PAGE = (Path(__file__).parents[3] / "docs" / "howto" / "choose_epsilon.md").read_text()


def _table(head):
    """The rows of a table of the page, below a head that begins like this."""
    (found,) = re.findall(rf"^\| {head}.*\n\|[-|]*\n((?:\|.*\n)+)", PAGE, re.MULTILINE)
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in found.splitlines()]


def test_the_tables_of_the_page_are_those_of_the_statements():
    def factor(budget, known):
        statement = Statement(budget=budget)
        found = for_contents(statement) if known else strength(statement, OPEN)
        said = change_of_odds(statement, found, found)
        return re.search(r"at most ([\d,.]*\d)", said)[1]

    rows = _table("rho ")
    assert len(rows) == 7
    for rho, epsilon, there, known, replaced in rows:
        budget = ZCDP(rho)
        assert float(epsilon) == strength(Statement(budget=budget), OPEN).epsilon
        assert (there, known) == (factor(budget, False), factor(budget, True))
        assert replaced == factor(ZCDP(rho, neighbours=Neighbours.REPLACE_ROW), True)
    rows = _table("largest factor")
    assert len(rows) == 5
    for said, epsilon, rho, replaced in rows:
        largest = int(said.replace(",", ""))
        assert PureDP(epsilon) == budget_of_factor(largest, kind=PureDP)
        assert ZCDP(rho) == budget_of_factor(largest)
        replace = Neighbours.REPLACE_ROW
        assert ZCDP(replaced, neighbours=replace) == budget_of_factor(largest, neighbours=replace)
