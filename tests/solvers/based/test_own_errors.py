"""What the noise of asked sums allows a base to change."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from margin.solvers import Status, Tables, Zeros
from margin.solvers.based.own_errors import OwnErrors
from margin.solvers.basis import contrasts
from margin.solvers.reconstruct.sums import Sums
from margin.solvers.tables.component_errors import ComponentErrors
from margin.solvers.tables.covered_sums import WeightedSum

STATES = np.repeat([0, 1, 2], 4)
SIZES = (12, 2)


def tree_errors(precise=0.1):
    """Errors of an axis of three states with four counties each; states have little noise."""
    states = contrasts(3)[1:, STATES].T / 2
    within = np.kron(np.eye(3), contrasts(4)[1:]).T
    inverse = np.concatenate([np.full((12, 1), 1 / 12), precise * states, within], axis=1)
    return ComponentErrors(SIZES, {0: inverse}, {(): 4.0, (0,): 9.0, (1,): 16.0, (0, 1): 25.0})


def tables_of(value, errors, zeros=None):
    """The table of both axes, with the precisions of the mean over each component."""
    return Tables(
        sizes=SIZES,
        views=((0, 1),),
        values=(value,),
        variances=(1.0,),
        precisions=(errors.mean_precisions((0, 1)),),
        zeros=zeros,
    )


def test_sums_of_states_change_less_than_counties():
    errors = tree_errors()
    own = np.full(SIZES, 1000.0)
    rng = np.random.default_rng(0)
    change = rng.normal(0, 10, SIZES)
    change -= change.mean()
    found = OwnErrors(tables_of(own, errors), errors)._tempered((0, 1), own + change) - own
    # The eigenvalues are .01 twice, and 1 nine times.
    factor = 0.01 / ((2 * 0.01 + 9) / 11)
    # The change without the sum of all counties, which stays for each category of the other axis.
    centred = change - change.mean(axis=0)
    by_state = centred.reshape(3, 4, 2).mean(axis=1)[STATES]
    assert found.sum() == pytest.approx(0, abs=1e-9)
    assert found == pytest.approx(
        change.mean(axis=0) + factor * by_state + (centred - by_state), abs=1e-9
    )


@given(seed=st.integers(0, 1000), precise=st.floats(0.01, 1.0), has_zeros=st.booleans())
@settings(max_examples=30)
def test_tempered_tables_are_not_negative_and_keep_their_total(seed, precise, has_zeros):
    rng = np.random.default_rng(seed)
    errors = tree_errors(precise)
    zeros = Zeros(SIZES, [((0, (1, 2)), (1, (0,)))]) if has_zeros else None
    own, moved = rng.poisson(0.7, (2, *SIZES)).astype(float) + 0.01
    if zeros is not None:
        own[[1, 2], 0] = moved[[1, 2], 0] = 0.0
    found = OwnErrors(tables_of(own, errors, zeros), errors)._tempered((0, 1), moved)
    assert found.min() >= 0
    assert found.sum() == pytest.approx(moved.sum())
    if zeros is not None:
        assert not found[[1, 2], 0].any()


@pytest.mark.parametrize("axes", [(0,), (1,), (0, 1)])
def test_sums_together_have_the_covariance_of_sums_one_by_one(axes):
    errors = tree_errors()
    shape = [SIZES[axis] for axis in axes]
    weights = np.random.default_rng(1).normal(size=(int(np.prod(shape)), 5))
    together = errors.covariance_on(axes, weights)
    sums = [WeightedSum(axes, column.reshape(shape)) for column in weights.T]
    assert together == pytest.approx(errors.covariance(sums))
    cells = errors.covariance_on(axes, np.eye(len(weights))).diagonal()
    own = OwnErrors(tables_of(np.ones(SIZES), errors), errors)
    # A total that was learnt with a base takes the place of the measured one.
    assert own.cell_variances(np.array([axes]))[0] == pytest.approx(cells)


def test_without_errors_of_its_own_nothing_is_tempered():
    errors = tree_errors()
    own = OwnErrors(tables_of(np.ones(SIZES), errors), None)
    assert own._factors == {}
    variances = own.cell_variances(np.array([[0, 1]]))
    assert np.ptp(variances) == 0


def test_noise_of_sums_is_at_most_that_of_the_views_tables():
    errors = tree_errors()
    value = np.full(SIZES, 50.0)
    own = OwnErrors(tables_of(value, errors), errors)
    # All counties of a state in one category of the other axis, and a single county.
    weights = np.zeros((*SIZES, 2))
    weights[:4, 0, 0] = weights[5, 1, 1] = 1.0
    weights = weights.reshape(24, 2)
    large = np.array([[1e6, 1e3], [1e3, 1e4]])
    sums = Sums(
        table=value.ravel() + np.tile([1.0, -1.0], 12),
        status=Status.OPTIMAL,
        estimate=np.zeros(2),
        variance=large,
        undetermined=2 * large,
    )
    found = own.limited_sums((0, 1), weights, sums)
    noise = own.covariance((0, 1), weights).diagonal()
    assert found.variance.diagonal() == pytest.approx(noise)
    # The correlation stays, and the estimates are sums of the table.
    root = np.sqrt(noise)
    assert found.variance[0, 1] / (root[0] * root[1]) == pytest.approx(0.01)
    assert found.estimate == pytest.approx(found.table.ravel() @ weights)
