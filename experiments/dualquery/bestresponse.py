"""Every solver of Dual Query's best response on recorded instances: gap against time.

The instances come from a plain run of multiplicative weights on 3-way conjunctions, with several
numbers of samples and of rounds. The tables are biased bits, and Adult and KDD99 if their files are
available. A gap is the difference to the best value that any solver found, in percent. Seconds are
process seconds, including other processes that a solver starts. Its time limit is wall time.
"""

import os
import time
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from experiments.dualquery._dualquery import at_hand, table
from experiments.tools.pages import Claim, page
from experiments.tools.plots import lines
from experiments.tools.study import Row, bad, good, seed_of, sweep
from margin.queries import Conjunctions
from margin.solvers import (
    Anneal,
    BestResponse,
    ByComponents,
    CpSat,
    Greedy,
    Highs,
    MaxSat,
    Milp,
    Pulp,
    Responder,
    Status,
)

DEFAULT = "default"
LIMITED: dict[str, Callable[[float], Responder]] = {
    "scipy": lambda seconds: Milp(time_limit=seconds),
    "highspy": lambda seconds: Highs(time_limit=seconds),
    "PuLP CBC": lambda seconds: Pulp(time_limit=seconds),
    "PuLP HiGHS": lambda seconds: Pulp(solver="HiGHS", time_limit=seconds),
    "PuLP SCIP": lambda seconds: Pulp(solver="SCIP_PY", time_limit=seconds),
    "CP-SAT": lambda seconds: CpSat(time_limit=seconds),
    "MaxSAT RC2": lambda seconds: MaxSat(time_limit=seconds),
}
"""Solvers that are given seconds."""
OURS: dict[str, Callable[[float], Responder]] = {
    DEFAULT: lambda _: ByComponents(),
    "greedy": lambda _: Greedy(),
    "annealing": lambda sweeps: Anneal(sweeps=int(sweeps)),
}
"""Solvers that are given sweeps, or nothing."""
STEP, LAST, QUERIES = 1.0, 30, 40_000
SPARSE = 0.3
"""Samples to an attribute up to which an instance is called sparse; from 2 on it is called dense.
"""


def run(smoke: bool, out: Path) -> str:
    """Measure the solvers; write a page with claims, the plot, and a table of the gaps."""
    if smoke:
        sizes, rounds, limits, sweeps = (
            [("biased", 60, 150), ("biased", 1000, 200)],
            (1, 3),
            (0.2,),
            (1, 30),
        )
        solvers = ["scipy", "highspy", "PuLP CBC"]
    else:
        sizes = [
            ("adult", 235, 1000),
            ("kdd99", 396, 1750),
            ("biased", 100, 1000),
            ("biased", 500, 1000),
        ]
        sizes += [("biased", 1000, 5000), ("biased", 4000, 4000), ("biased", 17_000, 5000)]
        sizes = [size for size in sizes if size[0] == "biased" or at_hand(size[0])]
        rounds, limits, sweeps = (1, LAST), (1.0, 10.0, 30.0), (1, 3, 10, 30, 100, 300, 1000, 3000)
        solvers = list(LIMITED)
    own = [(DEFAULT, 0.0), ("greedy", 0.0), *(("annealing", float(count)) for count in sweeps)]
    keys = [
        {"data": data, "d": d, "s": s, "round": turn, "solver": solver, "given": given}
        for data, d, s in sizes
        for turn in rounds
        for solver, given in [*own, *((name, limit) for name in solvers for limit in limits)]
    ]
    rows = sweep(out / "rows.csv", measure, keys)
    done = [row for row in good(rows) if row["ended"] != Status.MISSING.name]
    pictures = lines(
        out / "gap",
        {name: _curves(some) for name, some in _by(done, "instance").items()},
        xlabel="process seconds", ylabel="gap to the best known, %", xlog=True,
        title="Best response: gap against time (0.001 stands for none)",
    )  # fmt: skip
    missing = sorted(
        {f"{row['solver']} is not installed" for row in good(rows) if row["ended"] == "MISSING"}
    )
    return page(
        out / "bestresponse.md",
        title="Solvers of the best response",
        about=__doc__ or "",
        claims=[] if smoke else [_dense(done), _sparse(done)],
        pictures=pictures,
        rows=_summary(done),
        notes=[*missing, *bad(rows)],
    )


def measure(*, data: str, d: int, s: int, round: int, solver: str, given: float) -> dict[str, Any]:
    """Solve one instance with one solver."""
    instance = recorded(data, d, s)[round]
    made = (OURS | LIMITED)[solver](given)
    for _ in range(2 if solver in OURS else 1):  # the first call of ours loads the compiled loops
        began = process_seconds()
        response = made.solve(instance, seed=seed_of(data, d, s, round))
        seconds = process_seconds() - began
    return {
        "value": "" if response.value is None else response.value,
        "bound": response.bound,
        "ended": response.status.name,
        "seconds": seconds,
        "detail": response.detail,
    }


