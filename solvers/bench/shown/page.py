"""One HTML page with everything about a comparison; it loads nothing, and fits a phone."""

import html
import io
import math
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from .facts import facts
from .notes import busy, improved, uneven
from .pictures import (
    INK,
    draw_data_profile,
    draw_failures,
    draw_gaps,
    draw_performance_profile,
)
from .summaries import summary
from .tables import caption, shown
from .times import Clock, Row, by_family, in_words

__all__ = ["page", "write_page"]

# A table that goes on at a side has a shade there; what covers the shade moves with the table.
_STYLE = """
:root { color-scheme: light dark; --ink: #1b1f24; --quiet: #57606a; --line: #d0d7de;
  --paper: #ffffff; --wash: #1b1f240d; --bad: #b3261e; --shade: #1b1f2466; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e8eb; --quiet: #a0a8b1; --line: #3a4149;
  --paper: #14171a; --wash: #e6e8eb12; --bad: #ff8a80; --shade: #e6e8eb66; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 76rem; padding: 1rem; font: 16px/1.5 system-ui, sans-serif;
  color: var(--ink); background: var(--paper); }
h1 { font-size: 1.6rem; margin: 0 0 .25rem; overflow-wrap: anywhere; }
h2 { font-size: 1.25rem; margin: 2rem 0 .5rem; border-bottom: 1px solid var(--line); }
h3 { font-size: 1rem; margin: 0; }
p { max-width: 46rem; margin: .4rem 0; }
.quiet { color: var(--quiet); font-size: .9rem; overflow-wrap: anywhere; }
.pictures { display: grid; gap: 1.5rem; margin: 1rem 0;
  grid-template-columns: repeat(auto-fill, minmax(min(22rem, 100%), 1fr)); }
figure { margin: 0; }
figure svg { width: 100%; height: auto; max-width: 34rem; color: var(--ink); }
figcaption { font-size: .9rem; color: var(--quiet); }
.scroll { overflow-x: auto;
  background:
    linear-gradient(to right, var(--paper) 1rem, transparent) left / 3rem 100% local,
    linear-gradient(to left, var(--paper) 1rem, transparent) right / 3rem 100% local,
    linear-gradient(to right, var(--shade), transparent) left / 1rem 100%,
    linear-gradient(to left, var(--shade), transparent) right / 1rem 100%;
  background-repeat: no-repeat; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: .92rem; }
th, td { padding: .2rem .6rem; border-bottom: 1px solid var(--line); text-align: left;
  white-space: nowrap; }
thead th { background: var(--wash); }
td.number, th.number { text-align: right; }
td.long { white-space: normal; min-width: 16rem; }
.wrong { color: var(--bad); font-weight: 600; }
"""

_ABOUT = """Every answer was checked by code that no solver shares: feasibility and objective were
recomputed, and a claim that they contradict is called wrong. An instance counts as solved if the
answer is feasible and as good as the best known one, or the best one found here if that is better,
within the stated gap."""

_PICTURES = {
    "Performance profile": (
        draw_performance_profile,
        "Share of all instances that a solver solves within a factor of the fastest solver's time. "
        "Higher is better; factors depend on who takes part. An instance that a solver was not "
        "tried on counts as not solved.",
    ),
    "Data profile": (
        draw_data_profile,
        "Share of all instances that a solver solves within some seconds.",
    ),
    "Gap against time": (
        draw_gaps,
        "The answer of the fastest warm solve of each instance, where a best value is known; gaps "
        "of 1e-9 or less are below the line, in a row for each solver. Curves are the answers of "
        "this solve on the way, where solvers tell them, against wall seconds less those of "
        "waiting for a processor.",
    ),
}


def write_page(
    rows: Iterable[Row],
    path: str | Path,
    *,
    title: str = "Solvers compared",
    clock: Clock = "cpu",
) -> None:
    """Write the page of a comparison to a file; see `page`.

    Parameters
    ----------
    rows, title, clock
        See `page`.
    path
        The file to write.

    Raises
    ------
    OSError
        If the file cannot be written.
    """
    Path(path).write_text(page(rows, title=title, clock=clock), encoding="utf-8")


def page(
    rows: Iterable[Row],
    *,
    title: str = "Solvers compared",
    clock: Clock = "cpu",
) -> str:
    """Make the HTML text of a page: for each family a table, profiles, gaps and failures.

    Parameters
    ----------
    rows
        The rows of a comparison, of any families.
    title
        The heading.
    clock
        Processor or wall seconds; see `times`.

    Raises
    ------
    ValueError
        If there are no rows.
    RuntimeError
        If matplotlib is not installed.
    """
    held = list(rows)
    parts = [_section(family, part, clock) for family, part in by_family(held).items()]
    if not parts:
        raise ValueError("there must be at least one row, but there is none; run bench.compare")
    name = html.escape(title)
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; '
        "style-src 'unsafe-inline'\">"
        f"<title>{name}</title><style>{_STYLE}</style></head><body>"
        f"<h1>{name}</h1>{_made(held)}<p>{_ABOUT}</p>{''.join(parts)}{_wrong(held)}"
        "</body></html>\n"
    )


