"""`write_report`: a release as one HTML file that needs no network."""

import html
import json
import os
import re
from collections.abc import Iterable
from importlib import resources
from pathlib import Path
from typing import Any

from .._replace import replacing
from ..errors import FileError
from ..privacy.statement import Bound
from ..publication.adding import ADDED_UP
from ..publication.imprint import Imprint
from ..synopses.source import Source
from ..synopses.synopsis import Synopsis, check_synopsis
from .content import content
from .held import table_sources

__all__ = ["page", "write_report"]

_ADDRESS = re.compile(r"(https?://[^\s<>\"']*[^\s<>\"'.,;:!?)]|[\w.+-]+@[\w-]+(?:\.[\w-]+)+)")
"""An address of the web or of e-mail in a text. A full stop behind it does not belong to it."""

_SCRIPTS = (
    "data",
    "answers",
    "state",
    "picker",
    "lines",
    "shares",
    "words",
    "choices",
    "table",
    "charts",
    "files",
    "address",
    "sections",
    "start",
)
"""The files of the page's script, which is one text in the page, in their order."""

_ON_AVERAGE = (
    "Do not compare the \u00b1 of reconstructed tables with that of measured ones: bounds of "
    "reconstructed tables hold for 95 % of such numbers on average, and in one table many true "
    "numbers may lie outside."
)
"""Why the widths of bounds do not say which of two tables is more exact."""

_CHANGES_ABOVE = 400
"""Largest number of characters on changed categories above the counts. Longer ones have a section
of their own below the counts."""

_NAMED = 8
"""Number of names of attributes in a sentence, above which the last ones are counted."""


def write_report(
    synopsis: Synopsis,
    path: str | os.PathLike[str],
    *,
    title: str | None = None,
    imprint: Imprint | None = None,
    tables: Iterable[Iterable[str]] | None = None,
) -> dict[Source, int]:
    """Write a synopsis as a single HTML page.

    The page loads nothing from a network, so one file is all that a reader needs.

    Parameters
    ----------
    synopsis
        The result of a release or of a simulation. The page of a simulation says that it is not
        private.
    path
        The file to write.
    title
        The heading of the page. By default, the name of the file without its ending.
    imprint
        Who publishes the page, and when. By default, the page has today's date and a proposal how
        to cite it.
    tables
        The tables that the page shows, with the smaller tables of their attributes. By default, as
        many tables as fit.

    Returns
    -------
    dict
        The number of tables of counts that the page holds, by how they were made.

    Raises
    ------
    DomainError
        If one of `tables` is not a view of the domain, or they are too many for a page.
    FileError
        If the synopsis is not the result of a release or simulation, or if the file cannot be
        written.
    """
    check_synopsis(synopsis)
    if synopsis.provenance is None:
        raise FileError(
            "only the result of `release` or `simulate` can be shown in a report, but this "
            "synopsis is not one; pass what they return"
        )
    place = Path(path)
    holds = content(
        synopsis,
        title=title or place.stem,
        live=False,
        imprint=imprint,
        tables=tables,
    )
    text = page(holds)
    with replacing(place) as file:
        file.write(text.encode())
    return table_sources(holds)


def page(holds: dict[str, Any]) -> str:
    """Make the HTML text of a page from its content, the result of `content`."""
    data = json.dumps(
        holds,
        ensure_ascii=False,
        allow_nan=False,
        separators=(",", ":"),
    )
    # Escape every "<" in the data. A category could otherwise end the script.
    data = data.replace("<", "\\u003c")
    has_tables = bool(holds["views"] or holds["answers"] or holds["live"])
    # A server can answer each table, so any way of making tables may occur.
    sources = list(Source) if holds["live"] else list(table_sources(holds))
    is_estimated = any(source.is_reconstructed for source in sources)
    is_reconstructed = any(source.has_no_view for source in sources)
    left_out = _some_left_out(holds["statement"])
    *in_short, in_numbers = holds["words"]
    changes = _changes(holds["changed"])
    # What readers without JavaScript need is part of the page's text.
    parts = {
        "TITLE": html.escape(holds["title"]),
        "FACTS": html.escape(_facts(holds, has_tables=has_tables)),
        "UNSAID": _linked(holds["unsaid"]),
        "SILENT": _shown(bool(holds["unsaid"])),
        "TOTAL": html.escape(_total(holds)),
        "COVERED": _linked(holds["covered"] if has_tables else ""),
        "UNITS": html.escape(holds["by_unit"]),
        "ROWS": html.escape(holds["row_name"]),
        "TRUE": html.escape(f"of counted {holds['row_name']}" if left_out else "in the table"),
        "CHANGED": changes if len(changes) <= _CHANGES_ABOVE else _changes_below(holds["changed"]),
        "CHANGES": _lines({name: f"{'; '.join(told)}." for name, told in holds["changed"].items()}),
        "MANY": _shown(len(changes) > _CHANGES_ABOVE),
        "SIMULATION": _shown(not holds["private"]),
        "WORDS": "".join(f"<p>{html.escape(words)}</p>" for words in in_short),
        "NUMBERS": html.escape(in_numbers),
        "GUARANTEE": html.escape(holds["guarantee"]),
        "MECHANISM": html.escape(holds["mechanism"]),
        "DOMAIN": html.escape(str(holds["statement"]["domain"])),
        "OTHER": _shown(not holds["views"]),
        "SUMMARY": _lines(holds["summary"]),
        "ELSEWHERE": _shown(not has_tables),
        "TABLES": _shown(has_tables),
        "ESTIMATED": " and for what was not measured" if is_estimated else "",
        "RECONSTRUCTED": f" {ADDED_UP}" if is_reconstructed else "",
        "AVERAGE": f" {_ON_AVERAGE}" if is_reconstructed else "",
        "IMPRINT": _lines(holds["imprint"]),
        "VERSION": html.escape(holds["version"]),
        "STYLE": _asset("page.css"),
        "LIBRARY": _asset("vega.min.js") + "\n" + _asset("vega-lite.min.js"),
        "DATA": data,
        "SCRIPT": "\n".join(_asset("page", f"{name}.js") for name in _SCRIPTS),
        "LICENSES": html.escape(_asset("LICENSES.txt")),
    }
    # In the template, @@NAME@@ stands for a part. So after the split, every second piece is a name.
    pieces = _asset("page.html").split("@@")
    for place in range(1, len(pieces), 2):
        name = pieces[place]
        pieces[place] = parts.get(name, name)
    return "".join(pieces)


