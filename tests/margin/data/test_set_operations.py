"""Parquet files whose rows a query joins by UNION, INTERSECT or EXCEPT are converted to no common
type."""

import itertools
import re

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from margin.data.opening import open_source
from margin.data.queries.set_operations import mixes_parts
from margin.data.sql import Sql
from margin.domain.domain import Domain
from margin.errors import DataError

DOMAIN = Domain({"v": {"values": [1, 2], "other": "other"}})
OPERATIONS = ["UNION", "UNION ALL", "UNION ALL BY NAME", "INTERSECT", "INTERSECT ALL", "EXCEPT"]
INTEGERS = ["TINYINT", "BIGINT", "UBIGINT"]
KINDS = [
    *INTEGERS,
    "FLOAT",
    "DOUBLE",
    "DECIMAL(5, 2)",
    "DECIMAL(5, 1)",
    "VARCHAR",
    "DATE",
    "TIMESTAMP",
]
SAID = r"needs one type for each column that UNION.*'v' is .* in one part and .* in another"
IS_OLD = int(duckdb.__version__.split(".")[0]) < 2


def kept(folder, name, kind, rows="1"):
    """A Parquet file with a column of a type."""
    value = "DATE '2020-01-31'" if kind in ("DATE", "TIMESTAMP") else rows
    path = folder / f"{name}.parquet"
    duckdb.sql(f"SELECT 7 AS w, ({value})::{kind} AS v").write_parquet(str(path))
    return path


@pytest.fixture
def folder(tmp_path, monkeypatch):
    for kind in ("BIGINT", "INTEGER", "DOUBLE"):
        kept(tmp_path, kind.casefold(), kind)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("operation", OPERATIONS)
def test_parts_of_a_set_operation_have_one_type(operation, tmp_path):
    """Each operation with each pair of types, in both orders."""
    with duckdb.connect() as connection:
        for place, kind in enumerate(KINDS):
            path = kept(tmp_path, place, kind)
            connection.execute(f"CREATE VIEW t{place} AS FROM '{path}'")
        for (one, first), (other, second) in itertools.product(enumerate(KINDS), repeat=2):
            text = f"SELECT v FROM t{one} {operation} SELECT v FROM t{other}"
            problem = mixes_parts(connection.execute, [text])
            is_one_type = first == second or {first, second} <= {*INTEGERS}
            assert bool(problem) != is_one_type, (first, second)
            assert is_one_type or re.search(SAID, problem)


@pytest.mark.parametrize(("kind", "value"), [("DOUBLE", 2**53), ("VARCHAR", 2**53 + 1)])
def test_what_is_refused_changes_how_rows_are_read(kind, value, tmp_path):
    """2^53 + 1 beside a double is rounded. With the cast that the message advises, it is not."""
    one, other = kept(tmp_path, "one", "BIGINT", str(2**53 + 1)), kept(tmp_path, "other", kind)
    text = f"SELECT v{{cast}} FROM '{one}' UNION ALL SELECT v{{cast}} FROM '{other}'"
    assert float(duckdb.sql(text.format(cast="")).fetchall()[0][0]) == float(value)
    with pytest.raises(DataError, match=rf"{SAID}.*such as VARCHAR"):
        Sql(text.format(cast="")).check(DOMAIN)
    cast = text.format(cast="::VARCHAR AS v")
    Sql(cast).check(DOMAIN)
    assert duckdb.sql(cast).fetchall()[0] == (str(2**53 + 1),)