def _section(
    family: str,
    rows: list[Row],
    clock: Clock,
) -> str:
    """The part of the page about one family."""
    count = len({row["instance"] for row in rows})
    figures = []
    for name, (draw, text) in _PICTURES.items():
        if draw is draw_gaps and all(math.isnan(row["gap"]) for row in rows):
            continue
        figure = draw(rows, clock=clock)
        figures.append(_figure(figure, f"{family}-{name}", name, text))
    failed = draw_failures(rows)
    text = "The worst solve of each instance counts."
    lines = [*caption(clock), *improved(rows), *uneven(rows), *_solved_by(rows), *busy(rows)]
    below = "".join(f'<p class="quiet">{html.escape(line)}</p>' for line in lines)
    figures.append(_figure(failed, f"{family}-outcomes", "Outcomes", text))
    return (
        f"<h2>{html.escape(family)}: {in_words(count)}</h2>"
        f'<div class="scroll">{_table(summary(rows, clock=clock))}</div>{below}'
        f'<div class="pictures">{"".join(figures)}</div>'
    )


def _solved_by(rows: list[Row]) -> list[str]:
    """A sentence with the library of each solver and the solver inside, if the rows tell them."""
    found = {}
    for row in rows:
        if row.get("library"):
            inside = f"{row['inside']} in " if row.get("inside") else ""
            found[row["solver"]] = f"{inside}{row['library']}"
    if not found:
        return []
    named = ", ".join(f"{solver} by {library}" for solver, library in found.items())
    return [f"solved by these packages: {named}"]


def _table(lines: list[dict[str, Any]]) -> str:
    """The summary of one family as a table."""
    names = [name for name in lines[0] if name != "family"]
    marks = {name: "" if isinstance(lines[0][name], str) else ' class="number"' for name in names}
    head = "".join(f"<th{marks[name]}>{html.escape(name)}</th>" for name in names)
    body = []
    for line in lines:
        cells = "".join(f"<td{marks[name]}>{_cell(name, line)}</td>" for name in names)
        body.append(f"<tr>{cells}</tr>")
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(body)}</tbody></table>"


def _cell(name: str, line: dict[str, Any]) -> str:
    text = html.escape(shown(name, line))
    return f'<span class="wrong">{text}</span>' if name == "wrong" and line[name] else text


def _figure(figure: Any, salt: str, name: str, text: str) -> str:
    """A picture with its caption, as SVG in the page's own colours."""
    return (
        f"<figure><h3>{name}</h3>{_svg(figure, salt, name)}"
        f"<figcaption>{html.escape(text)}</figcaption></figure>"
    )


def _svg(figure: Any, salt: str, name: str) -> str:
    """A figure as the text of an SVG element whose text and axes have the colour of the page."""
    import matplotlib

    file = io.StringIO()
    # Text stays text, and the names of parts differ from picture to picture.
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": salt}):
        figure.savefig(file, format="svg", metadata={"Date": None}, transparent=True)
    text = file.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    # Element names such as figure_1 would occur once in each picture.
    text = re.sub(r'(<g) id="[a-z0-9_.]+"', r"\1", text)
    text = re.sub(r"font: ([\d.]+)px [^;\"]*", r"font: \1px system-ui, sans-serif", text)
    label = f'<svg role="img" aria-label="{html.escape(name)}"'
    return text.replace(INK, "currentColor").replace("<svg", label, 1)


def _made(rows: list[Row]) -> str:
    """How the rows were made: machine, versions, limits, dates."""
    return f'<p class="quiet">{html.escape("; ".join(facts(rows)))}</p>'


def _wrong(rows: list[Row]) -> str:
    """The list of wrong answers, and of solves that ended without one."""
    bad = (
        "wrong",
        "inaccurate",
        "raised",
        "died",
        "memory",
        "time",
        "lost",
        "nothing",
        "unsupported",
    )
    seen = dict.fromkeys(
        (row["outcome"], row["solver"], row["instance"], row["cause"])
        for row in rows
        if row["outcome"] in bad
    )
    if not seen:
        return "<h2>What went wrong</h2><p>Nothing.</p>"
    ordered = sorted(seen, key=lambda entry: (bad.index(entry[0]), entry[1:]))
    lines = []
    for outcome, solver, instance, cause in ordered:
        mark = ' class="wrong"' if outcome == "wrong" else ""
        cells = [f"<td{mark}>{outcome}</td>"]
        cells += [f"<td>{html.escape(text)}</td>" for text in (solver, instance)]
        cells.append(f'<td class="long">{html.escape(cause)}</td>')
        lines.append(f"<tr>{''.join(cells)}</tr>")
    head = "<tr><th>outcome</th><th>solver</th><th>instance</th><th>why</th></tr>"
    return (
        '<h2>What went wrong</h2><div class="scroll"><table>'
        f"<thead>{head}</thead><tbody>{''.join(lines)}</tbody></table></div>"
    )
