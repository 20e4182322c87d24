"""The designs that long searches found, shipped as starter blocks and a group: a line of text each."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from .groups import Group
from .subsets import Block

STARTERS = Path(__file__).with_name("starters.txt")
INDUCED = Path(__file__).with_name("induced.txt")
ALPHABET = "".join(chr(code) for code in range(33, 127))  # a character a point


@dataclass(frozen=True, kw_only=True)
class Shipped:
    """A design told by starter blocks under a group and by loose blocks, which no group moves.

    Parameters
    ----------
    group : Group
        Its `v` is the number of points.
    k, t : int
        Points a block; strength.
    size : int
        Number of blocks, once expanded.
    starters, loose : tuples of blocks
    """

    group: Group
    k: int
    t: int
    size: int
    starters: tuple[Block, ...]
    loose: tuple[Block, ...] = ()

    @property
    def words(self) -> str:
        """Where the design is from."""
        maps = len(self.group.factors()) * self.group.order
        return "a search" if maps == 1 else f"a search under a group of {maps} maps"

    @property
    def blocks(self) -> list[Block]:
        """All blocks, ascending, each once."""
        return sorted({*self.group.expand(list(self.starters)), *self.loose})

    def line(self) -> str:
        """The line of text that `read` reads."""
        numbers = (self.group.v, self.k, self.t, self.size, self.group.order, self.group.multiplier)
        return " ".join(
            [*map(str, numbers), *map(_text, self.starters), *(["|"] if self.loose else []), *map(_text, self.loose)]
        )


def read(line: str) -> Shipped:
    """The design that a line of text tells."""
    parts = line.split(" ")
    v, k, t, size, order, multiplier = map(int, parts[:6])
    words = parts[6:]
    end = words.index("|") if "|" in words else len(words)
    return Shipped(
        group=Group(v=v, order=order, multiplier=multiplier),
        k=k,
        t=t,
        size=size,
        starters=_blocks(words[:end]),
        loose=_blocks(words[end + 1 :]),
    )


@cache
def shipped() -> dict[tuple[int, int, int], Shipped]:
    """All shipped designs by (v, k, t)."""
    designs = map(read, STARTERS.read_text(encoding="ascii").splitlines())
    return {(design.group.v, design.k, design.t): design for design in designs}


@dataclass(frozen=True, kw_only=True)
class Copies:
    """A design induced by a named one, whose points each stand for some number of points.

    Parameters
    ----------
    v, k, t, size : int
    words : str
        The short name of the base, such as ``A 2 8 1``; see `named.base`.
    numbers : tuple of int
        How many points each base point stands for.
    """

    v: int
    k: int
    t: int
    size: int
    words: str
    numbers: tuple[int, ...]

    def line(self) -> str:
        """The line of text that `read_copies` reads."""
        digits = "".join(map(_digit, self.numbers))
        return f"{self.v} {self.k} {self.t} {self.size} {self.words.replace(' ', '-')} {digits}"


def read_copies(line: str) -> Copies:
    """The induced design that a line of text tells."""
    v, k, t, size, words, digits = line.split(" ")
    numbers = tuple(int(digit, 36) for digit in digits)
    return Copies(v=int(v), k=int(k), t=int(t), size=int(size), words=words.replace("-", " "), numbers=numbers)


@cache
def shipped_copies() -> dict[tuple[int, int, int], Copies]:
    """All shipped induced designs by (v, k, t)."""
    designs = map(read_copies, INDUCED.read_text(encoding="ascii").splitlines())
    return {(design.v, design.k, design.t): design for design in designs}


def _digit(number: int) -> str:
    return "0123456789abcdefghijklmnopqrstuvwxyz"[number]


def _text(block: Block) -> str:
    return "".join(ALPHABET[point] for point in block)


def _blocks(words: Sequence[str]) -> tuple[Block, ...]:
    return tuple(tuple(ord(letter) - 33 for letter in word) for word in words)
