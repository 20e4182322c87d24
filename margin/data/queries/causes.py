"""What is likely to be wrong with the files of a query on DuckDB that has failed."""

from ..files import WELL_FORMED_CSV, WELL_FORMED_JSON

__all__ = ["likely_cause"]

_CHECKED = "margin domain check of this file, without a query, says more"

_CAUSES = {
    "CSV Error": f"a CSV file is not well-formed: {WELL_FORMED_CSV}; {_CHECKED}",
    "The CSV Parser": f"a CSV file is not well-formed: {WELL_FORMED_CSV}; {_CHECKED}",
    "Malformed JSON in file": f"a JSON file is not well-formed: {WELL_FORMED_JSON}; {_CHECKED}",
    "Failed to read file": "a Parquet file lacks a column; DuckDB's own shell says which",
}
"""What is likely to be wrong, by the first words of DuckDB about it."""


def likely_cause(error: Exception) -> str:
    """The cause of an error, for a message; empty if it is not known.

    The rest of DuckDB's words may quote cells, so nothing of them is kept, not even the number of a
    line: `error(...)` in a query makes any text of a cell. The cause is one of these fixed texts.
    """
    words = str(error).removeprefix("Invalid Input Error: ")
    found = (cause for first, cause in _CAUSES.items() if words.startswith(first))
    return next(found, "")
