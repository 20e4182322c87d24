"""Every engine gives the same integers, whatever the columns; a bound on contributions keeps the
same rows in each."""

import json
import random
import shutil

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from engines import assert_equal, by_hand, example
from hypothesis import given, settings
from hypothesis import strategies as st
from kinds import DECLARED, KINDS
from postgres_server import ingest, session, socket_of, stopped

import margin
from margin import DataError, Domain, Sql
from margin.cli.main import main
from margin.data.count import count
from margin.data.opening import open_source
from margin.data.queries.server import unreachable
from margin.data.queries.states import named
from margin.data.rows_per_person import bound, identities
from margin.data.steady import one_table
from margin.domain.values import identity
from margin.errors import LostServerError, TryAgainError
from margin.interrupts.share import listening

KEY = bytes(range(16))


def parquet(table, folder):
    pq.write_table(table, folder / "t.parquet", row_group_size=64)
    return folder / "t.parquet"


def csv(table, folder):
    pyarrow.csv.write_csv(table, folder / "t.csv")
    return folder / "t.csv"


def jsonl(table, folder):
    (folder / "t.jsonl").write_text("\n".join(map(json.dumps, table.to_pylist())))
    return folder / "t.jsonl"


def parts(table, folder):
    shutil.rmtree(folder / "parts", ignore_errors=True)
    for place in range(3):
        part = folder / "parts" / f"part={place}"
        part.mkdir(parents=True)
        pq.write_table(
            table.slice(
                place * table.num_rows // 3,
                (place + 1) * table.num_rows // 3 - place * table.num_rows // 3,
            ),
            part / "t.parquet",
        )
    return folder / "parts"


def database(table, folder):
    (folder / "t.duckdb").unlink(missing_ok=True)
    with duckdb.connect(str(folder / "t.duckdb")) as connection:
        connection.register("given", table)
        connection.execute("CREATE TABLE visits AS SELECT * FROM given")
    return Sql("FROM visits", attach=str(folder / "t.duckdb"))


