"""`Domain`: the attributes of a table and their categories, declared by the owner of the table and
never learnt from the data.

A domain may also declare impossible combinations of categories (`impossible`), the number of rows
(`rows`) and tables of counts that are public anyway (`known`). Like the categories, these are
public statements of the owner. margin neither derives them from the data nor checks the data
against them.

A `View` is a tuple of distinct attribute names. Its cells are all combinations of their categories,
in the order of the names, with the last name varying fastest.
"""

import json
import math
import operator
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._axes import in_order_of
from .._names import did_you_mean, explains_calls
from ..errors import DomainError, FileError
from ..notebook import html_table
from ..solvers import Known
from ..solvers.zeros import Zeros
from .attribute import Attribute
from .determined import Determined, checked_determined
from .exports import domain_to_pandas
from .known import KnownCounts, check_possible, checked_known, solver_form, zero_rules
from .levels import LEVEL_MARK
from .rules import Rule, checked_rules, labelled, zeros_of

__all__ = [
    "DRAFT",
    "Domain",
    "GivenDomain",
    "View",
    "check_domain",
    "domain_of",
    "read_draft",
    "refuse_files",
    "refuse_table",
]

View = tuple[str, ...]

DRAFT = "$draft"
"""The key that marks a domain as derived from the data, until its owner has reviewed it."""

_IMPOSSIBLE = "$impossible"
"""The key of the rules in the JSON form of a domain."""

_ROWS = "$rows"
"""The key of the number of rows in the JSON form of a domain."""

_DETERMINED = "$determined"
"""The key of the determined attributes in the JSON form of a domain."""

_KNOWN = "$known"
"""The key of the known tables in the JSON form of a domain."""


_TABLES = (".csv", ".tsv", ".parquet", ".pq")
"""The endings of files that hold rows and no domain."""


