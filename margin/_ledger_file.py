"""The file of a ledger: one SQLite table to which rows are only added, each bound to the one before by a hash."""

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

from .errors import FileError

__all__ = ["Entry", "append", "reading", "writing"]

_APPLICATION = 0x6D617267  # "marg"
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
    with _opened(path, create=False) as db:
        yield _entries(db, path)


@contextlib.contextmanager
def writing(path: Path, *, create: bool = False) -> Iterator[tuple[sqlite3.Connection, tuple[Entry, ...]]]:
    """A transaction that no other process can come between, and all entries so far; on leaving it is on the disk."""
    with _opened(path, create=create) as db:
        db.execute("BEGIN IMMEDIATE")
        if create and not db.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]:
            db.execute(f"PRAGMA application_id = {_APPLICATION}")
            for statement in _SCHEMA.values():
                db.execute(statement)
            append(db, (), dataset=secrets.token_hex(16), action="create", units=0, detail="margin ledger 1")
        yield db, _entries(db, path)
        db.execute("COMMIT")


def append(
    db: sqlite3.Connection, entries: tuple[Entry, ...], *, dataset: str, action: str, units: int, detail: str
) -> Entry:
    """Add an entry behind the others."""
    salt = secrets.token_hex(16)  # so that no head in a release can be guessed from the names of data sets
    sequence, before = (entries[-1].sequence + 1, entries[-1].head) if entries else (0, "")
    head = _head(before, sequence, dataset, action, units, detail, salt)
    entry = Entry(sequence=sequence, dataset=dataset, action=action, units=units, detail=detail, salt=salt, head=head)
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
        raise FileError(f"{str(path)!r} is damaged: its table or its triggers have been changed; get a true copy")
    entries: list[Entry] = []
    before = ""
    for row in db.execute("SELECT * FROM entry ORDER BY sequence"):
        *fields, head = row
        plain = all(isinstance(field, int | str) for field in fields)  # a damaged page can hold values of other types
        if not plain or fields[0] != len(entries) or head != _head(before, *fields):
            raise FileError(f"{str(path)!r} is damaged: entry {len(entries)} is not as it was written; get a true copy")
        entries.append(Entry(**dict(zip(Entry.__dataclass_fields__, row, strict=True))))
        before = head
    if not entries:
        raise FileError(f"{str(path)!r} is damaged: it has no entry; get a true copy")
    return tuple(entries)


@contextlib.contextmanager
def _opened(path: Path, *, create: bool) -> Iterator[sqlite3.Connection]:
    """A connection of its own for each use: nothing is shared by threads or forked processes.

    A rollback journal with synchronous=EXTRA: when COMMIT returns, the charge survives a crash and a loss of power.
    """
    if not create and not path.exists():
        raise FileError(f"{str(path)!r} does not exist: make a ledger with `margin ledger create`")
    uri = f"file:{urllib.parse.quote(os.path.abspath(path))}?mode={'rwc' if create else 'rw'}"
    problem = ""
    try:
        with contextlib.closing(sqlite3.connect(uri, uri=True, timeout=_WAIT, isolation_level=None)) as db:
            if db.execute("PRAGMA journal_mode = DELETE").fetchone()[0] != "delete":
                raise FileError(f"{str(path)!r} cannot be locked: let other programs close it")
            db.execute("PRAGMA synchronous = EXTRA")
            db.execute("PRAGMA trusted_schema = OFF")
            yield db
    except sqlite3.Error as error:
        problem = _explained(error)
    except UnicodeDecodeError:
        problem = _PROBLEMS["SQLITE_CORRUPT"]
    if problem:
        raise FileError(f"{str(path)!r} {problem}; nothing has been released")


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
