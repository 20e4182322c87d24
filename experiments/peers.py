"""Other systems and ours in one table: the same rows, budgets, queries and seeds; error and CPU time.

Each peer runs in an environment of its own, made from pinned packages on first use (this needs the network), in a
folder that MARGIN_PEERS names or the user's cache; a cell has an hour. Peers that give models are asked through
`project`, not through synthetic records. Left out, since they give records only: smartnoise-synth (which besides
installs CUDA), dpmm, DataSynthesizer. AIM, MST and MWEM+PGM are written from their papers on mbi 2.0, whose wheel does
not have them. The smoke run builds nothing and uses what is installed.
"""

import itertools
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ._pages import Claim, page
from ._peer_methods import BUDGETS, METHODS, OURS, PEERS, SIMPLE, Cell, Script
from ._peer_tables import PUBLISHED, TABLES, table
from ._plots import candlesticks, lines
from ._study import Key, Row, bad, good, sweep

SIZES = (3, 4, 6)
LIMIT = 3600.0
"""Seconds a cell."""
TIE = 1.1
"""Errors within ten per cent of each other are a tie: less than noise and seeds tell."""

RULE = "Adaptive"
"""Which of ours stands for us, in all cells."""

Found = dict[tuple[str, str, int, str], dict[str, float]]
"""By table, budget, k and method: mean error over the seeds, mean CPU seconds, number of seeds."""


def run(smoke: bool, out: Path) -> str:
    """Measure what is not measured yet, and write the page."""
    if smoke:
        some = ("Residual", "ResidualPlanner", "mbi exact", "OpenDP MST")
        keys = [*_keys(("tiny",), ("B3",), some, seeds=1, queries=5, sizes=(3, 4))]
        rows = sweep(out / "rows.csv", smoke_measure, keys)
    else:
        names = [name for name in TABLES if name != "tiny" and table(name) is not None]
        rows = sweep(out / "rows.csv", measure, _keys(names, tuple(BUDGETS), tuple(METHODS)), limit=LIMIT + 60)
    return report(out, rows)


def _keys(
    tables: Sequence[str],
    budgets: Sequence[str],
    methods: Sequence[str],
    *,
    seeds: int = 3,
    queries: int = 200,
    sizes: tuple[int, ...] = SIZES,
) -> Iterator[Key]:
    """One for all sizes of query where one release serves them all, one for each where we release for each."""
    for seed, name, budget, method in itertools.product(range(seeds), tables, budgets, methods):
        for some in [sizes] if isinstance(METHODS[method], Script) else [(k,) for k in sizes]:
            asked = " ".join(map(str, some))
            yield {
                "table": name,
                "budget": budget,
                "method": method,
                "sizes": asked,
                "seed": seed,
                "queries": queries,
            }


def measure(
    table: str, budget: str, method: str, sizes: str, seed: int, queries: int, build: bool = True
) -> list[dict[str, Any]]:
    """The rows of one method on one table with one budget and seed."""
    ways = tuple(map(int, sizes.split()))
    cell = Cell(name=table, budget=budget, sizes=ways, seed=seed, queries=queries, limit=LIMIT, build=build)
    return [_rounded(row) for row in METHODS[method](cell)]


def smoke_measure(**key: Any) -> list[dict[str, Any]]:
    """The same, with the packages that are installed here only."""
    return measure(**key, build=False)


def report(out: Path, rows: Sequence[Row]) -> str:
    """The page, its pictures and its tables, from what was measured."""
    found = _means(rows)
    compared = _compared(found)
    pictures = [*_times(out, found), *_errors(out, rows)]
    return page(
        out / "page.md",
        title="Other systems and ours",
        about=_about(found),
        claims=_claims(found, compared),
        pictures=pictures,
        rows=compared,
        notes=[*_numbers(found), *_notes(rows)],
    )


