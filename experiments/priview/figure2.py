"""Figure 2 of PriView: comparison with Direct, Fourier and Flat on many attributes."""

import itertools
import math
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

import margin
from experiments.priview._figures import (
    QUERIES,
    RUNS,
    SIZES,
    SLOW_RUNS,
    Cell,
    Method,
    Shown,
    Table,
    compared,
    described,
    draw,
    exact,
    judged,
    keys,
    lattice,
    measure,
    numbers,
    ours,
    paired,
    panels,
    recorded,
    share,
    table,
    uniform,
    views,
)
from experiments.tools.pages import Claim, page
from experiments.tools.study import Row, bad, sweep
from experiments.tools.tables import published
from margin import PriView
from margin.solvers import Ladder, Newton, Simplex, Tables

BLOCK = {"kosarak": 8, "aol": 8, "clicks-12": 6}


def _direct(cell: Cell) -> list[Table]:
    """The requested marginals, with the noise that the release of all marginals would have.

    If a fraction of the marginals is released for the same fraction of the budget, each of them
    gets the noise that it would get if all were released for the whole budget.
    """
    part = Fraction(len(cell.asked), math.comb(len(cell.table.domain), cell.k))
    return cell.answers(margin.mechanisms.Direct(), share_of_budget=part, workload=cell.asked)


def _one_total(cell: Cell) -> list[Table]:
    """Direct, made stronger than published: all its tables agree on the number of rows.

    This number is the average over all tables. Only the requested tables exist here, so the average
    over all is drawn from its distribution, which is nearly normal.
    """
    every = math.comb(len(cell.table.domain), cell.k)
    part = Fraction(len(cell.asked), every)
    raw = cell.simulate(
        margin.mechanisms.Direct(nonnegativity=None), share_of_budget=part, workload=cell.asked
    )
    marginals = raw.marginals(cell.asked)
    spread = math.sqrt(marginals[0].variance.sum() / every)
    total = cell.truths[0].sum() + spread * np.random.default_rng(cell.seed).normal()
    return [
        _simplex(marginal.counts + (total - marginal.total) / marginal.counts.size)
        for marginal in marginals
    ]


def _simplex(counts: Table) -> Table:
    one = Tables(
        sizes=counts.shape, views=(tuple(range(counts.ndim)),), values=(counts,), variances=(1.0,)
    )
    return Simplex()(one).values[0]


def _fourier(cell: Cell) -> list[Table]:
    """The requested coefficients, with the noise that all coefficients of at most k would have.

    See `_direct`.
    """
    released = {
        part
        for view in cell.asked
        for size in range(cell.k + 1)
        for part in itertools.combinations(sorted(view), size)
    }
    every = sum(math.comb(len(cell.table.domain), size) for size in range(cell.k + 1))
    part = Fraction(len(released), every)
    return cell.answers(margin.mechanisms.Fourier(), share_of_budget=part, workload=cell.asked)


def _views(cell: Cell, t: int) -> Any:
    return views(cell.table.domain, BLOCK[published(cell.name)], t)


METHODS: Mapping[str, Method] = {
    "Uniform": uniform,
    "Direct": _direct,
    "Direct, one total": _one_total,
    "Fourier": _fourier,
    "C2 published": lambda cell: cell.answers(lattice(_views(cell, 2), reconstruction=Ladder())),
    "C3 published": lambda cell: cell.answers(lattice(_views(cell, 3), reconstruction=Ladder())),
    "C2 ours": lambda cell: cell.answers(ours(_views(cell, 2))),
    "C3 ours": lambda cell: cell.answers(ours(_views(cell, 3))),
    "our views": lambda cell: cell.answers(PriView(reconstruction=Newton(bars=False))),
    "C2*": lambda cell: exact(cell, ours(_views(cell, 2))),
    "C3*": lambda cell: exact(cell, ours(_views(cell, 3))),
}


def work(
    table: str, method: str, epsilon: str, k: int, run: int, queries: int
) -> list[dict[str, Any]]:
    """The errors of a method for each query."""
    return measure(
        METHODS, method, Cell(name=table, epsilon=epsilon, k=k, run=run, queries=queries)
    )


def flat(name: str, epsilon: str) -> float:
    """The expected L2 / N of Flat, equation (3), capped at 1 as in the paper."""
    found = table(name)
    variance = 2 / float(share(name, epsilon)) ** 2
    return min(1.0, math.sqrt(2.0 ** len(found.domain) * variance) / found.rows)


def run(smoke: bool, out: Path) -> str:
    """Candlesticks of L2 / N and of the Jensen-Shannon divergence by method."""
    names, epsilons, sizes, runs, queries = (
        (["clicks-12"], ("1",), (4,), 1, 4)
        if smoke
        else ([recorded("kosarak"), "aol"], ("1", "0.1"), SIZES, RUNS, QUERIES)
    )

    def effort(method: str, k: int) -> tuple[int, int]:
        return _effort(method, k, runs, queries)

    # Left out for their time: the published method on 330 views of 45 attributes, and its solver on
    # C3 at k = 8.
    asked = [
        key
        for key in keys(names, list(METHODS), epsilons=epsilons, sizes=sizes, effort=effort)
        if key["method"] != "C3 published" or (key["table"] != "aol" and key["k"] < 8)
    ]
    rows = sweep(out / "rows.csv", work, asked)
    groups = {
        f"{table(name).name}, epsilon = {epsilon}, k = {k}": {
            "table": name,
            "epsilon": epsilon,
            "k": k,
        }
        for name in names
        for epsilon in epsilons
        for k in sizes
    }
    shown = {error: panels(rows, groups, list(METHODS), error) for error in ("l2", "js")}
    listed = numbers(shown["l2"])
    listed += [{**row, "panel": row["panel"] + ", JS"} for row in numbers(shown["js"])]
    return page(
        out / "figure2.md",
        title="Figure 2: many attributes",
        about=_about(names, runs, queries),
        claims=[*claims(shown), *_own_claims(rows, groups)],
        pictures=_pictures(out, shown, groups, len(sizes)),
        rows=listed,
        notes=bad(rows),
    )


