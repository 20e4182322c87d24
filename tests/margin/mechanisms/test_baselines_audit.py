"""No mechanism of the comparison lets out more than its budget allows."""

import pytest

from margin import MWEM, ZCDP, Domain, MatrixMechanism, PureDP
from margin.mechanisms import (
    DataCubes,
    Direct,
    Flat,
    Fourier,
    FourierLP,
    Hierarchical,
    Learning,
    Uniform,
    Wavelet,
)
from margin.mechanisms.strategies import (
    EigenDesign,
    LowRank,
    OptimisedMarginals,
    Semidefinite,
    WeightedMarginals,
)
from margin.privacy.budget import Neighbours
from margin.solvers import AbsoluteConsistency, Newton
from margin.testing import check_mechanism

pytestmark = pytest.mark.slow

SMALL = Domain({"a": 2, "b": {"size": 3, "ordered": True}, "c": 2})
QUICK = [
    Uniform(),
    Flat(),
    Direct(),
    Fourier(),
    DataCubes(),
    Learning(gamma=0.2),
    MatrixMechanism(),
    MatrixMechanism(strategy=WeightedMarginals()),
    Hierarchical(),
    Wavelet(attributes=["b"]),
]
SLOW = [
    MWEM(rounds=2, replays=3),
    MWEM(rounds=2, replays=3, reconstruction=Newton()),
    FourierLP(),
    DataCubes(consistency=AbsoluteConsistency()),
    MatrixMechanism(strategy=OptimisedMarginals(largest=True)),
    MatrixMechanism(strategy=EigenDesign()),
    MatrixMechanism(strategy=LowRank()),
    MatrixMechanism(strategy=Semidefinite()),
]
BUDGETS = [
    PureDP(1),
    ZCDP(
        "0.2",
        neighbours=Neighbours.REPLACE_ROW,
        rows_per_person=2,
    ),
]


def name_of(mechanism):
    return type(
        getattr(
            mechanism,
            "strategy",
            None,
        )
        or mechanism
    ).__name__


@pytest.mark.parametrize("mechanism", QUICK, ids=name_of)
def test_under_five_budgets(mechanism):
    check_mechanism(mechanism, pairs=6)


@pytest.mark.parametrize("mechanism", SLOW, ids=name_of)
def test_under_two_budgets(mechanism):
    check_mechanism(
        mechanism,
        domain=SMALL,
        budgets=BUDGETS,
        pairs=4,
    )


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", [*QUICK, *SLOW], ids=name_of)
def test_under_five_budgets_on_many_pairs(mechanism):
    check_mechanism(mechanism, domain=SMALL, pairs=12)
