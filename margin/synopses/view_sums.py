"""Numbers of rows with some codes as weighted sums of the cells of views."""

from collections.abc import Sequence

import numpy as np

from .._types import Floats
from ..domain.domain import Domain
from ..domain.where import Chosen
from ..solvers import Tables, WeightedSum, covered_covariance
from .counting import Sums

__all__ = ["covered_sums", "weights_on"]


def covered_sums(
    domain: Domain,
    tables: Tables,
    chosen: Sequence[Chosen],
) -> Sums:
    """Add up cells of views, if each set of restricted attributes lies within a view.

    The errors are those of the best linear estimate; see `margin.solvers.covered_covariance`.
    """
    estimates = []
    sums = []
    for codes in chosen:
        axes = tuple(sorted(domain.position[name] for name in codes))
        view = tables.covering(axes)
        assert view is not None  # the caller has checked this
        weights = weights_on(domain, axes, [codes])[:, 0]
        estimates.append(float(tables.project(view, axes).ravel() @ weights))
        shape = tuple(domain.sizes[axis] for axis in axes)
        sums.append(WeightedSum(axes, weights.reshape(shape)))
    noise = covered_covariance(tables, sums)
    return Sums(estimates=np.array(estimates), noise=noise, missed=np.zeros_like(noise))


def weights_on(
    domain: Domain,
    axes: Sequence[int],
    chosen: Sequence[Chosen],
) -> Floats:
    """The indicators of the selected cells of a marginal, shape (cells, q).

    Cells that the rules of the domain exclude have the weight zero: they hold no row for sure.

    Parameters
    ----------
    domain
        The attributes.
    axes
        The axes of the marginal, ascending.
    chosen
        The codes that each of the q sums selects; other attributes are not restricted.
    """
    columns = []
    for codes in chosen:
        column: Floats = np.ones(1)
        for axis in axes:
            own: Floats = np.ones(domain.sizes[axis])
            name = domain.attributes[axis]
            if name in codes:
                own = np.zeros(domain.sizes[axis])
                own[list(codes[name])] = 1.0
            column = np.outer(column, own).ravel()
        columns.append(column)
    weights = np.stack(columns, axis=1)
    if domain.zeros is not None and axes:
        weights[domain.zeros.cells(tuple(axes)).ravel()] = 0.0
    return weights
