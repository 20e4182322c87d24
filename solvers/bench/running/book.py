"""The rows of a comparison while it runs: what is done, what is missing, and the file of both."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import rows as row_files
from .machine import machine
from .reconciled import reconciled
from .verdict import Outcome

__all__ = ["Book"]

Row = dict[str, Any]
Key = tuple[Any, ...]


@dataclass(
    kw_only=True,
    eq=False,
)
class Book:
    """The rows of a comparison, by their tasks.

    Attributes
    ----------
    file
        The file of the rows, or None.
    asked
        The keys of the tasks that were asked for, in their order; see `rows.key_of`.
    done
        The rows of each of these tasks that has ended.
    begun
        The rows of each of these tasks that the file holds with fewer repeats.
    others
        The rows of all other tasks of the file.
    written
        The number of rows that the file holds.
    has_news
        Whether the file lacks rows of tasks that have ended.
    """

    file: Path | None
    asked: Sequence[Key]
    done: dict[Key, list[Row]]
    begun: dict[Key, list[Row]]
    others: list[Row]
    written: int
    has_news: bool = False

    @classmethod
    def opened(cls, file: Path | None, asked: Sequence[Row], *, again: bool) -> "Book":
        """The rows of a file, for tasks that are described by the fixed parts of their rows.

        What was lost is run again. What a solver did before its code was edited is left out. A
        ValueError if the file holds rows of another problem of the same name.
        """
        held = [] if file is None or not file.exists() else row_files.read(file)
        _check_problems(held, asked, file)
        keys = {row_files.key_of(row): row for row in asked}
        tasks = {row_files.task_of(row) for row in asked}
        fewer = {} if again else {_apart_from_repeats(row): key for key, row in keys.items()}
        done: dict[Key, list[Row]] = {}
        begun: dict[Key, dict[int, list[Row]]] = {}
        others = []
        lost = set()
        for row in held:
            key = row_files.key_of(row)
            longer = fewer.get(_apart_from_repeats(row))
            if row["outcome"] == Outcome.LOST:
                lost.add(key)
            if key in keys:
                done.setdefault(key, []).append(row)
            elif longer is not None and row["repeats"] < keys[longer]["repeats"]:
                begun.setdefault(longer, {}).setdefault(row["repeats"], []).append(row)
            elif row_files.task_of(row) not in tasks:
                others.append(row)
        for key in lost & done.keys():
            del done[key]
        book = cls(
            file=file,
            asked=list(keys),
            done=done,
            begun={},
            others=others,
            written=len(held),
        )
        for key, parts in begun.items():
            most = max(parts)
            if key not in done and row_files.key_of(parts[most][0]) not in lost:
                book._continue(key, parts.pop(most))
            book.others += [row for part in parts.values() for row in part]
        return book

    def _continue(self, key: Key, rows: list[Row]) -> None:
        """Take the rows of a task that has ended with fewer repeats than are asked for now."""
        if len(rows) == rows[0]["repeats"] + 1:
            self.begun[key] = rows
        else:
            # Its process ended before the last repeat, so that no more repeats would follow.
            self.add(_with_repeats(rows, key))

    def repeats_of(self, key: Key) -> int | None:
        """The number of repeats of a task that are there already; None if nothing is."""
        return len(self.begun[key]) - 1 if key in self.begun else None

    def add(self, made: list[Row]) -> None:
        """Take the rows of a task that has ended."""
        key = row_files.key_of(made[0])
        self.done[key] = _with_repeats(self.begun.pop(key, []), key) + made
        self.has_news = True

    def rows(self) -> list[Row]:
        """The rows that were asked for and are there, judged by all rows of the file."""
        return self._judged()[len(self._left()) :]

    def write_news(self) -> None:
        """Write all rows that there are to the file, if it lacks some."""
        if self.has_news and self.file is not None:
            rows = self._judged()
            row_files.write(rows, self.file)
            self.written = len(rows)
        self.has_news = False

    def kept(self) -> str:
        """What an interrupt leaves, in words."""
        if self.file is None:
            return "interrupted; no file was named, so no solve is kept"
        if not self.written:
            return (
                "interrupted; no solver has ended all its repeats on an instance, and the same "
                "comparison starts anew"
            )
        held = f"{str(self.file)!r} holds {self.written} solves"
        return f"interrupted; {held}, and the same comparison continues"

    def _judged(self) -> list[Row]:
        """The other rows, and those that were asked for and are there; see `reconciled`."""
        ready = [row for key in self.asked for row in self.done.get(key, [])]
        return reconciled(self._left() + ready)

    def _left(self) -> list[Row]:
        """The rows that are kept, but were not asked for as they are."""
        return self.others + [row for rows in self.begun.values() for row in rows]


def _check_problems(held: list[Row], asked: Sequence[Row], file: Path | None) -> None:
    """Refuse rows of another problem of the same name."""
    problems = {row["instance"]: _problem(row) for row in asked}
    for row in held:
        name = row["instance"]
        if problems.get(name, _problem(row)) != _problem(row):
            raise ValueError(
                f"{file} must hold rows of one problem of each name, but it holds rows of another "
                f"problem that was named {name!r}; give the new instance another name, or write to "
                "another file"
            )


def _problem(row: Row) -> tuple[Any, ...]:
    """What tells the problem of a row."""
    return row["family"], row["version"], row["digest"]


def _apart_from_repeats(row: Row) -> Key:
    """What rows of one task have in common if they can be shown together, but for the repeats."""
    made = {"machine": machine(), **row}
    return (*row_files.key_of({**row, "repeats": 0}), made["jobs"], made["machine"])


def _with_repeats(rows: list[Row], key: Key) -> list[Row]:
    """The rows, which belong to a task with more repeats now."""
    repeats = row_files.repeats_in(key)
    return [{**row, "repeats": repeats} for row in rows]