REFUSED = {
    "within WITH": "WITH w AS (FROM 'bigint.parquet'), u AS (SELECT v FROM w UNION ALL SELECT v "
    "FROM 'double.parquet') SELECT v FROM u",
    "through WITH": "WITH w AS MATERIALIZED (FROM 'bigint.parquet') SELECT v FROM w UNION ALL "
    "SELECT v FROM 'double.parquet'",
    "three parts": "SELECT v FROM 'bigint.parquet' UNION ALL SELECT v FROM 'integer.parquet' UNION "
    "ALL SELECT v FROM 'double.parquet'",
    "of two operations": "SELECT v FROM 'double.parquet' UNION ALL (SELECT v FROM 'bigint.parquet' "
    "INTERSECT SELECT v FROM 'bigint.parquet')",
    "in a condition": "SELECT v FROM 'bigint.parquet' WHERE v IN (SELECT v FROM 'bigint.parquet' "
    "EXCEPT SELECT v FROM 'double.parquet')",
    "a part without rows": "SELECT v FROM 'bigint.parquet' UNION ALL SELECT v FROM "
    "'double.parquet' WHERE false",
    "by name": "SELECT v, w FROM 'bigint.parquet' UNION BY NAME SELECT w, v FROM 'double.parquet'",
    "by place": "SELECT w AS v FROM 'bigint.parquet' UNION ALL SELECT v FROM 'double.parquet'",
    "recursive": "WITH RECURSIVE t AS (SELECT v FROM 'bigint.parquet' UNION ALL SELECT d.v FROM t, "
    "'double.parquet' AS d WHERE t.v < 0) SELECT v FROM t",
    "quoted": "FROM query('SELECT v FROM ''bigint.parquet'' UNION SELECT v FROM "
    "''double.parquet''')",
    "a comment": "SELECT v FROM 'bigint.parquet' UNION/**/ALL SELECT v FROM 'double.parquet'",
}
ACCEPTED = {
    "integers": "SELECT v FROM 'bigint.parquet' UNION ALL SELECT v FROM 'integer.parquet'",
    "a cast": "SELECT v FROM 'bigint.parquet' UNION ALL SELECT v::BIGINT FROM 'double.parquet'",
    "a cast around": "SELECT v FROM (SELECT v::VARCHAR AS v FROM 'bigint.parquet' UNION ALL SELECT "
    "v::VARCHAR FROM 'double.parquet')",
    "no value": "SELECT v, NULL AS x FROM 'bigint.parquet' UNION ALL SELECT w, v FROM "
    "'double.parquet'",
    "by name": "SELECT v, 'x' AS s FROM 'bigint.parquet' UNION BY NAME SELECT 'y' AS s, v FROM "
    "'integer.parquet'",
    "no column": "SELECT v FROM 'bigint.parquet' UNION BY NAME SELECT w FROM 'double.parquet'",
    "constants": "SELECT v FROM 'bigint.parquet' UNION ALL SELECT 1.5 UNION ALL VALUES (2.5)",
    "words": "SELECT v, 'union' AS \"except\" FROM 'bigint.parquet' -- intersect",
    "recursive": "WITH RECURSIVE t AS (SELECT 1 AS n, v FROM 'bigint.parquet' UNION ALL SELECT n + "
    "1, v FROM t WHERE n < 3) SELECT v FROM t",
    "from outside": "SELECT (SELECT max(y) FROM (SELECT b.v AS y UNION ALL SELECT 2.5)) AS v FROM "
    "'bigint.parquet' AS b",
    "without a file": "SELECT b.v FROM (SELECT 1 AS x UNION SELECT 2.5), 'bigint.parquet' AS b",
}


def attached(folder, made):
    """A database with a view, or a macro, of a text."""
    with duckdb.connect("d.duckdb") as connection:
        connection.execute(f"CREATE {made}")
    return str(folder / "d.duckdb")


@pytest.mark.parametrize("text", REFUSED.values(), ids=REFUSED)
def test_no_form_hides_a_set_operation(folder, text):
    quoted = text.replace("bigint.parquet", f"{folder}/bigint.parquet")
    quoted = quoted.replace("double.parquet", f"{folder}/double.parquet")
    path = attached(folder, f'VIEW "made AS (" AS {text}; CREATE MACRO rows() AS TABLE {text}')
    named = Sql('SELECT * FROM "made AS ("', attach=path)
    for query in (Sql(text), Sql(quoted), named, Sql("SELECT * FROM rows()", attach=path)):
        with pytest.raises(DataError, match=r"needs one type for each column that UNION"):
            query.check(DOMAIN)
    if not IS_OLD:
        with pytest.raises(DataError, match=r"relation needs one type for each column that UNION"):
            open_source(duckdb.sql(text))


