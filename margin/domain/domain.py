"""What a table may hold, declared by its owner and never learnt from the data: `Domain` and views.

A domain may also say what no row can be (`impossible`), and how many rows there are (`rows`). Both
are public statements of the owner's, like the categories themselves: no data is looked at for them,
or held against them.

A `View` is a tuple of distinct attribute names; its cells are all combinations of their categories,
in the order of the names with the last name varying fastest.
"""

import json
import math
import operator
import os
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import DomainError, FileError
from ..solvers.zeros import Zeros
from .attribute import Attribute
from .rules import Rule, checked_rules, labelled, zeros_of

__all__ = ["DRAFT", "Domain", "View"]

View = tuple[str, ...]

DRAFT = "$draft"
"""The name that marks a domain as derived from the data, until its owner has reviewed it."""

_IMPOSSIBLE, _ROWS = "$impossible", "$rows"
"""Where the JSON form of a domain has its rules and its number of rows."""


class Domain(Mapping[str, Attribute]):
    """The attributes of a table, in order: a read-only mapping from name to `Attribute`.

    Parameters
    ----------
    attributes
        A mapping from names to attributes, or the path of a JSON file that holds one. Each
        attribute is an `Attribute`, an integer size, a list of values, or a mapping with `size`,
        `values` or `bins` and optionally `other` and `missing`. The names "$impossible" and "$rows"
        stand for the next two in a file. Another domain keeps its own.
    impossible
        Rules for what no row can be: each a mapping from attributes to a category or a list of
        them, all combinations of which are impossible. A category is named by its label or by a
        value in it, None being the missing one. Answers and records respect them. They are
        declared, not checked: a row that breaks one is counted like any other.
    rows
        A number of rows that is public anyway, such as an invariant of an agency: estimates add up
        to it exactly. To declare it is to publish it. Unless neighbours replace one row by one row,
        the guarantee does not cover it.

    Raises
    ------
    DomainError
        Names the attribute or the rule that is declared wrongly. When no combination is left that
        is possible. Also raised for a draft made by ``margin domain suggest`` whose mark has not
        been removed: a domain learnt from the data is not private until its owner has declared it.
    FileError
        When the path cannot be read or is not JSON.

    Examples
    --------
    >>> domain = Domain({"age": {"bins": [0, 18, 65, 120]}, "sex": ["F", "M"], "children": 4})
    >>> domain.sizes
    (3, 2, 4)
    >>> domain.cells(["age", "children"])
    12
    >>> Domain({"age": ["child", "adult"], "spouse": 2}, impossible=[{"age": "child", "spouse": 1}], rows=90)
    Domain({'age': 2, 'spouse': 2}, impossible=[{'age': 'child', 'spouse': 1}], rows=90)
    """

    _rules: tuple[Rule, ...] = ()
    _rows: int | None = None

    def __init__(
        self,
        attributes: "Mapping[str, Any] | str | os.PathLike[str]",
        *,
        impossible: Iterable[Mapping[str, Any]] = (),
        rows: int | None = None,
    ) -> None:
        if isinstance(attributes, str | os.PathLike):
            attributes = _read_json(Path(attributes))
        if not isinstance(attributes, Mapping):
            raise DomainError(
                "a domain is a mapping from at least one attribute name to its declaration"
            )
        if DRAFT in attributes:
            raise DomainError(
                f"this domain is a draft derived from the data: check every attribute against what the data may hold, "
                f"then delete its line {DRAFT!r}"
            )
        stated = {name: attributes[name] for name in (_IMPOSSIBLE, _ROWS) if name in attributes}
        forms = (
            {name: form for name, form in attributes.items() if name not in stated}
            if stated
            else attributes
        )
        if not forms:
            raise DomainError(
                "a domain is a mapping from at least one attribute name to its declaration"
            )
        plain: dict[
            int, Attribute
        ] = {}  # by size: an attribute cannot change, so one stands for all of its kind
        self._attributes = {name: _attribute(name, form, plain) for name, form in forms.items()}
        self._declare(stated.get(_IMPOSSIBLE, ()), stated.get(_ROWS))
        if isinstance(attributes, Domain):
            self._declare(attributes.impossible, attributes.rows)
        self._declare(impossible, rows)

    def _declare(self, impossible: object, rows: object) -> None:
        """Add rules and the number of rows, checked; the rules of all are only possible together if
        this passes."""
        if rows is not None:
            if isinstance(rows, bool) or not hasattr(rows, "__index__") or operator.index(rows) < 1:
                raise DomainError(
                    f"rows ({rows!r}) must be a whole number >= 1, or None where it is not public"
                )
            if self._rows not in (None, operator.index(rows)):
                raise DomainError(
                    f"rows is declared twice, as {self._rows} and as {rows}; keep one"
                )
            self._rows = operator.index(rows)
        if rules := checked_rules(self._attributes, impossible):
            self._rules = tuple(sorted({*self._rules, *rules}))
            self.__dict__["zeros"] = zeros_of(self.position, self.sizes, self._rules)

    def __getitem__(self, name: str) -> Attribute:
        try:
            return self._attributes[name]
        except (KeyError, TypeError):
            raise DomainError(
                f"unknown attribute {name!r}; the domain has {_listing(self)}"
            ) from None

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
        return self is other or (
            isinstance(other, Domain)
            and list(self._attributes.items()) == list(other._attributes.items())
            and (self._rules, self._rows) == (other._rules, other._rows)
        )

    def __hash__(self) -> int:
        return hash((tuple(self._attributes.items()), self._rules, self._rows))

    def __repr__(self) -> str:
        attributes = (
            f"{{{', '.join(f'{name!r}: {form.size}' for name, form in self._attributes.items())}}}"
        )
        impossible = f", impossible={list(self.impossible)!r}" if self._rules else ""
        rows = "" if self._rows is None else f", rows={self._rows}"
        return f"Domain({attributes}{impossible}{rows})"

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

    @property
    def impossible(self) -> tuple[dict[str, Any], ...]:
        """The rules for what no row can be; see the parameter."""
        return tuple(labelled(self._attributes, rule) for rule in self._rules)

    @property
    def rows(self) -> int | None:
        """The number of rows, where it is declared to be public."""
        return self._rows

    @cached_property
    def zeros(self) -> Zeros | None:
        """What the rules mean for tables, with axes in the order of the domain; None without rules."""
        return zeros_of(self.position, self.sizes, self._rules) if self._rules else None

    def possible(self, view: Iterable[str]) -> NDArray[np.bool_]:
        """Which cells of a view's table may hold rows: truth values of shape
        ``domain.shape(view)``.

        Also a cell that no rule names is impossible when the rules leave nothing for it, whatever
        the other attributes are.
        """
        axes = self.axes(view)
        if self.zeros is None:
            return np.ones(self.shape(view), np.bool_)
        return ~self.zeros.cells(tuple(sorted(axes))).transpose(np.argsort(np.argsort(axes)))

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
            raise DomainError(
                f"attribute {repeated!r} stands more than once in a view; name it once"
            )
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
        """The domain of the attributes of a view, in the view's order, with the rules that name no
        others; `checked` when `view` has returned it."""
        restricted = object.__new__(Domain)
        restricted._attributes = {
            name: self._attributes[name] for name in (view if checked else self.view(view))
        }
        if self._rules:
            names = restricted._attributes.keys()
            restricted._rules = tuple(
                rule for rule in self._rules if all(name in names for name, _ in rule)
            )
        restricted._rows = self._rows
        return restricted

    def to_json(self) -> str:
        """The JSON text from which `from_json` makes an equal domain."""
        forms = {name: attribute.to_json() for name, attribute in self._attributes.items()}
        if self._rules:
            forms[_IMPOSSIBLE] = list(self.impossible)
        if self._rows is not None:
            forms[_ROWS] = self._rows
        return json.dumps(forms, ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str) -> "Domain":
        """The domain that a JSON text declares."""
        return cls(_parse_json(text, "the text"))


def _attribute(name: object, form: Any, plain: dict[int, Attribute]) -> Attribute:
    if not isinstance(name, str) or not name.strip():
        raise DomainError(f"an attribute's name must be a non-empty text, not {name!r}")
    try:
        if type(form) is not int:
            return Attribute.from_json(form)
        if form not in plain:
            plain[form] = Attribute.from_json(form)
        return plain[form]
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
        raise FileError(
            f"{where} is not JSON: {error.msg} at line {error.lineno}, column {error.colno}"
        ) from None
