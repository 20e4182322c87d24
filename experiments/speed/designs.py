"""Sizes of covering designs beside the best known, and errors of views under two kinds of noise.

Sizes: all cells (v, k, t) with 5 <= k <= 12 and v <= 99 that the La Jolla Covering Repository lists
(its copy here), and the cells of the papers and some larger ones. Errors: exact, of least squares,
for all pairs of attributes; views of Adult, and of 32 binary attributes. Power 1 is Gaussian noise,
power 2 Laplace noise; see `margin.designs.expected_error`.
"""

import itertools
from pathlib import Path
from typing import Any

import numpy as np

from experiments.tools.pages import page
from experiments.tools.study import bad, good, sweep
from margin.designs import (
    best_known,
    covering_design,
    covering_views,
    expected_error,
    schonheim_bound,
    select_views,
)
from margin.designs.covering.best_known import published_sizes
from margin.designs.covering.smallest_designs import smallest_designs

CELLS = [
    *((v, 8, 2) for v in (16, 20, 24, 32, 45, 64, 100, 128, 256, 1000)),
    *((v, 8, 3) for v in (32, 45, 64)),
    (9, 6, 2),
    (32, 8, 4),
    (36, 9, 3),
    (89, 11, 3),
    (92, 12, 2),
    (95, 12, 3),
]
"""Points, block size and t of the designs that are listed."""
DOMAINS = {
    "Adult, 13 columns": [10, 9, 16, 7, 15, 6, 5, 2, 10, 10, 10, 42, 2],
    "Adult, 15 raw columns": [85, 9, 100, 16, 16, 7, 15, 6, 5, 2, 100, 99, 96, 42, 2],
}
COVERS = {"blocks of 8": (8, 2), "blocks of 6": (6, 2), "triples": (3, 3), "pairs": (2, 2)}
"""Block size and t of the covers of 32 binary attributes."""


def run(smoke: bool, out: Path) -> str:
    """Compare the sizes and the errors; write a page."""
    strengths = (2,) if smoke else (2, 3, 4)
    cells = CELLS[:3] if smoke else CELLS
    domains = () if smoke else tuple(DOMAINS)
    shares = sweep(out / "shares.csv", measure_shares, [{"t": t} for t in strengths])
    sizes = sweep(out / "sizes.csv", measure_size, [{"v": v, "k": k, "t": t} for v, k, t in cells])
    powers = [
        {"domain": domain, "power": power} for domain in (*domains, "32 bits") for power in (1, 2)
    ]
    errors = sweep(out / "errors.csv", measure_errors, powers)
    rows = [*shares, *sizes, *errors]
    return page(
        out / "page.md",
        title="Covering designs",
        about=" ".join((__doc__ or "").partition("\n\n")[2].split()),
        rows=[{name: row.get(name, "") for name in COLUMNS} for row in good(rows)],
        notes=bad(rows),
    )


COLUMNS = (
    *("v", "k", "t", "blocks", "best known", "bound"),
    *("cells", "equal or less", "less", "within 5 %", "within 10 %", "median", "worst"),
    *("domain", "power", "views", "error"),
)


def measure_shares(t: int) -> dict[str, Any]:
    """How the sizes of the table compare with the best known, over all listed cells of t."""
    known = {
        cell: entry.size
        for cell, entry in published_sizes().items()
        if cell[2] == t and 5 <= cell[1] <= 12
    }
    ratios = np.array(
        [smallest_designs().sizes[t, k, v] / size for (v, k, _), size in known.items()]
    )
    return {
        "cells": len(ratios),
        "equal or less": float((ratios <= 1).mean()),
        "less": int((ratios < 1).sum()),
        "within 5 %": float((ratios <= 1.05).mean()),
        "within 10 %": float((ratios <= 1.1).mean()),
        "median": float(np.median(ratios)),
        "worst": float(ratios.max()),
    }


def measure_size(v: int, k: int, t: int) -> dict[str, Any]:
    """The size of one design, the best known and the lower bound."""
    known = best_known(v, k, t)
    return {
        "blocks": covering_design(v, k, t).size,
        "best known": "" if known is None else known.size,
        "bound": schonheim_bound(v, k, t),
    }


def measure_errors(domain: str, power: int) -> list[dict[str, Any]]:
    """The errors of views with equal shares, and of chosen views on the domains of Adult."""
    sizes = DOMAINS.get(domain, [2] * 32)
    pairs = list(itertools.combinations(range(len(sizes)), 2))

    def uniform(views: Any) -> float:
        return expected_error(sizes, views, [1] * len(views), workload=pairs, power=power)

    if domain not in DOMAINS:
        covers = {name: covering_design(32, k, t).blocks for name, (k, t) in COVERS.items()}
        return [{"views": name, "error": uniform(views)} for name, views in covers.items()]
    limits = [2**exponent for exponent in range(6, 14)]
    best = min(uniform(covering_views(sizes, max_cells=limit)) for limit in limits)
    chosen = select_views(sizes, pairs, power=power, effort=10).expected_error
    return [{"views": "best cover", "error": best}, {"views": "chosen", "error": chosen}]
