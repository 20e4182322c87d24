"""Conversion of a synopsis, and of the rules of its domain, for other libraries.

Each library is imported when it is needed.
"""

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from .._optional import needed
from ..domain.domain import Domain

if TYPE_CHECKING:
    from .view import ViewSynopsis

__all__ = ["to_mbi", "to_mbi_constraints"]


def to_mbi(synopsis: "ViewSynopsis") -> tuple[Any, list[Any]]:
    """Convert the views to objects of mbi 2.0 (Private-PGM): a `Domain` and a list of measurements.

    There is one `LinearMeasurement` for each view. It has the consistent table of the view, and the
    standard deviation of the noise with which the view was measured. If the domain declares the
    number of rows, the tables sum to it. Neither object can express impossible combinations: see
    `to_mbi_constraints`.

    Raises
    ------
    MarginError
        When mbi is not installed.
    """
    mbi = needed("mbi")
    attributes = synopsis.domain.attributes
    tables = synopsis.held
    measurements = []
    for axes, table, variance in zip(tables.views, tables.values, tables.variances, strict=True):
        names = tuple(attributes[axis] for axis in axes)
        measurements.append(
            mbi.LinearMeasurement(
                table.ravel(),
                names,
                stddev=math.sqrt(variance),
            )
        )
    return mbi.Domain(attributes, synopsis.domain.sizes), measurements


def to_mbi_constraints(domain: Domain) -> list[Any]:
    """Convert the rules of a domain for mbi 2.0: a `mbi.Constraint` for each set of attributes.

    Without them the model of mbi has rows in impossible cells. A domain without rules gives an
    empty list.

        domain, measurements = to_mbi(synopsis)
        rules = to_mbi_constraints(synopsis.domain)
        solver = mbi.estimation.MirrorDescent()
        model = solver.estimate(domain, measurements, constraints=rules)
        table = mbi.marginal_oracles.variable_elimination(
            model.potentials, asked, model.total, constraints=rules
        )

    The last statement is for sets of attributes that no view covers: for these, `model.project` of
    mbi 2.0.0 ignores the rules. `model.synthetic_data` keeps them.

    Raises
    ------
    MarginError
        When mbi is not installed.
    """
    mbi = needed("mbi")
    named = [tuple(name for name in domain if name in rule) for rule in domain.impossible]
    # Rules about the same attributes make one constraint.
    constraints = []
    for view in dict.fromkeys(named):
        invalid = np.argwhere(~domain.possible(view))
        over = mbi.Domain(view, domain.shape(view))
        constraints.append(mbi.Constraint(over, invalid=invalid))
    return constraints
