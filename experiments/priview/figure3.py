"""Figure 3 of PriView: what reconstructs a marginal that no view covers, from the same views."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from experiments.priview._figures import (
    QUERIES,
    RUNS,
    SIZES,
    SLOW_RUNS,
    Cell,
    Method,
    Shown,
    Table,
    between,
    compared,
    described,
    draw,
    each,
    exact,
    heading,
    keys,
    lattice,
    measure,
    numbers,
    ours,
    paired,
    panels,
    recorded,
    views,
)
from experiments.priview._printed import least_norm, linear_programme
from experiments.tools.pages import Claim, page
from experiments.tools.study import bad, sweep
from experiments.tools.tables import published
from margin import PriView
from margin.solvers import Ladder, LeastSquares, MinimaxLP, Problem, ResidualConsistency, Tables

DESIGNS = {"kosarak": (8, 3), "aol": (8, 2), "clicks-12": (6, 2)}


def _as_they_are(tables: Tables) -> Tables:
    return tables


def _linear_programme(cell: Cell) -> list[Table]:
    """LP by our solver: the table of the best total with the smallest maximal difference from the
    noisy views, which are not consistent, each divided by its own total.
    """
    tables = cell.simulate(_raw(cell)).synopsis.held
    total = ResidualConsistency()(tables).total
    domain, solver = cell.table.domain, MinimaxLP(solver="HIGHS")
    answers = []
    for view in cell.asked:
        solution = solver.answer(Problem.observed(tables, domain.axes(view)))
        answers.append(solution.table / solution.table.sum() * total)
    return answers


def _printed(
    cell: Cell,
    mechanism: PriView,
    reconstructed: Callable[[Tables, Sequence[int]], Table],
) -> list[Table]:
    """The answers of a reconstruction as printed, from the views of a mechanism."""
    domain = cell.table.domain
    tables = cell.simulate(mechanism).synopsis.held
    return [reconstructed(tables, domain.axes(view)) for view in cell.asked]


def _raw(cell: Cell) -> PriView:
    return PriView(views=_views(cell), consistency=_as_they_are, nonnegativity=None)


def _views(cell: Cell) -> Any:
    return views(cell.table.domain, *DESIGNS[published(cell.name)])


METHODS: Mapping[str, Method] = {
    "LP": _linear_programme,
    "LP (printed)": lambda cell: _printed(cell, _raw(cell), linear_programme),
    "CLP (printed)": lambda cell: _printed(cell, lattice(_views(cell)), linear_programme),
    "CLN (printed)": lambda cell: _printed(cell, lattice(_views(cell)), least_norm),
    "CLP": lambda cell: cell.answers(
        lattice(_views(cell), reconstruction=MinimaxLP(solver="HIGHS"))
    ),
    "CLN": lambda cell: cell.answers(
        lattice(_views(cell), reconstruction=LeastSquares(solver="SCIPY"))
    ),
    "CME (published)": lambda cell: cell.answers(lattice(_views(cell), reconstruction=Ladder())),
    "CME (Newton)": lambda cell: cell.answers(lattice(_views(cell))),
    "ours": lambda cell: cell.answers(ours(_views(cell))),
    "CME*": lambda cell: exact(cell, ours(_views(cell))),
}


def work(
    table: str, method: str, epsilon: str, k: int, run: int, queries: int
) -> list[dict[str, Any]]:
    """The errors of a method for each query."""
    return measure(
        METHODS, method, Cell(name=table, epsilon=epsilon, k=k, run=run, queries=queries)
    )


def run(smoke: bool, out: Path) -> str:
    """Candlesticks of L2 / N by solver, epsilon 1."""
    names, sizes, runs, queries = (
        (["clicks-12"], (4,), 1, 4)
        if smoke
        else ([recorded("kosarak"), "aol"], SIZES, RUNS, QUERIES)
    )

    def effort(method: str, k: int) -> tuple[int, int]:
        """One run of a method without noise; fewer runs and queries of one that takes up to
        seconds per query.
        """
        if method in ("LP", "CLP", "LP (printed)", "CLP (printed)", "CME (published)"):
            fewer = min(queries, 25 if method == "CME (published)" and k == 8 else 100)
            return min(runs, SLOW_RUNS), fewer
        return (1 if method == "CME*" else runs), queries

    asked = keys(names, list(METHODS), sizes=sizes, effort=effort)
    rows = sweep(out / "rows.csv", work, asked)
    groups = {}
    for name in names:
        block, t = DESIGNS[published(name)]
        for k in sizes:
            groups[heading(name, k, block=block, t=t)] = {"table": name, "k": k}
    shown = panels(rows, groups, list(METHODS))
    title = "Reconstruction, epsilon = 1"
    pictures = draw(out, "figure3", shown, xlabel="L2 error / N", title=title, columns=len(sizes))
    return page(
        out / "figure3.md",
        title="Figure 3: reconstruction",
        about="LP: the linear programme on noisy views that do not agree; CLP: on the "
        "consistent ones; CLN: least "
        "squares; (printed): the programmes of section 4.3 to the letter, where the total is free; "
        "CME: maximum entropy, by the published solver and by Newton; all four on the "
        "published synopsis "
        "(lattice consistency, ripple). Ours: our consistency and projection, Newton. CME*: "
        "without noise. "
        f"{queries} random sets, {runs} runs (LP, CLP and the published solver: "
        f"{min(runs, SLOW_RUNS)} runs, {min(queries, 100)} sets, of the last "
        f"{min(queries, 25)} at k = 8), "
        "epsilon 1. " + "; ".join(map(described, names)) + ".",
        claims=claims(shown, paired(rows, groups, "CME (published)", "ours")),
        pictures=pictures,
        rows=numbers(shown),
        notes=bad(rows),
    )


def claims(shown: Shown, beside: Shown) -> list[Claim]:
    """The paper's claims of section 5.3, over all panels."""
    best = [
        compared(f"maximum entropy beats {name}", shown, name, "CME (Newton)")
        for name in ("LP", "CLP", "CLN", "LP (printed)", "CLP (printed)", "CLN (printed)")
    ]
    published = [
        compared(
            f"so does the published solver for maximum entropy: {name}",
            shown,
            name,
            "CME (published)",
        )
        for name in ("LP", "CLP", "CLN")
    ]
    worst = (
        "LP picks a vertex of its optimal set, and the solver decides which one: if the noise is "
        "small beside what the views leave open, consistency does not decide the error"
    )
    left = [
        float(np.mean(some["CME*"]) / np.mean(some["CME (Newton)"]))
        for some in shown.values()
        if "CME*" in some
    ]
    return [
        *best,
        *published,
        compared(
            "consistency before the linear programme lowers its error",
            shown,
            "LP",
            "CLP",
            why=worst,
        ),
        compared(
            "so does it for the programme as printed",
            shown,
            "LP (printed)",
            "CLP (printed)",
            why=worst,
        ),
        compared(
            "ours is not worse than published maximum entropy (our claim)",
            beside,
            "CME (published)",
            "ours",
            least=0.98,
        ),
        Claim(
            claim="noise, not reconstruction, is what is left to gain where CME* is far below CME",
            measured=between("CME* / CME (Newton)", left),
            detail=each("CME* / CME (Newton)", left),
            holds=None,
            why="a reading, not a claim of the paper",
        ),
    ]
