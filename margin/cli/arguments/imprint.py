"""Options that say who publishes something, and when."""

import argparse
import datetime
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..._names import did_you_mean
from ...errors import FileError
from ..common import painted

if TYPE_CHECKING:
    from ... import Synopsis
    from ...publication import Imprint

__all__ = ["add_imprint", "hint", "imprint_of", "read_about"]

_KEYS = (
    "title",
    "description",
    "row_name",
    "unit_name",
    "population",
    "coverage",
    "period",
    "source",
    "publisher",
    "contact",
    "licence",
    "cite",
    "date",
)
"""The options that a file of --about can say, and its keys."""


def add_imprint(parser: argparse.ArgumentParser, default_title: str) -> None:
    """Add the options of a title and an imprint to a command."""
    add = parser.add_argument
    add(
        "--about",
        type=Path,
        metavar="ABOUT.json",
        help="a JSON object with the texts of the options from --title to --date, by their names "
        'such as "title"; margin report and margin publish take the same file, and an option '
        "on the command line goes before it",
    )
    add("--title", help=f"the heading; default: {default_title}")
    add(
        "--description",
        metavar="TEXT",
        help="what the table is and what a row is, in a sentence below the heading",
    )
    add(
        "--row-name",
        metavar="TEXT",
        help="what rows are called in sentences, in the plural, such as people; "
        'default: rows; its key in the file is "row_name"',
    )
    add(
        "--unit-name",
        metavar="TEXT",
        help="what one of those is called who are protected together (--unit of margin release), "
        "in the singular, such as patient; default: the name of the column; its key in the file is "
        '"unit_name"',
    )
    add("--population", metavar="TEXT", help="who is in the table")
    add(
        "--coverage",
        metavar="TEXT",
        help="whether all of them are in the table, or a sample and how it was taken",
    )
    add("--period", metavar="TEXT", help="the time that the table describes")
    add("--source", metavar="TEXT", help="where the rows come from, such as a survey")
    add("--publisher", metavar="TEXT", help="who publishes it, such as an office")
    add("--contact", metavar="TEXT", help="whom readers can ask")
    add("--licence", metavar="TEXT", help="under which licence others may use it")
    add("--cite", metavar="TEXT", help="how to cite it; default: a proposal")
    add(
        "--date",
        type=_date,
        metavar="YYYY-MM-DD",
        help="the date of publication; default: today",
    )


def read_about(parsed: argparse.Namespace) -> None:
    """Take what the file of --about says into the options that the command line does not give.

    Raises
    ------
    FileError
        If the file cannot be read, or says anything but texts for the options.
    """
    if parsed.about is None:
        return
    for key, text in _about(parsed.about).items():
        if getattr(parsed, key) is None:
            setattr(parsed, key, text)


def _about(path: Path) -> dict[str, Any]:
    """The texts in a file of --about, with the date as a date."""
    where = f"--about file {str(path)!r}"
    try:
        pairs = json.loads(path.read_text(encoding="utf-8"), object_pairs_hook=_Pairs)
    except FileNotFoundError:
        raise FileError(
            f'{where} does not exist; write one such as {{"title": "Census 2025", "publisher": '
            '"Office"}, or correct the path'
        ) from None
    except (OSError, ValueError):
        raise FileError(
            f"{where} must be a JSON file in UTF-8, but it cannot be read as one; correct the file"
        ) from None
    if not isinstance(pairs, _Pairs):
        raise FileError(
            f"{where} must hold a JSON object of texts, but it holds something else; write it as "
            'in {"title": "Census 2025", "publisher": "Office"}'
        )
    found: dict[str, Any] = {}
    for key, text in pairs:
        if key not in _KEYS:
            raise FileError(
                f"{where} has the key {key!r}, but its keys can be {', '.join(_KEYS)}; correct or "
                f"remove it{did_you_mean(key, _KEYS)}"
            )
        if key in found:
            raise FileError(f"{where} must have each key once, but it has {key!r} twice; keep one")
        if not isinstance(text, str):
            raise FileError(f"{key!r} in {where} must be a text; put it in quotes")
        found[key] = text
    if "date" in found:
        try:
            found["date"] = _date(found["date"])
        except argparse.ArgumentTypeError as error:
            raise FileError(f"'date' in {where} {error}") from None
    return found


class _Pairs(list[tuple[str, Any]]):
    """The pairs of a JSON object, with keys that occur twice."""


def imprint_of(parsed: argparse.Namespace) -> "Imprint":
    """The imprint that the options of a command line say."""
    from ...publication import Imprint

    return Imprint(
        date=parsed.date or datetime.date.today(),
        publisher=parsed.publisher,
        contact=parsed.contact,
        licence=parsed.licence,
        citation=parsed.cite,
        description=parsed.description,
        row_name=parsed.row_name or "rows",
        unit_name=parsed.unit_name,
        population=parsed.population,
        coverage=parsed.coverage,
        period=parsed.period,
        source=parsed.source,
    )


def hint(parsed: argparse.Namespace, synopsis: "Synopsis") -> None:
    """Print which options would tell readers what they need to know, if these are missing."""
    provenance = synopsis.provenance
    described = provenance is not None and provenance.description
    told = {
        "what a row is (--description)": parsed.description or described,
        "who is in the table (--population)": parsed.population or described,
        "whether these are all or a sample (--coverage)": parsed.coverage or described,
        "the time that it describes (--period)": parsed.period or described,
        "who publishes it (--publisher)": parsed.publisher,
        "whom to ask (--contact)": parsed.contact,
        "under which licence they may use it (--licence)": parsed.licence,
    }
    missing = [what for what, text in told.items() if not text]
    if missing:
        start = painted("margin:", "beware", sys.stderr)
        file = "" if parsed.about else "; --about names one file of such texts for page and folder"
        print(f"{start} readers are not told {', or '.join(missing)}{file}", file=sys.stderr)
    if not (parsed.description or described):
        print(
            "what readers see first is that nobody has said what a row is: add --description",
            file=sys.stderr,
        )


def _date(text: str) -> datetime.date:
    """The date that a text stands for, as the type of an option."""
    try:
        return datetime.date.fromisoformat(text)
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"must be a date such as 2025-12-31, but it is {text!r}; write it like this"
        ) from None
