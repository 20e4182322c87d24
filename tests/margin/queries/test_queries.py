import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from margin import DataError, Domain, DomainError
from margin.data import PackedSource, SparseSource
from margin.data.opening import open_source
from margin.queries import BitTable, Conjunctions, Parities, counting

DOMAIN = Domain({"a": 2, "b": 3, "c": 2, "d": 5, "e": 2, "f": 1})
BINARY = Domain(dict.fromkeys("abcdefg", 2))


def codes_of(domain, rows, seed=0):
    rng = np.random.default_rng(seed)
    return np.stack([rng.integers(0, size, rows) for size in domain.sizes], axis=1)


def brute(queries, codes):
    """By the definition, without any bits."""
    if isinstance(queries, Parities):
        return ((codes[:, queries.attributes] == 1).sum(axis=-1) % 2 == 0).sum(axis=0)
    return (
        ((codes[:, queries.attributes] == queries.values) != queries.negated)
        .all(axis=-1)
        .sum(axis=0)
    )


def with_negations(queries, seed=1):
    flags = np.random.default_rng(seed).random(queries.attributes.shape) < 0.4
    return Conjunctions(queries.domain, queries.attributes, queries.values, flags)


@pytest.mark.parametrize("rows", [0, 1, 63, 64, 65, 1000])
@pytest.mark.parametrize("k", [1, 2, 3, 4, 6])
def test_counts_are_those_of_the_definition(k, rows):
    codes = codes_of(DOMAIN, rows)
    queries = with_negations(Conjunctions.random(DOMAIN, k, 200, 1))
    assert (queries.counts(BitTable.of_codes(DOMAIN, codes)) == brute(queries, codes)).all()
    parities = Parities.random(BINARY, k, 50, 2)
    codes = codes_of(BINARY, rows)
    assert (parities.counts(BitTable.of_codes(BINARY, codes)) == brute(parities, codes)).all()


@settings(max_examples=60)
@given(st.integers(1, 200), st.integers(1, 90), st.integers(0, 10**6), st.integers(1, 3))
def test_batches_codes_and_words_make_the_same_bits(rows, step, seed, keep):
    codes = codes_of(DOMAIN, rows, seed)
    used = np.arange(len(DOMAIN)) % 3 < keep
    batches = [
        {name: codes[start : start + step, axis] for axis, name in enumerate(DOMAIN)}
        for start in range(0, rows, step)
    ]
    one, other = (
        next(BitTable.pieces(DOMAIN, used, batches)),
        BitTable.of_codes(DOMAIN, codes, used),
    )
    assert (
        one.rows == other.rows == rows
        and (one.words == other.words).all()
        and (one.start == other.start).all()
    )
    whole = BitTable.of_codes(DOMAIN, codes)
    assert (BitTable.of_words(DOMAIN, whole.words, rows).start == whole.start).all()


def test_blocks_do_not_change_the_counts(monkeypatch):
    codes = codes_of(BINARY, 70_000)
    table = BitTable.of_codes(BINARY, codes)
    for queries in (Conjunctions.random(BINARY, 3, 100, 1), Conjunctions.random(BINARY, 4, 100, 1)):
        expected = brute(queries, codes)
        for words in (1, 1 << 10, 1 << 20):
            monkeypatch.setattr(counting, "_CACHE_WORDS", words)
            assert (queries.counts(table) == expected).all()


def test_random_queries_are_of_distinct_attributes_and_uniform():
    """6,000 sets of 2 of 4: each of the 6 expected 1,000 times, 6 standard deviations of 29
    allowed; chance 1e-8."""
    domain = Domain(dict.fromkeys("abcd", 2))
    queries = Conjunctions.random(domain, 2, 6000, 5)
    sets, times = np.unique(np.sort(queries.attributes, axis=1), axis=0, return_counts=True)
    assert len(sets) == 6 and (abs(times - 1000) < 6 * 29).all()
    assert abs(queries.values.mean() - 0.5) < 6 * 0.5 / np.sqrt(12_000)
    assert (Conjunctions.random(domain, 2, 6000, 5).attributes == queries.attributes).all()
    assert queries.digest == Conjunctions.random(domain, 2, 6000, 5).digest
    assert (
        queries.digest
        != Conjunctions.random(domain, 2, 6000, 6).digest
        != with_negations(queries).digest
    )
    assert (np.sort(Conjunctions.random(DOMAIN, 6, 40, 1).attributes, axis=1) == np.arange(6)).all()


