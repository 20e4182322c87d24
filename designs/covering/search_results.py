"""Designs that long searches found: how a line of a text file stores each, and how it is read.

``starters.txt`` stores starter blocks and a group, and ``induced.txt`` stores induced designs.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from ..groups import Group, Permutations
from ..subsets import Block
from .block_text import as_text, from_text
from .classical_designs import classical_design, classical_points, long_name

STARTERS = Path(__file__).with_name("starters.txt")
INDUCED = Path(__file__).with_name("induced.txt")
PERMUTES = "~"  # first letter of a word that is a permutation; blocks have no point of this letter
DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
SHIPPED = "X"  # first letter of the name of a base design that ``starters.txt`` holds


@dataclass(
    frozen=True,
    kw_only=True,
)
class StarterDesign:
    """A design given by starter blocks, a group that moves them, and loose blocks.

    Parameters
    ----------
    group : Group or Permutations
        Its `v` is the number of points.
    k, t : int
        Points per block; strength.
    size : int
        Number of blocks of the whole design.
    starters, loose : tuples of blocks
        The group moves the starter blocks. It does not move the loose blocks.
    """

    group: Group | Permutations
    k: int
    t: int
    size: int
    starters: tuple[Block, ...]
    loose: tuple[Block, ...] = ()

    @property
    def provenance(self) -> str:
        """The origin of the design in words."""
        return f"a search {self.group}".rstrip()

    @property
    def blocks(self) -> list[Block]:
        """All blocks, ascending, each once."""
        return sorted({*self.group.expand(list(self.starters)), *self.loose})

    def line(self) -> str:
        """Write the design as a line of text, which `read_starter_design` reads."""
        if isinstance(self.group, Group):
            moved = [str(self.group.order), str(self.group.multiplier)]
        else:
            moved = [PERMUTES + as_text(images) for images in self.group.generators]
        numbers = [str(number) for number in (self.group.v, self.k, self.t, self.size)]
        words = [*numbers, *moved, *map(as_text, self.starters)]
        if self.loose:
            words += ["|", *map(as_text, self.loose)]
        return " ".join(words)


def read_starter_design(line: str) -> StarterDesign:
    """Read a design from a line of ``starters.txt``."""
    v, k, t, size, *words = line.split(" ")
    group: Group | Permutations
    if words[0].startswith(PERMUTES):
        generators = [word[1:] for word in words if word.startswith(PERMUTES)]
        group = Permutations(generators=from_text(generators))
        words = words[len(generators) :]
    else:
        group = Group(
            v=int(v),
            order=int(words[0]),
            multiplier=int(words[1]),
        )
        words = words[2:]
    end = words.index("|") if "|" in words else len(words)
    return StarterDesign(
        group=group,
        k=int(k),
        t=int(t),
        size=int(size),
        starters=from_text(words[:end]),
        loose=from_text(words[end + 1 :]),
    )


@cache
def shipped_designs() -> dict[tuple[int, int, int], StarterDesign]:
    """All designs of ``starters.txt`` by (v, k, t)."""
    lines = STARTERS.read_text(encoding="utf-8").splitlines()
    designs = [read_starter_design(line) for line in lines]
    return {(design.group.v, design.k, design.t): design for design in designs}


@dataclass(
    frozen=True,
    kw_only=True,
)
class InducedDesign:
    """A design made from a base design by replacing each base point by some number of points.

    Parameters
    ----------
    v, k, t, size : int
        Points, points per block, strength, blocks.
    base_name : str
        A short name such as ``A 2 8 1``, see `classical_design`; or ``X 27 6 4`` for the shipped
        design of this v, k and t.
    copies : tuple of int
        How many points each base point stands for.
    """

    v: int
    k: int
    t: int
    size: int
    base_name: str
    copies: tuple[int, ...]

    @property
    def base(self) -> Sequence[Block]:
        """The blocks of the base design."""
        if not self.base_name.startswith(SHIPPED):
            return classical_design(self.base_name).blocks
        v, k, t = map(int, self.base_name.split(" ")[1:])
        return shipped_designs()[v, k, t].blocks

    @property
    def provenance(self) -> str:
        """The origin of the design in words."""
        if self.base_name.startswith(SHIPPED):
            return "a design induced by the result of a search"
        return f"a design induced by the {long_name(self.base_name)}"

    def line(self) -> str:
        """Write the design as a line of text, which `read_induced_design` reads.

        It ends with the copies as digits of one number, the first copy being the lowest digit.
        """
        radix = max(2, max(self.copies) + 1)
        digits = "".join(DIGITS[number] for number in reversed(self.copies))
        value = int(digits, radix)
        base = self.base_name.replace(" ", "-")
        return f"{self.v} {self.k} {self.t} {self.size} {base} {radix} {value:x}"


def read_induced_design(line: str) -> InducedDesign:
    """Read a design from a line of ``induced.txt``."""
    v, k, t, size, base, radix, digits = line.split(" ")
    base_name = base.replace("-", " ")
    if base_name.startswith(SHIPPED):
        base_points = int(base_name.split(" ")[1])
    else:
        base_points = classical_points(base_name)
    rest = int(digits, 16)
    copies = []
    for _ in range(base_points):
        rest, number = divmod(rest, int(radix))
        copies.append(number)
    return InducedDesign(
        v=int(v),
        k=int(k),
        t=int(t),
        size=int(size),
        base_name=base_name,
        copies=tuple(copies),
    )


@cache
def shipped_induced_designs() -> dict[tuple[int, int, int], InducedDesign]:
    """All designs of ``induced.txt`` by (v, k, t)."""
    lines = INDUCED.read_text(encoding="ascii").splitlines()
    designs = [read_induced_design(line) for line in lines]
    return {(design.v, design.k, design.t): design for design in designs}
