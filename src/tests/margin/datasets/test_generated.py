"""Generated tables follow the law that they state, and from their seed."""

import numpy as np
import pytest

import margin
from margin import PriView, PureDP
from margin.datasets import click_stream, correlated, latent_classes, markov_chain
from margin.errors import DomainError

MAKERS = {
    "chain": lambda **options: markov_chain(3, attributes=10, **options),
    "latent": lambda **options: latent_classes((2, 3, 300), **options),
    "clicks": lambda **options: click_stream(12, **options),
    "correlated": lambda **options: correlated(**options),
}


def codes(table):
    return np.column_stack([column.to_numpy() for column in table.data.columns])


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_a_table_fits_its_domain_and_follows_from_its_seed(make):
    first, again, other = make(rows=500, seed=3), make(rows=500, seed=3), make(rows=500, seed=4)
    assert first.rows == 500 and first.data.column_names == list(first.domain)
    assert first.data.equals(again.data) and not first.data.equals(other.data)
    assert first.note.startswith("generated")
    view = first.domain.attributes[:2]
    simulation = margin.simulate(
        first.data, domain=first.domain, budget=PureDP(1), mechanism=PriView(views=[view]), seed=0
    )
    assert simulation.truth(view).total == 500
    assert make(rows=0).rows == 0


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_rows_are_not_negative(make):
    with pytest.raises(DomainError, match=r"rows \(-1\)"):
        make(rows=-1)


@pytest.mark.parametrize("order", range(1, 8))
def test_a_bit_depends_on_the_bits_before_it_as_published(order):
    """Pr[1] = 0.5 + (1 - 2 s / order) / 4: false alarm < 1e-8 a rate, by Hoeffding's bound."""
    rows = codes(markov_chain(order, attributes=order + 9, rows=40_000)).astype(int)
    assert abs(rows.mean(axis=0) - 0.5).max() < 0.02  # stationary: by symmetry each bit is fair
    for start in (0, 8):
        ones = rows[:, start : start + order].sum(axis=1)
        for s in range(order + 1):
            some = rows[ones == s, start + order]
            if len(some) > 100:
                assert abs(some.mean() - (0.5 + (1 - 2 * s / order) / 4)) < np.sqrt(
                    np.log(2e8) / 2 / len(some)
                )


def test_the_bits_of_different_orders_differ():
    assert not markov_chain(2, rows=50).data.equals(markov_chain(3, rows=50).data)


def information(table, left, right):
    first, second = codes(table)[:, left], codes(table)[:, right]
    joint = np.zeros((first.max() + 1, second.max() + 1))
    np.add.at(joint, (first, second), 1 / table.rows)
    product = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0, keepdims=True)
    return np.sum(joint * np.log(np.where(joint > 0, joint, 1) / np.where(joint > 0, product, 1)))


def test_strength_is_how_far_attributes_follow_each_other():
    loose, tight, fixed = (
        correlated((4, 4, 4), strength=value, rows=20_000, seed=2) for value in (0, 0.7, 1)
    )
    assert information(loose, 0, 1) < 0.01 < 0.1 < information(tight, 0, 1)
    assert len(np.unique(codes(fixed), axis=0)) <= 4


def test_classes_make_attributes_depend_on_each_other():
    one, many = (
        latent_classes((2,) * 4, classes=n, rows=20_000, concentration=0.2, seed=5) for n in (1, 6)
    )
    pairs = [(i, j) for i in range(4) for j in range(i)]
    assert (
        max(information(one, *pair) for pair in pairs)
        < 0.005
        < max(information(many, *pair) for pair in pairs)
    )


def test_pages_are_of_very_different_popularity():
    clicks = click_stream(45, rows=20_000)
    rates = np.sort(codes(clicks).mean(axis=0))[::-1]
    assert rates[0] > 0.25 and rates[-1] < 0.05
    assert "stand-in" in clicks.note


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: markov_chain(0), r"order \(0\)"),
        (lambda: markov_chain(1, attributes=0), r"attributes \(0\)"),
        (lambda: latent_classes((2, 0)), r"size \(0\)"),
        (lambda: latent_classes((2,), classes=0), r"classes \(0\)"),
        (lambda: latent_classes((2,), concentration=0), r"concentration \(0\)"),
        (lambda: correlated((2, 2), strength=1.5), r"strength \(1\.5\)"),
        (lambda: correlated(()), r"attributes \(0\)"),
        (lambda: click_stream(0), r"attributes \(0\)"),
    ],
)
def test_bad_parameters_are_named(make, message):
    with pytest.raises(DomainError, match=message):
        make()