@pytest.mark.parametrize("text", ACCEPTED.values(), ids=ACCEPTED)
def test_a_set_operation_that_converts_no_file_is_accepted(folder, text):
    # Before version 2 of DuckDB, a NULL by itself has the type INTEGER.
    text = text.replace("NULL AS x", "NULL::DOUBLE AS x") if IS_OLD else text
    path = attached(folder, f"VIEW made AS {text}")
    for query in (Sql(text), Sql("SELECT * FROM made", attach=path)):
        query.check(DOMAIN)
    open_source(duckdb.sql(text))


def test_a_part_that_cannot_be_looked_at_is_refused(folder):
    text = "SELECT v + x AS v FROM 'bigint.parquet' UNION SELECT v FROM 'integer.parquet'"
    path = attached(folder, f"MACRO rows(x) AS TABLE {text}")
    with pytest.raises(DataError, match=r"looked at by themselves.*let it use no column"):
        Sql("SELECT v FROM rows(1)", attach=path).check(DOMAIN)


def test_a_view_whose_name_is_part_of_a_word_is_not_looked_at(folder):
    mixed = "SELECT v FROM 'bigint.parquet' UNION SELECT v FROM 'double.parquet'"
    path = attached(folder, f"VIEW big AS {mixed}; CREATE VIEW other AS FROM BIG")
    Sql("SELECT v FROM 'bigint.parquet'", attach=path).check(DOMAIN)
    for name in ("big", "Big", '"BIG"', "attached.big", "(SELECT * FROM other)"):
        with pytest.raises(DataError, match=SAID):
            Sql(f"SELECT v FROM {name}", attach=path).check(DOMAIN)


@pytest.mark.parametrize("tables", ["['x', 'y']", "list_value('x', 'y')", "['x', 'y'], true"])
def test_the_tables_of_a_list_are_refused(folder, tables):
    """DuckDB joins them as UNION ALL does."""
    files = {"x": "bigint.parquet", "y": "double.parquet"}
    quoted = tables.replace("'", "''")
    for text in (f'"query_table"({tables})', f"query('FROM query_table({quoted})')"):
        with pytest.raises(DataError, match=r"the quoted name of one table.*by UNION ALL"):
            Sql(f"SELECT v FROM {text}", files=files).check(DOMAIN)
    Sql("SELECT v FROM query_table('x')", files=files).check(DOMAIN)


@pytest.mark.skipif(IS_OLD, reason="found from version 2 of DuckDB on")
@pytest.mark.parametrize("operation", ["union", "intersect", "except_"])
def test_the_operations_of_relations_are_found(folder, operation):
    """A setting of the user's connection is as before."""
    connection = duckdb.connect()
    one, same, other = (
        connection.sql(f"SELECT v FROM '{kind}.parquet'")
        for kind in ("bigint", "integer", "double")
    )
    open_source(getattr(one, operation)(same))
    with pytest.raises(DataError, match=SAID):
        open_source(getattr(one, operation)(other))
    setting = connection.sql("SELECT current_setting('explain_output')").fetchall()
    assert setting == duckdb.connect().sql("SELECT current_setting('explain_output')").fetchall()


def test_a_folder_of_one_name_is_compared_by_its_own_rule(tmp_path):
    """The view that stands for the files of a folder joins them by UNION ALL. A column without
    values has any type there."""
    pq.write_table(pa.table({"v": ["1", "2"]}), tmp_path / "1.parquet")
    pq.write_table(pa.table({"v": pa.nulls(2)}), tmp_path / "2.parquet")
    Sql("SELECT v FROM t UNION ALL SELECT v FROM t", files={"t": tmp_path}).check(DOMAIN)
