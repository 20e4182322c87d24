"""The names of PostgreSQL's errors that may be told although rows caused them.

The words of the server quote cells, so they are never told. Nor is a code by itself: a function of
the database may make five letters of a cell its code (`RAISE ... USING ERRCODE`). Only a code of
this fixed list is told, with its fixed name. It adds to the fact that the query failed which kind
of failure it was, and no value.
"""

__all__ = ["named"]

_NAMES = {
    "21000": "cardinality violation",
    "22000": "data exception",
    "22001": "string data right truncation",
    "22003": "numeric value out of range",
    "22004": "null value not allowed",
    "22007": "invalid datetime format",
    "22008": "datetime field overflow",
    "2200G": "most specific type mismatch",
    "22011": "substring error",
    "22012": "division by zero",
    "2201B": "invalid regular expression",
    "2201E": "invalid argument for logarithm",
    "2201F": "invalid argument for power function",
    "22021": "character not in repertoire",
    "22023": "invalid parameter value",
    "22032": "invalid JSON text",
    "22P02": "invalid text representation",
    "22P03": "invalid binary representation",
    "22P05": "untranslatable character",
    "25006": "read-only SQL transaction",
    "40001": "serialization failure",
    "42501": "insufficient privilege",
    "42704": "undefined object",
    "42883": "undefined function",
    "42P01": "undefined table",
    "53100": "disk full",
    "53200": "out of memory",
    "53400": "configuration limit exceeded",
    "54001": "statement too complex",
    "55P03": "lock not available",
    "57014": "query canceled",
    "58030": "I/O error",
    "P0001": "raise exception",
    "XX000": "internal error",
    "XX001": "data corrupted",
}
"""Names by SQLSTATE, from appendix A of PostgreSQL's manual."""


def named(state: str | None) -> str:
    """The code and the name of an error, for a message; empty if the code is not in the list."""
    name = _NAMES.get(state or "")
    return f"SQLSTATE {state}, {name}" if name else ""
