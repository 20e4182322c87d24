"""`agreed`: tables that agree exactly on everything they share, from separate answers."""

from collections.abc import Sequence

import numpy as np

from .._types import Flags, Floats
from ..domain.domain import Domain, View
from ..domain.level_views import LevelView
from ..domain.marginal import Marginal
from ..domain.recoding.grouped_view import GroupedView
from ..errors import DomainError
from ..solvers import JointProjection, ResidualConsistency, Tables, WholeTables
from .counts.conditions import certain
from .noisy_tables import in_view_order, tables_of

__all__ = ["agreed"]

_MOST_CELLS = 1 << 26
"""Largest number of cells of all tables together."""

_MOST_ROWS = 2**50

_ROUNDING = 1 / 12
"""The variance of a rounding error. It is added to all variances, so that none is zero."""


def agreed(
    domain: Domain,
    views: Sequence[LevelView | GroupedView],
    cells: Sequence[Marginal],
    answers: Sequence[Marginal],
    *,
    integers: bool,
    seed: int,
) -> list[Marginal]:
    """Change marginals as little as possible so that they agree; see `Synopsis.tables`.

    Tables at levels of attributes, or of other groups of categories, are sums of cells of agreeing
    tables on the attributes. So all levels agree.

    Parameters
    ----------
    domain
        The attributes, the rules, the number of rows and known tables, if they are declared.
    views
        What was asked.
    cells
        The separate answer of each view on its attributes, without levels.
    answers
        The separate answer of each view.
    integers, seed
        As for `Synopsis.tables`.
    """
    concerned = _concerned(domain, cells)
    separate = _tables(concerned, cells)
    # The best linear estimate, and the non-negative tables that are nearest to it.
    fitted = JointProjection()(ResidualConsistency()(separate))
    found = _whole(fitted, seed) if integers else fitted
    places = {axes: row for row, axes in enumerate(found.views)}
    made = []
    for view, answer in zip(views, answers, strict=True):
        axes = concerned.axes(view.view)
        row = places[tuple(sorted(axes))]
        counts = view.rolled_up(in_view_order(found.values[row], axes))
        exact = view.rolled_up(in_view_order(fitted.values[row], axes))
        rounding = float(((counts - exact) ** 2).mean())
        made.append(_with_counts(answer, counts, rounding, _uncertain(concerned, view)))
    return made


def _whole(fitted: Tables, seed: int) -> Tables:
    """Tables of whole numbers that agree, near tables that agree."""
    total = round(fitted.total) if fitted.total > 0 else 0
    if total > _MOST_ROWS:
        raise DomainError(
            f"tables of whole numbers must have a total of at most {_MOST_ROWS:,}, but the "
            "(noisy) number of rows is larger; pass integers=False"
        )
    if not total:
        return fitted.with_values([np.zeros_like(value) for value in fitted.values])
    try:
        return WholeTables()(fitted, total, seed=seed)
    except ValueError as error:
        problem = str(error)
    raise DomainError(f"whole numbers: {problem}, or pass integers=False")


def _concerned(domain: Domain, answers: Sequence[Marginal]) -> Domain:
    """Restrict a domain to the attributes of the answers and to those that rules connect with them.

    All rules that concern the answers are kept.
    """
    asked = {name for answer in answers for name in answer.attributes}
    while connected := [rule for rule in domain.linked if rule & asked and not rule <= asked]:
        asked.update(*connected)
    return domain.restrict([name for name in domain if name in asked])


def _tables(domain: Domain, answers: Sequence[Marginal]) -> Tables:
    """The answers as tables with one variance each, every set of attributes once."""
    once: dict[View, Marginal] = {_key(domain, answer): answer for answer in answers}
    cells = sum(answer.counts.size for answer in once.values())
    if cells > _MOST_CELLS:
        raise DomainError(
            f"the tables together must have at most {_MOST_CELLS:,} cells, but they have "
            f"{cells:,}; ask for fewer or smaller tables"
        )
    # A variance that is not known is as large as the largest one that is.
    means = np.array([answer.variance.mean() for answer in once.values()])
    known = means[np.isfinite(means)]
    means = np.where(np.isfinite(means), means, known.max(initial=1.0))
    return tables_of(
        domain,
        [answer.attributes for answer in once.values()],
        [answer.counts for answer in once.values()],
        (means + _ROUNDING).tolist(),
    )


def _key(domain: Domain, answer: Marginal) -> View:
    """The attributes of an answer in the order of the domain."""
    return tuple(sorted(answer.attributes, key=domain.position.__getitem__))


def _uncertain(domain: Domain, view: LevelView | GroupedView) -> Flags:
    """Which cells of a view have an error: those that the rules, the declared number of rows and
    known tables leave open. The shape is that of the view."""
    known = certain(domain, domain.axes(view.view), view.groups)
    return np.asarray(view.rolled_up((~known).astype(np.float64)) > 0)


def _with_counts(
    answer: Marginal,
    counts: Floats,
    rounding: float,
    uncertain: Flags,
) -> Marginal:
    """A separate answer with other counts, and with the variance of rounding added to its noise.

    It keeps the intervals of the answer; see `Marginal.interval`. So bounds do not depend on which
    tables were made to agree with it, and are those of the answer wherever it is shown.

    Parameters
    ----------
    answer
        The separate answer.
    counts
        The new counts, of the same shape.
    rounding
        The mean square of what rounding has changed, in squared rows.
    uncertain
        Which cells have an error, of the same shape.
    """
    missed = answer.missed_variance if answer.reconstructed else None
    bounded = Marginal(
        answer.domain,
        np.where(uncertain, answer.counts, counts),
        np.where(uncertain, answer.noise_variance, 0.0),
        missed_variance=missed,
        noise_kurtosis=answer.noise_kurtosis,
    )
    return Marginal(
        answer.domain,
        counts,
        np.where(uncertain, answer.noise_variance + rounding, 0.0),
        missed_variance=missed,
        noise_kurtosis=answer.noise_kurtosis,
        answer=bounded,
    )
