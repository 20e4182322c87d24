"""Least squares and minimax reconstruction: tables that fit moments or marginals with errors."""

import math
from collections.abc import Mapping
from typing import ClassVar

import numpy as np
from scipy import sparse

from ...reconstruct.problem import Problem
from ...types import Floats
from ..models.model import Model
from .entropy import penalty_of, scaled_moments
from .family import Check
from .reconstruction import ReconstructionFamily
from .tables_of_answers import CELLS, MOMENTS, SUM, known_marginals

__all__ = ["LeastSquaresFamily", "MinimaxFamily"]


class LeastSquaresFamily(ReconstructionFamily):
    """The table nearest to the uniform one, with a penalty for missed moments.

    The programme is that of the solver `LeastSquares`.
    """

    name: ClassVar[str] = "least-squares"
    group: ClassVar[str] = "reconstruction"

    columns: ClassVar[str] = (
        f"{CELLS}; then the miss of each known moment S, divided by the root of rho_S"
    )
    rows: ClassVar[str] = MOMENTS

    def statement(self) -> str:
        return (
            r"\min_{p \ge 0} \; \frac{n}{2} \sum_{i=1}^{n} \left(p_i - \frac{1}{n}\right)^2 + "
            r"\sum_S \frac{(\sum_i f_S(i) \, p_i - t_S)^2}{2 \rho_S} \quad \text{subject to} "
            r"\quad \sum_{i=1}^{n} p_i = 1"
        )

    def symbols(self) -> Mapping[str, str]:
        return {
            r"p": "the cells of the table, as shares of its total",
            r"n": "the number of cells that need not be zero; the others are zero in p",
            r"f_S": "the known functions of the residual basis, of mean square one",
            r"t_S": "their targets",
            r"\rho_S": "their ridges: the tolerances of the moments",
        }

    def objective(self, problem: Problem, cells: Floats) -> float:
        spread = len(problem.possible) * math.fsum((cells - problem.uniform) ** 2)
        return 0.5 * spread + penalty_of(problem, cells)

    def box(self, problem: Problem, columns: int, check: Check) -> Floats:
        return _box_of_cells(problem, columns)

    def model(self, problem: Problem) -> Model:
        count = len(problem.possible)
        rows, right = scaled_moments(problem)
        known = len(right)
        # Columns: n cells y = n p, and the scaled misses r of the moments. The first term of the
        # objective is the sum of (y - 1)**2 / (2 n).
        total = sparse.hstack([np.ones((1, count)), sparse.csr_array((1, known))])
        misses = sparse.hstack([rows, -sparse.eye_array(known)])
        sides = np.concatenate([[float(count)], right])
        return Model(
            cost=np.repeat([-1 / count, 0.0], [count, known]),
            square=np.repeat([1 / count, 1.0], [count, known]),
            offset=0.5,
            matrix=sparse.vstack([total, misses]),
            lower=sides,
            upper=sides,
            least=np.repeat([0.0, -np.inf], [count, known]),
        )


class MinimaxFamily(ReconstructionFamily):
    """The table whose largest error in a cell of a known marginal is smallest: `MinimaxLP`."""

    name: ClassVar[str] = "minimax"
    group: ClassVar[str] = "reconstruction"

    columns: ClassVar[str] = f"{CELLS}; then n w, whose cost is 1 / n"
    rows: ClassVar[str] = (
        f"{SUM}; then, for each cell x of each known marginal, marginal after marginal, row by "
        "row: the sum of n p_i over the cells i in x, less n w, <= n m_V(x); then for the same "
        "cells x: this sum, plus n w, >= n m_V(x)"
    )

    def statement(self) -> str:
        return (
            r"\min_{p \ge 0, \, w} \; w \quad \text{subject to} \quad \sum_{i=1}^{n} p_i = 1, "
            r"\quad -w \le M_V \, p - m_V \le w \; \text{ for all } V"
        )

    def symbols(self) -> Mapping[str, str]:
        return {
            r"p": "the cells of the table, as shares of its total; those that must be zero are",
            r"w": "the largest error",
            r"M_V": "the matrix of zeros and ones from the cells to the marginal on the axes V",
            r"m_V": "the marginal on V as it was observed, of sum one; marginals may disagree",
        }

    def objective(self, problem: Problem, cells: Floats) -> float:
        rows, right = known_marginals(problem)
        return float(np.abs(rows @ cells - right).max(initial=0.0))

    def box(self, problem: Problem, columns: int, check: Check) -> Floats:
        found = _box_of_cells(problem, columns)
        if check.feasible:
            # The largest error of the best answer is at most that of any answer. Twice this leaves
            # room for what an answer may break.
            found[-1] = len(problem.possible) * (2.0 * check.objective + self.tolerance)
        return found

    def model(self, problem: Problem) -> Model:
        count = len(problem.possible)
        rows, right = known_marginals(problem)
        known = len(right)
        # Columns: n cells y = n p, and the largest error, n w.
        inside = rows[:, problem.possible]
        total = sparse.hstack([np.ones((1, count)), sparse.csr_array((1, 1))])
        below = sparse.hstack([inside, -np.ones((known, 1))])
        above = sparse.hstack([inside, np.ones((known, 1))])
        free = np.full(known, np.inf)
        return Model(
            cost=np.append(np.zeros(count), 1 / count),
            matrix=sparse.vstack([total, below, above]),
            lower=np.concatenate([[float(count)], -free, right * count]),
            upper=np.concatenate([[float(count)], right * count, free]),
        )


def _box_of_cells(problem: Problem, columns: int) -> Floats:
    """The largest values of columns of which the first are n cells: these sum to n."""
    cells = len(problem.possible)
    box = np.full(columns, math.inf)
    box[:cells] = cells
    return box