ENGINES = {
    "Parquet": parquet,
    "CSV": csv,
    "JSON": jsonl,
    "folder": parts,
    "SQL": lambda table, folder: Sql(
        f"SELECT * FROM '{parquet(table, folder)}'", memory_limit="200MB"
    ),
    "database": database,
    "Arrow": lambda table, folder: table,
    "polars": lambda table, folder: pl.from_arrow(table),
    "pandas": lambda table, folder: table.to_pandas(types_mapper=None),
    "dict": lambda table, folder: table.to_pydict(),
    "relation": lambda table, folder: duckdb.from_arrow(table),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("engines")


@pytest.mark.slow
@settings(max_examples=3)
@given(
    seed=st.integers(0, 2**32),
    attributes=st.sampled_from([1, 2, 5, 12, 40]),
    rows=st.sampled_from([1, 3, 200]),
)
def test_every_engine_gives_the_same_integers(folder, seed, attributes, rows):
    domain, table, views = example(seed, attributes, rows)
    expected = by_hand(domain, table, views)
    kept = count(bound(open_source(table), "person", 2, KEY), domain, views)
    for engine in ENGINES.values():
        data = engine(table, folder)
        open_source(data).check(domain)
        assert_equal(count(data, domain, views), expected)
        assert_equal(count(bound(open_source(data), "person", 2, KEY), domain, views), kept)


def refused(action, message):
    with pytest.raises(DataError, match=message) as caught:
        action()
    assert caught.value.__cause__ is None and caught.value.__context__ is None
    assert "s3cr3t" not in str(caught.value)


NARROW = Domain({"a": 300, "b": ["x", "y"]})
BAD_TABLES = [
    ({"a": [1, 2]}, "no column named 'b'"),
    ({"a": [[1], [2]], "b": ["x", "y"]}, "column 'a' is of type list"),
    ({"a": ["s3cr3t", "2"], "b": ["x", "y"]}, "column 'a' holds a value"),
    ({"a": [1, 2], "b": ["x", "s3cr3t"]}, "column 'b' holds a value"),
    ({"a": [1, None], "b": ["x", "y"]}, "column 'a' holds nulls"),
]


@pytest.mark.parametrize(
    ("columns", "message"), BAD_TABLES, ids=[message for _, message in BAD_TABLES]
)
@pytest.mark.parametrize("engine", ["Parquet", "folder", "SQL", "database"])
def test_what_does_not_fit_is_refused_by_name(engine, folder, columns, message):
    data = ENGINES[engine](pyarrow.table(columns), folder)

    def action():
        open_source(data).check(NARROW)
        count(data, NARROW, [["a"]])

    refused(action, message)


@pytest.mark.slow
def test_truth_values_mean_the_same_from_every_engine(folder):
    """As numbers, which Parquet's are read as, as words, and as intervals; with and without
    nulls."""
    table = pyarrow.table(
        {"a": [True, False, True, None], "b": [True, False, False, True], "who": [True, False] * 2}
    )
    forms = [
        {"size": 2, "missing": 1},
        {"values": [False, True], "missing": "?"},
        {"values": ["true", "false"], "missing": "?"},
        {"values": ["0", "no"], "other": "o", "missing": "?"},
        {"bins": [0, 1, 2], "missing": "?"},
    ]
    for form in forms:
        domain = Domain({"a": form, "b": form})
        views = [["a", "b"], ["a"]]
        expected = by_hand(domain, table, views)
        kept = count(bound(open_source(table), "who", 1, KEY), domain, views)
        for place, engine in enumerate(("Parquet", "folder", "SQL")):
            (folder / str(place)).mkdir(exist_ok=True)
            data = ENGINES[engine](table, folder / str(place))
            assert_equal(count(data, domain, views), expected)
            assert_equal(count(bound(open_source(data), "who", 1, KEY), domain, views), kept)


MIXED = {"one.parquet": {"a": [1], "b": ["x"]}, "two.parquet": {"a": ["s3cr3t"], "b": ["x"]}}


@pytest.mark.parametrize(
    ("files", "data", "message"),
    [
        ({"t.parquet": {"a": [1]}}, "t.parquet", "t.parquet' has no column named 'b'"),
        ({"t.parquet": {"a": [[1]], "b": ["x"]}}, "t.parquet", "column 'a' is of type list"),
        ({"t.parquet": {"a": [1], "b": ["s3cr3t"]}}, "t.parquet", "column 'b' holds a value"),
        (MIXED, "*.parquet", "numbers in data file 'one.parquet' but texts in 'two.parquet'"),
        ({}, Sql("SELECT 1 AS a"), "the result of the SQL query has no column named 'b'"),
        ({}, Sql("SELECT 1 AS a, 's3cr3t' AS b"), "column 'b' holds a value"),
        (
            {},
            Sql("SELECT 1 AS a, 'x' AS b", attach="none.duckdb"),
            "'none.duckdb' does not exist",
        ),
    ],
)
def test_nothing_is_charged_for_what_cannot_be_counted(tmp_path, monkeypatch, files, data, message):
    monkeypatch.chdir(tmp_path)
    for name, columns in files.items():
        pq.write_table(pyarrow.table(columns), name)
    margin.Ledger("agency.db").register("people", margin.PureDP(1))
    charge = margin.Ledger("agency.db").dataset("people")
    refused(
        lambda: margin.release(data, domain=NARROW, budget=margin.PureDP(1), ledger=charge), message
    )
    margin.release(
        {"a": [1], "b": ["x"]}, domain=NARROW, budget=margin.PureDP(1), ledger=charge
    )  # all is left


def test_types_that_differ_from_file_to_file(tmp_path):
    for name, values in (("1", [1, 2]), ("2", ["s3cr3t", "2"])):
        part = tmp_path / f"b={name}s3cr3t"
        part.mkdir()
        pq.write_table(pyarrow.table({"a": values}), part / "t.parquet")
    data = tmp_path / "**" / "*.parquet"
    domain = Domain({"a": 3})
    refused(
        lambda: open_source(data).check(domain),
        r"numbers in data file '.*b=\*/t.parquet' but texts",
    )
    refused(
        lambda: count(data, Domain({"c": 3}), ["c"]), r"b=\*/t.parquet' has no column named 'c'"
    )


def test_a_pattern_needs_files_of_one_kind(tmp_path):
    refused(lambda: open_source(tmp_path / "*.csv"), "has no files")
    (tmp_path / "a.csv").write_text("a\n1\n")
    (tmp_path / "a.parquet").touch()
    refused(lambda: open_source(tmp_path), "files of different kinds")
    assert count(str(tmp_path / "?.csv"), Domain({"a": 2}), ["a"])[0].tolist() == [0, 1]
    odd = tmp_path / "b[1].csv"
    odd.write_text("a\n0\n")
    assert count(odd, Domain({"a": 2}), ["a"])[0].tolist() == [1, 0]


def test_a_pattern_of_folders_is_told_nothing_of_them(tmp_path):
    """Their names are data, so the advice is the same whether or not it matches folders."""
    (tmp_path / "week=10").mkdir()
    (tmp_path / "week=10" / "a.csv").write_text("a\n1\n")
    told = []
    for pattern in ("week=1*", "week=2*"):
        with pytest.raises(DataError, match=r"of folders, add /\*\.parquet") as caught:
            open_source(tmp_path / pattern)
        told.append(str(caught.value).replace(pattern, ""))
    assert told[0] == told[1]
    counts = count(open_source(tmp_path / "week=1*/*.csv"), Domain({"a": 2}), [["a"]])
    assert counts[0].tolist() == [0, 1]


def test_partitions_may_be_null_and_are_read_as_texts(tmp_path):
    for value in ("__HIVE_DEFAULT_PARTITION__", "a%20b", "9"):
        part = tmp_path / f"kind={value}"
        part.mkdir()
        pq.write_table(pyarrow.table({"n": [0, 1, 1]}), part / "t.parquet")
    domain = Domain({"kind": {"values": ["a b", "9"], "missing": "?"}, "n": 2})
    assert count(tmp_path, domain, [["kind", "n"], ["kind"]])[0].tolist() == [[1, 2]] * 3
    assert count(tmp_path, Domain({"kind": domain["kind"]}), ["kind"])[0].tolist() == [3] * 3


def test_keys_of_json_that_are_not_there(tmp_path):
    path = tmp_path / "t.jsonl"
    path.write_text('{"a": 1}\n{"a": 0}\n')
    refused(lambda: open_source(path).check(NARROW), "no column named 'b'")
    path.write_text('{"a": 1}\n{"a": s3cr3t}\n')
    refused(lambda: count(path, Domain({"a": 2}), ["a"]), "t.jsonl' is not well-formed")


BAD_QUERIES = [
    ("SELECT", "is not valid: Parser Error"),
    ("SELECT 1; SELECT 2", "must be one SELECT"),
    ("CREATE TABLE t AS SELECT 1 AS a", "must be one SELECT"),
    ("COPY (SELECT 1 AS a) TO 's3cr3t.csv'", "must be one SELECT"),
    ("SELECT * FROM missing", "Table with name missing does not exist"),
    ("SELECT 's3cr3t'::INT AS a", "ConversionException"),
    ("SELECT error('s3cr3t') AS a", "failed"),
    ("SELECT 1 AS b", "the result of the SQL query has no column named 'a'"),
    ("SELECT 1 AS a, 2 AS a", "more than one column named 'a'"),
    ("FROM table", "is not valid: Parser Error"),
    ("FROM NARROW", "Table with name NARROW does not exist"),
    (" ; ", "one SELECT"),
    (3, "one SELECT"),
]


@pytest.mark.parametrize(("text", "message"), BAD_QUERIES)
def test_a_bad_query_is_refused(text, message):
    refused(lambda: count(Sql(text), Domain({"a": 2}), ["a"]), message)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"attach": "no-such.duckdb"}, "'no-such.duckdb' does not exist"),
        ({"attach": ""}, "attach must be"),
        ({"attach": 3}, "attach must be"),
        ({"memory_limit": "much"}, "must be a size such as"),
    ],
)
def test_bad_options_of_a_query(options, message):
    refused(lambda: Sql("SELECT 1 AS a", **options).check(Domain({"a": 2})), message)


