"""`check_answers` passes solvers of every family, and says what is wrong with others."""

import dataclasses
import math

import numpy as np
import pytest
from bench_cases import FAMILIES, small

from margin.solvers import (
    Clip,
    JointProjection,
    LatticeConsistency,
    ResidualConsistency,
    Status,
    UnsolvedError,
    bench,
)
from margin.solvers.bench.engines.highs import HighsEngine
from margin.solvers.bench.running.process import Found
from margin.solvers.bench.running.verdict import Outcome, judged
from margin.solvers.bench.running.worker import answer_of, claim_of
from margin.testing import check_solver


@pytest.mark.parametrize(
    ("solver", "family"),
    [
        (ResidualConsistency(), "consistency"),
        (LatticeConsistency(), "consistency"),
        (JointProjection(growth=0.0), "nonnegativity"),
        (bench.ROSTER["IPF"].make(), "exact-entropy"),
    ],
    ids=lambda given: type(given).__name__ if not isinstance(given, str) else given,
)
def test_what_works_passes(solver, family):
    assert bench.check_answers(solver, family).endswith("0 without an answer")


def test_a_coarser_tolerance_misses_the_best_known_tables():
    """Figures of docs/bench.md: its own default finds all, and ten times as much misses seven."""
    usual = JointProjection(growth=0.0)
    assert bench.check_answers(usual, "nonnegativity").startswith("15 solved")
    coarse = bench.check_answers(JointProjection(growth=0.0, tolerance=1e-3), "nonnegativity")
    assert coarse.startswith("8 solved, 7 feasible (nonnegativity-")
    assert coarse.count("nonnegativity-") == 7


class Nothing:
    def __call__(self, tables):
        raise UnsolvedError("no tables after 9 rounds", Status.ITERATION_LIMIT)


class OnlyWithoutZeros:
    """Right where nothing is known but the tables."""

    def __init__(self, change):
        self.change = change

    def __call__(self, tables):
        alone = dataclasses.replace(tables, zeros=None, known=None)
        return self.change(tables, ResidualConsistency()(alone))


class Changes:
    def __call__(self, tables):
        tables.values[0][...] = 1.0
        return tables


class Raises:
    def __call__(self, tables):
        raise KeyError("three")


@pytest.mark.parametrize(
    ("solver", "words"),
    [
        (Nothing(), "answers none; raise its limits"),
        (OnlyWithoutZeros(lambda before, after: after), "with the same zeros and known"),
        (
            OnlyWithoutZeros(lambda before, after: before.with_values(after.values)),
            "is not zero that must be zero",
        ),
        (Changes(), "changed the problem"),
        (Raises(), "it raises KeyError"),
        (lambda tables: None, "no answer"),
        (Clip(), "not feasible"),
        (ResidualConsistency, "call it: ResidualConsistency()"),
    ],
    ids=["nothing", "forgets", "fills", "changes", "raises", "none", "clip", "class"],
)
def test_what_is_wrong_is_told(solver, words):
    with pytest.raises(AssertionError, match=words.replace("(", r"\(").replace(")", r"\)")):
        bench.check_answers(solver, "consistency")


def test_a_known_total_must_be_kept():
    def scaled(before, after):
        empty = before.empty or [np.zeros(value.shape, bool) for value in after.values]
        values = [np.where(cells, 0, v) for cells, v in zip(empty, after.values, strict=True)]
        return before.with_values(values)

    with pytest.raises(AssertionError, match="must sum to the known total"):
        bench.check_answers(OnlyWithoutZeros(scaled), "consistency")


def test_the_other_battery_names_this_one():
    with pytest.raises(AssertionError, match=r"bench\.check_answers"):
        check_solver(ResidualConsistency())


class WholeInstances:
    """One class for all families: it solves the programme, and is told no function `improved`."""

    def solve_instance(self, instance):
        ended = HighsEngine()(instance.model)
        if ended.point is None:
            claim = bench.Claim(status=ended.status)
            return bench.Answered(answer=None, claim=claim)
        answer = instance.family.answer(instance.problem, ended.point)
        return bench.Answered(answer=answer, claim=bench.Claim(status=ended.status))


@pytest.mark.parametrize("family", FAMILIES)
def test_one_method_serves_all_families(family):
    pytest.importorskip("highspy")
    answered = answer_of(WholeInstances(), small(family), pytest.fail)
    is_entropy = FAMILIES[family].group == "entropy"
    assert answered.claim.status is (Status.UNSUPPORTED if is_entropy else Status.OPTIMAL)
    assert is_entropy or small(family).check(answered.answer).feasible


class Bounded:
    """A reconstruction that claims a bound on its objective, true or not."""

    def __init__(self, bound):
        self.bound = bound

    def solve(self, problem):
        return problem.solution(
            problem.uniform,
            status=Status.UNPROVEN,
            bound=self.bound,
            iterations=1,
            relaxation=0.0,
            seconds=0.0,
        )


@pytest.mark.parametrize("family", ["penalised-entropy", "least-squares", "minimax"])
@pytest.mark.parametrize(("bound", "is_wrong"), [(None, False), (-1.0, False), (1e9, True)])
def test_a_reconstruction_claims_a_bound(family, bound, is_wrong):
    """An answer that passes the bound refutes it: here it is the solver's own."""
    instance = small(family)
    answer = answer_of(Bounded(bound), instance, pytest.fail)
    claim = claim_of(instance, answer)
    assert claim["bound"] == bound
    found = Found(repeat=0, end="answered", answer=answer.table, claim=claim)
    verdict = judged(instance, found, tolerance=1e-4, limit=math.inf)
    assert (verdict.outcome is Outcome.WRONG) == is_wrong
    assert not is_wrong or "claims the bound 1e+09" in verdict.cause
