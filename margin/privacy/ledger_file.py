"""The file of a ledger: one SQLite table to which rows are only added, each bound to the one before
by a hash."""

import contextlib
import hashlib
import json
import os
import secrets
import sqlite3
import urllib.parse
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ..errors import FileError

__all__ = ["Entry", "append", "reading", "writing"]

_APPLICATION = 0x6D617267  # "marg"
_FORMAT = "margin ledger 2"
_WAIT = 60.0  # seconds for another process to finish its charge

_SCHEMA = {
    "entry": """CREATE TABLE entry (
  sequence INTEGER PRIMARY KEY CHECK (sequence >= 0),
  dataset TEXT NOT NULL,
  action TEXT NOT NULL CHECK (action IN ('create', 'register', 'charge')),
  units INTEGER NOT NULL CHECK (units >= 0),
  detail TEXT NOT NULL,
  salt TEXT NOT NULL,
  head TEXT NOT NULL UNIQUE
) STRICT""",
    "no_update": "CREATE TRIGGER no_update BEFORE UPDATE ON entry BEGIN SELECT RAISE(ABORT, 'append only'); END",
    "no_delete": "CREATE TRIGGER no_delete BEFORE DELETE ON entry BEGIN SELECT RAISE(ABORT, 'append only'); END",
}


@dataclass(frozen=True, kw_only=True)
class Entry:
    """A row: number 0 makes the ledger, the others register a data set or charge one."""

    sequence: int
    dataset: str
    action: str
    units: int
    detail: str
    salt: str
    head: str


@contextlib.contextmanager
def reading(path: Path) -> Iterator[tuple[Entry, ...]]:
    """All entries, checked."""
    with _opened(path) as db:
        yield _entries(db, path)


@contextlib.contextmanager
def writing(
    path: Path, *, create: bool = False
) -> Iterator[tuple[sqlite3.Connection, tuple[Entry, ...]]]:
    """A transaction that no other process can come between, and all entries so far; on leaving it
    is on the disk."""
    if create and not os.path.lexists(path):
        _make(path)
    with _opened(path) as db:
        db.execute("BEGIN IMMEDIATE")
        yield db, _entries(db, path)
        db.execute("COMMIT")


def _make(path: Path) -> None:
    """A new ledger, which appears whole or not at all, and replaces no file.

    It is made under another name and linked to its own: of two processes that make it, one does,
    and the other finds it. So an empty file is never a ledger that is being made.
    """
    part = path.with_name(f".margin-{secrets.token_hex(8)}.part")
    problem = ""
    try:
        with _opened(part, new=path) as db:
            db.execute("BEGIN IMMEDIATE")
            db.execute(f"PRAGMA application_id = {_APPLICATION}")
            for statement in _SCHEMA.values():
                db.execute(statement)
            append(db, (), dataset=secrets.token_hex(16), action="create", units=0, detail=_FORMAT)
            db.execute("COMMIT")
        with contextlib.suppress(FileExistsError):
            os.link(part, path)
    except OSError as error:
        problem = error.strerror or type(error).__name__
    finally:
        part.unlink(missing_ok=True)
    if problem:
        raise FileError(
            f"{str(path)!r} cannot be made: {problem}; a ledger must be on a local disk"
        )


def append(
    db: sqlite3.Connection,
    entries: tuple[Entry, ...],
    *,
    dataset: str,
    action: str,
    units: int,
    detail: str,
    salt: str | None = None,
) -> Entry:
    """Add an entry behind the others, with a random salt unless one is given."""
    salt = salt or secrets.token_hex(
        16
    )  # so that no head in a release can be guessed from the names of data sets
    sequence, before = (entries[-1].sequence + 1, entries[-1].head) if entries else (0, "")
    head = _head(before, sequence, dataset, action, units, detail, salt)
    entry = Entry(
        sequence=sequence,
        dataset=dataset,
        action=action,
        units=units,
        detail=detail,
        salt=salt,
        head=head,
    )
    db.execute("INSERT INTO entry VALUES (?, ?, ?, ?, ?, ?, ?)", tuple(vars(entry).values()))
    return entry


def _head(before: str, *fields: object) -> str:
    return hashlib.sha256(json.dumps([before, *fields]).encode()).hexdigest()


