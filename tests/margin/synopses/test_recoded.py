"""Categories that are renamed or put together after a release: sums of what was released, with
the bounds of these sums, in every form of synopsis; and what cannot be one is refused."""

import functools
import itertools
import json
import re

import numpy as np
import pytest

import margin
from margin import ZCDP, Domain, DomainError, FileError, PriView, PureDP
from margin.domain.level_views import attribute_at
from margin.domain.recoding.recoding import Recoding
from margin.mechanisms import Direct, Flat, HighPass, LevelCounts, Residual
from margin.store import release_digest

PATHS = [["N", "N1"], ["N", "N2"], ["N"], ["S", "S1"], ["S", "S2"]]
FORMS = {
    "place": {"levels": {"names": ["region", "town"], "paths": PATHS}},
    "age": {"bins": [0, 18, 30, 65, 100], "ordered": True, "missing": "?"},
    "sex": {"values": {"F": ["female"], "M": ["male"]}, "missing": "not stated"},
    "visits": 4,
}
RULES = [
    {"age": "[0, 18)", "visits": 3},
    {"age": "[18, 30)", "visits": 3},
    {"place": "S1", "sex": "not stated"},
]
CHANGES = {
    "put together": {"place": {"N12": ["N1", "N2"]}, "visits": {"some": [1, 2]}},
    "apart in the order": {"age": {"ends": ["0 to under 18", "65 to 100"]}},
    "over regions": {"place": {"border": ["N2", "S1"]}},
    "renamed": {"sex": {"women": "female", "men": "M"}, "age": {"minors": ["[0, 18)"]}},
    "swapped": {"sex": {"F": "M", "M": "F"}},
    "bins": {"age": {"under 30": ["0 to under 18", "18 to under 30"], "unknown": "?"}},
    "a level": {"place@region": {"all": ["N", "S"]}, "place": {"N, no town": "N"}},
    "all of one": {"sex": {"anybody": ["F", "M", "not stated"]}},
}
MECHANISMS = {
    "views": PriView(views=[["place", "age"], ["sex", "visits"], ["age", "sex"]]),
    "components": Residual(order=2),
    "a table": Flat(),
    "marginals": Direct(),
    "cells": HighPass(target=100),
}
VIEWS = [["place", "age"], ["sex"], ["visits", "place"], ["place", "sex", "visits"], ["age", "sex"]]


@functools.cache
def released(kind, rules=True, known=False, seed=3):
    draw = np.random.default_rng(1)
    rows = 3000
    table = {
        "place": np.array([path[-1] for path in PATHS])[draw.integers(0, 5, rows)],
        "age": draw.integers(0, 100, rows),
        "sex": np.array(["F", "M", ""])[draw.integers(0, 3, rows)],
        "visits": draw.integers(0, 4, rows),
    }
    told = None
    if known:
        told = {("place@region",): [1800, 1200], ("sex",): [1000, 900, 1100]}
    domain = Domain(FORMS, impossible=RULES if rules else (), known=told)
    workload = [["place", "age"], ["sex", "visits"]]
    return margin.simulate(
        table,
        domain=domain,
        budget=PureDP(1),
        mechanism=MECHANISMS[kind],
        seed=seed,
        workload=workload,
    ).synopsis


def members(before, after, changes, name):
    """For each new category of an attribute the declared ones, from the form of the change."""
    stands_for = {}
    for new, olds in changes.get(name, {}).items():
        listed = olds if isinstance(olds, list) else [olds]
        own = attribute_at(before, name)
        stands_for[new] = [own.names[own.category(old)] for old in listed]
    return {str(label): stands_for.get(str(label), [label]) for label in after[name].names}


