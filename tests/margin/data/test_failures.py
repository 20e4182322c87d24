"""A shortage of the machine is never told as bad data or as a bad option."""

import errno
import gzip
import importlib
import subprocess
import sys

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy import sparse

import margin
from margin import ResourceError, Sql
from margin._optional import needed
from margin.cli.main import main
from margin.data import (
    encode,
    files,
    packed,
    parts,
    rows_per_person,
    source,
    sql,
    suggest,
)
from margin.data.checks import fit
from margin.data.failures import explained
from margin.data.opening import open_source
from margin.data.rows_per_person import bound
from margin.domain.domain import Domain
from margin.errors import Fate
from margin.interrupts.shortage import Shortage, shortage
from margin.private import cell_counts

SECRET = "Dr Crippen"
NO_LIMIT = "Out of Memory Error: failed to allocate data of size 8.0 MiB (8.0 MiB/9.5 MiB used)"
NO_DISK = "Out of Memory Error: failed to offload\nThis limit was set by 'max_temp_directory_size'"
LACKING = [
    (MemoryError(), Shortage.MEMORY),
    (np._core._exceptions._ArrayMemoryError((3,), np.dtype(int)), Shortage.MEMORY),
    (pa.lib.ArrowMemoryError("malloc of size 64 failed"), Shortage.MEMORY),
    (OSError(errno.ENOMEM, "Cannot allocate memory"), Shortage.MEMORY),
    (OSError("Memory mapping file failed: Cannot allocate memory"), Shortage.MEMORY),
    (ImportError("x.so: failed to map segment from shared object"), Shortage.MEMORY),
    (RuntimeError("std::bad_alloc"), Shortage.MEMORY),
    (duckdb.OutOfMemoryException("Failed to allocate block (bad allocation)"), Shortage.MEMORY),
    (duckdb.OutOfMemoryException("Allocation failure"), Shortage.MEMORY),
    (duckdb.OutOfMemoryException(NO_LIMIT), Shortage.LIMIT),
    (duckdb.OutOfMemoryException(NO_DISK), Shortage.DISK),
    (duckdb.IOException('IO Error: Cannot map "x": Cannot allocate memory'), Shortage.MEMORY),
    (duckdb.IOException('IO Error: write to "x": No space left on device'), Shortage.DISK),
    (duckdb.IOException('IO Error: Cannot open "x": Too many open files'), Shortage.FILES),
    (duckdb.Error("Resource temporarily unavailable"), Shortage.THREADS),
    (duckdb.InternalException("thread constructor failed"), Shortage.THREADS),
    (RuntimeError("can't start new thread"), Shortage.THREADS),
    (OSError(errno.ENOSPC, "No space left on device"), Shortage.DISK),
    (OSError(errno.EMFILE, "Too many open files"), Shortage.FILES),
]
UNKNOWN = [duckdb.InternalException, duckdb.FatalException, SystemError, RuntimeError]
CONTENT = [
    pa.ArrowInvalid,
    pa.ArrowNotImplementedError,
    duckdb.InvalidInputException,
    duckdb.ConversionException,
    ValueError,
    UnicodeError,
    TypeError,
]


@pytest.mark.parametrize(("error", "lacking"), LACKING, ids=repr)
def test_what_ran_out_is_told_by_type_number_and_text(error, lacking):
    assert shortage(error) is lacking
    found = explained(error, "the data is bad")
    assert isinstance(found, ResourceError) and str(found) == lacking.value


@pytest.mark.parametrize("kind", UNKNOWN)
def test_an_unknown_error_is_called_unknown(kind):
    found = str(explained(kind(SECRET), "the data is bad"))
    assert "not known" in found and "memory" in found and kind.__name__ in found
    assert SECRET not in found and "bad" not in found


@pytest.mark.parametrize("kind", CONTENT)
def test_an_error_about_values_is_told_as_one_whatever_it_quotes(kind):
    error = kind(f"Out of Memory Error: cannot allocate {SECRET}")
    assert str(explained(error, "the data is bad")) == "the data is bad"


def test_an_error_of_the_operating_system_is_told_in_its_words():
    for error in (
        PermissionError(errno.EACCES, "Permission denied", SECRET),
        duckdb.IOException(f'IO Error: Cannot open file "{SECRET}": Permission denied'),
    ):
        found = str(explained(error, "the data is bad"))
        assert "'Permission denied'" in found and SECRET not in found


MODULES = [
    *(encode, files, packed, parts, rows_per_person, source, sql, suggest),
    cell_counts,
]
DOMAIN = Domain({"a": 2})
TABLE = {"a": [0, 1], "id": ["x", "y"]}
QUERY = "SELECT a, id FROM t"


def read(data, domain=DOMAIN):
    found = open_source(data)
    found.check(domain)
    list(found.batches(domain))


def by_unit(data):
    found = bound(open_source(data), "id", 1, bytes(16))
    found.check(DOMAIN)
    list(found.batches(DOMAIN))


def spilled(path):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parts, "_HELD", 0)
        for module in (parts, rows_per_person):
            patch.setattr(module, "PARTS", 2)
        by_unit(path)


def cells(data):
    margin.release(data, domain=DOMAIN, budget=margin.PureDP(1), mechanism=margin.HighPass(theta=9))


def checked(path):
    """A check lists the files that cannot be read; here their problems are raised."""
    found = fit.check_fit(path, DOMAIN, unit="id")
    if found.unread:
        raise margin.DataError("; ".join(one.problem for one in found.unread))


