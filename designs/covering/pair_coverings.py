"""Coverings of pairs on any number of points, beyond the table of `smallest_designs`.

Most come from transversal designs whose groups are covered recursively.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, partial

from ..design import Design
from ..geometry.arcs import maximal_arc
from ..geometry.flats_and_circles import affine_geometry, projective_geometry
from ..geometry.transversal import transversal_cover
from ..gf import prime_power
from ..subsets import Block
from .design_table import MOST_POINTS, NONE
from .smallest_designs import smallest_designs

STEP = 500  # the list of sizes ends at a multiple of this
SHARED = 12  # largest number of points that belong to every group of a transversal design
ADDED = 20  # largest size of the smaller part of a join

Builder = Callable[["PairCoverings"], list[Block]]


@dataclass(
    frozen=True,
    kw_only=True,
)
class PairCoverings:
    """Sizes of (v, k, 2) coverings for one k, and how to build those beyond the table.

    Parameters
    ----------
    k : int
        Points per block.
    sizes : list of int
        Number of blocks by v.
    provenance, builders : dict
        By v, for v beyond the table: the origin of the blocks in words; the function that makes
        them.
    """

    k: int
    sizes: list[int]
    provenance: dict[int, str]
    builders: dict[int, Builder]

    def build(self, v: int) -> list[Block]:
        """The blocks on v points. Some blocks may be redundant."""
        if v <= MOST_POINTS:
            return smallest_designs().build(v, self.k, 2)
        return self.builders[v](self)

    def offer(
        self,
        v: int,
        size: int,
        provenance: str,
        builder: Builder,
    ) -> None:
        """Store a builder if it gives fewer blocks than the one stored."""
        if size < self.sizes[v]:
            self.sizes[v] = size
            self.provenance[v] = provenance
            self.builders[v] = builder


def pair_coverings(v: int, k: int) -> PairCoverings:
    """Find sizes and builders of (n, k, 2) coverings for all n up to v.

    The result goes on to the next multiple of `STEP`. k is at most `design_table.WIDEST`.
    """
    return _pair_coverings(-(-v // STEP) * STEP, k)


@cache
def _pair_coverings(most: int, k: int) -> PairCoverings:
    tabled = smallest_designs().sizes[2, k].tolist()
    sizes = tabled + [NONE] * (most - MOST_POINTS)
    found = PairCoverings(
        k=k,
        sizes=sizes,
        provenance={},
        builders={},
    )
    for v, provenance, build in _steiner_systems(k):
        if MOST_POINTS < v <= most:
            size = v * (v - 1) // (k * (k - 1))
            found.offer(v, size, provenance, partial(_built, build))
    for v in range(MOST_POINTS + 1, most + 1):
        for shared in range(SHARED + 1):
            _offer_transversal(found, v, shared)
        for added in range(1, ADDED + 1):
            _offer_join(found, v, added)
    # Deleting the last point gives a covering of one point fewer.
    for v in reversed(range(MOST_POINTS + 1, most)):
        provenance = found.provenance.get(v + 1, "")
        found.offer(v, found.sizes[v + 1], provenance, partial(_shortened, v + 1))
    return found


def _offer_transversal(
    found: PairCoverings,
    v: int,
    shared: int,
) -> None:
    """Offer a transversal design with the covers of its groups, which all hold `shared` points."""
    k = found.k
    spread = v - shared
    groups = [spread * (i + 1) // k - spread * i // k for i in range(k)]
    covers = sum(found.sizes[group + shared] for group in groups)
    q = max(k - 1, max(groups))
    while prime_power(q) is None:
        q += 1
    provenance = f"a transversal design of order {q}, groups covered"
    found.offer(v, q * q + covers, provenance, partial(_transversal, v, q, shared))


def _offer_join(
    found: PairCoverings,
    v: int,
    added: int,
) -> None:
    """Offer a join: split the points into v - added and `added` points, and cover each part.

    The pairs with one point in each part are covered as follows: the parts are cut into pieces of
    k - width and of `width` points, and each piece of one is joined to each piece of the other.
    """
    k, rest = found.k, v - added
    crossings = [(-(-added // width) * -(-rest // (k - width)), width) for width in range(1, k)]
    across, width = min(crossings)
    size = found.sizes[rest] + found.sizes[added] + across
    provenance = f"a join of {rest} points and {added}"
    found.offer(v, size, provenance, partial(_joined, rest, added, width))


def _steiner_systems(k: int) -> Iterator[tuple[int, str, Callable[[], Design]]]:
    """Yield designs in which each pair lies in exactly one block, without making them.

    They are the lines of geometries and of maximal arcs. Each is given by its number of points, its
    origin in words, and the function that makes it.
    """
    for m in range(2, 5):
        if prime_power(k):
            yield k**m, f"the lines of AG({m}, {k})", partial(affine_geometry, m, k, 1)
        if prime_power(k - 1):
            points = ((k - 1) ** (m + 1) - 1) // (k - 2)
            lines = partial(projective_geometry, m, k - 1, 1)
            yield points, f"the lines of PG({m}, {k - 1})", lines
    if k & (k - 1) == 0:
        for power in range(k.bit_length(), 9):
            q = 2**power
            name = f"the lines of a maximal arc of degree {k} in PG(2, {q})"
            yield q * k - q + k, name, partial(maximal_arc, q, k)


def _transversal(
    v: int,
    q: int,
    shared: int,
    found: PairCoverings,
) -> list[Block]:
    return transversal_cover(v, found.k, q, found.build, shared=shared)


def _shortened(v: int, found: PairCoverings) -> list[Block]:
    return [tuple(point for point in block if point < v - 1) for block in found.build(v)]


def _joined(
    rest: int,
    added: int,
    width: int,
    found: PairCoverings,
) -> list[Block]:
    blocks = [*found.build(rest)]
    blocks += [tuple(rest + point for point in block) for block in found.build(added)]
    large = _pieces(0, rest, found.k - width)
    small = _pieces(rest, rest + added, width)
    return blocks + [(*a, *b) for a in large for b in small]


def _pieces(
    start: int,
    end: int,
    width: int,
) -> list[Block]:
    """The points from `start` to `end`, cut into pieces of `width` points."""
    return [tuple(range(i, min(i + width, end))) for i in range(start, end, width)]


def _built(build: Callable[[], Design], found: PairCoverings) -> list[Block]:
    return list(build().blocks)
