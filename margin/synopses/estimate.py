"""`estimate` and `from_measurements`: make a synopsis that answers any marginal from noisy tables
of views."""

import dataclasses
import logging
import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from .._types import Floats
from .._version import __version__
from ..domain.domain import Domain, GivenDomain, domain_of
from ..domain.marginal import Marginal
from ..errors import DataError, DomainError
from ..privacy.budget import Budget
from ..privacy.statement import Bound, Statement, digest
from ..solvers import (
    Consistency,
    JointProjection,
    Newton,
    NonNegativity,
    ResidualConsistency,
    Solver,
    Tables,
    linked,
)
from . import ViewSynopsis
from .synopsis import Provenance

__all__ = ["CONTEXT", "estimate", "from_measurements", "reconstruction_for"]

log = logging.getLogger("margin")

_JOINT_CELLS = 1 << 17
"""Largest full table for which maximum entropy is taken over all attributes at once, in cells."""

CONTEXT = 12
"""Largest number of attributes of a context if the full table is larger than `_JOINT_CELLS`.

An answer takes some milliseconds. Larger contexts reduce the error very little.
"""


def estimate(
    domain: GivenDomain,
    measured: Sequence[Marginal],
    *,
    consistency: Consistency = ResidualConsistency(),
    nonnegativity: NonNegativity | None = JointProjection(),
    reconstruction: Solver | None = None,
) -> ViewSynopsis:
    """Make a synopsis from noisy tables of views; its tables are consistent and non-negative.

    With `nonnegativity=None` negative counts stay. This is post-processing: it spends no privacy.

    Parameters
    ----------
    domain
        The attributes, the rules that estimates satisfy, and the number of rows, if it is declared.
    measured
        The tables, each with independent noise of one variance.
    consistency, nonnegativity
        See `PriView`.
    reconstruction
        The solver for marginals that no view covers; None takes `reconstruction_for`.
    """
    domain = domain_of(domain)
    solver = reconstruction_for(domain) if reconstruction is None else reconstruction
    synopsis = ViewSynopsis.of(domain, measured, reconstruction=solver)
    log.info("making the views consistent")
    consistent = consistency(synopsis.held)
    return synopsis.with_tables(possible(consistent, nonnegativity, consistency))


def reconstruction_for(domain: Domain) -> Newton:
    """The solver of maximum entropy: over all attributes at once if the full table is small,
    otherwise over a few attributes that include the requested ones."""
    is_small = math.prod(domain.sizes) <= _JOINT_CELLS
    return Newton(context=len(domain) if is_small else CONTEXT)


def possible(
    tables: Tables,
    nonnegativity: NonNegativity | None,
    consistency: Consistency,
) -> Tables:
    """Remove negative counts from consistent tables, and make them consistent again.

    With `nonnegativity=None` negative counts stay; impossible cells are zero, and what is known and
    what rules make views share is kept, in either case.
    """
    if nonnegativity is None:
        is_free = tables.empty is None and tables.known is None and not tables.links
        return tables if is_free else linked(consistency(tables))
    # Some methods lose consistency when they remove negative counts.
    changed = nonnegativity(tables)
    if not nonnegativity.keeps_consistency:
        changed = consistency(changed)
    # Some do not know what rules make views share.
    return dataclasses.replace(linked(changed), unbiased=tables.values)


