"""`covering_design`: the smallest design that the constructions and searches here find."""

from collections.abc import Iterator, Sequence
from functools import cache
from itertools import combinations
from math import comb

import numpy as np

from ..bounds import schonheim_bound
from ..checks import check_int, check_parameters
from ..design import Design
from ..geometry.nearby_designs import near_designs
from ..geometry.transversal import transversal_cover
from ..gf import prime_power
from ..subsets import Block
from .annealing_trials import smaller_by_annealing
from .design_table import MOST_POINTS, STRONGEST, WIDEST
from .greedy import LARGEST_TABLE, greedy_cover, wanted_subsets
from .induced_designs import induce
from .pair_coverings import pair_coverings
from .redundant_blocks import drop_redundant, fill
from .smallest_designs import smallest_designs

LARGEST_LIST = 2 * 10**5  # largest number of t-subsets that are listed one by one when t > 4
GREEDY_ABOVE = 1.1  # times the Schonheim bound: a greedy cover never beats a size below this
CHEAP_SUBSETS = 1_000  # largest number of t-subsets for which greedy covers are always tried
CHEAP_TRIES = 4  # number of these greedy covers: some 10 ms of work
MOST_BLOCKS = 4 * 10**5  # largest bound on the number of blocks for which a design is built
MOST_FINISHED = 25_000  # largest number of blocks among which redundant ones are sought
FINISHED = 3  # number of the smallest candidates whose redundant blocks are dropped

Candidate = tuple[list[Block], str]