def test_a_query_reads_and_never_writes(tmp_path):
    data = database(pyarrow.table({"a": [0, 1, 1]}), tmp_path)
    before = (tmp_path / "t.duckdb").read_bytes()
    assert count(data, Domain({"a": 2}), ["a"])[0].tolist() == [1, 2]
    assert (tmp_path / "t.duckdb").read_bytes() == before
    assert str(tmp_path) not in repr(data)


def test_a_query_larger_than_its_memory_goes_through_a_folder_that_is_emptied(
    tmp_path, monkeypatch
):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    source = Sql(
        "SELECT a FROM (SELECT i % 7 AS a, hash(i) AS h, repeat('x', 40) AS t "
        "FROM range(1_000_000) AS r(i)) "
        "QUALIFY row_number() OVER (PARTITION BY h % 100_000 ORDER BY h, t) <= 100",
        memory_limit="60MB",
    )
    (table,) = count(source, Domain({"a": 7}), ["a"])
    assert table.sum() == 1_000_000
    assert list(tmp_path.iterdir()) == []


def test_a_source_that_fails_late_says_that_the_budget_is_gone():
    class Once:
        reads = 0

        def check(self, domain):
            pass

        def batches(self, domain):
            self.reads += 1
            if self.reads > 1:
                raise self.error
            yield {name: np.zeros(3, np.uint8) for name in domain}

    class Twice:
        def run(self, private, workload):
            private.measure(["a"], spend="1/2")
            private.measure(["b"])

    source = Once()
    for error in (DataError("the server is gone"), KeyboardInterrupt()):
        source.reads, source.error = 0, error
        with pytest.raises(type(error), match="the budget has already been charged"):
            margin.release(
                source, domain={"a": 2, "b": 2}, budget=margin.PureDP(1), mechanism=Twice()
            )
    for error, message in (
        (DataError("the server is gone"), "gone$"),
        (KeyboardInterrupt(), "no noise was drawn"),
    ):
        source.reads, source.error = 1, error
        with pytest.raises(type(error), match=message):
            margin.release(
                source, domain={"a": 2, "b": 2}, budget=margin.PureDP(1), mechanism=Twice()
            )