def test_cells_of_views_are_in_the_order_of_their_tables():
    queries = Conjunctions.cells(DOMAIN, [["b", "a"], ["c", "d"]])
    codes = codes_of(DOMAIN, 300)
    table = np.zeros((3, 2), int)
    np.add.at(table, (codes[:, 1], codes[:, 0]), 1)
    assert (
        len(queries) == 16
        and queries.counts(BitTable.of_codes(DOMAIN, codes))[:6].tolist() == table.ravel().tolist()
    )


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: Conjunctions.random(DOMAIN, 7, 5, 0),
            r"^k \(7\) must be a whole number from 1 to 6; pass such a number$",
        ),
        (lambda: Conjunctions.random(DOMAIN, 0, 5, 0), r"^k \(0\) must be"),
        (lambda: Conjunctions.random(DOMAIN, True, 5, 0), r"^k \(True\) must be"),
        (lambda: Conjunctions.random(DOMAIN, 2, 0, 0), r"^count \(0\) must be"),
        (lambda: Conjunctions.random(DOMAIN, 2, 10**12, 0), r"^count \(1000000000000\) must be"),
        (
            lambda: Conjunctions(DOMAIN, np.zeros((0, 2), int), np.zeros((0, 2), int)),
            "at least one query",
        ),
        (lambda: Conjunctions(DOMAIN, [[0, 0]], [[0, 1]]), "twice"),
        (lambda: Conjunctions(DOMAIN, [[0, 6]], [[0, 1]]), "must be a position from 0 to 5"),
        (lambda: Conjunctions(DOMAIN, [[0, -1]], [[0, 1]]), "must be a position from 0 to 5"),
        (
            lambda: Conjunctions(DOMAIN, [[0, 1]], [[0, 3]]),
            "'b' must be a code from 0 to 2, but a query names 3",
        ),
        (
            lambda: Conjunctions(DOMAIN, [[0, 1]], [[0, -1]]),
            "'b' must be a code from 0 to 2, but a query names -1",
        ),
        (lambda: Conjunctions(DOMAIN, [[0, 1]], [[0]]), "shape"),
        (lambda: Conjunctions(DOMAIN, [[0, 1]], [[0.5, 1.0]]), "integers"),
        (lambda: Conjunctions(DOMAIN, [0, 1], [0, 1]), "shape"),
        (lambda: Conjunctions.cells(DOMAIN, []), "views"),
        (lambda: Conjunctions.cells(DOMAIN, [["a"], ["a", "b"]]), "same number of attributes"),
        (lambda: Parities(DOMAIN, [[0, 1]]), "two categories"),
        (lambda: Parities.random(DOMAIN, 4, 5, 0), r"^k \(4\) must be"),
    ],
)
def test_bad_queries_are_refused(make, message):
    with pytest.raises(DomainError, match=message):
        make()


@pytest.mark.parametrize("make", [sparse.csr_matrix, sparse.csr_array])
@pytest.mark.parametrize("flag", [True, False])
def test_the_flags_of_a_sparse_matrix_are_not_trusted(make, flag):
    """An item that a row holds twice would count twice, and an index beyond the columns once."""
    places = np.array([0, 0, 2, 1, 1, 1, 3], np.int32)
    given = make((np.ones(7, np.int8), places, np.array([0, 3, 7])), shape=(2, 4))
    given.has_sorted_indices = given.has_canonical_format = flag
    with pytest.raises(DataError, match="only the values 0 and 1"):
        SparseSource(given)
    assert given.nnz == 7
    given.indices[:] = [0, 1, 2, 0, 1, 2, 4]
    with pytest.raises(DataError, match="indices within its shape"):
        SparseSource(given)
    # Columns in any order, and stored zeros: the given matrix stays as it is.
    given.indices[:] = [2, 0, 1, 3, 2, 1, 0]
    given.data[:] = [1, 1, 0, 1, 0, 0, 1]
    source = SparseSource(given)
    assert given.nnz == 7 and given.indices.tolist() == [2, 0, 1, 3, 2, 1, 0]
    sets = source.baskets(Domain({"item": 4}))
    assert (sets.sizes.tolist(), sets.items.tolist()) == ([2, 2], [0, 2, 0, 3])


