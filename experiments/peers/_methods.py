"""The systems that `peers` compares.

Ours and simple ones run in this process, others in their own environments.
"""

import functools
import json
import math
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

import margin
from experiments.peers import _environments as environments
from experiments.peers._tables import Axes, Coded, queries, table
from experiments.peers.scripts.task import Table, Task
from margin import Domain, Marginal, MatrixMechanism, PriView, PureDP, Workload
from margin.mechanisms import Flat
from margin.mechanisms.strategies import OptimisedMarginals
from margin.solvers import Newton
from margin.synopses import ViewSynopsis

BUDGETS: dict[str, tuple[str, str]] = {
    "B1": ("pure", "1"),
    "B2": ("pure", "0.1"),
    "B3": ("zcdp", "0.011785"),
    "B4": ("zcdp", "0.11"),
}
"""Add or remove one row; B3 is about (1, 1e-9)."""

_MOST_VIEWS = 50_000
_MOST_CELLS = 20_000_000
"""Of a release that makes each table of its workload: those with more are not tried."""

Sizes = tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One setting: a table, a budget, sizes and number of queries, a seed, and a limit of CPU
    seconds.
    """

    name: str
    budget: str
    sizes: Sizes
    seed: int
    queries: int
    limit: float | None = None
    build: bool = True

    @functools.cached_property
    def table(self) -> Coded:
        found = table(self.name)
        if found is None:
            raise margin.FileError(
                f"the file of {self.name} is missing: set MARGIN_DATA to the folder that holds it"
            )
        return found

    @property
    def pure(self) -> bool:
        return BUDGETS[self.budget][0] == "pure"

    def spend(self, share: Fraction | int = 1) -> Any:
        """The budget of the cell, or a share of it."""
        kind, amount = BUDGETS[self.budget]
        return (PureDP if kind == "pure" else margin.ZCDP)(Fraction(amount) * share)

    def asked(self, k: int) -> list[Axes]:
        return queries(self.table.domain.sizes, k, self.queries)

    def workload(self, k: int) -> Workload:
        """All sets of k attributes, or some thousand random sets if there are too many to list."""
        names, domain = self.table.domain.attributes, self.table.domain
        if math.comb(len(names), k) <= _MOST_VIEWS:
            return Workload.all_kway(domain, k)
        rng = np.random.default_rng(k)
        drawn = {
            tuple(sorted(rng.choice(len(names), k, replace=False).tolist())) for _ in range(5_000)
        }
        return Workload.of(domain, [[names[axis] for axis in axes] for axes in sorted(drawn)])

    def public(self, **options: Any) -> dict[str, Any]:
        """The cell without its rows, in the form that scripts read."""
        return {
            "attributes": list(self.table.sizes),
            "sizes": list(self.table.sizes.values()),
            "pure": self.pure,
            "amount": float(Fraction(BUDGETS[self.budget][1])),
            "queries": {k: self.asked(k) for k in self.sizes},
            "seed": self.seed,
            "options": options,
            "limit": self.limit,
        }

    def write(self, folder: Path, **options: Any) -> None:
        """Write the cell to a folder for a script."""
        (folder / "task.json").write_text(json.dumps(self.public(**options)))
        np.save(folder / "rows.npy", self.table.rows.astype(np.int32))


Row = dict[str, Any]
"""k, error (mean L2 / N), release and answers (CPU seconds), note; without an error where there is
none to be had."""


@dataclass(frozen=True, kw_only=True)
class Mechanism:
    """A mechanism of `margin`, released anew for each size of query.

    Parameters
    ----------
    make
        The mechanism, for a cell and k.
    knows
        Whether it is told the workload. The others serve all queries with one release.
    """

    make: Callable[[Cell, int], Any]
    knows: bool = True

    def __call__(self, cell: Cell) -> Iterator[Row]:
        for k in cell.sizes:
            started = time.process_time()
            mechanism = self.make(cell, k)
            if isinstance(mechanism, str):
                yield {"k": k, "note": mechanism}
                continue
            workload = cell.workload(k) if self.knows else None
            made = _simulated(cell, mechanism, workload)
            yield {"k": k, "release": time.process_time() - started} | _scored(
                cell, k, made.marginals
            )


@dataclass(frozen=True, kw_only=True)
class Script:
    """A script of `scripts`, in one of `environments`. One release serves all queries.

    Parameters
    ----------
    options
        What the script is told, and from the cell whatever `more` gives.
    pure
        Whether it can be had under pure differential privacy.
    """

    script: str
    environment: str
    options: Mapping[str, Any] = field(default_factory=dict)
    more: Callable[[Cell], dict[str, Any]] = lambda cell: {}
    pure: bool = False

    def __call__(self, cell: Cell) -> Iterator[Row]:
        if cell.pure and not self.pure:
            yield from ({"k": k, "note": "not under pure differential privacy"} for k in cell.sizes)
            return
        python = environments.interpreter(self.environment, build=cell.build)
        if python is None:
            needs = ", ".join(environments.PINS[self.environment])
            yield from ({"k": k, "note": f"left out: needs {needs}"} for k in cell.sizes)
            return
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            cell.write(folder, **self.options, **self.more(cell))
            said = environments.ask(python, self.script, folder, limit=cell.limit)
            facts = ("rounds", "spent", "megabytes", "iterations", "refused")
            told = [f"{fact} {_short(said[fact])}" for fact in facts if fact in said]
            note = "; ".join([*told, *([said["ended"]] if "ended" in said else [])])
            held = folder / "views.npz"
            fitted = _fitted(cell, self.more(cell)["views"], held) if held.exists() else None
            for k in cell.sizes:
                row = {"k": k, "release": said.get("release", ""), "note": note}
                if fitted is not None:
                    yield row | _scored(cell, k, fitted.marginals)
                else:
                    yield row | {
                        "error": said.get(f"error {k}", ""),
                        "answers": said.get(f"answers {k}", ""),
                    }


def _simulated(
    cell: Cell, mechanism: Any, workload: Workload | None, share: Fraction | int = 1
) -> Any:
    made = margin.simulate(
        cell.table.data,
        domain=cell.table.domain,
        budget=cell.spend(share),
        mechanism=mechanism,
        workload=workload,
        seed=cell.seed,
    ).synopsis
    if isinstance(made, ViewSynopsis) and isinstance(made.reconstruction, Newton):
        return made.with_reconstruction(
            replace(made.reconstruction, bars=False)
        )  # the peers give no error bars
    return made


def _scored(cell: Cell, k: int, marginals: Callable[[list[list[str]]], Iterable[Marginal]]) -> Row:
    """The mean error, and the CPU seconds of all answers together."""
    names, asked, rows = list(cell.table.sizes), cell.asked(k), len(cell.table.rows)
    started = time.process_time()
    answers = marginals([[names[axis] for axis in axes] for axes in asked])
    spent = time.process_time() - started
    pairs = zip(answers, _truths(cell.name, k, cell.queries), strict=True)
    errors = [np.linalg.norm(answer.counts - truth) / rows for answer, truth in pairs]
    return {"error": float(np.mean(errors)), "answers": spent}


@functools.lru_cache(maxsize=3)
def _truths(name: str, k: int, count: int) -> list[Table]:
    """The true tables of the queries over k attributes, against which all methods are scored."""
    cell = Cell(name=name, budget="B1", sizes=(k,), seed=0, queries=count)
    task = Task.of(cell.public(), cell.table.rows, Path())
    return [task.counts(axes) for axes in cell.asked(k)]


def _fitted(cell: Cell, views: list[Axes], held: Path) -> ViewSynopsis:
    """A synopsis of the tables that mbi fitted; our Newton answers sets that they do not cover."""
    names, domain = list(cell.table.sizes), cell.table.domain
    with np.load(held) as arrays:
        tables = [arrays[f"arr_{place}"] for place in range(len(views))]
        deviations = arrays["deviations"]
    measured = [
        _marginal(domain, table, float(deviation) ** 2, [names[axis] for axis in view])
        for view, table, deviation in zip(views, tables, deviations, strict=True)
    ]
    patient = Newton(
        bars=False, tolerance=1e-6, iterations=1_000
    )  # a millionth of the rows, whatever tables are like
    return ViewSynopsis.of(domain, measured, reconstruction=patient)


def _marginal(domain: Domain, counts: Table, variance: float, names: list[str]) -> Marginal:
    return Marginal(domain, counts, np.full(counts.shape, variance), attributes=tuple(names))


def _short(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


# Ours.


def _views(cell: Cell) -> dict[str, Any]:
    """The views that our default chooses, which cover all pairs."""
    domain = cell.table.domain
    planned = PriView().planned(domain, None, cell.spend())
    return {"views": [domain.axes(view) for view in planned.views or ()]}


def _direct(cell: Cell) -> Iterator[Row]:
    """Direct: the budget is split over all tables of k attributes, but only the requested tables
    are drawn.
    """
    domain = cell.table.domain
    names = domain.attributes
    for k in cell.sizes:
        asked = sorted(set(cell.asked(k)))
        if sum(math.prod(domain.sizes[axis] for axis in axes) for axes in asked) > _MOST_CELLS:
            yield {"k": k, "note": "left out: too many cells"}
            continue
        started = time.process_time()
        workload = Workload.of(domain, [[names[axis] for axis in axes] for axes in asked])
        share = Fraction(len(asked), math.comb(len(names), k))
        made = _simulated(cell, margin.mechanisms.Direct(), workload, share)
        yield {"k": k, "release": time.process_time() - started} | _scored(cell, k, made.marginals)


def _flat(cell: Cell, k: int) -> Any:
    cells = math.prod(cell.table.domain.sizes)
    return Flat() if cells <= _MOST_CELLS else f"left out: {float(cells):.2g} cells"


def _independent(cell: Cell, k: int) -> Any:
    return PriView(views=[[name] for name in cell.table.sizes])


def _residual(order: int) -> Any:
    """`Residual`, with answers over the requested attributes alone."""
    return margin.Residual(order=order, reconstruction=Newton())


def _residual_planner(cell: Cell, k: int) -> Any:
    """ResidualPlanner, implemented anew from the paper because its code is under the GPL: raw
    answers to one workload.
    """
    domain = cell.table.domain
    if cell.pure:
        return "not under pure differential privacy"
    views = math.comb(len(domain), k)
    mean = float(
        np.mean([math.prod(domain.sizes[axis] for axis in axes) for axes in cell.asked(k)])
    )
    if views > _MOST_VIEWS or views * mean > _MOST_CELLS:
        return f"left out: {views:,} tables of {mean:.3g} cells"
    return MatrixMechanism(strategy=OptimisedMarginals(), nonnegativity=None)


OURS: dict[str, Callable[[Cell], Iterable[Row]]] = {
    "PriView": Mechanism(make=lambda cell, k: PriView(reconstruction=Newton()), knows=False),
    "PriView (paper)": Mechanism(make=lambda cell, k: PriView.paper(), knows=False),
    "Residual": Mechanism(make=lambda cell, k: margin.Residual(order=2, reconstruction=Newton())),
    "Residual (3)": Mechanism(
        make=lambda cell, k: margin.Residual(order=3, reconstruction=Newton())
    ),
    "Auto": Mechanism(make=lambda cell, k: margin.Auto()),
    "Adaptive": Mechanism(make=lambda cell, k: margin.Adaptive()),
}
SIMPLE: dict[str, Callable[[Cell], Iterable[Row]]] = {
    "Independent": Mechanism(make=_independent, knows=False),
    "Direct": _direct,
    "Flat": Mechanism(make=_flat, knows=False),
    "ResidualPlanner": Mechanism(make=_residual_planner),
}
PEERS: dict[str, Callable[[Cell], Iterable[Row]]] = {
    "AIM": Script(
        script="aim", environment="mbi", options={"ways": 3, "rounds": 16, "megabytes": 80}
    ),
    "AIM (2d)": Script(
        script="aim", environment="mbi", options={"ways": 3, "rounds": 2, "megabytes": 80}
    ),
    "MST": Script(script="mst", environment="mbi"),
    "MWEM+PGM": Script(
        script="mwem_pgm", environment="mbi", options={"ways": 2, "megabytes": 25}, pure=True
    ),
    "MWEM+PGM (3)": Script(
        script="mwem_pgm", environment="mbi", options={"ways": 3, "megabytes": 25}, pure=True
    ),
    "mbi exact": Script(
        script="views",
        environment="mbi",
        options={"approximate": False, "megabytes": 1_000, "iterations": 10_000},
        more=_views,
        pure=True,
    ),
    "mbi approximate": Script(
        script="views",
        environment="mbi",
        options={"approximate": True, "iterations": 10_000},
        more=_views,
        pure=True,
    ),
    "OpenDP AIM": Script(
        script="opendp_tables",
        environment="opendp",
        options={"algorithm": "AIM", "oneway": 1 / 16},
        pure=True,
    ),
    "OpenDP AIM (2d)": Script(
        script="opendp_tables",
        environment="opendp",
        options={"algorithm": "AIM", "oneway": 1 / 16, "rounds": 2},
        pure=True,
    ),
    "OpenDP MST": Script(
        script="opendp_tables", environment="opendp", options={"algorithm": "MST"}, pure=True
    ),
    "OpenDP Fixed": Script(
        script="opendp_tables", environment="opendp", options={"algorithm": "Fixed"}, pure=True
    ),
}
METHODS = OURS | SIMPLE | PEERS
"""By name, a function from a cell to its rows."""