@pytest.mark.parametrize("kind", MECHANISMS)
@pytest.mark.parametrize("changes", CHANGES.values(), ids=CHANGES)
def test_an_answer_is_that_of_the_declared_categories_together(kind, changes):
    # Numbers of rows that were kept cell by cell do not know the rules.
    synopsis = released(kind, rules=kind != "cells")
    new = synopsis.recoded(changes)
    for view in VIEWS:
        try:
            marginal = new.marginal(view)
        except DomainError:  # this form of synopsis cannot answer the view at all
            with pytest.raises(DomainError):
                synopsis.marginal(view)
            continue
        assert marginal.attributes == tuple(view)
        old = synopsis.marginal(view)
        assert marginal.source is old.source
        # A number of all categories is answered from a table of fewer attributes.
        if "anybody" not in str(changes):
            assert marginal.total == pytest.approx(old.total)
        sets = [members(synopsis.domain, new.domain, changes, name) for name in view]
        low, high = marginal.interval(0.95)
        for place, cell in enumerate(itertools.product(*sets)):
            if len(view) > 2 and place % 7:
                continue  # a part of a large table is enough
            index = np.unravel_index(place, marginal.counts.shape)
            olds = [own[label] for own, label in zip(sets, cell, strict=True)]
            expected = synopsis.count(dict(zip(view, olds, strict=True)))
            # As one number, and as a cell of the table.
            assert str(new.count(dict(zip(view, cell, strict=True)))) == str(expected)
            assert marginal.counts[index] == pytest.approx(expected.estimate, abs=1e-6)
            if marginal.variance[index] == 0:
                axes = [synopsis.domain[name].category for name in view]
                box = [list(map(code, own)) for code, own in zip(axes, olds, strict=True)]
                assert not old.variance[np.ix_(*box)].any()
                continue
            bounds = [low[index], high[index]]
            assert bounds == pytest.approx(expected.interval(0.95), abs=1e-6, nan_ok=True)


@pytest.mark.parametrize("changes", CHANGES.values(), ids=CHANGES)
@pytest.mark.parametrize("known", [False, True])
def test_tables_of_changed_categories_agree(changes, known):
    synopsis = released("views", rules=False, known=known)
    new = synopsis.recoded(changes)
    before = synopsis.tables(VIEWS, seed=5)
    tables = new.tables(VIEWS, seed=5)
    by_view = dict(zip(map(tuple, VIEWS), tables, strict=True))
    for one, other in itertools.combinations(tables, 2):
        shared = [name for name in one.attributes if name in other.attributes]
        if shared:
            assert np.array_equal(one.project(shared).counts, other.project(shared).counts)
    for view, old in zip(VIEWS, before, strict=True):
        table = by_view[tuple(view)]
        low, high = table.interval(0.95)
        assert table.total == old.total and (table.counts == table.counts.round()).all()
        assert (low <= table.counts).all() and (table.counts <= high).all()
        # Where no count was moved out of its bounds, the bounds are those of the page.
        inside = new.marginal(view).interval(0.95)
        assert (low <= inside[0] + 1e-9).all() and (inside[1] <= high + 1e-9).all()
    if "place@region" in new.domain.level_names:
        level = new.tables([["place@region"], ["place"]], seed=5)
        assert level[0].total == level[1].total
    if known:
        counts = new.marginal(["sex"]).counts
        assert counts.sum() == pytest.approx(3000) and (new.marginal(["sex"]).variance == 0).all()


@pytest.mark.parametrize("changes", CHANGES.values(), ids=CHANGES)
def test_impossible_combinations_stay_impossible_and_no_other_becomes_so(changes):
    """Against all cells of the domain, one by one."""
    before = Domain(FORMS, impossible=RULES)
    recoding = Recoding.of(before, changes)
    view = recoding.view(before.attributes)
    open_cells = view.rolled_up(before.possible(before.attributes).astype(float))
    possible = recoding.after.possible(before.attributes)
    assert np.array_equal(possible, open_cells > 0)


def test_rules_that_exclude_a_new_category_together_are_seen():
    before = Domain(FORMS, impossible=RULES)
    changes = {"age": {"under 30": ["0 to under 18", "18 to under 30"]}}
    after = Recoding.of(before, changes).after
    assert {"age": "under 30", "visits": 3} in after.impossible


