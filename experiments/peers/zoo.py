"""What the default, `Auto` and `Adaptive` choose, against every candidate, on 22 kinds of tables.

A family of generated tables either fits the constants of `margin.mechanisms.fitted` or validates
them, never both. Real tables only validate. A setting is a table, a budget and a number k of
attributes. The regret of a mechanism is its error divided by the least error with the same seed.
The candidates are all orders of components, one-way tables, a spanning tree of pairs, and the
covers that are best under some assumption about the structure.

`python -m experiments run zoo` measures all settings and reports the regret. After it,
`python -m experiments.peers.zoo` fits the constants of the prices again, on the fitting half of
the rows in results/zoo, and prints them with the regret of the choice of `Auto` on both halves.
"""

import math
import sys
import zlib
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import margin
from experiments.peers._methods import Cell
from experiments.peers._tables import Coded, table
from experiments.peers._zoo_tables import DRAWS, FAMILIES, generated
from experiments.tools.pages import Claim, page
from experiments.tools.study import Key, Row, bad, good, read, sweep
from margin import Adaptive, Auto, PriView, Workload
from margin.mechanisms import fitted
from margin.mechanisms.choosing.candidates import Candidate, Candidates
from margin.mechanisms.choosing.strength import Strength
from margin.solvers import Newton

QUERIES = 20
MOST_CELLS = 1 << 17
"""Largest number of cells of the queries of a setting."""

COVERS = 2
"""Number of covers that are measured for each assumption about the structure."""

STRUCTURES = ("weak", "medium", "strong")

DEFAULT = "Adaptive"
"""What `release` takes by default."""

OURS: dict[str, Any] = {
    DEFAULT: Adaptive(),
    "Auto": Auto(),
    "Adaptive(rounds=0)": Adaptive(rounds=0),
}

REAL = {
    "Adult-13": (("B1", 4), ("B2", 3), ("B3", 3), ("B4", 4)),
    "Kosarak-32": (("B1", 4), ("B2", 3), ("B3", 3)),
    "MSNBC-9": (("B1", 3), ("B2", 4), ("B3", 3), ("B4", 4)),
    "KDD99-38": (("B2", 3), ("B3", 3)),
}
"""Budgets and numbers of attributes for which real tables are asked."""

SIZES = ((2, 3), (3, 4), (4, 2), (3, 2))
"""Numbers of attributes of the queries of a generated table."""

TUNED = {
    "SINGLES_STRENGTH": (0.5, 0.7, 1.0, 1.4, 2.0),
    "FOREST_STRENGTH": (0.3, 0.6, 1.0, 1.5),
    "LEAST_LEFT": (0.4, 0.7, 1.0, 1.4),
    "SPREAD": (0.6, 0.8, 1.0, 1.2),
    "SPREAD_BY_NOISE": (0.5, 1.0, 2.0),
    "MOMENT_SIZE": (0.7, 1.0, 1.4),
    "MOMENT_FALL": (0.8, 1.0, 1.2),
    "TRIPLES_TO_PAIRS": (0.5, 1.0, 1.5),
    "WITH_CONTEXT": (0.7, 1.0, 1.3),
}
"""The constants of the prices, and the factors that are tried for each."""

Setting = tuple[str, int, str, int]
"""The family or the name of a table, the draw (-1 for a real table), the budget, and k."""

Errors = dict[Setting, dict[str, float]]
"""The error of each candidate of each setting."""


def run(smoke: bool, out: Path) -> str:
    """Measure what has not been measured yet, and write the page."""
    keys = [*settings()]
    if smoke:
        keys = [key for key in keys if key["family"] == "few rows" and key["draw"] == 3][:1]
    return report(out, sweep(out / "rows.csv", measure, keys))


def settings() -> Iterator[Key]:
    """All settings: the generated tables, and the real ones that are there."""
    found: list[Setting] = []
    for place, family in enumerate(FAMILIES):
        for draw in range(DRAWS):
            for k in SIZES[(place + draw) % len(SIZES)]:
                found.append((family, draw, f"B{(place + draw + k) % 4 + 1}", k))
    for name, asked in REAL.items():
        found += [(name, -1, budget, k) for budget, k in asked]
    for family, draw, budget, k in found:
        if draw >= 0 or table(family) is not None:
            yield {"family": family, "draw": draw, "budget": budget, "k": k, "seed": 0}


