"""Sizes and recipes of coverings of pairs on any number of points: transversal designs, recursively
on their groups."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial

from ..design import Design
from ..geometry.arcs import maximal_arc
from ..geometry.flats_and_circles import affine_geometry, projective_geometry
from ..geometry.transversal import transversal_cover
from ..gf import prime_power
from ..subsets import Block
from .design_table import MOST_POINTS, NONE
from .smallest_designs import table

STEP = 500  # the table of sizes ends at a multiple of this
SHARED = 12  # points that may belong to every group
ADDED = 20  # points that may be joined to others


@dataclass(frozen=True, kw_only=True)
class Pairs:
    """Sizes of (v, k, 2) coverings by v, and how to build those beyond the table."""

    k: int
    sizes: list[int]
    words: dict[int, str]
    builders: dict[int, Callable[["Pairs"], list[Block]]]

    def build(self, v: int) -> list[Block]:
        """The blocks on v points; some may be redundant."""
        return table().build(v, self.k, 2) if v <= MOST_POINTS else self.builders[v](self)

    def offer(
        self, v: int, size: int, words: str, builder: Callable[["Pairs"], list[Block]]
    ) -> None:
        """Take a builder if it gives fewer blocks than what is there."""
        if size < self.sizes[v]:
            self.sizes[v], self.words[v], self.builders[v] = size, words, builder


def pairs(v: int, k: int) -> Pairs:
    """The sizes up to v points or more, for blocks of k points, k <= table.WIDEST."""
    return _pairs(-(-v // STEP) * STEP, k)


@cache
def _pairs(most: int, k: int) -> Pairs:
    known = table().sizes[2, k].tolist()
    found = Pairs(k=k, sizes=known + [NONE] * (most - MOST_POINTS), words={}, builders={})
    _add_steiner_systems(found, most)
    for v in range(MOST_POINTS + 1, most + 1):
        for shared in range(SHARED + 1):
            _add_transversal(found, v, shared)
        for added in range(1, ADDED + 1):
            _add_join(found, v, added)
    for v in reversed(range(MOST_POINTS + 1, most)):
        found.offer(v, found.sizes[v + 1], found.words.get(v + 1, ""), partial(_shortened, v + 1))
    return found


def _add_transversal(found: Pairs, v: int, shared: int) -> None:
    k = found.k
    spread = v - shared
    groups = [spread * (i + 1) // k - spread * i // k for i in range(k)]
    covers = sum(found.sizes[group + shared] for group in groups)
    q = max(k - 1, max(groups))
    while prime_power(q) is None:
        q += 1
    words = f"a transversal design of order {q}, groups covered"
    found.offer(v, q * q + covers, words, partial(_transversal, v, q, shared))


def _add_join(found: Pairs, v: int, added: int) -> None:
    """A covering of fewer points and one of those that are added; parts of both, of k points
    together, pair them up."""
    k, rest = found.k, v - added
    cross = [(-(-added // width) * -(-rest // (k - width)), width) for width in range(1, k)]
    count, width = min(cross)
    size = found.sizes[rest] + found.sizes[added] + count
    if size < found.sizes[v]:
        found.offer(
            v, size, f"a join of {rest} points and {added}", partial(_joined, rest, added, width)
        )


def _add_steiner_systems(found: Pairs, most: int) -> None:
    """Designs that hold each pair once: lines of geometries and of maximal arcs."""
    k = found.k
    designs: list[tuple[int, str, Callable[[], Design]]] = []
    for m in range(2, 5):
        if prime_power(k):
            designs.append((k**m, f"the lines of AG({m}, {k})", partial(affine_geometry, m, k, 1)))
        if prime_power(k - 1):
            points = ((k - 1) ** (m + 1) - 1) // (k - 2)
            designs.append(
                (
                    points,
                    f"the lines of PG({m}, {k - 1})",
                    partial(projective_geometry, m, k - 1, 1),
                )
            )
    if k & (k - 1) == 0:
        for power in range(k.bit_length(), 9):
            q = 2**power
            name = f"the lines of a maximal arc of degree {k} in PG(2, {q})"
            designs.append((q * k - q + k, name, partial(maximal_arc, q, k)))
    for v, words, build in designs:
        if MOST_POINTS < v <= most:
            found.offer(v, v * (v - 1) // (k * (k - 1)), words, partial(_built, build))


def _transversal(v: int, q: int, shared: int, found: Pairs) -> list[Block]:
    return transversal_cover(v, found.k, q, found.build, shared=shared)


def _shortened(v: int, found: Pairs) -> list[Block]:
    return [tuple(p for p in block if p < v - 1) for block in found.build(v)]


def _joined(rest: int, added: int, width: int, found: Pairs) -> list[Block]:
    def parts(start: int, end: int, width: int) -> list[Block]:
        return [tuple(range(i, min(i + width, end))) for i in range(start, end, width)]

    blocks = found.build(rest) + [tuple(rest + p for p in block) for block in found.build(added)]
    others = parts(rest, rest + added, width)
    return blocks + [(*a, *b) for a in parts(0, rest, found.k - width) for b in others]


def _built(build: Callable[[], Design], found: Pairs) -> list[Block]:
    return list(build().blocks)
