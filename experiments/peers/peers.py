"""Other systems and ours: error and CPU time for the same rows, budgets, queries and seeds.

Each peer runs in its own environment of pinned packages, which is built on first use (this needs
the network). The environments are in the folder MARGIN_PEERS, or in the user's cache. If an
environment cannot be built, the other peers run, and the page states the reason. A cell may take an
hour of CPU time.

Peers that return models are asked through `project`, not through synthetic records. Peers that
return records only are left out: dpmm, DataSynthesizer and smartnoise-synth; for the latter see the
study `records`. AIM, MST and MWEM+PGM are written from their papers on mbi 2.0, because its wheel
does not contain them. The smoke run builds no environment and uses the installed packages.
"""

import itertools
import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from experiments.peers import _environments as environments
from experiments.peers._methods import BUDGETS, METHODS, OURS, PEERS, SIMPLE, Cell, Script
from experiments.peers._tables import PUBLISHED, TABLES, table
from experiments.tools.pages import Claim, markdown, page
from experiments.tools.plots import points
from experiments.tools.study import Key, Row, bad, good, read, sweep

SIZES = (3, 4, 6)
LIMIT = 3600.0
"""Seconds of the processor a cell."""
TIE = 1.1
"""Errors within ten per cent of each other are a tie: less than noise and seeds tell."""

RULE = "Adaptive"
"""Which of ours stands for us, in all cells: what `release` takes by default."""

HIDDEN = ("PriView (paper)", "Residual (3)", "OpenDP Fixed")
"""Not in the pictures, only in the tables: variants that say little more."""
DRAWN = [RULE, *(name for name in METHODS if name not in (RULE, *HIDDEN))]
MOST = 30.0
"""The largest ratio of errors in the pictures."""
MIDDLE = 4
"""The size of query that the pictures of time are about."""

Line = list[tuple[float, float]]
"""Points, as x and y."""

Found = dict[tuple[str, str, int, str], dict[str, float]]
"""By table, budget, k and method: means over the seeds of error, CPU seconds of the release, and
those with all answers; and the number of seeds."""


def run(smoke: bool, out: Path) -> str:
    """Measure what has not been measured yet, and write the page."""
    if smoke:
        some = ("Residual", "ResidualPlanner", "mbi exact", "OpenDP MST")
        keys = [*_keys(("tiny",), ("B3",), some, seeds=1, queries=5, sizes=(3, 4))]
        return report(out, sweep(out / "rows.csv", smoke_measure, keys))
    lacking = environments.prepare(filter(None, map(_environment, METHODS)))
    names = [name for name in TABLES if name != "tiny" and table(name) is not None]
    keys = [
        *_keys(
            names, tuple(BUDGETS), [name for name in METHODS if _environment(name) not in lacking]
        )
    ]
    rows = sweep(out / "rows.csv", measure, keys, limit=environments.CLOCK * LIMIT + 60)
    earlier = [row for row in read(out / "rows.csv") if _environment(row["method"]) in lacking]
    return report(out, [*rows, *earlier], lacking)


def _environment(method: str) -> str:
    """The environment in which a method runs; "" for this process."""
    made = METHODS[method]
    return made.environment if isinstance(made, Script) else ""


def _keys(
    tables: Sequence[str],
    budgets: Sequence[str],
    methods: Sequence[str],
    *,
    seeds: int = 3,
    queries: int = 200,
    sizes: tuple[int, ...] = SIZES,
) -> Iterator[Key]:
    """The keys of the study: one for all sizes of query if one release serves them all, else one
    for each size.
    """
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
    cell = Cell(
        name=table, budget=budget, sizes=ways, seed=seed, queries=queries, limit=LIMIT, build=build
    )
    return [_rounded(row) for row in METHODS[method](cell)]


def smoke_measure(**key: Any) -> list[dict[str, Any]]:
    """`measure` with the packages that are installed in this environment only."""
    return measure(**key, build=False)


