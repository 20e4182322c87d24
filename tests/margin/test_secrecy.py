"""Connection strings hold passwords, and are shown nowhere."""

import importlib.util
import traceback

import pytest

import margin
from margin import Sql
from margin._secrecy import masked
from margin.cli.main import main

PASSWORD = "HUNTER2"
ADDRESSES = [
    f"postgresql+psycopg://bob:{PASSWORD}@db/x",
    f"Postgres:host=db password={PASSWORD}",
    f"postgres://bob:{PASSWORD}@127.0.0.1:1/x",
    f" postgres:host=db password={PASSWORD}",
    f"\tPOSTGRESQL://bob:{PASSWORD}@127.0.0.1:1/x",
    f"host=db password={PASSWORD}",
    f"host=db PASSWORD = '{PASSWORD} {PASSWORD}'",
    f"mysql://bob:{PASSWORD}@db/x",
    f"bob:{PASSWORD}@db",
    f"md:x?motherduck_token={PASSWORD}",
    f"jdbc:postgresql://db/x?user=bob&password={PASSWORD}",
]


@pytest.mark.parametrize("address", ADDRESSES)
def test_an_address_is_in_no_message_no_chain_and_no_repr(address):
    source = Sql("SELECT 1 AS a", attach=address)
    assert PASSWORD not in repr(source) and PASSWORD not in str(source)
    for call in (
        lambda: source.check(margin.Domain({"a": 2})),
        lambda: list(source.batches(margin.Domain({"a": 2}))),
        lambda: margin.release(source, domain={"a": 2}, budget=margin.PureDP(1)),
        lambda: margin.release(
            source, domain={"a": 2}, budget=margin.PureDP(1), unit="a", rows_per_person=1
        ),
    ):
        with pytest.raises(margin.DataError) as refused:
            call()
        assert PASSWORD not in "".join(traceback.format_exception(refused.value))


@pytest.mark.parametrize("address", ADDRESSES)
@pytest.mark.parametrize("place", ["--attach", "--debug", "file", "unknown", "suggest"])
def test_the_command_line_does_not_echo_it(address, place, tmp_path, monkeypatch, capsys):
    if (
        "://" not in address
        and "assword" not in address
        and place in ("file", "unknown", "suggest")
    ):
        pytest.skip("a text that could as well be a file's name, where a file's name is asked for")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "d.json").write_text('{"a": 2}')
    asked = ["--domain", "d.json", "--epsilon", "1", "-o", "x.margin"]
    arguments = {
        "--attach": ["release", "--sql", "SELECT 1 AS a", f"--attach={address}", *asked],
        "--debug": ["--debug", "release", "--sql", "SELECT 1 AS a", f"--attach={address}", *asked],
        "file": ["release", address, *asked],
        "unknown": ["release", "x.csv", address, *asked],
        "suggest": ["domain", "suggest", address, "--debug"],
    }[place]
    try:
        code = main(arguments)
    except SystemExit as left:
        code = left.code
    out, err = capsys.readouterr()
    # An address that the driver understands, but no server answers there: try again later.
    is_tried = address.startswith("postgres://") and place in ("--attach", "--debug")
    is_away = is_tried and importlib.util.find_spec("adbc_driver_postgresql") is not None
    assert code == (75 if is_away else 2) and PASSWORD not in out + err


def test_a_query_that_names_a_server_is_masked_too():
    query = f"SELECT * FROM postgres_scan('host=db password={PASSWORD}', 'public', 't')"
    assert PASSWORD not in repr(Sql(query)) and "SELECT * FROM postgres_scan" in repr(Sql(query))


def test_a_path_is_shown(tmp_path):
    with pytest.raises(margin.DataError, match=r"'none\.duckdb'"):
        Sql("SELECT 1 AS a", attach="none.duckdb").check(margin.Domain({"a": 2}))
    (tmp_path / "a=b.duckdb").write_text("x")
    with pytest.raises(margin.DataError, match=r"a=b\.duckdb"):
        Sql("SELECT 1 AS a", attach=str(tmp_path / "a=b.duckdb")).check(margin.Domain({"a": 2}))


@pytest.mark.parametrize(
    "text",
    [
        "C:/people.csv does not exist",
        "domain.json is not JSON: expecting value at line 3, column 1",
        "neighbours: add or remove one row, epsilon = 1",
        "give rows_per_person=3 or unit=person",
    ],
)
def test_other_texts_stay_as_they_are(text):
    assert masked(text) == text
