"""All ranges of one ordered attribute: the expected error of `Residual` against trees and wavelets.

Errors are closed forms for Gaussian noise of rho = 1/2: the mean squared error of a range. `Hay` is
`Hierarchical`, the trees of Hay et al. with the best of several numbers of children; `Privelet` is
`Wavelet`. `bound` is a lower bound on every linear strategy: with the singular values s of the n
(n + 1) / 2 ranges, their summed squared error is at least (sum of s)**2 / n (Li and Miklau, 2012).
"""

from pathlib import Path
from typing import Any

import numpy as np

from experiments.tools.pages import Claim, page
from experiments.tools.study import Row, bad, good, sweep
from margin import ZCDP, Domain, Residual, Workload
from margin.mechanisms import Hierarchical, Wavelet
from margin.solvers import OrderMetric

SIZES = (16, 64, 256, 1024, 4096)
DIRECT = 256
"""Largest size for which queries are optimised directly, and not in blocks."""

BRANCHING = (2, 4, 8, 16)
BUDGET = ZCDP("0.5")

METHODS = ("Residual", "Privelet", *(f"Hay, {number} children" for number in BRANCHING), "bound")


def run(smoke: bool, out: Path) -> str:
    """Compute all errors, and write the page."""
    sizes = SIZES[:1] if smoke else SIZES
    keys = [{"size": size, "method": method} for size in sizes for method in METHODS]
    return report(out, sweep(out / "rows.csv", measure, keys))


def measure(size: int, method: str) -> dict[str, Any]:
    """The mean squared error of a range."""
    domain = Domain({"x": {"size": size, "ordered": True}})
    count = size * (size + 1) // 2
    if method == "Residual":
        workload = Workload.of(domain, [["x"]], asked={"x": "ranges"})
        return {"error": Residual(order=1).expected_error(domain, workload, BUDGET) / count}
    if method == "Privelet":
        return {"error": Wavelet().range_error(domain, "x", BUDGET)}
    if method == "bound":
        values = np.linalg.eigvalsh(OrderMetric(size, ranges=True).gram)
        return {"error": float(np.sqrt(np.maximum(values, 0)).sum()) ** 2 / size / count}
    branching = int(method.split()[1])
    return {"error": Hierarchical(branching=branching).range_error(domain, "x", BUDGET)}


def report(out: Path, rows: list[Row]) -> str:
    """Write the page: a line for each size."""
    lines: dict[str, dict[str, Any]] = {}
    for row in good(rows):
        line = lines.setdefault(row["size"], {"size": int(row["size"])})
        line[row["method"]] = float(row["error"])
    claims = []
    whole = [line for line in lines.values() if set(METHODS) <= set(line)]
    for line in whole:
        others = min(line[name] for name in METHODS[1:-1])
        line["to the best of the others"] = line["Residual"] / others
        line["to the bound"] = line["Residual"] / line["bound"]
    if whole:
        worst = max(line["to the best of the others"] for line in whole)
        claims.append(
            Claim(
                claim="error of Residual <= 1.02 x the best of Hay and Privelet",
                measured=f"at most {worst:.3f} x",
                holds=worst <= 1.02,
            )
        )
        worst = max(line["to the bound"] for line in whole if line["size"] <= DIRECT)
        claims.append(
            Claim(
                claim=f"error of Residual <= 1.025 x the lower bound for up to {DIRECT} values",
                measured=f"at most {worst:.4f} x",
                holds=worst <= 1.025,
            )
        )
    return page(
        out / "page.md",
        title="Ranges of one attribute",
        about=(__doc__ or "").strip(),
        claims=claims,
        rows=list(lines.values()),
        notes=bad(rows),
    )
