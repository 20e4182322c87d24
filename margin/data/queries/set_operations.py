"""Whether a set operation of a DuckDB query converts rows of one Parquet file because of another.

UNION, INTERSECT and EXCEPT give each column a type that suits all their parts, and DuckDB converts
the rows of each part to it: 2^53 + 1 beside doubles is rounded, and beside texts 1 is '1' but 1.0
is '1.0'. The type of a Parquet file may depend on its rows, since some libraries write integers as
doubles if one value is missing. One row of a file would then decide how those of another are read.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any

from ..files import quoted
from .types_of_files import numbered

__all__ = ["mixes_parts"]

_WORDS = re.compile(r"\b(UNION|INTERSECT|EXCEPT|QUERY_TABLE)\b", re.IGNORECASE)

_TABLES = re.compile(r"\bQUERY_TABLE\s*\((?!\s*'\d+'\s*\))", re.IGNORECASE)
"""A function that joins the tables of a list, as UNION ALL does; see `types_of_files.numbered`."""

_VIEW = re.compile(r'CREATE\s[^"]*?VIEW\s(?:[^"(]|"[^"]*")*?(?:\((?:[^")]|"[^"]*")*\)\s*)?\sAS\s')
"""What stands before the query in the definition of a view, as DuckDB writes it."""

_INTEGERS = re.compile(r"U?(TINYINT|SMALLINT|INTEGER|BIGINT)|HUGEINT")
"""Types whose common type holds each of their numbers."""

_NOTHING = '"NULL"'
"""The type of a column that is NULL in the text of a query; before version 2, it is INTEGER."""

_UNKNOWN = (
    "needs parts of UNION, INTERSECT and EXCEPT that can be looked at by themselves, so that their "
    "types can be compared, but one of them cannot; let it use no column and no parameter from "
    "outside, and no table that is a variable of Python"
)

_LISTED = (
    "must give query_table the quoted name of one table, but it gives a list, so that the types of "
    "the tables cannot be compared; join the tables by UNION ALL"
)

_Node = Mapping[str, Any]  # a part of a query in the JSON of DuckDB's parser


def mixes_parts(run: Callable[[str], Any], texts: Sequence[str]) -> str:
    """Why a set operation may convert rows of one Parquet file because of the type of another, and
    what to do, for a message; empty if none does.

    The parts of an operation that read Parquet files must have one type for each column. Integers
    of all widths are one type. A cast in a part is a declaration: the part has the type of the
    cast. The parts are planned, and not run. Not compared are parts of which only columns from
    outside read Parquet files, as in a subquery `(SELECT x.a UNION SELECT y.b)`.

    Parameters
    ----------
    run
        Runs a query on the DuckDB connection of the queries; its result has `fetchall`.
    texts
        The query and the definitions that it uses; see `types_of_files.definitions`.
    """
    for text, is_quoted in _searched(texts):
        if _TABLES.search(numbered(text)[0]):
            return _LISTED
        parsed = json.loads(_value(run, f"SELECT json_serialize_sql({quoted(text)})"))
        if parsed["error"] and not is_quoted:
            return _UNKNOWN
        for operation, parts in _operations(parsed.get("statements", [])):
            columns = [_columns(run, part) for part in parts]
            if None in columns:
                return _UNKNOWN
            by_name = operation.get("setop_type") == "UNION_BY_NAME"
            if problem := _compared([found for found in columns if found], by_name):
                return problem
    return ""


def _searched(texts: Sequence[str]) -> Iterator[tuple[str, bool]]:
    """The texts with words of set operations, and whether each was found within a quoted text,
    which need not be a query."""
    searched = [(_VIEW.sub("", text, count=1), False) for text in texts]
    for text, is_quoted in searched:
        if _WORDS.search(text):
            yield text, is_quoted
            searched += [(value, True) for value in numbered(text)[1]]


def _operations(node: Any, defined: Sequence[_Node] = ()) -> Iterator[tuple[_Node, list[_Node]]]:
    """Each set operation within a parsed query, and its parts as queries of their own.

    `defined` are the definitions of WITH around the node, which the parts may use.
    """
    if isinstance(node, list):
        for one in node:
            yield from _operations(one, defined)
    if not isinstance(node, dict):
        return
    own = list(defined)
    for entry in node.get("cte_map", {}).get("map", []):
        # A definition may use those before it, and a recursive one also itself.
        is_recursive = _defining(entry)["type"] == "RECURSIVE_CTE_NODE"
        yield from _operations(entry["value"], [*own, entry] if is_recursive else own)
        own.append(entry)
    if node.get("type") in ("SET_OPERATION_NODE", "RECURSIVE_CTE_NODE"):
        # Before version 2 of DuckDB, each operation has two parts.
        parts = [node.get("left"), node.get("right"), *node.get("children", [])]
        yield node, [_with(part, own) for part in parts if part]
    for name, child in node.items():
        if name != "cte_map":
            yield from _operations(child, own)


def _defining(entry: _Node) -> _Node:
    """The query of a definition of WITH; before version 2 of DuckDB, it is within a statement."""
    value = entry["value"]
    found: _Node = value["query_node"] if "query_node" in value else value["query"]["node"]
    return found


def _with(part: _Node, defined: Sequence[_Node]) -> _Node:
    """A part of a set operation with the definitions of WITH around it."""
    entries = {entry["key"]: entry for entry in [*defined, *part["cte_map"]["map"]]}
    return {**part, "cte_map": {"map": list(entries.values())}}


def _columns(run: Callable[[str], Any], part: _Node) -> list[tuple[str, str]] | None:
    """The names and types of the columns of a part; empty if it reads no Parquet file, and None if
    it cannot be looked at by itself."""
    parsed = {"error": False, "statements": [{"node": part, "named_param_map": []}]}
    query = _value(run, f"SELECT json_deserialize_sql({quoted(json.dumps(parsed))})")
    try:
        plan = str(run(f"EXPLAIN {query}").fetchall())
    except Exception as error:
        if type(error).__name__ not in ("BinderException", "CatalogException"):
            raise
        return None if "PARQUET" in query.upper() else []
    if "PARQUET" not in plan.upper():
        return []
    return [(name, kind) for name, kind, *_ in run(f"DESCRIBE {query}").fetchall()]


def _compared(parts: Sequence[Sequence[tuple[str, str]]], by_name: bool) -> str:
    """How the types of columns that an operation joins differ, for a message; empty if they do
    not."""
    columns = [
        (name.casefold() if by_name else f"{place:06}", name, kind)
        for part in parts
        for place, (name, kind) in enumerate(part)
        if kind != _NOTHING
    ]
    columns.sort(key=itemgetter(0))
    for _, joined in groupby(columns, key=itemgetter(0)):
        found: dict[str, tuple[str, str]] = {}
        for _, name, kind in joined:
            found.setdefault("integer" if _INTEGERS.fullmatch(kind) else kind, (name, kind))
        if len(found) > 1:
            (name, one), (_, other), *_ = found.values()
            return (
                "needs one type for each column that UNION, INTERSECT or EXCEPT joins, but column "
                f"{name!r} is {one} in one part and {other} in another, so that DuckDB would "
                "convert rows of one Parquet file because of another file; cast the column in "
                "each part to one type, such as VARCHAR"
            )
    return ""


def _value(run: Callable[[str], Any], query: str) -> Any:
    """The only value of a query's result."""
    ((value,),) = run(query).fetchall()
    return value