def _means(rows: Sequence[Row]) -> Found:
    errors: dict[tuple[str, str, int, str], list[tuple[float, float]]] = {}
    for row in good(rows):
        if row.get("error"):
            place = (row["table"], row["budget"], int(row["k"]), row["method"])
            spent = float(row["release"] or "nan") + float(row["answers"] or "nan")
            errors.setdefault(place, []).append((float(row["error"]), spent))
    return {
        place: {"error": np.mean([e for e, _ in some]), "seconds": np.mean([s for _, s in some]), "seeds": len(some)}
        for place, some in errors.items()
    }


def _compared(found: Found) -> list[dict[str, Any]]:
    """For each cell the best peer, ours by the rule, and the best of ours."""
    compared = []
    for name, budget, k in dict.fromkeys(place[:3] for place in found):

        def best(methods: Sequence[str], cell: tuple[str, str, int] = (name, budget, k)) -> str | None:
            return min(
                (m for m in methods if (*cell, m) in found), key=lambda m: found[*cell, m]["error"], default=None
            )

        peer, own, chosen = best([*SIMPLE, *PEERS]), best([*OURS]), RULE
        line: dict[str, Any] = {"table": name, "budget": budget, "k": k}
        for heading, method in (("best peer", peer), ("by rule", chosen), ("best of ours", own)):
            shown = found.get((name, budget, k, method or ""))
            line |= {heading: method or "none", f"{heading}: error": "", f"{heading}: s": ""}
            if shown:
                line |= {f"{heading}: error": shown["error"], f"{heading}: s": shown["seconds"]}
        by_rule, by_peer = line["by rule: error"], line["best peer: error"]
        line["ours / peer"] = by_rule / by_peer if by_rule != "" and by_peer != "" else ""
        line["verdict"] = _verdict(line["ours / peer"])
        compared.append(line)
    return compared


def _verdict(ratio: Any) -> str:
    if ratio == "":
        return "not run"
    return "won" if ratio < 1 / TIE else "lost" if ratio > TIE else "tie"


def _claims(found: Found, compared: Sequence[dict[str, Any]]) -> list[Claim]:
    tried = [line for line in compared if line["ours / peer"] != ""]
    lost = [
        f"{line['table']} {line['budget']} k={line['k']}: {line['ours / peer']:.2f}"
        for line in tried
        if line["ours / peer"] > 1
    ]
    clear = sum(line["ours / peer"] <= 0.7 for line in tried)
    claims = [
        Claim(
            claim="ours, by the rule, has at most the error of the best peer in every cell",
            measured=f"in {len(tried) - len(lost)} of {len(tried)}"
            + (f", lost or tied above: {', '.join(lost)}" if lost else ""),
            holds=not lost if tried else None,
        ),
        Claim(
            claim="at most 0.7 times its error in half of the cells",
            measured=f"in {clear} of {len(tried)}",
            holds=2 * clear >= len(tried) if tried else None,
        ),
    ]
    for aim in ("AIM", "AIM (2d)"):
        pairs = [
            (found[(*place[:3], "Adaptive")], found[place])
            for place in found
            if place[:2] == ("Adult-13", "B3") and place[3] == aim and (*place[:3], "Adaptive") in found
        ]
        told = [
            f"error {o['error']:.4f} and {p['error']:.4f}, {p['seconds'] / o['seconds']:.0f} times the CPU time"
            for o, p in pairs
        ]
        claims.append(
            Claim(
                claim=f"Adaptive on Adult-13 at B3: at most the error of {aim} run to its end, in 1/50 of its time",
                measured="; ".join(told) or "not run",
                holds=all(o["error"] <= p["error"] and 50 * o["seconds"] <= p["seconds"] for o, p in pairs)
                if pairs
                else None,
            )
        )
    return claims


def _numbers(found: Found) -> list[str]:
    """A table for each table and budget: error (CPU seconds of release and answers) by method and k."""
    parts = []
    for name, budget in dict.fromkeys(place[:2] for place in found):
        heading = "| method | " + " | ".join(f"k = {k}" for k in SIZES) + " |\n|---|" + "---|" * len(SIZES)
        body = []
        for method in METHODS:
            shown = [found.get((name, budget, k, method)) for k in SIZES]
            if any(shown):
                cells = [f"{s['error']:.3g} ({s['seconds']:.3g} s, {s['seeds']:.0f})" if s else "" for s in shown]
                body.append(f"| {method} | " + " | ".join(cells) + " |")
        parts.append(f"**{name}, {budget}** (error, CPU seconds, seeds)\n\n{heading}\n" + "\n".join(body))
    return parts


