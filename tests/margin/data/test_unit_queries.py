"""Which queries keep the guarantee of a unit: those that look at the rows of a unit alone."""

from collections import Counter

import numpy as np
import pytest

from margin import Domain, Sql
from margin.data.rows_per_person import bound

RNG = np.random.default_rng(11)
ROWS = [
    (f"p{RNG.integers(8)}", f"0{RNG.integers(1, 4)}.01.2027", RNG.integers(3), RNG.integers(2))
    for _ in range(60)
]
DOMAIN = Domain({"a": 3, "b": 2})
MOST = 2
DAY = "strptime(day, '%d.%m.%Y')"

KEEPING = {
    "row by row": "SELECT id, a, b FROM t WHERE a::INT < 2",
    "the latest": f"""
        SELECT * FROM t QUALIFY row_number() OVER (PARTITION BY id ORDER BY {DAY} DESC, t) = 1
    """,
    "finer parts": f"""
        SELECT * FROM t QUALIFY row_number() OVER (PARTITION BY id, b ORDER BY {DAY} DESC, t) = 1
    """,
    "a sum of the unit": "SELECT id, sum(a::INT) % 3 AS a, max(b) AS b FROM t GROUP BY id",
    "the unit's other rows": "SELECT * FROM t WHERE (id, a) IN (SELECT id, b FROM t)",
    "a public list": "SELECT t.* FROM t JOIN codes ON t.a = codes.a",
}
BREAKING = {
    "a rank among all": f"SELECT * FROM t QUALIFY row_number() OVER (ORDER BY {DAY} DESC, t) <= 15",
    "an order by others": """
        SELECT * FROM t QUALIFY row_number() OVER (
            PARTITION BY id ORDER BY (SELECT count(*) FROM t AS o WHERE o.day = t.day), t
        ) = 1
    """,
    "parts that units share": """
        SELECT * FROM t QUALIFY row_number() OVER (PARTITION BY day ORDER BY t) <= 5
    """,
    "thirds of all": "SELECT id, ntile(3) OVER (ORDER BY day, t) - 1 AS a, b FROM t",
    "frequent groups": """
        SELECT * FROM t WHERE day IN (SELECT day FROM t GROUP BY day HAVING count(*) >= 23)
    """,
}


def write(path, rows):
    path.write_text("\n".join(["id,day,a,b", *(",".join(map(str, row)) for row in rows)]))


def result(source):
    """The rows of each unit in the result."""
    found = {}
    for columns in source.columns(["id", "a", "b"]):
        for unit, *row in zip(*(column.to_pylist() for column in columns), strict=True):
            found.setdefault(unit, Counter())[tuple(map(str, row))] += 1
    return found


def counts(source):
    """The counts of all cells of the kept rows, with the same key."""
    table = Counter()
    for batch in bound(source, "id", MOST, bytes(16)).batches(DOMAIN):
        table.update(zip(batch["a"].tolist(), batch["b"].tolist(), strict=True))
    return table


def sources(text, folder):
    """A query on all rows, and for three units on the rows of all others."""
    (folder / "codes.csv").write_text("a\n0\n2\n")
    for unit in (None, "p0", "p1", "p2"):
        path = folder / f"{unit}.csv"
        # Another order of the rows, too: it must not matter.
        write(path, ROWS if unit is None else [row for row in ROWS[::-1] if row[0] != unit])
        yield unit, Sql(text, files={"t": path, "codes": folder / "codes.csv"})


def rows_of_others_change(whole, unit, source):
    others = {other: rows for other, rows in whole.items() if other != unit}
    return result(source) != others


@pytest.mark.parametrize("name", KEEPING)
def test_a_query_on_the_rows_of_each_unit_changes_for_one_unit_only(name, tmp_path):
    (_, source), *without = sources(KEEPING[name], tmp_path)
    whole = result(source)
    assert not any(rows_of_others_change(whole, unit, less) for unit, less in without)
    first = without[0][1]
    table, less = counts(source), counts(first)
    assert 0 < sum(abs(table[cell] - less[cell]) for cell in table | less) <= MOST


@pytest.mark.parametrize("name", BREAKING)
def test_a_query_on_the_rows_of_others_is_accepted_but_keeps_nothing(name, tmp_path):
    (_, source), *without = sources(BREAKING[name], tmp_path)
    whole = result(source)
    assert any(rows_of_others_change(whole, unit, less) for unit, less in without)
