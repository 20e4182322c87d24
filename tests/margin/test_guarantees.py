"""What docs/guarantees.md says, compared with the code."""

import ast
import inspect
import re
from pathlib import Path

import numpy as np
import pytest

import margin
from margin import PureDP, account, audit, budget, ledger, noise, private, testing
from margin.audit.grey import Recorder
from margin.budget import ZCDP, Neighbours
from margin.domain import Domain
from margin.entropy import SeededEntropy
from margin.source import open_source

PACKAGE = Path(margin.__file__).parent
TEXT = (Path(__file__).parents[2] / "docs" / "guarantees.md").read_text()


def test_every_method_of_private_is_in_the_table():
    methods = {
        name for name, value in inspect.getmembers(private.Private, inspect.isfunction) if not name.startswith("_")
    }
    assert set(re.findall(r"^\| `(\w+)` \|(?:[^|]*\|){3}$", TEXT, re.MULTILINE)) == methods


def test_every_method_of_private_states_its_sensitivity():
    for name in ("measure", "select", "sample_queries", "sparse_cells", "truncated_counts", "select_most"):
        text = inspect.getdoc(getattr(private.Private, name))
        assert re.search(r"sensitivity|row added|Adding a row", text), name


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
    """Nothing that releases, charges or measures can be given a seed, under whatever name."""
    allowed = {"simulate", "SeededEntropy", "audit", "neighbours", "check_mechanism"}
    for module in (margin, account, audit, budget, ledger, noise, private, testing):
        for name in module.__all__ if hasattr(module, "__all__") else []:
            value = getattr(module, name)
            if inspect.ismodule(value):
                continue
            calls = [value, *(m for n, m in inspect.getmembers(value) if not n.startswith("_"))]
            for call in calls if name not in allowed else []:
                if inspect.isroutine(call) or inspect.isclass(call):
                    try:
                        parameters = inspect.signature(call).parameters
                    except (TypeError, ValueError):
                        continue
                    assert not {"seed", "random_state", "rng", "generator"} & set(parameters), (name, call)


def test_true_and_noisy_answers_are_of_integers_in_every_method():
    domain = Domain({"a": 2, "b": 2, "c": 2})
    gate = Recorder(
        open_source(np.array([[0, 1, 1], [1, 1, 1]])), domain=domain, budget=PureDP(6), entropy=SeededEntropy(1)
    )
    gate.tape = []
    gate.measure([["a"], ["b", "c"]], spend="1/6")
    gate.select([["a"], ["b"]], [np.full(2, 0.4), np.full(2, 1.6)], spend="1/6")
    gate.sample_queries([["a"]], np.zeros(2), multiplier=2, size=3, spend="1/6")
    gate.sparse_cells(["a", "b", "c"], threshold=1, spend="1/6")
    gate.truncated_counts(["a", "b", "c"], most=2, spend="1/6")
    gate.select_most(["a", "b", "c"], [1, 2], penalties=[0.4, 1.6])
    assert len(gate.tape) == 6
    for reply in gate.tape:
        for part in (*reply.true, reply.answer):
            for array in part if isinstance(part, list | tuple) else [part]:
                assert np.asarray(array).dtype.kind == "i", reply.events[0].method


FLOATS = {"float", "float64", "float32", "sqrt", "mean", "astype", "rint", "divide", "true_divide"}


@pytest.mark.parametrize(("module", "allowed"), [("gate", set()), ("sparse_noise", {"astype", "float"})])
def test_no_float_meets_a_true_count(module, allowed):
    """No division and no float where counts and noise meet; `sparse_noise` has them for indices and an error only."""
    tree = ast.parse((PACKAGE / "private" / f"{module}.py").read_text())
    used = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    used |= {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    assert used & FLOATS <= allowed
    divided = [node for node in ast.walk(tree) if isinstance(node, ast.Div)]
    assert len(divided) == (0 if module == "gate" else 2), "cells / 1000 and 1 / rate, both public"


@pytest.mark.parametrize("word", ["timing", "curator", "simulations", "memory", "floating-point", "unit of privacy"])
def test_the_limits_are_stated(word):
    assert word in TEXT.lower()
