"""Problems that know the noisy moments of some views of a random table."""

import math

import numpy as np

from margin.solvers import Problem
from margin.solvers.basis import transform


def problem_of(shape, views, seed=0, noise=1e-3, zeros=0.0):
    """A problem that knows the components of the views; their variances differ."""
    rng = np.random.default_rng(seed)
    cells = math.prod(shape)
    table = rng.dirichlet(np.full(cells, 0.7))
    must = None
    if zeros:
        must = rng.random(cells) < zeros
        table = np.where(must, 0.0, table)
        table /= table.sum()
    basis = transform(shape)
    masks = {sum(1 << axis for axis in view) for view in views}
    known = [any(mask & one == one for mask in masks) for one in basis.component]
    index = np.flatnonzero(known)[1:]
    variance = noise**2 * (1 + basis.component[index] % 3).astype(float)
    moments = basis.analyse(table)[index] * math.sqrt(cells)
    target = moments + rng.normal(size=len(index)) * np.sqrt(variance)
    return Problem(
        shape=shape, index=index, target=target, variance=variance,
        total=1000.0, total_variance=9.0, zeros=must,
    )  # fmt: skip