class Domain(Mapping[str, Attribute]):
    """A read-only mapping from the names of a table's attributes, in order, to `Attribute`.

    Parameters
    ----------
    attributes
        A mapping from names to attributes, or the path of a JSON file with such a mapping. Each
        attribute is an `Attribute`, an integer size, a list of values, or a mapping with the
        parameters of `Attribute`. The keys "$impossible", "$rows", "$known" and "$determined"
        declare the next parameters in a file. Another domain keeps its own. In a file, the path of
        a file of levels is relative to the folder of the file.
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
    known
        Tables that are public anyway, such as the population of each state: a mapping from views to
        arrays of whole numbers, with axes in the order of the view. A view names attributes, or
        levels such as "place@state". Answers, tables and records agree with them exactly; a count
        of zero makes its combination impossible. They also declare the number of rows. Declaring
        them publishes them, and the privacy guarantee does not cover what they say. A file holds a
        list of ``{"view": [...], "counts": [...]}``.
    determined
        Attributes of which another one determines the category, as a county determines the state.
        Other combinations are impossible, as by rules. A mapping from such attributes to the level
        that they repeat, as in ``{"state": "place@state"}``; or to the other attribute with a table
        of its categories, as in ``{"state": {"county": {"Fresno": "CA", "Clark": "NV"}}}``, or with
        a list of pairs of them. Its missing and other categories may be left out, and then
        determine nothing.

    Raises
    ------
    DomainError
        When an attribute, a rule, a known table or a determined attribute is declared wrongly; the
        message names it. When the rules leave no possible combination, or known tables contradict
        each other or the rules. When the domain is a draft by ``margin domain suggest`` that is
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
    _known: tuple[KnownCounts, ...] = ()
    _determined: tuple[Determined, ...] = ()
    _left_out: Mapping[str, str] = MappingProxyType({})

    @explains_calls(named='declare the attributes in a mapping, as in Domain({"sex": ["F", "M"]})')
    def __init__(
        self,
        attributes: "Mapping[str, Any] | str | os.PathLike[str]",
        *,
        impossible: Iterable[Mapping[str, Any]] = (),
        rows: int | None = None,
        known: Mapping[Any, Any] | None = None,
        determined: Mapping[str, Any] | None = None,
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
        keys = (_IMPOSSIBLE, _ROWS, _KNOWN, _DETERMINED)
        stated = {name: attributes[name] for name in keys if name in attributes}
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
        self._declare_determined(stated.get(_DETERMINED))
        if isinstance(attributes, Domain):
            self._declare_determined(attributes.determined)
        self._declare_determined(determined)
        tables = [*_listed_known(stated.get(_KNOWN, [])), *_pairs(known)]
        if isinstance(attributes, Domain):
            tables += attributes.known.items()
        self._declare_known(tables)

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

    def _declare_determined(self, given: Any) -> None:
        """Add determined attributes. DomainError if the declaration is wrong, or leaves no possible
        combination."""
        if given is None:
            return
        found = checked_determined(self._attributes, given)
        self._determined = tuple(dict.fromkeys([*self._determined, *found]))
        self.__dict__.pop("zeros", None)
        _ = self.zeros

    def _declare_known(self, known: Iterable[tuple[Any, Any]]) -> None:
        """Set the known tables. DomainError if they are wrong, or contradict what was declared."""
        tables = checked_known(self._attributes, known)
        if not tables:
            return
        total = int(tables[0].counts.sum())
        if self._rows not in (None, total):
            raise DomainError(
                f"the known table of ({tables[0].listed}) must have the declared number of rows as "
                f"total, {self._rows:,}, but its total is {total:,}; correct one of them"
            )
        self._rows = total
        self._known = tuple(table for table in tables if table.view)
        # Zeros of the known tables are impossible, as by rules.
        self.__dict__.pop("zeros", None)
        if self.constraints is not None:
            check_possible(self.constraints, self._known)

    def __getitem__(self, name: str) -> Attribute:
        try:
            return self._attributes[name]
        except (KeyError, TypeError):
            if name in self.level_names:
                raise DomainError(
                    f"{name!r} is a level, but an attribute is needed here; name the attribute "
                    f"{name.rpartition(LEVEL_MARK)[0]!r}"
                ) from None
            if isinstance(name, str) and name in self._left_out:
                raise DomainError(self._left_out[name]) from None
            named = (*self.level_names, *self._left_out)
            levels = [full for full in named if full.rpartition(LEVEL_MARK)[2] == name]
            meant = f"; did you mean {levels[0]!r}?" if levels else self._several(name)
            raise DomainError(
                f"unknown attribute {name!r}; the domain has {_listing(self)}, so name one of "
                f"these{meant or did_you_mean(name, self._attributes)}"
            ) from None

    def _several(self, text: object) -> str:
        """What to write if a text names several attributes; empty if it does not."""
        names = re.split(r"[,\s]+", text.strip()) if isinstance(text, str) else []
        if len(names) < 2 or not all(name in self or name in self.level_names for name in names):
            return ""
        return f"; if you mean several attributes, pass a list: {names!r}"

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
        return self._facts == other._facts

    def __hash__(self) -> int:
        return hash((tuple(self._attributes.items()), self._facts))

    def __repr__(self) -> str:
        sizes = {name: attribute.size for name, attribute in self._attributes.items()}
        impossible = f", impossible={list(self.impossible)!r}" if self._rules else ""
        rows = "" if self._rows is None else f", rows={self._rows}"
        known = f", known={{{', '.join(map(repr, self.known))}}}" if self._known else ""
        by = f", determined={dict(self.determined)!r}" if self._determined else ""
        return f"Domain({sizes!r}{impossible}{rows}{known}{by})"

    def _repr_html_(self) -> str:
        rules = f", {len(self._rules)} rules of impossible combinations" if self._rules else ""
        rows = "" if self._rows is None else f", {self._rows:,} rows (public)"
        heading = f"Domain of {len(self)} attributes{rules}{rows}"
        return html_table(heading, domain_to_pandas(self))

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
    def left_out(self) -> Mapping[str, str]:
        """The names of levels that `Synopsis.recoded` left out, each with why, and what to do."""
        return self._left_out

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
        """The impossible cells of tables, with axes in the order of the domain: by rules, by
        determined attributes, and where a known count is zero. None if there is none."""
        dependence = (rule for one in self._determined for rule in one.rules())
        zeros = zero_rules(self._attributes, self._known)
        rules = sorted({*self._rules, *dependence, *zeros})
        return zeros_of(self.position, self.sizes, rules) if rules else None

    @property
    def determined(self) -> Mapping[str, Any]:
        """The determined attributes; see the parameter `determined`."""
        attributes = self._attributes
        return MappingProxyType({one.name: one.to_json(attributes) for one in self._determined})

    @property
    def linked(self) -> tuple[frozenset[str], ...]:
        """The sets of attributes that one rule, or one determined attribute, connects."""
        rules = (frozenset(name for name, _ in rule) for rule in self._rules)
        pairs = (frozenset({one.name, one.by}) for one in self._determined)
        return tuple(dict.fromkeys([*rules, *pairs]))

    @property
    def _facts(self) -> tuple[Any, ...]:
        """All that is declared beside the attributes."""
        return self._rules, self._rows, self._known, self._determined

    @property
    def known(self) -> Mapping[View, NDArray[np.int64]]:
        """The known tables, by their views; see the parameter `known`."""
        return MappingProxyType({table.names: table.counts for table in self._known})

    def knows(self, view: Iterable[str]) -> bool:
        """Whether the table of a set of attributes is known: it is a sum of known counts."""
        names = set(view)
        if not names:
            return self._rows is not None
        return any(names <= table.cell_by_cell for table in self._known)

    @cached_property
    def constraints(self) -> Known | None:
        """The number of rows and the known tables, as the solvers take them; None without any."""
        if self._rows is None:
            return None
        if not self._known:
            return Known.of_total(self.sizes, self._rows, self.zeros)
        return solver_form(self.position, self.sizes, self._known, self.zeros)

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
        elif not isinstance(names, tuple | list):
            refuse_table("a view", names)
        # Tuples are recognised much faster than what is iterable.
        view = tuple(names) if isinstance(names, (tuple, Iterable)) else ()
        if not view:
            listed = isinstance(names, Iterable)
            found = "empty" if listed else f"of type {type(names).__name__}"
            raise DomainError(
                'a view must be a list of at least one attribute, such as ["age"], but it is '
                f"{found}; name the attributes"
            )
        try:
            distinct = set(view)
        except TypeError:  # a name that cannot be looked up: the loop below refuses it
            distinct = set()
        if len(distinct) == len(view) and self._attributes.keys() >= distinct:
            return view
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
        return tuple([self._attributes[name].size for name in self.view(view)])

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

        It keeps the number of rows, the sums of known tables, and the rules that name no other
        attributes. Pass ``checked=True`` only if `view` was returned by the method `view`.
        """
        names = view if checked else self.view(view)
        restricted = object.__new__(Domain)
        restricted._attributes = {name: self._attributes[name] for name in names}
        if self._rules:
            kept = restricted._attributes.keys()
            rules = [rule for rule in self._rules if all(name in kept for name, _ in rule)]
            restricted._rules = tuple(rules)
        restricted._rows = self._rows
        if self._determined:
            kept = restricted._attributes.keys()
            pairs = [one for one in self._determined if {one.name, one.by} <= kept]
            restricted._determined = tuple(pairs)
        if self._known:
            sums = [table.on(restricted._attributes) for table in self._known]
            restricted._known = tuple({table.names: table for table in sums if table.view}.values())
        return restricted

    def to_json(self) -> str:
        """A JSON text from which `from_json` makes an equal domain."""
        forms = {name: attribute.to_json() for name, attribute in self._attributes.items()}
        if self._rules:
            forms[_IMPOSSIBLE] = list(self.impossible)
        if self._rows is not None:
            forms[_ROWS] = self._rows
        if self._determined:
            forms[_DETERMINED] = dict(self.determined)
        if self._known:
            forms[_KNOWN] = [
                {"view": table.names, "counts": table.counts.tolist()} for table in self._known
            ]
        return json.dumps(forms, ensure_ascii=False)

    def without_totals(self) -> "Domain":
        """The same domain without the public number of rows and the known tables.

        Examples
        --------
        >>> Domain({"a": 2}, rows=10).without_totals() == Domain({"a": 2})
        True
        """
        return Domain(self._attributes, impossible=self.impossible, determined=self.determined)

    @classmethod
    def from_json(cls, text: str) -> "Domain":
        """The domain that is declared in a JSON text, which must not name other files.

        Raises
        ------
        DomainError
            When `text` is no text, or declares an attribute wrongly.
        FileError
            When the text is not JSON.
        """
        if not isinstance(text, str | bytes | bytearray):
            raise DomainError(
                f"from_json needs a JSON text, but it got an object of type {type(text).__name__}; "
                "pass a mapping or the path of a file to Domain(...) instead"
            )
        if isinstance(text, str) and text.rstrip().endswith(".json"):
            raise DomainError(
                "from_json needs a JSON text, but it got the path of a file; pass the path to "
                "Domain(...) instead"
            )
        forms = _parse_json(text, "the text")
        refuse_files(forms)
        return cls(forms)


