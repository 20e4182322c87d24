"""A Markdown page for an experiment: claims, measurements, and whether the claims hold."""

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from experiments.tools.manifest import summary
from experiments.tools.readings import FILE, Claim, Readings, numbers, png, save
from experiments.tools.study import read

__all__ = ["Claim", "markdown", "page", "short"]


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
    parts = [f"# {title}", about]
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
    lines = [line for file in sorted(path.parent.glob("*.manifest.csv")) for line in read(file)]
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
