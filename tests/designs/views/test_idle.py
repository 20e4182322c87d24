"""Views that hardly lower the error are left out."""

import itertools

import numpy as np
import pytest

from margin.designs import expected_error, select_views
from margin.designs.views.error import contrast_weights
from margin.designs.views.idle import LOSS, without_idle
from margin.designs.views.shares import Contrasts, best_shares

_PAIRS = list(itertools.combinations(range(5), 2))
_TRIPLES = list(itertools.combinations(range(5), 3))
_FOURS = list(itertools.combinations(range(5), 4))


def _error(sizes, views, shares, workload, power):
    return expected_error(sizes, views, shares, workload=workload, power=power)


@pytest.mark.parametrize("power", [1, 2])
@pytest.mark.parametrize("workload", [_PAIRS, _TRIPLES], ids=["pairs", "triples"])
@pytest.mark.parametrize("sizes", [(2, 2, 2, 2, 2), (2, 3, 4, 3, 7), (9, 2, 2, 2, 2)])
def test_no_other_view_can_be_left_out_and_the_error_stays(sizes, workload, power):
    """Among all pairs, triples and sets of four."""
    views = [*_PAIRS, *_TRIPLES, *_FOURS]
    contrasts = Contrasts(sizes, contrast_weights(sizes, workload, [1.0] * len(workload)))
    start = np.ones(len(views))
    # Some views have hardly any share from the start.
    start[::3] = 1e-6
    shares = best_shares(contrasts.holdings(views), power, start=start)
    kept, found = without_idle(contrasts, (views, shares), power)
    assert len(kept) < len(views)
    assert found.bound == shares.bound
    assert found.error == pytest.approx(_error(sizes, kept, found.shares, workload, power))
    assert found.error <= shares.error * LOSS
    for place in range(len(kept)):
        fewer = np.delete(found.shares, place)
        others = kept[:place] + kept[place + 1 :]
        without = _error(sizes, others, fewer / fewer.sum(), workload, power)
        assert without > shares.error * LOSS


@pytest.mark.parametrize("power", [1, 2])
def test_a_view_that_alone_holds_a_marginal_stays(power):
    """However little its weight, and so its share, is."""
    plan = select_views([3, 3, 3, 3], [(0, 1), (2, 3)], weights=[1, 1e-12], power=power)
    assert any({2, 3} <= set(view) for view in plan.views)
    assert plan.expected_error < np.inf


@pytest.mark.parametrize("power", [1, 2])
@pytest.mark.parametrize(
    ("sizes", "k"),
    [((2,) * 10, 3), ((22, 4, 2, 7, 2, 9, 2, 3, 17), 3), ((6, 2, 5, 2, 4, 3, 6, 5, 3, 4), 2)],
    ids=["bits", "mixed", "survey"],
)
def test_all_shares_of_a_plan_are_of_one_order(sizes, k, power):
    """The smallest of an optimum over all views tried is a millionth of the mean share or less."""
    workload = list(itertools.combinations(range(len(sizes)), k))
    plan = select_views(sizes, workload, power=power, effort=1)
    assert min(plan.shares) * len(plan.views) > 0.05
