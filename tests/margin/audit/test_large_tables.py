"""Audits of what only large tables reach: cells of several words, blocks, compiled loops, spilling;
and of the command line, from a file to a file."""

import importlib
import importlib.util
from collections import Counter

import numpy as np
import pytest
from audit_checks import Ask

from margin.audit import audit
from margin.audit.outputs.outcome import outcome_of
from margin.audit.recorder import Player, Recorder
from margin.audit.replay import check_replay, check_tape
from margin.cli.main import main
from margin.counting import plan
from margin.data.source import CodesSource
from margin.domain.domain import Domain
from margin.noise.entropy import SeededEntropy
from margin.privacy.budget import PureDP
from margin.private import Keep, Largest, cell_counts

pytestmark = pytest.mark.slow

WIDE = Domain({f"a{place}": 1000 for place in range(9)})
VIEWS = [["a", "b"], ["c"], ["c", "a"], ["a", "b", "c"]]
SMALL = Domain({"a": 2, "b": 3, "c": 4})


def truth(codes, domain, ask):
    """The true answers of one question, as the gate hid them."""
    recorder = Recorder(
        CodesSource(codes), domain=domain, budget=PureDP(1), entropy=SeededEntropy(1)
    )
    ask.run(recorder, None)
    return recorder.tape[0].true


def many(domain, rows, seed=0):
    rng = np.random.default_rng(seed)
    crowd = rng.integers(0, domain.sizes, (200, len(domain)))
    return crowd[rng.integers(0, 200, rows) ** 2 // 200]


@pytest.mark.parametrize("spills", [False, True])
@pytest.mark.parametrize("keep", [Keep(70, 70, False), Largest(6, 70)], ids=["filter", "priority"])
def test_cells_of_several_words(keep, spills, monkeypatch):
    if spills:
        monkeypatch.setattr(cell_counts, "_IN_MEMORY", 0)
    ask = Ask("sparse_cells", list(WIDE), keep=keep)
    assert audit(ask, domain=WIDE, budget=PureDP(1), pairs=4).findings == ()


@pytest.mark.parametrize("domain", [SMALL, WIDE], ids=["one word", "several words"])
def test_cells_are_those_of_the_rows_in_memory_and_spilled(domain, monkeypatch):
    codes = many(domain, 70_000)
    expected = Counter(map(tuple, codes.tolist()))
    ask = Ask("sparse_cells", list(domain), keep=Keep(200, 200, False))
    for limit in (1 << 40, 1000):
        monkeypatch.setattr(cell_counts, "_IN_MEMORY", limit)
        ((words, counts),) = truth(codes, domain, ask)
        assert sorted(counts.tolist()) == sorted(expected.values()) and len(words) == len(expected)
        assert len(np.unique(words, axis=0)) == len(words)
    private = Recorder(
        CodesSource(codes), domain=domain, budget=PureDP(1), entropy=SeededEntropy(1)
    )
    kept = ask.run(private, None)
    assert {cell for cell, n in expected.items() if n > 300} <= set(map(tuple, kept.codes.tolist()))


@pytest.mark.parametrize("loops", [False, True], ids=["numpy", "compiled"])
@pytest.mark.parametrize("rows", [65_536, 65_537, 131_075])
def test_tables_are_those_of_the_rows_over_batches_and_blocks(rows, loops, monkeypatch):
    if loops:
        if importlib.util.find_spec("numba") is None:
            pytest.skip("numba is not installed")
        monkeypatch.setattr(plan, "_WORTH_COMPILING", 0)
        monkeypatch.setattr(plan, "_WORTH_USING", 0)
    codes = many(SMALL, rows)
    places = {name: place for place, name in enumerate(SMALL)}
    for view, table in zip(VIEWS, truth(codes, SMALL, Ask("measure", VIEWS)), strict=True):
        chosen = codes[:, [places[name] for name in view]]
        assert {cell: n for cell, n in np.ndenumerate(table) if n} == Counter(
            map(tuple, chosen.tolist())
        )


def released(monkeypatch, arguments, tape=None):
    """What the command lets out, and the gate that it used: one that records, or one that plays a
    tape."""
    gates = []

    def made(source, **options):
        gates.append((Recorder if tape is None else Player)(source, **options))
        gates[0].tape = list(tape or [])
        return gates[0]

    monkeypatch.setattr(importlib.import_module("margin.release"), "Private", made)
    return outcome_of(lambda: main(arguments)), gates[0]


@pytest.mark.parametrize(
    "more", [[], ["--unit", "id", "--rows-per-person", "1"], ["--mechanism", "Direct()"]], ids=str
)
def test_a_release_of_the_command_line_tells_the_same_of_neighbours(more, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "domain.json").write_text(SMALL.to_json())
    rows = [f"p{number},{number % 2},{number % 3},{number % 4}" for number in range(30)]
    outcomes, gate = [], None
    for table in (rows, [*rows[:7], "new,1,0,3", *rows[7:]]):
        (tmp_path / "rows.csv").write_text("\n".join(["id,a,b,c", *table]) + "\n")
        options = [
            "release",
            "rows.csv",
            "--domain",
            "domain.json",
            "--epsilon",
            "1",
            "-o",
            "out.margin",
            "--force",
        ]
        seen, gate = released(monkeypatch, [*options, *more], gate and gate.tape)
        outcomes.append(seen)
        if isinstance(gate, Recorder):
            check_tape(gate.tape, gate.budget)
    check_replay(gate, *outcomes)
