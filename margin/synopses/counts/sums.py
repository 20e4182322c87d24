"""`Sums`: numbers of rows with the covariances of their errors."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..._types import Floats
from ...domain.bounds import LAPLACE_KURTOSIS
from ...domain.domain import Domain
from ...domain.where import Chosen
from ...solvers import (
    ComponentErrors,
    LinkedErrors,
    Tables,
    WeightedSum,
    covered_covariance,
    errors_of_components,
)
from .conditions import left_open, weights_on
from .count import Count

__all__ = ["Sums", "covered_sums"]


@dataclass(
    frozen=True,
    kw_only=True,
    eq=False,
)
class Sums:
    """A working record: q numbers of rows with the covariances of their errors.

    Attributes
    ----------
    estimates
        The numbers of rows, shape (q,).
    noise, missed
        The covariances of the errors that come from noise, and of what reconstructions miss, both
        of shape (q, q); NaN where they are not known.
    reconstructed
        Whether the numbers were reconstructed from tables on fewer attributes.
    kurtosis
        The excess kurtosis of the noise of each number, shape (q,); see `Marginal`.
    """

    estimates: Floats
    noise: Floats
    missed: Floats
    reconstructed: bool = False
    kurtosis: Floats | None = None

    def combined(self, weights: Floats) -> tuple[float, float]:
        """The variances of a weighted sum of the numbers: of noise, and of what is missed."""
        parts = []
        for covariance in (self.noise, self.missed):
            variance = float(weights @ covariance @ weights)
            # A negative number is a rounding error.
            parts.append(0.0 if variance < 0 else variance)
        return parts[0], parts[1]

    def kurtosis_of(self, weights: Floats, variance: float) -> float:
        """The excess kurtosis of the noise of a weighted sum of the numbers, from its variance.

        Fourth cumulants add up where the numbers have no draw of noise in common. Draws in common
        cancel or add up; then this is an upper bound for differences.
        """
        if self.kurtosis is None or not variance > 0:
            return 0.0
        fourth = weights**4 @ (self.kurtosis * self.noise.diagonal() ** 2)
        return min(LAPLACE_KURTOSIS, float(fourth) / variance**2)

    def count(self, row: int) -> Count:
        """One of the numbers by itself."""
        return Count(
            estimate=float(self.estimates[row]),
            noise_variance=float(self.noise[row, row]),
            missed_variance=float(self.missed[row, row]),
            reconstructed=self.reconstructed,
            noise_kurtosis=0.0 if self.kurtosis is None else float(self.kurtosis[row]),
        )


def covered_sums(
    domain: Domain,
    tables: Tables,
    chosen: Sequence[Chosen],
    component_noise: ComponentErrors | None = None,
    kurtosis: float = 0.0,
    linked_errors: LinkedErrors | None = None,
) -> Sums:
    """Add up cells of views, if each set of restricted attributes lies within a view.

    The errors are those of the best linear estimate; see `margin.solvers.covered_covariance`, and
    `ComponentErrors.covariance` if that is given, less what `linked_errors` tells. `kurtosis` is
    that of the noise of a measured cell or answer.
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
        sums.append(WeightedSum(axes, left_open(domain, axes, weights.reshape(shape))))
    if component_noise is None:
        noise = covered_covariance(tables, sums)
    else:
        noise = component_noise.covariance(sums)
    excess = None
    if kurtosis:
        excess = np.empty(len(sums))
        for row, (one, codes) in enumerate(zip(sums, chosen, strict=True)):
            if component_noise is not None or tables.by_components:
                errors = component_noise or errors_of_components(tables, one.axes)
                found = errors.concentration_of(one)
            else:
                cells = math.prod(map(len, codes.values()))
                found = tables.concentration_of(one.axes, float(noise[row, row]), cells)
            excess[row] = kurtosis * found
    if linked_errors is not None:
        noise = noise - linked_errors.covariance(sums)
    return Sums(
        estimates=np.array(estimates),
        noise=noise,
        missed=np.zeros_like(noise),
        kurtosis=excess,
    )