def test_the_command_line_counts_what_a_query_gives(tmp_path, capsys):
    pq.write_table(pyarrow.table({"a": [0, 1, 1, 1], "who": [1, 2, 2, 2]}), tmp_path / "t.parquet")
    (tmp_path / "domain.json").write_text('{"a": 2}')
    out = str(tmp_path / "out.margin")
    start = ["release", "--domain", str(tmp_path / "domain.json"), "--epsilon", "1", "-o", out]
    query = f"SELECT * FROM '{tmp_path}/t.parquet'"
    assert (
        main(
            [
                *start,
                "--sql",
                query,
                "--memory-limit",
                "100MB",
                "--unit",
                "who",
                "--rows-per-person",
                "2",
            ]
        )
        == 0
    )
    assert margin.load(out).provenance.spent == margin.PureDP(1, rows_per_person=2)
    files = f"{tmp_path}/*.parquet"
    assert main([*start, files, "--unit", "who", "--rows-per-person", "1", "--force"]) == 0
    start.append("--force")
    (tmp_path / "t.csv").write_text("a,who\n0,1\n1,2\n")
    assert main([*start, "--sql", "SELECT a FROM t", "--table", f"t={tmp_path}/t.csv"]) == 0
    mistakes = {
        "either from a file or from --sql": [["x.csv", "--sql", query]],
        "this command needs a table, but none is given; add a file, or a query with --sql": [[]],
        "--attach names the database of a query, but no query is given": [
            ["x.csv", "--attach", "x.duckdb"]
        ],
        "--table names a file for a query, but no query is given": [
            ["x.csv", "--table", "t=t.csv"]
        ],
        "but --attach names a server, and files= (--table on the command line) names files": [
            ["--sql", query, "--attach", "postgres:host=x", "--table", "t=t.csv"]
        ],
        "must be NAME=FILE": [["--sql", "SELECT a FROM t", "--table", "t.csv"]],
        "--table visits=visits.csv": [["--sql", f"SELECT * FROM '{tmp_path}/t.csv'"]],
        "--rows-per-person 3": [["--sql", query, "--unit", "who"]],
        "does not exist; check the path": [
            ["--sql", query, "--attach", str(tmp_path / "none.duckdb")]
        ],
        "cannot be opened as a DuckDB file": [
            ["--sql", query, "--attach", str(tmp_path / "t.csv")]
        ],
    }
    for message, tries in mistakes.items():
        for more in tries:
            capsys.readouterr()
            assert main([*start, *more]) == 2
            assert message in capsys.readouterr().err