GivenDomain = Domain | Mapping[str, Any] | str | os.PathLike[str]
"""What a user passes as a domain: a `Domain`, or what makes one."""


def domain_of(given: GivenDomain) -> Domain:
    """The domain that a user passes: itself, or made of a mapping or the path of a file."""
    return given if isinstance(given, Domain) else Domain(given)


def check_domain(given: object) -> None:
    """Raise DomainError if what a method of a mechanism is passed is no `Domain`."""
    if not isinstance(given, Domain):
        raise DomainError(
            "the methods of a mechanism need a Domain, but the domain is of type "
            f"{type(given).__name__}; pass margin.Domain(...) of it"
        )


def read_draft(path: Path) -> tuple[Domain, bool]:
    """The domain of a JSON file that may be a draft, and whether it is one.

    For the review of a draft beside its table. `Domain` refuses drafts.

    Raises
    ------
    DomainError, FileError
        As for `Domain`.
    """
    # Once: the path may be that of a pipe, as in <(jq ...).
    forms = _read_json(path)
    is_draft = isinstance(forms, Mapping) and DRAFT in forms
    if is_draft:
        forms = {name: form for name, form in forms.items() if name != DRAFT}
    return Domain(_with_folder(forms, path.parent)), is_draft


def refuse_table(what: str, given: object) -> None:
    """Refuse a table of rows where the names of attributes are needed.

    A data frame yields the names of its columns, so it would be taken for a list of names.

    Raises
    ------
    DomainError
        When it is a data frame. The message begins with `what`.
    """
    if hasattr(given, "columns"):
        raise DomainError(
            f"{what} must be a list of attribute names, but it is a table of type "
            f"{type(given).__name__}; name the attributes, as in ['age', 'sex']; the table itself "
            "goes to margin.release(table, domain=..., budget=...)"
        )


