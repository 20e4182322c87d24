"""The words of the audit about charges and noise that do not fit the budget."""

from dataclasses import replace
from fractions import Fraction

import pytest

from margin import ZCDP, PureDP
from margin.audit.budget_check import check_costs
from margin.audit.violation import Violation
from margin.noise.laws import DiscreteGaussian, DiscreteLaplace
from margin.privacy.event import Event

LAPLACE = Event(
    method="measure",
    about=(),
    units=10**12,
    sampler=DiscreteLaplace(Fraction(1)),
    l1=1,
    l2_squared=1,
)
GAUSS = replace(LAPLACE, sampler=DiscreteGaussian(Fraction(1, 2)))


@pytest.mark.parametrize(
    ("budget", "event", "said"),
    [
        (PureDP("1/2"), LAPLACE, "add up to an epsilon of 1, but the budget allows 0.5"),
        (ZCDP("1/2"), GAUSS, "add up to a rho of 1, but the budget allows 0.5"),
        (PureDP(1), replace(LAPLACE, l1=2), "the run costs an epsilon of 2, but 1 was charged"),
        (ZCDP(1), replace(GAUSS, l2_squared=2), "the run costs a rho of 2, but 1 was charged"),
    ],
)
def test_the_unit_of_the_budget_has_its_article(budget, event, said):
    with pytest.raises(Violation, match=said):
        check_costs([event], budget)
