"""The README of a publication: what the folder is, in plain text."""

import textwrap
from typing import Any

from ..domain.rules import rule_in_words
from ..synopses.apart import listed_pairs
from ..synopses.source import Source
from .formats import ENDINGS

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

_CHECK = (
    "manifest.json lists every file with its SHA-256. If the folder also holds manifest.json.sig, "
    "its publisher signed it: margin verify FOLDER --key PUBLIC.KEY tells whether any file was "
    "changed, added or removed since. Get the public key from the publisher, not from the same "
    "place as the folder."
)


def readme(manifest: dict[str, Any]) -> str:
    """Describe a folder in words: who publishes it, its tables and columns, and the guarantee.

    Parameters
    ----------
    manifest
        The manifest, with all tables.
    """
    title = _line(manifest["title"])
    parts = [f"{title}\n{'=' * len(title)}\n"]
    if manifest["description"]:
        parts.append(_paragraph(manifest["description"]))
    lines = [f"{head}: {_line(text)}\n" for head, text in manifest["imprint"].items()]
    parts.append("".join(lines))
    parts.append(_heading("Tables") + "".join(map(_table, manifest["tables"])))
    # Each way in which tables were made is told once.
    parts += [_paragraph(how) for how in dict.fromkeys(one["how"] for one in manifest["tables"])]
    pairs = [tuple(pair) for one in manifest["tables"] for pair in one["unmeasured_pairs"]]
    if pairs:
        parts.append(_paragraph(_APART.format(listed_pairs(list(dict.fromkeys(pairs))))))
    parts.append(_files(manifest))
    parts.append(_heading("Columns") + _paragraph(_columns(manifest)))
    rules = manifest["domain"].get("$impossible", [])
    if rules:
        lines = [_paragraph(f"- {rule_in_words(rule)}") for rule in rules]
        parts.append(_heading("Declared as impossible") + _IMPOSSIBLE + "".join(lines))
    parts.append(_heading("How people are protected") + _paragraph(manifest["privacy"]))
    parts.append(_heading("How to check the files") + _paragraph(_CHECK))
    return "\n".join(parts)


def _table(entry: dict[str, Any]) -> str:
    """A line on a table: the name of its files, its attributes, and how it was made."""
    names = ", ".join(map(_line, entry["attributes"]))
    return f"{entry['name']}: {names} ({entry['cells']:,} cells, {Source(entry['source']).short})\n"


def _files(manifest: dict[str, Any]) -> str:
    """The endings of the files of each table."""
    forms = manifest["tables"][0]["files"]
    lines = [f"  {ENDINGS[form]}: {_CONTENTS[form]}\n" for form in forms]
    return "Each table has these files:\n" + "".join(lines)


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
