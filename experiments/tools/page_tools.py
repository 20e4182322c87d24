"""The functions that the templates in `experiments/pages` may use; see `trace`."""

from typing import Any

from experiments.tools.pages import markdown, short
from experiments.tools.readings import UNFINISHED, Claim, Readings
from margin.designs import covering_design

_SHOWN = 6
"""The largest number of claims that a page shows at once."""
_OURS = "our claim"
"""What marks a claim that is not one of the paper."""
_RANGES = tuple(f"error {share:g}" for share in (0.0001, 0.001, 0.01, 0.1, 0.5))
"""The columns of the errors of sparse summaries."""


def claims(*studies: Readings) -> str:
    """The claims of studies: a short table as it is, of a long one those that do not hold, and the
    others in a fold.
    """
    listed = [claim for study in studies for claim in study.claims]
    failed = [claim for claim in listed if claim.holds is False]
    if len(listed) <= _SHOWN:
        return _claims(listed)
    count = _counted(listed)
    others = "this one does not" if len(failed) == 1 else "these do not"
    shown = f"{count}; {others}:\n\n{_claims(failed)}" if failed else f"{count}."
    rest = [claim for claim in listed if claim.holds is not False]
    return f"{shown}\n\n{fold('The other claims', _claims(rest))}"


_FIRST = "The first runs came first; where later ones are missing, a mean is over fewer runs."


def unfinished(*studies: Readings, missing: str = _FIRST) -> str:
    """A sentence where the study was broken off, so that some measurements are missing; and what
    is missing then.
    """
    left = sum(map(_not_run, studies))
    if not left:
        return "All measurements of the study were run."
    made = sum(one.manifest["keys"] for one in studies)
    return (
        f"**The study was broken off**: {made:,} measurements were made and {left:,} were not. "
        f"{missing}"
    )


def _not_run(study: Readings) -> int:
    """How many measurements are missing, because the study was broken off."""
    return sum(int(note.split()[0]) for note in study.notes if UNFINISHED in note)


def _claims(listed: list[Claim]) -> str:
    return markdown(
        [
            {"claim": _sentence(one.claim), "measured": one.measured, "holds": one.verdict}
            for one in listed
        ]
    )


def table(study: Readings, *columns: str, digits: int = 3, **where: Any) -> str:
    """Some columns of the rows with these values."""
    rows = [
        {name: row.get(name, "") for name in columns}
        for row in study.rows
        if all(row.get(name) == value for name, value in where.items())
    ]
    return markdown(rows, digits=digits)


def fold(title: str, text: str) -> str:
    """Text that is shown when the reader opens it."""
    return f'<details markdown="1">\n<summary>{title}</summary>\n\n{text}\n\n</details>'


def details(name: str, study: Readings) -> str:
    """What a page does not show at once: all figures of the claims, notes, the manifest."""
    parts = [study.about]
    parts += [f"- {_sentence(c.claim)}: {c.detail}." for c in study.claims if c.detail]
    parts += study.notes
    parts.append(f"{study.made} All readings: `experiments/readings/{name}.json`.")
    return fold("All ratios, how it was run, and when", "\n\n".join(parts))


def span(study: Readings, one: str, other: str, *words: str, digits: int = 2) -> str:
    """The error of a method divided by that of another, "smallest to largest" over the panels
    of a figure whose titles contain all words; those of the Jensen-Shannon divergence (", JS")
    only if asked for.
    """
    names = dict.fromkeys(str(row["panel"]) for row in study.rows)
    panels = [name for name in names if all(word in name for word in words)]
    panels = [name for name in panels if "JS" in words or not name.endswith(", JS")]
    ratios = []
    for panel in panels:
        try:
            left, right = (study("mean", panel=panel, method=name) for name in (one, other))
        except LookupError:  # one of the methods was not run in this panel
            continue
        ratios.append(left / right)
    if not ratios:
        raise LookupError(f"no panel of {study.title!r} with {words} has {one!r} and {other!r}")
    low, high = (short(ratio, digits) for ratio in (min(ratios), max(ratios)))
    return low if low == high else f"{low} to {high}"


def extreme(study: Readings, column: str, **where: Any) -> float:
    """The largest size of the numbers of a column, over the rows with these values."""
    chosen = [row for row in study.rows if all(row.get(name) == where[name] for name in where)]
    return max(abs(float(row[column])) for row in chosen if row.get(column) not in (None, ""))


def tree_errors(study: Readings) -> str:
    """The errors of a tree and of single cells on uniform data, by the length of the range."""
    lines = []
    for density in (0.1, 0.01):
        where = {"study": "tree", "data": "uniform", "density": density}
        for method, name in (("tree-all", "tree"), ("geometric", "cells")):
            errors = [study(column, method=method, **where) for column in _RANGES]
            listed = " | ".join(f"{error:.0f}" for error in errors)
            lines.append(f"| {density:.0%} | {name} | {listed} |")
    return "\n".join(lines)


