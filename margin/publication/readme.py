"""The README of a publication: what the folder is, in plain text."""

import itertools
import textwrap
from typing import Any

from ..domain.attribute import Attribute
from ..domain.domain import Domain
from ..domain.levels import LEVEL_MARK
from ..domain.recoding.categories import sentences
from ..domain.rules import rule_in_words
from ..synopses.source import Source
from .adding import ADDED_UP, adding
from .apart import listed_pairs
from .formats import ENDINGS
from .quality import QUALITY, listed, told
from .rows import unexplained
from .spreadsheets import OPENING

__all__ = ["README", "readme"]

README = "README.txt"
"""The name of the file."""

_WIDTH = 80

_CONTENTS = {
    "csv": "text for spreadsheets and programs",
    "csvw": "the description of the CSV file, as CSVW",
    "parquet": "Parquet",
    "json-stat": "JSON-stat 2.0",
    "sdmx-csv": "SDMX-CSV 2.0",
}
"""What the files of each format are."""

_APART = (
    "No measured table holds these attributes together: {}. What connects the two of a pair is not "
    "in any table of this folder, except for what both have in common with other attributes. "
    "manifest.json lists these pairs for each table."
)
"""What reconstructed tables do not say."""

_IMPOSSIBLE = (
    "No row can be in these combinations. Their count, low and high are 0 by declaration.\n"
)
"""What the rules are that follow."""

_CHANGED = (
    "Their counts are sums of counts of the release, with the bounds of these sums, so they cost "
    "no budget. The release itself has the names on the right."
)
"""What changed categories are."""

_CHANGE = (
    "Changes since the base: these tables lean towards it, and their errors are in part its own. "
    "So add up the squares of the two half-widths of a count, those of the earlier publication and "
    "of this one: for most counts, their change is wrong by less than the root of this sum. But a "
    "count that changed far more than others has most often changed by more than was published."
)
"""What tables that were combined with an earlier release say of changes."""

_MOST_LEAVES = 500
"""Largest number of leaves of an attribute whose levels the README lists."""

_QUOTING = (
    "Quote a single number, or a sum with its bounds, from the page of this release, if its "
    "publisher offers one. Take these files for tables whose totals must agree. A count may differ "
    "a little between the two, within its bounds; the bounds are the same, or a little wider here."
)
"""Which numbers to take from the page, and which from the folder."""

_PROGRAMS = (
    'A program reads manifest.json: stop if its format is not "{}", and find tables by their '
    "attributes, not by the names of files. The documentation of margin describes its fields, and "
    "the columns of the tables, in docs/reference/folder.md."
)
"""How a program reads a folder."""

_CHECK = (
    "manifest.json lists every file with its SHA-256. If the folder also holds manifest.json.sig, "
    "its publisher signed it: margin verify FOLDER --key PUBLIC.KEY tells whether any file was "
    "changed, added or removed since. Get the public key from the publisher, not from the same "
    "place as the folder. seed in manifest.json is that of the search for whole numbers that "
    "agree, no more: the noise of the release has no seed."
)


def readme(manifest: dict[str, Any], several: str = "") -> str:
    """Describe a folder in words: who publishes it, its tables and columns, and the guarantee.

    Parameters
    ----------
    manifest
        The manifest, with all tables.
    several
        That several rows may be of one unit; see `by_unit`.
    """
    title = _line(manifest["title"])
    parts = [f"{title}\n{'=' * len(title)}\n"]
    if manifest["description"]:
        parts.append(_paragraph(manifest["description"]))
    if manifest["unsaid"]:
        parts.append(_paragraph(manifest["unsaid"]))
    lines = [f"{head}: {_line(text)}\n" for head, text in manifest["imprint"].items()]
    parts.append("".join(lines))
    parts.append(_heading("Which numbers to quote") + _paragraph(_quoting(manifest, several)))
    parts.append(_heading("Tables") + "".join(map(_table, manifest["tables"])))
    # Each way in which tables were made is told once.
    parts += [_paragraph(how) for how in dict.fromkeys(one["how"] for one in manifest["tables"])]
    based = any(one["source"] == Source.BASED.value for one in manifest["tables"])
    if based and manifest["base"]["kind"] == "release":
        parts.append(_paragraph(_CHANGE))
    pairs = [tuple(pair) for one in manifest["tables"] for pair in one["unmeasured_pairs"]]
    if pairs:
        parts.append(_paragraph(_APART.format(listed_pairs(list(dict.fromkeys(pairs))))))
    parts.append(_heading("How accurate the tables are") + _quality(manifest))
    parts.append(_files(manifest))
    parts.append(_heading("Columns") + _paragraph(_columns(manifest)) + _descriptions(manifest))
    if any(entry["source"] == Source.MEASURED.value for entry in manifest["tables"]):
        words = adding(
            has_contact="Contact" in manifest["imprint"], has_smaller=_has_smaller(manifest)
        )
        parts.append(_heading("Sums and differences") + _paragraph(words))
    parts += _levels(manifest)
    if manifest["categories"]:
        told = [
            _paragraph(f"- {name}: {sentence}.")
            for name, new in manifest["categories"].items()
            for sentence in sentences(new)
        ]
        parts.append(
            _heading("Categories changed after the release") + _paragraph(_CHANGED) + "".join(told)
        )
    rules = manifest["domain"].get("$impossible", [])
    if rules:
        lines = [_paragraph(f"- {rule_in_words(rule)}") for rule in rules]
        parts.append(_heading("Declared as impossible") + _IMPOSSIBLE + "".join(lines))
    parts.append(_heading("How people are protected") + _paragraph(manifest["privacy"]))
    programs = _paragraph(_PROGRAMS.format(manifest["format"]))
    parts.append(_heading("How programs read the files") + programs)
    parts.append(_heading("How to check the files") + _paragraph(_CHECK))
    return "\n".join(parts)


