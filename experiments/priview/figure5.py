"""Figure 5 of PriView: Markov chains of orders 1 to 7, windows of consecutive bits."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from experiments.priview._figures import (
    RUNS,
    SIZES,
    SLOW_RUNS,
    Cell,
    Method,
    Shown,
    Table,
    averages,
    compared,
    described,
    design_name,
    draw,
    exact,
    judged,
    keys,
    lattice,
    measure,
    numbers,
    ours,
    paired,
    table,
    uniform,
    views,
)
from experiments.tools.pages import Claim, page
from experiments.tools.study import bad, sweep
from margin.solvers import Ladder


def _views(cell: Cell) -> Any:
    return views(cell.table.domain, 8, 2)


METHODS: Mapping[str, Method] = {
    "published": lambda cell: cell.answers(lattice(_views(cell), reconstruction=Ladder())),
    "ours": lambda cell: cell.answers(ours(_views(cell))),
    "no noise": lambda cell: exact(cell, ours(_views(cell))),
    "uniform": uniform,
}


def work(
    table: str, method: str, epsilon: str, k: int, run: int, queries: int
) -> list[dict[str, Any]]:
    """The errors of a method for each window."""
    cell = Cell(name=table, epsilon=epsilon, k=k, run=run, queries=queries, consecutive=True)
    return measure(METHODS, method, cell)


def run(smoke: bool, out: Path) -> str:
    """Candlesticks of L2 / N by order, epsilon 1."""
    kind, orders, sizes, runs = (
        ("chain", (1, 3), (4,), 1) if smoke else ("mchain", range(1, 8), SIZES, RUNS)
    )
    names = {f"{kind}-{order}": f"order {order}" for order in orders}

    def effort(method: str, k: int) -> tuple[int, int]:
        """One run of a method without noise, and fewer of a method with a slow solver."""
        return {"ours": runs, "published": min(runs, SLOW_RUNS)}.get(method, 1), 0

    asked = keys(list(names), list(METHODS), sizes=sizes, effort=effort)
    rows = sweep(out / "rows.csv", work, asked)
    shown = {
        f"{method}, k = {k}": {
            word: averages(rows, table=name, method=method, k=k) for name, word in names.items()
        }
        for method in METHODS
        for k in sizes
    }
    first = next(iter(names))
    design = design_name(table(first).domain, 8, 2)
    title = f"Markov chains, {design}, epsilon = 1"
    drawn = {heading: some for heading, some in shown.items() if not heading.startswith("uniform")}
    pictures = draw(
        out, "figure5", drawn, xlabel="L2 error / N", title=title, columns=len(sizes), floor=1e-4
    )
    groups = {
        f"{word}, k = {k}": {"table": name, "k": k} for k in sizes for name, word in names.items()
    }
    return page(
        out / "figure5.md",
        title="Figure 5: Markov chains",
        about=f"Views {design}, epsilon 1, {runs} runs, all windows of k consecutive bits; "
        "published: lattice "
        "consistency, ripple, the published solver "
        f"({min(runs, SLOW_RUNS)} runs); ours: our default on the "
        "same views. The "
        f"paper does not say how many rows it has; here {described(first)}, and the same for "
        "the other orders.",
        claims=claims(
            shown, list(names.values()), sizes, paired(rows, groups, "published", "ours")
        ),
        pictures=pictures,
        rows=numbers(shown),
        notes=bad(rows),
    )


def claims(shown: Shown, orders: list[str], sizes: Any, beside: Shown) -> list[Claim]:
    """The paper's claims of section 5.5, for the sizes whose orders have all been measured."""
    listed = []
    for method in ("published", "ours"):
        means = {k: _means(shown[f"{method}, k = {k}"], orders) for k in sizes}
        means = {k: some for k, some in means.items() if len(some) == len(orders)}
        worst = {k: max(some, key=lambda word, some=some: some[word]) for k, some in means.items()}
        details = [
            f"k = {k}: "
            + ", ".join(f"{some[word]:.4f}" for word in orders)
            + f", largest at {worst[k]}"
            for k, some in means.items()
        ]
        listed.append(
            Claim(
                claim=f"order 3 has the largest error ({method})",
                measured=", ".join(f"{word} at k = {k}" for k, word in worst.items()) or "not run",
                detail="; ".join(details),
                holds=judged(word == "order 3" for word in worst.values()),
            )
        )
        gains = {}
        for k, some in means.items():
            uniform_errors = shown[f"uniform, k = {k}"][orders[0]]
            if uniform_errors.size:
                gains[k] = float(uniform_errors.mean()) / some[orders[0]]
        listed.append(
            Claim(
                claim=f"quite accurate at all orders ({method}): an order of magnitude below "
                "uniform at order 1",
                measured=", ".join(f"k = {k}: {gain:.1f} times better" for k, gain in gains.items())
                or "not run",
                holds=judged(gain >= 10 for gain in gains.values()),
            )
        )
    claim = "ours is not worse than the published method (our claim)"
    return [*listed, compared(claim, beside, "published", "ours", least=0.98)]


def _means(some: Mapping[str, Table], orders: list[str]) -> dict[str, float]:
    """The mean error at each order that was measured."""
    return {word: float(some[word].mean()) for word in orders if some[word].size}
