"""Generated records whose marginals are as close as possible to given tables.

This is an integer least-squares problem. The unknowns x are the categories of n rows. Let T_v(x) be
the table of view v counted from these rows, t_v the given table scaled to n rows, and w_v its
precision:

    minimise  sum_v w_v |T_v(x) - t_v|^2
    over      x in ({0, ..., m_1 - 1} x ... x {0, ..., m_d - 1})^n

No row may lie in a cell that must be zero (`Tables.zeros`), even if no view contains such a cell.

First, all rows are drawn at random, attribute by attribute. Each attribute is drawn from the view
that has the most attributes in common with those already drawn. Rows in cells that must be zero are
changed. Then coordinate descent changes one category of one row at a time, to the category that
lowers the objective most. Axes that cells which must be zero link change together, to a
combination that other rows have. Equal rows are divided into pieces, and those of a piece move
together.
The descent ends after a sweep over all rows that gains almost nothing.

If the number of rows is the known total, some rows are then moved so that all known tables are kept
exactly (`margin.solvers.known.rows`).
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..limits import MOST_ROWS
from ..types import Floats
from .row_descent import RowDescent, kept_exactly
from .start_rows import drawn
from .tables import Tables

__all__ = ["Population", "Rows"]


@dataclass(
    frozen=True,
    kw_only=True,
    eq=False,
)
class Rows:
    """The result of `Population.fit`: generated rows, and their distance from each table.

    Attributes
    ----------
    codes
        The categories, shape (rows, axes).
    gaps
        For each view |T_v - t_v| / n in the L2 norm, shape (views,).
    sweeps
        The number of sweeps over all rows.
    """

    codes: NDArray[np.int32]
    gaps: Floats
    sweeps: int


@dataclass(
    frozen=True,
    kw_only=True,
)
class Population:
    """Generates rows by coordinate descent; the text of the module states the problem.

    Parameters
    ----------
    sweeps
        The largest number of sweeps over all rows, >= 0.
    gain
        The descent ends if a sweep lowers the objective by less than this share, >= 0 and < 1.

    Raises
    ------
    ValueError
        If a parameter is out of range.

    Examples
    --------
    >>> from margin.solvers import Tables
    >>> table = np.array([[3.0, 1.0], [0.0, 4.0]])
    >>> views = Tables(sizes=(2, 2), views=((0, 1),), values=(table,), variances=(1.0,))
    >>> rows = Population().fit(views, 8, seed=0)
    >>> np.bincount(2 * rows.codes[:, 0] + rows.codes[:, 1], minlength=4).tolist()
    [3, 1, 0, 4]
    """

    sweeps: int = 40
    gain: float = 0.05

    def __post_init__(self) -> None:
        if self.sweeps < 0:
            raise ValueError(f"sweeps ({self.sweeps}) must be >= 0; pass a larger number")
        if not 0 <= self.gain < 1:
            raise ValueError(f"gain ({self.gain}) must be >= 0 and < 1; pass such a number")

    def fit(
        self,
        tables: Tables,
        rows: int,
        *,
        seed: int,
    ) -> Rows:
        """Generate rows whose marginals are as close as possible to the tables of some views.

        Parameters
        ----------
        tables
            Consistent, non-negative, of positive total. Axes that no view holds are drawn
            uniformly.
        rows
            The number of rows, from 1 to 10**8. It may differ from the total of the tables.
        seed
            The same arguments give the same rows.

        Returns
        -------
        Rows
            The categories of the rows, and how far their marginals are from the tables.

        Raises
        ------
        ValueError
            If the tables have no positive total, or the number of rows is out of range; or if the
            number of rows is the known total, and no rows are found that agree exactly with what is
            known.
        """
        if not 1 <= rows <= MOST_ROWS:
            raise ValueError(f"rows ({rows}) must be from 1 to {MOST_ROWS}; pass such a number")
        if not tables.total > 0:
            raise ValueError(
                "the total of the tables must be positive, but it is not; give tables with a "
                "larger sum"
            )
        rng = np.random.default_rng(seed)
        descent = RowDescent(tables, drawn(tables, rows, rng))
        sweeps = descent.run(self.sweeps, self.gain, rng)
        if tables.known is not None and tables.known.more and rows == tables.known.total:
            descent = kept_exactly(tables, descent, rng)
        return Rows(
            codes=rng.permutation(descent.codes),
            gaps=descent.gaps,
            sweeps=sweeps,
        )
