"""Maximum entropy over the requested attributes alone, over all attributes, and by mbi.

The table is a made-up mixture with sixteen binary attributes. The views are the paper's pair cover
by views of eight, and all methods get the same noisy views. mbi is used if it is installed.

The error is the L2 distance divided by the number of rows, averaged over random queries that no
view covers. The time is process time per query, without the work that is done once for all queries:
`ms` for queries asked one by one for the first time, `ms again` for the second time, and `ms
together` for all queries in one call. mbi compiles a programme for each new query, so only its
first time includes this. mbi answers one query per call.
"""

import importlib
import importlib.util
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import margin
from experiments.tools.pages import Claim, page
from experiments.tools.study import Row, bad, good, sweep
from experiments.tools.tables import Study, error, queries
from margin import PriView, PureDP, datasets
from margin.designs import covering_design
from margin.solvers import Newton, Tables

Views = list[tuple[str, ...]]
Answers = Callable[[Views], Sequence[Any]]
MEASURED = ("error", "ms", "ms again", "ms together")


def run(smoke: bool, out: Path) -> str:
    """Measure each budget, size of query and method; one line each."""
    size = (
        {"attributes": 8, "rows": 2_000, "queries": 2, "iterations": 20}
        if smoke
        else {"attributes": 16, "rows": 100_000, "queries": 40, "iterations": 1000}
    )
    keys = [{"epsilon": epsilon, **size} for epsilon in (("1",) if smoke else ("1", "0.1"))]
    rows = sweep(out / "rows.csv", measure, keys)
    lines = [_numbers(row) for row in good(rows)]
    return page(
        out / "global_entropy.md",
        title="Maximum entropy with more context",
        about=(__doc__ or "").partition("\n\n")[2].replace("\n", " "),
        claims=_claims(lines) if lines else [],
        rows=lines,
        notes=bad(rows),
    )


def _numbers(row: Row) -> dict[str, Any]:
    """The columns of the page, with the measured ones as numbers."""
    words = {name: row[name] for name in ("epsilon", "over")}
    whole = {name: int(row[name]) for name in ("views", "k")}
    return words | whole | {name: float(row[name]) for name in MEASURED}


def measure(
    epsilon: str, attributes: int, rows: int, queries: int, iterations: int
) -> list[dict[str, Any]]:
    """A line for each size of query and way to answer, for one budget."""
    study = datasets.latent_classes((2,) * attributes, rows=rows)
    return _lines(study, epsilon, attributes // 2, queries, iterations)


def _lines(
    study: Study, epsilon: str, block: int, count: int, iterations: int
) -> list[dict[str, Any]]:
    names = study.domain.attributes
    views = [
        [names[axis] for axis in view] for view in covering_design(len(names), block, 2).blocks
    ]
    made, raw = (
        margin.simulate(
            study.data, domain=study.domain, budget=PureDP(epsilon), mechanism=mechanism, seed=0
        )
        for mechanism in (
            PriView(views=views),
            PriView(views=views, consistency=_as_measured, nonnegativity=None),
        )
    )
    ways: dict[str, Answers] = {
        name: made.synopsis.with_reconstruction(solver).marginals
        for name, solver in (
            ("the asked alone", Newton(bars=False)),
            ("all", Newton(bars=False, context=len(names))),
            ("all, with bars", Newton(context=len(names))),
        )
    }
    if importlib.util.find_spec("mbi") is not None:
        ways["all, by mbi"] = _mbi(study, raw.synopsis.held, iterations)
    lines = []
    for k in (3, 4, 6):
        asked = [view for view in queries(study.domain, k, 3 * count) if not _covered(made, view)][
            :count
        ]
        truths = made.truths(asked)
        for name, answer in ways.items():
            answer(asked[:1])
            first, answers = _timed(answer, asked)
            again = min(_timed(answer, asked)[0] for _ in range(3))
            started = time.process_time()
            answer(asked)
            together = time.process_time() - started
            found = np.mean([error(one, truth) for one, truth in zip(answers, truths, strict=True)])
            line = {"views": len(views), "k": k, "over": name, "error": found}
            times = {"ms": first, "ms again": again, "ms together": together}
            lines.append(
                line | {name: 1000 * seconds / len(asked) for name, seconds in times.items()}
            )
    return lines


def _as_measured(tables: Tables) -> Tables:
    return tables


def _covered(simulation: margin.Simulation[Any], view: tuple[str, ...]) -> bool:
    axes = tuple(sorted(simulation.domain.axes(view)))
    return simulation.synopsis.held.covering(axes) is not None


def _timed(answer: Answers, asked: Views) -> tuple[float, list[Any]]:
    """The seconds and the answers of queries that are answered one after another."""
    started = time.process_time()
    answers = [answer([view])[0] for view in asked]
    return time.process_time() - started, answers


def _mbi(study: Study, tables: Tables, iterations: int) -> Answers:
    """The answers of mbi's mirror descent, in double precision, from the views as they were
    measured.
    """
    os.environ.setdefault("JAX_ENABLE_X64", "1")
    mbi: Any = importlib.import_module("mbi")
    names = study.domain.attributes
    measured = [
        mbi.LinearMeasurement(
            value.ravel(), tuple(names[axis] for axis in view), stddev=variance**0.5
        )
        for view, value, variance in zip(tables.views, tables.values, tables.variances, strict=True)
    ]
    domain = mbi.Domain(names, study.domain.sizes)
    model = mbi.estimation.MirrorDescent().estimate(domain, measured, iters=iterations)

    def answer(asked: Views) -> list[Any]:
        return [
            _Counts(np.asarray(model.project(view).datavector()).reshape((2,) * len(view)))
            for view in asked
        ]

    return answer


class _Counts:
    """The part of a marginal that `error` uses."""

    def __init__(self, counts: Any) -> None:
        self.counts = counts


def _claims(lines: list[dict[str, Any]]) -> list[Claim]:
    by_way = {(line["epsilon"], line["k"], line["over"]): line for line in lines}
    gains, errors = [], []
    speeds: dict[str, list[float]] = {"ms": [], "ms again": [], "ms together": []}
    for (epsilon, k, way), line in by_way.items():
        if way == "all":
            gains.append(by_way[epsilon, k, "the asked alone"]["error"] / line["error"])
            if theirs := by_way.get((epsilon, k, "all, by mbi")):
                errors.append(line["error"] / theirs["error"])
                for name, ratios in speeds.items():
                    if (
                        name != "ms" or epsilon == lines[0]["epsilon"]
                    ):  # later mbi has compiled them all
                        ratios.append(theirs[name] / line[name])
    claims = [
        Claim(
            claim="more context lowers the error",
            measured=f"{min(gains):.2f} to {max(gains):.2f} times",
            holds=min(gains) > 1,
        )
    ]
    if errors:
        text = f"{min(errors):.3f} to {max(errors):.3f}"
        claims.append(
            Claim(claim="error within 5 % of mbi's", measured=text, holds=max(errors) <= 1.05)
        )
        claims += [
            Claim(
                claim=f"20 times as fast a query, {when}",
                measured=f"{min(speeds[name]):.0f} to {max(speeds[name]):.0f} times",
                holds=min(speeds[name]) >= 20,
            )
            for when, name in (
                ("asked for the first time", "ms"),
                ("where mbi has compiled it before", "ms again"),
                ("so, and ours in one call", "ms together"),
            )
        ]
    return claims
