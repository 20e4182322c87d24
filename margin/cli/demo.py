"""The command `margin demo`: release a generated table and compare answers with the truth."""

import dataclasses
import itertools
from pathlib import Path

import numpy as np

from ..data.count import count
from ..datasets import people, people_domain
from ..domain.domain import View
from ..domain.marginal import Marginal
from ..mechanisms import PriView
from ..privacy.budget import PureDP
from ..release import release
from .common import Said

__all__ = ["demo"]

_SHOWN = [("smoker", "sex"), ("education", "income")]
"""The views whose counts are printed."""

_DESCRIPTION = "Demonstration data: all people are made up by the software. A row is one of them."
"""What the file says about its table."""

_ROWS = 5
"""Number of cells that are printed per view."""


def demo(path: Path, epsilon: str = "1") -> Said:
    """Release the demonstration table, save the synopsis to `path`, and describe its errors."""
    domain = people_domain()
    table = people()
    synopsis = release(
        table,
        domain=domain,
        budget=PureDP(epsilon),
        mechanism=PriView(),
    )
    assert synopsis.provenance is not None
    provenance = dataclasses.replace(synopsis.provenance, description=_DESCRIPTION)
    synopsis = dataclasses.replace(synopsis, provenance=provenance)
    synopsis.save(path)

    # Count the truth of all views that are compared.
    asked = {k: _some_views(domain.attributes, k) for k in (2, 3, 4)}
    views = [*_SHOWN, *itertools.chain.from_iterable(asked.values())]
    truths = dict(zip(views, count(table, domain, views), strict=True))
    errors = {}
    for k, some in asked.items():
        distances = [_distance(synopsis.marginal(view), truths[view]) for view in some]
        errors[k] = np.mean(distances)

    table_size = f"{table.num_rows:,} generated people with {len(domain)} attributes"
    lines = [
        f"{table_size}; {len(synopsis.views)} views were measured.",
        f"Guarantee: {synopsis.spent.describe()}.",
    ]
    for view in _SHOWN:
        lines += ["", *_beside(synopsis.marginal(view), truths[view])]
    wrong = ", ".join(f"{error:.1%} of {k}-way" for k, error in errors.items())
    lines += [
        "",
        f"Rows in a wrong cell, on average: {wrong} marginals.",
        f"Saved as {path}; to read about it: margin info {path}",
    ]
    values = {
        "output": str(path),
        "guarantee": synopsis.spent.describe(),
        "rows": table.num_rows,
        "attributes": len(domain),
        "views": len(synopsis.views),
        "wrong_cell_share": {f"{k}way": float(error) for k, error in errors.items()},
    }
    return Said("\n".join(lines), values, is_kept=True)


def _some_views(attributes: View, k: int) -> list[View]:
    """Choose thirty views of k attributes, evenly spread over the list of all such views."""
    views = list(itertools.combinations(attributes, k))
    places = np.linspace(0, len(views) - 1, 30).astype(int)
    return [views[place] for place in places]


def _distance(marginal: Marginal, truth: np.ndarray) -> float:
    """The total variation distance of a marginal from the truth, as a share of the rows.

    It is half the sum of the absolute differences, divided by the number of rows.
    """
    difference = np.abs(marginal.counts - truth).sum()
    return float(difference / 2 / truth.sum())


def _beside(marginal: Marginal, truth: np.ndarray) -> list[str]:
    """Write the first cells of a marginal as lines: labels, private count and true count."""
    kinds = [attribute.names for attribute in marginal.domain.values()]
    cells = list(itertools.product(*kinds))
    lines = [f"{' x '.join(marginal.attributes):<34}{'private':>10}{'truth':>10}"]
    shown = zip(cells[:_ROWS], marginal.counts.ravel(), truth.ravel(), strict=False)
    for labels, private, true in shown:
        name = ", ".join(map(str, labels))
        lines.append(f"  {name:<32}{private:>10,.0f}{true:>10,}")
    if len(cells) > _ROWS:
        lines.append(f"  ... {len(cells) - _ROWS} more cells")
    return lines