def report(out: Path, rows: Sequence[Row], lacking: Mapping[str, str] | None = None) -> str:
    """Write the page, its pictures and its tables.

    `lacking` are the environments that were not built.
    """
    found = _means(rows)
    compared = _compared(found)
    pictures = [*_ratios(out, found), *_times(out, found), *_errors(out, found)]
    return page(
        out / "page.md",
        title="Other systems and ours",
        about="\n\n".join([_about(found), *_reading(compared)]),
        claims=_claims(found, compared),
        pictures=pictures,
        rows=compared,
        notes=[_coverage(found), *_numbers(found), *(lacking or {}).values(), *_notes(rows)],
    )


def _means(rows: Sequence[Row]) -> Found:
    measured: dict[tuple[str, str, int, str], list[tuple[float, float, float]]] = defaultdict(list)
    for row in good(rows):
        # An error that is not finite is no answer: a mean or a minimum over it would mean nothing.
        if math.isfinite(float(row.get("error") or "nan")):
            place = (row["table"], row["budget"], int(row["k"]), row["method"])
            release, answers = (float(row[name] or "nan") for name in ("release", "answers"))
            measured[place].append((float(row["error"]), release, release + answers))
    return {
        place: dict(
            zip(("error", "release", "seconds"), np.mean(some, axis=0).tolist(), strict=True)
        )
        | {"seeds": len(some)}
        for place, some in measured.items()
    }


