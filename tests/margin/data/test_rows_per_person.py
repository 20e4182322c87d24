"""At most `rows_per_person` rows of a person are counted: which ones depends on nobody else, and
the guarantee follows."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import margin
from margin import (
    BudgetError,
    DataError,
    Domain,
    DomainError,
    Neighbours,
    PriView,
    PureDP,
    ResourceError,
)
from margin.audit.outputs.outcome import outcome
from margin.audit.recorder import Player, Recorder
from margin.audit.violation import Violation
from margin.data.count import count
from margin.data.encode import ROWS
from margin.data.opening import open_source
from margin.data.rows_per_person import BoundedSource, bound, identities, order
from margin.domain.values import identity
from margin.noise.entropy import SeededEntropy

DOMAIN = Domain({"a": 4, "b": 3})
VIEWS = [("a", "b"), ("b",)]
KEY = bytes(range(16))
tables_of_people = st.lists(
    st.tuples(st.integers(0, 4), st.integers(0, 3), st.integers(0, 2)), min_size=1, max_size=60
)


def kept(rows, most=2, key=KEY, unit="person"):
    """The table of what is kept of rows (person, a, b)."""
    person, a, b = zip(*rows, strict=True) if rows else ((), (), ())
    table = pa.table(
        {unit: pa.array(person), "a": pa.array(a, pa.int64()), "b": pa.array(b, pa.int64())}
    )
    return count(bound(open_source(table), unit, most, key), DOMAIN, VIEWS)[0]


@pytest.mark.slow
@settings(max_examples=15)
@given(tables_of_people, st.integers(1, 5), st.binary(min_size=16, max_size=16))
def test_each_person_keeps_the_bound_and_what_is_kept_is_theirs(rows, most, key):
    together = kept(rows, most, key)
    alone = 0
    for person in {row[0] for row in rows}:
        mine = [row for row in rows if row[0] == person]
        part = kept(mine, most, key)
        held = np.zeros((4, 3), int)
        for _, a, b in mine:
            held[a, b] += 1
        assert part.sum() == min(len(mine), most)
        assert (part <= held).all()
        alone = alone + part
    assert np.array_equal(
        together, alone
    )  # nobody's rows decide about another's: the proof of sensitivity


@settings(max_examples=15)
@given(tables_of_people, st.randoms())
def test_the_order_of_the_rows_does_not_matter(rows, random):
    shuffled = list(rows)
    random.shuffle(shuffled)
    assert np.array_equal(kept(rows), kept(shuffled))


def test_equal_hashes_do_not_let_other_rows_decide(monkeypatch):
    """All hashes are made equal: then the codes say which rows come first, wherever they stand and
    whoever else is."""
    monkeypatch.setattr(
        "margin.data.rows_per_person.order",
        lambda units, codes, key: np.zeros(len(units), np.int64),
    )
    mine = [(7, a, b) for a in (3, 1, 2) for b in (2, 0, 1)]
    rng = np.random.default_rng(1)
    for others in ([], [(9, 0, 0)] * 5, [(person, 3, 2) for person in range(5000) if person != 7]):
        rows = mine + others
        table = kept([rows[place] for place in rng.permutation(len(rows))], 2) - (
            kept(others, 2) if others else 0
        )
        assert np.argwhere(table).tolist() == [[1, 0], [1, 1]] and table.sum() == 2


def test_the_key_decides_which_rows_are_kept():
    rows = [(person, a, b) for person in range(200) for a in range(4) for b in range(3)]
    assert not np.array_equal(kept(rows, 1, bytes(16)), kept(rows, 1, bytes([1] * 16)))
    table = kept(rows, 1)
    assert table.sum() == 200
    # 200 draws of 12 cells: each cell's count is binomial (200, 1/12), and above 60 with a
    # probability below 1e-15
    assert table.min() > 0 and table.max() < 60


def test_the_order_is_even():
    """A hash that favoured some cells would bias every release: 60,000 units' first of six cells,
    within 6 sigma."""
    units = pa.array([str(unit) for unit in range(60_000) for _ in range(6)])
    cells = np.tile(np.arange(6, dtype=np.uint8), 60_000)
    places = order(units, [cells], KEY).reshape(60_000, 6)
    firsts = np.bincount(places.argmin(axis=1), minlength=6)
    assert abs(firsts - 10_000).max() < 6 * np.sqrt(60_000 * 5 / 36)
    assert len(np.unique(places)) == places.size


@pytest.mark.parametrize(
    "person",
    [
        pa.array([1, 1, 1, 2], pa.int8()),
        pa.array(["p", "p", "p", "q"]),
        pa.array(["p", "p", "p", "q"]).dictionary_encode(),
        pa.array([0.5, 0.5, 0.5, 1]),
        pa.array([10**18, 10**18, 10**18, 10**18 + 1]),
        pa.chunked_array([["p"], ["p", "p", "q"]]),
    ],
    ids=lambda person: str(person.type),
)
def test_any_type_of_unit(person):
    table = pa.table({"who": person, "a": [0, 1, 2, 3], "b": [0, 0, 0, 0]})
    for data in (table, table.to_pandas()):
        assert kept_of(data, "who").sum() == 3


# One unit in several forms, and others.
FORMS = ["7", "07", " 7", "7.0", "7e0", "A-17", "A-17 ", "a-17", "2020-01-02", "true", "x y", "12"]
TEXTS = {
    "string": lambda texts: pa.array(texts),
    "large string": lambda texts: pa.array(texts, pa.large_string()),
    "string view": lambda texts: pa.array(texts, pa.string_view()),
    "dictionary": lambda texts: pa.array(texts).dictionary_encode(),
    "dictionary of large strings": lambda texts: pa.array(
        texts, pa.large_string()
    ).dictionary_encode(),
    "dictionary with unused entries": lambda texts: pa.DictionaryArray.from_arrays(
        pa.array(np.arange(len(texts)) + 2), pa.array(["", "9999", *texts])
    ),
    "chunks": lambda texts: pa.chunked_array([[text] for text in texts]),
    "chunks of dictionaries": lambda texts: pa.chunked_array(
        [pa.array([text]).dictionary_encode() for text in texts]
    ),
    "categories": lambda texts: pa.array(pd.Categorical(texts)),
}


@pytest.mark.parametrize("form", TEXTS)
@pytest.mark.parametrize("some", [FORMS, FORMS[:2], FORMS[5:6], ["07"]], ids=len)
def test_a_text_names_the_same_unit_in_every_type_of_column(form, some):
    """However a text is held, and whatever other texts are beside it."""
    found = identities("who", TEXTS[form](some)).to_pylist()
    assert found == [identity(text) for text in some]


NUMBERS = {
    "int8": pa.int8(),
    "uint64": pa.uint64(),
    "float32": pa.float32(),
    "float64": pa.float64(),
    "decimal": pa.decimal128(30, 3),
    "dictionary": pa.dictionary(pa.int8(), pa.int64()),
    "string": pa.string(),
}


@pytest.mark.parametrize("kind", NUMBERS)
def test_a_number_names_the_same_unit_in_every_type_of_column(kind):
    column = pa.array([7, 0, 120, 7], pa.int64()).cast(
        pa.int64() if kind == "dictionary" else NUMBERS[kind]
    )
    column = column.dictionary_encode() if kind == "dictionary" else column
    assert identities("who", column).to_pylist() == ["7", "0", "120", "7"]


def kept_of(data, unit, most=2):
    return count(bound(open_source(data), unit, most, KEY), DOMAIN, VIEWS)[0]


def test_a_unit_may_be_an_attribute_too():
    table = {"a": [0, 0, 0, 1], "b": [0, 1, 2, 0]}
    assert kept_of(table, "a").sum(axis=1).tolist() == [2, 1, 0, 0]


@pytest.mark.slow
@pytest.mark.parametrize("most", [1, 3])
def test_a_release_protects_a_person_with_a_million_rows(most):
    """The auditor's replay: the true answers differ by no more than the sensitivity that the noise
    was made for."""
    rng = np.random.default_rng(1)
    people = np.repeat(np.arange(500), 4)
    rows = {"person": people, "a": rng.integers(0, 4, 2000), "b": rng.integers(0, 3, 2000)}
    whale = {
        "person": np.full(10**6, 7_000),
        "a": rng.integers(0, 4, 10**6),
        "b": rng.integers(0, 3, 10**6),
    }
    larger = {
        name: np.concatenate([whale[name][: 5 * 10**5], rows[name], whale[name][5 * 10**5 :]])
        for name in rows
    }
    budget = PureDP(1, rows_per_person=most)
    replayed(
        bound(open_source(larger), "person", most, KEY),
        bound(open_source(rows), "person", most, KEY),
        budget,
    )
    with pytest.raises(Violation, match="true answers differ by"):
        replayed(open_source(larger), open_source(rows), budget)
    looser = [bound(open_source(table), "person", most + 1, KEY) for table in (larger, rows)]
    with pytest.raises(Violation, match="true answers differ by"):  # a seeded bug: one row too many
        replayed(*looser, budget)


def replayed(source, neighbour, budget):
    """A mechanism recorded on one source and replayed on its neighbour."""
    mechanism = PriView(views=[("a", "b")])
    recorder = Recorder(source, domain=DOMAIN, budget=budget, entropy=SeededEntropy(1))
    recorder.tape = []
    before = outcome(mechanism, recorder, None)
    player = Player(neighbour, domain=DOMAIN, budget=budget, entropy=SeededEntropy(1))
    player.tape = list(recorder.tape)
    assert outcome(mechanism, player, None) == before


PEOPLE = {"person": [1, 1, 1, 2], "a": [0, 1, 2, 3], "b": [0, 0, 0, 0]}


@pytest.mark.parametrize(
    ("budget", "options", "rows"),
    [
        (PureDP(1), {"unit": "person", "rows_per_person": 3}, 3),
        (PureDP("1/3", rows_per_person=3), {"unit": "person"}, 3),
        (margin.ZCDP(1, rows_per_person=2), {"unit": "person", "rows_per_person": 2}, 2),
        (margin.ApproxDP(1, "1e-6"), {"unit": "person", "rows_per_person": 2}, 2),
        (PureDP(1), {"unit": "person", "rows_per_person": 1}, 1),
    ],
)
def test_the_budget_follows(budget, options, rows):
    for made in (
        margin.release(PEOPLE, domain=DOMAIN, budget=budget, **options),
        margin.simulate(PEOPLE, domain=DOMAIN, budget=budget, seed=1, **options),
    ):
        assert made.spent.rows_per_person == rows
        assert (made.spent.units, made.spent.kind) == (budget.units, budget.kind)
    assert made.truth("a").counts.tolist() == [1, 1, 1, 1]


def test_the_ledger_is_charged_for_all_rows_of_a_person():
    class Book:
        def charge(self, budget):
            self.charged = budget

    book = Book()
    margin.release(
        PEOPLE, domain=DOMAIN, budget=PureDP(1), unit="person", rows_per_person=3, ledger=book
    )
    assert book.charged == PureDP(1, rows_per_person=3)


@pytest.mark.parametrize(
    ("budget", "options", "error", "message"),
    [
        (PureDP(1), {"rows_per_person": 2}, BudgetError, "name its column with unit="),
        (
            PureDP(1, rows_per_person=3),
            {"unit": "person", "rows_per_person": 2},
            BudgetError,
            "must be equal",
        ),
        (
            PureDP(1, neighbours=Neighbours.REPLACE_ROW),
            {"unit": "person"},
            BudgetError,
            "ADD_REMOVE_ROW",
        ),
        (PureDP(1), {"unit": "person", "rows_per_person": 0}, BudgetError, "rows_per_person"),
        (PureDP(1), {"unit": "person", "rows_per_person": 10**7}, BudgetError, "rows_per_person"),
        (PureDP(1), {"unit": "person", "rows_per_person": 1.5}, BudgetError, "rows_per_person"),
        (PureDP(1), {"unit": "person"}, BudgetError, "pass rows_per_person=3"),
        (
            PureDP(1),
            {"unit": "nobody", "rows_per_person": 1},
            DataError,
            "no column named 'nobody'",
        ),
        (PureDP(1), {"unit": ""}, DomainError, "unit must be the name"),
        (PureDP(1), {"unit": 3}, DomainError, "unit must be the name"),
    ],
)
def test_bad_units_are_refused_before_anything_is_charged(budget, options, error, message):
    class Book:
        def charge(self, budget):
            raise AssertionError("charged")

    with pytest.raises(error, match=message):
        margin.release(PEOPLE, domain=DOMAIN, budget=budget, ledger=Book(), **options)


@pytest.mark.parametrize("person", [[1, None, 2, 3], ["a", "", None, "b"]])
def test_a_row_must_say_whose_it_is(person):
    with pytest.raises(DataError, match="'person' holds nulls"):
        kept_of({**PEOPLE, "person": person}, "person")


def test_a_unit_of_no_value():
    with pytest.raises(DataError, match="'person'"):
        kept_of(pa.table({**PEOPLE, "person": [[1], [2], [3], [4]]}), "person")


def test_a_problem_of_the_data_is_told_as_without_units():
    with pytest.raises(
        DataError, match="column 'a' holds a value for which its attribute has no category"
    ) as caught:
        kept_of({**PEOPLE, "a": [0, 1, 2, 77]}, "person")
    assert caught.value.__context__ is None


def test_an_interrupt_while_rows_are_grouped_is_one():

    class Interrupted:
        def check(self, domain):
            pass

        def batches(self, domain):
            raise AssertionError("rows of units are read by columns")

        def columns(self, names):
            yield [pa.array([1, 2]) for _ in names]
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        list(bound(Interrupted(), "person", 1, KEY).batches(Domain({"a": 4})))


def test_an_array_has_no_unit():
    with pytest.raises(DataError, match="needs a table with named columns"):
        bound(open_source(np.zeros((2, 2), int)), "person", 1, KEY)


def test_nothing_is_left_of_the_folder_that_large_tables_go_through(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    rows = 3 * ROWS
    table = {"person": np.arange(rows) % 1000, "a": np.arange(rows) % 4, "b": np.zeros(rows, int)}
    source = open_source(table)
    assert isinstance(bound(source, "person", 5, KEY), BoundedSource)
    assert kept_of(table, "person", 5).sum() == 5_000
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("person", ["numbers", "texts"])
def test_rows_in_files_are_kept_like_rows_in_memory(person, tmp_path, monkeypatch):
    """One person has a third of all rows, and some have one."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    rng = np.random.default_rng(3)
    people = np.where(rng.random(60_000) < 1 / 3, 0, rng.integers(1, 20_000, 60_000))
    table = {"person": people, "a": rng.integers(0, 4, 60_000), "b": rng.integers(0, 3, 60_000)}
    if person == "texts":
        table["person"] = [f"p{number}" for number in people]
    in_memory = kept_of(table, "person", 2)
    monkeypatch.setattr("margin.data.parts._HELD", 20_000)
    assert np.array_equal(kept_of(table, "person", 2), in_memory)
    assert in_memory.sum() == np.minimum(np.unique(people, return_counts=True)[1], 2).sum()
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_is_told(monkeypatch):
    monkeypatch.setattr("margin.data.parts._HELD", 0)
    monkeypatch.setattr("pyarrow.OSFile", lambda *_: (_ for _ in ()).throw(OSError(28, "")))
    with pytest.raises(ResourceError, match="set TMPDIR to a folder on a larger disk"):
        kept_of({"person": [1, 2], "a": [0, 1], "b": [0, 1]}, "person", 1)
