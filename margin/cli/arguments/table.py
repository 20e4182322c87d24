"""The options that name the private table: a file, or a query."""

import argparse
import os

import margin

from ...errors import MarginError

__all__ = ["add_table", "table_of"]

_SEVERAL = ("views", "workload", "asked", "mechanisms", "metrics")
"""Options of commands with a table that take several values."""


def add_table(parser: argparse.ArgumentParser) -> None:
    """Add the options that name the private table: a file or a query."""
    parser.add_argument(
        "file",
        nargs="?",
        metavar="TABLE",
        help="a CSV, Parquet or JSON file, a folder of such files, or a pattern such as "
        "'people*.csv'; leave it out if you give --sql",
    )
    parser.add_argument(
        "--sql",
        metavar="SELECT",
        help="a query whose rows are the table, such as \"SELECT * FROM 'x.parquet'\"",
    )
    parser.add_argument(
        "--attach",
        metavar="DATABASE",
        help="the database of the query: a DuckDB file, or postgres:host=... dbname=..., which "
        "cannot be combined with --table: a query reads either PostgreSQL or files",
    )
    parser.add_argument(
        "--table",
        action="append",
        default=[],
        metavar="NAME=FILE",
        help="a file, a folder of files or a pattern that the query refers to by NAME, with the "
        "columns that all of the files have, and without those in the names of folders; may be "
        "repeated; in CSV and JSON files, the query reads all cells as texts",
    )
    parser.add_argument(
        "--memory-limit",
        default="1GB",
        metavar="SIZE",
        help="the memory for reading the table, for the query, and for grouping rows by unit; "
        "what does not fit goes to a temporary folder; default: 1GB",
    )


def table_of(parsed: argparse.Namespace) -> object:
    """Find the table to read, from the options: the path of a file, or a query."""
    if parsed.file is None and parsed.sql is None:
        taken = "".join(
            f"; {option} takes several values, and the last one is the path of a file or a folder: "
            "if this is the table, write it before the options"
            for option in _ending_in_a_path(parsed)
        )
        raise MarginError(
            "this command needs a table, but none is given; add a file, or a query with "
            f"--sql{taken}"
        )
    if parsed.file is not None and parsed.sql is not None:
        raise MarginError(
            "the table comes either from a file or from --sql, but both are given; leave one of "
            "them out"
        )
    if parsed.sql is not None:
        files = dict(map(_named, parsed.table))
        return margin.Sql(
            parsed.sql,
            attach=parsed.attach,
            memory_limit=parsed.memory_limit,
            files=files,
        )
    if parsed.attach is not None:
        raise MarginError(
            "--attach names the database of a query, but no query is given; add the query with "
            "--sql"
        )
    if parsed.table:
        raise MarginError(
            "--table names a file for a query, but no query is given; add the query with --sql"
        )
    from ...data.folders import open_path

    return open_path(parsed.file, memory_limit=parsed.memory_limit)


def _ending_in_a_path(parsed: argparse.Namespace) -> list[str]:
    """The options of several values whose last value is the path of something that exists: they
    take a table that stands behind them."""
    return [
        f"--{name}"
        for name in _SEVERAL
        if (values := getattr(parsed, name, None)) and os.path.exists(values[-1])
    ]


def _named(text: str) -> tuple[str, str]:
    """Split one value of --table into a name and a path."""
    name, separator, path = text.partition("=")
    if not (name and separator and path):
        raise MarginError(
            f"--table must be NAME=FILE, but it is {text!r}; write it as in --table "
            "visits=visits.csv"
        )
    return name, path
