"""Another thread may be importing an optional package while a release runs: its module is then in
`sys.modules`, and lacks its names."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet
from scipy.sparse import csr_array

import margin
from margin._optional import is_instance

VALUES = [0, 1, 1, 0]
TABLE = pa.table({"a": VALUES})


def _csv(folder: Path) -> Path:
    path = folder / "table.csv"
    path.write_text("a\n0\n1\n1\n0\n")
    return path


def _parquet(folder: Path) -> Path:
    path = folder / "table.parquet"
    parquet.write_table(TABLE, path)
    return path


TABLES: dict[str, Callable[[Path], Any]] = {
    "csv": _csv,
    "parquet": _parquet,
    "query": lambda folder: margin.Sql(f"SELECT * FROM '{_parquet(folder)}'"),
    "lists": lambda folder: {"a": VALUES},
    "arrays": lambda folder: {"a": np.array(VALUES)},
    "objects": lambda folder: {"a": np.array(VALUES, object)},
    "arrow": lambda folder: TABLE,
    "codes": lambda folder: np.array(VALUES)[:, None],
    "sparse": lambda folder: csr_array(np.array(VALUES)[:, None]),
}


@pytest.mark.parametrize("package", ["pandas", "polars", "pyspark", "networkx"])
@pytest.mark.parametrize("table", TABLES)
def test_a_package_that_is_being_imported_stops_no_release(
    table: str, package: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = TABLES[table](tmp_path)
    monkeypatch.setitem(sys.modules, package, ModuleType(package))
    made = margin.release(
        data, domain={"a": 2}, budget=margin.PureDP(1), mechanism=margin.mechanisms.Direct()
    )
    assert made.marginal("a").counts.shape == (2,)


WATCHED = """
import sys
import margin

class Watched:
    def charge(self, budget, /):
        self.before = set(sys.modules)

ledger = Watched()
margin.release(
    {"a": [0, 1], "b": [0, 1]},
    domain={"a": 2, "b": 2},
    budget=margin.PureDP(1),
    mechanism=margin.mechanisms.MECHANISM,
    ledger=ledger,
)
late = sorted(set(sys.modules) - ledger.before)
assert "scipy.linalg" in ledger.before and not late, late
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    "mechanism", ["Adaptive()", "PriView()", "Residual()", "MatrixMechanism()", "FourierLP()"]
)
def test_no_module_is_loaded_after_the_charge(mechanism: str) -> None:
    subprocess.run([sys.executable, "-c", WATCHED.replace("MECHANISM", mechanism)], check=True)


def test_an_object_is_of_a_class_that_its_package_offers(monkeypatch: pytest.MonkeyPatch) -> None:
    class Frame:
        pass

    package = ModuleType("frames")
    monkeypatch.setitem(sys.modules, "frames", package)
    assert not is_instance(Frame(), "frames", "Frame")
    monkeypatch.setattr(package, "Frame", Frame, raising=False)
    assert is_instance(Frame(), "frames", "Frame")
    assert not is_instance(3, "frames", "Frame")
    assert not is_instance(Frame(), "no_such_package", "Frame")
