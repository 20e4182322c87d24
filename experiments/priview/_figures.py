"""Common parts of the six figures of Qardaji, Yang and Li, SIGMOD 2014.

A figure is a table of methods, each a function from a `Cell` (a table, a budget, k, a run, the
queries) to answers. The error of a query is averaged over the runs; the figure shows the
distribution over the queries (their section 5).
"""

import functools
import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import margin
from experiments.tools import plots, tables
from experiments.tools.pages import Claim, short
from experiments.tools.study import Key, Row, as_csv, good, seed_of
from margin import Domain, Marginal, PriView, PureDP, Simulation, datasets
from margin.datasets import Dataset
from margin.designs import covering_design
from margin.metrics import jensen_shannon
from margin.solvers import LatticeConsistency, Newton, Ripple

View = tuple[str, ...]
Table = NDArray[np.float64]
Shown = Mapping[str, Mapping[str, Table]]
"""By panel and candlestick, the errors of its queries."""

SIZES = (4, 6, 8)
RUNS, QUERIES = 5, 200
SLOW_RUNS = 3
"""The runs of the published solver, which takes up to seconds for a query."""
_KOSARAK_ROWS = 912_627
"""The rows of Kosarak in the paper."""

_PUBLISHED = {"kosarak": datasets.kosarak, "msnbc": datasets.msnbc}
_STAND_INS = {"kosarak": tables.generated_kosarak, "msnbc": tables.generated_msnbc}


@functools.cache
def table(name: str) -> Dataset:
    """A table by its name in a study: "kosarak", "msnbc", "aol" (a stand-in), "mchain-3", or
    "clicks-12" for smoke runs. "kosarak, generated" stands for Kosarak where its file is missing.
    """
    if name in _PUBLISHED:
        return _PUBLISHED[name](download=False)
    if name.endswith(tables.GENERATED):
        return _STAND_INS[tables.published(name)]()
    kind, _, number = name.partition("-")
    if kind == "aol":
        return datasets.click_stream()
    if kind == "mchain":
        return datasets.markov_chain(int(number), rows=1_000_000)
    if kind == "chain":
        return datasets.markov_chain(int(number), attributes=16, rows=5_000)
    return tables.clicks(int(number), 5_000)


def recorded(name: str) -> str:
    """The name under which a table is recorded: another one if it is generated because the file of
    the published table is missing.
    """
    return tables.recorded(name, _PUBLISHED[name]) if name in _PUBLISHED else name


def described(name: str) -> str:
    """A description of a table for readers: name, number of rows and origin."""
    found = table(name)
    text = f"{found.name}: {found.rows:,} rows, {len(found.domain)} attributes ({found.note})"
    if name.endswith(tables.GENERATED):
        text += f", a GENERATED table instead of {tables.published(name)}"
    if tables.published(name) == "kosarak" and found.rows < _KOSARAK_ROWS:
        text += (
            f". It has {_KOSARAK_ROWS / found.rows:.2f} times fewer rows than the paper's, so "
            "every epsilon is "
            "multiplied by that: N times epsilon, and with it the noise relative to the "
            "counts, is the paper's"
        )
    return text


def share(name: str, epsilon: str) -> Fraction:
    """The epsilon that we spend where the paper spends `epsilon`; see `described`."""
    rows = table(name).rows
    is_part = tables.published(name) == "kosarak" and rows < _KOSARAK_ROWS
    return Fraction(epsilon) * (Fraction(_KOSARAK_ROWS, rows) if is_part else 1)


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One setting of a study: a table, a budget, queries of one size, and a run."""

    name: str
    epsilon: str
    k: int
    run: int
    queries: int
    consecutive: bool = False

    @property
    def table(self) -> Dataset:
        """The rows and the domain."""
        return table(self.name)

    @property
    def asked(self) -> tuple[View, ...]:
        """The queries: random sets of k attributes, all of them where there are no more, or windows
        of the sequence."""
        return asked(self.table.domain, self.k, self.queries, self.consecutive)

    @property
    def truths(self) -> list[Table]:
        """The true tables of the queries."""
        return _truths(self.name, self.k, self.queries, self.consecutive)

    @property
    def seed(self) -> int:
        """The random seed.

        It is equal for all methods and sizes, so that equal measurements get equal noise.
        """
        return seed_of(self.name, self.epsilon, self.run)

    def simulate(
        self,
        mechanism: Any,
        *,
        share_of_budget: Fraction | int = 1,
        workload: tuple[View, ...] | None = None,
    ) -> Simulation[Any]:
        """The synopsis of a mechanism, with the budget of the cell or a share of it."""
        return _simulated(
            self.name,
            share(self.name, self.epsilon) * share_of_budget,
            mechanism,
            workload,
            self.seed,
        )

    def answers(self, mechanism: Any, **options: Any) -> list[Table]:
        """The mechanism's answers to the queries."""
        return counts_of(self.simulate(mechanism, **options).marginals(self.asked))


