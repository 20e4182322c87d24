"""Tables of views for the tests: random sizes, overlapping views, unequal noise."""

import itertools

import numpy as np
from hypothesis import strategies as st

from margin.solvers import Tables


def random_tables(seed: int, *, sizes=None, count=None, mean=50.0, noise=10.0) -> Tables:
    rng = np.random.default_rng(seed)
    sizes = (
        tuple(rng.integers(1, 5, rng.integers(2, 6)).tolist()) if sizes is None else tuple(sizes)
    )
    count = int(rng.integers(1, 6)) if count is None else count
    views = []
    for _ in range(count):
        size = int(rng.integers(1, min(4, len(sizes)) + 1))
        views.append(tuple(sorted(rng.choice(len(sizes), size, replace=False).tolist())))
    values = tuple(rng.normal(mean, noise, [sizes[a] for a in view]) for view in views)
    return Tables(
        sizes=sizes,
        views=tuple(views),
        values=values,
        variances=tuple(rng.uniform(0.5, 20.0, count).tolist()),
    )


def tables_of(array: np.ndarray, views, variance=1.0) -> Tables:
    """The exact marginals of an array on some views."""
    values = tuple(
        array.sum(axis=tuple(a for a in range(array.ndim) if a not in view)) for view in views
    )
    return Tables(
        sizes=array.shape, views=tuple(views), values=values, variances=(variance,) * len(views)
    )


def disagreement(tables: Tables) -> float:
    """The largest difference between two views' marginals on the axes they share."""
    worst = 0.0
    for first, second in itertools.combinations(range(len(tables.views)), 2):
        common = tuple(sorted(set(tables.views[first]) & set(tables.views[second])))
        worst = max(
            worst, np.abs(tables.project(first, common) - tables.project(second, common)).max()
        )
    return worst


seeds = st.integers(0, 2**32 - 1)
