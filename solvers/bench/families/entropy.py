"""Maximum entropy: under exact marginals, and with a penalty for missed moments."""

import math
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from ...reconstruct.problem import Problem
from ...types import Floats
from ..models.model import Model
from .reconstruction import ReconstructionFamily
from .tables_of_answers import CELLS, MOMENTS, SUM, independent_rows, known_marginals

__all__ = ["ExactEntropy", "PenalisedEntropy", "divergence_of", "penalty_of", "scaled_moments"]

_CELLS = {
    r"p": "the cells of the table, as shares of its total",
    r"q": "the reference distribution: uniform on the cells that need not be zero, or the base",
    r"n": "the number of cells that need not be zero; the others are zero in p",
}
_MOMENTS = {
    r"f_S": "the known functions of the residual basis, of mean square one (margin.solvers.basis)",
    r"t_S": "their targets",
    r"\rho_S": "their ridges: the tolerances of the moments",
}


class ExactEntropy(ReconstructionFamily):
    """The distribution nearest to the reference one that has every known marginal.

    The programme is that of `IPF` and `Ladder` (Qardaji, Yang and Li, SIGMOD 2014, section 4.3).
    """

    name: ClassVar[str] = "exact-entropy"
    group: ClassVar[str] = "entropy"

    columns: ClassVar[str] = f"{CELLS}; then t_i >= n p_i log(p_i / q_i) for each cell"
    rows: ClassVar[str] = (
        f"{SUM}; then, for each set A of axes that a known marginal holds, in ascending order of "
        "the sum of 2^a over the axes a of A, and for each cell x of the marginal on A whose codes "
        "are all >= 1, row by row: the sum of n p_i over the cells i in x = n m_A(x). All other "
        "cells of the known marginals follow from these"
    )

    def statement(self) -> str:
        return (
            r"\min_{p \ge 0} \; \sum_{i=1}^{n} p_i \log \frac{p_i}{q_i} \quad \text{subject to} "
            r"\quad \sum_{i=1}^{n} p_i = 1, \quad M_V \, p = m_V \; \text{ for all } V"
        )

    def symbols(self) -> Mapping[str, str]:
        return _CELLS | {
            r"M_V": "the matrix of zeros and ones from the cells to the marginal on the axes V",
            r"m_V": "the known marginal on V, of sum one",
        }

    def objective(self, problem: Problem, cells: Floats) -> float:
        return divergence_of(problem, cells)

    def missed(self, problem: Problem, cells: Floats) -> float:
        rows, right = known_marginals(problem)
        return float(np.abs(rows @ cells - right).max(initial=0.0))

    def model(self, problem: Problem) -> Model:
        count = len(problem.possible)
        rows, right = independent_rows(problem)
        # Columns: n cells y = n p, which are about one, and n terms t >= y log(y / (n q)).
        sums = sparse.vstack([np.ones((1, count)), rows[:, problem.possible]])
        matrix = sparse.hstack([sums, sparse.csr_array((len(right) + 1, count))])
        sides = np.concatenate([[1.0], right]) * count
        cone, shift = _entropy_cones(problem, 2 * count)
        return Model(
            cost=np.repeat([0.0, 1 / count], count),
            matrix=matrix,
            lower=sides,
            upper=sides,
            least=np.repeat([0.0, -np.inf], count),
            cone=cone,
            shift=shift,
        )


class PenalisedEntropy(ReconstructionFamily):
    """Divergence from the reference plus a penalty for missed moments: the problem of `Newton`.

    The instances carry their ridges, so every solver that reads `Problem.ridge` minimises the same.
    """

    name: ClassVar[str] = "penalised-entropy"
    group: ClassVar[str] = "entropy"

    columns: ClassVar[str] = (
        f"{CELLS}; then t_i >= n p_i log(p_i / q_i) for each cell; then the miss of each known "
        "moment S, divided by the root of rho_S"
    )
    rows: ClassVar[str] = MOMENTS

    def statement(self) -> str:
        return (
            r"\min_{p \ge 0} \; \sum_{i=1}^{n} p_i \log \frac{p_i}{q_i} + \sum_S "
            r"\frac{(\sum_i f_S(i) \, p_i - t_S)^2}{2 \rho_S} \quad \text{subject to} \quad "
            r"\sum_{i=1}^{n} p_i = 1"
        )

    def symbols(self) -> Mapping[str, str]:
        return _CELLS | _MOMENTS

    def objective(self, problem: Problem, cells: Floats) -> float:
        return divergence_of(problem, cells) + penalty_of(problem, cells)

    def model(self, problem: Problem) -> Model:
        count = len(problem.possible)
        rows, right = scaled_moments(problem)
        known = len(right)
        # Columns: n cells y = n p, n terms t, and the scaled misses r of the moments.
        total = sparse.hstack([np.ones((1, count)), sparse.csr_array((1, count + known))])
        misses = sparse.hstack(
            [rows, sparse.csr_array((known, count)), -sparse.eye_array(known)],
        )
        sides = np.concatenate([[float(count)], right])
        cone, shift = _entropy_cones(problem, 2 * count + known)
        return Model(
            cost=np.concatenate([np.zeros(count), np.full(count, 1 / count), np.zeros(known)]),
            square=np.repeat([0.0, 1.0], [2 * count, known]),
            matrix=sparse.vstack([total, misses]),
            lower=sides,
            upper=sides,
            least=np.repeat([0.0, -np.inf], [count, count + known]),
            cone=cone,
            shift=shift,
        )


def divergence_of(problem: Problem, cells: Floats) -> float:
    """The divergence of a distribution from the reference one, in nats."""
    held = cells > 0
    positive = cells[held]
    return float(math.fsum(positive * np.log(positive / problem.reference[held])))


def penalty_of(problem: Problem, cells: Floats) -> float:
    """Half the sum of the squared misses of the moments, each divided by its ridge."""
    misses = problem.moments(cells) - problem.target
    return 0.5 * math.fsum(misses**2 / ridges(problem))


def ridges(problem: Problem) -> Floats:
    """The ridges of a problem; ValueError if it has none."""
    if problem.ridge is None:
        raise ValueError(
            "a problem of this family must state its ridges, one for each known coefficient, but "
            "it has none; pass ridge= to Problem"
        )
    return problem.ridge


def scaled_moments(problem: Problem) -> tuple[Any, Floats]:
    """The moments of y = n p divided by the roots of their ridges: rows, and their targets."""
    root = np.sqrt(ridges(problem))
    count = len(problem.possible)
    functions = problem.functions(np.eye(len(root))).reshape(-1, problem.cells)
    rows = functions[:, problem.possible] / (count * root[:, None])
    # Basis functions of mixed tables are zero in many cells; rounding must not fill them.
    rows[np.abs(rows) * root[:, None] * count < 1e-12] = 0.0
    return sparse.csr_array(rows), problem.target / root


def _entropy_cones(problem: Problem, columns: int) -> tuple[Any, Floats]:
    """The cones (-t_i, y_i, n q_i), which say that t_i >= y_i log(y_i / (n q_i))."""
    count = len(problem.possible)
    place = np.arange(count)
    rows = np.concatenate([3 * place, 3 * place + 1])
    members = np.concatenate([count + place, place])
    values = np.repeat([-1.0, 1.0], count)
    cone = sparse.csr_array((values, (rows, members)), shape=(3 * count, columns))
    shift = np.zeros(3 * count)
    shift[2::3] = problem.reference[problem.possible] * count
    return cone, shift