@pytest.mark.slow
def test_a_display_hears_the_share_of_a_query_on_postgres(server):
    query = "SELECT i % 2 AS a FROM generate_series(1, 200000) AS t(i)"
    heard = []
    with listening(lambda share, declared: heard.append(share)):
        told = count(Sql(query, attach=server), Domain({"a": 2}), [["a"]])
        with pytest.raises(DataError, match="visits_none"):
            list(Sql("SELECT b FROM visits_none", attach=server).batches(Domain({"b": 2})))
    assert told[0].tolist() == [100_000, 100_000]
    # The planner expects as many rows as there are, or states a default of its own.
    assert heard == sorted(heard) and heard[0] < 1 and heard[-1] > 0.5


@pytest.mark.slow
def test_all_passes_of_a_release_see_one_snapshot_of_postgres(server):
    ingest(server, pa.table({"a": [0, 1, 1]}), "growing")
    source = Sql("SELECT a FROM growing", attach=server)
    domain = Domain({"a": 2})

    def sizes():
        for _ in range(2):
            yield sum(len(batch["a"]) for batch in source.batches(domain))
            with session(server) as cursor:
                cursor.execute("INSERT INTO growing VALUES (0)")

    with one_table():
        source.check(domain)
        assert list(sizes()) == [3, 3]
    assert list(sizes()) == [5, 6]
    # The end of the server does no harm to a release that has read its table.
    with one_table():
        assert list(sizes()) == [7, 7]
        assert cut(server) == [(1,)]
    with session(server) as cursor:
        cursor.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'"
        )
        assert cursor.fetchall() == [(1,)]


@pytest.mark.slow
@settings(max_examples=6)
@given(
    seed=st.integers(0, 2**32),
    attributes=st.sampled_from([1, 5, 40]),
    rows=st.sampled_from([1, 3, 200]),
)
def test_postgres_gives_the_same_integers(server, seed, attributes, rows):
    domain, table, views = example(seed, attributes, rows)
    ingest(server, table)
    data = Sql("SELECT * FROM visits;", attach=server)
    data.check(domain)
    assert_equal(count(data, domain, views), by_hand(domain, table, views))
    kept = count(bound(open_source(table), "person", 2, KEY), domain, views)
    assert_equal(count(bound(data, "person", 2, KEY), domain, views), kept)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_postgres_reads_every_row_by_itself(server, kind):
    pool, arrow = KINDS[kind]
    values = [random.Random(kind).choice(pool) for _ in range(150)]
    ingest(
        server,
        pyarrow.table({"v": pyarrow.array(values, arrow, from_pandas=False), "row": range(150)}),
    )
    data = Sql("SELECT v FROM visits ORDER BY row", attach=server)
    for attribute in DECLARED.values():
        codes = [batch["v"] for batch in data.batches(Domain({"v": attribute}))]
        assert np.concatenate(codes).tolist() == [attribute.code(value) for value in values]
    someone = Sql(
        "SELECT v FROM visits WHERE v IS NOT NULL AND trim(v::text) NOT IN ('', 'NaN') "
        "ORDER BY row",
        attach=server,
    )
    found = [
        text for (column,) in someone.columns(["v"]) for text in identities("v", column).to_pylist()
    ]
    assert found == [text for value in values if (text := identity(value)) is not None]


