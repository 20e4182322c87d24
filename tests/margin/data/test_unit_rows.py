"""How many rows units have, and what a release may count of them, whatever it draws."""

import itertools
import json

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from margin import BudgetError, Domain, Sql
from margin.cli.main import main
from margin.data import parts
from margin.data.checks.fit import check_fit
from margin.data.opening import open_source
from margin.data.rows_per_person import bound

PATHS = [["N", "a"], ["N", "b"], ["S", "c"]]
FORMS = {
    "place": {"levels": {"names": ["region", "town"], "paths": PATHS}},
    "sex": ["F", "M"],
}
VIEWS = {
    ("place@region",): lambda place, sex: "aabbc".index(place) // 4,
    ("place", "sex"): lambda place, sex: 2 * "abc".index(place) + "FM".index(sex),
}
ROWS = st.lists(
    st.tuples(st.integers(1, 3), st.sampled_from("abc"), st.sampled_from("FM")),
    min_size=1,
    max_size=9,
)


def columns_of(rows):
    return dict(zip(("id", "place", "sex"), map(list, zip(*rows, strict=True)), strict=True))


def drawn_of_a_unit(codes, most):
    """Every choice of rows of a unit: the first ones in some order of their different codes."""
    for order in itertools.permutations(sorted(set(codes))):
        yield sorted(codes, key=order.index)[:most]


def all_draws(rows, most, view):
    """The counts of a view, shape (draws, cells), for every draw."""
    cell = VIEWS[view]
    choices = []
    for unit in {unit for unit, _, _ in rows}:
        codes = [row[1:] for row in rows if row[0] == unit]
        counts = set()
        for kept in drawn_of_a_unit(codes, most):
            cells = [cell(*one) for one in kept]
            counts.add(tuple(np.bincount(cells, minlength=6).tolist()))
        choices.append(sorted(counts))
    return np.array([np.sum(one, axis=0) for one in itertools.product(*choices)])


def units_that_a_draw_moves(rows, most, view):
    """The number of units with more rows than are counted, in several cells."""
    number = 0
    for unit in {unit for unit, _, _ in rows}:
        cells = [VIEWS[view](*row[1:]) for row in rows if row[0] == unit]
        number += len(cells) > most and len(set(cells)) > 1
    return number


def declared_for(view, counts):
    shape = (2,) if view == ("place@region",) else (3, 2)
    return np.reshape(counts[: np.prod(shape)], shape)


@settings(deadline=None, max_examples=60)
@given(ROWS, st.integers(1, 3), st.sampled_from(list(VIEWS)), st.integers(0, 20))
@example([(1, "a", "F"), (1, "c", "F")], 1, ("place@region",), 0)
@example([(1, "a", "F"), (1, "c", "F"), (2, "a", "F"), (2, "b", "F")], 1, ("place@region",), 0)
@example([(1, "a", "F"), (1, "c", "F"), (2, "a", "F")] * 2, 3, ("place@region",), 0)
@example([(1, "a", "F"), (1, "a", "F"), (1, "c", "M"), (1, "c", "M")], 2, ("place@region",), 0)
def test_totals_agree_if_and_only_if_they_do_in_every_draw(rows, most, view, which):
    draws = all_draws(rows, most, view)
    declared = draws[which % len(draws)]
    domain = Domain(FORMS, known={view: declared_for(view, declared)})
    found = check_fit(columns_of(rows), domain, unit="id", rows_per_person=most)
    lowest, highest = draws.min(axis=0), draws.max(axis=0)
    # One of the draws is declared: nothing differs in every release.
    assert found.fits == (lowest == highest).all()
    for one in found.false:
        assert one.kind == "known" and not one.differing
        assert one.drawn == (lowest < highest).sum()
        assert one.units == units_that_a_draw_moves(rows, most, view)
        bounds = sorted(zip(declared, lowest, highest, strict=True), key=lambda it: it[1] - it[2])
        assert {it[1:] for it in one.counts} <= set(bounds)


def test_a_table_with_the_smallest_counts_may_differ_too():
    """Then the number of rows differs in any case."""
    columns = {"id": [1, 1, 2], "place": ["a", "c", "a"], "sex": ["F", "F", "F"]}
    domain = Domain(FORMS, known={("place@region",): [1, 0]})
    rows, known = check_fit(columns, domain, unit="id", rows_per_person=1).false
    assert (rows.kind, rows.declared, rows.rows) == ("rows", 1, 2)
    assert (known.kind, known.differing, known.drawn, known.units) == ("known", 0, 2, 1)


@settings(deadline=None, max_examples=40)
@given(ROWS, st.integers(1, 3), st.sampled_from(list(VIEWS)), st.integers(0, 5))
def test_a_count_that_no_draw_has_differs(rows, most, view, cell):
    """One more row is declared than any draw counts in a cell."""
    draws = all_draws(rows, most, view)
    cell %= 2 if view == ("place@region",) else 6
    declared = draws[0].copy()
    declared[cell] = draws[:, cell].max() + 1
    domain = Domain(FORMS, known={view: declared_for(view, declared)})
    found = check_fit(columns_of(rows), domain, unit="id", rows_per_person=most)
    (known,) = (one for one in found.false if one.kind == "known")
    outside = (declared < draws.min(axis=0)) | (declared > draws.max(axis=0))
    assert known.differing == outside.sum()
    assert known.counts[0][2:] == (draws[:, cell].min(), draws[:, cell].max())


