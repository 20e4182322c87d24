"""Counts are exact, whatever the views, the types and the batches."""

import math
import pickle
import subprocess
import sys
from collections import Counter
from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from margin.counting import CountPlan, compiled, plan
from margin.data.count import count
from margin.domain.domain import Domain
from margin.errors import DataError, DomainError


def naive(domain, codes, view):
    """The table of a view, one row at a time."""
    seen = Counter(zip(*(codes[name].tolist() for name in view), strict=True))
    cells = product(*(range(size) for size in domain.shape(view)))
    return np.array([seen[cell] for cell in cells]).reshape(domain.shape(view))


@st.composite
def problems(draw):
    """A domain, some views of it, and the codes of some rows."""
    sizes = draw(st.lists(st.sampled_from([1, 2, 3, 5, 17, 256, 257]), min_size=1, max_size=5))
    domain = Domain({f"x{place}": size for place, size in enumerate(sizes)})
    view = st.lists(st.sampled_from(domain.attributes), min_size=1, max_size=4, unique=True)
    views = draw(st.lists(view.filter(lambda names: domain.cells(names) < 10_000), max_size=4))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    rows = draw(st.sampled_from([0, 1, 2, 50, 300]))
    codes = {name: rng.integers(0, size, rows) for name, size in zip(domain, sizes, strict=True)}
    return domain, views, codes


@st.composite
def long_tables(draw):
    """Views of every kind that the compiled loops tell apart, and rows enough for several words and
    blocks."""
    sizes = draw(st.lists(st.sampled_from([1, 2, 2, 2, 2, 3, 300]), min_size=1, max_size=14))
    domain = Domain({f"x{place}": size for place, size in enumerate(sizes)})
    view = st.lists(st.sampled_from(domain.attributes), min_size=1, max_size=11, unique=True)
    views = draw(
        st.lists(view.filter(lambda names: domain.cells(names) < 200_000), min_size=1, max_size=12)
    )
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    rows = draw(st.sampled_from([1, 63, 64, 65, 5_000, 70_000]))
    few = draw(st.sampled_from([1, 40, rows]))
    pick = rng.integers(0, few, rows)
    codes = {
        name: rng.integers(0, size, few)[pick].astype(np.uint16)
        for name, size in zip(domain, sizes, strict=True)
    }
    return domain, views, codes


@pytest.fixture
def eagerly(monkeypatch):
    """Compiled loops from the first row on."""
    monkeypatch.setattr(plan, "_WORTH_USING", -1)
    monkeypatch.setattr(plan, "_WORTH_COMPILING", -1)


def whole(domain, views, codes):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plan, "_WORTH_USING", math.inf)
        patch.setattr(plan, "_WORTH_COMPILING", math.inf)
        counting = CountPlan(domain, views)
        counting.accumulate(codes)
        assert isinstance(counting._kernel, plan.Blocks)
        return counting.tables


@pytest.mark.usefixtures("eagerly")
@settings(max_examples=25)
@given(
    long_tables(),
    st.sampled_from([1, 2, 3]),
    st.booleans(),
    st.lists(st.integers(1, 70_000), max_size=3),
)
def test_compiled_loops_give_the_integers_of_numpy(problem, threads, repeating, cuts):
    domain, views, codes = problem
    rows = len(codes["x0"])
    counting = CountPlan(domain, views, threads=threads)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compiled, "_KEY", -1e9 if repeating else 1e9)
        patch.setattr(compiled, "_TABLE", 1 << 18)
        bounds = sorted({0, rows, *(cut for cut in cuts if cut < rows)})
        for start, stop in pairwise(bounds):
            counting.accumulate({name: column[start:stop] for name, column in codes.items()})
            assert counting.tables is not None  # looking in between changes nothing
        assert isinstance(counting._kernel, compiled.Compiled)
    for one, other in zip(counting.tables, whole(domain, views, codes), strict=True):
        assert np.array_equal(one, other)


@pytest.mark.usefixtures("eagerly")
@pytest.mark.parametrize(
    ("kind", "stays"),
    [("few", True), ("many", False), ("other ones later", True), ("many later", False)],
)
def test_distinct_rows_are_collected_for_as_long_as_rows_repeat(kind, stays):
    domain = Domain({f"x{place}": 2 for place in range(20)})
    rng = np.random.default_rng(3)
    rows = {
        "few": rng.integers(0, 10_000, 400_000),
        "many": rng.integers(0, 60_000, 400_000),
        "other ones later": np.arange(400_000) // 4,  # the hash table is emptied on the way
        "many later": np.concatenate([np.zeros(66_000, int), np.arange(334_000)]),
    }[kind]
    codes = {f"x{place}": ((rows >> place) & 1).astype(np.uint8) for place in range(20)}
    views = [tuple(rng.choice(domain.attributes, 8, replace=False)) for _ in range(60)]
    counting = CountPlan(domain, views)
    counting.accumulate(codes)
    assert (counting._kernel._distinct is not None) == stays
    for one, other in zip(counting.tables, whole(domain, views, codes), strict=True):
        assert np.array_equal(one, other)


