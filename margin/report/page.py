"""`write_report`: a release as one HTML file that needs no network."""

import html
import json
import os
from importlib import resources
from pathlib import Path
from typing import Any

from .._replace import replacing
from ..errors import FileError
from ..publication.imprint import Imprint
from ..synopses.synopsis import Synopsis, check_synopsis
from .content import content

__all__ = ["page", "write_report"]


def write_report(
    synopsis: Synopsis,
    path: str | os.PathLike[str],
    *,
    title: str | None = None,
    imprint: Imprint | None = None,
) -> None:
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

    Raises
    ------
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
    text = page(
        content(
            synopsis,
            title=title or place.stem,
            live=False,
            imprint=imprint,
        )
    )
    with replacing(place) as file:
        file.write(text.encode())


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
    parts = {
        "TITLE": html.escape(holds["title"]),
        "STYLE": _asset("page.css"),
        "LIBRARY": _asset("vega.min.js") + "\n" + _asset("vega-lite.min.js"),
        "DATA": data,
        "SCRIPT": _asset("page.js"),
        "LICENSES": html.escape(_asset("LICENSES.txt")),
    }
    # In the template, @@NAME@@ stands for a part. So after the split, every second piece is a name.
    pieces = _asset("page.html").split("@@")
    for place in range(1, len(pieces), 2):
        name = pieces[place]
        pieces[place] = parts.get(name, name)
    return "".join(pieces)


def _asset(name: str) -> str:
    return resources.files(__package__).joinpath("assets", name).read_text(encoding="utf-8")