def covering_design(
    v: int,
    k: int,
    t: int,
    *,
    seed: int = 0,
    effort: int = 1,
) -> Design:
    """A small (v, k, t) covering design: blocks of k of v points, every t points in some block.

    For k <= 12, t <= 4 and v <= 99 (any v when t = 2) the design comes from a table. The table
    holds designs from finite geometry, designs induced by them, transversal designs, results of
    long searches, and designs made from smaller or larger ones. A few greedy covers compete with
    the table where there are at most 1,000 t-subsets, and win for some v, mostly with k <= 4. For
    other parameters, and with more effort, several methods compete: designs induced by geometries,
    greedy covers, and simulated annealing under cyclic groups. Each result is verified by
    enumeration of every t-subset.

    Parameters
    ----------
    v, k, t : int
        Number of points, points per block, strength; 1 <= t <= min(v, k).
    seed : int
        The same arguments and seed give the same design.
    effort : int
        At least 1. With 1 there is no simulated annealing. Each further unit adds about a second of
        it; the work is counted in moves, not in time.

    Returns
    -------
    Design
        Its `provenance` names the method that made it.

    Raises
    ------
    ValueError
        If a parameter is out of range, if there are too many t-subsets to enumerate, or if the
        design would have too many blocks.

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
    check_int("effort", effort, 1)
    if t > 1 and k < v and too_many(v, t):
        raise ValueError(
            f"v ({v}) and t ({t}) give {comb(v, t)} subsets, too many to enumerate; lower v or t "
            f"(any such design has {schonheim_bound(v, k, t)} blocks or more)"
        )
    if 1 < t < k < v and schonheim_bound(v, k, t) > MOST_BLOCKS:
        raise ValueError(
            f"a covering design must have at most {MOST_BLOCKS} blocks, but with v = {v}, k = {k} "
            f"and t = {t} it has {schonheim_bound(v, k, t)} or more; lower v or t, or raise k"
        )
    return _covering(v, k, t, seed, effort)


def too_many(v: int, t: int) -> bool:
    """Whether v points have too many t-subsets to enumerate."""
    return v**t > LARGEST_TABLE if t <= 4 else comb(v, t) > LARGEST_LIST


@cache
def _covering(
    v: int,
    k: int,
    t: int,
    seed: int,
    effort: int,
) -> Design:
    """`covering_design` without argument checks; results are kept."""
    blocks, provenance = _trivial(v, k, t) or _best(v, k, t, seed, effort)
    design = Design(
        v=v,
        k=k,
        t=t,
        blocks=tuple(sorted(blocks)),
        provenance=provenance,
    )
    if not design.verify():
        raise RuntimeError(
            f"{provenance} must cover all {t}-subsets of {v} points by blocks of {k} points, but "
            f"left {len(design.uncovered())} uncovered; this is an error of the library, so please "
            "report it"
        )
    return design


def _trivial(
    v: int,
    k: int,
    t: int,
) -> Candidate | None:
    """The optimal design if k >= v, t = 1 or t = k; None otherwise."""
    if k >= v:
        return [tuple(range(v))], "a single block"
    if t == 1:
        return [tuple(range(i, min(i + k, v))) for i in range(0, v, k)], "a partition"
    if t == k:
        return list(combinations(range(v), t)), f"all {t}-subsets"
    return None


def _best(
    v: int,
    k: int,
    t: int,
    seed: int,
    effort: int,
) -> Candidate:
    """The smallest candidate after redundant blocks are dropped; with more effort, annealed."""
    bound = schonheim_bound(v, k, t)
    candidates = [_tabled(v, k, t)] if k <= WIDEST and _in_a_table(v, t) else []
    if not candidates or (effort > 1 and len(candidates[0][0]) > bound):
        candidates += _constructed_until(bound, v, k, t, seed)
        candidates.sort(key=lambda candidate: len(candidate[0]))
        if not candidates or len(candidates[0][0]) > GREEDY_ABOVE * bound:
            rng = np.random.default_rng(seed)
            candidates.insert(0, (_greedy(v, k, t, rng), "a greedy cover"))
    smallest = candidates[:FINISHED]
    ready = [(finished(blocks, v, k, t), provenance) for blocks, provenance in smallest]
    best = min(ready, key=lambda candidate: len(candidate[0]))
    if len(best[0]) > bound and comb(v, t) <= CHEAP_SUBSETS:
        best = min(
            [best, *_cheap_covers(v, k, t, seed)],
            key=lambda candidate: len(candidate[0]),
        )
    annealed = smaller_by_annealing(
        v,
        k,
        t,
        above=bound,
        below=len(best[0]),
        effort=effort - 1,
        seed=seed,
    )
    if annealed is None:
        return best
    blocks, order = annealed
    return blocks, f"simulated annealing under a cyclic group of order {order}"


def _in_a_table(v: int, t: int) -> bool:
    """Whether there are tables for this v and t, with blocks of at most `WIDEST` points."""
    return t == 2 or (t <= STRONGEST and v <= MOST_POINTS)


def _tabled(
    v: int,
    k: int,
    t: int,
) -> Candidate:
    if v > MOST_POINTS:
        large = pair_coverings(v, k)
        return large.build(v), large.provenance[v]
    table = smallest_designs()
    return table.build(v, k, t), table.recipes[v, k, t].provenance


def _constructed_until(
    bound: int,
    v: int,
    k: int,
    t: int,
    seed: int,
) -> Iterator[Candidate]:
    """Yield constructed candidates; stop after the first one whose size reaches the bound."""
    for candidate in _constructed(v, k, t, seed):
        yield candidate
        if len(candidate[0]) <= bound:
            return


def _constructed(
    v: int,
    k: int,
    t: int,
    seed: int,
) -> Iterator[Candidate]:
    """Yield induced designs and, for t = 2, transversal designs whose groups are covered too."""

    def cover(n: int) -> Sequence[Block]:
        return _covering(n, k, min(t, n), seed, 1).blocks

    rng = np.random.default_rng(seed)
    for base in near_designs(v, k, t):
        blocks = induce(base, v, k, cover, rng)
        if blocks is not None:
            yield blocks, f"a design induced by the {base.provenance}"
    if t != 2:
        return
    for shared in (0, 1):
        q = max(k - 1, -(-(v - shared) // k))
        while prime_power(q) is None:
            q += 1
        if q * q <= 2 * schonheim_bound(v, k, t):
            blocks = transversal_cover(v, k, q, cover, shared=shared)
            yield blocks, f"a transversal design of order {q}, groups covered"


def _cheap_covers(
    v: int,
    k: int,
    t: int,
    seed: int,
) -> Iterator[Candidate]:
    """Yield greedy covers of few t-subsets: some beat the table, mostly with blocks of 3 or 4."""
    for i in range(CHEAP_TRIES):
        blocks = _greedy(v, k, t, np.random.default_rng([seed, i]))
        yield finished(blocks, v, k, t), "a greedy cover"


def _greedy(
    v: int,
    k: int,
    t: int,
    rng: np.random.Generator,
) -> list[Block]:
    return greedy_cover(
        wanted_subsets(v, t),
        lambda block: np.full(v, len(block) < k),
        np.ones(v),
        rng,
    )


def finished(
    blocks: list[Block],
    v: int,
    k: int,
    t: int,
) -> list[Block]:
    """Drop redundant blocks, fill the others up to k points, and drop redundant blocks again.

    More than `MOST_FINISHED` blocks are returned unchanged.
    """
    if len(blocks) > MOST_FINISHED:
        return blocks
    needed = drop_redundant(blocks, v, t)
    return drop_redundant(fill(needed, v, k, t), v, t)