@pytest.mark.parametrize(
    ("name", "changes", "kind", "names"),
    [
        ("age", CHANGES["bins"], "bins, ordered", ["under 30", "30 to under 65", "65 to 100"]),
        ("age", CHANGES["apart in the order"], "values", ["ends", "18 to under 30"]),
        ("place", CHANGES["put together"], "levels region > town", ["N12", "N", "S1", "S2"]),
        ("place", CHANGES["over regions"], "values", ["N1", "border", "N", "S2"]),
        ("place", CHANGES["a level"], "levels region > town", ["N1", "N2", "N, no town"]),
        ("visits", CHANGES["put together"], "values", [0, "some", 3]),
    ],
)
def test_an_attribute_keeps_what_still_has_a_meaning(name, changes, kind, names):
    form = Recoding.of(Domain(FORMS), changes).after[name]
    assert form.kind == kind and list(form.names[: len(names)]) == names
    assert str(next(iter(changes[name]))) in form.description
    if kind == "bins, ordered":
        new = released("views").recoded(changes)
        assert new.count({"age": (30, 100)}) == released("views").count({"age": (30, 100)})


def test_dates_keep_their_levels():
    form = {"dates": {"from": "2025-01-01", "to": "2025-06-30", "by": "month"}}
    changes = {"day": {"Jan/Feb": ["2025-01", "2025-02"]}, "day@quarter": {"spring": "2025-Q2"}}
    after = Recoding.of(Domain({"day": form}), changes).after
    assert after["day"].ordered and "day@year" in after.level_names
    assert after["day"].at_level("quarter").labels == ("2025-Q1", "spring")


def test_records_have_the_new_codes():
    synopsis = released("views")
    new = synopsis.recoded(CHANGES["put together"])
    rows = synopsis.records(500)
    changed = new.records(500)
    for axis, name in enumerate(new.domain):
        own = members(synopsis.domain, new.domain, CHANGES["put together"], name)
        labels = [new.domain[name].names[code] for code in changed[:, axis]]
        olds = [synopsis.domain[name].names[code] for code in rows[:, axis]]
        assert all(old in own[str(label)] for old, label in zip(olds, labels, strict=True))


def test_a_changed_release_is_the_same_release():
    synopsis = released("views")
    new = synopsis.recoded(CHANGES["renamed"])
    assert release_digest(new) == release_digest(synopsis)
    assert new.is_same_release(synopsis) and synopsis.is_same_release(new)
    assert (new.count({"sex": "women"}) - synopsis.count({"sex": "F"})).variance == 0
    assert new.released is synopsis and new.provenance is synopsis.provenance
    assert new.changed["sex"] == {"women": ["F"], "men": ["M"]}
    with pytest.raises(FileError, match="keep the file of the release and the changes"):
        new.save("x.margin")
    with pytest.raises(DomainError, match="pass all changes at once"):
        new.recoded(CHANGES["put together"])


def test_measured_levels_are_added_up_too():
    synopsis = margin.simulate(
        {"place": [path[-1] for path in PATHS] * 100, "sex": ["F"] * 500},
        domain={"place": FORMS["place"], "sex": ["F", "M"]},
        budget=ZCDP("0.1"),
        mechanism=LevelCounts(attribute="place"),
        seed=1,
    ).synopsis
    new = synopsis.recoded(CHANGES["over regions"])
    marginal = new.marginal(["place", "sex"])
    expected = synopsis.count({"place": ["N2", "S1"], "sex": "M"})
    assert marginal.variance[1, 1] == pytest.approx(expected.variance)


WRONG = [
    ([], "must be a mapping from attributes"),
    ({}, "but it is empty"),
    ({"plce": {"x": "N1"}}, "unknown attribute 'plce'.*did you mean 'place'"),
    ({"place@x": {"x": "N1"}}, "no level 'x'"),
    ({"place": ["N1", "N2"]}, "must be a mapping from new names"),
    ({"place": {}}, "or empty"),
    ({"place": {"": "N1"}}, "must be a text that is not empty"),
    ({"place": {"x": "Q"}}, "declares no category 'Q'"),
    ({"place": {"x": []}}, "'x' lists none"),
    ({"place": {"x": ["N1", "N1"]}}, "list each category once"),
    ({"place": {"x": ["N1"], "y": ["N1", "N2"]}}, "'y' lists none, or one that is listed twice"),
    ({"place": {"S1": ["N1", "N2"]}}, "'S1' is a category that stays"),
    ({"sex": {"x": "female", "y": "F"}}, "listed twice"),
    ({"place@region": {"S1": "N"}, "place": {"N": ["S1", "S2"]}}, "the new categories of 'place'"),
]


