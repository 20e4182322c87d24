"""Exact errors of prefixes: `Residual` beside ResidualPlanner+ as published, on three schemas.

The workload asks the prefixes of the ordered attributes, in all views of up to three attributes, at
rho = 1/2. The error is the root of the mean squared error of a query, from the closed form; no data
is read. The schemas are those of CPS, Adult and Loans.
"""

import itertools
import math
from pathlib import Path
from typing import Any

from experiments.tools.pages import Claim, page
from experiments.tools.study import bad, good, sweep
from margin import ZCDP, Domain, Residual, Workload

ORDER = 3
PUBLISHED = {
    "CPS": ((50, 100, 7, 4, 2), 2, 7.570),
    "Adult": ((100, 100, 100, 99, 85, 42, 16, 15, 9, 7, 6, 5, 2, 2), 5, 45.174),
    "Loans": ((101, 101, 101, 101, 3, 8, 36, 6, 51, 4, 5, 15), 4, 34.144),
}
"""Sizes, the number of ordered attributes (which come first), and the published error."""


def run(smoke: bool, out: Path) -> str:
    """Compute the errors; write a page."""
    names = ("CPS",) if smoke else tuple(PUBLISHED)
    rows = good(found := sweep(out / "rows.csv", measure, [{"schema": name} for name in names]))
    return page(
        out / "page.md",
        title="Errors of prefixes",
        about=" ".join((__doc__ or "").partition("\n\n")[2].split()),
        claims=[
            Claim(
                claim=f"{row['schema']}: at most the published error",
                measured=f"{float(row['error']):.3f} and {float(row['published']):.3f}",
                holds=float(row["error"]) <= float(row["published"]) + 0.0005,
            )
            for row in rows
        ],
        rows=[{name: row[name] for name in ("schema", "error", "published")} for row in rows],
        notes=bad(found),
    )


def measure(schema: str) -> dict[str, Any]:
    """The error of one schema."""
    sizes, ordered, published = PUBLISHED[schema]
    domain = Domain(
        {f"a{i}": {"size": n, "ordered": True} if i < ordered else n for i, n in enumerate(sizes)}
    )
    views = [
        view for k in range(1, ORDER + 1) for view in itertools.combinations(domain.attributes, k)
    ]
    asked = {f"a{place}": "prefixes" for place in range(ordered)}
    workload = Workload.of(domain, views, asked=asked)
    squares = Residual(order=ORDER).expected_error(domain, workload, ZCDP("0.5"))
    cells = sum(map(domain.cells, views))
    return {"error": f"{math.sqrt(squares / cells):.6g}", "published": published}