@pytest.mark.slow
def test_postgres_types_of_its_own(server):
    text = (
        "SELECT (i * 0.5)::numeric(6, 2) AS price, ('2020-01-0' || i)::date AS day, "
        "i::smallint AS n, "
        "'x'::char(1) AS c FROM generate_series(1, 3) AS s(i)"
    )
    domain = Domain(
        {
            "price": {"bins": [0, 1, 2]},
            "day": {"values": ["2020-01-01"], "other": "later"},
            "n": 4,
            "c": ["x"],
        }
    )
    tables = count(
        Sql(text, attach=server.replace("postgres:", "postgresql:")),
        domain,
        ["price", "day", "n", "c"],
    )
    assert [table.tolist() for table in tables] == [[1, 2], [1, 2], [0, 1, 1, 1], [3]]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["numeric", "float8", "float4", "text"])
def test_nan_of_postgres_is_missing_among_numbers(server, kind):
    """The driver gives a numeric as a text."""
    text = f"SELECT v::{kind} AS v FROM (VALUES ('7'), ('NaN'), (NULL)) AS s(v)"
    source = Sql(text, attach=server)
    for form in ({"bins": [0, 10], "missing": "?"}, {"values": [7], "missing": "?"}):
        assert count(source, Domain({"v": form}), ["v"])[0].tolist() == [1, 2]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("SELEC 1", "42601"),
        ("SELECT * FROM no_such", "42P01"),
        ("DELETE FROM kept", "25006"),
        ("WITH w AS (DELETE FROM kept RETURNING a) SELECT a FROM w", "25006"),
        ("SELECT 's3cr3t'::int AS a", "22P02"),
        ("SELECT 1 / (a - a) AS a FROM kept", "failed"),
        ("SELECT 1 AS b", "the result of the SQL query on PostgreSQL has no column named 'a'"),
    ],
)
def test_postgres_refuses(server, text, message):
    ingest(server, pyarrow.table({"a": [0, 1, 1]}), "kept")
    data = Sql(text, attach=server)
    refused(lambda: count(data, Domain({"a": 2}), ["a"]), message)
    assert count(Sql("SELECT a FROM kept", attach=server), Domain({"a": 2}), ["a"])[0].tolist() == [
        1,
        2,
    ]
    assert "dbname" not in repr(data)


RAISES = """
CREATE OR REPLACE FUNCTION raises(cell text, code text) RETURNS int IMMUTABLE AS
$$ BEGIN RAISE EXCEPTION 'it is %', cell USING ERRCODE = code; END $$ LANGUAGE plpgsql"""
"""A function of a database that tells its argument in the words of an error, with any code."""

LATE = {
    "a::int": "SQLSTATE 22P02, invalid text representation",
    "a::date": "SQLSTATE 22007, invalid datetime format",
    "a::regclass::text": "SQLSTATE 42P01, undefined table",
    "a::regtype::text": "SQLSTATE 42704, undefined object",
    "1 / length(replace(a, 'ALICE', ''))": "SQLSTATE 22012, division by zero",
    "(SELECT a FROM generate_series(1, length(a)))": "SQLSTATE 21000, cardinality violation",
    "raises(a, '42000')": "ProgrammingError",
    "raises(a, a)": "OperationalError",
}
"""Columns of a query that fail for the cell ALICE, and what is told of the failure."""


@pytest.mark.slow
@pytest.mark.parametrize("is_shown", [False, True])
@pytest.mark.parametrize("column", LATE)
def test_a_failure_on_postgres_has_a_fixed_name_and_no_word_of_the_server(
    server, monkeypatch, column, is_shown
):
    """The last function makes the cell itself the code. With a display, the query is explained,
    too."""
    monkeypatch.setattr(margin.data.sql, "is_heard", lambda: is_shown)
    ingest(server, pyarrow.table({"a": ["ALICE"]}), "named")
    with session(server) as cursor:
        cursor.execute(RAISES)
    source = Sql(f"SELECT {column} AS a FROM named", attach=server)
    domain = Domain({"a": {"values": ["0", "1"], "other": "else"}})
    source.check(domain)
    with pytest.raises(DataError, match="must run without an error") as caught:
        list(source.batches(domain))
    assert f"but it failed ({LATE[column]})" in str(caught.value)
    assert "alice" not in str(caught.value).casefold()


