"""One uncovered answer by Newton and by the published ladder through cvxpy, on the same synopsis."""

import time

import numpy as np

import margin
from margin import PriView, PureDP
from margin.designs import covering_design
from margin.solvers import Ladder

from ._tables import kosarak, queries


def run(smoke: bool) -> str:
    """Median and mean process time of single calls of `marginal`, by size of query."""
    study = kosarak(rows=5_000 if smoke else None)
    blocks = covering_design(len(study.domain), 8, 2).blocks
    views = [[study.domain.attributes[axis] for axis in block] for block in blocks]
    newton = margin.simulate(
        study.data, domain=study.domain, budget=PureDP("9.13"), mechanism=PriView(views=views), seed=0
    )
    ladder = newton.synopsis.with_reconstruction(Ladder())
    lines = [
        f"{study.name} {study.note}; ms of process time a query",
        f"{'k':>3}{'newton median':>16}{'mean':>8}{'ladder median':>16}{'mean':>8}{'medians ratio':>16}{'means':>8}",
    ]
    for k in (4, 6, 8):
        asked = [view for view in queries(study.domain, k, 3 if smoke else 40) if not _covered(view, views)]
        times = {}
        for name, simulation in (("newton", newton), ("ladder", ladder)):
            simulation.marginal(asked[0])  # what is loaded on first use is not counted
            times[name] = np.array([_milliseconds(simulation, view) for view in asked])
        fast, slow = times["newton"], times["ladder"]
        lines.append(
            f"{k:>3}{np.median(fast):>16.2f}{fast.mean():>8.2f}{np.median(slow):>16.1f}{slow.mean():>8.1f}"
            f"{np.median(slow) / np.median(fast):>16.0f}{slow.mean() / fast.mean():>8.0f}"
        )
    return "\n".join(lines)


def _covered(view: tuple[str, ...], views: list[list[str]]) -> bool:
    return any(set(view) <= set(other) for other in views)


def _milliseconds(simulation: margin.Simulation, view: tuple[str, ...]) -> float:
    started = time.process_time()
    simulation.marginal(view)
    return 1000 * (time.process_time() - started)
