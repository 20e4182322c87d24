"""A Markdown page for an experiment: claims, measurements, and whether the claims hold."""

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Claim:
    """A claim and its measurement.

    Attributes
    ----------
    claim
        What the paper says, or what we expect.
    measured
        What we measured, with the figures.
    holds
        Whether the one bears out the other; None when the run cannot tell.
    why
        Where it does not hold or cannot be told: why.
    """

    claim: str
    measured: str
    holds: bool | None
    why: str = ""

    @property
    def verdict(self) -> str:
        """ "Yes", "no" or "not tested", with the reason."""
        word = {True: "yes", False: "**no**", None: "not tested"}[self.holds]
        return f"{word}: {self.why}" if self.why else word


def page(
    path: Path,
    *,
    title: str,
    about: str,
    claims: Sequence[Claim] = (),
    pictures: Iterable[Path] = (),
    rows: Sequence[dict[str, Any]] = (),
    notes: Iterable[str] = (),
) -> str:
    """Write a page to `path`, and return it.

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
    """
    parts = [f"# {title}", about]
    if claims:
        table = [{"claim": c.claim, "measured": c.measured, "holds": c.verdict} for c in claims]
        parts += ["## Claim by claim", markdown(table)]
    shown = [picture for picture in pictures if picture.suffix == ".png"]
    parts += [f"![{title}]({os.path.relpath(picture, path.parent)})" for picture in shown]
    if rows:
        parts += ["## Numbers", markdown(rows)]
    listed = list(notes)
    if listed:
        parts += ["## Notes", *listed]
    text = "\n\n".join(parts) + "\n"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
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
        return f"{float(value):.{digits}g}"
    except (TypeError, ValueError):
        return str(value).replace("|", "\\|").replace("\n", " ")
