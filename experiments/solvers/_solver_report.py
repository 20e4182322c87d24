"""The report of the study of the solvers: a page with a summary, and pictures."""

from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np

from experiments.tools import plots, study
from experiments.tools.pages import Claim, markdown, page
from experiments.tools.study import Row

_PANELS = {
    "maximum entropy under noisy moments": ("Newton", "TrustExact", "LBFGS", "Clarabel", "Cone"),
    "maximum entropy otherwise": ("Ladder", "IPF", "MirrorDescent"),
    "other objectives": ("LeastSquares", "MinimaxLP"),
}
"""First letters of the solvers of each panel; at most eight solvers, so that all look different."""

_METHODS = (
    "Newton",
    "LBFGS",
    "Cone CLARABEL",
    "Ladder",
    "IPF",
    "MirrorDescent",
    "LeastSquares OSQP",
    "MinimaxLP HIGHS",
)
"""One solver for each method, so that each has its own colour and mark."""


def report(rows: list[Row], folder: Path, *, about: str) -> str:
    """Write the page and the pictures; return the summary of the page."""
    good = study.good(rows)
    lines = _summary(rows)
    pictures = _plots_of(good, folder)
    page(
        folder / "solvers.md",
        title="Every solver on the same problems",
        about=about,
        claims=_claims(good),
        pictures=[picture for picture in pictures if not picture.stem.endswith("-0.1")],
        rows=lines,
        notes=[
            "How many times as long as Newton in batches a query takes, by the number of "
            "attributes: the geometric "
            "mean over the tables, views and budgets where a solver answered; `-` where none "
            "did, or it was too slow "
            f"before. Newton itself: {_milliseconds(good)}. `error` is that over Newton's on "
            "the same queries, "
            "geometric mean. `failed` of the queries that were tried have no answer; `not "
            "tried` counts the places "
            "left out, and `broken off` those where five minutes were not enough. All rows are "
            "in rows.csv, pictures "
            "of epsilon 0.1 beside those above.",
            *study.bad(rows),
        ],
    )
    return "\n".join(
        [markdown(lines), *(f"{c.claim}: {c.measured}, {c.verdict}" for c in _claims(good))]
    )


def _summary(rows: list[Row]) -> list[dict[str, Any]]:
    """One line for each solver."""
    sizes = sorted({int(row["k"]) for row in rows})
    newton = _newton(rows)
    lines = []
    for solver in dict.fromkeys(row["solver"] for row in rows):
        own = [row for row in rows if row["solver"] == solver]
        good = study.good(own)
        answered = [row for row in good if row.get("error") and _place(row) in newton]
        line: dict[str, Any] = {"solver": solver}
        for k in sizes:
            times = [
                float(row["milliseconds"]) / newton[_place(row)]
                for row in answered
                if row["k"] == str(k)
            ]
            line[f"k={k}"] = _geometric(times) if times else "-"
        ratios = [float(row["error"]) / float(row["error of Newton"]) for row in answered]
        tried, failed = (sum(int(row[column]) for row in good) for column in ("tried", "failures"))
        line |= {
            "error": _geometric(ratios) if ratios else "-",
            "failed": f"{failed} of {tried}",
            "not tried": len({_place(row) for row in rows} - {_place(row) for row in own}),
            "broken off": sum(row[study.STATUS] == study.LATE for row in own),
        }
        lines.append(line)
    return lines


def _newton(rows: list[Row]) -> dict[tuple[str, ...], float]:
    """The time of Newton in batches in milliseconds, by table, views, budget and size."""
    return {
        _place(row): float(row["milliseconds"])
        for row in study.good(rows)
        if row["solver"] == "Newton"
    }


def _milliseconds(rows: list[Row]) -> str:
    """The range of Newton's times at each size."""
    times: dict[str, list[float]] = defaultdict(list)
    for (*_, k), milliseconds in _newton(rows).items():
        times[k].append(milliseconds)
    return ", ".join(
        f"{min(some):.2g} to {max(some):.2g} ms at k = {k}" for k, some in times.items()
    )


def _claims(rows: list[Row]) -> list[Claim]:
    newton = [row for row in rows if row["solver"].startswith("Newton")]
    failures, tried = (sum(int(row[column]) for row in newton) for column in ("failures", "tried"))
    above = [float(row["above Newton"]) for row in rows if row.get("above Newton")]
    ours = _newton(rows)
    others = [
        float(row["milliseconds"]) / ours[_place(row)]
        for row in rows
        if not row["solver"].startswith("Newton") and row.get("error") and _place(row) in ours
    ]
    claims = [
        Claim(
            claim="Newton never fails",
            measured=f"{failures} of {tried} queries",
            holds=failures == 0 if tried else None,
        )
    ]
    if above:
        claims.append(
            Claim(
                claim="nothing is below Newton in its own objective by 1e-8 nats",
                measured=f"from {min(above):.1g} to {max(above):.1g} above",
                holds=min(above) > -1e-8,
            )
        )
    if others:
        span = f"{min(others):.2g} to {max(others):.2g} times as long"
        text = f"others take {span}, geometric mean {_geometric(others):.3g}"
        claims.append(
            Claim(claim="Newton in batches is the fastest", measured=text, holds=min(others) > 1)
        )
    return claims


def _place(row: Row) -> tuple[str, ...]:
    return row["table"], row["views"], row["epsilon"], row["k"]


def _plots_of(rows: list[Row], folder: Path) -> list[Path]:
    """Pictures for each table, set of views and budget.

    One picture shows time against the size of queries, the other error against time by size.
    """
    groups: dict[tuple[str, ...], list[Row]] = defaultdict(list)
    for row in rows:
        if row.get("error"):
            groups[_place(row)[:3]].append(row)
    written = []
    for (table, views, epsilon), members in groups.items():
        title, name = f"{table}, {views}, epsilon {epsilon}", f"{table}-{views}-{epsilon}"
        panels = {heading: _curves(members, starts) for heading, starts in _PANELS.items()}
        written += plots.lines(
            folder / f"time-{name}",
            panels,
            xlabel="attributes asked for",
            ylabel="milliseconds a query",
            title=title,
            columns=3,
        )
        sizes = sorted({int(row["k"]) for row in members})
        written += plots.lines(
            folder / f"error-{name}",
            {f"{k} attributes": _points(members, k) for k in sizes},
            xlabel="milliseconds a query",
            ylabel="L2 error / Newton's on the same",
            title=title,
            columns=3,
            xlog=True,
        )
    return written


def _curves(rows: list[Row], starts: tuple[str, ...]) -> dict[str, list[list[float]]]:
    """One line for each solver of a panel, over the sizes of the queries."""
    own = [row for row in rows if row["solver"].startswith(starts)]
    return {
        solver: [
            [float(row[column]) for row in own if row["solver"] == solver]
            for column in ("k", "milliseconds")
        ]
        for solver in dict.fromkeys(row["solver"] for row in own)
    }


def _points(rows: list[Row], k: int) -> dict[str, list[list[float]]]:
    """One point for each method."""
    return {
        row["solver"]: [
            [float(row["milliseconds"])],
            [float(row["error"]) / float(row["error of Newton"])],
        ]
        for row in rows
        if row["k"] == str(k) and row["solver"] in _METHODS
    }


def _geometric(values: list[float]) -> float:
    return float(np.exp(np.mean(np.log(values))))
