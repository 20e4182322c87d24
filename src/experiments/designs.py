"""Sizes of covering designs against the best known, and errors of views chosen for Adult."""

import itertools
from pathlib import Path

from margin.designs import (
    best_known,
    covering_design,
    covering_views,
    expected_error,
    schonheim_bound,
    select_views,
)

PAPERS = [
    (9, 6, 2),
    (16, 8, 2),
    (20, 8, 2),
    (24, 8, 2),
    (32, 8, 2),
    (64, 8, 2),
    (32, 8, 4),
    (45, 8, 2),
    (45, 8, 3),
]
MORE = [(32, 8, 3), (64, 8, 3), (128, 8, 2), (256, 8, 2), (1000, 8, 2)]
ADULT = {
    "Adult, 13 columns": [10, 9, 16, 7, 15, 6, 5, 2, 10, 10, 10, 42, 2],
    "Adult, 15 raw columns": [85, 9, 100, 16, 16, 7, 15, 6, 5, 2, 100, 99, 96, 42, 2],
}


def run(smoke: bool, out: Path) -> str:
    """Write a table of sizes and a table of errors; a smoke run has a few cells only."""
    cells = (
        PAPERS[:6]
        if smoke
        else PAPERS
        + MORE
        + [(v, k, t) for t in (2, 3, 4) for k in range(5, 13) for v in range(k + 1, 41, 3)]
    )
    lines = ["| v k t | blocks | best known | bound | from |", "|---|---|---|---|---|"]
    shares = []
    for cell in cells:
        design, known = covering_design(*cell), best_known(*cell)
        if known is not None:
            shares.append(design.size / known.size)
        shown = "-" if known is None else known.size
        lines.append(
            f"| {' '.join(map(str, cell))} | {design.size} | {shown} | "
            f"{schonheim_bound(*cell)} | {design.provenance} |"
        )
    equal, near = (sum(share <= most for share in shares) / len(shares) for most in (1, 1.1))
    lines += [
        "",
        f"{equal:.0%} of {len(shares)} are of the best known size or less, {near:.0%} within 10 %.",
        "",
    ]
    lines += ["| domain | power | best uniform cover | chosen | less by |", "|---|---|---|---|---|"]
    for name, sizes in list(ADULT.items())[: 1 if smoke else 2]:
        lines += [_views(name, sizes, power, smoke) for power in (1, 2)]
    text = "\n".join(lines)
    (out / "designs.md").write_text(text + "\n", encoding="utf-8")
    return text


def _views(name: str, sizes: list[int], power: int, smoke: bool) -> str:
    pairs = list(itertools.combinations(range(len(sizes)), 2))
    covers = [
        covering_views(sizes, max_cells=2**exponent)
        for exponent in ((8, 9) if smoke else range(6, 14))
    ]
    uniform = min(
        expected_error(sizes, views, [1] * len(views), workload=pairs, power=power)
        for views in covers
    )
    chosen = select_views(sizes, pairs, power=power, effort=1 if smoke else 10).expected_error
    return f"| {name} | {power} | {uniform:.4g} | {chosen:.4g} | {1 - chosen / uniform:.0%} |"
