import numpy as np
import pytest

from margin.designs import affine_geometry, inversive_plane, projective_geometry
from margin.designs.gf import field, prime_power

ORDERS = [q for q in range(2, 33) if prime_power(q)] + [49, 64, 81, 121, 125, 128]


def test_prime_powers():
    few = [2, 3, 4, 5, 7, 8, 9, 11, 13, 16, 17, 19, 23, 25, 27, 29, 31, 32]
    assert [q for q in range(33) if prime_power(q)] == few


@pytest.mark.parametrize("q", ORDERS)
def test_the_tables_are_those_of_a_field(q):
    f = field(q)
    every = np.arange(q)
    for table, neutral, group in [(f.add, 0, every), (f.multiply, 1, every[1:])]:
        assert np.array_equal(table, table.T)
        assert np.array_equal(table[neutral], every)
        for row in table[np.ix_(group, group)]:
            assert np.array_equal(np.sort(row), group)
    assert not f.multiply[0].any()
    rng = np.random.default_rng(q)
    a, b, c = rng.integers(0, q, (3, 2000))
    assert np.array_equal(f.add[f.add[a, b], c], f.add[a, f.add[b, c]])
    assert np.array_equal(f.multiply[f.multiply[a, b], c], f.multiply[a, f.multiply[b, c]])
    assert np.array_equal(f.multiply[a, f.add[b, c]], f.add[f.multiply[a, b], f.multiply[a, c]])
    assert sorted(f.powers.tolist()) == list(range(1, q))


@pytest.mark.parametrize("q", [7, 8, 9])
def test_two_lines_of_a_projective_plane_meet_in_one_point(q):
    lines = [set(line) for line in projective_geometry(2, q, 1).blocks]
    assert all(len(a & b) == 1 for i, a in enumerate(lines) for b in lines[:i])


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: affine_geometry(0, 2, 0), r"m \(0\) must be >= 1"),
        (lambda: affine_geometry(2, 6, 1), r"q \(6\) must be a power of a prime"),
        (lambda: affine_geometry(2, 2.0, 1), r"q \(2\.0\) must be an int"),
        (lambda: affine_geometry(2, 3, 3), r"s \(3\) must be <= m \(2\)"),
        (lambda: affine_geometry(2, 3, -1), r"s \(-1\) must be >= 0"),
        (lambda: projective_geometry(2, 1, 1), r"q \(1\) must be >= 2"),
        (lambda: projective_geometry(1, 2, 2), r"s \(2\) must be <= m \(1\)"),
        (lambda: inversive_plane(10), r"q \(10\) must be a power of a prime"),
    ],
)
def test_bad_arguments_name_themselves(call, says):
    with pytest.raises(ValueError, match=says):
        call()
