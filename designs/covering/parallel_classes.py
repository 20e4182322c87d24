"""Parallel classes: partitions of the points such that each two points share a block of one of
them.

A covering of pairs that falls into such classes is called resolvable. Two of them, class with
class, make coverings of triples; one, whose classes are each given further points, makes coverings
of pairs: see `rules`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from ..geometry.flats_and_circles import affine_geometry
from ..gf import prime_power
from ..groups import Group
from ..subsets import Block
from ..types import Integers
from .block_text import as_text, from_text

FILE = Path(__file__).with_name("classes.txt")
MOST_POINTS, WIDEST = 99, 12
UNKNOWN = 10**6  # the number of classes where none are known

Class = list[Block]
"""Blocks that together hold every point; here always ceil(v / width) of them, or less."""


@dataclass(frozen=True, kw_only=True)
class Classes:
    """Parallel classes told by base classes, of which a cyclic group makes the others.

    Parameters
    ----------
    group : Group
        Its `v` is the number of points; multiplier 1.
    width : int
        Points a block, at most.
    base : tuple of tuples of blocks
    """

    group: Group
    width: int
    base: tuple[tuple[Block, ...], ...]

    @property
    def count(self) -> int:
        """Number of classes."""
        return self.group.order * len(self.base)

    def expand(self) -> list[Class]:
        """All classes."""
        images = [
            [self.group.images(np.array(block)).tolist() for block in one] for one in self.base
        ]
        return [
            [tuple(sorted(set(block[i]))) for block in one]
            for one in images
            for i in range(self.group.order)
        ]

    def line(self) -> str:
        """The line of text that `read_classes` reads."""
        classes = [" ".join(map(as_text, one)) for one in self.base]
        return f"{self.group.v} {self.width} {self.group.order} {' | '.join(classes)}"


def read_classes(line: str) -> Classes:
    """The parallel classes that a line of text tells."""
    v, width, order, words = line.split(" ", 3)
    base = tuple(from_text(one.split(" ")) for one in words.split(" | "))
    return Classes(group=Group(v=int(v), order=int(order)), width=int(width), base=base)


@cache
def shipped_classes() -> dict[tuple[int, int], Classes]:
    """All shipped parallel classes by (v, width)."""
    found = map(read_classes, FILE.read_text(encoding="ascii").splitlines())
    return {(classes.group.v, classes.width): classes for classes in found}


@cache
def class_counts() -> Integers:
    """How many parallel classes of ceil(v / width) blocks each hold all pairs, by width and v;
    UNKNOWN where none are.

    From shipped ones, lines of affine planes and matchings; points are deleted as long as the
    number of blocks stays, points stand for several, and blocks are widened.
    """
    counts = np.full((WIDEST + 1, MOST_POINTS + 1), UNKNOWN)
    for width, v, count in _known():
        counts[width, v] = min(counts[width, v], count)
    for width in range(2, WIDEST + 1):
        counts[width, : width + 1] = 1
        for v in range(width + 1, MOST_POINTS + 1):
            for rule in _derivations(width, v):
                counts[width, v] = min(counts[width, v], counts[rule])
        for v in reversed(range(width + 1, MOST_POINTS)):
            if v % width:
                counts[width, v] = min(counts[width, v], counts[width, v + 1])
    return counts


def parallel_classes(v: int, width: int) -> list[Class]:
    """As many parallel classes as `class_counts` says."""
    count = class_counts()[width, v]
    if v <= width:
        return [[tuple(range(v))]]
    if (v, width) in shipped_classes() and shipped_classes()[v, width].count == count:
        return shipped_classes()[v, width].expand()
    if width == 2:
        return _matchings(v)
    if width * width == v and prime_power(width) and count == width + 1:
        return _directions(width)
    if v % width and v < MOST_POINTS and class_counts()[width, v + 1] == count:
        return [
            [tuple(p for p in block if p < v) for block in one]
            for one in parallel_classes(v + 1, width)
        ]
    narrow, n = next(rule for rule in _derivations(width, v) if class_counts()[rule] == count)
    copies = width // narrow if n < v else 1
    return [
        [
            tuple(
                p for point in block for p in range(point * copies, min(point * copies + copies, v))
            )
            for block in one
        ]
        for one in parallel_classes(n, narrow)
    ]


def _known() -> list[tuple[int, int, int]]:
    """Width, v and number of the parallel classes that need no others."""
    known = [(width, v, classes.count) for (v, width), classes in shipped_classes().items()]
    known += [(2, v, v - 1 + v % 2) for v in range(3, MOST_POINTS + 1)]
    return known + [(q, q * q, q + 1) for q in range(3, 10) if prime_power(q)]


def _derivations(width: int, v: int) -> list[tuple[int, int]]:
    """Widths and numbers of points whose parallel classes give some here of as many blocks, by
    widening or copies."""
    rules = [(width - 1, v)] if -(-v // width) == -(-v // (width - 1)) else []
    for copies in range(2, width // 2 + 1):
        n = -(-v // copies)
        if width % copies == 0 and -(-n * copies // width) == -(-v // width):
            rules.append((width // copies, n))
    return rules


def _matchings(v: int) -> list[Class]:
    """A one-factorisation of the complete graph on v points, or on v + 1 of which the last is
    deleted."""
    n = v - 1 + v % 2
    classes = []
    for i in range(n):
        pairs = [((i + j) % n, (i - j) % n) for j in range(1, n // 2 + 1)]
        alone: Block = (i,) if v == n else (i, n)
        classes.append([alone, *((min(pair), max(pair)) for pair in pairs)])
    return classes


def _directions(q: int) -> list[Class]:
    """The lines of the affine plane of order q by their directions."""
    classes: list[Class] = []
    for line in affine_geometry(2, q, 1).blocks:
        for one in classes:
            if not any(set(line) & set(other) for other in one):
                one.append(line)
                break
        else:
            classes.append([line])
    return classes


def joined_classes(first: Sequence[Class], second: Sequence[Class], shift: int) -> list[Block]:
    """Each block of a class with each of a class of the other, whose points are shifted, class
    after class."""
    blocks = []
    for i in range(max(len(first), len(second))):
        for one in first[i % len(first)]:
            blocks += [(*one, *(shift + p for p in other)) for other in second[i % len(second)]]
    return blocks