def _quoting(manifest: dict[str, Any], several: str) -> str:
    """Which numbers to quote, and as numbers of what."""
    reconstructed = any(entry["reconstructed"] for entry in manifest["tables"])
    added_up = ADDED_UP if reconstructed else ""
    parts = [_QUOTING, added_up, several]
    return " ".join(part for part in parts if part)


def _has_smaller(manifest: dict[str, Any]) -> bool:
    """Whether a table has some of the attributes of a measured one, but not all."""
    sets = [set(one["attributes"]) for one in manifest["tables"]]
    measured = [
        set(one["attributes"])
        for one in manifest["tables"]
        if one["source"] == Source.MEASURED.value
    ]
    return any(smaller < larger for smaller in sets for larger in measured)


def _table(entry: dict[str, Any]) -> str:
    """A line on a table: the name of its files, its attributes, how it was made, and how far its
    bounds reach."""
    names = ", ".join(map(_line, entry["attributes"]))
    farthest = entry["farthest_bound"]
    reach = "" if farthest is None else f"; low and high at most {farthest:,} from count"
    made = Source(entry["source"]).short
    return f"{entry['name']}: {names} ({entry['cells']:,} cells, {made}{reach})\n"


def _quality(manifest: dict[str, Any]) -> str:
    """The list of quality, and what its columns mean."""
    rows = listed(manifest["tables"])
    words = f"{told(manifest['uncertain_above'])} {QUALITY} has the same list."
    return f"{rows}\n\n{_paragraph(words)}"


def _files(manifest: dict[str, Any]) -> str:
    """The endings of the files of each table."""
    forms = manifest["tables"][0]["files"]
    lines = [f"  {ENDINGS[form]}: {_CONTENTS[form]}\n" for form in forms]
    listed = "Each table has these files:\n" + "".join(lines)
    return f"{listed}\n{_paragraph(OPENING)}" if "csv" in forms else listed


def _levels(manifest: dict[str, Any]) -> list[str]:
    """A part for each level in the tables but the lowest: which nodes of the next level belong to
    its nodes. Periods are known to readers."""
    parts = []
    for name, form in _asked(manifest).items():
        tree = form.levels
        if tree is None or form.dates is not None:
            continue
        if form.size > _MOST_LEAVES:
            words = f"manifest.json lists what belongs to what, as the paths of {name}."
            parts.append(_heading(f"Levels of {_line(name)}") + _paragraph(words))
            continue
        for place, (level, lower) in enumerate(itertools.pairwise(tree.names)):
            title = f"What of {_line(lower)} belongs to which {_line(level)} ({_line(name)})"
            nodes = zip(tree.labels[place], tree.members(place), strict=True)
            lines = [_paragraph(f"- {node}: {', '.join(map(str, own))}") for node, own in nodes]
            parts.append(_heading(title) + "".join(lines))
    return parts


def _asked(manifest: dict[str, Any]) -> dict[str, Attribute]:
    """The attributes of which a table has a column, by name or at one of their levels."""
    asked = {name for entry in manifest["tables"] for name in entry["attributes"]}
    found = {}
    for name, form in Domain(manifest["domain"]).items():
        levels = form.levels.names if form.levels else ()
        if asked.intersection({name, *(f"{name}{LEVEL_MARK}{level}" for level in levels)}):
            found[name] = form
    return found


def _descriptions(manifest: dict[str, Any]) -> str:
    """What the columns of attributes say, one after another, and which of them say nothing."""
    asked = _asked(manifest)
    told = [
        _paragraph(f"- {name}: {form.description}")
        for name, form in asked.items()
        if form.description is not None
    ]
    parts = ["".join(["\n", *told])] if told else []
    silent = [name for name, form in asked.items() if form.description is None]
    if silent:
        words = unexplained(silent, manifest["imprint"].get("Contact"))
        parts.append("\n" + _paragraph(words))
    return "".join(parts)


def _columns(manifest: dict[str, Any]) -> str:
    return (
        "Each row is one combination of categories: a column for each attribute, then count, low "
        f"and high. {manifest['meaning']}"
    )


def _heading(text: str) -> str:
    return f"{text}\n{'-' * len(text)}\n"


def _paragraph(text: str) -> str:
    return textwrap.fill(_line(text), _WIDTH, break_long_words=False, break_on_hyphens=False) + "\n"


def _line(text: str) -> str:
    """A text in one line, without characters that change how a screen shows it."""
    return "".join(letter if letter.isprintable() else " " for letter in text)
