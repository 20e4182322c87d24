"""`Domain(determined=)`: what is impossible, its JSON form, and what is refused."""

import numpy as np
import pytest

import margin
from margin import Domain, DomainError, PureDP

PATHS = [["CA", "Alameda"], ["CA", "Fresno"], ["NV", "Clark"]]
LEVELS = {"levels": {"names": ["state", "county"], "paths": PATHS}}
TABLE = {"Alameda": "CA", "Fresno": "CA", "Clark": "NV"}
STATES = ["NV", "CA"]
POSSIBLE = [[False, True], [False, True], [True, False]]


@pytest.mark.parametrize(
    ("place", "determined"),
    [
        (LEVELS, {"state": "place@state"}),
        (list(TABLE), {"state": {"place": TABLE}}),
        (list(TABLE), {"state": {"place": [list(pair) for pair in TABLE.items()]}}),
    ],
)
def test_other_combinations_are_impossible(place, determined):
    domain = Domain({"place": place, "state": STATES, "x": 2}, determined=determined)
    assert domain.possible(["place", "state"]).tolist() == POSSIBLE
    again = Domain.from_json(domain.to_json())
    assert again == domain and hash(again) == hash(domain) and "determined" in repr(domain)
    assert Domain(domain, rows=3).possible(["place", "state"]).tolist() == POSSIBLE
    assert domain.restrict(["state", "place"]).possible(["place", "state"]).tolist() == POSSIBLE
    assert domain.restrict(["state", "x"]).zeros is None
    assert domain.linked == (frozenset({"place", "state"}),)


def test_missing_categories_may_determine_nothing():
    place = {"values": list(TABLE), "missing": "?", "other": "elsewhere"}
    domain = Domain({"place": place, "state": STATES}, determined={"state": {"place": TABLE}})
    possible = domain.possible(["place", "state"])
    assert possible[:3].tolist() == POSSIBLE and possible[3:].all()


def test_answers_respect_what_is_determined():
    domain = Domain({"place": LEVELS, "state": STATES}, determined={"state": "place@state"})
    table = {"place": ["Alameda", "Clark"] * 5, "state": ["CA", "NV"] * 5}
    synopsis = margin.release(table, domain=domain, budget=PureDP(1))
    assert not synopsis.marginal(["place", "state"]).counts[~np.array(POSSIBLE)].any()
    (agreed,) = synopsis.tables([["place"]])
    assert agreed.counts.sum() >= 0


def test_three_thousand_counties_are_declared_at_once():
    counties = [f"c{place}" for place in range(3_000)]
    table = {county: f"s{place // 60}" for place, county in enumerate(counties)}
    states = [f"s{place}" for place in range(50)]
    domain = Domain({"county": counties, "state": states}, determined={"state": {"county": table}})
    assert len(domain.zeros.boxes) == 50
    assert domain.possible(["county", "state"]).sum() == 3_000


@pytest.mark.parametrize(
    ("determined", "message"),
    [
        (3, "determined must be a mapping from attributes"),
        ({"stat": "place@state"}, "'stat' is none; correct the name; did you mean 'state'"),
        ({"state": "place@stat"}, "did you mean 'place@state'"),
        ({"state": "state@state"}, "by a level of another attribute"),
        ({"x": "place@state"}, "'x' has no category 'CA'"),
        ({"state": {"plac": TABLE}}, "by another attribute of the domain"),
        ({"state": {"place": {"Alameda": "CA"}}}, "'Fresno' is not in the table; add it"),
        ({"state": {"place": {"Almeda": "CA"}}}, "'place' has no category 'Almeda'"),
        ({"state": {"place": [["Clark", "CA"], ["Clark", "NV"]]}}, "has two entries"),
        ({"state": {"place": ["Clark"]}}, "pairs of categories"),
        ({"state": 5}, "another form; correct it"),
    ],
)
def test_what_is_refused(determined, message):
    with pytest.raises(DomainError, match=message):
        Domain({"place": LEVELS, "state": STATES, "x": 2}, determined=determined)
