"""What is likely to be wrong with the files of a query on DuckDB that has failed."""

from ..._secrecy import masked
from ...errors import DataError
from ..failures import duckdb_words, is_damage, lacks_column
from ..files import WELL_FORMED_CSV, WELL_FORMED_JSON
from .types_of_files import numbered

__all__ = ["FailedQueryError", "likely_cause", "missing_file", "on_a_lacking_column"]

_NAMED = "margin domain check with this query names the file"

_CAUSES = {
    "CSV Error": f"a CSV file is not well-formed: {WELL_FORMED_CSV}; {_NAMED}",
    "The CSV Parser": f"a CSV file is not well-formed: {WELL_FORMED_CSV}; {_NAMED}",
    "Malformed JSON in file": f"a JSON file is not well-formed: {WELL_FORMED_JSON}; {_NAMED}",
}
"""What is likely to be wrong, by the first words of DuckDB about it."""


class FailedQueryError(DataError):
    """A query on DuckDB that failed while it read rows. A file may be the cause."""


def likely_cause(error: Exception) -> str:
    """The cause of an error, for a message; empty if it is not known.

    The rest of DuckDB's words may quote cells, so nothing of them is kept, not even the number of a
    line: `error(...)` in a query makes any text of a cell. The cause is one of these fixed texts.
    """
    if lacks_column(error):
        return f"a Parquet file lacks a column; {_NAMED}"
    if is_damage(error):
        return f"a Parquet file is damaged; {_NAMED}; copy it again, or write it anew"
    words = duckdb_words(error)
    found = (cause for first, cause in _CAUSES.items() if words.startswith(first))
    return next(found, "")


def missing_file(error: Exception, text: str) -> str:
    """What is wrong if a query names a file, or a pattern of files, that is not there; else empty.

    DuckDB's words are compared with each quoted text of the query, and never shown. So the message
    is one of these texts, which the owner of the query wrote, and depends on the names of files
    alone: no row makes DuckDB begin an error with these words, since `error(...)` in a query has
    others. Of a long list, DuckDB looks for the third file and those behind it only when it runs.
    """
    said = str(error).partition("\n")[0]
    for path in numbered(text)[1]:
        if said == f'IO Error: No files found that match the pattern "{path}"':
            return (
                "must find a file for each path and pattern that it reads, but there is none for "
                f"{masked(path)!r}; correct it, or start again when the files are there"
            )
    return ""


def on_a_lacking_column(told: str) -> str:
    """DuckDB's message about the text of a query, with an explanation where it misleads.

    Of `lower(page) AS page`, where the table has no column `page`, DuckDB speaks of the result.
    """
    if "cannot be referenced before it is defined" not in told:
        return told
    return f"{told}; the tables of the query have no column of this name: AS gives it to a result"