Method = Callable[[Cell], Sequence[Table]]


def measure(methods: Mapping[str, Method], method: str, cell: Cell) -> list[dict[str, Any]]:
    """One row for each query: its number, L2 / N and the Jensen-Shannon divergence in nats, to nine
    digits.
    """
    rows = []
    for place, (answer, truth) in enumerate(zip(methods[method](cell), cell.truths, strict=False)):
        l2 = np.linalg.norm(answer - truth) / truth.sum()
        rows.append(
            {
                "query": place,
                "l2": f"{l2:.8e}",
                "js": f"{jensen_shannon(answer, truth):.8e}",
            },
        )
    return rows


def counts_of(marginals: Sequence[Marginal]) -> list[Table]:
    """The counts of several marginals."""
    return [marginal.counts for marginal in marginals]


@functools.cache
def asked(domain: Domain, k: int, count: int, consecutive: bool = False) -> tuple[View, ...]:
    """Queries of k attributes, the same for the same arguments.

    A smaller `count` gives the first of the queries.
    """
    names = domain.attributes
    if consecutive:
        return tuple(names[start : start + k] for start in range(len(names) - k + 1))
    if math.comb(len(names), k) <= count:
        return tuple(itertools.combinations(names, k))
    return tuple(tables.queries(domain, k, count))


@functools.lru_cache(
    maxsize=1
)  # the sizes of a run are asked for one after the other, of the same synopsis
def _simulated(
    name: str, epsilon: Fraction, mechanism: Any, workload: tuple[View, ...] | None, seed: int
) -> Simulation[Any]:
    data, domain = table(name).data, table(name).domain
    budget = PureDP(epsilon)
    return margin.simulate(
        data, domain=domain, budget=budget, mechanism=mechanism, workload=workload, seed=seed
    )


@functools.cache
def _truths(name: str, k: int, queries: int, consecutive: bool) -> list[Table]:
    data, domain = table(name).data, table(name).domain
    views = asked(domain, k, queries, consecutive)
    one = PriView(views=[domain.attributes[:1]])
    return counts_of(
        margin.simulate(data, domain=domain, budget=PureDP(1), mechanism=one, seed=0).truths(views)
    )


@functools.cache
def views(domain: Domain, block: int, t: int) -> tuple[View, ...]:
    """Views of a covering design: every t attributes within one of `block`."""
    blocks = covering_design(len(domain), block, t).blocks
    return tuple(tuple(domain.attributes[axis] for axis in block) for block in blocks)


def design_name(domain: Domain, block: int, t: int) -> str:
    """C_t(block, number of views), as in the paper."""
    return f"C{t}({block},{len(views(domain, block, t))})"


def heading(name: str, k: int, *, block: int, t: int) -> str:
    """The heading of a panel: the table, the design of its views, and k."""
    design = design_name(table(name).domain, block, t)
    return f"{table(name).name} {design}, k = {k}"


def uniform(cell: Cell) -> list[Table]:
    """Answers with equal cells and the true number of rows."""
    return [np.full(truth.shape, truth.sum() / truth.size) for truth in cell.truths]


def exact(cell: Cell, mechanism: Any, workload: tuple[View, ...] | None = None) -> list[Table]:
    """The answers without noise, obtained with a very large epsilon."""
    return counts_of(
        _simulated(cell.name, Fraction(10**6), mechanism, workload, 0).marginals(cell.asked)
    )


def lattice(views: Sequence[View], **options: Any) -> PriView:
    """The published consistency and ripple with answers by Newton, that is, without the slow
    solver.
    """
    steps = {
        "consistency": LatticeConsistency(),
        "nonnegativity": Ripple(),
        "reconstruction": Newton(bars=False),
    }
    return PriView(views=views, **steps | options)


def ours(views: Sequence[View], **options: Any) -> PriView:
    """Our default on given views, without error bars, because the figures do not show them."""
    return PriView(views=views, **{"reconstruction": Newton(bars=False)} | options)


def averages(rows: Sequence[Row], measure: str = "l2", **chosen: Any) -> NDArray[np.float64]:
    """The error of each query, averaged over the runs of the matching rows; shape (queries,)."""
    wanted = {name: str(value) for name, value in chosen.items()}
    errors: dict[str, list[float]] = {}
    for row in good(rows):
        if all(row[name] == value for name, value in wanted.items()):
            errors.setdefault(row["query"], []).append(float(row[measure]))
    return np.array([np.mean(some) for some in errors.values()])


