"""`Private.select_cuts`: the law of the cuts, and what is refused."""

import itertools
import math

import numpy as np
import pytest

from margin import ZCDP, BudgetError, Domain, DomainError, Private, PureDP
from margin.data.opening import open_source
from margin.noise.entropy import SeededEntropy

DOMAIN = Domain({"x": 4, "y": 3, "z": 2})
CODES = np.array([[0, 0, 1], [1, 0, 0], [1, 1, 1], [3, 1, 0], [2, 2, 0], [3, 2, 0], [3, 2, 1]])
BOXES = [[[0, 4], [0, 2]], [[1, 4], [2, 3]]]
ALONG = [0, 0]


def private(budget, seed=1):
    source = open_source(CODES)
    return Private(source, domain=DOMAIN, budget=budget, entropy=SeededEntropy(seed))


def score(box, axis, code):
    """By the definition, row by row."""
    inside = [
        row
        for row in CODES.tolist()
        if all(a <= c < b for c, (a, b) in zip(row, box, strict=False))
    ]
    low = sum(row[axis] < code for row in inside)
    return -max(low, len(inside) - low)


@pytest.mark.slow
def test_each_combination_of_cuts_is_as_likely_as_declared():
    """4,000 draws; each share within 6 standard errors: false alarms below 1e-7."""
    epsilon, draws = 1.5, 4000
    cuts = [range(box[axis][0] + 1, box[axis][1]) for box, axis in zip(BOXES, ALONG, strict=True)]
    weights = {
        codes: math.exp(
            epsilon * sum(score(*each) for each in zip(BOXES, ALONG, codes, strict=True))
        )
        for codes in itertools.product(*cuts)
    }
    gate = private(PureDP(draws * epsilon))
    found = dict.fromkeys(weights, 0)
    for _ in range(draws):
        chosen = gate.select_cuts(["x", "y"], BOXES, ALONG, spend=f"1/{draws}")
        found[tuple(chosen.tolist())] += 1
    for codes, weight in weights.items():
        p = weight / sum(weights.values())
        assert abs(found[codes] - draws * p) < 6 * math.sqrt(draws * p * (1 - p)), codes


def test_all_boxes_are_paid_once():
    gate = private(ZCDP(1))
    gate.select_cuts(["y", "x"], [[[0, 3], [0, 2]], [[0, 3], [2, 4]]], [1, 0], spend="1/3")
    (event,) = gate.events
    assert event.units == ZCDP(1).units // 3 and event.spread == 1
    gate.select_cuts(["y"], [[[0, 3]]], [0])
    assert sum(event.units for event in gate.events) == ZCDP(1).units
    with pytest.raises(BudgetError):
        gate.select_cuts(["y"], [[[0, 3]]], [0])


def test_with_much_budget_the_median_is_cut():
    gate = private(PureDP(10**6))
    codes = gate.select_cuts(["x", "y"], BOXES, ALONG)
    for box, axis, code in zip(BOXES, ALONG, codes.tolist(), strict=True):
        scores = [score(box, axis, c) for c in range(box[axis][0] + 1, box[axis][1])]
        assert score(box, axis, code) == max(scores)


@pytest.mark.parametrize(
    ("boxes", "along", "message"),
    [
        ([[[0, 4], [0, 2]], [[3, 4], [1, 3]]], [0, 1], "share no cell"),
        ([[[0, 4], [0, 2]]] * 2, [0, 0], "share no cell"),
        ([[[0, 1], [0, 2]]], [0], "at least two codes"),
        ([[[2, 2], [0, 2]]], [1], "at least one code"),
        ([[[-1, 2], [0, 2]]], [0], "at least one code"),
        ([[[0, 5], [0, 2]]], [0], "at least one code"),
        ([[[0, 4], [0, 2]]], [2], "places of attributes"),
        ([[[0, 4], [0, 2]]], [-1], "places of attributes"),
        ([[[0, 4], [0, 2]]], [0, 0], "shapes"),
        ([[[0, 4]]], [0], "shapes"),
        ([[0, 4]], [0], "3 dimensions"),
        ([[[0.0, 4.0], [0.0, 2.0]]], [0], "signed integers"),
        ([], [], "non-empty"),
    ],
)
def test_boxes_that_are_not_as_described_are_refused(boxes, along, message):
    gate = private(PureDP(1))
    with pytest.raises(DomainError, match=message):
        gate.select_cuts(["x", "y"], boxes, along)
    assert gate.events == ()