@pytest.mark.parametrize(("changes", "message"), WRONG)
def test_what_is_no_change_of_categories_is_refused(changes, message):
    with pytest.raises(DomainError, match=message):
        released("views").recoded(changes)


def test_the_words_name_each_change():
    recoding = Recoding.of(Domain(FORMS), {**CHANGES["put together"], "sex": {"women": "F"}})
    assert recoding.words == (
        "place: 'N12' is 'N1' and 'N2' together.",
        "visits: 'some' is '1' and '2' together.",
        "sex: 'women' is the new name of 'F'.",
    )
    many = {"visits": {f"category number {code} of many {'x' * 30}": code for code in range(4)}}
    described = Recoding.of(Domain(FORMS), many).after["visits"].description
    assert len(described) <= 200 and described.endswith("more categories changed")
    assert Domain.from_json(recoding.after.to_json()) == recoding.after
    assert json.loads(recoding.after.to_json())["visits"]["description"]


DEEP = [["A", "N", "N1"], ["A", "N", "N2"], ["A", "S", "S1"], ["B", "T", "T1"], ["B", "T", "T2"]]
LEVELS_LEFT_OUT = [
    ({"north": ["N1", "S1"]}, {"region": ["N", "S"]}),
    ({"border": ["N2", "T1"]}, {"region": ["N", "T"], "land": ["A", "B"]}),
    ({"far": ["N1", "S1", "T2"]}, {"region": ["N", "S", "T"], "land": ["A", "B"]}),
]
ASKS = {
    "a level of an attribute": lambda domain, name: attribute_at(domain, name),
    "an attribute": lambda domain, name: domain[name],
    "a workload": lambda domain, name: margin.Workload.of(domain, [[name, "sex"]]),
}


@pytest.mark.parametrize("ask", ASKS.values(), ids=ASKS)
@pytest.mark.parametrize(("change", "left_out"), LEVELS_LEFT_OUT)
def test_a_level_that_a_change_left_out_is_told_with_what_keeps_it(ask, change, left_out):
    form = {"levels": {"names": ["land", "region", "town"], "paths": DEEP}}
    domain = Domain({"place": form, "sex": ["F", "M"]})
    after = Recoding.of(domain, {"place": change}).after
    assert set(left_out) == {"land", "region"} - set(getattr(after["place"].levels, "names", ()))
    for level, nodes in left_out.items():
        with pytest.raises(DomainError, match="do not fit it") as caught:
            ask(after, f"place@{level}")
        message = str(caught.value)
        listed = f"{', '.join(map(repr, nodes[:-1]))} and {nodes[-1]!r}"
        assert f"{next(iter(change))!r} is in {listed}. " in message
        # What the message proposes keeps the level.
        proposed = json.loads(re.search(r"add (\{.*?\}\}) to the", message)[1])
        assert proposed == {f"place@{level}": {"NEW NAME": nodes}}
        kept = Recoding.of(domain, {"place": change, **proposed}).after
        assert "NEW NAME" in attribute_at(kept, f"place@{level}").labels
        # So does a file of its own, in which the attribute has the new groups.
        proposed = json.loads(re.search(r"such as (\{.*\}\}) that", message)[1])
        assert proposed == {"place": {node: ["..."] for node in nodes[:2]}}
        groups = {node: [path[-1] for path in DEEP if node in path] for node in nodes[:2]}
        assert {*nodes[:2]} <= {*Recoding.of(domain, {"place": groups}).after["place"].labels}
    if not after.level_names:
        with pytest.raises(DomainError, match=r"fit none of its levels.*name 'place'"):
            ask(after, "place@town")
    assert not domain.left_out and Domain.from_json(after.to_json()) == after