def _listed_known(given: object) -> Iterator[tuple[Any, Any]]:
    """The known tables of the JSON form of a domain, with their views."""
    for form in given if isinstance(given, list) else [None]:
        if not isinstance(form, Mapping) or form.keys() != {"view", "counts"}:
            raise DomainError(
                f'{_KNOWN} must be a list of tables, each as {{"view": ["sex"], "counts": '
                "[52, 48]}, but an entry has another form; correct it"
            )
        yield form["view"], form["counts"]


def _pairs(known: object) -> list[tuple[Any, Any]]:
    """The given known tables, with their views."""
    if known is not None and not isinstance(known, Mapping):
        raise DomainError(
            "known must be a mapping from views to tables of counts, such as {('sex',): [52, 48]}, "
            f"but it is of type {type(known).__name__}; pass such a mapping"
        )
    return [] if known is None else list(known.items())


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
    if path.suffix in _TABLES:
        raise FileError(
            f"a domain must be declared in a JSON file, but {str(path)!r} is a table; give the "
            "table and the domain in each other's place"
        )
    problem = ""
    try:
        return _parse_json(path.read_text(encoding="utf-8-sig"), str(path))
    except FileNotFoundError:
        problem = "does not exist; check the path"
        if str(path).lstrip().startswith("{"):
            problem = "does not exist; pass a JSON text to Domain.from_json instead"
    except (OSError, UnicodeDecodeError) as error:
        kind = type(error).__name__
        problem = f"must be a text in UTF-8, but it cannot be read ({kind}); correct the file"
    raise FileError(f"domain file {str(path)!r} {problem}")


def _parse_json(text: str | bytes | bytearray, where: str) -> Any:
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