def panels(
    rows: Sequence[Row],
    groups: Mapping[str, Mapping[str, Any]],
    methods: Sequence[str],
    measure: str = "l2",
) -> Shown:
    """Candlesticks by panel and method, if there are rows for them.

    A group names a panel and selects its rows.
    """
    found = {
        heading: {method: averages(rows, measure, method=method, **chosen) for method in methods}
        for heading, chosen in groups.items()
    }
    return {heading: {m: v for m, v in some.items() if v.size} for heading, some in found.items()}


def keys(
    names: Sequence[str],
    methods: Sequence[str],
    *,
    epsilons: Sequence[str] = ("1",),
    sizes: Sequence[int] = SIZES,
    effort: Callable[[str, int], tuple[int, int]] = lambda method, k: (RUNS, QUERIES),
) -> list[Key]:
    """The keys of a study, one for each method, budget, size and run.

    `effort` gives the numbers of runs and queries for a method and k. A method with fewer queries
    gets the first queries of the others. The first run of everything comes first, so that a study
    that is broken off has all methods.
    """
    most = max(effort(method, k)[0] for method in methods for k in sizes)
    return [
        {
            "table": name,
            "method": method,
            "epsilon": epsilon,
            "k": k,
            "run": run,
            "queries": effort(method, k)[1],
        }
        for run in range(most)
        for name in names
        for method in methods
        for epsilon in epsilons
        for k in sizes
        if run < effort(method, k)[0]
    ]


def ratios(shown: Shown, worse: str, better: str) -> list[float]:
    """The mean error of one method divided by that of another, for each panel that shows both."""
    pairs = [
        (some[worse].mean(), some[better].mean())
        for some in shown.values()
        if worse in some and better in some
    ]
    return [float(left / right) if right else math.inf for left, right in pairs]


def compared(
    claim: str, shown: Shown, worse: str, better: str, *, least: float = 1.0, why: str = ""
) -> Claim:
    """The claim that a method has at least `least` times the mean error of another in every panel.

    `why` is said where it does not hold.
    """
    found = ratios(shown, worse, better)
    holds = all(ratio >= least for ratio in found) if found else None
    return Claim(
        claim=claim,
        measured=between(f"error of {worse} / {better}", found),
        detail=each(f"error of {worse} / {better}", found),
        holds=holds,
        why="" if holds else why,
    )


def judged(found: Iterable[bool]) -> bool | None:
    """Whether all of some judgements are true; None if there are none."""
    every = list(found)
    return all(every) if every else None


def between(what: str, found: Sequence[float]) -> str:
    """The smallest and the largest of some ratios, as a text; all of them up to three."""
    if len(found) < 4:
        return each(what, found)
    low, high = short(min(found)), short(max(found))
    span = low if low == high else f"{low} to {high}"
    return f"{what}: {span} in {len(found)} panels"


def each(what: str, found: Sequence[float]) -> str:
    """All of some ratios as a text, in the order of the panels."""
    return f"{what}: " + (", ".join(map(short, found)) or "not run")


def paired(
    rows: Sequence[Row],
    groups: Mapping[str, Mapping[str, Any]],
    left: str,
    right: str,
    measure: str = "l2",
) -> Shown:
    """The errors of two methods by panel, on the queries and runs that both have, with the same
    noise.
    """
    shown = {}
    for heading, chosen in groups.items():
        wanted = {name: str(value) for name, value in chosen.items()}
        some = [
            row for row in good(rows) if all(row[name] == value for name, value in wanted.items())
        ]
        errors = {
            method: {
                (row["query"], row["run"]): float(row[measure])
                for row in some
                if row["method"] == method
            }
            for method in (left, right)
        }
        common = sorted(errors[left].keys() & errors[right].keys())
        if common:
            shown[heading] = {
                method: np.array([errors[method][place] for place in common]) for method in errors
            }
    return shown


def numbers(shown: Shown) -> list[dict[str, Any]]:
    """The candlesticks as rows of percentiles and mean."""
    return [
        {"panel": heading, "method": method, "queries": len(values), "mean": values.mean()}
        | dict(
            zip(
                ("25 %", "50 %", "75 %", "95 %"),
                np.percentile(values, [25, 50, 75, 95]),
                strict=True,
            )
        )
        for heading, some in shown.items()
        for method, values in some.items()
        if values.size
    ]


def draw(
    out: Path,
    name: str,
    shown: Shown,
    *,
    xlabel: str,
    title: str,
    **options: Any,
) -> list[Path]:
    """Draw candlesticks, and write their numbers to out/name.csv.

    Panels with few of the methods are left out, as where a study was broken off.
    """
    most = max(map(len, shown.values()), default=0)
    shown = {heading: some for heading, some in shown.items() if 2 * len(some) > most}
    listed = numbers(shown)
    (out / f"{name}.csv").write_text(
        as_csv(list(listed[0]), listed, heading=True) if listed else ""
    )
    return plots.candlesticks(
        out / name, shown, xlabel=xlabel, title=title, **{"floor": 1e-6} | options
    )