@lru_cache(maxsize=1)
def recorded(
    data: str, d: int, s: int, *, last: int = LAST, run: int = 0
) -> dict[int, BestResponse]:
    """The instance of each round of a run with s samples per round.

    The only noise is that of the sampling. Runs of other numbers have other queries and draws.
    """
    more = (run,) if run else ()
    rng = np.random.default_rng(seed_of(data, d, s, *more))
    domain, bits = table(data, d, 20_000)
    asked = Conjunctions.random(domain, 3, QUERIES, seed_of(data, d, *more))
    truth = asked.counts(bits) / bits.rows
    logit, instances = np.zeros(len(asked)), {}
    for turn in range(1, last + 1):
        chance = np.exp(np.concatenate([logit, -logit]) - np.abs(logit).max())
        drawn = np.bincount(
            rng.choice(2 * len(asked), s, p=chance / chance.sum()), minlength=2 * len(asked)
        )
        ask, deny = drawn[: len(asked)], drawn[len(asked) :]
        places = np.flatnonzero(ask + deny)
        instances[turn] = asked.best_response(
            places, (ask - deny)[places], constant=int(deny.sum())
        )
        record = ByComponents(exact=None).solve(instances[turn], seed=turn).record
        holds = (record[asked.attributes] == asked.values).all(axis=1)
        logit += STEP * (truth - holds)
    return instances


def process_seconds() -> float:
    """Process seconds so far, including processes that have ended."""
    now = os.times()
    return time.process_time() + now.children_user + now.children_system


def _by(rows: list[Row], what: str) -> dict[str, list[Row]]:
    groups: dict[str, list[Row]] = {}
    for row in rows:
        name = (
            f"{row['data']} d={row['d']} s={row['s']} round {row['round']}"
            if what == "instance"
            else row[what]
        )
        groups.setdefault(name, []).append(row)
    return groups


def _gaps(rows: list[Row]) -> list[tuple[Row, float]]:
    """The rows of one instance that have a record, with their gaps in percent."""
    found = [row for row in rows if row["value"]]
    best = max((float(row["value"]) for row in found), default=0.0)
    return [(row, 100 * (best - float(row["value"])) / max(abs(best), 1.0)) for row in found]


def _curves(rows: list[Row]) -> dict[str, tuple[list[float], list[float]]]:
    curves = {}
    gaps = _gaps(rows)
    for solver in _by(rows, "solver"):
        points = sorted(
            (float(row["seconds"]), max(gap, 1e-3)) for row, gap in gaps if row["solver"] == solver
        )
        if points:
            curves[solver] = ([x for x, _ in points], [y for _, y in points])
    return curves


def _summary(rows: list[Row]) -> list[dict[str, Any]]:
    found = []
    for name, some in _by(rows, "instance").items():
        for row, gap in _gaps(some):
            first = {column: row[column] for column in ("solver", "given", "seconds")}
            last = {column: row[column] for column in ("value", "bound", "ended")}
            found.append({"instance": name, **first, "gap %": gap, **last})
    return found


def _dense(rows: list[Row]) -> Claim:
    """Compares the default with any other solver that took at most 1,000 times as long."""
    worse, compared, times = [], 0, []
    dense = [row for row in rows if float(row["s"]) >= 2 * float(row["d"])]
    for name, some in _by(dense, "instance").items():
        own = next(row for row in some if row["solver"] == DEFAULT)
        for row in some:
            ratio = float(row["seconds"]) / float(own["seconds"])
            if row["solver"] in LIMITED and row["value"] and ratio <= 1000:
                compared += 1
                times.append(ratio)
                if float(row["value"]) > float(own["value"]):
                    found = f"{row['solver']} {row['value']} in {ratio:.0f}x the time"
                    worse.append(f"{name}: {found}, we {own['value']}")
    longest = max(times, default=0)
    measured = f"{compared} comparisons, up to {longest:.0f}x the time; worse in {len(worse)}"
    return Claim(
        claim="on dense instances the default is never worse than a general solver with 1,000 "
        "times its time",
        measured=measured,
        holds=not worse if compared else None,
        why="; ".join(worse),
    )


def _sparse(rows: list[Row]) -> Claim:
    own = [
        row
        for row in rows
        if row["solver"] == DEFAULT and float(row["s"]) <= SPARSE * float(row["d"])
    ]
    slowest = max((float(row["seconds"]) for row in own), default=0.0)
    proved = sum(row["ended"] == Status.OPTIMAL.name for row in own)
    return Claim(
        claim="sparse instances are solved to proven optimality within a second",
        measured=f"{proved} of {len(own)}, the slowest in {slowest:.3f} s",
        holds=proved == len(own) and slowest <= 1 if own else None,
    )