def test_a_small_table_never_loads_the_compiled_loops():
    program = (
        "import sys, numpy as np; from margin import Domain; from margin.data.count import count; "
        "domain = Domain({f'x{i}': 2 for i in range(8)}); "
        "count(np.zeros((50_000, 8), np.uint8), domain, [['x0', 'x1']]); "
        "sys.exit('numba' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


@pytest.mark.usefixtures("eagerly")
def test_a_plan_travels_to_another_process():
    domain = Domain({"a": 3, "b": 2})
    codes = {"a": np.array([0, 1, 2], np.uint8), "b": np.array([1, 1, 0], np.uint8)}
    counting = CountPlan(domain, [("a", "b")])
    counting.accumulate(codes)
    arrived = pickle.loads(pickle.dumps(counting))
    arrived.accumulate(codes)
    counting.merge(arrived)
    assert counting.tables[0].tolist() == [[0, 3], [0, 3], [3, 0]]


def test_count_takes_what_a_release_takes():
    domain = Domain({"a": 2, "b": ["x", "y"]})
    table = {"a": [0, 1, 1], "b": ["x", "x", "y"]}
    tables = count(table, domain, [("b", "a"), "a"])
    assert isinstance(tables, list)
    assert [part.tolist() for part in tables] == [[[1, 1], [0, 1]], [1, 2]]


@given(problems(), st.sampled_from([np.uint8, np.int16, np.uint32, np.int64, np.uint64, ">u2"]))
def test_equal_to_counting_by_hand(problem, dtype):
    domain, views, codes = problem
    dtype = np.int64 if max(domain.sizes) > np.iinfo(dtype).max else dtype
    counting = CountPlan(domain, views)
    counting.accumulate({name: column.astype(dtype) for name, column in codes.items()})
    for view, table in zip(counting.views, counting.tables, strict=True):
        assert table.dtype == np.int64
        assert np.array_equal(table, naive(domain, codes, view))


@given(problems(), st.lists(st.integers(0, 300), max_size=4), st.integers(1, 40))
def test_neither_batches_nor_blocks_nor_workers_matter(problem, cuts, block):
    domain, views, codes = problem
    rows = len(codes["x0"])
    whole, parts = CountPlan(domain, views), [CountPlan(domain, views) for _ in range(2)]
    whole.accumulate(codes)
    bounds = sorted({0, rows, *(cut for cut in cuts if cut < rows)})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plan, "_BLOCK", block)
        for turn, (start, stop) in enumerate(pairwise(bounds)):
            parts[turn % 2].accumulate({name: column[start:stop] for name, column in codes.items()})
    parts[0].merge(parts[1])
    for one, other in zip(whole.tables, parts[0].tables, strict=True):
        assert np.array_equal(one, other)


@pytest.mark.parametrize(
    "sizes",
    [(1,), (1, 256), (256, 1), (1, 1), (16, 16), (2,) * 8, (65_536, 1), (256, 256), (2, 129)],
)
def test_sizes_at_the_borders_of_the_index_types(sizes):
    domain = Domain({f"x{place}": size for place, size in enumerate(sizes)})
    last = {
        name: np.array([attribute.size - 1, 0], np.uint32) for name, attribute in domain.items()
    }
    counting = CountPlan(domain, [domain.attributes])
    counting.accumulate(last)
    assert np.array_equal(counting.tables[0], naive(domain, last, domain.attributes))


def test_a_large_view_is_counted():
    domain = Domain({f"x{place}": 2 for place in range(25)})
    rng = np.random.default_rng(0)
    codes = {name: rng.integers(0, 2, 1000, np.uint8) for name in domain}
    counting = CountPlan(domain, [domain.attributes])
    counting.accumulate(codes)
    counting.accumulate(codes)
    (table,) = counting.tables
    assert table.sum() == 2000
    assert table[tuple(codes[name][17] for name in domain)] >= 2


