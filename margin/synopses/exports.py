"""What a synopsis is converted to: the targets of its records, and objects of other libraries.

Each library is imported when it is needed.
"""

import dataclasses
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from .._optional import needed
from .._types import Floats
from ..domain.domain import Domain
from ..solvers import BasedReconstruction, Newton, Reconstruction, Tables

if TYPE_CHECKING:
    from .views import ViewSynopsis

__all__ = ["record_targets", "to_mbi", "to_mbi_constraints"]

_FITTED_TRIPLES = 150
"""Largest number of reconstructed tables that records are fitted to."""

_DRAWS = 8
"""Number of random sets of attributes that are drawn for each reconstructed table."""

_FITTED_WORK = 6_000_000
"""Largest number of rows times reconstructed tables, so that fitting many rows takes no minutes."""

_FITTED_CELLS = 1 << 14
"""Largest number of cells of a reconstructed table that records are fitted to."""


def record_targets(
    held: Tables,
    reconstruction: Reconstruction | BasedReconstruction,
    rows: int,
) -> Tables:
    """The tables that generated records are fitted to: the views, and answers on three attributes.

    Rows that only fit the views differ from other answers as a random sample does: by about 1 /
    sqrt(n) in the L2 norm, relative to n rows. So a random choice of reconstructed tables joins
    the views. Each has the weight of a typical view. The choice is always the same.

    Parameters
    ----------
    held
        The views, of positive total.
    reconstruction
        What answers marginals that no view covers.
    rows
        The number of records.
    """
    count = min(_FITTED_TRIPLES, _FITTED_WORK // rows)
    if count < 1 or not isinstance(reconstruction.solver, Newton):
        return held
    sizes = held.sizes
    added = _uncovered_triples(held, count)
    if isinstance(reconstruction, Reconstruction):
        solver = dataclasses.replace(reconstruction.solver, bars=False)
        reconstruction = Reconstruction(held, solver)
    # Tables of one shape are reconstructed together. A table without a solution is left out.
    answers: dict[tuple[int, ...], Floats] = {}
    for shape in sorted({tuple(sizes[axis] for axis in axes) for axes in added}):
        some = [axes for axes in added if tuple(sizes[axis] for axis in axes) == shape]
        solutions = reconstruction.solve(np.array(some))
        for axes, solution in zip(some, solutions, strict=True):
            if solution.status.ok:
                answers[axes] = np.asarray(solution.table).reshape(shape)
    return dataclasses.replace(
        held,
        views=(*held.views, *answers),
        values=(*held.values, *answers.values()),
        variances=(*held.variances, *[float(np.median(held.variances))] * len(answers)),
        precisions=None,
        unbiased=None,
    )


def _uncovered_triples(held: Tables, count: int) -> list[tuple[int, ...]]:
    """Up to `count` random sets of three axes that no view holds, always the same ones."""
    sizes = held.sizes
    varying = [axis for axis, size in enumerate(sizes) if size > 1]
    if len(varying) < 3:
        return []
    rng = np.random.default_rng(0)
    found: set[tuple[int, ...]] = set()
    # Most sets are drawn several times where there are few of them.
    for _ in range(_DRAWS * count):
        axes = tuple(sorted(rng.choice(varying, 3, replace=False).tolist()))
        cells = math.prod(sizes[axis] for axis in axes)
        if cells <= _FITTED_CELLS and axes not in found and held.covering(axes) is None:
            found.add(axes)
        if len(found) == count:
            break
    return sorted(found)


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
    named = [tuple(name for name in domain if name in rule) for rule in domain.linked]
    # Rules about the same attributes make one constraint.
    constraints = []
    for view in dict.fromkeys(named):
        invalid = np.argwhere(~domain.possible(view))
        over = mbi.Domain(view, domain.shape(view))
        constraints.append(mbi.Constraint(over, invalid=invalid))
    return constraints
