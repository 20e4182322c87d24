"""A synopsis, and the rules of its domain, in the forms of other libraries, each imported when
asked for."""

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from .._optional import needed
from ..domain.domain import Domain

if TYPE_CHECKING:
    from .view import ViewSynopsis

__all__ = ["to_mbi", "to_mbi_constraints"]


def to_mbi(synopsis: "ViewSynopsis") -> tuple[Any, list[Any]]:
    """The views for mbi 2.0 (Private-PGM): its `Domain`, and a `LinearMeasurement` a view.

    The tables are the consistent ones, with a declared number of rows as their total; each has the
    standard deviation that it was measured with. Neither part of the result can say what is
    impossible: see `to_mbi_constraints`.

    Raises
    ------
    MarginError
        When mbi is not installed.
    """
    mbi = needed("mbi")
    domain = mbi.Domain(synopsis.domain.attributes, synopsis.domain.sizes)
    measurements = [
        mbi.LinearMeasurement(
            table.ravel(),
            tuple(synopsis.domain.attributes[axis] for axis in axes),
            stddev=math.sqrt(variance),
        )
        for axes, table, variance in zip(
            synopsis.tables.views, synopsis.tables.values, synopsis.tables.variances, strict=True
        )
    ]
    return domain, measurements


def to_mbi_constraints(domain: Domain) -> list[Any]:
    """What the domain declares to be impossible, for mbi 2.0: a `mbi.Constraint` for each set of
    attributes that a rule names, none without rules. Without them mbi's model has rows in
    impossible cells.

        domain, measurements = to_mbi(synopsis) rules = to_mbi_constraints(synopsis.domain) model =
        mbi.estimation.MirrorDescent().estimate(domain, measurements, constraints=rules) table =
        mbi.marginal_oracles.variable_elimination(model.potentials, asked, model.total,
        constraints=rules)

    The last line is for sets of attributes that no view covers: there `model.project` of mbi 2.0.0
    forgets the rules. Its `synthetic_data` keeps them.

    Raises
    ------
    MarginError
        When mbi is not installed.
    """
    mbi = needed("mbi")
    named = dict.fromkeys(
        tuple(name for name in domain if name in rule) for rule in domain.impossible
    )
    return [
        mbi.Constraint(
            mbi.Domain(view, domain.shape(view)), invalid=np.argwhere(~domain.possible(view))
        )
        for view in named
    ]
