"""Files as tables of a query on DuckDB.

A table has the columns that all of its files have, by name. DuckDB would fill a column that a file
lacks with nulls, and a release would count them as if somebody had written them. So the query does
not see such a column. If it needs one, it is refused before any row is read, as files without a
query are. Names of columns are compared, so no refusal depends on a row, except that the columns of
a JSON file are the keys of its first records.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from ...errors import DataError
from ..failures import MixedTypesError, differing
from ..files import Field, FileSource, identifier
from ..folders import FilesSource, family

__all__ = ["LackedColumnError", "TableOfFiles", "is_named", "lacked"]

_QUOTE = '"'
"""What stands around a name in SQL. Inside of the name it is written twice."""


class LackedColumnError(DataError):
    """A query needs a column that only some files of a table have.

    Attributes
    ----------
    named
        The message for the holder of the data, with the whole path of a file that lacks the column.
        The names of its folders may be values of the data, so the message of a release lacks them.
    """

    def __init__(self, table: str, file: FileSource, name: str) -> None:
        before = "a table of a query has the columns that all of its files have, but"
        after = (
            f"of files={{{table!r}: ...}} has no column named {name!r}, which the query or the "
            "domain names; write this file anew, or leave it out; or give a name each to the files "
            "with this column and to those without it, and join them by UNION ALL"
        )
        super().__init__(f"{before} {file.described} {after}")
        whole = replace(file, shown=str(file.path))
        self.named = f"{before} {whole.described} {after}"


@dataclass(frozen=True)
class TableOfFiles:
    """The files of one table of a query, and what each of them says of its columns.

    Parameters
    ----------
    name
        The name of the table in the query.
    files
        The files.
    fields
        The columns of each file.
    """

    name: str
    files: tuple[FileSource, ...]
    fields: tuple[tuple[Field, ...], ...]

    @classmethod
    def read(
        cls,
        name: str,
        source: FileSource | FilesSource,
    ) -> "TableOfFiles":
        """The table of a file or of many. Of each file, its columns are read, but no row."""
        files = (source,) if isinstance(source, FileSource) else tuple(source.files)
        fields = tuple(tuple(file.fields()) for file in files)
        return cls(name, files, fields)

    def rows(self) -> str:
        """SQL for the rows of all files, with the columns that all of them have."""
        self._check_kinds()
        return self._joined([file.query(fields) for file, fields in self._with_columns()])

    def stub(self) -> str:
        """SQL that stands for the table in the plan. CSV and JSON files become tables of texts
        without rows, so that the plan does not read them."""
        if all(field.kind is not None for fields in self.fields for field in fields):
            return self.rows()
        return self._joined([_nothing(fields) for _, fields in self._with_columns()])

    @cached_property
    def partial(self) -> dict[str, tuple[str, FileSource]]:
        """The columns that only some files have: by the key of each its name, and the first file
        that lacks it."""
        names = {_key(field.name): field.name for fields in self.fields for field in fields}
        found: dict[str, tuple[str, FileSource]] = {}
        for file, fields in self._with_columns():
            held = {_key(field.name) for field in fields}
            for key, name in names.items():
                if key not in held:
                    found.setdefault(key, (name, file))
        return found

    def _with_columns(self) -> list[tuple[FileSource, tuple[Field, ...]]]:
        """The files with their columns. A JSON file without records has no columns and no rows, so
        it lacks nothing; it is kept if there is no other file."""
        pairs = list(zip(self.files, self.fields, strict=True))
        return [pair for pair in pairs if pair[1]] or pairs

    def _joined(self, rows: Sequence[str]) -> str:
        """SQL that joins the rows of the files, renames their columns c0, c1, ... to the names in
        each file, and leaves out the columns that only some of them have."""
        selects = []
        for (_, fields), text in zip(self._with_columns(), rows, strict=True):
            columns = [
                f"c{at} AS {identifier(field.name)}"
                for at, field in enumerate(fields)
                if _key(field.name) not in self.partial
            ]
            if not columns:
                raise DataError(
                    "the files of a table of a query must have columns in common, but those of "
                    f"files={{{self.name!r}: ...}} have none; write the files anew with the same "
                    "columns, or give each kind of file a name of its own"
                )
            selects.append(f"SELECT {', '.join(columns)} FROM {text}")
        return " UNION ALL BY NAME ".join(selects)

    def _check_kinds(self) -> None:
        """Refuse files in which a column has different types. DuckDB would cast the rows of one
        file to a type that suits the others, and a 32-bit 0.1 is not 0.1 in 64 bits."""
        families: dict[str, str] = {}
        kinds = []
        for file, fields in self._with_columns():
            for column in fields:
                if kind := _kind(column):
                    families[kind] = family(column.kind)
                    kinds.append((file.path, column.name, kind))
        for column_name, files in differing(kinds, key=str.casefold).items():
            # The source of a folder reads each file by itself, but not texts beside numbers.
            is_one_family = len({families[kind] for kind in files}) == 1
            folder = " (or pass the files themselves as data, without a query)"
            raise MixedTypesError(
                f"a query needs one type for each column, but the files of files={{{self.name!r}: "
                f"...}} hold column {column_name!r} in different types ({' and '.join(files)})",
                column=column_name,
                files=files,
                advice="write the files anew with one type, or give the files of each type a name "
                "of their own, cast the column to VARCHAR in each, and join them by UNION ALL"
                f"{folder if is_one_family else ''}",
            )


def lacked(
    tables: Iterable[TableOfFiles],
    is_needed: Callable[[str], bool],
) -> LackedColumnError | None:
    """The error if a column is needed that only some files of a table have."""
    for table in tables:
        for name, file in table.partial.values():
            if is_needed(name):
                return LackedColumnError(table.name, file, name)
    return None


def is_named(
    texts: Iterable[str],
    name: str,
) -> bool:
    """Whether the word `name` is in one of some texts of SQL, whatever it stands for there.

    A name that DuckDB does not find among the columns of a table may still be that of something
    else, such as a result of the query: in `SELECT 'x' AS a FROM t WHERE a IS NULL`, it is a column
    of t if there is one. So it is not enough that the query is valid without the column.
    """
    word = rf"(?<!\w){re.escape(name.replace(_QUOTE, 2 * _QUOTE).casefold())}(?!\w)"
    return any(re.search(word, text.casefold()) for text in texts)


def _nothing(fields: Sequence[Field]) -> str:
    """SQL for texts without rows, with columns c0, c1, ... for the fields."""
    nulls = [f"NULL::VARCHAR AS c{at}" for at in range(len(fields))]
    return f"(SELECT {', '.join(nulls)}) WHERE false"


def _key(name: str) -> str:
    """A text that is the same for names that DuckDB takes for one: only the case of ASCII letters
    makes no difference."""
    return name.encode("utf-8", "surrogatepass").lower().decode("utf-8", "surrogatepass")


def _kind(column: Field) -> str:
    """The type of a column as a text for comparison; empty if the file does not state it. Integers
    of all widths are one type."""
    from pyarrow import types

    kind = column.kind
    if kind is None or types.is_null(kind):
        return ""
    kind = kind.value_type if types.is_dictionary(kind) else kind
    return "integer" if types.is_integer(kind) else str(kind).removeprefix("large_")