@pytest.mark.parametrize("rows", [0, 1, 64, 130])
def test_packed_and_sparse_tables_hold_the_same_rows(rows):
    codes = codes_of(BINARY, rows, 3)
    words = BitTable.of_codes(BINARY, codes).words
    used = np.array([True, False, True, True, False, False, True])
    for source in (
        PackedSource(words, rows=rows),
        open_source(sparse.csr_array(codes)),
        SparseSource(sparse.coo_array(codes)),
    ):
        source.check(BINARY)
        assert source.rows == rows
        got = [np.stack(list(batch.values()), axis=1) for batch in source.batches(BINARY)]
        assert (np.concatenate([np.zeros((0, 7), int), *got]) == codes).all()
        bits = source.bits(BINARY, used)
        queries = Conjunctions(BINARY, [[0, 2, 6], [3, 2, 0]], [[1, 0, 1], [0, 0, 0]])
        assert (queries.counts(bits) == brute(queries, codes)).all()
        with pytest.raises(DataError, match="attributes"):
            source.check(Domain({"a": 2}))
        with pytest.raises(DataError, match="two categories"):
            source.check(Domain(dict.fromkeys("abcdefg", 3)))


@pytest.mark.parametrize(
    "make",
    [
        lambda: PackedSource(np.zeros((2, 1), np.int64), rows=3),
        lambda: PackedSource(np.zeros((2, 2), np.uint64), rows=3),
        lambda: PackedSource(np.full((2, 1), 8, np.uint64), rows=3),
        lambda: PackedSource(np.zeros((2, 1), np.uint64), rows=-1),
        lambda: SparseSource(sparse.csr_array(np.array([[2, 0]]))),
        lambda: SparseSource(sparse.csr_array(np.array([[0.5, 0]]))),
    ],
)
def test_bad_packed_tables_are_refused(make):
    with pytest.raises(DataError):
        make()


def test_the_best_response_asks_for_what_the_queries_say():
    queries = with_negations(Conjunctions.random(DOMAIN, 2, 30, 1))
    places, weights = np.array([3, 5, 9]), np.array([2, -1, 4])
    instance = queries.best_response(places, weights, constant=1)
    for record in codes_of(DOMAIN, 40):
        held = np.array(
            [
                brute(
                    Conjunctions(
                        DOMAIN, queries.attributes[[p]], queries.values[[p]], queries.negated[[p]]
                    ),
                    record[None],
                )[0]
                for p in places
            ]
        )
        assert instance.objective(record) == 1 + weights @ held
    parities = Parities.random(BINARY, 3, 5, 1)
    instance = parities.best_response(np.array([0, 4]), np.array([1, 1]))
    record = codes_of(BINARY, 1)[0]
    assert instance.objective(record) == brute(parities, record[None])[[0, 4]].sum()


def test_a_million_queries_are_counted_in_blocks():
    """No clock: only that they can be counted, and how many words a block takes."""
    rng = np.random.default_rng(0)
    domain = Domain({f"x{place}": 2 for place in range(400)})
    words = rng.integers(0, 2**64, (400, 100), np.uint64)
    table = BitTable.of_words(domain, words, 6400)
    queries = Conjunctions.random(domain, 3, 10**6, 1)
    counts = queries.counts(table)
    some = rng.integers(0, 10**6, 200)
    few = Conjunctions(domain, queries.attributes[some], queries.values[some])
    codes = np.unpackbits(words.view(np.uint8), axis=1, bitorder="little").T
    assert (brute(few, codes) == counts[some]).all()