def from_measurements(
    measurements: Iterable[Any],
    *,
    domain: GivenDomain,
    guarantee: Budget | None = None,
    consistency: Consistency = ResidualConsistency(),
    nonnegativity: NonNegativity | None = JointProjection(),
    reconstruction: Solver | None = None,
) -> ViewSynopsis:
    """Make a synopsis that answers any marginal from noisy marginals that somebody has published.

    Parameters
    ----------
    measurements
        A list. Each measurement is a triple (attributes, counts, standard deviation of the noise of
        each count), a `Marginal` of one variance, or an `mbi.LinearMeasurement` of a whole
        marginal. A set of attributes may come several times.
    domain
        The attributes, the rules that answers satisfy, and the number of rows, if it is declared.
    guarantee
        The budget of the publication, as its publisher states it. Without it the synopsis cannot be
        saved.
    consistency, nonnegativity
        See `PriView`.
    reconstruction
        The solver for marginals that no view covers. None takes maximum entropy with context: the
        views of further attributes improve the answers (`Newton`, `context`).

    Returns
    -------
    ViewSynopsis
        The synopsis, whose tables are consistent.

    Raises
    ------
    DomainError
        When a set of attributes is not a view of the domain, or there is no measurement.
    DataError
        When counts do not have the shape of their view or are not finite, or a standard deviation
        is not a finite number > 0.

    Examples
    --------
    >>> pair = (["a", "b"], [[10.2, 3.9], [5.1, 0.8]], 1.0)
    >>> noisy = [pair, (["b", "c"], [[9.0, 6.1], [2.2, 2.9]], 1.0)]
    >>> synopsis = from_measurements(noisy, domain={"a": 2, "b": 2, "c": 2})
    >>> synopsis.marginal(["a", "c"]).counts.round(1)
    array([[7.8, 6.4],
           [3.4, 2.6]])
    """
    declared = domain_of(domain)
    measured = [_marginal(declared, measurement) for measurement in measurements]
    if not measured:
        raise DomainError(
            "measurements must contain at least one measurement, but it is empty; add the measured "
            "marginals"
        )
    synopsis = estimate(
        declared,
        measured,
        consistency=consistency,
        nonnegativity=nonnegativity,
        reconstruction=reconstruction,
    )
    if guarantee is None:
        return synopsis
    # The guarantee is the publisher's claim, which nothing here enforces.
    statement = Statement(
        budget=guarantee,
        bound=Bound.DECLARED,
        domain=digest(declared),
    )
    provenance = Provenance(
        mechanism={"name": "from_measurements"},
        statement=statement,
        private=True,
        version=__version__,
    )
    return dataclasses.replace(synopsis, provenance=provenance)


def _marginal(domain: Domain, measurement: Any) -> Marginal:
    """Convert a measurement of any of the three kinds to a marginal of the domain."""
    kurtosis: Floats | float = 0.0
    if isinstance(measurement, Marginal):
        view, counts = measurement.attributes, measurement.counts
        kurtosis = measurement.noise_kurtosis
        deviation = _deviation(measurement)
    elif hasattr(measurement, "clique"):
        view, counts, deviation = _of_mbi(measurement)
    else:
        try:
            view, counts, deviation = measurement
        except (TypeError, ValueError):
            raise DataError(
                "a measurement must be (attributes, counts, standard deviation), a Marginal or an "
                f"mbi.LinearMeasurement, but it is of type {type(measurement).__name__}; convert "
                "it to one of these"
            ) from None
    names = domain.view(view)
    listed = ", ".join(names)
    shape = domain.shape(names)
    try:
        array, deviations = np.asarray(counts, np.float64), np.asarray(deviation, np.float64)
    except (TypeError, ValueError):
        raise DataError(
            f"the counts of {listed} and their standard deviation must be numbers, but they are of "
            f"types {type(counts).__name__} and {type(deviation).__name__} and cannot be "
            "converted; pass numbers"
        ) from None
    if deviations.size != 1:
        raise DataError(
            f"the noise of {listed} must have one standard deviation for the whole table, but "
            f"{deviations.size} are given; pass one number"
        )
    noise = float(deviations.item())
    # mbi and others give flat arrays.
    if array.ndim == 1 and array.size == domain.cells(names):
        array = array.reshape(shape)
    if array.shape != shape:
        raise DataError(
            f"the counts of {listed} must have shape {shape}, but they have shape {array.shape}; "
            "reshape them"
        )
    if not np.isfinite(array).all() or not 0 < noise < np.inf:
        raise DataError(
            f"the counts of {listed} must be finite numbers, and their standard deviation a finite "
            "number > 0, but one of them is not; correct it"
        )
    variance = np.full(array.shape, noise**2)
    return Marginal(domain.restrict(names), array, variance, noise_kurtosis=kurtosis)


def _deviation(marginal: Marginal) -> float:
    """The standard deviation of the noise, which must be the same in all cells."""
    variance = marginal.variance
    if not variance.size or not (variance == variance.flat[0]).all():
        raise DataError(
            f"all counts of {', '.join(marginal.attributes)} must have the same noise variance, "
            "but their variances differ; pass marginals as they were measured"
        )
    return float(np.sqrt(variance.flat[0]))


def _of_mbi(measurement: Any) -> tuple[Any, Any, Any]:
    """Take the view, the noisy counts and the standard deviation from an `mbi.LinearMeasurement`.

    It must have measured the cells of a marginal themselves; otherwise a DataError is raised.
    """
    query = type(measurement.query).__name__
    if query != "DatavectorQuery":
        raise DataError(
            f"an mbi.LinearMeasurement must have a DatavectorQuery, but it has a {query}; pass "
            "measurements of whole marginals"
        )
    return measurement.clique, np.asarray(measurement.noisy_measurement), measurement.stddev