@pytest.mark.parametrize("layout", ["strided", "reversed", "read-only", "Fortran"])
def test_any_memory_layout(layout):
    domain = Domain({"a": 3, "b": 2})
    rng = np.random.default_rng(1)
    block = np.stack([rng.integers(0, 3, 200), rng.integers(0, 2, 200)], axis=1)
    if layout == "strided":
        block = np.repeat(block, 3, axis=0)[::3]
    elif layout == "reversed":
        block = block[::-1]
    elif layout == "read-only":
        block.flags.writeable = False
    else:
        block = np.asfortranarray(block)
    codes = {"a": block[:, 0], "b": block[:, 1]}
    counting = CountPlan(domain, [("b", "a")])
    counting.accumulate(codes)
    assert np.array_equal(counting.tables[0], naive(domain, codes, ("b", "a")))


def test_no_rows_and_no_views():
    domain = Domain({"a": 3, "b": 2})
    counting = CountPlan(domain, [("a", "b")])
    counting.accumulate({"a": np.zeros(0, np.uint8), "b": np.zeros(0, np.uint8)})
    assert counting.tables[0].tolist() == [[0, 0], [0, 0], [0, 0]]
    empty = CountPlan(domain, [])
    empty.accumulate({"a": np.zeros(2, np.uint8)})
    assert empty.tables == ()


def test_tables_cannot_be_written_to():
    (table,) = CountPlan(Domain({"a": 3}), ["a"]).tables
    with pytest.raises(ValueError, match="read-only"):
        table[0] = 1


@pytest.mark.parametrize(
    "views",
    [[["x0", "x1"]], [[f"x{place}" for place in range(9)]], [["x0"], ["x8", "x1", "x0"]]],
    ids=["2", "9", "3"],
)
def test_too_large_a_view_is_refused_by_the_schema(views):
    domain = Domain({f"x{place}": 2**14 if place < 8 else 1 for place in range(9)})
    with pytest.raises(DomainError, match="at most 134217728 cells to be counted"):
        CountPlan(domain, views)


@pytest.mark.parametrize("views", [[["z"]], [["a", "a"]], [[]]])
def test_a_wrong_view_is_refused(views):
    with pytest.raises(DomainError):
        CountPlan(Domain({"a": 2, "b": 2}), views)


GOOD = np.array([0, 1, 1], np.uint8)
BAD_BATCHES = [
    ({"a": GOOD}, "must have a column for each attribute of a view, but it lacks attribute 'b'"),
    ({"a": GOOD, "b": GOOD[:2]}, "must have the same length"),
    ({"a": GOOD, "b": GOOD.astype(float)}, "'b' must be integers"),
    ({"a": GOOD, "b": GOOD.astype(bool)}, "'b' must be integers"),
    ({"a": GOOD, "b": GOOD.astype(object)}, "'b' must be integers"),
    ({"a": GOOD, "b": GOOD[None]}, "'b' must be integers in one dimension"),
    ({"a": GOOD, "b": GOOD + 1}, "'b' must be from 0 to 1, but one is not"),
    ({"a": GOOD, "b": GOOD.astype(np.int8) - 1}, "'b' must be from 0 to 1, but one is not"),
    ({"a": GOOD, "b": np.array([0, 0, 2**40])}, "'b' must be from 0 to 1, but one is not"),
]


@pytest.mark.parametrize(("batch", "message"), BAD_BATCHES)
def test_a_bad_batch_adds_nothing(batch, message):
    counting = CountPlan(Domain({"a": 2, "b": 2}), [("a",), ("a", "b")])
    with pytest.raises(DataError, match=message):
        counting.accumulate(batch)
    assert all(not table.any() for table in counting.tables)


@pytest.mark.parametrize(
    "other", [CountPlan(Domain({"a": 2}), ["a", "a"]), CountPlan(Domain({"a": ["x", "y"]}), ["a"])]
)
def test_plans_for_something_else_are_not_merged(other):
    with pytest.raises(DomainError, match="same views of the same domain"):
        CountPlan(Domain({"a": 2}), ["a"]).merge(other)


@pytest.mark.slow
@settings(max_examples=1, deadline=None)
@given(st.just(2_000_000))
def test_many_rows(rows):
    rng = np.random.default_rng(5)
    domain = Domain({f"x{place}": 2 for place in range(12)})
    codes = {name: rng.integers(0, 2, rows, np.uint8) for name in domain}
    views = [domain.attributes, domain.attributes[:8], ("x3", "x1")]
    counting = CountPlan(domain, views)
    counting.accumulate(codes)
    for view, table in zip(views, counting.tables, strict=True):
        expected = np.zeros(domain.shape(view), np.int64)
        np.add.at(expected, tuple(codes[name] for name in view), 1)
        assert np.array_equal(table, expected)