@pytest.mark.parametrize("state", [None, "", "ALICE", "22p02", "22P02 ", "42000"])
def test_only_a_code_of_the_fixed_list_is_told(state):
    assert named(state) == ""
    assert named("22P02") == "SQLSTATE 22P02, invalid text representation"


def test_an_unreachable_server():
    pytest.importorskip(
        "adbc_driver_postgresql", reason="the driver of PostgreSQL is not installed"
    )
    source = Sql("SELECT 1 AS a", attach="postgres://u:s3cr3t@127.0.0.1:1/db")
    told = "must be reachable, but it is down"
    refused(lambda: source.check(Domain({"a": 2})), told)
    refused(lambda: margin.release(source, domain={"a": 2}, budget=margin.PureDP(1)), told)


def released_by_command(folder, query, address, *more):
    """The exit code of `margin release` with a ledger, and the number of its charges."""
    (folder / "domain.json").write_text('{"a": 2, "b": 2}')
    ledger = margin.Ledger(folder / "agency.db")
    ledger.register("people", margin.PureDP(1))
    code = main(
        [
            *("release", "--sql", query, "--attach", address, "--epsilon", "1"),
            *("--domain", str(folder / "domain.json"), "-o", str(folder / "a.margin")),
            *("--ledger", str(folder / "agency.db"), "--dataset", "people"),
            *more,
        ]
    )
    return code, len(ledger.charged("people"))


def test_a_server_that_is_down_is_tried_again_later(tmp_path, capsys):
    pytest.importorskip(
        "adbc_driver_postgresql", reason="the driver of PostgreSQL is not installed"
    )
    down = "postgres://u:s3cr3t@127.0.0.1:1/db"
    assert released_by_command(tmp_path, "SELECT 1 AS a", down) == (75, 0)
    said = capsys.readouterr().err
    assert "nothing has been charged" in said and "s3cr3t" not in said


REFUSED = "connection to server at "
GONE = 'connection to server on socket "/run/db/.s.PGSQL.5432" failed: '
FOR_NOW = [
    f'{REFUSED}"127.0.0.1", port 1 failed: Connection refused\n\tIs the server running?\n',
    f'{REFUSED}"10.0.0.1", port 5432 failed: timeout expired\n',
    f'{REFUSED}"10.0.0.1", port 5432 failed: FATAL:  the database system is starting up\n',
    f'{REFUSED}"10.0.0.1", port 5432 failed: FATAL:  sorry, too many clients already\n',
    'could not translate host name "db" to address: Temporary failure in name resolution\n',
    f"{GONE}No such file or directory\n\tIs the server running locally?\n",
    f"{GONE}Connection refused\n\tIs the server running locally?\n",
]
FOR_A_PERSON = [
    f'{REFUSED}"10.0.0.1", port 5432 failed: FATAL:  password authentication failed for user "u"\n',
    f'{REFUSED}"10.0.0.1", port 5432 failed: fe_sendauth: no password supplied\n',
    f'{REFUSED}"10.0.0.1", port 5432 failed: FATAL:  role "u" does not exist\n',
    f'{REFUSED}"10.0.0.1", port 5432 failed: FATAL:  no pg_hba.conf entry for host "10.0.0.2"\n',
    f"{GONE}Permission denied\n\tIs the server running locally?\n",
    f'{REFUSED}"db", port 5432 failed: certificate file: No such file or directory\n',
    "could not open service file: No such file or directory\n",
    'could not translate host name "dbb" to address: Name or service not known\n',
    'invalid connection option "prot"\n',
    "etwas in einer anderen Sprache\n",
]


@pytest.mark.slow
def test_a_server_that_is_stopped_takes_its_socket_away(server, tmp_path, capsys):
    """A wrong folder of the socket looks the same, and the message says so."""
    folder = socket_of(server)
    by_socket = server.replace("127.0.0.1", folder)
    assert Sql("SELECT 1 AS a", attach=by_socket).check(Domain({"a": 2})) is None
    with stopped(server):
        for place in (by_socket, f"postgres:host={tmp_path} port=1 user=u dbname=d"):
            source = Sql("SELECT 1 AS a", attach=place)
            with pytest.raises(LostServerError, match="the folder of its socket"):
                source.check(Domain({"a": 2}))
        assert released_by_command(tmp_path, "SELECT 1 AS a", by_socket) == (75, 0)
    assert "nothing has been charged" in capsys.readouterr().err


