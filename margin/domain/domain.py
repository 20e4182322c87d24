"""`Domain`: the attributes of a table and their categories, declared by the owner of the table and
never learnt from the data.

A domain may also declare impossible combinations of categories (`impossible`) and the number of
rows (`rows`). Like the categories, both are public statements of the owner. margin neither derives
them from the data nor checks the data against them.

A `View` is a tuple of distinct attribute names. Its cells are all combinations of their categories,
in the order of the names, with the last name varying fastest.
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

from .._axes import in_order_of
from .._names import did_you_mean
from ..errors import DomainError, FileError
from ..solvers.zeros import Zeros
from .attribute import Attribute
from .levels import LEVEL_MARK
from .rules import Rule, checked_rules, labelled, zeros_of

__all__ = ["DRAFT", "Domain", "View", "refuse_files"]

View = tuple[str, ...]

DRAFT = "$draft"
"""The key that marks a domain as derived from the data, until its owner has reviewed it."""

_IMPOSSIBLE = "$impossible"
"""The key of the rules in the JSON form of a domain."""

_ROWS = "$rows"
"""The key of the number of rows in the JSON form of a domain."""


class Domain(Mapping[str, Attribute]):
    """A read-only mapping from the names of a table's attributes, in order, to `Attribute`.

    Parameters
    ----------
    attributes
        A mapping from names to attributes, or the path of a JSON file with such a mapping. Each
        attribute is an `Attribute`, an integer size, a list of values, or a mapping with the
        parameters of `Attribute`. The keys "$impossible" and "$rows" declare the next two
        parameters in a file. Another domain keeps its own rules and rows. In a file, the path of a
        file of levels is relative to the folder of the file.
    impossible
        Rules that state impossible combinations of categories. A rule is a mapping from attributes
        to a category or a list of categories, and all combinations of these are impossible. A
        category is named by its label or by a value in it; None names the missing one. A level,
        such as "place@state", stands for the categories of its nodes. Answers and
        records respect the rules. The data is not checked against them: a row that breaks a rule
        is counted like any other.
    rows
        The number of rows, if it is public anyway, such as an invariant of a statistical agency.
        Estimates then add up to it exactly. Declaring it publishes it. The privacy guarantee does
        not cover it unless neighbours differ by replacing one row.

    Raises
    ------
    DomainError
        When an attribute or a rule is declared wrongly; the message names it. When the rules leave
        no possible combination. When the domain is a draft by ``margin domain suggest`` that is
        still marked as one: a domain learnt from the data is not private until its owner has
        reviewed it.
    FileError
        When the file cannot be read or is not JSON.

    Examples
    --------
    >>> domain = Domain({"age": {"bins": [0, 18, 65, 120]}, "sex": ["F", "M"], "children": 4})
    >>> domain.sizes
    (3, 2, 4)
    >>> domain.cells(["age", "children"])
    12
    >>> married_child = {"age": "child", "spouse": 1}
    >>> Domain({"age": ["child", "adult"], "spouse": 2}, impossible=[married_child], rows=90)
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
            path = Path(attributes)
            attributes = _with_folder(_read_json(path), path.parent)
        if not isinstance(attributes, Mapping):
            raise DomainError(
                'a domain must be a mapping from attribute names to declarations, such as {"age": '
                f'{{"bins": [0, 18, 120]}}}}; it is of type {type(attributes).__name__}, so pass a '
                "dict or the path of a JSON file"
            )
        if DRAFT in attributes:
            raise DomainError(
                "a domain must be declared without the data, but this one is a draft derived from "
                "the data; check every attribute against the values that the data may hold, then "
                f"delete the line {DRAFT!r}"
            )
        # Separate the attributes from what a file declares beside them.
        stated = {name: attributes[name] for name in (_IMPOSSIBLE, _ROWS) if name in attributes}
        forms = attributes
        if stated:
            forms = {name: form for name, form in attributes.items() if name not in stated}
        if not forms:
            raise DomainError(
                "a domain must declare at least one attribute, but it declares none; add the "
                "attributes of the table"
            )
        # An attribute is immutable, so all attributes of one size share one object.
        plain: dict[int, Attribute] = {}
        self._attributes = {name: _attribute(name, form, plain) for name, form in forms.items()}
        _check_marks(self._attributes)
        self._declare(stated.get(_IMPOSSIBLE, ()), stated.get(_ROWS))
        if isinstance(attributes, Domain):
            self._declare(attributes.impossible, attributes.rows)
        self._declare(impossible, rows)

    def _declare(
        self,
        impossible: object,
        rows: object,
    ) -> None:
        """Add rules and the number of rows to those declared before. DomainError if they are wrong,
        or if all rules together leave no possible combination."""
        if rows is not None:
            if isinstance(rows, bool) or not hasattr(rows, "__index__") or operator.index(rows) < 1:
                raise DomainError(
                    f"rows ({rows!r}) must be a whole number >= 1, or None if it is not public; "
                    "pass one of these"
                )
            number = operator.index(rows)
            if self._rows not in (None, number):
                raise DomainError(
                    f"rows must be declared once, but it is declared as {self._rows} and as "
                    f"{number}; keep one of them"
                )
            self._rows = number
        rules = checked_rules(self._attributes, impossible)
        if rules:
            self._rules = tuple(sorted({*self._rules, *rules}))
            self.__dict__["zeros"] = zeros_of(self.position, self.sizes, self._rules)

    def __getitem__(self, name: str) -> Attribute:
        try:
            return self._attributes[name]
        except (KeyError, TypeError):
            if name in self.level_names:
                raise DomainError(
                    f"{name!r} is a level, but an attribute is needed here; name the attribute "
                    f"{name.rpartition(LEVEL_MARK)[0]!r}"
                ) from None
            raise DomainError(
                f"unknown attribute {name!r}; the domain has {_listing(self)}, so name one of "
                f"these{did_you_mean(name, self._attributes)}"
            ) from None

    def get(
        self,
        name: str,
        default: Any = None,
    ) -> Any:
        """The attribute with the given name, or `default` if there is none."""
        return self._attributes.get(name, default)

    def __contains__(self, name: object) -> bool:
        return name in self._attributes

    def __iter__(self) -> Iterator[str]:
        return iter(self._attributes)

    def __len__(self) -> int:
        return len(self._attributes)

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, Domain):
            return False
        if list(self._attributes.items()) != list(other._attributes.items()):
            return False
        return (self._rules, self._rows) == (other._rules, other._rows)

    def __hash__(self) -> int:
        return hash((tuple(self._attributes.items()), self._rules, self._rows))

    def __repr__(self) -> str:
        sizes = {name: attribute.size for name, attribute in self._attributes.items()}
        impossible = f", impossible={list(self.impossible)!r}" if self._rules else ""
        rows = "" if self._rows is None else f", rows={self._rows}"
        return f"Domain({sizes!r}{impossible}{rows})"

    @cached_property
    def attributes(self) -> tuple[str, ...]:
        """The names of the attributes, in order."""
        return tuple(self._attributes)

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """The number of categories of each attribute, in order."""
        return tuple(attribute.size for attribute in self._attributes.values())

    @cached_property
    def position(self) -> dict[str, int]:
        """The position of each attribute in the domain, counted from 0."""
        return {name: axis for axis, name in enumerate(self._attributes)}

    @cached_property
    def level_names(self) -> tuple[str, ...]:
        """The names of all levels, such as "place@state"."""
        return tuple(
            f"{name}{LEVEL_MARK}{level}"
            for name, attribute in self._attributes.items()
            if attribute.levels is not None
            for level in attribute.levels.names
        )

    @property
    def impossible(self) -> tuple[dict[str, Any], ...]:
        """The rules that state impossible combinations of categories, in the form in which `Domain`
        accepts them."""
        return tuple(labelled(self._attributes, rule) for rule in self._rules)

    @property
    def rows(self) -> int | None:
        """The number of rows if it is declared as public, otherwise None."""
        return self._rows

    @cached_property
    def zeros(self) -> Zeros | None:
        """The impossible cells of tables, with axes in the order of the domain; None without
        rules."""
        return zeros_of(self.position, self.sizes, self._rules) if self._rules else None

    def possible(self, view: Iterable[str]) -> NDArray[np.bool_]:
        """Whether each cell of a view's table can hold rows: truth values of shape
        ``domain.shape(view)``.

        A cell may be impossible although no rule names it. This is so if the rules exclude every
        combination of the other attributes with it.
        """
        axes = self.axes(view)
        if self.zeros is None:
            return np.ones(self.shape(view), np.bool_)
        impossible = self.zeros.cells(tuple(sorted(axes)))
        return ~in_order_of(impossible, axes)

    def view(self, names: Iterable[str]) -> View:
        """Check attribute names and return them as a view. A single name makes a view of one
        attribute.

        Raises
        ------
        DomainError
            When there is no name, or a name is unknown or occurs twice.
        """
        if isinstance(names, str):
            names = (names,)
        view = tuple(names) if isinstance(names, Iterable) else ()
        if not view:
            listed = isinstance(names, Iterable)
            found = "empty" if listed else f"of type {type(names).__name__}"
            raise DomainError(
                'a view must be a list of at least one attribute, such as ["age"], but it is '
                f"{found}; name the attributes"
            )
        for name in view:
            self[name]
        if len(set(view)) < len(view):
            repeated = next(name for name in view if view.count(name) > 1)
            raise DomainError(
                f"a view must name each attribute once, but attribute {repeated!r} occurs more "
                "than once; name it once"
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

    def restrict(
        self,
        view: Iterable[str],
        *,
        checked: bool = False,
    ) -> "Domain":
        """The domain of the attributes of a view, in the view's order.

        It keeps the number of rows, and the rules that name no other attributes. Pass
        ``checked=True`` only if `view` was returned by the method `view`.
        """
        names = view if checked else self.view(view)
        restricted = object.__new__(Domain)
        restricted._attributes = {name: self._attributes[name] for name in names}
        if self._rules:
            kept = restricted._attributes.keys()
            rules = [rule for rule in self._rules if all(name in kept for name, _ in rule)]
            restricted._rules = tuple(rules)
        restricted._rows = self._rows
        return restricted

    def to_json(self) -> str:
        """A JSON text from which `from_json` makes an equal domain."""
        forms = {name: attribute.to_json() for name, attribute in self._attributes.items()}
        if self._rules:
            forms[_IMPOSSIBLE] = list(self.impossible)
        if self._rows is not None:
            forms[_ROWS] = self._rows
        return json.dumps(forms, ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str) -> "Domain":
        """The domain that is declared in a JSON text, which must not name other files."""
        forms = _parse_json(text, "the text")
        refuse_files(forms)
        return cls(forms)


def _attribute(
    name: object,
    form: Any,
    plain: dict[int, Attribute],
) -> Attribute:
    """Make the attribute that is declared under a name. Attributes given by a size alone are
    shared: `plain` holds one for each size."""
    if not isinstance(name, str) or not name.strip():
        raise DomainError(
            f"the name of an attribute must be a non-empty text, but it is {name!r}; give it a name"
        )
    try:
        if type(form) is not int:
            return Attribute.from_json(form)
        if form not in plain:
            plain[form] = Attribute.from_json(form)
        return plain[form]
    except (DomainError, TypeError) as error:
        problem = str(error)
    raise DomainError(f"attribute {name!r}: {problem}")


def _check_marks(attributes: Mapping[str, Attribute]) -> None:
    """Refuse an attribute that has the name of a level of another one."""
    for name in attributes:
        if LEVEL_MARK not in name:
            continue
        owner, _, level = name.rpartition(LEVEL_MARK)
        tree = attributes[owner].levels if owner in attributes else None
        if tree is not None and level in tree.names:
            raise DomainError(
                f"attribute {name!r} has the same name as level {level!r} of attribute {owner!r}; "
                "rename one of them"
            )


def _files_of_levels(forms: Any) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The attributes in the JSON form of a domain whose levels name a file, with these levels."""
    for name, form in forms.items() if isinstance(forms, Mapping) else ():
        levels = form.get("levels") if isinstance(form, Mapping) else None
        if isinstance(levels, Mapping) and "file" in levels:
            yield name, levels


def refuse_files(forms: Any) -> None:
    """Refuse the JSON form of a domain that names a file of levels.

    Anyone may have written a text or a .margin file, so that reading one must read no other file.

    Raises
    ------
    DomainError
        When it names a file.
    """
    for name, _ in _files_of_levels(forms):
        raise DomainError(
            f"attribute {name!r}: levels must be written out as paths here, but they name a file; "
            "read the domain from a JSON file of its own"
        )


def _with_folder(forms: Any, folder: Path) -> Any:
    """The JSON form of a domain with paths of files of levels that start at a folder."""
    changed = {}
    for name, levels in _files_of_levels(forms):
        if isinstance(levels["file"], str):
            changed[name] = {**forms[name], "levels": {**levels, "file": folder / levels["file"]}}
    return {**forms, **changed} if changed else forms


def _listing(names: Iterable[str], most: int = 12) -> str:
    """The first names for an error message, and how many there are if they are more."""
    listed = list(names)
    more = f", ... ({len(listed)} in all)" if len(listed) > most else ""
    return ", ".join(map(repr, listed[:most])) + more


def _read_json(path: Path) -> Any:
    problem = ""
    try:
        return _parse_json(path.read_text(encoding="utf-8-sig"), str(path))
    except FileNotFoundError:
        problem = "does not exist; check the path"
    except (OSError, UnicodeDecodeError) as error:
        kind = type(error).__name__
        problem = f"must be a text in UTF-8, but it cannot be read ({kind}); correct the file"
    raise FileError(f"domain file {str(path)!r} {problem}")


def _parse_json(text: str, where: str) -> Any:
    def no_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        seen: set[str] = set()
        for name, _ in pairs:
            if name in seen:
                raise DomainError(
                    f"{where} must declare each name once, but {name!r} is declared twice; keep "
                    "one of the declarations"
                )
            seen.add(name)
        return dict(pairs)

    try:
        return json.loads(text, object_pairs_hook=no_repeats)
    except json.JSONDecodeError as error:
        raise FileError(
            f"{where} must be JSON, but it is not: {error.msg} at line {error.lineno}, column "
            f"{error.colno}; correct it there"
        ) from None