def measure(family: str, draw: int, budget: str, k: int, seed: int) -> list[dict[str, Any]]:
    """The error of each candidate, and of each of `OURS`, in one setting."""
    made, cell = coded((family, draw, budget, k))
    mechanisms = _compared(made, cell, k) | OURS
    return [
        {"method": name, "error": error_of(made, cell, k, mechanism, seed)}
        for name, mechanism in mechanisms.items()
    ]


def error_of(made: Coded, cell: Cell, k: int, mechanism: Any, seed: int) -> float:
    """The mean L2 distance of the answers of one release to random queries, as a share of the
    rows."""
    asked = _asked(made, k)
    names = list(made.sizes)
    synopsis = margin.simulate(
        made.data,
        domain=made.domain,
        budget=cell.spend(),
        mechanism=mechanism,
        workload=_workload(made, k),
        seed=seed,
    ).synopsis
    if isinstance(synopsis.reconstruction, Newton):
        solver = replace(synopsis.reconstruction, bars=False)
        synopsis = synopsis.with_reconstruction(solver)
    answers = synopsis.marginals([[names[axis] for axis in axes] for axes in asked])
    distances = [
        np.linalg.norm(answer.counts - _truth(made, axes))
        for answer, axes in zip(answers, asked, strict=True)
    ]
    return float(np.mean(distances)) / len(made.rows)


def coded(setting: Setting) -> tuple[Coded, Cell]:
    """The table of a setting, and its cell."""
    family, draw, budget, k = setting
    made = generated(family, draw) if draw >= 0 else table(family)
    if made is None:
        raise margin.FileError(f"the file of {family} is missing: set MARGIN_DATA to its folder")
    return made, Cell(name=family, budget=budget, sizes=(k,), seed=0, queries=QUERIES)


def _workload(made: Coded, k: int) -> Workload:
    return Workload.all_kway(made.domain, k)


def _asked(made: Coded, k: int) -> list[tuple[int, ...]]:
    """Random sets of k attributes, with at most MOST_CELLS cells together."""
    sizes = list(made.sizes.values())
    rng = np.random.default_rng([7, k])
    drawn = [tuple(sorted(rng.choice(len(sizes), k, replace=False))) for _ in range(QUERIES)]
    reached = np.cumsum([math.prod(sizes[axis] for axis in axes) for axes in drawn])
    return drawn[: max(1, int(np.searchsorted(reached, MOST_CELLS, side="right")))]


def _truth(made: Coded, axes: Sequence[int]) -> NDArray[np.int64]:
    sizes = list(made.sizes.values())
    shape = [sizes[axis] for axis in axes]
    places = np.ravel_multi_index(tuple(made.rows[:, axis] for axis in axes), shape)
    return np.bincount(places, minlength=math.prod(shape)).reshape(shape)


def _compared(made: Coded, cell: Cell, k: int) -> dict[str, Any]:
    """All orders of components, one-way tables, a tree, and the best covers for each assumption."""
    found: dict[str, Any] = {}
    for structure in STRUCTURES:
        covers = 0
        prices = Auto(structure=structure).prices(
            made.domain, _workload(made, k), cell.spend(), rows=len(made.rows)
        )
        for candidate in prices:
            is_cover = isinstance(candidate.mechanism, PriView) and not candidate.shallow
            covers += is_cover
            if not is_cover or covers <= COVERS:
                found.setdefault(_name(candidate), candidate.mechanism)
    return found


def _name(candidate: Candidate) -> str:
    """A name that is the same for the same measurements."""
    mechanism = candidate.mechanism
    if not isinstance(mechanism, PriView):
        return candidate.note
    told = repr((sorted(map(tuple, mechanism.views or ())), mechanism.shares))
    return f"{candidate.note} {zlib.crc32(told.encode()):08x}"


