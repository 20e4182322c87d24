"""`estimate` and `from_measurements`: from noisy tables of views, whoever made them, to a synopsis
that answers all."""

import dataclasses
import logging
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from .._version import __version__
from ..domain.domain import Domain
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
)
from . import ViewSynopsis
from .synopsis import Provenance

__all__ = ["estimate", "from_measurements"]

log = logging.getLogger("margin")


def estimate(
    domain: Domain,
    measured: Sequence[Marginal],
    *,
    consistency: Consistency = ResidualConsistency(),
    nonnegativity: NonNegativity | None = JointProjection(),
    reconstruction: Solver = Newton(),
) -> ViewSynopsis:
    """Noisy tables made consistent and, unless `nonnegativity` is None, non-negative;
    post-processing throughout.

    Parameters
    ----------
    domain
        The attributes, the rules that estimates keep, and the number of rows that they add up to.
    measured
        The tables, each with independent noise of one variance.
    consistency, nonnegativity, reconstruction
        See `PriView`.
    """
    synopsis = ViewSynopsis.of(domain, measured, reconstruction=reconstruction)
    log.info("making the views consistent")
    return synopsis.with_tables(possible(consistency(synopsis.tables), nonnegativity, consistency))


def possible(
    tables: Tables, nonnegativity: NonNegativity | None, consistency: Consistency
) -> Tables:
    """Consistent tables made non-negative, unless that is None, and consistent again, with zeros
    where they must be."""
    if nonnegativity is None:
        return (
            tables if tables.empty is None and tables.known_total is None else consistency(tables)
        )
    changed = nonnegativity(tables)
    return changed if nonnegativity.keeps_consistency else consistency(changed)


def from_measurements(
    measurements: Iterable[Any],
    *,
    domain: Domain | Mapping[str, Any],
    guarantee: Budget | None = None,
    consistency: Consistency = ResidualConsistency(),
    nonnegativity: NonNegativity | None = JointProjection(),
    reconstruction: Solver = Newton(),
) -> ViewSynopsis:
    """A synopsis of noisy marginals that somebody else has published, so that it answers any
    marginal.

    Parameters
    ----------
    measurements
        Each a triple (attributes, counts, standard deviation of the noise of each count); or a
        `Marginal` of one variance; or an `mbi.LinearMeasurement` of a whole marginal. A set of
        attributes may come several times.
    domain
        The attributes, the rules that answers keep, and the number of rows that they add up to.
    guarantee
        Under which they were published, in the publisher's own words; without it the synopsis
        cannot be saved.
    consistency, nonnegativity, reconstruction
        See `PriView`.

    Returns
    -------
    ViewSynopsis

    Raises
    ------
    DomainError
        When a set of attributes is not one of the domain, or there is no measurement.
    DataError
        When counts have not the shape of their view or are not finite, or a standard deviation is
        not positive.

    Examples
    --------
    >>> noisy = [(["a", "b"], [[10.2, 3.9], [5.1, 0.8]], 1.0), (["b", "c"], [[9.0, 6.1], [2.2, 2.9]], 1.0)]
    >>> synopsis = from_measurements(noisy, domain={"a": 2, "b": 2, "c": 2})
    >>> synopsis.marginal(["a", "c"]).counts.round(1)
    array([[7.8, 6.3],
           [3.3, 2.6]])
    """
    declared = domain if isinstance(domain, Domain) else Domain(domain)
    measured = [_marginal(declared, measurement) for measurement in measurements]
    if not measured:
        raise DomainError("there must be at least one measurement")
    synopsis = estimate(
        declared,
        measured,
        consistency=consistency,
        nonnegativity=nonnegativity,
        reconstruction=reconstruction,
    )
    if guarantee is None:
        return synopsis
    statement = Statement(budget=guarantee, bound=Bound.DECLARED, domain=digest(declared))
    provenance = Provenance(
        mechanism={"name": "from_measurements"},
        statement=statement,
        private=True,
        version=__version__,
    )
    return dataclasses.replace(synopsis, provenance=provenance)


def _marginal(domain: Domain, measurement: Any) -> Marginal:
    if isinstance(measurement, Marginal):
        view, counts, deviation = (
            measurement.attributes,
            measurement.counts,
            _deviation(measurement),
        )
    elif hasattr(measurement, "clique"):
        view, counts, deviation = _of_mbi(measurement)
    else:
        try:
            view, counts, deviation = measurement
        except (TypeError, ValueError):
            raise DataError(
                "a measurement is (attributes, counts, standard deviation), a Marginal or an mbi.LinearMeasurement"
            ) from None
    names = domain.view(view)
    try:
        array, noise = np.asarray(counts, np.float64), float(deviation)
    except (TypeError, ValueError):
        raise DataError(
            f"the counts of {', '.join(names)} and their standard deviation must be numbers"
        ) from None
    if array.ndim == 1:
        array = array.reshape(domain.shape(names)) if array.size == domain.cells(names) else array
    if array.shape != domain.shape(names):
        raise DataError(
            f"the counts of {', '.join(names)} have shape {array.shape}, not {domain.shape(names)}"
        )
    if not np.isfinite(array).all() or not 0 < noise < np.inf:
        raise DataError(
            f"the counts of {', '.join(names)} must be finite, and their standard deviation positive"
        )
    return Marginal(domain.restrict(names), array, np.full(array.shape, noise**2))


def _deviation(marginal: Marginal) -> float:
    variance = marginal.variance
    if not variance.size or not (variance == variance.flat[0]).all():
        raise DataError(
            f"the counts of {', '.join(marginal.attributes)} must all have one variance, that of their noise"
        )
    return float(np.sqrt(variance.flat[0]))


def _of_mbi(measurement: Any) -> tuple[Any, Any, Any]:
    """The parts of an mbi.LinearMeasurement, if what was measured are the cells themselves."""
    query = type(measurement.query).__name__
    if query != "DatavectorQuery":
        raise DataError(
            f"a measurement of whole marginals is needed, but one through a {query} was given"
        )
    return measurement.clique, np.asarray(measurement.noisy_measurement), measurement.stddev
