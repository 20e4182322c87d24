"""Answers and strategies of a user's own, as docs/howto/own_mechanism.md and strategies.md show."""

import math
import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

import margin
from margin import ZCDP, ApproxDP, Neighbours, PureDP
from margin.private import Answers, linear_variances
from margin.testing import check_mechanism

DOMAIN = margin.Domain({"age": {"size": 4, "ordered": True}, "region": 3})
TABLE = {"age": [0, 1, 3, 3], "region": [0, 2, 2, 1]}
WEIGHTS = np.array([[0, 1, 2, 3], [1, 1, 1, 1], [-2, 0, 0, 5]])
STRATEGIES = [
    margin.Strategy(("age", "region"), (WEIGHTS, np.eye(3, dtype=int))),
    margin.Strategy(("region",), (np.eye(3, dtype=int),)),
]
BUDGETS = [
    PureDP(1),
    ZCDP("0.1"),
    ApproxDP(1, "1e-6"),
    PureDP(2, neighbours=Neighbours.REPLACE_ROW),
    ZCDP("0.5", rows_per_person=3),
]


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Sums(margin.Synopsis):
    """A synopsis of answers that are no marginals."""

    sums: tuple[Answers, ...]


@dataclass(frozen=True, kw_only=True)
class WeightedSums:
    """A mechanism that measures some strategies."""

    shares: tuple[int, ...] | None = None

    def run(self, private, workload):
        sums = private.measure_linear(STRATEGIES, shares=self.shares)
        return Sums(domain=private.domain, sums=sums)


@pytest.mark.parametrize("shares", [None, (3, 1)])
@pytest.mark.parametrize("budget", BUDGETS, ids=repr)
def test_the_variance_of_linear_answers_is_known_in_advance(budget, shares):
    made = margin.simulate(
        TABLE, domain=DOMAIN, budget=budget, mechanism=WeightedSums(shares=shares), seed=0
    )
    expected = linear_variances(STRATEGIES, budget, shares=shares)
    assert [answers.variance for answers in made.synopsis.sums] == expected
    # With equal noise in all answers, the first strategy has the larger sensitivity by far.
    assert math.isclose(*expected, rel_tol=1e-6) == (shares is None)


def test_a_synopsis_of_its_own_needs_no_method(tmp_path):
    made = margin.release(TABLE, domain=DOMAIN, budget=ZCDP(1), mechanism=WeightedSums())
    assert made.sums[0].noisy.shape == (3, 3)
    assert made.summary() == {"answers of its own": "sums"}
    assert "sums" in repr(made) and str(made.sums[0].noisy) not in repr(made)
    assert made.provenance.private and made.spent == ZCDP(1)
    assert "Protects one row" in made._repr_html_()
    for ask in (
        lambda: made.marginal(["age"]),
        lambda: made.count({"age": 1}),
        lambda: made.tables([["age"]]),
    ):
        with pytest.raises(margin.DomainError, match=r"holds no marginals.*read them from sums"):
            ask()
    with pytest.raises(margin.DomainError, match="no records"):
        made.records(3)
    with pytest.raises(margin.FileError, match="not a Sums; write the arrays of its fields"):
        made.save(tmp_path / "it.margin")
    assert not list(tmp_path.iterdir())
    assert "5 budgets run" in check_mechanism(WeightedSums(), domain=DOMAIN, pairs=2)


def test_compare_says_why_it_cannot_measure_them():
    found = margin.compare(
        TABLE,
        domain=DOMAIN,
        budget=ZCDP(1),
        mechanisms={"sums": WeightedSums(), "ours": margin.Residual()},
        workload=[["age"]],
        runs=1,
    )
    assert found.best == "ours" and "read them from sums" in str(found)


PAGE = Path(__file__).parents[2] / "docs" / "mechanisms" / "strategies.md"


@pytest.fixture(scope="module")
def strategy():
    """The strategy that the page shows."""
    text = PAGE.read_text().partition("## A strategy of your own")[2]
    (block, *_) = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    classes = block.partition("\n\nown = ")[0]
    names: dict[str, object] = {"margin": margin}
    exec(classes, names)
    return names["WithTotals"](times=2)


@pytest.mark.parametrize("budget", [ZCDP("0.01"), PureDP("0.2")], ids=repr)
def test_the_strategy_of_the_page_has_the_errors_that_it_states(strategy, budget):
    views = margin.Workload.of(DOMAIN, [["age", "region"], ["region"]], weights=[1, 3])
    mechanism = margin.MatrixMechanism(strategy=strategy, nonnegativity=None)
    made = margin.simulate(
        TABLE, domain=DOMAIN, budget=budget, mechanism=mechanism, workload=views, seed=0
    )
    cells = [made.synopsis.marginal(view).noise_variance.sum() for view in views]
    assert mechanism.table_errors(DOMAIN, views, budget) == pytest.approx(cells)
    total = mechanism.expected_error(DOMAIN, views, budget)
    assert total == pytest.approx(cells[0] + 3 * cells[1])
    # The noise is independent in all cells and in the total, which is measured twice as much.
    for view in views:
        queries = np.concatenate([np.eye(DOMAIN.cells(view)), np.full((1, DOMAIN.cells(view)), 2)])
        spread = np.trace(np.linalg.inv(queries.T @ queries))
        (variance,) = {round(one, 6) for one in linear_variances(_both(strategy, views), budget)}
        found = made.synopsis.marginal(view).noise_variance.sum()
        assert found == pytest.approx(spread * variance, rel=1e-5)


def _both(strategy, views):
    return strategy.prepare(DOMAIN, views, None).strategies


def test_the_strategy_of_the_page_is_unbiased_and_private(strategy):
    mechanism = margin.MatrixMechanism(strategy=strategy, nonnegativity=None)
    budget, view = ZCDP("0.1"), ["age", "region"]
    errors = []
    for seed in range(40):
        made = margin.simulate(
            TABLE, domain=DOMAIN, budget=budget, mechanism=mechanism, workload=[view], seed=seed
        )
        errors.append(made.marginal(view).counts - made.truth(view).counts)
    # The seeds are fixed. Of 480 errors of about 4 rows, the mean is below 5 deviations.
    variance = made.synopsis.marginal(view).noise_variance.mean()
    assert abs(np.mean(errors)) < 5 * math.sqrt(variance / 480)
    assert "5 budgets run" in check_mechanism(mechanism, domain=DOMAIN, workload=[view], pairs=2)
