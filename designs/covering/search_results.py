"""The designs that long searches found, shipped as starter blocks and a group: a line of text each."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from ..groups import Group, Permutations
from ..subsets import Block
from .block_text import as_text, from_text
from .classical_designs import base as named_base
from .classical_designs import described, points

STARTERS = Path(__file__).with_name("starters.txt")
PERMUTES = "~"  # begins a word that is a permutation; no block begins with so large a point
DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
SHIPPED = "X"  # begins the name of a base that is shipped
INDUCED = Path(__file__).with_name("induced.txt")


@dataclass(frozen=True, kw_only=True)
class Shipped:
    """A design told by starter blocks under a group and by loose blocks, which no group moves.

    Parameters
    ----------
    group : Group or Permutations
        Its `v` is the number of points.
    k, t : int
        Points a block; strength.
    size : int
        Number of blocks, once expanded.
    starters, loose : tuples of blocks
    """

    group: Group | Permutations
    k: int
    t: int
    size: int
    starters: tuple[Block, ...]
    loose: tuple[Block, ...] = ()

    @property
    def words(self) -> str:
        """Where the design is from."""
        return f"a search {self.group}".rstrip()

    @property
    def blocks(self) -> list[Block]:
        """All blocks, ascending, each once."""
        return sorted({*self.group.expand(list(self.starters)), *self.loose})

    def line(self) -> str:
        """The line of text that `read` reads."""
        if isinstance(self.group, Group):
            moved = [str(self.group.order), str(self.group.multiplier)]
        else:
            moved = [PERMUTES + as_text(images) for images in self.group.generators]
        words = [
            *map(str, (self.group.v, self.k, self.t, self.size)),
            *moved,
            *map(as_text, self.starters),
        ]
        return " ".join([*words, *(["|", *map(as_text, self.loose)] if self.loose else [])])


def read(line: str) -> Shipped:
    """The design that a line of text tells."""
    v, k, t, size, *words = line.split(" ")
    group: Group | Permutations
    if words[0].startswith(PERMUTES):
        generators = [word[1:] for word in words if word.startswith(PERMUTES)]
        group = Permutations(generators=from_text(generators))
        words = words[len(generators) :]
    else:
        group = Group(v=int(v), order=int(words[0]), multiplier=int(words[1]))
        words = words[2:]
    end = words.index("|") if "|" in words else len(words)
    return Shipped(
        group=group,
        k=int(k),
        t=int(t),
        size=int(size),
        starters=from_text(words[:end]),
        loose=from_text(words[end + 1 :]),
    )


@cache
def shipped() -> dict[tuple[int, int, int], Shipped]:
    """All shipped designs by (v, k, t)."""
    designs = map(read, STARTERS.read_text(encoding="utf-8").splitlines())
    return {(design.group.v, design.k, design.t): design for design in designs}


@dataclass(frozen=True, kw_only=True)
class Copies:
    """A design induced by a named one, whose points each stand for some number of points.

    Parameters
    ----------
    v, k, t, size : int
    words : str
        The short name of the base, such as ``A 2 8 1``, see `named.base`; or ``X 27 6 4`` for a
        shipped design.
    numbers : tuple of int
        How many points each base point stands for.
    """

    v: int
    k: int
    t: int
    size: int
    words: str
    numbers: tuple[int, ...]

    @property
    def base(self) -> Sequence[Block]:
        """The blocks of the base."""
        if not self.words.startswith(SHIPPED):
            return named_base(self.words).blocks
        v, k, t = map(int, self.words.split(" ")[1:])
        return shipped()[v, k, t].blocks

    @property
    def description(self) -> str:
        """Where the design is from."""
        name = "result of a search" if self.words.startswith(SHIPPED) else described(self.words)
        return f"a design induced by the {name}"

    def line(self) -> str:
        """The line of text that `read_copies` reads; it ends with the numbers as digits, the first
        the lowest."""
        radix = max(2, max(self.numbers) + 1)
        value = int("".join(DIGITS[number] for number in reversed(self.numbers)), radix)
        return f"{self.v} {self.k} {self.t} {self.size} {self.words.replace(' ', '-')} {radix} {value:x}"


def read_copies(line: str) -> Copies:
    """The induced design that a line of text tells."""
    v, k, t, size, words, radix, digits = line.split(" ")
    words = words.replace("-", " ")
    value, numbers = int(digits, 16), []
    for _ in range(int(words.split(" ")[1]) if words.startswith(SHIPPED) else points(words)):
        value, number = divmod(value, int(radix))
        numbers.append(number)
    return Copies(v=int(v), k=int(k), t=int(t), size=int(size), words=words, numbers=tuple(numbers))


@cache
def shipped_copies() -> dict[tuple[int, int, int], Copies]:
    """All shipped induced designs by (v, k, t)."""
    designs = map(read_copies, INDUCED.read_text(encoding="ascii").splitlines())
    return {(design.v, design.k, design.t): design for design in designs}
