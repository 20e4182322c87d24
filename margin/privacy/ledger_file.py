"""The SQLite file of a ledger: one append-only table whose rows form a hash chain."""

import contextlib
import hashlib
import json
import os
import re
import secrets
import sqlite3
import urllib.parse
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ..errors import FileError, LedgerLockedError

__all__ = ["Entry", "append", "reading", "writing"]

_APPLICATION = 0x6D617267  # "marg"
_FORMAT = "margin ledger 2"
_FORMATS = re.compile(r"margin ledger [0-9]{1,9}")
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
    "no_update": (
        "CREATE TRIGGER no_update BEFORE UPDATE ON entry"
        " BEGIN SELECT RAISE(ABORT, 'append only'); END"
    ),
    "no_delete": (
        "CREATE TRIGGER no_delete BEFORE DELETE ON entry"
        " BEGIN SELECT RAISE(ABORT, 'append only'); END"
    ),
}


@dataclass(
    frozen=True,
    kw_only=True,
)
class Entry:
    """A row of the table in a ledger's file.

    Row 0 creates the ledger; every later row registers a data set or charges one.

    Attributes
    ----------
    sequence
        Number of the row, from 0.
    dataset
        Random identifier of the data set (row 0: of the ledger).
    action
        "create", "register" or "charge".
    units
        The total of a registration, or the cost of a charge, in units of 1e-12 of epsilon or rho.
    detail
        JSON text: the name and the statement (row 0: the format of the file).
    salt
        Random text. Without it, a hash in a release could reveal names to somebody who guesses.
    head
        SHA-256 of this row and of the hash before it.
    """

    sequence: int
    dataset: str
    action: str
    units: int
    detail: str
    salt: str
    head: str


@contextlib.contextmanager
def reading(path: Path) -> Iterator[tuple[Entry, ...]]:
    """Open the file to read it; gives all entries, after a check of the whole chain of hashes."""
    with _opened(path) as db:
        yield _entries(db, path)


@contextlib.contextmanager
def writing(
    path: Path, *, create: bool = False
) -> Iterator[tuple[sqlite3.Connection, tuple[Entry, ...]]]:
    """Open the file to write it; gives the database and all entries so far, after a check.

    No other process can write at the same time.

    When the block ends without an error, the transaction is on the disk.
    """
    if create and not os.path.lexists(path):
        _make(path)
    with _opened(path) as db:
        db.execute("BEGIN IMMEDIATE")
        yield db, _entries(db, path)
        db.execute("COMMIT")