def _facts(holds: dict[str, Any], *, has_tables: bool) -> str:
    """The sentences below the heading: what the release is about, and that it has noise."""
    description = holds["description"] or ""
    # The description may end without a full stop.
    if description and not re.search(r"[.!?][\"')]?$", description):
        description += "."
    names = [one["name"] for one in holds["attributes"] if one["level_of"] is None]
    about = f"Numbers of {holds['row_name']} by" if has_tables else "A release about"
    noise = "Random noise was added for privacy, as told below."
    return f"{description} {about} {_listed(names)}. {noise}".lstrip()


def _changes(changed: dict[str, list[str]]) -> str:
    """What categories stand for that were changed after the release, as HTML; empty if none is."""
    if not changed:
        return ""
    told = [f"Of {name}: {'; '.join(sentences)}." for name, sentences in changed.items()]
    return html.escape(" ".join(["Categories were changed after the release.", *told]))


def _changes_below(changed: dict[str, list[str]]) -> str:
    """That categories were changed, and where the page says what they stand for, as HTML."""
    names = html.escape(_listed(changed))
    link = '<a href="#changes-section">what each new one stands for</a>'
    return f"Categories of {names} were changed after the release: see {link}."


def _listed(names: Iterable[str]) -> str:
    """Some names in a sentence; of many, the first ones."""
    few = list(names)
    if len(few) > _NAMED:
        few = [*few[: _NAMED - 1], f"{len(few) - _NAMED + 1} more attributes"]
    *others, last = few
    return f"{', '.join(others)} and {last}" if others else last


def _total(holds: dict[str, Any]) -> str:
    """A sentence with the number of all rows and its bounds; empty if the page has no tables."""
    total = holds["total"]
    if total is None:
        return ""
    statement = holds["statement"]
    rows, limit, counted = holds["row_name"], "", ""
    beware = f" {holds['units']}" if holds["units"] else ""
    if _some_left_out(statement):
        counted = f" of counted {rows}"
        limit = f" (at most {statement['rows']} of each {holds['unit_name']})"
        beware += f" How many {rows} were not counted is not known here."
        rows = f"counted {rows}"
    if total["source"] == Source.KNOWN.value:
        return f"{total['count']:,} {rows}{limit} in all, a number that is public.{beware}"
    start = f"About {total['count']:,} {rows}{limit} in all"
    if total["low"] is None:
        return f"{start}. How far the true number{counted} is from it is not known.{beware}"
    sure = "with a probability of about 95 %"
    if total["source"] == Source.ANSWERED.value:
        sure = "as far as noise goes"
    if Source(total["source"]).is_reconstructed:
        sure = "by bounds that hold for 95 % of such numbers on average"
    bounds = f"the true number{counted} is {total['low']:,} to {total['high']:,}"
    return f"{start}: {sure}, {bounds}.{beware}"


def _some_left_out(statement: dict[str, Any]) -> bool:
    """Whether rows of a person may have been left out, as `someLeftOut` of the page says."""
    stated = statement["bound"] == Bound.DECLARED_AND_ENFORCED.value
    return statement["unit"] is not None and not stated


def _lines(texts: dict[str, str]) -> str:
    """The lines of a description list, with their heads."""
    lines = [
        f"<dt>{html.escape(head)}</dt><dd>{_linked(text)}</dd>" for head, text in texts.items()
    ]
    return "".join(lines)


def _linked(text: str) -> str:
    """A text as HTML, in which addresses of the web and of e-mail are links."""
    # Every second piece is an address.
    pieces = _ADDRESS.split(text)
    for place, piece in enumerate(pieces):
        shown = html.escape(piece)
        start = "" if "://" in piece else "mailto:"
        pieces[place] = f'<a href="{start}{shown}">{shown}</a>' if place % 2 else shown
    return "".join(pieces)


def _shown(wanted: bool) -> str:
    """The attribute of an element that hides it unless it is wanted."""
    return "" if wanted else "hidden"


def _asset(*names: str) -> str:
    return resources.files(__package__).joinpath("assets", *names).read_text(encoding="utf-8")
