"""The rows of a comparison while it runs: what is done, what is missing, and the file of both."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import rows as row_files
from .reconciled import reconciled

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
    others: list[Row]
    written: int
    has_news: bool = False

    def add(self, made: list[Row]) -> None:
        """Take the rows of a task that has ended."""
        self.done[row_files.key_of(made[0])] = made
        self.has_news = True

    def rows(self) -> list[Row]:
        """The rows that were asked for and are there, judged by all rows of the file."""
        return self._judged()[len(self.others) :]

    def write(self) -> None:
        """Write all rows that there are to the file."""
        rows = self._judged()
        if rows and self.file is not None:
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
        return reconciled(self.others + ready)
