"""Performance profiles and data profiles: the share of instances solved against time."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from ...types import Floats
from .times import Clock, Row, times

__all__ = ["Profile", "data_profile", "performance_profile"]


@dataclass(
    frozen=True,
    kw_only=True,
    eq=False,
)
class Profile:
    """For each solver the share of instances that it solves, as a step function.

    Shares are of all instances of the comparison. A solver that was not tried on some of them, as
    after an interruption, did not solve these.

    Attributes
    ----------
    at
        For each solver the ratios or seconds at which it solves one more instance, ascending.
    tried
        For each solver the number of instances that it was tried on.
    instances
        The number of instances of the comparison.
    """

    at: dict[str, Floats]
    tried: dict[str, int]
    instances: int

    def share(self, solver: str, at: float) -> float:
        """The share of instances that a solver solves within a ratio, or within seconds."""
        solved = np.searchsorted(self.at[solver], at, side="right")
        return float(solved / self.instances)


def performance_profile(
    rows: Iterable[Row],
    *,
    clock: Clock = "cpu",
    warm: bool = True,
    gap: float | None = None,
) -> Profile:
    """The share of instances that a solver solves within a factor of the fastest solver's time.

    At the factor 1 it is the share of instances on which the solver is fastest; far to the right it
    is the share that it solves at all. The factors depend on the other solvers of the comparison:
    with more than two solvers, the profile ranks them only against the best one.

    Parameters
    ----------
    rows
        The rows of one family.
    clock, warm, gap
        See `times`.

    References
    ----------
    Dolan and More, Benchmarking optimization software with performance profiles, Mathematical
    Programming 91 (2002), equation (2.1). Gould and Scott, A note on performance profiles, ACM
    TOMS 43 (2016), on what they do not tell.

    Examples
    --------
    >>> common = {"time_limit": 9.0, "cold": True, "outcome": "solved"}
    >>> rows = [
    ...     common | {"instance": "one", "solver": "A", "cpu": 1.0},
    ...     common | {"instance": "one", "solver": "B", "cpu": 3.0},
    ... ]
    >>> profile = performance_profile(rows)
    >>> profile.share("A", 1), profile.share("B", 2.9), profile.share("B", 3)
    (1.0, 0.0, 1.0)
    """
    table = times(rows, clock=clock, warm=warm, gap=gap)
    tried = np.where(np.isnan(table.seconds), np.inf, table.seconds)
    best = tried.min(axis=1, keepdims=True)
    # Where no solver solved an instance, all ratios are infinite.
    ratio = np.where(np.isnan(table.seconds), np.nan, np.inf)
    np.divide(tried, best, out=ratio, where=np.isfinite(tried) & np.isfinite(best))
    return _profile(table.solvers, ratio)


def data_profile(
    rows: Iterable[Row],
    *,
    clock: Clock = "cpu",
    warm: bool = True,
    gap: float | None = None,
) -> Profile:
    """The share of instances that a solver solves within some seconds, whatever others need.

    More and Wild (SIAM Journal on Optimization 20, 2009) count evaluations of the objective; here
    the budget is time. The parameters are those of `performance_profile`.
    """
    table = times(rows, clock=clock, warm=warm, gap=gap)
    return _profile(table.solvers, table.seconds)


def _profile(solvers: list[str], values: Floats) -> Profile:
    """The profile of values of shape (n, s), infinite if not solved and NaN if not tried."""
    columns = dict(zip(solvers, values.T, strict=True))
    return Profile(
        at={solver: np.sort(column[np.isfinite(column)]) for solver, column in columns.items()},
        tried={solver: int((~np.isnan(column)).sum()) for solver, column in columns.items()},
        instances=len(values),
    )
