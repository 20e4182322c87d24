"""What `ByComponents` proves in early and late rounds of Dual Query; CBC with 100 times its time.

The instances come from plain runs of multiplicative weights on 3-way conjunctions, from the first
round to the 170th, on Adult, KDD99 and generated tables. There are two parts, in two files:

- choice.csv: for each large component, the gap between the bound of its linear relaxation and the
  better of the rounded and the annealed record, and whether the first node of HiGHS proves a
  record. `PROVED_GAP` and `PROVED_TERMS` in `solvers/fitted.py` were chosen from it.
- rows.csv: instances that were held back from the choice (other draws of the same tables, and two
  tables that the choice did not see), solved by `ByComponents` and then by CBC, which has 100 times
  the processor time. All seconds are process seconds, including other processes.
"""

import math
from pathlib import Path
from typing import Any

import numpy as np

from experiments.dualquery._dualquery import at_hand
from experiments.dualquery.bestresponse import process_seconds, recorded
from experiments.tools.pages import Claim, page
from experiments.tools.study import Row, bad, good, seed_of, sweep
from margin.solvers import ByComponents, Milp, Pulp, Status
from margin.solvers.backends import load_pulp
from margin.solvers.response.components import component, components
from margin.solvers.response.presolve import presolve
from margin.solvers.response.relaxation import relaxed

TIMES = 100
"""How many times the processor time of `ByComponents` CBC is given."""
ROUNDS = (1, 2, 3, 4, 5, 10, 30, 60, 100, 170)
CHOICE = {
    ("adult", 235, 1000): 7,
    ("kdd99", 396, 1750): 7,
    ("biased", 500, 1000): 7,
    ("biased", 300, 500): 7,
    ("biased", 800, 1000): 7,
    ("biased", 1000, 2000): 7,
    ("kdd99", 396, 5000): 7,
}
"""The tables of the choice with the attributes, the samples of a round, and the number of the run.
"""
HELD_BACK = {
    ("adult", 235, 1000): 3,
    ("kdd99", 396, 1750): 3,
    ("biased", 500, 1000): 3,
    ("biased", 100, 1000): 3,
    ("biased", 400, 600): 3,
    ("categories", 80, 1000): 3,
}
NEAR = 8.0
"""The largest gap, in mean absolute weights, at which the first node of HiGHS is tried."""


def run(smoke: bool, out: Path) -> str:
    """Measure the gaps of the choice and the instances that were held back; write a page."""
    choice, held, rounds = CHOICE, HELD_BACK, ROUNDS
    if smoke:
        choice = {("biased", 40, 60): 7}
        held = {("biased", 40, 60): 1, ("categories", 20, 60): 1}
        rounds = (1, 3)
    gaps = sweep(out / "choice.csv", measure_gaps, _keys(choice, rounds))
    rows = sweep(out / "rows.csv", measure, _keys(held, rounds))
    done = good(rows)
    return page(
        out / "best_response_proofs.md",
        title="Proofs of best responses",
        about=__doc__ or "",
        claims=[] if smoke else [_proved(done), _never_worse(done)],
        rows=[_short(row) for row in done],
        notes=[*_choice(good(gaps)), *bad(gaps), *bad(rows)],
    )


def _keys(tables: dict[tuple[str, int, int], int], rounds: tuple[int, ...]) -> list[dict[str, Any]]:
    return [
        {"data": data, "d": d, "s": s, "run": number, "round": turn}
        for (data, d, s), number in tables.items()
        if data in ("biased", "categories") or at_hand(data)
        for turn in rounds
    ]


def measure(*, data: str, d: int, s: int, run: int, round: int) -> dict[str, Any]:
    """Solve one instance by `ByComponents`, then by CBC with 100 times the processor time."""
    pulp = load_pulp()
    instance = recorded(data, d, s, last=ROUNDS[-1], run=run)[round]
    seed = seed_of(data, d, s, run, round)
    ByComponents().solve(instance, seed=seed)  # the first call loads the compiled loops
    began = process_seconds()
    own = ByComponents().solve(instance, seed=seed)
    seconds = max(process_seconds() - began, 0.01)
    limit = TIMES * seconds
    solver = pulp.PULP_CBC_CMD(msg=False, timeLimit=limit, timeMode="cpu", threads=1, gapRel=0.0)
    began = process_seconds()
    other = Pulp(solver=solver, time_limit=limit).solve(instance, seed=seed)
    return {
        "terms": instance.terms,
        "value": own.value,
        "bound": own.bound,
        "ended": own.status.name,
        "seconds": seconds,
        "cbc": "" if other.value is None else other.value,
        "cbc_ended": other.status.name,
        "cbc_seconds": process_seconds() - began,
    }