def _make(path: Path) -> None:
    """Create a ledger file. It appears complete or not at all, and replaces no existing file.

    The file is written under another name and then linked to its own name. If two processes create
    it at the same time, one succeeds and the other finds the file. So an empty file is never a
    ledger that is being created.
    """
    part = path.with_name(f".margin-{secrets.token_hex(8)}.part")
    problem = ""
    try:
        with _opened(part, new=path) as db:
            db.execute("BEGIN IMMEDIATE")
            db.execute(f"PRAGMA application_id = {_APPLICATION}")
            for statement in _SCHEMA.values():
                db.execute(statement)
            append(
                db,
                (),
                dataset=secrets.token_hex(16),
                action="create",
                units=0,
                detail=_FORMAT,
            )
            db.execute("COMMIT")
        with contextlib.suppress(FileExistsError):
            os.link(part, path)
    except OSError as error:
        problem = error.strerror or type(error).__name__
    finally:
        part.unlink(missing_ok=True)
    if problem:
        raise FileError(
            f"the ledger {str(path)!r} cannot be created: {problem}; choose a folder on a local"
            " disk that you can write to"
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
    """Write a new entry after the others and return it; its salt is random unless one is given."""
    # Without the salt, a head in a release could reveal the names of data sets to a guesser.
    salt = salt or secrets.token_hex(16)
    sequence = 0
    before = ""
    if entries:
        sequence = entries[-1].sequence + 1
        before = entries[-1].head
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
    """Read all entries; FileError when the table or the chain was changed after it was written."""
    # The schema: this table with its triggers, and nothing else.
    application = db.execute("PRAGMA application_id").fetchone()[0]
    found = dict(db.execute("SELECT name, sql FROM sqlite_schema WHERE sql IS NOT NULL"))
    if application != _APPLICATION and found.keys() != _SCHEMA.keys():
        raise FileError(
            f"the path must lead to a ledger, but {str(path)!r} is another SQLite database; check "
            "the path"
        )
    if found != _SCHEMA:
        raise damaged(path, "its table or its triggers have been changed")

    # The chain: entries are numbered 0, 1, ..., and each hash covers the hash before it.
    entries: list[Entry] = []
    before = ""
    for row in db.execute("SELECT * FROM entry ORDER BY sequence"):
        *fields, head = row
        # A damaged page can hold values of other types.
        plain = all(isinstance(field, int | str) for field in fields)
        if not plain or fields[0] != len(entries) or head != _head(before, *fields):
            raise damaged(path, f"entry {len(entries)} has been changed")
        entries.append(Entry(**dict(zip(Entry.__dataclass_fields__, row, strict=True))))
        before = head

    # Entry 0, and only entry 0, creates the ledger.
    if not entries:
        raise damaged(path, "it has no entry")
    if entries[0].action != "create" or any(entry.action == "create" for entry in entries[1:]):
        raise damaged(path, "entry 0 must create the ledger, and no other entry may")
    if entries[0].detail != _FORMAT:
        detail = entries[0].detail
        which = repr(detail) if _FORMATS.fullmatch(detail) else "another format"
        raise FileError(
            f"the ledger {str(path)!r} must have the format {_FORMAT!r}, but another version of "
            f"margin created it with {which}; use that version (margin info FILE.margin names it, "
            "for a release that the ledger paid for), because a new ledger would not know what has "
            "been spent"
        )
    return tuple(entries)


def damaged(path: Path, problem: str) -> FileError:
    """The error for a ledger whose entries cannot be right."""
    return FileError(
        f"the ledger {str(path)!r} is damaged: {problem}; restore an undamaged copy from a backup"
    )


@contextlib.contextmanager
def _opened(path: Path, *, new: Path | None = None) -> Iterator[sqlite3.Connection]:
    """Open a database connection: a new one for each use, so that threads and forks share none.

    With `new` the file at `path` is created, and error messages name `new` instead.

    The database uses a rollback journal with synchronous=EXTRA: when COMMIT returns, the charge
    survives a crash and a loss of power.
    """
    shown = path if new is None else new
    if new is None:
        _check_there(path)
    mode = "rw" if new is None else "rwc"
    uri = f"file:{urllib.parse.quote(os.path.abspath(path))}?mode={mode}"
    problem = ""
    is_locked = False
    try:
        connection = sqlite3.connect(
            uri,
            uri=True,
            timeout=_WAIT,
            isolation_level=None,
        )
        with contextlib.closing(connection) as db:
            if db.execute("PRAGMA journal_mode = DELETE").fetchone()[0] != "delete":
                raise FileError(
                    f"the ledger {str(shown)!r} must be locked before it is used, but it cannot be "
                    "locked; close it in other programs"
                )
            db.execute("PRAGMA synchronous = EXTRA")
            db.execute("PRAGMA trusted_schema = OFF")
            yield db
    except sqlite3.Error as error:
        problem = _explained(error)
        is_locked = problem == _PROBLEMS["SQLITE_BUSY"]
    except UnicodeDecodeError:
        problem = _PROBLEMS["SQLITE_CORRUPT"]
    if problem:
        kind = LedgerLockedError if is_locked else FileError
        raise kind(f"the ledger {str(shown)!r} {problem} (nothing has been released)")


def _check_there(path: Path) -> None:
    """Raise FileError if the file is missing or empty: SQLite would make a new database of it."""
    try:
        empty = path.stat().st_size == 0
    except FileNotFoundError:
        raise FileError(
            f"the ledger {str(path)!r} does not exist; check the path, put its newest copy there "
            "if it was lost, or create it with `margin ledger create`"
        ) from None
    except OSError as error:
        problem = error.strerror or type(error).__name__
        raise FileError(
            f"the ledger {str(path)!r} cannot be opened: {problem}; check the path and its"
            " permissions"
        ) from None
    if empty:
        raise FileError(
            f"the ledger {str(path)!r} is damaged: it is empty; restore an undamaged copy from a"
            " backup, or create a ledger under a new name"
        )


def _explained(error: sqlite3.Error) -> str:
    name = getattr(error, "sqlite_errorname", type(error).__name__)
    for start, text in _PROBLEMS.items():
        if name.startswith(start):
            return text
    return f"cannot be used, because SQLite reported {name}; check the file and its disk"


_PROBLEMS = {
    "SQLITE_BUSY": "is locked by another process; try again later",
    "SQLITE_READONLY": "cannot be written; its file or folder is read-only, so change that",
    "SQLITE_CANTOPEN": "cannot be opened; its folder must exist and be writable, so check it",
    "SQLITE_FULL": "cannot be extended, because the disk is full; free some space",
    "SQLITE_IOERR": "cannot be read or written; check for a full or failing disk",
    "SQLITE_NOTADB": "is not a ledger, but another file; check the path",
    "SQLITE_CORRUPT": "is damaged; restore an undamaged copy from a backup",
}