@pytest.mark.parametrize("last", [*FOR_NOW, *FOR_A_PERSON])
@pytest.mark.parametrize("first", ["", FOR_NOW[0], FOR_A_PERSON[0]])
def test_only_a_server_that_may_answer_later_is_tried_again(first, last):
    """Of a host with two addresses, too: both must be away."""
    if first and not last.startswith("connection to server "):
        return  # the client says this of a name, of which it knows no address
    found = unreachable(OSError(f"IO: [libpq] Failed to connect: {first}{last}"))
    later = first in ("", FOR_NOW[0]) and last in FOR_NOW
    assert isinstance(found, TryAgainError) == later
    assert later or "the password" in found


def cut(server):
    """End all sessions of the server, as its restart does."""
    with session(server) as cursor:
        cursor.execute(
            "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity "
            "WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'"
        )
        return cursor.fetchall()


LARGE = "SELECT i % 2 AS a, repeat('x', 2000) AS b FROM generate_series(1, 40000) AS s(i)"


@pytest.mark.slow
def test_a_connection_that_is_lost_is_told_apart_from_a_query_that_fails(server):
    domain = Domain({"a": 2})
    batches = Sql(LARGE, attach=server).batches(domain)
    next(batches)
    cut(server)
    with pytest.raises(LostServerError, match="the connection was lost") as caught:
        list(batches)
    assert caught.value.__cause__ is None and caught.value.__context__ is None
    # A query that fails as late, with the words of a lost connection in a value.
    quoting = "SELECT (CASE WHEN i = 39999 THEN 'no connection to the server' ELSE '1' END)::int"
    late = Sql(quoting + LARGE.removeprefix("SELECT i % 2"), attach=server).batches(domain)
    with pytest.raises(DataError, match="must run without an error") as caught:
        list(late)
    assert not isinstance(caught.value, TryAgainError)


@pytest.mark.slow
def test_a_snapshot_that_is_lost_between_two_passes_is_told_as_such(server):
    source, domain = Sql("SELECT 1 AS a", attach=server), Domain({"a": 2})

    def passes():
        with one_table():
            list(source.batches(domain))
            cut(server)
            list(source.batches(domain))

    with pytest.raises(LostServerError, match="must keep the snapshot"):
        passes()


TWICE = """
from margin.synopses.estimate import estimate

class Twice:
    def run(self, private, workload, /):
        one = private.measure([["a"]], spend="0.5")
        return estimate(private.domain, [*one, *private.measure([["b"]])])
"""


@pytest.mark.slow
@pytest.mark.parametrize(("passes", "code"), [(1, 75), (2, 4)])
def test_a_server_that_goes_away_costs_the_budget_only_after_the_charge(
    server, tmp_path, monkeypatch, capsys, passes, code
):
    """The charge comes after the first pass."""
    own = tmp_path / f"twice_{passes}.py"  # a module of its own
    own.write_text(TWICE)
    batches, begun = Sql.batches, []

    def cutting(source, domain):
        begun.append(source)
        if len(begun) == passes:
            cut(server)
        return batches(source, domain)

    monkeypatch.setattr(Sql, "batches", cutting)
    mechanism = ["--mechanism", f"{own}:Twice"]
    found = released_by_command(tmp_path, "SELECT 1 AS a, 0 AS b", server, *mechanism)
    assert found == (code, passes - 1)
    said = capsys.readouterr().err
    assert "its connection was lost" in said
    assert ("nothing has been charged" in said) == (code == 75)


def test_without_its_driver_postgres_says_what_to_install(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "adbc_driver_postgresql", None)
    with pytest.raises(DataError, match="run pip install adbc-driver-postgresql"):
        Sql("SELECT 1", attach="postgres:host=x").check(NARROW)
