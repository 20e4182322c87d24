"""What noisy tables tell about a base: how many rows it is worth, and the total that fits it."""

import dataclasses
import math
from dataclasses import dataclass

import numpy as np

from ..basis import transform
from ..reconstruct.batch import Batch
from ..reconstruct.newton import Newton
from ..tables.tables import Axes, Tables
from ..types import Floats
from .base import Base
from .reconstruction import BasedReconstruction
from .total import own_total, total_with, with_total
from .trust import learnt_trust

__all__ = ["Learnt", "learnt"]

_FACTORS = (1.0, 1 / 4, 1 / 16, 1 / 64, 1 / 256)
"""Factors of 1 / (number of rows) that are compared, the largest first."""

_SURE = 2.0
"""Standard errors by which a smaller factor must predict better than a larger one."""

_JUDGES = 12
"""Largest number of views on which the factors are compared."""

_JUDGED_CELLS = 2048
"""Largest number of cells of such a view."""

_ASSUMED = 1 / 100
"""1 / (number of rows that a base is worth) for its first estimate of the total."""


@dataclass(
    frozen=True,
    kw_only=True,
    eq=False,
)
class Learnt:
    """What was learnt about a base.

    Attributes
    ----------
    trust
        1 / (the number of rows that the base is worth) for each moment of each view, shaped like
        the tables.
    total
        The estimate of the total, and its variance.
    """

    trust: tuple[Floats, ...]
    total: tuple[float, float]


def learnt(tables: Tables, base: Base) -> Learnt:
    """Learn from noisy tables how far a base is right.

    The total is estimated first, because a total that noise made too small or too large moves all
    moments away from the base. `learnt_trust` follows, for each moment by itself. If the noise is
    so large that single moments tell little, it is too cautious. So its result is multiplied by one
    factor of at most 1, with which the tables of the views are predicted well: see `_scaled`. At
    last, the total is estimated again with what was learnt.

    Parameters
    ----------
    tables
        Consistent tables. `Tables.unbiased` is compared if it is there.
    base
        The base.
    """
    if not tables.total > 0:
        return Learnt(trust=learnt_trust(tables, base), total=own_total(tables))
    assumed = with_total(tables, *total_with(tables, base, _ASSUMED))
    trust = _scaled(assumed, base, learnt_trust(assumed, base))
    return Learnt(trust=trust, total=total_with(tables, base, trust))


def _scaled(
    tables: Tables,
    base: Base,
    trust: tuple[Floats, ...],
) -> tuple[Floats, ...]:
    """The trust, times the largest factor than which no smaller one is surely better.

    The prediction x of a view's moments y has the expected squared error |x - y| ** 2 - sum v + 2
    sum v d, where v are the variances of y, and d the derivatives of x by y (Stein, Annals of
    Statistics 9, 1981). With the ridge v / s, the sum of v d is the sum of s times the variances
    that the moments keep, which `Solution.undetermined` gives; s is replaced by its mean.
    """
    judges = _judges(tables)
    if not judges:
        return trust
    least = 1 / base.rows + 1 / tables.total
    counts = tables.values if tables.unbiased is None else tables.unbiased
    unbiased = dataclasses.replace(tables, values=counts, unbiased=None, precisions=None)
    tried = [
        tuple(np.maximum(scales * factor, np.minimum(scales, least)) for scales in trust)
        for factor in _FACTORS
    ]
    risks = np.stack([_risks(tables, unbiased, base, scales, judges) for scales in tried])
    # A smaller factor is taken only if it is surely better than the one taken so far.
    best = 0
    for place in range(1, len(tried)):
        if not np.isfinite(risks[[best, place]]).all():
            continue  # a view could not be predicted with one of the two
        gain = risks[best] - risks[place]
        error = gain.std(ddof=1) / math.sqrt(len(gain)) if len(gain) > 1 else math.inf
        if gain.mean() > _SURE * error:
            best = place
    return tried[best]


def _judges(tables: Tables) -> list[Axes]:
    """Random views, not too large, the same ones in every call."""
    small = [
        view
        for view, value in zip(tables.views, tables.values, strict=True)
        if 1 < value.size <= _JUDGED_CELLS
    ]
    chosen = np.random.default_rng(0).permutation(len(small))[:_JUDGES]
    return [small[place] for place in sorted(chosen.tolist())]


def _risks(
    tables: Tables,
    unbiased: Tables,
    base: Base,
    trust: tuple[Floats, ...],
    judges: list[Axes],
) -> Floats:
    """The estimated squared error of each view with a trust, but for a constant; see `_scaled`."""
    solver = Newton()
    reconstruction = BasedReconstruction(tables, base, trust, solver)
    risks = []
    for view in judges:
        asked = np.array([view])
        problems = reconstruction.relative(asked)
        batch = problems.batch
        (solution,) = solver.solve(batch)
        if not solution.status.ok or solution.undetermined is None:
            risks.append(math.inf)
            continue
        cells = batch.cells
        shares = solution.table.ravel() / tables.total
        moments = transform(batch.shape).analyse(shares)[1:] * math.sqrt(cells)
        known = Batch.of(unbiased, asked).target * unbiased.total / tables.total
        left = solution.undetermined.sum() / tables.total**2 * cells
        following = float(problems.scales.mean() * left)
        risks.append((float(((moments - known) ** 2).sum()) + 2 * following) / cells)
    return np.array(risks)
