"""A damaged file of a table: what a release says of it, and that `margin domain check` names it,
with a query and without one."""

import gzip
import json
import random
from collections.abc import Callable

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import margin
from margin.cli.main import main
from margin.data.checks.checksums import compare_checksums
from margin.data.opening import open_source
from margin.errors import DataError

ROWS = 6000
FOLDER = "t/week=2026-W47"
"""The folder of the damaged file. A release does not show it."""

_RANDOM = random.Random(0)
RECORDS = [{"a": f"v{_RANDOM.randrange(3)}", "b": _RANDOM.choice("01")} for _ in range(ROWS)]


def _parquet(path, records, *, checksums=False):
    columns = {name: [record[name] for record in records] for name in records[0]}
    pq.write_table(pa.table(columns), path, write_page_checksum=checksums)


def _with_checksums(path, records):
    _parquet(path, records, checksums=True)


def _csv_gz(path, records):
    rows = [",".join(records[0]), *(",".join(record.values()) for record in records)]
    path.write_bytes(gzip.compress("\n".join(rows).encode(), mtime=0))


def _json(path, records):
    path.write_text("".join(f"{json.dumps(record)}\n" for record in records))


KINDS: dict[str, tuple[str, Callable]] = {
    "parquet": ("parquet", _parquet),
    "parquet with checksums": ("parquet", _with_checksums),
    "csv.gz": ("csv.gz", _csv_gz),
    "json": ("json", _json),
}
"""The ending of a file, and what writes it."""


def _flipped(path, write):
    """400 bytes have other values."""
    _flip(path, 400)


def _flip(path, number):
    content = bytearray(path.read_bytes())
    start = 100
    if path.suffix == ".parquet":
        start = pq.read_metadata(path).row_group(0).column(0).data_page_offset + 50
    for place in range(start, start + number):
        content[place] ^= 0x55
    path.write_bytes(content)


def _truncated(path, write):
    path.write_bytes(path.read_bytes()[:-60])


def _lacking(path, write):
    write(path, [{"b": record["b"]} for record in RECORDS])


def _of_another_kind(path, write):
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(range(256)))


DAMAGES = {
    "flipped": _flipped,
    "truncated": _truncated,
    "lacking": _lacking,
    "of another kind": _of_another_kind,
}


@pytest.fixture(params=KINDS)
def table(request, tmp_path, monkeypatch):
    """A function that damages the second file of a table; it returns the path of this file."""
    monkeypatch.chdir(tmp_path)
    ending, write = KINDS[request.param]
    (tmp_path / "d.json").write_text('{"a": ["v0", "v1", "v2"], "b": ["0", "1"]}')
    paths = [tmp_path / "t/week=2026-W46/1", tmp_path / FOLDER / "2"]
    paths = [path.with_name(f"{path.name}.{ending}") for path in paths]
    for path in paths:
        path.parent.mkdir(parents=True)
        write(path, RECORDS)

    def damaged(damage):
        DAMAGES[damage](paths[1], write)
        return f"{FOLDER}/2.{ending}"

    return damaged


WAYS = {
    "without a query": ["t"],
    "with a query": ["--sql", "SELECT lower(a) AS a, b FROM rows", "--table", "rows=t"],
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("damage", DAMAGES)
def test_the_check_names_the_damaged_file_and_a_release_is_true(table, damage, way, capsys):
    path = table(damage)
    is_lacking = damage == "lacking"

    assert main(["release", *WAYS[way], "--domain", "d.json", "--epsilon", "1", "-o", "x"]) == 2
    out, told = capsys.readouterr()
    assert out == "" and told.count("\n") == 1
    assert "2026-W47" not in told and "v0" not in told.casefold()
    assert ("lacks a column" in told or "no column named 'a'" in told) == is_lacking
    assert "own shell" not in told and "cause is not known" not in told
    hidden = path.replace("=2026-W47", "=*")
    assert f"{hidden!r}" in told or "domain check with this query names the file" in told

    assert main(["domain", "check", *WAYS[way], "d.json"]) == 2
    out, err = capsys.readouterr()
    assert f"{path!r}" in out + err and "2026-W46/1" not in out + err
    assert "no column named 'a'" in out if is_lacking else "column" not in out.partition(path)[2]
    if not is_lacking:
        main(["domain", "check", *WAYS[way], "d.json", "--json"])
        (one,) = json.loads(capsys.readouterr().out)["unreadable"]
        assert one["file"].endswith(path)


@pytest.mark.parametrize("number", [1, 400])
@pytest.mark.parametrize("codec", ["none", "zstd"])
@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize("query", [None, "SELECT * FROM rows", "SELECT * FROM 't/*.parquet'"])
def test_each_flip_is_noticed_if_the_pages_have_checksums(
    tmp_path, monkeypatch, query, version, codec, number
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t").mkdir()
    path = tmp_path / "t" / "1.parquet"
    columns = {name: [record[name] for record in RECORDS] for name in ("a", "b")}
    pq.write_table(
        pa.table(columns),
        path,
        write_page_checksum=True,
        compression=codec,
        data_page_version=version,
    )
    domain = margin.Domain({"a": ["v0", "v1", "v2"], "b": ["0", "1"]})

    def read():
        return sum(len(batch["a"]) for batch in open_source(data).batches(domain))

    files = {"rows": "t"} if query and "rows" in query else {}
    data = "t" if query is None else margin.Sql(query, files=files)
    assert read() == ROWS
    _flip(path, number)
    with pytest.raises(DataError, match="must agree with the checksums of its pages"):
        read()


@pytest.mark.parametrize("rows", [0, 1, 300_000])
@pytest.mark.parametrize("writer", ["arrow", "duckdb"])
def test_a_file_without_checksums_is_not_read_for_them(tmp_path, monkeypatch, writer, rows):
    path = tmp_path / "t.parquet"
    if writer == "arrow":
        pq.write_table(pa.table({"a": [f"v{i}" for i in range(rows)]}), path)
    else:
        duckdb.sql(f"SELECT 'v' || i AS a FROM range({rows}) AS t(i)").write_parquet(str(path))
    monkeypatch.setattr(pq.ParquetFile, "iter_batches", None)
    compare_checksums(path, "the file")
