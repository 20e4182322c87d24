"""Noise on every cell of a table too large to be written out, of which only the large results are kept."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from ..domain import Domain
from ..entropy import Entropy
from ..errors import DomainError
from ..exact.bernoulli import Coins
from ..exact.geometric import Geometric, quotient, tail
from ..noise import DiscreteLaplace

__all__ = ["MAX_CELLS", "SparseCells", "check_threshold", "noisy_large_cells"]

Integers = npt.NDArray[np.int64]

MAX_CELLS = 1 << 62
_MAX_KEPT = 10**7


@dataclass(frozen=True, kw_only=True, eq=False)
class SparseCells:
    """The cells of a view whose noisy count reached a threshold; every other cell had a noisy count below it.

    Attributes
    ----------
    domain
        The attributes of the view.
    cells
        Which cells, ascending, in the order of the view with the last attribute varying fastest: shape (kept,).
    counts
        Their noisy counts, integers: shape (kept,).
    threshold
        The least count that was kept.
    variance
        The variance of the noise, before the small results were dropped.
    """

    domain: Domain
    cells: Integers
    counts: Integers
    threshold: int
    variance: float

    @property
    def codes(self) -> Integers:
        """The codes of the attributes in each cell: shape (kept, attributes)."""
        return np.stack(np.unravel_index(self.cells, self.domain.sizes), axis=1).astype(np.int64)


def check_threshold(noise: DiscreteLaplace, cells: int, threshold: int) -> None:
    """Refuse a threshold so low that millions of empty cells would be kept."""
    expected = cells * Fraction(tail(noise.scale, threshold)(128)[1], 1 << 128)
    if expected > _MAX_KEPT:
        raise DomainError(
            f"about {float(expected):.1e} empty cells would reach the threshold {threshold}: raise it, to "
            f"{math.ceil(noise.scale * Fraction(math.log(cells / 1000)))} or so"
        )


def noisy_large_cells(
    noise: DiscreteLaplace, cells: int, true: tuple[Integers, Integers], threshold: int, entropy: Entropy
) -> tuple[Integers, Integers]:
    """Cells and counts after `noise` was added to each of `cells` cells and those below `threshold` >= 1 were dropped.

    Exactly that distribution, in time that depends on the cells kept and the non-zero ones only. Non-zero cells get
    their noise one by one. An empty cell is kept with the probability p = P(noise >= threshold): every cell is marked
    with probability 1 - exp(-a) > p, by walking from mark to mark in geometric steps, and a mark stays with probability
    p / (1 - exp(-a)). Above the threshold, discrete Laplace noise is geometric.
    """
    found, counts = true
    noisy = counts + noise.sample(counts.size, entropy)
    marked = np.fromiter(_marks(noise, cells, threshold, entropy), np.int64)
    empty = marked[~np.isin(marked, found)]
    excess = Geometric(noise.scale).sample(empty.size, entropy)
    kept = noisy >= threshold
    all_cells = np.concatenate([found[kept], empty])
    all_counts = np.concatenate([noisy[kept], threshold + excess])
    order = np.argsort(all_cells)
    return all_cells[order], all_counts[order]


@lru_cache(maxsize=64)
def _walk(scale: Fraction, threshold: int) -> tuple[Fraction, Coins]:
    """The rate a at which cells are marked, and the coin by which a mark stays."""
    p = tail(scale, threshold)
    # 1 - exp(-2 p) > p for every p < 1/2; the geometric steps must not be longer than 10**16 on average.
    rate = max(2 * Fraction(p(128)[1], 1 << 128), Fraction(1, 10**16))
    return rate, Coins([quotient(p, rate)])


def _marks(noise: DiscreteLaplace, cells: int, threshold: int, entropy: Entropy) -> Iterator[int]:
    """Cells, ascending, each independently with probability p = P(noise >= threshold)."""
    rate, stays = _walk(noise.scale, threshold)
    steps = Geometric(1 / rate)
    block = min(1 << 15, 64 + 2 * math.ceil(cells * rate))
    place = -1
    while True:
        heads = stays.flip(block, entropy)[0].tolist()
        for step, head in zip(steps.sample(block, entropy).tolist(), heads, strict=True):
            place += 1 + step
            if place >= cells:
                return
            if head:
                yield place
