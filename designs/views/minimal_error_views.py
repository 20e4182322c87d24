"""Views, with unequal shares, that answer a workload of unequal weights with little error.

The workload is a set of marginals. `select_views` chooses the views and their shares together.
"""

from collections.abc import Sequence
from itertools import combinations
from math import inf, prod

import numpy as np

from ..checks import check_int
from ..subsets import Block
from .attributes import Domain, Sets, checked_sizes, numbered, worded
from .covering_views import covers
from .error import check_power, contrast_weights, marginal_weights
from .idle import LOSS, without_idle
from .local import Candidate, LocalSearch
from .shares import Contrasts, Holdings, Shares, ViewPlan, best_shares
from .worth import WorthCover

CELLS = 4096  # largest number of cells of a view, unless a marginal has more
STARTS = 30  # largest number of greedy covers that the local search may start from
START_WORK = 6_000  # largest number of wanted sets of all these covers together
MOST_SETS = 6_000  # largest number of wanted sets for greedy covers and local search
WORK = 11_000_000  # contrasts that the local search may touch per unit of effort
ENOUGH = 150_000  # the same for each wanted set: few sets need little search
POOL_SETS = 1_500  # largest number of wanted sets for which greedy covers join the first pool
POOL = 2_000  # largest number of views in a pool
ENTRIES = 400_000  # largest number of entries of the sparse matrix `Holdings` of a pool
ROUNDS = 30  # rounds of pricing per unit of effort
JOINING = 60  # largest number of views that join a pool in one round
IN_USE = 0.01  # times the mean share: the neighbours of views with a larger share are priced
GAIN = 1.0005  # times the error: price above which a view joins the pool
ROUGH = 30  # steps of the shares in a first comparison


def select_views(
    domain: Domain,
    workload: Sets,
    *,
    power: int,
    weights: Sequence[float] | None = None,
    max_cells: int | None = None,
    seed: int = 0,
    effort: int = 10,
) -> ViewPlan:
    """Views and shares that answer a workload with little expected error.

    For power 1 the problem is convex over any pool of views. The method is column generation: find
    the best shares of the pool, then add views that would lower the error, until no neighbour of a
    view in use would. The bound then holds for all views that were considered.

    For power 2 no method is known to find the best views for certain. Covers with several limits on
    the number of cells compete with greedy covers, and local search on the exact error improves the
    best of them.

    Parameters
    ----------
    domain : sequence of int, or an object with `attributes` and `sizes`
        Number of values of each attribute. If it has names, the sets and the returned views are
        given by name.
    workload : sequence of sets
        The marginals to answer.
    power : int
        1 or 2: the variance of a cell is ``share ** -power``.
    weights : sequence of float, optional
        See `expected_error`.
    max_cells : int, optional
        Largest number of cells of a view. The default is 4096, or the number of cells of the
        largest marginal if that is larger.
    seed : int
        The same arguments and seed give the same views.
    effort : int
        Length of the searches, counted in work. A unit takes about a third of a second.

    Returns
    -------
    ViewPlan
        The views, ascending, with their shares and expected error. One view may have no attributes:
        it measures the total alone.

    Raises
    ------
    ValueError
        If an attribute is unknown or repeated, if a weight is not a finite number > 0, if there is
        no marginal, or if max_cells is less than the largest marginal needs.

    Examples
    --------
    >>> plan = select_views([2, 2, 2, 3], [(0, 1), (1, 2), (2, 3)], power=2)
    >>> all(any(set(pair) <= set(view) for view in plan.views) for pair in [(0, 1), (1, 2), (2, 3)])
    True
    """
    sizes = checked_sizes(domain)
    check_power(power)
    check_int("seed", seed, 0)
    check_int("effort", effort, 1)
    marginals = numbered("workload", workload, domain)
    if not marginals:
        raise ValueError(
            "workload must name at least one marginal, but it is empty; add a marginal"
        )
    limit = _limit(sizes, marginals, max_cells)
    kappa = contrast_weights(sizes, marginals, marginal_weights(workload, weights))
    contrasts = Contrasts(sizes, kappa)
    wanted = _largest(contrasts)
    # A workload of the total alone needs the view without attributes.
    if not any(wanted):
        found: Candidate = [()], best_shares(contrasts.holdings([()]), power)
    elif power == 1:
        found = _priced(contrasts, wanted, limit, seed, effort)
    else:
        found = _searched(contrasts, wanted, limit, power, seed, effort)
        found = _with_smaller(contrasts, found, marginals, power, effort)
    found = without_idle(contrasts, found, power)
    # Attributes with a single value cost nothing and join every view.
    single = {j for marginal in marginals for j in marginal if sizes[j] == 1}
    chosen, shares = found
    views = [tuple(sorted({*view, *single})) for view in chosen]
    order = sorted(range(len(views)), key=views.__getitem__)
    return ViewPlan(
        views=worded([views[i] for i in order], domain),
        shares=tuple(float(shares.shares[i]) for i in order),
        expected_error=shares.error,
        bound=shares.bound,
    )


