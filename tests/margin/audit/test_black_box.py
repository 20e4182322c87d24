"""The settings of the black box."""

from types import SimpleNamespace

import numpy as np
import pytest

from margin import MarginError
from margin.audit import BlackBox


@pytest.mark.parametrize(
    "settings",
    [
        {"runs": 1},
        {"runs": 2.5},
        {"runs": True},
        {"runs": 9, "alpha": 0},
        {"runs": 9, "alpha": 1},
        {"runs": 9, "output": "tables"},
    ],
    ids=repr,
)
def test_wrong_settings_are_refused(settings):
    with pytest.raises(MarginError, match="must be"):
        BlackBox(**settings)


def test_the_numbers_are_the_tables_of_the_views_or_what_output_gives():
    views = SimpleNamespace(held=SimpleNamespace(values=[np.ones((2, 2)), np.zeros(3)]))
    assert BlackBox(runs=2).numbers(views).tolist() == [1.0] * 4 + [0.0] * 3
    assert BlackBox(runs=2, output=lambda n: [[n, n]]).numbers(7).tolist() == [7.0, 7.0]
