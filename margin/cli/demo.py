"""The demonstration: a made-up table of people, released with PriView, a few answers beside the
truth."""

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
_ROWS = 5


def demo(path: Path, epsilon: str = "1") -> Said:
    """Release the demonstration table, save the synopsis to `path`, and return what is to be said."""
    domain = people_domain()
    table = people()
    synopsis = release(table, domain=domain, budget=PureDP(epsilon), mechanism=PriView())
    synopsis.save(path)
    asked = {k: _some_views(domain.attributes, k) for k in (2, 3, 4)}
    views = [*_SHOWN, *itertools.chain.from_iterable(asked.values())]
    truths = dict(zip(views, count(table, domain, views), strict=True))
    errors = {
        k: np.mean([_distance(synopsis.marginal(view), truths[view]) for view in some])
        for k, some in asked.items()
    }
    lines = [
        f"{table.num_rows:,} made-up people, {len(domain)} attributes; released through {len(synopsis.views)} views.",
        f"Guarantee: {synopsis.spent.describe()}.",
    ]
    for view in _SHOWN:
        lines += ["", *_beside(synopsis.marginal(view), truths[view])]
    wrong = ", ".join(f"{error:.1%} of {k}-way" for k, error in errors.items())
    lines += [
        "",
        f"Rows put in a wrong cell, on average: {wrong} marginals.",
        f"Written: {path}  (margin info {path})",
    ]
    values = {
        "output": str(path),
        "guarantee": synopsis.spent.describe(),
        "rows": table.num_rows,
        "attributes": len(domain),
        "views": len(synopsis.views),
        "wrong_cell_share": {f"{k}way": float(error) for k, error in errors.items()},
    }
    return Said("\n".join(lines), values)


def _some_views(attributes: View, k: int) -> list[View]:
    """Thirty views of k attributes, spread over all of them."""
    views = list(itertools.combinations(attributes, k))
    return [views[place] for place in np.linspace(0, len(views) - 1, 30).astype(int)]


def _distance(marginal: Marginal, truth: np.ndarray) -> float:
    """Half the sum of absolute differences, as a share of the rows."""
    return float(np.abs(marginal.counts - truth).sum() / 2 / truth.sum())


def _beside(marginal: Marginal, truth: np.ndarray) -> list[str]:
    """The first cells of a marginal: labels, private count with its standard error, truth."""
    labels = list(itertools.product(*(attribute.labels for attribute in marginal.domain.values())))
    head = f"{' x '.join(marginal.attributes):<34}{'private':>10}{'truth':>10}"
    rows = [
        f"  {', '.join(map(str, label)):<32}{count:>10,.0f}{true:>10,}"
        for label, count, true in zip(
            labels[:_ROWS], marginal.counts.ravel(), truth.ravel(), strict=False
        )
    ]
    more = [f"  ... {len(labels) - _ROWS} more cells"] if len(labels) > _ROWS else []
    return [head, *rows, *more]