def _limit(
    sizes: Sequence[int],
    marginals: Sequence[Block],
    max_cells: int | None,
) -> int:
    """The largest number of cells of a view, at least that of every marginal."""
    largest = max(marginals, key=lambda marginal: prod(sizes[j] for j in marginal))
    needed = prod(sizes[j] for j in largest)
    if max_cells is None:
        return max(CELLS, needed)
    check_int("max_cells", max_cells, 1)
    if max_cells < needed:
        raise ValueError(
            f"max_cells ({max_cells}) must be at least {needed}, the number of cells of the "
            f"marginal over {len(largest)} attributes; raise it, or leave that marginal out"
        )
    return max_cells


def _largest(contrasts: Contrasts) -> list[Block]:
    """The contrasts that lie in no other one. Views that hold them hold all contrasts."""
    inside: set[Block] = set()
    for a in filter(None, contrasts.weights):
        parts = combinations(a, len(a) - 1)
        inside.update(part for part in parts if part in contrasts.weights)
    return [a for a in contrasts.weights if a not in inside]


def _searched(
    contrasts: Contrasts,
    wanted: list[Block],
    limit: int,
    power: int,
    seed: int,
    effort: int,
) -> Candidate:
    """The best of covers with limited cells, of greedy covers, and of a local search from both."""
    rng = np.random.default_rng(seed)
    limited = _limited(contrasts, wanted, limit, power, seed)
    # The wanted sets, each as a view of its own, compete with the covers.
    candidates = [_rough(contrasts, views, power) for views in [wanted, *limited]]
    if len(wanted) <= MOST_SETS:
        cover = WorthCover(contrasts.sizes, wanted, contrasts.weights, limit, power)
        starts = max(1, min(STARTS, START_WORK // len(wanted)))
        for noise in np.geomspace(0.01, 0.8, starts):
            candidates.append(_rough(contrasts, cover.run(noise, rng), power))
        best = min(candidates, key=_error)
        work = effort * min(WORK, ENOUGH * len(wanted))
        candidates.append(LocalSearch(contrasts, cover, power, rng).run(best, work))
    views, shares = min(candidates, key=_error)
    return views, best_shares(contrasts.holdings(views), power, start=shares.shares)


def _with_smaller(
    contrasts: Contrasts,
    found: Candidate,
    marginals: Sequence[Block],
    power: int,
    effort: int,
) -> Candidate:
    """Add marginals that lie inside a view, as views of their own, if that lowers the error.

    A marginal inside a view needs no view of its own. But if its weight is large, a smaller view
    with less noise may pay. The view of no attributes, which measures the total, is tried too.
    """
    wide = {tuple(j for j in marginal if contrasts.sizes[j] > 1) for marginal in marginals}
    # The views hold every marginal, so a marginal that is not a view lies inside one. The
    # marginals of the largest weight come first, as far as the effort allows.
    smaller = sorted({*wide, ()} - set(found[0]), key=lambda part: (-contrasts.weights[part], part))
    entries = contrasts.holdings(found[0]).view.size
    for part in smaller[: effort * WORK // (ROUGH * entries)]:
        views, shares = found
        more = contrasts.holdings([*views, part])
        start = np.append(shares.shares, 1 / len(views))
        trial = best_shares(more, power, start=start, steps=ROUGH, bounded=False)
        if trial.error * LOSS < shares.error:
            found = [*views, part], best_shares(more, power, start=trial.shares)
    return found


def _limited(
    contrasts: Contrasts,
    wanted: list[Block],
    limit: int,
    power: int,
    seed: int,
) -> list[list[Block]]:
    """Covers with several limits on the number of cells of a view.

    The limit is doubled as long as the error falls, and then halved from the start as long as the
    error falls. Returns the views of each limit that was tried.
    """
    made: dict[int, tuple[float, list[Block]]] = {}

    def error(cells: int) -> float:
        if cells not in made:
            views = list(covers(contrasts.sizes, cells, wanted, seed=seed))
            made[cells] = _rough(contrasts, views, power)[1].error, views
        return made[cells][0]

    start = min(limit, 256)
    for factor in (2, 0.5):
        cells = start
        while 4 <= (after := int(cells * factor)) <= limit and error(after) < error(cells):
            cells = after
    if not made:
        return [list(covers(contrasts.sizes, start, wanted, seed=seed))]
    return [views for _, views in made.values()]


def _priced(
    contrasts: Contrasts,
    wanted: list[Block],
    limit: int,
    seed: int,
    effort: int,
) -> Candidate:
    """Column generation for power 1: find the best shares of a pool, add helpful views, repeat."""
    # The first pool: the wanted sets themselves and several covers of them.
    pool = dict.fromkeys(wanted)
    for views in _limited(contrasts, wanted, limit, 1, seed):
        pool.update(dict.fromkeys(views))
    if len(wanted) <= POOL_SETS:
        cover = WorthCover(contrasts.sizes, wanted, contrasts.weights, limit, 1)
        rng = np.random.default_rng(seed)
        for noise in (0.01, 0.1, 0.3):
            pool.update(dict.fromkeys(cover.run(noise, rng)))
    # Rounds of pricing.
    views = list(pool)
    holdings = contrasts.holdings(views)
    found = best_shares(
        holdings,
        1,
        tolerance=1e-3,
        steps=300,
    )
    useful = sorted({j for a in wanted for j in a})
    for _ in range(ROUNDS * effort):
        joining = _helpful(contrasts, holdings, views, found, useful, limit)
        if not joining:
            break
        start = np.concatenate([found.shares, np.full(len(joining), 0.1 / len(views))])
        views += joining
        holdings = contrasts.holdings(views)
        found = best_shares(
            holdings,
            1,
            start=start,
            tolerance=1e-3,
            steps=300,
        )
    # Certify the shares over the whole pool.
    return views, best_shares(holdings, 1, start=found.shares)


def _helpful(
    contrasts: Contrasts,
    holdings: Holdings,
    views: list[Block],
    found: Shares,
    useful: Sequence[int],
    limit: int,
) -> list[Block]:
    """The views that would lower the error if they joined the pool, the best first.

    The price of a view is the decrease of the error per unit of its share. At the best shares,
    every view in use has a price equal to the error. So a view with a higher price helps. Only
    neighbours of views in use are priced. At most as many views are returned as may join.
    `holdings` is that of `views`.
    """
    room = min(POOL - len(views), JOINING)
    if room <= 0 or holdings.view.size > ENTRIES:
        return []
    theta = holdings.precision(found.shares, 1)
    worth = (holdings.kappa / theta**2).tolist()
    known = set(views)
    prices: dict[Block, float] = {}
    for view, share in zip(views, found.shares, strict=True):
        if share * len(views) < IN_USE:
            continue
        # The view of no attributes, which measures the total alone, is always considered.
        for near in [*_neighbours(view, useful), ()]:
            if near in known or near in prices or contrasts.cells(near) > limit:
                continue
            total = sum(worth[place] for place in contrasts.held(near))
            prices[near] = total / contrasts.cells(near)
    good = [near for near, price in prices.items() if price > found.error * GAIN]
    return sorted(good, key=lambda near: -prices[near])[:room]


def _neighbours(view: Block, useful: Sequence[int]) -> list[Block]:
    """The views that differ by one attribute: one of `useful` more, or one less."""
    more = [tuple(sorted((*view, j))) for j in useful if j not in view]
    less = [tuple(i for i in view if i != j) for j in view]
    return more + less


def _rough(
    contrasts: Contrasts,
    views: list[Block],
    power: int,
) -> Candidate:
    """Views with shares from a few steps of `best_shares`, for a first comparison."""
    return views, best_shares(
        contrasts.holdings(views),
        power,
        steps=ROUGH,
        bounded=False,
    )


def _error(candidate: Candidate) -> float:
    """The error of a candidate; infinite if it has no views."""
    return candidate[1].error if candidate[0] else inf