def _effort(method: str, k: int, runs: int, queries: int) -> tuple[int, int]:
    """Numbers of runs and of queries of a method.

    A method without randomness gets one run. A method that takes seconds per query gets fewer runs
    and fewer queries.
    """
    if "published" in method:
        return min(runs, SLOW_RUNS), min(queries, 200 if k < 8 and "C2" in method else 50)
    if method == "Uniform" or "*" in method or (method == "Fourier" and k == 8):
        return 1, queries
    return runs, queries


def _pictures(
    out: Path, shown: dict[str, Shown], groups: Mapping[str, Mapping[str, Any]], columns: int
) -> list[Path]:
    stars = {
        heading: {"Flat": flat(chosen["table"], chosen["epsilon"])}
        for heading, chosen in groups.items()
    }
    title = "PriView against Direct and Fourier"
    pictures = draw(
        out,
        "figure2-l2",
        shown["l2"],
        xlabel="L2 error / N",
        title=title,
        columns=columns,
        marks=stars,
        mark_label="expected",
        floor=1e-5,
    )
    return pictures + draw(
        out,
        "figure2-js",
        shown["js"],
        xlabel="Jensen-Shannon divergence",
        title=title,
        columns=columns,
        floor=1e-8,
    )


def _own_claims(rows: list[Row], groups: Any) -> list[Claim]:
    """Our claims: on the same views our method is not worse than the published one."""
    found = []
    for error, design in itertools.product(("l2", "js"), ("C2", "C3")):
        published, own = f"{design} published", f"{design} ours"
        pairs = paired(rows, groups, published, own, error)
        claim = f"ours is not worse than published on {design}, {error} (our claim)"
        found.append(compared(claim, pairs, published, own, least=0.98))
    return found


def _about(names: list[str], runs: int, queries: int) -> str:
    parts = []
    for name in names:
        pairs, triples = (len(views(table(name).domain, BLOCK[published(name)], t)) for t in (2, 3))
        parts.append(f"{described(name)}, C2 of {pairs} and C3 of {triples} views")
    return (
        "Ct: PriView on a covering design of blocks of 8 that covers every t attributes, as "
        "published (lattice consistency, ripple, relaxed maximum entropy) and ours (our "
        "consistency, projection and solver); Ct*: without noise; our views: those our default "
        "chooses. Direct and Fourier release all marginals of k attributes; only those asked for "
        "are computed, with the noise that all would get; negative cells are removed and the "
        "difference spread evenly, as in the paper. With one total, which the paper has not, the "
        "tables of Direct agree on the number of rows. Flat is its expected error, capped at 1. "
        f"{queries} random sets, {runs} runs (one run of Fourier at k = 8; published: "
        f"{min(runs, SLOW_RUNS)} runs, {min(queries, 50)} "
        "sets at k = 8 and of C3, which is left out at k = 8 and on the stand-in for AOL for its "
        f"time). {'; '.join(parts)}."
    )


def claims(shown: dict[str, Shown]) -> list[Claim]:
    """The paper's claims of section 5.2."""
    l2, js = shown["l2"], shown["js"]
    large = {
        heading: some
        for heading, some in l2.items()
        if "Kosarak" in heading and not heading.endswith("k = 4")
    }
    listed = []
    for kind in ("published", "ours"):
        for rival in ("Direct", "Direct, one total", "Fourier"):
            better = f"PriView ({kind}, C2) is {{}} better than {rival}"
            claim = better.format("at least 10 times") + " on Kosarak at k = 6 and 8"
            listed.append(compared(claim, large, rival, f"C2 {kind}", least=10))
            claim = better.format("2 to 3 orders of magnitude") + " in all panels"
            listed.append(compared(claim, l2, rival, f"C2 {kind}", least=100))
    both = {h: some for h, some in l2.items() if "Direct" in some and "Uniform" in some}
    good = [h for h, some in both.items() if some["Direct"].mean() < some["Uniform"].mean()]
    only = [
        heading for heading in l2 if "Kosarak" in heading and heading.endswith("epsilon = 1, k = 4")
    ]
    listed.append(
        Claim(
            claim="Direct beats Uniform on Kosarak with epsilon 1 and k = 4 only",
            measured="Direct beats Uniform in: " + ("; ".join(good) or "no panel"),
            holds=good == only if both else None,
        )
    )
    alike = [_first(some) == _first(js[heading]) for heading, some in l2.items() if some]
    return [
        *listed,
        compared("Fourier is slightly better than Direct", l2, "Direct", "Fourier"),
        Claim(
            claim="L2 and Jensen-Shannon are similar: the order of Uniform, Direct, Fourier and "
            "PriView (C2, ours)",
            measured=f"the same in {sum(alike)} of {len(alike)} panels",
            holds=judged(alike),
        ),
    ]


def _first(some: Mapping[str, Table]) -> list[str]:
    """The names of the methods, the most accurate first."""
    methods = [name for name in ("Uniform", "Direct", "Fourier", "C2 ours") if name in some]
    return sorted(methods, key=lambda name: float(some[name].mean()))
