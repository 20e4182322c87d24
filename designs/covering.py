"""covering_design: the best that the constructions and searches of this folder find."""

from collections.abc import Iterator, Sequence
from functools import cache, partial
from itertools import combinations
from math import comb

import numpy as np

from .annealing import smaller_by_annealing
from .bases import near_designs
from .bounds import schonheim_bound
from .checks import check_int, check_parameters
from .design import Design
from .gf import prime_power
from .greedy import LARGEST_TABLE, greedy_cover, wanted_subsets
from .induced import induce
from .reduction import drop_redundant, fill
from .subsets import Block
from .transversal import transversal_cover

LARGEST_LIST = 2 * 10**5  # t-subsets that are listed one by one when t > 4
GREEDY_ABOVE = 1.1  # times the Schonheim bound: below that, a greedy cover never wins
FINISHED = 3  # how many of the smallest candidates are relieved of redundant blocks

Candidate = tuple[list[Block], str]


def covering_design(v: int, k: int, t: int, *, seed: int = 0, effort: int = 1) -> Design:
    """Few blocks of k points out of v that hold every t points together somewhere.

    Takes the best of: finite geometries and designs induced by them, linear and transversal
    designs, a greedy cover, and simulated annealing under cyclic groups. The result is checked
    by enumeration of every t-subset.

    Parameters
    ----------
    v, k, t : int
        Points, points a block, points that must meet; 1 <= t <= min(v, k).
    seed : int
        Same arguments and seed, same design.
    effort : int
        Length of the annealing, counted in moves: 1 is about a second, 0 is none.

    Returns
    -------
    Design

    Raises
    ------
    ValueError
        If a parameter is out of range, or there are too many t-subsets to enumerate.

    Examples
    --------
    >>> covering_design(9, 6, 2).size, covering_design(64, 8, 2).size
    (3, 72)
    >>> design = covering_design(32, 8, 2)
    >>> design.size, schonheim_bound(32, 8, 2), design.verify()
    (20, 20, True)
    """
    check_parameters(v, k, t)
    check_int("seed", seed, 0)
    check_int("effort", effort, 0)
    if t > 1 and k < v and too_many(v, t):
        raise ValueError(f"v ({v}) and t ({t}) give {comb(v, t)} subsets, too many to enumerate: lower v or t")
    return _covering(v, k, t, seed, effort)


def too_many(v: int, t: int) -> bool:
    """Whether v points have too many t-subsets to enumerate."""
    return v**t > LARGEST_TABLE if t <= 4 else comb(v, t) > LARGEST_LIST


@cache
def _covering(v: int, k: int, t: int, seed: int, effort: int) -> Design:
    blocks, provenance = _trivial(v, k, t) or _best(v, k, t, seed, effort)
    design = Design(v=v, k=k, t=t, blocks=tuple(sorted(blocks)), provenance=provenance)
    if not design.verify():
        raise RuntimeError(f"{provenance} left {len(design.uncovered())} subsets uncovered: please report this")
    return design


def _trivial(v: int, k: int, t: int) -> Candidate | None:
    if k >= v:
        return [tuple(range(v))], "a single block"
    if t == 1:
        return [tuple(range(i, min(i + k, v))) for i in range(0, v, k)], "a partition"
    if t == k:
        return list(combinations(range(v), t)), f"all {t}-subsets"
    return None


def _best(v: int, k: int, t: int, seed: int, effort: int) -> Candidate:
    bound = schonheim_bound(v, k, t)
    candidates: list[Candidate] = []
    for candidate in _constructed(v, k, t, seed, effort):
        candidates.append(candidate)
        if len(candidate[0]) <= bound:
            break
    candidates.sort(key=lambda c: len(c[0]))
    if not candidates or len(candidates[0][0]) > GREEDY_ABOVE * bound:
        candidates.insert(0, (_greedy(v, k, t, seed), "a greedy cover"))
    finished = [(_finish(blocks, v, k, t), words) for blocks, words in candidates[:FINISHED]]
    best = min(finished, key=lambda c: len(c[0]))
    annealed = smaller_by_annealing(v, k, t, above=bound, below=len(best[0]), effort=effort, seed=seed)
    if annealed is None:
        return best
    return annealed[0], f"simulated annealing under a cyclic group of order {annealed[1]}"


def _constructed(v: int, k: int, t: int, seed: int, effort: int) -> Iterator[Candidate]:
    def cover(n: int, effort: int = 0) -> Sequence[Block]:
        return _covering(n, k, min(t, n), seed, effort).blocks

    rng = np.random.default_rng(seed)
    for base in near_designs(v, k, t):
        blocks = induce(base, v, k, cover, rng)
        if blocks is not None:
            yield blocks, f"a design induced by the {base.provenance}"
    if t == 2:
        for infinity in (False, True):
            q = max(k - 1, -(-(v - infinity) // k))
            while prime_power(q) is None:
                q += 1
            if q * q <= 2 * schonheim_bound(v, k, t):
                blocks = transversal_cover(v, k, q, partial(cover, effort=effort), infinity=infinity)
                yield blocks, f"a transversal design of order {q}, groups covered"


def _greedy(v: int, k: int, t: int, seed: int) -> list[Block]:
    return greedy_cover(
        wanted_subsets(v, t),
        lambda block: np.full(v, len(block) < k),
        np.ones(v),
        np.random.default_rng(seed),
    )


def _finish(blocks: list[Block], v: int, k: int, t: int) -> list[Block]:
    needed = drop_redundant(blocks, v, t)
    return drop_redundant(fill(needed, v, k, t), v, t)
