"""The tables of times on the pages; see `trace`."""

from typing import Any

from experiments.tools.pages import short
from experiments.tools.readings import Readings

_WAYS = {
    "batch": "`Newton(bars=False)`, a batch",
    "batch with bars": "`Newton()`, a batch",
    "library": "`synopsis.marginals`",
    "numpy": "`Newton()`, one problem",
    "marginal": "`synopsis.marginal`",
    "worst": "`synopsis.marginal`, the slowest",
    "consistency": "`ResidualConsistency`",
    "projection": "`JointProjection`",
}
_THEIRS = {
    "lattice": "`LatticeConsistency`",
    "OSQP": "`ProjectionQP()`",
    "CLARABEL": "`ProjectionQP(solver='CLARABEL')`",
    "ladder": "`Ladder`",
    "Clarabel": "`ClarabelDirect`",
    "cvxpy with Clarabel": "`Cone`",
    "trust-exact": "`TrustExact`",
    "L-BFGS": "`LBFGS`",
}


def speeds(study: Readings, *ways: str, **where: Any) -> str:
    """A line for each comparison in some ways: the ratio, its range, and both times."""
    lines = []
    for row in study.rows:
        chosen = row["way"] in ways and all(row[name] == value for name, value in where.items())
        if not chosen:
            continue
        ratio, least, most = (short(float(row[name]), 3) for name in ("ratio", "least", "most"))
        ours, theirs = (short(float(row[name]), 3) for name in ("ours ms", "theirs ms"))
        place = f"{row['table']}, {row['views']} views, epsilon {row['epsilon']:g}"
        beside = _THEIRS[row["theirs"]]
        cells = (_WAYS[row["way"]], place, beside, f"{ratio} ({least} to {most})", ours, theirs)
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def least_ratio(study: Readings, way: str, **where: Any) -> float:
    """The smallest of the median ratios of the comparisons in one way."""
    chosen = [
        float(row["ratio"])
        for row in study.rows
        if row["way"] == way and all(row[name] == value for name, value in where.items())
    ]
    return min(chosen)
