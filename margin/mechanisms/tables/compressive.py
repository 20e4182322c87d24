"""`Compressive`: random projections of a table that is sparse, decoded by L1 minimisation."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..._checks import whole_number
from ..._types import Floats, Integers
from ...domain.domain import Domain, View
from ...domain.workload import Workload
from ...private import Private, Strategy
from ...solvers import Simplex
from ...solvers.strategy.sparse_recovery import sparsest
from ...synopses import TableSynopsis
from ...synopses.noisy_tables import tables_of
from ..asked import check_reach
from ..ordered.names import ordered_names

__all__ = ["Compressive"]

_MOST_ENTRIES = 1 << 24
"""Largest number of entries of the matrix of measurements."""

_LARGEST_KEY = (1 << 63) - 1


@dataclass(
    frozen=True,
    kw_only=True,
)
class Compressive:
    """The compressive mechanism: it measures random signed sums of cells, and decodes them to a
    sparse table (Li, Zhang, Winslett and Yang, WPES 2011).

    Let x be the full table with n cells, and x = B s with an orthonormal basis B, in which at most
    S coefficients s are large. B is the identity, or the Haar wavelets. A matrix A of random signs,
    of shape (k, n) with k well below n, is measured: y = A x + noise. The decoded coefficients are

        arg min |s|_1  subject to  |A B s - y|_2 <= sqrt(k) * (standard deviation of the noise).

    As published, A has no zeros. A row of the data then changes every measurement, so the noise
    grows with k. By default each column has `ones` entries of +-1 only, as in the sparse matrices
    of Berinde, Gilbert, Indyk, Karloff and Strauss (Allerton 2008). The noise then does not grow
    with k. The coefficients that L1 minimisation finds are fitted again by least squares, once all
    of them and once those that exceed their standard error times sqrt(2 ln n); L1 minimisation
    alone shrinks them, and finds many that are noise.

    A is drawn from a public key, and its entries are integers: the guarantee is that of
    `Private.measure_linear`, whatever A is. The variance of the answers is not known.

    Parameters
    ----------
    sparsity
        S, the number of large coefficients that is expected, >= 1. It is public.
    measurements
        k; None for ceil(3 S ln(n / S)), at most n.
    ones
        The number of entries of a column that are not zero; None for all, as published.
    wavelet
        Whether the table is sparse in its Haar wavelets rather than in its cells. The wavelets are
        along the attributes that the domain declares as ordered; if it declares none, the release
        is refused before anything is charged.
    refit
        Whether the coefficients are fitted again.
    nonnegative
        Whether negative counts are excluded: in the decoder if the basis is the identity, and by
        `Simplex` afterwards otherwise.
    key
        The public key of the random signs, from 0 to 2**63 - 1.

    Examples
    --------
    >>> Compressive.paper(sparsity=5).ones is None
    True
    """

    sparsity: int = 10
    measurements: int | None = None
    ones: int | None = 4
    wavelet: bool = False
    refit: bool = True
    nonnegative: bool = True
    key: int = 0

    def __post_init__(self) -> None:
        for name in ("sparsity", "measurements", "ones"):
            value = getattr(self, name)
            if value is not None:
                object.__setattr__(self, name, whole_number(name, value))
        whole_number("key", self.key, least=0, most=_LARGEST_KEY)

    @classmethod
    def paper(
        cls,
        *,
        sparsity: int = 10,
        measurements: int | None = None,
        wavelet: bool = False,
    ) -> "Compressive":
        """The published form: signs everywhere, and L1 minimisation alone.

        The paper leaves the constant of k open; None takes ceil(3 S ln(n / S)) here too.
        """
        return cls(
            sparsity=sparsity,
            measurements=measurements,
            ones=None,
            wavelet=wavelet,
            refit=False,
            nonnegative=False,
        )

    def run(
        self,
        private: Private,
        workload: Workload | None,
    ) -> TableSynopsis:
        """Measure signed sums of cells, and decode them. The workload is not used.

        Raises
        ------
        DomainError
            When the matrix of the signs would have more than 2**24 entries, or wavelets are asked
            for and the domain declares no attribute as ordered.
        """
        domain = private.domain
        along = domain.axes(self._ordered(domain)) if self.wavelet else ()
        signs = self._signs(domain)
        (answers,) = private.measure_linear([Strategy(domain.attributes, [signs])])
        deviation = math.sqrt(answers.variance)

        # Decode in the basis, leaving out cells that the rules exclude.
        possible = domain.possible(domain.attributes).ravel()
        matrix = (signs * possible).astype(np.float64)
        matrix = _transformed(matrix, domain, along)
        decoded = self._decoded(matrix, answers.values.ravel(), deviation)
        table = _transformed(decoded[None, :], domain, along, back=True).reshape(domain.sizes)
        if self.wavelet and self.nonnegative:
            tables = tables_of(domain, [domain.attributes], [table], [answers.variance])
            (table,) = Simplex()(tables).values
        return TableSynopsis(
            domain=domain,
            table=table,
            variance=math.nan,
            covariances={},
        )

    def _ordered(self, domain: Domain) -> View:
        """The attributes along which the wavelets are."""
        return ordered_names("Compressive", domain, None, otherwise="leave wavelet=True out")

    def _signs(self, domain: Domain) -> Integers:
        """The matrix A, of shape (k, cells): integers -1, 0 and 1 from the public key."""
        cells = math.prod(domain.sizes)
        few = min(self.sparsity, cells)
        measurements = self.measurements or math.ceil(3 * few * math.log(cells / few))
        measurements = max(1, min(measurements, cells))
        check_reach(
            "Compressive",
            measurements * cells,
            _MOST_ENTRIES,
            what="entries of the matrix of measurements",
            instead="HighPass or CountSketch, which do not hold it, or a smaller sparsity",
        )
        draw = np.random.Generator(np.random.Philox(key=self.key))
        blocks = measurements if self.ones is None else min(self.ones, measurements)
        # Each column has one entry in each block of rows.
        ends = np.linspace(0, measurements, blocks + 1).astype(np.int64)
        places = draw.integers(ends[:-1, None], ends[1:, None], (blocks, cells))
        signs = np.zeros((measurements, cells), np.int64)
        np.put_along_axis(signs, places, 2 * draw.integers(0, 2, (blocks, cells)) - 1, axis=0)
        return signs

    def _decoded(
        self,
        matrix: Floats,
        measured: Floats,
        deviation: float,
    ) -> Floats:
        """The coefficients by L1 minimisation, and fitted again: shape (cells,)."""
        nonnegative = self.nonnegative and not self.wavelet
        miss = math.sqrt(len(measured)) * deviation
        held = np.flatnonzero(matrix.any(axis=0))
        found = np.zeros(matrix.shape[1])
        found[held] = sparsest(matrix[:, held], measured, miss, nonnegative=nonnegative)
        if not self.refit:
            return found
        chosen = np.flatnonzero(found)
        fitted, spread = _least_squares(matrix[:, chosen], measured)
        smallest = deviation * spread * math.sqrt(2 * math.log(max(len(found), 2)))
        chosen = chosen[(fitted if nonnegative else np.abs(fitted)) > smallest]
        fitted, _ = _least_squares(matrix[:, chosen], measured)
        found = np.zeros(len(found))
        found[chosen] = np.maximum(fitted, 0.0) if nonnegative else fitted
        return found


def _least_squares(matrix: Floats, measured: Floats) -> tuple[Floats, Floats]:
    """The least squares fit, and its standard errors for noise of variance one."""
    inverse = np.linalg.pinv(matrix)
    return inverse @ measured, np.sqrt((inverse**2).sum(axis=1))


def _transformed(
    rows: Floats,
    domain: Domain,
    along: Sequence[int],
    *,
    back: bool = False,
) -> Floats:
    """Each row, a table of all cells, times the Haar basis along some attributes.

    The basis is orthonormal. So the transform of the rows of A is A B, and the way back from
    coefficients is the transpose.
    """
    tables = rows.reshape(-1, *domain.sizes)
    for place in along:
        basis = _haar(domain.sizes[place])
        factor = basis.T if back else basis
        axis = place + 1
        tables = np.moveaxis(np.tensordot(tables, factor, axes=(axis, 1)), -1, axis)
    return np.asarray(tables.reshape(len(rows), -1))


def _haar(size: int) -> Floats:
    """The orthonormal Haar wavelets of `size` ordered codes: a matrix of shape (size, size).

    The first row is constant. Each other row belongs to a range of codes that is halved: it is
    positive on the left half, negative on the right half, and sums to zero.
    """
    rows = [np.full(size, 1 / math.sqrt(size))]
    ranges = [(0, size)]
    while ranges:
        start, stop = ranges.pop()
        if stop - start < 2:
            continue
        middle = (start + stop) // 2
        left = middle - start
        right = stop - middle
        row = np.zeros(size)
        row[start:middle] = math.sqrt(right / (left * (left + right)))
        row[middle:stop] = -math.sqrt(left / (right * (left + right)))
        rows.append(row)
        ranges += [(start, middle), (middle, stop)]
    return np.array(rows)
