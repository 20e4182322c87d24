"""Parallel classes: coverings of pairs whose blocks fall into partitions of the points.

A parallel class is a set of blocks that together hold every point. A covering of pairs that falls
into such classes is called resolvable. Two of them, joined class by class, make a covering of
triples. One of them makes a covering of pairs on more points if every class gets further points.
See `recursive_constructions`.
"""

from collections.abc import Iterator, Sequence
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
UNKNOWN = 10**6  # number of classes where no parallel classes are known

Class = list[Block]
"""Blocks that together hold every point; at most ceil(v / width) blocks."""


@dataclass(
    frozen=True,
    kw_only=True,
)
class Classes:
    """Parallel classes given by base classes and a cyclic group that makes the others.

    Parameters
    ----------
    group : Group
        Its `v` is the number of points. Its multiplier is 1.
    width : int
        Largest number of points per block.
    base : tuple of tuples of blocks
        The base classes.
    """

    group: Group
    width: int
    base: tuple[tuple[Block, ...], ...]

    @property
    def count(self) -> int:
        """Number of classes."""
        return self.group.order * len(self.base)

    def expand(self) -> list[Class]:
        """Make all classes: the images of each base class under each map of the group."""
        classes: list[Class] = []
        for one in self.base:
            images = [self.group.images(np.array(block)).tolist() for block in one]
            for i in range(self.group.order):
                classes.append([tuple(sorted(set(image[i]))) for image in images])
        return classes

    def line(self) -> str:
        """Write the classes as a line of text, which `read_classes` reads."""
        classes = [" ".join(map(as_text, one)) for one in self.base]
        return f"{self.group.v} {self.width} {self.group.order} {' | '.join(classes)}"


def read_classes(line: str) -> Classes:
    """Read parallel classes from a line of ``classes.txt``."""
    v, width, order, words = line.split(" ", 3)
    base = tuple(from_text(one.split(" ")) for one in words.split(" | "))
    return Classes(
        group=Group(
            v=int(v),
            order=int(order),
        ),
        width=int(width),
        base=base,
    )


@cache
def shipped_classes() -> dict[tuple[int, int], Classes]:
    """All parallel classes of ``classes.txt`` by (v, width)."""
    lines = FILE.read_text(encoding="ascii").splitlines()
    found = [read_classes(line) for line in lines]
    return {(classes.group.v, classes.width): classes for classes in found}


@cache
def class_counts() -> Integers:
    """The smallest number of parallel classes that can be made, by width and v.

    Each class has ceil(v / width) blocks. The entry is UNKNOWN where no classes can be made.
    The classes come from a file, from lines of affine planes and from matchings. More follow when
    points are deleted, when a point stands for several, and when blocks are widened.
    """
    counts = np.full((WIDEST + 1, MOST_POINTS + 1), UNKNOWN)
    for width, v, count in _direct_counts():
        counts[width, v] = min(counts[width, v], count)
    for width in range(2, WIDEST + 1):
        counts[width, : width + 1] = 1
        for v in range(width + 1, MOST_POINTS + 1):
            for source in _sources(width, v):
                counts[width, v] = min(counts[width, v], counts[source])
        # Deleting a point keeps the number of blocks unless it empties one of them.
        for v in reversed(range(width + 1, MOST_POINTS)):
            if v % width:
                counts[width, v] = min(counts[width, v], counts[width, v + 1])
    return counts


def parallel_classes(v: int, width: int) -> list[Class]:
    """Make the smallest known number of parallel classes on v points; see `class_counts`."""
    count = class_counts()[width, v]
    if v <= width:
        return [[tuple(range(v))]]
    shipped = shipped_classes().get((v, width))
    if shipped is not None and shipped.count == count:
        return shipped.expand()
    if width == 2:
        return _matchings(v)
    if width * width == v and prime_power(width) and count == width + 1:
        return _directions(width)
    if v % width and v < MOST_POINTS and class_counts()[width, v + 1] == count:
        return _without_last(parallel_classes(v + 1, width), v)
    narrow, n = next(source for source in _sources(width, v) if class_counts()[source] == count)
    copies = width // narrow if n < v else 1
    return _copied(parallel_classes(n, narrow), copies, v)


def _without_last(classes: list[Class], v: int) -> list[Class]:
    """Delete the point v from the classes."""
    return [[tuple(p for p in block if p < v) for block in one] for one in classes]


def _copied(
    classes: list[Class],
    copies: int,
    v: int,
) -> list[Class]:
    """Replace each point of the classes by `copies` points; points from v on are left out."""

    def spread(block: Block) -> Block:
        spans = [range(p * copies, min(p * copies + copies, v)) for p in block]
        return tuple(point for span in spans for point in span)

    return [[spread(block) for block in one] for one in classes]


def _direct_counts() -> Iterator[tuple[int, int, int]]:
    """Yield (width, v, number of classes) for the classes that are not made from others."""
    for (v, width), classes in shipped_classes().items():
        yield width, v, classes.count
    for v in range(3, MOST_POINTS + 1):
        yield 2, v, v - 1 + v % 2
    for q in range(3, 10):
        if prime_power(q):
            yield q, q * q, q + 1


def _sources(width: int, v: int) -> list[tuple[int, int]]:
    """List the (width, v) of other parallel classes from which classes here can be made.

    Either their blocks are used as they are, as blocks of a larger width, or each of their points
    is replaced by several. A class keeps its number of blocks.
    """
    blocks = -(-v // width)
    sources = []
    if blocks == -(-v // (width - 1)):
        sources.append((width - 1, v))
    for copies in range(2, width // 2 + 1):
        n = -(-v // copies)
        if width % copies == 0 and -(-n * copies // width) == blocks:
            sources.append((width // copies, n))
    return sources


def _matchings(v: int) -> list[Class]:
    """Divide all pairs of v points into classes, each of which holds every point once.

    This is a one-factorisation of the complete graph. If v is odd, it is that of v + 1 points
    without the last point, so that each class has one block of a single point.
    """
    n = v - 1 + v % 2
    classes = []
    for i in range(n):
        pairs = [((i + j) % n, (i - j) % n) for j in range(1, n // 2 + 1)]
        alone: Block = (i,) if v == n else (i, n)
        classes.append([alone, *((min(pair), max(pair)) for pair in pairs)])
    return classes


def _directions(q: int) -> list[Class]:
    """The lines of the affine plane of order q, one class for each direction."""
    classes: list[Class] = []
    for line in affine_geometry(2, q, 1).blocks:
        for one in classes:
            if not any(set(line) & set(other) for other in one):
                one.append(line)
                break
        else:
            classes.append([line])
    return classes


def joined_classes(
    first: Sequence[Class],
    second: Sequence[Class],
    shift: int,
) -> list[Block]:
    """Join each block of a class with each block of the corresponding class of the other part.

    The points of the second part are raised by `shift`. The shorter sequence of classes is
    repeated.
    """
    blocks = []
    for i in range(max(len(first), len(second))):
        others = second[i % len(second)]
        for one in first[i % len(first)]:
            blocks += [(*one, *(shift + p for p in other)) for other in others]
    return blocks
