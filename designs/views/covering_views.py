"""Covering views: sets of attributes with tables of bounded size that hold every wanted set."""

from collections.abc import Collection, Sequence
from itertools import combinations
from math import comb, prod

import numpy as np

from ..checks import check_int, check_ints
from ..covering.covering_design import covering_design, too_many
from ..covering.greedy import greedy_covers_within
from ..covering.redundant_blocks import needed
from ..subsets import Block, members_within
from .attributes import checked_sets
from .error import check_power, contrast_weights, weighted_error

LIMITS = (256, 512, 1024, 2048, 4096)  # numbers of cells that `choose_views` compares
TRIES = 8  # largest number of greedy covers
WORK = 40_000  # largest number of wanted sets of all greedy covers together


def covering_views(
    sizes: Sequence[int],
    *,
    max_cells: int,
    t: int = 2,
    sets: Sequence[Sequence[int]] | None = None,
    seed: int = 0,
) -> tuple[Block, ...]:
    """Few views of bounded size that together hold every t attributes.

    If all attributes have the same size, the views come from a covering design. Otherwise they are
    the best of several greedy covers. Attributes of size 1 join every view, because they add no
    cells.

    Parameters
    ----------
    sizes : sequence of int, length d
        Number of values of each attribute.
    max_cells : int
        Largest number of cells of a view. A wanted set with more cells becomes a view of its own.
    t : int
        Number of attributes of a wanted set. If d < t, the wanted set is all d attributes.
    sets : sequence of sequences of int, optional
        The wanted sets, in place of all t-subsets. Attributes in none of these sets are left out.
    seed : int
        The same arguments and seed give the same views.

    Returns
    -------
    tuple of tuples of int
        The attributes of each view, ascending. A single view if all attributes fit in one.

    Raises
    ------
    ValueError
        If a parameter is out of range, or there are too many t-subsets to enumerate.

    Examples
    --------
    >>> covering_views([2, 3, 4, 5], max_cells=24)
    ((0, 1, 2), (0, 3), (1, 3), (2, 3))
    >>> len(covering_views([2] * 32, max_cells=256))
    20
    """
    _check(
        sizes,
        t,
        sets,
        seed,
    )
    check_int("max_cells", max_cells, 1)
    return _views(
        sizes,
        max_cells,
        t,
        sets,
        seed,
    )


def choose_views(
    sizes: Sequence[int],
    *,
    power: int,
    t: int = 2,
    sets: Sequence[Sequence[int]] | None = None,
    limits: Sequence[int] = LIMITS,
    seed: int = 0,
) -> tuple[Block, ...]:
    """Covering views with the best of several limits on the number of cells.

    `covering_views` is called with each limit. The views with the smallest `expected_error`, with
    equal shares, are returned. The workload of this error is the marginals over all t-subsets, or
    over the given sets. By default every limit is at least 256 cells, even if smaller views would
    answer these marginals better. The reason is that larger views also answer later questions about
    more attributes at a time.

    Parameters
    ----------
    sizes, t, sets, seed
        As in `covering_views`.
    power : int
        1 or 2, see `expected_error`.
    limits : sequence of int
        The values of `max_cells` to compare.

    Returns
    -------
    tuple of tuples of int
        The attributes of each view, ascending.

    Raises
    ------
    ValueError
        If a parameter is out of range, or there are too many t-subsets to enumerate.

    Examples
    --------
    >>> views = choose_views([2] * 32, power=2)
    >>> len(views), len(views[0])
    (20, 8)
    """
    _check(
        sizes,
        t,
        sets,
        seed,
    )
    check_power(power)
    check_ints("limits", limits, 1)
    if not limits:
        raise ValueError("limits must hold at least one number of cells, but it is empty; add one")
    workload = _wanted(sizes, t, sets)
    weights = contrast_weights(sizes, workload, [1.0] * len(workload))

    def error(views: Sequence[Block]) -> float:
        precisions = [len(views) ** -power / prod(sizes[j] for j in view) for view in views]
        return weighted_error(weights, views, precisions)

    rough = {
        limit: _views(
            sizes,
            limit,
            t,
            sets,
            seed,
        )
        for limit in limits
    }
    limit = min(rough, key=lambda limit: error(rough[limit]))
    return min(
        rough[limit],
        _views(
            sizes,
            limit,
            t,
            sets,
            seed,
        ),
        key=error,
    )


def covers(
    sizes: Sequence[int],
    max_cells: int,
    sets: Sequence[Block],
    *,
    seed: int,
) -> tuple[Block, ...]:
    """`covering_views` of given sets, without argument checks."""
    return _views(
        sizes,
        max_cells,
        1,
        sets,
        seed,
    )


