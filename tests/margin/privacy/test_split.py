"""Exact division of a budget in proportion to shares."""

import random
from fractions import Fraction

import numpy as np
import pytest

from margin.errors import BudgetError
from margin.privacy.split import split_units


def test_equal_shares_are_divided_as_if_each_were_read_alone() -> None:
    draw = random.Random(1)
    values = [draw.random() for _ in range(7)]
    shares = [draw.choice(values) for _ in range(500)]
    # Fractions of the same values are read one by one.
    alone = [Fraction(repr(share)) for share in shares]
    assert split_units(10**12, shares) == split_units(10**12, alone)
    assert split_units(10**12, np.array(shares)) == split_units(10**12, alone)


@pytest.mark.parametrize("wrong", [0.0, -0.0, -1.0, float("nan"), float("inf"), True])
def test_a_wrong_share_after_equal_ones_is_refused(wrong: object) -> None:
    with pytest.raises(BudgetError, match="share 2"):
        split_units(100, [1.0, 1.0, wrong])