def _compared(found: Found) -> list[dict[str, Any]]:
    """For each cell the best peer, our method by the rule, and the best of our methods."""
    compared = []
    for name, budget, k in dict.fromkeys(place[:3] for place in found):

        def best(
            methods: Sequence[str], cell: tuple[str, str, int] = (name, budget, k)
        ) -> str | None:
            return min(
                (m for m in methods if (*cell, m) in found),
                key=lambda m: found[*cell, m]["error"],
                default=None,
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


VERDICTS = ("won", "tie", "lost", "not run")


def _verdict(ratio: Any) -> str:
    """The verdict on our error divided by the best peer's; "" or NaN if one of them is missing."""
    if ratio == "" or math.isnan(ratio):
        return "not run"
    return "won" if ratio < 1 / TIE else "lost" if ratio > TIE else "tie"


def _claims(found: Found, compared: Sequence[dict[str, Any]]) -> list[Claim]:
    tried = [line for line in compared if line["ours / peer"] != ""]
    level = sum(line["ours / peer"] <= 1 for line in tried)
    clear = sum(line["ours / peer"] <= 0.7 for line in tried)
    claims = [
        Claim(
            claim="ours, by the rule, has at most the error of the best peer in every cell",
            measured=f"in {level} of {len(tried)}",
            holds=level == len(tried) if tried else None,
        ),
        Claim(
            claim="at most 0.7 times its error in half of the cells",
            measured=f"in {clear} of {len(tried)}",
            holds=2 * clear >= len(tried) if tried else None,
        ),
    ]
    for aim in ("AIM", "AIM (2d)"):
        pairs = [
            (k, found["Adult-13", "B3", k, RULE], found["Adult-13", "B3", k, aim])
            for k in SIZES
            if {("Adult-13", "B3", k, RULE), ("Adult-13", "B3", k, aim)} <= found.keys()
        ]
        told = [
            f"k = {k}: error {o['error']:.4f} and {p['error']:.4f}, CPU seconds of the release "
            f"{o['release']:.2g} and "
            f"{p['release']:.3g}, with all answers {o['seconds']:.3g} and {p['seconds']:.3g}"
            for k, o, p in pairs
        ]
        claims.append(
            Claim(
                claim=f"{RULE} on Adult-13 at B3: at most the error of {aim} run to its end, "
                "in 1/50 of its time",
                measured="; ".join(told) or "not run",
                holds=all(
                    o["error"] <= p["error"] and 50 * o["release"] <= p["release"]
                    for _, o, p in pairs
                )
                if pairs
                else None,
                why="time is that of the release" if pairs else "",
            )
        )
    return claims


def _reading(compared: Sequence[dict[str, Any]]) -> list[str]:
    """Cells won, tied and lost by table; then the list of cells lost or tied, the worst first."""
    if all(line["verdict"] == "not run" for line in compared):
        return []
    tally: dict[str, dict[str, Any]] = {}
    for line in compared:
        counts = tally.setdefault(
            line["table"], {"table": line["table"]} | dict.fromkeys(VERDICTS, 0)
        )
        counts[line["verdict"]] += 1
    behind = sorted(
        (
            line
            for line in compared
            if line["verdict"] in ("tie", "lost") and line["ours / peer"] > 1
        ),
        key=lambda line: -line["ours / peer"],
    )
    told = [
        f"{line['table']} {line['budget']} k={line['k']} {line['ours / peer']:.2f} "
        f"({line['best peer']})"
        for line in behind
    ]
    worst = (
        f"Where a peer is ahead, ours over its error: {'; '.join(told)}."
        if told
        else "No peer is ahead in any cell."
    )
    return [markdown([*tally.values()]), worst]


def _coverage(found: Found) -> str:
    """For each method the number of cells with an error, and the number of seeds."""
    cells = len({place[:3] for place in found})
    seeds = {
        m: [int(some["seeds"]) for place, some in found.items() if place[3] == m] for m in METHODS
    }
    lines = [
        {
            "method": method,
            f"cells of {cells}": len(some),
            "seeds": " to ".join(map(str, sorted({min(some), max(some)}))),
        }
        for method, some in seeds.items()
        if some
    ]
    absent = [method for method, some in seeds.items() if not some]
    return f"What was measured:\n\n{markdown(lines)}" + (
        f"\n\nNot measured: {', '.join(absent)}." if absent else ""
    )


def _numbers(found: Found) -> list[str]:
    """A table for each table and budget: error, with CPU seconds of release and answers, by method
    and k.
    """
    parts = []
    for name, budget in dict.fromkeys(place[:2] for place in found):
        heading = (
            "| method | "
            + " | ".join(f"k = {k}" for k in SIZES)
            + " |\n|---|"
            + "---|" * len(SIZES)
        )
        body = []
        for method in METHODS:
            shown = [found.get((name, budget, k, method)) for k in SIZES]
            if any(shown):
                cells = [
                    f"{s['error']:.3g} ({s['seconds']:.3g} s, {s['seeds']:.0f})" if s else ""
                    for s in shown
                ]
                body.append(f"| {method} | " + " | ".join(cells) + " |")
        parts.append(
            f"**{name}, {budget}** (error, CPU seconds, seeds)\n\n{heading}\n" + "\n".join(body)
        )
    return parts


def _notes(rows: Sequence[Row]) -> list[str]:
    """The reasons for missing answers, each with its cells."""
    silent: dict[str, dict[str, None]] = defaultdict(dict)
    for row in good(rows):
        if math.isfinite(float(row.get("error") or "nan")):
            continue
        why = row.get("note") or ("an error that is not finite" if row.get("error") else "")
        if why:
            silent[f"{row['method']}: {why}"][f"{row['table']} {row['budget']} k={row['k']}"] = None
    absent = [name for name in PUBLISHED if table(name) is None]
    return [
        *(
            [f"Missing tables (set MARGIN_DATA to their folder): {', '.join(absent)}."]
            if absent
            else []
        ),
        *(
            [
                "No answers:\n\n"
                + "\n".join(f"- {why} ({', '.join(where)})" for why, where in silent.items())
            ]
            if silent
            else []
        ),
        *bad(rows),
    ]


def _about(found: Found) -> str:
    budgets = ", ".join(_told(budget) for budget in BUDGETS)
    named = list(dict.fromkeys(place[0] for place in found))
    notes = "; ".join(f"{name}: {made.note}" for name in named if (made := table(name)) is not None)
    text = f"""
Error is the L2 distance of an answer from the truth, divided by the number of rows: a mean over
random sets of k attributes and over seeds. By rule, ours is `{RULE}` everywhere. A tie is within
{TIE - 1:.0%}. The best peer of a cell is the best of the peers that were run in it. Not all were
run in every cell; the list of what was measured follows.

- **Tables.** {notes}.
- **Budgets**, one row added or removed: {budgets}; epsilon of pure, rho of zero-concentrated
  differential privacy.
- **Seconds** are CPU seconds of all threads, for one release and all answers to queries of k
  attributes. One release of a peer serves all k. Ours, Direct's and ResidualPlanner's are for one
  k. Peers answer through their models, ours through the synopsis. Models of mbi 2.0 are projected
  in numpy from their own potentials. That takes milliseconds. mbi itself compiles for 0.3 to 1.5
  seconds for each new set, so a user of mbi sees more seconds than are shown.
- **ResidualPlanner** is derived anew: its raw answers equal those of
  `MatrixMechanism(strategy=OptimisedMarginals())`.
- **mbi** fits our default views, which cover all pairs. Its approximate estimator answers no set
  beyond them; our Newton answers those from its fitted tables. Its step size is fixed for a whole
  run; ours is searched for along the way.
- **OpenDP's AIM** measures single attributes with a sixteenth of the budget, as in the paper. Its
  own default, a half, was worse where we tried both."""
    return text.removeprefix("\n")


def _ratios(out: Path, found: Found) -> list[Path]:
    """By table and budget, the error of other systems divided by ours."""
    places = [*dict.fromkeys(place[:2] for place in found if place[3] == RULE)]
    panels: dict[str, dict[str, Any]] = {}
    for k, method in itertools.product(SIZES, [name for name in DRAWN if name not in OURS]):
        ratios = [
            (at, min(MOST, found[*place, k, method]["error"] / found[*place, k, RULE]["error"]))
            for at, place in enumerate(places)
            if (*place, k, method) in found and (*place, k, RULE) in found
        ]
        if ratios:
            panels.setdefault(f"k = {k}", {})[method] = [*zip(*ratios, strict=True)]
    return points(
        out / "error-over-ours",
        panels,
        names=DRAWN,
        across=[f"{name} {budget}" for name, budget in places],
        ylabel=f"error / error of {RULE}",
        title=f"Others over ours by rule ({RULE}): above the line ours has less error. "
        f"At the top: {MOST:.0f} and more",
        columns=1,
        level=1.0,
    )


def _times(out: Path, found: Found) -> list[Path]:
    """For each table, error against time by budget."""

    def lines(name: str) -> Iterator[tuple[str, str, Line]]:
        for budget, method in itertools.product(BUDGETS, DRAWN):
            some = found.get((name, budget, MIDDLE, method))
            if some and some["seconds"] > 0:
                yield _told(budget), method, [(some["seconds"], some["error"])]

    title = f"error against time, {MIDDLE} attributes a query"
    return _by_table(
        out, found, lines, kind="time", title=title, across="CPU seconds, release and answers"
    )


def _errors(out: Path, found: Found) -> list[Path]:
    """For each table, error by budget."""

    def lines(name: str) -> Iterator[tuple[str, str, Line]]:
        for k, method in itertools.product(SIZES, DRAWN):
            some = [(at, found.get((name, budget, k, method))) for at, budget in enumerate(BUDGETS)]
            if shown := [(at, each["error"]) for at, each in some if each]:
                yield f"k = {k}", method, shown

    ticks = [_told(budget).replace(": ", "\n") for budget in BUDGETS]
    return _by_table(
        out, found, lines, kind="error", title="error by budget", across=ticks, columns=3
    )


def _by_table(
    out: Path,
    found: Found,
    lines: Callable[[str], Iterator[tuple[str, str, Line]]],
    *,
    kind: str,
    title: str,
    **options: Any,
) -> list[Path]:
    """Draw a picture of errors for each table.

    `lines` gives panel, method and points for the name of a table.
    """
    pictures = []
    for name in dict.fromkeys(place[0] for place in found):
        panels: dict[str, dict[str, Any]] = {}
        for panel, method, line in lines(name):
            panels.setdefault(panel, {})[method] = [*zip(*line, strict=True)]
        pictures += points(
            out / f"{kind}-{name}",
            panels,
            names=DRAWN,
            ylabel="mean L2 error / N",
            title=f"{name}: {title}",
            **options,
        )
    return pictures


def _told(budget: str) -> str:
    kind, amount = BUDGETS[budget]
    return f"{budget}: {'epsilon' if kind == 'pure' else 'rho'} {amount}"


def _rounded(row: dict[str, Any]) -> dict[str, Any]:
    return {
        name: f"{value:.6g}" if isinstance(value, float) and math.isfinite(value) else value
        for name, value in row.items()
    }