READINGS = {
    "csv": lambda folder: by_unit(folder / "t.csv"),
    "gzip": lambda folder: read(folder / "t.csv.gz"),
    "json": lambda folder: read(folder / "t.jsonl"),
    "parquet": lambda folder: by_unit(folder / "t.parquet"),
    "query": lambda folder: read(Sql(QUERY, files={"t": folder / "t.csv"})),
    "columns": lambda _: by_unit({"a": [0, "1"], "id": TABLE["id"]}),
    "frame": lambda _: by_unit(pa.table(TABLE)),
    "relation": lambda _: read(duckdb.sql("SELECT 0 AS a")),
    "parts on disk": lambda folder: spilled(folder / "t.csv"),
    "cells": lambda _: cells(pa.table(TABLE)),
    "sparse": lambda _: read(sparse.csr_matrix((3, 2)), Domain({"a": 2, "b": 2})),
    "suggest csv": lambda folder: suggest.suggest_domain(folder / "t.csv"),
    "suggest folder": lambda folder: suggest.suggest_domain(folder / "many"),
    "suggest columns": lambda _: suggest.suggest_domain(TABLE),
    "fit": lambda folder: checked(folder / "t.csv"),
    "fit of a folder": lambda folder: checked(folder / "many"),
}


@pytest.fixture
def folder(tmp_path):
    text = "a,id\n0,x\n1,y\n"
    (tmp_path / "many").mkdir()
    for path in (tmp_path / "t.csv", tmp_path / "many" / "1.csv", tmp_path / "many" / "2.csv"):
        path.write_text(text)
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(text.encode()))
    (tmp_path / "t.jsonl").write_text('{"a": 0, "id": "x"}\n{"a": 1, "id": "y"}\n')
    pq.write_table(pa.table(TABLE), tmp_path / "t.parquet")
    return tmp_path


def failing_at(place, error, patch):
    """Let the action of one translation of an error fail; the result counts the translations."""
    passed = []

    def failing(action, problem):
        def fail():
            raise error

        passed.append(problem)
        return quietly(fail if len(passed) == place else action, problem)

    quietly = encode.quietly
    for module in MODULES:
        patch.setattr(module, "quietly", failing)
    return passed


CASES = [(name, MemoryError(SECRET)) for name in READINGS]
CASES += [(name, SystemError(SECRET)) for name in READINGS if "query" not in name]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "error"), CASES, ids=repr)
def test_no_translation_accuses_the_data_of_a_shortage(name, error, folder):
    """The first translation of an error fails, then the second one, and so on to the last."""
    place = 0
    while True:
        place += 1
        with pytest.MonkeyPatch.context() as patch:
            passed = failing_at(place, error, patch)
            try:
                READINGS[name](folder)
            except margin.MarginError as caught:
                told = str(caught)
            else:
                break
        assert len(passed) >= place and SECRET not in told
        if isinstance(error, MemoryError):
            assert Shortage.MEMORY.text in told
        else:
            assert "not known" in told and "memory" in told
    assert place > 1


@pytest.mark.parametrize("kind", [MemoryError, ImportError])
def test_a_package_that_finds_no_memory_is_not_called_missing(kind, monkeypatch):
    def fail(name):
        raise kind("failed to map segment from shared object")

    monkeypatch.setattr(importlib, "import_module", fail)
    with pytest.raises((ResourceError, MemoryError)):
        needed("polars")


def test_the_command_says_what_ran_out_and_what_became_of_the_budget(folder, monkeypatch, capsys):
    domain = folder / "domain.json"
    domain.write_text('{"a": 2}')

    def fail(*_):
        error = MemoryError(SECRET)
        error.add_note(Fate("the budget has been charged"))
        raise error

    monkeypatch.setattr(margin.PriView, "run", fail)
    arguments = ["release", folder / "t.csv", "--domain", domain, "--epsilon", 1]
    arguments += ["--mechanism", "PriView()", "-o", folder / "x.margin"]
    assert main(list(map(str, arguments))) == 2
    told = capsys.readouterr().err
    assert "no more memory" in told and "--memory-limit" in told and "charged" in told
    assert SECRET not in told and "internal" not in told


CHILD = """
import resource, sys
from margin.__main__ import _run
from margin.cli.main import command
import duckdb, pandas, pyarrow.parquet, scipy.linalg
pages = int(open("/proc/self/statm").read().split()[0])
resource.setrlimit(resource.RLIMIT_AS, [pages * resource.getpagesize()] * 2)
sys.exit(_run())
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs /proc and RLIMIT_AS")
def test_a_process_without_memory_says_so(folder):
    """The whole address space is what the imports took, so that DuckDB cannot even begin."""
    command = [sys.executable, "-c", CHILD, "domain", "suggest", str(folder / "t.csv")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2, done.stderr
    assert "no more memory" in done.stderr or "no more threads" in done.stderr
    assert "ulimit -v" in done.stderr and "--memory-limit" not in done.stderr


def test_a_shortage_while_the_table_is_read_says_that_nothing_was_charged(
    folder, monkeypatch, capsys
):
    def fail(*_, **__):
        raise ResourceError(Shortage.MEMORY.text)

    monkeypatch.setattr("margin.cli.release.table_of", fail)
    domain = folder / "domain.json"
    domain.write_text('{"a": 2}')
    arguments = ["release", folder / "t.csv", "--domain", domain, "--epsilon", 1]
    assert main(list(map(str, [*arguments, "-o", folder / "x.margin"]))) == 2
    assert capsys.readouterr().err.count("nothing has been charged") == 1
