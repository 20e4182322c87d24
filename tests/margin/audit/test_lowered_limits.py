"""Audits of what only large tables reach, on small tables: every size from which the privacy core
works otherwise is lowered.

Blocks, batches, pieces, spilling, compiled loops, integers of any length and rejection instead of
a table of probabilities must ask, answer and tell the same as the plain ways. A size that is
written into a comparison cannot be lowered, so such sizes are refused, except in the few places
that are listed.
"""

import ast
import importlib
import itertools
from pathlib import Path

import numpy as np
import pytest
from audit_checks import CELLS, DOMAIN, ITEMS, Ask, Draw, check_law_of_choices

import margin
from margin.audit import audit
from margin.data.source import CodesSource
from margin.noise.entropy import SeededEntropy
from margin.privacy.budget import ZCDP, Neighbours, PureDP
from margin.private import Keep, Largest, Private, Strategy
from margin.sparse import grid

ROOMS = ["private", "noise", "privacy", "data", "counting"]
PACKAGE = Path(margin.__file__).parent

# From these sizes on the core works otherwise. Each is lowered to a size that small tables exceed.
LOWERED = {
    "private.cell_counts._IN_MEMORY": 2,
    "private.dependence._LARGEST_SQUARED": 3,
    "private.gate._CELLS_TOGETHER": 2,
    "private.gate._DRAWN_TOGETHER": 4,
    "private.item_counts._BLOCK": 2,
    "private.item_counts._LARGEST_SUM": 4,
    "private.queries._AT_ONCE": 3,
    "private.queries.MAX_WORDS": 8,
    "private.sparse_noise._AT_ONCE": 2,
    "private.strategy._LARGEST_SUM": 4,
    "private.strategy._MOST_PAIRS": 2,
    "noise.laws._BLOCK": 16,
    "noise.laws._LARGEST_TABLE_SIGMA2": 0,
    "noise.magnitudes._SCANNED": 0,
    "noise.priorities._BLOCK": 16,
    "noise.selection._BLOCK": 16,
    "noise.selection._MANY": 2,
    "data.source.ROWS": 3,
    "counting.plan._BLOCK": 2,
    "counting.plan._WORTH_COMPILING": 0,
    "counting.plan._WORTH_USING": 0,
}

ASKS = [
    Ask("measure", [["a", "b", "c"], ["b", "c"]], shares=[2, 1]),
    Ask("measure_linear", [Strategy.total(DOMAIN)]),
    Ask("count_rows"),
    Ask("measure_linear", [Strategy(("a", "c"), [[[1, -2]], [[1, -1, 3, -4], [2, 0, -6, 1]]])]),
    Ask("select", [["a"], ["b"], ["c"]], [np.zeros(2), np.zeros(3), np.zeros(4)], count=2),
    Ask("total_distance", [["a"], ["b"]], [np.zeros(2), np.full(3, 60)], weights=[2, 3]),
    Ask("total_dependence", [["a", "b"], ["c", "b"], ["a", "b"]]),
    Draw(step="1/90", samples=(2, 4, 30), size=1),
    Ask("query_errors", CELLS, np.arange(len(CELLS)), records=7, size=5),
    Ask("sparse_cells", ["a", "b", "c"], keep=Keep(2, 5, True)),
    Ask("sparse_cells", ["c", "a"], keep=Largest(4, 2)),
    Ask("sketch_counts", ["a", "b", "c"], rows=3, width=3, key=17),
]
BASKETS = [
    Ask("truncated_counts", most=2, grain=7),
    Ask("walsh_counts", first=5, most=3, grain=12),
    Ask("select_scaled", None, [3, 1], scales=["3/2", 2], penalties=np.zeros((2, 2)), grain=6),
    Ask("select_items", count=3),
    Ask("basis_tables", None, [[0, 3], [5], [1, 2, 4]]),
]


BUDGETS = [PureDP(1), ZCDP("0.1", neighbours=Neighbours.REPLACE_ROW)]


def named(value):
    return getattr(value, "method", None) or repr(value)


def lower(patch):
    for name, size in LOWERED.items():
        module, constant = name.rsplit(".", 1)
        patch.setattr(importlib.import_module(f"margin.{module}"), constant, size)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("ask", "budget"), [*zip(ASKS + BASKETS, itertools.cycle(BUDGETS), strict=False)], ids=named
)
def test_large_ways_pass_the_audit(ask, budget, monkeypatch):
    lower(monkeypatch)
    # Cells of several words.
    monkeypatch.setattr(grid, "_WORD", 8)
    domain = ITEMS if ask in BASKETS else DOMAIN
    assert audit(ask, domain=domain, budget=budget, pairs=4).findings == ()