def _notes(rows: Sequence[Row]) -> list[str]:
    said = {
        f"{row['method']}, {row['table']} {row['budget']}: {row['note']}"
        for row in good(rows)
        if row.get("note") and not row.get("error")
    }
    absent = [name for name in PUBLISHED if table(name) is None]
    return [
        *([f"Not at hand, set MARGIN_DATA: {', '.join(absent)}."] if absent else []),
        *(["No answers: " + "; ".join(sorted(said)) + "."] if said else []),
        *bad(rows),
    ]


def _about(found: Found) -> str:
    budgets = ", ".join(f"{name} {kind} {amount}" for name, (kind, amount) in BUDGETS.items())
    named = list(dict.fromkeys(place[0] for place in found))
    notes = "; ".join(f"{name}: {made.note}" for name in named if (made := table(name)) is not None)
    return (
        f"Mean over random sets of k attributes of the L2 distance over the number of rows, and over seeds. {notes}. "
        f"Budgets, one row added or removed: {budgets}. Seconds are of the processor, of all threads, for one release "
        "and all answers to queries of k attributes; a peer's one release serves all k, ours, Direct's and "
        "ResidualPlanner's are for one k. Peers answer through their model, ours through the synopsis. Graphical "
        "models of mbi 2.0 are projected in numpy from their own potentials: that takes milliseconds where mbi "
        "compiles for 0.3 to 1.5 seconds for each new set, so that a user of theirs sees more seconds than are shown. "
        f"By rule: {RULE}. A tie is within "
        f"{TIE - 1:.0%}. ResidualPlanner is derived anew: its raw answers are those of "
        "`MatrixMechanism(strategy=OptimisedMarginals())`. mbi's approximate estimator answers no set beyond its "
        "views: those are answered by our Newton from its fitted tables. It has no line search, and may not have "
        "converged with our step: its errors are upper bounds."
    )


def _times(out: Path, found: Found) -> list[Path]:
    panels: dict[str, dict[str, Any]] = {}
    for name, budget, method in dict.fromkeys((place[0], place[1], place[3]) for place in found):
        some = [found[name, budget, k, method] for k in SIZES if (name, budget, k, method) in found]
        points = [(s["seconds"], s["error"]) for s in some if s["seconds"] > 0]
        if points:
            x, y = zip(*points, strict=True)
            panels.setdefault(f"{name}, {budget}", {})[method] = (np.array(x), np.array(y))
    return lines(
        out / "error-against-time",
        panels,
        xlabel="CPU seconds, release and answers",
        ylabel="mean L2 error / N",
        title="Error against time, k = 3, 4, 6 joined",
        xlog=True,
        columns=4,
    )


def _errors(out: Path, rows: Sequence[Row]) -> list[Path]:
    pictures = []
    for name in dict.fromkeys(row["table"] for row in rows):
        panels: dict[str, dict[str, list[float]]] = {}
        for budget, k, method in itertools.product(BUDGETS, SIZES, METHODS):
            for row in good(rows):
                own = (row["table"], row["budget"], row["method"]) == (name, budget, method)
                if own and row["k"] == str(k) and row.get("error"):
                    panels.setdefault(f"{budget}, k = {k}", {}).setdefault(method, []).append(float(row["error"]))
        path = out / f"error-{name}"
        pictures += candlesticks(path, panels, ylabel="mean L2 error / N", title=f"{name}: error by budget, over seeds")
    return pictures


def _rounded(row: dict[str, Any]) -> dict[str, Any]:
    return {
        name: f"{value:.6g}" if isinstance(value, float) and math.isfinite(value) else value
        for name, value in row.items()
    }
