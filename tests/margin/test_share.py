"""The share of the rows that has been read: what a display of progress is told."""

import gzip

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

import margin
from margin.data import count
from margin.data.advance import RowsRead, rows_of_file
from margin.data.opening import open_source
from margin.data.rows_per_person import bound
from margin.data.suggest import _FIRST, suggest_domain
from margin.interrupts.share import declaring, is_heard, listening, tell, within

ROWS = 260_000
DOMAIN = margin.Domain({"a": 2, "b": 3}, rows=12)


@pytest.fixture(scope="module")
def sources(tmp_path_factory):
    """The same rows as files, as a frame and in memory."""
    folder = tmp_path_factory.mktemp("share")
    rows = np.arange(ROWS)
    table = pa.table({"a": rows % 2, "b": rows % 3, "id": rows // 2})
    pa.csv.write_csv(table, folder / "t.csv")
    pa.parquet.write_table(table, folder / "t.parquet", row_group_size=30_000)
    (folder / "many").mkdir()
    (folder / "json").mkdir()
    for place in range(4):
        pa.csv.write_csv(
            table.slice(place * ROWS // 4, ROWS // 4), folder / "many" / f"{place}.csv"
        )
        text = table.slice(place * 100, 100).to_pandas().to_json(orient="records")
        (folder / "json" / f"{place}.json").write_text(text)
    paths = {name: open_source(folder / name) for name in ("t.csv", "t.parquet", "many", "json")}
    pandas = open_source(table.to_pandas())
    codes = open_source(np.stack([rows % 2, rows % 3], axis=1))
    unit = bound(paths["t.csv"], "id", 1, bytes(16))
    query = f"SELECT a, b FROM '{folder}/t.parquet'"
    files = margin.Sql("SELECT * FROM t UNION ALL SELECT * FROM t", files={"t": folder / "many"})
    queries = {"query": margin.Sql(query), "query of files": files}
    return {**paths, "pandas": pandas, "codes": codes, "unit": unit, **queries}


@pytest.mark.parametrize("name", ["t.csv", "t.parquet", "many", "json", "pandas", "codes", "unit"])
def test_the_share_rises(name, sources):
    heard = []
    with listening(lambda share, declared: heard.append((share, declared))):
        tables = count(sources[name], DOMAIN, [["a"]])
    shares = [share for share, _ in heard]
    if name == "unit":  # a stage of its own for each half: reading and grouping
        ends = [place for place, share in enumerate(shares) if share == 1]
        assert len(ends) > 1 and shares[-1] == 1
        shares = shares[: ends[0] + 1]
    assert shares == sorted(shares) and shares[0] >= 0 and shares[-1] == 1
    assert shares[0] < 0.3 and any(0.45 < share < 0.8 for share in shares)
    assert len(shares) > 2 and {declared for _, declared in heard} == {12}
    assert np.array_equal(tables[0], count(sources[name], DOMAIN, [["a"]])[0])


@pytest.mark.parametrize("is_bounded", [False, True])
@pytest.mark.parametrize("name", ["query", "query of files"])
def test_of_a_query_on_duckdb_the_end_alone_is_told(name, is_bounded, sources):
    """Its number of rows is not known, so the display shows neither a share nor the time left."""
    query = sources[name]
    heard = []
    with listening(lambda share, declared: heard.append(share)):
        count(bound(query, "a", 1, bytes(16)) if is_bounded else query, DOMAIN, [["b"]])
    assert heard[0] == 1 and heard[-1] == 1


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz", "t.tsv", "t.parquet", "t.jsonl", "t.json"])
def test_the_number_of_rows_of_a_file_is_expected_before_it_is_read(name, tmp_path):
    """Exactly for Parquet; for texts of a row a line from the first megabytes."""
    table = pa.table({"a": np.arange(ROWS) % 2, "id": np.arange(ROWS)})
    path = tmp_path / name
    if name.endswith(".parquet"):
        pa.parquet.write_table(table, path)
    else:
        lines = "".join(f"{row % 2},{row}\n" for row in range(ROWS))
        with gzip.open(path, "wt") if name.endswith(".gz") else path.open("w") as file:
            file.write(lines)
    expected = rows_of_file(path)
    if name.endswith(".json"):
        assert expected == 0
    else:
        assert expected == pytest.approx(ROWS, rel=0.0 if "parquet" in name else 0.1)


def test_rows_are_told_as_a_share_that_an_estimate_does_not_complete():
    heard = []
    with listening(lambda share, declared: heard.append(share)):
        rows = RowsRead(100)
        for number in (50, 20, 70):
            rows.add(number)
        RowsRead(0).add(7)
    assert heard == [0.5, 0.7, 0.99]


def test_shares_of_parts_are_shares_of_the_whole():
    heard = []
    with listening(lambda *told: heard.append(told)), declaring(None), within(0.5, 1):
        tell(0.5)
        with within(0, 0.5):
            tell(1)
        tell(7)
    assert heard == [(0.75, None), (0.75, None), (1.0, None)]
    assert not is_heard()


def test_a_draft_of_a_domain_tells_the_share_of_both_passes(tmp_path, monkeypatch):
    monkeypatch.setattr("margin.data.advance._PAUSE", 0.001)
    path = tmp_path / "t.csv"
    path.write_text("a,b\n" + "0,x\n1,y\n" * 400_000)
    heard = []
    with listening(lambda share, declared: heard.append(share)):
        suggest_domain(path)
    first = [share for share in heard if share < _FIRST]
    assert len(set(first)) > 1 and all(0 <= share <= 1 for share in heard)


def test_generated_rows_tell_their_steps(caplog):
    rng = np.random.default_rng(0)
    domain = margin.Domain({"a": 2, "b": 3, "c": 2})
    codes = rng.integers(0, domain.sizes, (500, 3))
    synopsis = margin.release(codes, domain=domain, budget=margin.PureDP(1))
    with caplog.at_level("INFO", "margin"):
        synopsis.records(200)
    assert "making rows, sweep 1: attribute 3 of 3" in caplog.messages


def test_noise_tells_the_share_of_the_draws():
    heard = []
    domain = margin.Domain({"a": 400, "b": 400})
    rows = {"a": [0, 1], "b": [0, 1]}
    with listening(lambda share, declared: heard.append(share)):
        margin.release(
            rows, domain=domain, budget=margin.PureDP(1), mechanism=margin.mechanisms.Flat()
        )
    start = heard.index(1.0) + 1  # behind the end of the counting
    drawn = heard[start : start + 5]
    assert drawn == sorted(drawn) and len(set(drawn)) == 5 and drawn[-1] == 1


def test_each_pass_over_the_table_ends_and_has_its_own_words(caplog):
    """The words of a pass in the order in which they are shown, each with its last share."""
    rows = {"a": [0, 1, 1], "b": [0, 1, 2], "id": ["x", "y", "y"]}
    shown = {}

    def hear(share, declared):
        shown[caplog.messages[-1]] = share

    with caplog.at_level("INFO", "margin"), listening(hear):
        counted = bound(open_source(rows), "id", 1, bytes(16))
        for view in (["a"], ["b"]):
            count(counted, DOMAIN, [view])
    assert caplog.messages == [
        "reading the rows of each unit",
        "grouping and counting the rows of each unit",
        "reading the rows of each unit again",
        "grouping and counting the rows of each unit again",
    ]
    assert list(shown) == caplog.messages and set(shown.values()) == {1.0}
