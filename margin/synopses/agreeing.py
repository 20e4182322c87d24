"""`agreed`: tables that agree exactly on everything they share, from separate answers."""

import math
from collections.abc import Sequence

import numpy as np

from .._types import Floats
from ..domain.domain import Domain, View
from ..domain.marginal import Marginal
from ..errors import DomainError
from ..solvers import JointProjection, ResidualConsistency, Tables, WholeTables
from .noisy_tables import in_view_order, tables_of

__all__ = ["agreed"]

_MOST_CELLS = 1 << 26
"""Largest number of cells of all tables together."""

_MOST_ROWS = 2**50

_ROUNDING = 1 / 12
"""The variance of a rounding error. It is added to all variances, so that none is zero."""


def agreed(
    domain: Domain,
    answers: Sequence[Marginal],
    *,
    integers: bool,
    seed: int,
) -> list[Marginal]:
    """Change marginals as little as possible so that they agree; see `Synopsis.tables`.

    Parameters
    ----------
    domain
        The attributes, the rules, and the number of rows, if it is declared.
    answers
        The separate answers. Answers about the same attributes become equal.
    integers, seed
        As for `Synopsis.tables`.
    """
    domain = _concerned(domain, answers)
    separate = _tables(domain, answers)
    # The best linear estimate, and the non-negative tables that are nearest to it.
    fitted = JointProjection()(ResidualConsistency()(separate))
    if not integers:
        rounding = np.zeros(len(fitted.views))
        return _marginals(domain, answers, fitted, rounding)
    total = max(round(fitted.total), 0) if fitted.total > 0 else 0
    if total > _MOST_ROWS:
        raise DomainError(
            f"tables of whole numbers must have a total of at most {_MOST_ROWS:,}, but the "
            "(noisy) number of rows is larger; pass integers=False"
        )
    if not total:
        whole = fitted.with_values([np.zeros_like(value) for value in fitted.values])
    else:
        whole = WholeTables()(fitted, total, seed=seed)
    pairs = zip(whole.values, fitted.values, strict=True)
    rounding = np.array([((rounded - exact) ** 2).mean() for rounded, exact in pairs])
    return _marginals(domain, answers, whole, rounding)


def _concerned(domain: Domain, answers: Sequence[Marginal]) -> Domain:
    """Restrict a domain to the attributes of the answers and to those that rules connect with them.

    All rules that concern the answers are kept.
    """
    asked = {name for answer in answers for name in answer.attributes}
    rules = [set(rule) for rule in domain.impossible]
    while connected := [rule for rule in rules if rule & asked and not rule <= asked]:
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


def _marginals(
    domain: Domain,
    answers: Sequence[Marginal],
    tables: Tables,
    rounding: Floats,
) -> list[Marginal]:
    """The tables as marginals with the attributes, and the variances, of the separate answers.

    `rounding` is the mean square of what rounding has changed in each table, shape (tables,). It
    becomes part of the noise.
    """
    places = {view: row for row, view in enumerate(tables.views)}
    marginals = []
    for answer in answers:
        axes = domain.axes(answer.attributes)
        row = places[tuple(sorted(axes))]
        noise = answer.noise_variance + rounding[row]
        missed = answer.missed_variance if answer.reconstructed else None
        if domain.zeros is not None:
            noise = np.where(domain.possible(answer.attributes), noise, 0.0)
        if math.prod(answer.counts.shape) == 1 and domain.rows is not None:
            noise = np.zeros_like(noise)
        marginals.append(
            Marginal(
                domain.restrict(answer.attributes, checked=True),
                in_view_order(tables.values[row], axes),
                noise,
                missed_variance=missed,
            )
        )
    return marginals
