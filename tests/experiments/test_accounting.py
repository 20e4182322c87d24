"""The study of certificates: the epsilon of draws with a fixed u."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.speed import accounting
from margin.privacy.loss import certified_epsilon


@given(
    reach=st.floats(0.01, 3),
    place=st.integers(1, accounting.CELLS - 1),
    delta=st.floats(1e-6, 0.1),
)
def test_the_epsilon_of_one_draw_is_that_of_its_closed_form(reach, place, delta):
    u = reach * place / accounting.CELLS
    p = math.expm1(reach - u) / (math.expm1(reach - u) - math.expm1(-u))
    expected = u + math.log1p(-delta / p) if delta < p else 0.0
    found = accounting._fixed(np.array([place]), 1, reach / accounting.CELLS, delta)
    assert found == pytest.approx(max(0.0, expected), abs=1e-9)


@pytest.mark.parametrize("digits", [2, 4])
def test_the_search_finds_the_best_of_a_grid_of_two_rounds_below_the_certificate(digits):
    step, delta = 0.4, 10.0**-digits
    every = itertools.product(range(0, 101, 5), range(0, 201, 10))
    best = max(accounting._fixed(np.array(two), 1, step / 100, delta) for two in every)
    found = accounting._best_fixed(2, 1, step, delta)
    ranges = ((Fraction(2, 5), 1), (Fraction(4, 5), 1))
    assert best <= found <= certified_epsilon(ranges, Fraction(1, 10**digits))
