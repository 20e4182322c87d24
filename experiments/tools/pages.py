"""A Markdown page for an experiment: claims, measurements, and whether the claims hold."""

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from experiments.tools import study
from experiments.tools.manifest import summary
from experiments.tools.readings import FILE, Claim, Readings, numbers, png, save

__all__ = ["Claim", "markdown", "page", "short"]


_NO_CLAIMS = "No claim is checked: claims are about tables or budgets of the whole study. "


def page(
    path: Path,
    *,
    title: str,
    about: str,
    claims: Sequence[Claim] = (),
    pictures: Iterable[Path] = (),
    rows: Sequence[dict[str, Any]] = (),
    notes: Iterable[str] = (),
    readings: Sequence[dict[str, Any]] = (),
) -> str:
    """Write a page to `path`, and return it; write its readings to readings.json beside it.

    Parameters
    ----------
    path
        The .md file.
    title, about
        The heading, and a paragraph: which data, sizes, budgets, how it was run.
    claims
        Become a table: claim, measured, holds.
    pictures
        Files. Those that end in .png are shown, with links relative to the page.
    rows
        A table of numbers, see `markdown`.
    notes
        Paragraphs at the end: what differs from the paper, what failed.
    readings
        The numbers for readings.json, if they are not `rows`.
    """
    pictures, notes = list(pictures), list(notes)
    parts = [f"# {title}", *_head(path.parent, has_claims=bool(claims)), about]
    if claims:
        table = [
            {"claim": c.claim, "measured": c.detail or c.measured, "holds": c.verdict}
            for c in claims
        ]
        parts += ["## Claim by claim", markdown(table)]
    shown = [picture for picture in pictures if picture.suffix == ".png"]
    parts += [f"![{title}]({os.path.relpath(picture, path.parent)})" for picture in shown]
    if rows:
        parts += ["## Numbers", markdown(rows)]
    if notes:
        parts += ["## Notes", *notes]
    text = "\n\n".join(parts) + "\n"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    lines = [
        line for file in sorted(path.parent.glob("*.manifest.csv")) for line in study.read(file)
    ]
    found = Readings(
        title=title,
        about=about,
        claims=tuple(claims),
        pictures=png(pictures),
        rows=numbers(readings or rows),
        notes=tuple(notes),
        manifest=summary(lines),
    )
    save(found, path.parent / FILE)
    return text


def _head(folder: Path, *, has_claims: bool) -> list[str]:
    """The paragraphs at the top of a page: what a smoke run measured, and that measurements are
    missing, by the last sweeps into a folder."""
    paragraphs = []
    sweeps = [(keys, rows) for keys, rows in study.swept(folder) if keys]
    if study.smoke:
        measured = [_listed(keys, rows) for keys, rows in sweeps]
        paragraphs.append(
            "**Smoke run**: a test that the study runs, at its smallest size. "
            + "".join(f"Measured: {values}. " for values in measured if values)
            + ("A claim that holds at this size is no evidence. " if has_claims else _NO_CLAIMS)
            + "Where the text names other tables, sizes or numbers of runs, it describes the whole "
            "study."
        )
    # A key that was not run has one row.
    missing = sum(row.get(study.STATUS) == study.NOT_RUN for _, rows in sweeps for row in rows)
    if missing:
        total = sum(len(keys) for keys, _ in sweeps)
        paragraphs.append(
            f"**Not complete**: {missing:,} of the {total:,} measurements of the study were not "
            "run. The page is about the others."
        )
    return paragraphs


def _listed(keys: Sequence[study.Key], rows: Sequence[study.Row]) -> str:
    """The values of the keys that were run, as "data: `biased`, `ratings`; seed: `1`"."""
    run = [row for row in rows if row.get(study.STATUS) != study.NOT_RUN]
    columns = {name: dict.fromkeys(f"`{row[name]}`" for row in run) for name in keys[0]}
    return "; ".join(f"{name}: {', '.join(values)}" for name, values in columns.items() if values)


def markdown(rows: Sequence[dict[str, Any]], *, digits: int = 4) -> str:
    """Rows with equal columns as a Markdown table.

    Numbers are rounded to some significant digits.
    """
    if not rows:
        return "no rows"
    names = list(rows[0])
    lines = ["| " + " | ".join(names) + " |", "|" + "---|" * len(names)]
    lines += [
        "| " + " | ".join(_short(row.get(name, ""), digits) for name in names) + " |"
        for row in rows
    ]
    return "\n".join(lines)


def _short(value: Any, digits: int) -> str:
    try:
        return short(float(value), digits)
    except (TypeError, ValueError):
        return str(value).replace("|", "\\|").replace("\n", " ")


def short(value: float, digits: int = 3) -> str:
    """A number with some significant digits; whole where it has more digits before the point."""
    if 10 ** (digits - 1) <= abs(value) < 1e9:
        return f"{value:,.0f}"
    return f"{value:.{digits}g}"
