"""What docs/guarantees.md says, compared with the code."""

import ast
import inspect
import re
from pathlib import Path

import numpy as np
import pytest

import margin
from margin import PureDP, audit, noise, private, testing
from margin.audit.recorder import Recorder
from margin.data.opening import open_source
from margin.domain.domain import Domain
from margin.noise.entropy import SeededEntropy
from margin.privacy import account, budget, ledger
from margin.privacy.budget import ZCDP, Neighbours
from margin.privacy.rounds import Rounds
from margin.private.sparse_noise import Kept
from margin.queries import Conjunctions

PACKAGE = Path(margin.__file__).parent
TEXT = (Path(__file__).parents[3] / "docs" / "guarantees.md").read_text()


def test_every_method_of_private_is_in_the_table():
    methods = {
        name
        for name, value in inspect.getmembers(private.Private, inspect.isfunction)
        if not name.startswith("_")
    }
    assert set(re.findall(r"^\| `(\w+)` \|(?:[^|]*\|){3}$", TEXT, re.MULTILINE)) == methods


def test_every_method_of_private_states_its_sensitivity():
    for name in (
        "measure",
        "measure_linear",
        "select",
        "total_distance",
        "total_dependence",
        "sample_queries",
        "count_rows",
        "affords",
        "contest",
        "sparse_cells",
        "truncated_counts",
        "sampled_counts",
        "chosen_counts",
        "walsh_counts",
        "select_most",
        "select_scaled",
        "select_items",
        "select_sets",
        "select_cuts",
        "basis_tables",
        "pattern_counts",
        "sketch_counts",
        "frequent_items",
        "above_threshold",
    ):
        text = inspect.getdoc(getattr(private.Private, name))
        assert re.search(r"sensitivity|No sensitivity|row added|Adding a row", text), name


@pytest.mark.parametrize(
    ("unit", "factors"),
    [
        ({}, (1, 1)),
        ({"neighbours": Neighbours.REPLACE_ROW}, (2, 2)),
        ({"rows_per_person": 5}, (5, 25)),
        ({"neighbours": Neighbours.REPLACE_ROW, "rows_per_person": 5}, (10, 50)),
    ],
)
def test_the_table_of_sensitivities(unit, factors):
    k = 3
    assert ZCDP(1, **unit).sensitivity(l1=k, l2_squared=k) == (factors[0] * k, factors[1] * k)


def test_only_simulations_and_audits_take_a_seed():
    """Nothing that releases, charges or measures can be given a seed, under whatever name.

    `compare` simulates, and its result says with which seed. `population` and `tables` search whole
    numbers near what is published.
    """
    allowed = {
        "simulate",
        "compare",
        "Comparison",
        "SeededEntropy",
        "audit",
        "neighbours",
        "population",
        "tables",
    }
    allowed |= {"check_mechanism", "check_source"}
    for module in (margin, account, audit, budget, ledger, noise, private, testing):
        for name in module.__all__ if hasattr(module, "__all__") else []:
            value = getattr(module, name)
            if inspect.ismodule(value):
                continue
            calls = [value, *(m for n, m in inspect.getmembers(value) if not n.startswith("_"))]
            for call in calls if name not in allowed else []:
                if (inspect.isroutine(call) or inspect.isclass(call)) and getattr(
                    call, "__name__", ""
                ) not in allowed:
                    try:
                        parameters = inspect.signature(call).parameters
                    except (TypeError, ValueError):
                        continue
                    assert not {"seed", "random_state", "rng", "generator"} & set(parameters), (
                        name,
                        call,
                    )


def test_true_and_noisy_answers_are_of_integers_in_every_method():
    domain = Domain({"a": 2, "b": 2, "c": 2})
    gate = Recorder(
        open_source(np.array([[0, 1, 1], [1, 1, 1]])),
        domain=domain,
        budget=PureDP(6),
        entropy=SeededEntropy(1),
    )
    gate.tape = []
    gate.measure([["a"], ["b", "c"]], spend="1/6")
    gate.measure_linear([private.Strategy(("a", "c"), [[[1, -1]], [[3, 0]]])], spend="1/96")
    gate.select([["a"], ["b"]], [np.full(2, 0.4), np.full(2, 1.6)], spend="1/6")
    gate.total_distance([["a"], ["b"]], [np.full(2, 0.4), np.full(2, 1.6)], spend="1/96")
    gate.total_dependence([["a", "b"], ["c", "a"]], spend="1/96")
    gate.count_rows(spend="1/12")
    cells = Conjunctions.cells(domain, [["a"]])
    gate.sample_queries(cells, Rounds(step="1/9", samples=(3, 3), size=4), spend="1/12").draw(
        np.zeros(2, int)
    )
    gate.sparse_cells(["a", "b", "c"], keep=private.Keep(1, 1, True), spend="1/6")
    gate.truncated_counts(["a", "b", "c"], most=2, spend="1/6")
    gate.select_most(["a", "b", "c"], [1, 2], penalties=[0.4, 1.6], spend="1/24")
    gate.select_scaled(
        ["a", "b", "c"], [1, 2], scales=[1, 2], penalties=np.zeros((2, 2)), spend="1/48"
    )
    gate.select_items(["a", "b", "c"], count=2, spend="1/48")
    gate.sampled_counts(["a", "b", "c"], most=2, spend="1/48")
    gate.chosen_counts(["a", "b", "c"], chosen=[2], spend="1/48")
    gate.walsh_counts(["a", "b", "c"], first=2, most=2, spend="1/48")
    gate.select_cuts(["a", "b"], [[[0, 2], [0, 1]], [[0, 2], [1, 2]]], [0, 0], spend="1/96")
    assert len(gate.tape) == 16
    for reply in gate.tape:
        for part in (*reply.true, _integers(reply.answer)):
            for array in part if isinstance(part, list | tuple) else [part]:
                assert np.asarray(array).dtype.kind == "i", reply.events[0].method


def _integers(answer):
    """What of an answer is a noisy count or a place."""
    return (answer.words, answer.counts) if isinstance(answer, Kept) else answer


FLOATS = {"float", "float64", "float32", "sqrt", "mean", "astype", "rint", "divide", "true_divide"}


@pytest.mark.parametrize(
    ("module", "allowed", "divisions"),
    [
        ("gate", set(), 0),
        ("linear", {"astype", "float", "float64"}, 0),
        ("../sparse/grid", set(), 0),
        ("cell_counts", set(), 0),
        ("cuts", {"astype"}, 0),
        ("dependence", {"astype"}, 0),
        ("distances", set(), 0),
        ("item_counts", {"astype"}, 0),
        ("sparse_noise", {"float", "sqrt"}, 4),
    ],
)
def test_no_float_meets_a_true_count(module, allowed, divisions):
    """No division and no float where counts and noise meet; `sparse_noise` has them for levels, and
    an error."""
    tree = ast.parse((PACKAGE / "private" / f"{module}.py").read_text())
    used = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    used |= {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    assert used & FLOATS <= allowed
    divided = [node for node in ast.walk(tree) if isinstance(node, ast.Div)]
    assert len(divided) == divisions, "of the number of cells, of levels"


@pytest.mark.parametrize(
    "word", ["timing", "curator", "simulations", "memory", "floating-point", "unit of privacy"]
)
def test_the_limits_are_stated(word):
    assert word in TEXT.lower()
