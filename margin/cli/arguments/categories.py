"""`--categories`: names of categories that are changed after the release, and what is one."""

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...errors import DomainError, FileError

if TYPE_CHECKING:
    import margin

__all__ = ["add_categories", "is_done", "recoded"]


def add_categories(parser: argparse.ArgumentParser) -> None:
    """Add --categories, a file that every command which shows counts reads in the same way."""
    parser.add_argument(
        "--categories",
        type=Path,
        metavar="JSON",
        help="rename categories, or put them together, which spends no budget: a file such as "
        '{"place": {"Centre": ["North", "South"]}}, with the new name and what it stands for',
    )


def recoded(synopsis: "margin.Synopsis", parsed: argparse.Namespace) -> "margin.Synopsis":
    """The synopsis with the categories of --categories, if the command has it.

    Raises
    ------
    FileError
        If the file cannot be read, or changes what the release does not declare.
    """
    path: Path | None = getattr(parsed, "categories", None)
    if path is None:
        return synopsis
    try:
        return synopsis.recoded(_read(path))
    except DomainError as error:
        raise FileError(f"the file of --categories {str(path)!r}: {error}") from None


def is_done(synopsis: "margin.Synopsis", path: Path) -> bool:
    """Whether a release declares the new categories already, and none of the old ones."""
    from ...domain.level_views import attribute_at

    for name, new in _read(path).items():
        try:
            declared = {str(label) for label in attribute_at(synopsis.domain, name).names}
        except DomainError:
            return False
        olds = {str(old) for given in new.values() for old in _listed(given)}
        if not declared.issuperset(new) or declared & (olds - set(new)):
            return False
    return True


def _listed(given: Any) -> list[Any]:
    return list(given) if isinstance(given, list) else [given]


def _read(path: Path) -> Any:
    """The content of the file, in which each name stands once."""
    where = f"the file of --categories {str(path)!r}"
    try:
        return json.loads(path.read_text(encoding="utf-8"), object_pairs_hook=_once)
    except FileNotFoundError:
        raise FileError(
            f'{where} does not exist; write one such as {{"place": {{"Centre": ["North", '
            '"South"]}}, or correct the path'
        ) from None
    except _TwiceError as error:
        raise FileError(f"{where} must have each name once, but it has {error} twice") from None
    except (OSError, ValueError):
        raise FileError(
            f"{where} must be a JSON file in UTF-8, but it cannot be read as one; correct the file"
        ) from None


class _TwiceError(Exception):
    """A name that a JSON object has twice."""


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object, of which no pair replaces another one."""
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise _TwiceError(repr(name))
        found[name] = value
    return found