def _check(
    sizes: Sequence[int],
    t: int,
    sets: Sequence[Sequence[int]] | None,
    seed: int,
) -> None:
    check_ints("sizes", sizes, 1)
    check_int("t", t, 1)
    check_int("seed", seed, 0)
    if not sizes:
        raise ValueError(
            "sizes must hold at least one size, but it is empty; give the size of each attribute"
        )
    if sets is not None:
        checked_sets("sets", sets, len(sizes))
        if not sets:
            raise ValueError(
                "sets must hold at least one set, but it is empty; name a set, or leave sets out "
                "and give t"
            )
    elif too_many(len(sizes), min(t, len(sizes))):
        raise ValueError(
            f"t ({t}) gives {comb(len(sizes), t)} sets of {len(sizes)} attributes, too many to "
            "enumerate; lower t, or pass the sets that matter as sets"
        )


def _wanted(
    sizes: Sequence[int],
    t: int,
    sets: Sequence[Sequence[int]] | None,
) -> list[Block]:
    if sets is not None:
        return checked_sets("sets", sets, len(sizes))
    return list(combinations(range(len(sizes)), min(t, len(sizes))))


def _views(
    sizes: Sequence[int],
    max_cells: int,
    t: int,
    sets: Sequence[Sequence[int]] | None,
    seed: int,
) -> tuple[Block, ...]:
    """`covering_views` without argument checks.

    If all attributes fit in one view, this is the result. Otherwise each wanted set of more than
    `max_cells` cells is a view of its own, and the other wanted sets are covered.
    """
    if sets is None:
        named = list(range(len(sizes)))
    else:
        named = sorted({j for members in sets for j in members})
    if prod(sizes[j] for j in named) <= max_cells:
        return (tuple(named),)
    wanted = sorted(set(_wanted(sizes, t, sets)))
    large = [members for members in wanted if prod(sizes[j] for j in members) > max_cells]
    others = sorted(set(wanted) - set(large) - _inside(large, wanted))
    views = large + _fitting_views(
        sizes,
        max_cells,
        others,
        named,
        seed,
    )
    return tuple(sorted(_without_unneeded(views, wanted)))


def _fitting_views(
    sizes: Sequence[int],
    max_cells: int,
    wanted: list[Block],
    named: list[int],
    seed: int,
) -> list[Block]:
    """Views of at most `max_cells` cells that hold the wanted sets.

    They are found for the attributes with more than one value. Attributes with one value join all
    views.
    """
    single = [j for j in named if sizes[j] == 1]
    wide = [j for j in named if sizes[j] > 1]
    places = {j: i for i, j in enumerate(wide)}
    reduced = {tuple(places[j] for j in members if j in places) for members in wanted}
    most = sorted(reduced - _inside(reduced, reduced))
    if not any(most):
        return [tuple(single)]
    inner = _cover(
        [sizes[j] for j in wide],
        max_cells,
        most,
        seed,
    )
    return [tuple(sorted([wide[i] for i in view] + single)) for view in inner]


def _cover(
    sizes: list[int],
    max_cells: int,
    wanted: list[Block],
    seed: int,
) -> list[Block]:
    """Few views that hold the wanted sets: from a covering design, from greedy covers, or both.

    A covering design is possible if all sizes are equal. The cover with the fewest views wins.
    """
    d, t = len(sizes), max(map(len, wanted))
    k = sum(sizes[0] ** i <= max_cells for i in range(1, d + 1))
    candidates = []
    if len(set(sizes)) == 1 and k >= t and not too_many(d, t):
        blocks = covering_design(
            d,
            k,
            t,
            seed=seed,
        ).blocks
        candidates.append(_without_unneeded(list(blocks), wanted))
    if not candidates or len(wanted) < comb(d, t):
        candidates.append(
            _greedy_views(
                sizes,
                max_cells,
                wanted,
                seed,
            )
        )
    return min(candidates, key=len)


def _greedy_views(
    sizes: list[int],
    max_cells: int,
    sets: list[Block],
    seed: int,
) -> list[Block]:
    """The best of several greedy covers: the fewest views, then the fewest cells."""
    tries = max(1, min(TRIES, WORK // len(sets)))
    rngs = [np.random.default_rng([seed, i]) for i in range(tries)]
    found = greedy_covers_within(sets, sizes, max_cells, rngs)
    fewest = min(map(len, found))
    return min(
        (sum(prod(sizes[j] for j in view) for view in views), views)
        for views in found
        if len(views) == fewest
    )[1]


def _without_unneeded(views: list[Block], sets: list[Block]) -> list[Block]:
    """Drop views without which the other views still hold all the sets."""
    numbers = {members: i for i, members in enumerate(sets)}
    orders = sorted({len(members) for members in sets})
    held = []
    for view in views:
        within = members_within(view, numbers, orders)
        held.append(np.array([numbers[members] for members in within], np.int64))
    return [views[i] for i in needed(held, len(sets))]


def _inside(blocks: Collection[Block], family: Collection[Block]) -> set[Block]:
    """The members of a family that are proper subsets of some block."""
    found: set[Block] = set()
    family = set(family)
    lengths = {len(members) for members in family}
    for block in blocks:
        if shorter := [length for length in lengths if length < len(block)]:
            found.update(members_within(block, family, shorter))
    return found
