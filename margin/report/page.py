"""The page itself: markup, style, script and a charting library in one file that needs no network."""

import html
import json
import os
from importlib import resources
from pathlib import Path
from typing import Any

from .._replace import replacing
from ..errors import FileError
from ..synopses.synopsis import Synopsis
from .content import content

__all__ = ["page", "write_report"]


def write_report(
    synopsis: Synopsis, path: str | os.PathLike[str], *, title: str | None = None
) -> None:
    """Write a synopsis as one HTML page, to be handed to anyone: it loads nothing from anywhere.

    Parameters
    ----------
    synopsis
        The result of a release, or of a simulation, which the page then says.
    path
        The file.
    title
        The heading; the file's name when not given.

    Raises
    ------
    FileError
        When the synopsis is not the result of a release or simulation, or the file cannot be
        written.
    """
    if synopsis.provenance is None:
        raise FileError("only what `release` or `simulate` returned can be reported on")
    place = Path(path)
    text = page(content(synopsis, title=title or place.stem, live=False))
    with replacing(place) as file:
        file.write(text.encode())


def page(holds: dict[str, Any]) -> str:
    """The page of some content."""
    # No "<" may stand in the data: a category could otherwise end the script.
    data = json.dumps(holds, ensure_ascii=False, allow_nan=False, separators=(",", ":")).replace(
        "<", "\\u003c"
    )
    parts = {
        "TITLE": html.escape(holds["title"]),
        "STYLE": _asset("page.css"),
        "LIBRARY": _asset("vega.min.js") + "\n" + _asset("vega-lite.min.js"),
        "DATA": data,
        "SCRIPT": _asset("page.js"),
        "LICENSES": html.escape(_asset("LICENSES.txt")),
    }
    pieces = _asset("page.html").split("@@")
    return "".join(
        parts.get(piece, piece) if place % 2 else piece for place, piece in enumerate(pieces)
    )


def _asset(name: str) -> str:
    return resources.files(__package__).joinpath("assets", name).read_text(encoding="utf-8")
