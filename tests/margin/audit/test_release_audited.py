"""Audits of `release` itself, from the raw table to the file; the answers of the gate are replayed.

The audit of a mechanism begins at the gate. Here all around it is audited too: what opens the
table, bounds the units and charges the ledger, what is logged, and what the file and the errors
say.
"""

import importlib

import pytest

import margin
from margin import Domain, PureDP
from margin.audit.outputs.outcome import outcome_of
from margin.audit.recorder import Player, Recorder
from margin.audit.replay import check_replay, check_tape
from margin.errors import DataError
from margin.mechanisms import Direct
from margin.noise.entropy import SeededEntropy

DOMAIN = Domain({"a": 2, "b": 3, "c": 4})
TABLES = [(0, 1), (2, 1)]


class Told:
    """A ledger that keeps what it is told."""

    def __init__(self):
        self.charges = []

    def charge(self, budget):
        self.charges.append(budget)


class Fails:
    """A mechanism that stops, before its first answer or after it."""

    def __init__(self, after):
        self.after = after

    def run(self, private, workload):
        if self.after:
            private.measure([["a"]])
        raise DataError("this mechanism stops")


def columns(rows, extra=0):
    """A table of some rows, and of `extra` more rows of the last person."""
    numbers = [*range(rows), *[rows - 1] * extra]
    table = {name: [n % size for n in numbers] for name, size in zip("abc", (2, 3, 4), strict=True)}
    return {"person": [f"p{n}" for n in numbers], **table}


def csv(folder, table):
    path = folder / "rows.csv"
    lines = [
        ",".join(table),
        *(",".join(map(str, row)) for row in zip(*table.values(), strict=True)),
    ]
    path.write_text("\n".join(lines) + "\n")
    return path


CASES = {
    "default": {},
    "views": {"mechanism": Direct(), "workload": [["a", "b"], ["c"]]},
    "unit": {
        "unit": "person",
        "rows_per_person": 2,
        "mechanism": Direct(),
        "workload": [["a", "b"]],
    },
    "stops before": {"mechanism": Fails(False)},
    "stops after": {"mechanism": Fails(True)},
}


@pytest.mark.parametrize("sizes", TABLES, ids=str)
@pytest.mark.parametrize("form", [None, csv], ids=["columns", "csv"])
@pytest.mark.parametrize("case", CASES)
def test_a_release_tells_the_same_of_neighbours(case, form, sizes, tmp_path, monkeypatch):
    module = importlib.import_module("margin.release")
    # One key for both tables: it decides which rows of a unit count.
    monkeypatch.setattr(module, "SystemEntropy", lambda: SeededEntropy(3))
    monkeypatch.chdir(tmp_path)
    outcomes, gates = [], []

    def made(source, **options):
        kind = Player if gates else Recorder
        gates.append(kind(source, **options))
        gates[-1].tape = list(gates[0].tape)
        return gates[-1]

    monkeypatch.setattr(module, "Private", made)
    for rows in sizes:
        # A person has many rows more in the larger table, where units are bounded.
        table = columns(rows, 5 if case == "unit" and rows == max(sizes) else 0)
        data = table if form is None else form(tmp_path, table)
        ledger = Told()

        def run(data=data, ledger=ledger):
            options = {"domain": DOMAIN, "budget": PureDP(1), "ledger": ledger}
            margin.release(data, **options, **CASES[case]).save("out.margin")

        outcomes.append(outcome_of(run, beside=ledger))
        (tmp_path / "out.margin").unlink(missing_ok=True)
    assert case == "stops before" or gates[0].tape
    check_tape(gates[0].tape, gates[0].budget)
    check_replay(gates[1], *outcomes)