@settings(deadline=None, max_examples=60)
@given(ROWS, st.integers(1, 4) | st.none())
def test_units_and_their_rows_are_numbered(rows, most):
    numbers = check_fit(columns_of(rows), Domain(FORMS), unit="id", rows_per_person=most).units
    own = np.unique([unit for unit, _, _ in rows], return_counts=True)[1]
    kept = own if most is None else np.minimum(own, most)
    expected = len(rows), len(own), own.max(), (own > kept).sum(), most, (own - kept).sum()
    assert tuple(vars(numbers).values()) == expected


MANY = 3_000
RNG = np.random.default_rng(5)
TABLE = {
    "id": RNG.integers(0, 900, MANY),
    "place": RNG.choice(list("abc"), MANY, p=[0.5, 0.3, 0.2]),
    "sex": RNG.choice(list("FM"), MANY),
}
KNOWN = Domain(FORMS, known={("place@region",): [2_000, 1], ("sex",): [2_000, 1]})


def test_no_key_leaves_the_bounds():
    found = check_fit(TABLE, KNOWN, unit="id", rows_per_person=2)
    bounds = {one.declared[0]: one.counts for one in found.false if one.kind == "known"}
    assert bounds.keys() == {"place@region", "sex"}
    for key in range(8):
        kept = bound(open_source(TABLE), "id", 2, key.to_bytes(16, "big"))
        batches = list(kept.batches(Domain(FORMS)))
        counted = {
            "place@region": np.concatenate([one["place"] for one in batches]) // 2,
            "sex": np.concatenate([one["sex"] for one in batches]),
        }
        for name, counts in bounds.items():
            # Both counts are shown: those of N and S, or of F and M.
            assert len(counts) == 2
            for cell, _, low, high in counts:
                code = "NSFM".index(cell[-1]) % 2
                assert low < high and low <= (counted[name] == code).sum() <= high


@pytest.mark.parametrize("form", ["csv", "sql"])
def test_rows_in_files_have_the_bounds_of_rows_in_memory(form, tmp_path, monkeypatch):
    path = tmp_path / "t.csv"
    lines = [",".join(map(str, row)) for row in zip(*TABLE.values(), strict=True)]
    path.write_text("\n".join(["id,place,sex", *lines]))
    data = path if form == "csv" else Sql("SELECT * FROM rows", files={"rows": path})
    expected = check_fit(TABLE, KNOWN, unit="id", rows_per_person=2)
    monkeypatch.setattr(parts, "_HELD", 500)
    found = check_fit(data, KNOWN, unit="id", rows_per_person=2)
    assert found.units == expected.units
    assert list(map(vars, found.false)) == list(map(vars, expected.false))


def test_the_table_is_read_once():
    """Also to compare public totals with the rows that may be drawn."""
    passes = []

    class Once:
        def check(self, domain):
            pass

        def batches(self, domain):
            raise AssertionError

        def columns(self, names):
            passes.append(names)
            table = open_source({"a": [0, 1, 1], "id": ["x", "y", "y"]})
            return table.columns(names)

    found = check_fit(Once(), Domain({"a": 2}, rows=2), unit="id", rows_per_person=1)
    assert found.fits and passes == [["a", "id"]]


def test_rows_without_a_unit_or_a_category_do_not_hide_the_numbers():
    """They are not known to be counted, so public totals are not compared yet."""
    domain = Domain({"a": 2}, known={("a",): [1, 1]})
    columns = {"a": [0, 7, 1, 1], "id": ["x", "x", None, "y"]}
    found = check_fit(columns, domain, unit="id", rows_per_person=1)
    assert not found.fits and not found.false
    assert (found.units.rows, found.units.units, found.units.left_out) == (3, 2, 1)
    # Floats beyond 2**53 cannot tell units apart.
    found = check_fit({"a": [0, 1], "id": [2.0**60, 1]}, domain, unit="id", rows_per_person=1)
    assert found.units is None and [misfit.is_unit for misfit in found.misfits] == [True]


@pytest.mark.parametrize("most", [0, -1, 1.5])
def test_the_bound_is_a_positive_number(most):
    with pytest.raises(BudgetError, match="rows_per_person"):
        check_fit({"a": [0], "id": [1]}, Domain({"a": 2}), unit="id", rows_per_person=most)


def test_the_command_never_depends_on_a_draw(tmp_path, capsys):
    """A person with two rows in different regions: a release counts either."""
    table, domain, known = (tmp_path / name for name in ("t.csv", "d.json", "k.csv"))
    table.write_text("id,sex\n1,F\n1,M\n2,M\n3,F\n")
    domain.write_text('{"sex": ["F", "M"]}')
    known.write_text("sex,count\nF,2\nM,1\n")
    command = ["domain", "check", str(table), str(domain), "--known", str(known), "--unit", "id"]
    said = set()
    for _ in range(5):
        assert main([*command, "--rows-per-person", "1"]) == 2
        out, err = capsys.readouterr()
        said.add(out)
        assert "keep it on this machine" in err
    (text,) = said
    assert "a draw decides whether public totals agree" in text
    assert "2 counts may differ (sex=F: 2 declared, 1 to 2 counted; sex=M: 1 declared" in text
    assert "1 unit has rows in different cells of this table" in text
    assert "id: 4 rows of 3 different units, at most 2 rows each; " in text
    assert "; 1 unit has more than 1 row, and a release leaves 1 row out" in text
    assert main([*command, "--rows-per-person", "1", "--json"]) == 2
    values = json.loads(capsys.readouterr().out)
    assert values["units"]["left_out"] == 1 and values["output_may_be_published"] is False
    (known_table,) = values["statements"]
    assert (known_table["differing"], known_table["drawn"], known_table["units"]) == (0, 2, 1)
    # All rows count: nothing is drawn.
    assert main([*command, "--rows-per-person", "2"]) == 2
    out = capsys.readouterr().out
    assert "public totals differ" in out and "a release counts all of them" in out