def measure_gaps(*, data: str, d: int, s: int, run: int, round: int) -> list[dict[str, Any]]:
    """The gap of each large component of one instance, and whether the first node proves it."""
    instance = recorded(data, d, s, last=ROUNDS[-1], run=run)[round]
    small = presolve(instance).instance
    label = components(small)
    bits = np.bincount(label, np.log2(small.sizes))
    rows = []
    for part in np.flatnonzero(np.exp2(bits) > ByComponents().tiny):
        one = component(small, label == part)
        annealed = ByComponents().otherwise.solve(one, seed=1)
        began = process_seconds()
        whole = relaxed(one, seed=1)
        seconds = process_seconds() - began
        best = max(annealed.value, -math.inf if whole.value is None else whole.value)
        row: dict[str, Any] = {
            "attributes": len(one.sizes),
            "terms": one.terms,
            "annealed": annealed.value,
            "rounded": "" if whole.value is None else whole.value,
            "relaxed": whole.bound,
            "gap": (whole.bound - best) / float(np.abs(one.weight).mean()),
            "relaxation_seconds": seconds,
        }
        if 0 < row["gap"] <= NEAR:
            began = process_seconds()
            found = Milp(nodes=1).solve(one, seed=1)
            row |= {"value": found.value, "bound": found.bound, "ended": found.status.name}
            row["node_seconds"] = process_seconds() - began
        rows.append(row)
    return rows or [{"attributes": 0}]


def _proved(rows: list[Row]) -> Claim:
    ended = [row["ended"] == Status.OPTIMAL.name for row in rows]
    missed = [row for row in rows if row["cbc_ended"] == "OPTIMAL" and row["ended"] != "OPTIMAL"]
    names = "; ".join(f"{row['data']} d={row['d']} round {row['round']}" for row in missed)
    return Claim(
        claim=f"What CBC proves in {TIMES} times the processor time is proved",
        measured=f"{sum(ended)} of {len(rows)} proved; CBC proves {len(missed)} others"
        + (f" ({names})" if names else ""),
        holds=not missed,
    )


def _never_worse(rows: list[Row]) -> Claim:
    worse = [row for row in rows if row["cbc"] and float(row["cbc"]) > float(row["value"])]
    names = "; ".join(
        f"{row['data']} d={row['d']} round {row['round']}: {row['cbc']} > {row['value']}"
        for row in worse
    )
    better = sum(not row["cbc"] or float(row["cbc"]) < float(row["value"]) for row in rows)
    return Claim(
        claim=f"The record is never worse than CBC's with {TIMES} times the processor time",
        measured=f"worse on {len(worse)} of {len(rows)}, better on {better}"
        + (f" ({names})" if names else ""),
        holds=not worse,
    )


def _short(row: Row) -> dict[str, Any]:
    names = ("data", "d", "s", "round", "value", "bound", "ended", "seconds")
    return {name: row[name] for name in (*names, "cbc", "cbc_ended", "cbc_seconds")}


def _choice(rows: list[Row]) -> list[str]:
    """A line for each range of gaps: how many components the first node proves, and its time."""
    parts = [row for row in rows if row.get("gap")]
    lines = []
    for low, high in ((-1, 0), (0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 6), (6, NEAR)):
        some = [row for row in parts if low < float(row["gap"]) <= high]
        settled = sum(not row.get("ended") for row in some)
        tried = [row for row in some if row.get("ended")]
        proved = sum(row["ended"] == "OPTIMAL" for row in tried)
        seconds = sorted(float(row["node_seconds"]) for row in tried)
        middle = f", {seconds[len(seconds) // 2]:.2f} s at the median" if seconds else ""
        lines.append(
            f"Gap from {low:g} to {high:g} mean weights: {len(some)} components, {settled} "
            f"settled by the relaxation, {proved} of {len(tried)} others by the first node{middle}."
        )
    return lines
