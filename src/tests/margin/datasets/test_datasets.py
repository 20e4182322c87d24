"""The made-up people fit their domain, are the same every time, and depend on each other as people
do."""

import numpy as np
import pytest

from margin.counting import CountPlan
from margin.data.opening import open_source
from margin.datasets import people, people_domain
from margin.errors import DomainError


def table_of(view, rows=20_000):
    domain = people_domain()
    plan = CountPlan(domain, [view])
    for batch in open_source(people(rows)).batches(domain):
        plan.accumulate(batch)
    return plan.tables[0]


def test_the_table_fits_its_domain():
    table, domain = people(), people_domain()
    assert table.num_rows == 20_000
    assert table.column_names == list(domain)
    assert len(domain) == 12
    assert {name: table[name].null_count for name in domain if name != "income"} == dict.fromkeys(
        set(domain) - {"income"}, 0
    )
    assert 400 < table["income"].null_count < 2_000


@pytest.mark.parametrize("name", people_domain())
def test_every_category_is_there(name):
    assert table_of([name]).min() > 100


def test_the_same_seed_gives_the_same_people():
    assert people(500, 3).equals(people(500, 3))
    assert not people(500, 3).equals(people(500, 4))


@pytest.mark.parametrize("rows", [0, 1])
def test_few_people(rows):
    assert people(rows).num_rows == rows
    assert table_of(["sex", "income"], rows).sum() == rows


def test_a_negative_number_of_people():
    with pytest.raises(DomainError, match=r"rows \(-1\)"):
        people(-1)


@pytest.mark.parametrize(
    ("view", "least"),
    [
        (("age", "education"), 0.05),
        (("education", "occupation"), 0.1),
        (("occupation", "income"), 0.2),
        (("age", "household"), 0.1),
        (("household", "children"), 0.3),
        (("region", "commute"), 0.05),
        (("age", "health"), 0.1),
        (("smoker", "education"), 0.005),
    ],
)
def test_attributes_depend_on_each_other(view, least):
    joint = table_of(view) / 20_000
    product = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0, keepdims=True)
    information = np.sum(joint * np.log(np.where(joint > 0, joint, 1) / product))
    assert information > least


def test_what_cannot_be_is_not():
    occupations = table_of(("employment", "occupation"))
    assert occupations[2:, 1:].sum() == 0
    assert occupations[:2, 0].sum() == 0
    assert table_of(("household", "children"))[:2, 1:].sum() == 0
    assert table_of(("employment", "commute"))[[2, 4], 1:].sum() == 0
