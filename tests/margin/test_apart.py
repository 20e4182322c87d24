"""Which pairs of a reconstructed table were not measured, and the words for it."""

import numpy as np
import pytest

import margin
from margin import Domain, PriView, PureDP
from margin.publication.apart import pairs_apart, told_apart
from margin.solvers import Newton

VIEWS = [["age", "sex"], ["sex", "job"], ["car", "dog"]]


def released():
    rng = np.random.default_rng(0)
    sex = rng.integers(0, 2, 4000)
    rows = {name: np.where(rng.random(4000) < 0.9, sex, 1 - sex) for name in ("age", "job")}
    rows |= {"sex": sex, "car": 1 - sex, "dog": sex}
    names = ["age", "sex", "job", "car", "dog"]
    domain = Domain(dict.fromkeys(names, 2))
    mechanism = PriView(views=VIEWS, reconstruction=Newton())
    return margin.release(rows, domain=domain, budget=PureDP(5), mechanism=mechanism)


@pytest.fixture(scope="module")
def synopsis():
    return released()


@pytest.mark.parametrize(
    ("view", "pairs", "shared"),
    [
        (["sex", "job"], [], None),
        (["job", "sex", "age"], [("job", "age")], "what both have in common with sex, "),
        (["age", "job"], [("age", "job")], ""),
        # The way from age to job does not lead through the car.
        (["age", "car"], [("age", "car")], ""),
    ],
)
def test_the_pairs_that_no_table_holds_are_named(synopsis, view, pairs, shared):
    assert pairs_apart(synopsis, view) == pairs
    said = told_apart(synopsis, view)
    if shared is None:
        assert said == ""
        return
    (pair,) = pairs
    start = f"No measured table holds {pair[0]} and {pair[1]} together: "
    except_for = f"except for {shared}" if shared else ""
    end = "the numbers are as if they had nothing to do with each other."
    assert said == f"{start}{except_for}{end}"


def test_of_many_pairs_the_first_are_named(synopsis):
    view = ["age", "job", "car", "dog"]
    pairs = pairs_apart(synopsis, view)
    assert len(pairs) == 5 and ("car", "dog") not in pairs
    said = told_apart(synopsis, view)
    assert "age and job; age and car; age and dog; 2 more pairs: except for" in said


def test_the_numbers_are_as_the_words_say(synopsis):
    """Given sex, age and job are independent; without it, they are so altogether."""
    for table in [*synopsis.marginal(["sex", "age", "job"]).counts]:
        independent = np.outer(table.sum(axis=1), table.sum(axis=0)) / table.sum()
        assert table == pytest.approx(independent, abs=0.5)
    table = synopsis.marginal(["age", "job"]).counts
    independent = np.outer(table.sum(axis=1), table.sum(axis=0)) / table.sum()
    assert table == pytest.approx(independent, abs=0.5)


def test_a_solver_with_a_context_connects_through_other_attributes(synopsis):
    made = synopsis.with_reconstruction(Newton(context=5))
    table = made.marginal(["age", "job"]).counts
    independent = np.outer(table.sum(axis=1), table.sum(axis=0)) / table.sum()
    assert abs(table - independent).max() > 50
    assert "in common with other attributes, " in told_apart(made, ["age", "job"])