def tree_over_cells(study: Readings, share: float) -> float:
    """The error of a tree over that of cells, for ranges of a share of a table, a tenth of whose
    cells are not empty.
    """
    where = {"study": "tree", "data": "uniform", "density": 0.1}
    tree, cells = (
        study(f"error {share:g}", method=one, **where) for one in ("tree-all", "geometric")
    )
    return tree / cells


def check_gains(study: Readings) -> str:
    """By which share the check lowers the errors of trees, by data and density."""

    def gains(data: str, density: float, kind: str) -> str:
        where = {"study": "tree", "data": data, "density": density}
        pairs = [
            (
                study(column, method=kind, **where),
                study(column, method=f"{kind}-check", **where),
            )
            for column in _RANGES
        ]
        return ", ".join(f"{100 * (1 - after / before):.0f}" for before, after in pairs) + " %"

    return "\n".join(
        f"| {data}, {density:.0%} | {gains(data, density, 'tree-filter')} "
        f"| {gains(data, density, 'tree-fp')} |"
        for data in ("skewed", "uniform")
        for density in (0.1, 0.01)
    )


def seconds(study: Readings) -> str:
    """The seconds of sparse releases by the number of cells, a million of them not empty."""
    lines = []
    for power in (7, 8, 12, 18, 24, 30):
        where = {"study": "million", "density": float(10**power)}
        methods = ("priority", "threshold", "filter-priority", "high-pass")
        taken = [study("seconds", method=method, **where) for method in methods]
        lines.append(f"| 10^{power} | " + " | ".join(f"{one:.2f}" for one in taken) + " |")
    return "\n".join(lines)


def first_proved(study: Readings, data: str) -> int:
    """The first of the measured rounds of a table from which on all best responses are proved."""
    found = 0
    for row in sorted((row for row in study.rows if row["data"] == data), key=_round):
        if row["ended"] != "OPTIMAL":
            found = 0
        elif not found:
            found = _round(row)
    return found


def _round(row: dict[str, Any]) -> int:
    return int(row["round"])


def manifests(studies: dict[str, Readings]) -> str:
    """A line for each study: when it was made, and what it took."""
    lines = []
    for name, study in studies.items():
        one = study.manifest
        days = " to ".join(dict.fromkeys(one["dates"]))
        left = _not_run(study) or "-"
        lines.append(f"| `{name}` | {days} | {one['keys']:,} | {left} | {study.seconds} |")
    return "\n".join(lines)


def design(name: str, block: int, points: int) -> int:
    """The number of views of a covering design such as "C3"."""
    return len(covering_design(points, block, int(name[1:])).blocks)


def gaps(study: Readings, one: str, other: str) -> str:
    """The NDCG of a method minus that of another on the query logs, a line for each epsilon."""

    def gap(column: str, epsilon: float) -> float:
        where = {"table": "queries", "epsilon": epsilon}
        return study(column, method=one, **where) - study(column, method=other, **where)

    return "\n".join(
        f"| {e:g} | {gap('ndcg@20', e):+.4f} | {gap('ndcg@100', e):+.4f} |"
        for e in (0.05, 0.2, 0.5, 1.0, 2.0)
    )


def largest_gap(study: Readings, one: str, other: str, least: float) -> float:
    """The largest difference of the NDCG of two methods on the query logs, from an epsilon on."""
    epsilons = {float(row["epsilon"]) for row in study.rows if row["table"] == "queries"}
    return max(
        abs(
            study(column, table="queries", epsilon=epsilon, method=one)
            - study(column, table="queries", epsilon=epsilon, method=other)
        )
        for column in ("ndcg@20", "ndcg@100")
        for epsilon in epsilons
        if epsilon >= least
    )


def held(studies: dict[str, Readings], *names: str) -> str:
    """How many claims of some studies hold, of those that the runs could test: the claims of the
    papers, and our own."""
    if not studies.keys() & set(names):
        return "not run"
    return _counted([claim for name in names if name in studies for claim in studies[name].claims])


def _counted(listed: list[Claim]) -> str:
    """How many claims of the papers hold, and how many of ours, if there are some."""
    tested = [claim for claim in listed if claim.holds is not None]
    own = [claim for claim in tested if _OURS in claim.claim]
    published = [claim for claim in tested if _OURS not in claim.claim]
    parts = [
        f"{sum(bool(claim.holds) for claim in some)} of {len(some)} {whose}"
        for some, whose in ((published, "claims of the paper hold"), (own, "of ours"))
        if some
    ]
    return ", and ".join(parts)


def _sentence(claim: str) -> str:
    return claim.rstrip(".")