@pytest.mark.parametrize("ask", ASKS + BASKETS, ids=named)
def test_large_ways_count_the_same(ask, monkeypatch):
    domain = ITEMS if ask in BASKETS else DOMAIN
    codes = np.random.default_rng(3).integers(0, domain.sizes, (151, len(domain)))
    seen = []
    for lowered in (False, True):
        if lowered:
            lower(monkeypatch)
        private = Kept(
            CodesSource(codes), domain=domain, budget=PureDP(1), entropy=SeededEntropy(1)
        )
        ask.run(private, None)
        seen.append(private.true)
    assert len(seen[0]) == len(seen[1])
    for ours, theirs in zip(*seen, strict=True):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize(
    "ask",
    [Ask("select_items", count=2), Ask("select_most", None, [1, 3, 2], penalties=[0, 1, 2])],
    ids=named,
)
def test_choices_among_many_have_their_law(ask, monkeypatch):
    lower(monkeypatch)
    check_law_of_choices(ask, PureDP(9), runs=700)


class Kept(Private):
    """A gate that keeps the true answers, in order of their cells."""

    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        self.true = []

    def _answer(self, events, true, draw):
        for table in true:
            self.true += [table.words, table.counts] if hasattr(table, "words") else [table]
        return super()._answer(events, true, draw)


# Sizes that are written into comparisons

# They are widths of words and of types, limits of arguments, and limits of a proof.
WRITTEN = {
    "private.sketch": ["0 <= key < 1 << 63"],
    "private.sparse": ["rule.theta > 1 << 60", "rule.tau > 1 << 124", "rule.tau > 1 << 62"],
    "private.strategy": ["self.l2_squared >= 1 << 53"],
    "noise.kept_cells": ["(low := law(bits)[0]).bit_length() < 64", "bits < 1100"],
    "noise.selection": ["b.size < 1 << 31"],
    "noise.uniform_integers": ["number > 32"],
    "privacy.composition": ["small >= Fraction(1, 1000)"],
    "privacy.gaussian": ["delta < Fraction(1, 10 ** 340)"],
    "privacy.loss": ["delta < Fraction(1, 10 ** 300)"],
    "privacy.ledger": ["len(plain) > 200", "len(label) <= 200"],
    "privacy.statement": ["len(digits) == 64"],
    "data.encode": ["column.type.bit_width < 128"],
    "data.packed": ["array.shape[1] != (rows + 63) // 64"],
    "data.scratch": ["lock.read(1000) != _told(folder)"],
    "data.suggest": ["factor * 10.0 ** power * _BINS >= width * 0.75"],
    "data.rows_per_person": ["plain.type.bit_width < 128"],
    "counting.compiled": ["widths.sum() <= 64", "np.diff(layout.offsets) > 1 << 16"],
}


def modules():
    """The modules of the privacy core, by name, with their syntax trees."""
    for room in ROOMS:
        for path in sorted((PACKAGE / room).rglob("*.py")):
            parts = path.relative_to(PACKAGE).with_suffix("").parts
            yield ".".join(parts), ast.parse(path.read_text())


def is_size(node):
    return isinstance(node, ast.Constant) and type(node.value) in (int, float) and node.value >= 9


def compared(tree):
    """The comparisons that hold a number of nine or more."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare) and any(map(is_size, ast.walk(node))):
            yield ast.unparse(node)


def test_no_other_size_is_written_into_a_comparison():
    for name, tree in modules():
        extra = set(compared(tree)) - set(WRITTEN.get(name, []))
        assert not extra, f"{name}: name these sizes, and lower them above: {extra}"


# What the core logs

WAYS = {"debug", "info", "warning", "error", "exception", "critical", "log", "warn", "print"}


def told(tree):
    """The calls that log, warn, or print."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        owner, _, name = ast.unparse(node.func).rpartition(".")
        if (name in WAYS and owner not in {"math", "np"}) or (name == "write" and "std" in owner):
            yield node


def test_messages_of_the_core_are_fixed_texts():
    """Nothing is filled into a text that is logged, warned of or printed, because it could depend
    on the rows; the replay sees such texts only where the audited tables reach them."""
    logged = 0
    for name, tree in modules():
        for call in told(tree):
            fixed = len(call.args) == 1 and isinstance(call.args[0], ast.Constant)
            assert fixed and not call.keywords, f"{name}: {ast.unparse(call)}"
            logged += 1
    assert logged
