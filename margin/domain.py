"""What a table may hold, declared by its owner and never learnt from the data: `Domain` and views.

A `View` is a tuple of distinct attribute names; its cells are all combinations of their categories, in the order of the
names with the last name varying fastest.
"""

import json
import math
import os
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from .attribute import Attribute
from .errors import DomainError, FileError

__all__ = ["DRAFT", "Domain", "View"]

View = tuple[str, ...]

DRAFT = "$draft"
"""The name that marks a domain as derived from the data, until its owner has reviewed it."""


class Domain(Mapping[str, Attribute]):
    """The attributes of a table, in order: a read-only mapping from name to `Attribute`.

    Parameters
    ----------
    attributes
        A mapping from names to attributes, or the path of a JSON file that holds one. Each attribute is an `Attribute`,
        an integer size, a list of values, or a mapping with `size`, `values` or `bins` and optionally `other` and
        `missing`.

    Raises
    ------
    DomainError
        Names the attribute that is declared wrongly. Also raised for a draft made by ``margin domain suggest`` whose
        mark has not been removed: a domain learnt from the data is not private until its owner has declared it.
    FileError
        When the path cannot be read or is not JSON.

    Examples
    --------
    >>> domain = Domain({"age": {"bins": [0, 18, 65, 120]}, "sex": ["F", "M"], "children": 4})
    >>> domain.sizes
    (3, 2, 4)
    >>> domain.cells(["age", "children"])
    12
    """

    def __init__(self, attributes: "Mapping[str, Any] | str | os.PathLike[str]") -> None:
        if isinstance(attributes, str | os.PathLike):
            attributes = _read_json(Path(attributes))
        if not isinstance(attributes, Mapping) or not attributes:
            raise DomainError("a domain is a mapping from at least one attribute name to its declaration")
        if DRAFT in attributes:
            raise DomainError(
                f"this domain is a draft derived from the data: check every attribute against what the data may hold, "
                f"then delete its line {DRAFT!r}"
            )
        self._attributes = {name: _attribute(name, form) for name, form in attributes.items()}

    def __getitem__(self, name: str) -> Attribute:
        try:
            return self._attributes[name]
        except (KeyError, TypeError):
            raise DomainError(f"unknown attribute {name!r}; the domain has {_listing(self)}") from None

    def get(self, name: str, default: Any = None) -> Any:
        """The attribute of that name, or `default`."""
        return self._attributes.get(name, default)

    def __contains__(self, name: object) -> bool:
        return name in self._attributes

    def __iter__(self) -> Iterator[str]:
        return iter(self._attributes)

    def __len__(self) -> int:
        return len(self._attributes)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Domain) and list(self._attributes.items()) == list(other._attributes.items())

    def __hash__(self) -> int:
        return hash(tuple(self._attributes.items()))

    def __repr__(self) -> str:
        return f"Domain({{{', '.join(f'{name!r}: {form.size}' for name, form in self._attributes.items())}}})"

    @cached_property
    def attributes(self) -> tuple[str, ...]:
        """The names, in order."""
        return tuple(self._attributes)

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """The number of categories of each attribute, in order."""
        return tuple(attribute.size for attribute in self._attributes.values())

    @cached_property
    def position(self) -> dict[str, int]:
        """The place of each attribute in the domain."""
        return {name: axis for axis, name in enumerate(self._attributes)}

    def view(self, names: Iterable[str]) -> View:
        """The names as a checked view; a single name may stand for itself.

        Raises
        ------
        DomainError
            When there is no name, one is unknown, or one stands twice.
        """
        if isinstance(names, str):
            names = (names,)
        view = tuple(names) if isinstance(names, Iterable) else ()
        if not view:
            raise DomainError("a view needs at least one attribute")
        for name in view:
            self[name]
        if len(set(view)) < len(view):
            repeated = next(name for name in view if view.count(name) > 1)
            raise DomainError(f"attribute {repeated!r} stands more than once in a view; name it once")
        return view

    def axes(self, view: Iterable[str]) -> tuple[int, ...]:
        """The positions of a view's attributes in the domain."""
        return tuple(self.position[name] for name in self.view(view))

    def shape(self, view: Iterable[str]) -> tuple[int, ...]:
        """The number of categories of each attribute of a view."""
        return tuple(self[name].size for name in self.view(view))

    def cells(self, view: Iterable[str]) -> int:
        """The number of cells of a view's table."""
        return math.prod(self.shape(view))

    def restrict(self, view: Iterable[str], *, checked: bool = False) -> "Domain":
        """The domain of the attributes of a view, in the view's order; `checked` when `view` has returned it."""
        restricted = object.__new__(Domain)
        restricted._attributes = {name: self._attributes[name] for name in (view if checked else self.view(view))}
        return restricted

    def to_json(self) -> str:
        """The JSON text from which `from_json` makes an equal domain."""
        forms = {name: attribute.to_json() for name, attribute in self._attributes.items()}
        return json.dumps(forms, ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str) -> "Domain":
        """The domain that a JSON text declares."""
        return cls(_parse_json(text, "the text"))


def _attribute(name: object, form: Any) -> Attribute:
    if not isinstance(name, str) or not name.strip():
        raise DomainError(f"an attribute's name must be a non-empty text, not {name!r}")
    try:
        return Attribute.from_json(form)
    except (DomainError, TypeError) as error:
        problem = str(error)
    raise DomainError(f"attribute {name!r}: {problem}")


def _listing(names: Iterable[str], most: int = 12) -> str:
    listed = list(names)
    more = f", ... ({len(listed)} in all)" if len(listed) > most else ""
    return ", ".join(map(repr, listed[:most])) + more


def _read_json(path: Path) -> Any:
    problem = ""
    try:
        return _parse_json(path.read_text(encoding="utf-8-sig"), str(path))
    except FileNotFoundError:
        problem = "does not exist"
    except (OSError, UnicodeDecodeError) as error:
        problem = f"cannot be read ({type(error).__name__})"
    raise FileError(f"domain file {str(path)!r} {problem}")


def _parse_json(text: str, where: str) -> Any:
    def no_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        seen: set[str] = set()
        for name, _ in pairs:
            if name in seen:
                raise DomainError(f"{where}: {name!r} is declared twice; keep one")
            seen.add(name)
        return dict(pairs)

    try:
        return json.loads(text, object_pairs_hook=no_repeats)
    except json.JSONDecodeError as error:
        raise FileError(f"{where} is not JSON: {error.msg} at line {error.lineno}, column {error.colno}") from None
