"""Options that say who publishes something, and when."""

import argparse
import datetime
import sys
from typing import TYPE_CHECKING

from ..common import painted

if TYPE_CHECKING:
    from ... import Synopsis
    from ...publication import Imprint

__all__ = ["add_imprint", "hint", "imprint_of"]


def add_imprint(parser: argparse.ArgumentParser, default_title: str) -> None:
    """Add the options of a title and an imprint to a command."""
    add = parser.add_argument
    add("--title", help=f"the heading; default: {default_title}")
    add(
        "--description",
        metavar="TEXT",
        help="what the table is and what a row is, in a sentence below the heading",
    )
    add("--population", metavar="TEXT", help="who is in the table")
    add("--period", metavar="TEXT", help="the time that the table describes")
    add("--source", metavar="TEXT", help="where the rows come from, such as a survey")
    add("--publisher", metavar="TEXT", help="who publishes it, such as an office")
    add("--contact", metavar="TEXT", help="whom readers can ask")
    add("--licence", metavar="TEXT", help="under which licence others may use it")
    add("--cite", metavar="TEXT", help="how to cite it; default: a proposal")
    add(
        "--date",
        type=_date,
        default=datetime.date.today(),
        metavar="YYYY-MM-DD",
        help="the date of publication; default: today",
    )


def imprint_of(parsed: argparse.Namespace) -> "Imprint":
    """The imprint that the options of a command line say."""
    from ...publication import Imprint

    return Imprint(
        date=parsed.date,
        publisher=parsed.publisher,
        contact=parsed.contact,
        licence=parsed.licence,
        citation=parsed.cite,
        description=parsed.description,
        population=parsed.population,
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
        "the time that it describes (--period)": parsed.period or described,
        "who publishes it (--publisher)": parsed.publisher,
        "whom to ask (--contact)": parsed.contact,
        "under which licence they may use it (--licence)": parsed.licence,
    }
    missing = [what for what, text in told.items() if not text]
    if missing:
        start = painted("margin:", "beware", sys.stderr)
        print(f"{start} readers are not told {', or '.join(missing)}", file=sys.stderr)
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