def _entries(db: sqlite3.Connection, path: Path) -> tuple[Entry, ...]:
    """All entries; FileError when the table or the chain is not as it was written."""
    application = db.execute("PRAGMA application_id").fetchone()[0]
    found = dict(db.execute("SELECT name, sql FROM sqlite_schema WHERE sql IS NOT NULL"))
    if application != _APPLICATION and found.keys() != _SCHEMA.keys():
        raise FileError(f"{str(path)!r} is not a ledger")
    if found != _SCHEMA:
        raise FileError(
            f"{str(path)!r} is damaged: its table or its triggers have been changed; get a true copy"
        )
    entries: list[Entry] = []
    before = ""
    for row in db.execute("SELECT * FROM entry ORDER BY sequence"):
        *fields, head = row
        plain = all(
            isinstance(field, int | str) for field in fields
        )  # a damaged page can hold values of other types
        if not plain or fields[0] != len(entries) or head != _head(before, *fields):
            raise FileError(
                f"{str(path)!r} is damaged: entry {len(entries)} is not as it was written; get a true copy"
            )
        entries.append(Entry(**dict(zip(Entry.__dataclass_fields__, row, strict=True))))
        before = head
    if not entries:
        raise FileError(f"{str(path)!r} is damaged: it has no entry; get a true copy")
    if entries[0].action != "create" or any(entry.action == "create" for entry in entries[1:]):
        raise FileError(
            f"{str(path)!r} is damaged: its first entry is not the first; get a true copy"
        )
    if entries[0].detail != _FORMAT:
        raise FileError(
            f"{str(path)!r} was made by another version, which knew no unit of protection: make a new one"
        )
    return tuple(entries)


@contextlib.contextmanager
def _opened(path: Path, *, new: Path | None = None) -> Iterator[sqlite3.Connection]:
    """A connection of its own for each use: nothing is shared by threads or forked processes. With
    `new` the file is made; that is then what messages call it.

    A rollback journal with synchronous=EXTRA: when COMMIT returns, the charge survives a crash and
    a loss of power.
    """
    shown = path if new is None else new
    if new is None:
        _check_there(path)
    uri = f"file:{urllib.parse.quote(os.path.abspath(path))}?mode={'rw' if new is None else 'rwc'}"
    problem = ""
    try:
        with contextlib.closing(
            sqlite3.connect(uri, uri=True, timeout=_WAIT, isolation_level=None)
        ) as db:
            if db.execute("PRAGMA journal_mode = DELETE").fetchone()[0] != "delete":
                raise FileError(f"{str(shown)!r} cannot be locked: let other programs close it")
            db.execute("PRAGMA synchronous = EXTRA")
            db.execute("PRAGMA trusted_schema = OFF")
            yield db
    except sqlite3.Error as error:
        problem = _explained(error)
    except UnicodeDecodeError:
        problem = _PROBLEMS["SQLITE_CORRUPT"]
    if problem:
        raise FileError(f"{str(shown)!r} {problem}; nothing has been released")


def _check_there(path: Path) -> None:
    """Refuse a file that is not there, or that was emptied: SQLite would take it for a new
    database."""
    try:
        empty = path.stat().st_size == 0
    except FileNotFoundError:
        raise FileError(
            f"{str(path)!r} does not exist: make a ledger with `margin ledger create`"
        ) from None
    except OSError as error:
        raise FileError(
            f"{str(path)!r} cannot be opened: {error.strerror or type(error).__name__}"
        ) from None
    if empty:
        raise FileError(
            f"{str(path)!r} is damaged: it is empty; get a true copy, or make a ledger under a new name"
        )


def _explained(error: sqlite3.Error) -> str:
    name = getattr(error, "sqlite_errorname", type(error).__name__)
    for start, text in _PROBLEMS.items():
        if name.startswith(start):
            return text
    return f"cannot be used ({name})"


_PROBLEMS = {
    "SQLITE_BUSY": "is locked by another process: try again",
    "SQLITE_READONLY": "cannot be written to: it, or its folder, is read-only",
    "SQLITE_CANTOPEN": "cannot be opened: its folder must exist and be writable",
    "SQLITE_FULL": "cannot be extended: the disk is full",
    "SQLITE_IOERR": "cannot be read or written: look for a full or failing disk",
    "SQLITE_NOTADB": "is not a ledger",
    "SQLITE_CORRUPT": "is damaged: get a true copy",
}