def report(out: Path, rows: Sequence[Row]) -> str:
    """Write the page: the regret of ours, by part of the zoo and by setting."""
    errors = _errors(rows)
    lines = []
    for setting, found in errors.items():
        least = min(found.values())
        best = min(found, key=lambda name: found[name])
        line: dict[str, Any] = {"part": _part(setting)}
        line |= dict(zip(("table", "draw", "budget", "k"), setting, strict=True))
        line |= {"best": best, "error": least}
        lines.append(line | {name: found[name] / least for name in OURS})
    return page(
        out / "page.md",
        title="What is chosen, and what would have been best",
        about=(__doc__ or "").strip(),
        claims=[
            _claim(part, lines, mean, worst)
            for part, mean, worst in (
                ("fits", 1.08, 1.5),
                ("validates", 1.08, 1.5),
                ("real", 1.05, 1.25),
            )
        ],
        rows=lines,
        notes=bad(rows),
    )


def _errors(rows: Sequence[Row]) -> Errors:
    errors: Errors = defaultdict(dict)
    for row in good(rows):
        setting = (row["family"], int(row["draw"]), row["budget"], int(row["k"]))
        errors[setting][row["method"]] = float(row["error"])
    return errors


def _part(setting: Setting) -> str:
    family, draw, _, _ = setting
    if draw < 0:
        return "real"
    return "fits" if FAMILIES[family].fits else "validates"


def _claim(part: str, lines: Sequence[Mapping[str, Any]], mean: float, worst: float) -> Claim:
    told, holds = [], []
    for name in OURS:
        regrets = [line[name] for line in lines if line["part"] == part]
        if regrets:
            middle = math.exp(np.mean(np.log(regrets)))
            told.append(f"{name} {middle:.3f} and {max(regrets):.2f}")
            holds.append(middle <= mean and max(regrets) <= worst)
    return Claim(
        claim=f"regret on the tables that are '{part}': geometric mean <= {mean}, worst <= {worst}",
        measured="; ".join(told) or "not run",
        # The default comes first, and the claim is about it.
        holds=holds[0] if holds else None,
    )


# Fitting.


def refit(out: Path) -> str:
    """Fit the constants of the prices on the rows in a folder; the text to print."""
    errors = _errors(read(out / "rows.csv"))
    prices = {}
    for setting in errors:
        made, cell = coded(setting)
        considered = Candidates(made.domain, _workload(made, setting[3]), cell.spend())
        prices[setting] = (considered, float(len(made.rows)))
    values = {name: getattr(fitted, name) for name in TUNED}
    lines = [f"as they are: {_told(errors, prices)}"]
    # One constant after another takes the value with the least regret, twice.
    for name in [*TUNED, *TUNED]:
        # The value at hand comes first: of equal regrets, it stays.
        tried = {}
        for factor in (1.0, *TUNED[name]):
            value = values[name] * factor
            if name == "SPREAD":
                value = min(1.0, value)
            _set(name, value)
            tried[value] = float(np.mean(_regrets(errors, prices)["fits"]))
        values[name] = min(tried, key=lambda value: tried[value])
        _set(name, values[name])
    lines += [f"{name} = {value:.4g}" for name, value in values.items()]
    return "\n".join([*lines, f"fitted: {_told(errors, prices)}"])


def _set(name: str, value: float) -> None:
    """Give a constant another value in every module that has imported it."""
    for module in list(sys.modules.values()):
        if module.__name__.startswith("margin.mechanisms") and hasattr(module, name):
            setattr(module, name, value)


def _regrets(
    errors: Errors, prices: Mapping[Setting, tuple[Candidates, float]]
) -> dict[str, list[float]]:
    """The logarithms of the regrets of the candidate that is priced lowest among those measured."""
    found: dict[str, list[float]] = defaultdict(list)
    for setting, (considered, rows) in prices.items():
        known = errors[setting]
        for candidate in considered.priced(Strength.of("medium"), rows):
            if _name(candidate) in known:
                regret = known[_name(candidate)] / min(known.values())
                found[_part(setting)].append(math.log(regret))
                break
    return found


def _told(errors: Errors, prices: Mapping[Setting, tuple[Candidates, float]]) -> str:
    parts = []
    for part, logs in sorted(_regrets(errors, prices).items()):
        mean, worst = math.exp(np.mean(logs)), math.exp(max(logs))
        parts.append(f"{part} {mean:.3f} (worst {worst:.2f}, {len(logs)} settings)")
    return ", ".join(parts)


if __name__ == "__main__":
    print(refit(Path(sys.argv[1] if sys.argv[1:] else "results/zoo")))
