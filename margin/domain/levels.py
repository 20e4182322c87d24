"""`Levels`: the tree above an attribute's categories, such as state > county > tract.

The categories are the leaves. Each row of the data holds a leaf, so that the nodes above it follow
from the declaration alone.
"""

import csv
import itertools
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from .._names import did_you_mean
from .._types import Integers
from ..errors import DomainError, FileError
from .categories import Value, checked_value, declared_text

__all__ = ["LEVEL_MARK", "Levels"]

LEVEL_MARK = "@"
"""What stands between an attribute and one of its levels: "place@state"."""

_KEYS = ("names", "paths", "codes", "prefixes", "file")
"""The keys of the JSON form."""


@dataclass(
    frozen=True,
    eq=False,
)
class Levels:
    """A tree with at least two levels, whose leaves are the categories of an attribute.

    Leaves are numbered so that those of each node are consecutive, at every level. Otherwise they
    have the order in which they were declared. Nodes are numbered in the order of their leaves.

    Attributes
    ----------
    names
        The names of the levels, from the largest nodes to the leaves.
    paths
        The labels of the nodes from the top to each leaf, in the order of the codes of the leaves.
        A path that is shorter than `names` ends in a leaf that stands for all levels below it.

    Examples
    --------
    >>> paths = [["CA", "Alameda"], ["NV", "Clark"], ["CA", "Fresno"]]
    >>> levels = Levels.of({"names": ["state", "county"], "paths": paths})
    >>> levels.leaves, levels.sizes
    (('Alameda', 'Fresno', 'Clark'), (2, 3))
    >>> levels.groups[0].tolist()
    [0, 0, 1]
    >>> levels.labels[0]
    ('CA', 'NV')
    """

    names: tuple[str, ...]
    paths: tuple[tuple[Value, ...], ...]

    @classmethod
    def of(
        cls,
        form: object,
        extras: Iterable[Value] = (),
    ) -> "Levels":
        """Check the form of a declaration.

        Parameters
        ----------
        form
            A mapping with the names of the levels and one of three tables: `paths`, a list of
            paths; `file`, the path of a CSV file with a column for each level; or `codes` and
            `prefixes`: the codes of the leaves, and the number of characters of a code that name
            its node at each level but the last. `prefixes` may also stand beside `file`, which then
            needs only the column of the last level.
        extras
            Leaves to add if they are not declared, each as a node of its own at every level.

        Raises
        ------
        DomainError
            When the form is another one, a leaf occurs twice, or a node has two parents.
        FileError
            When the file cannot be read.
        """
        if isinstance(form, Levels):
            names, paths = form.names, list(form.paths)
        else:
            names, paths = _read(form)
        leaves = {declared_text(path[-1]) for path in paths}
        for label in extras:
            if declared_text(label) not in leaves:
                paths.append((checked_value(label),))
                leaves.add(declared_text(label))
        return cls(names, _sorted(names, paths))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Levels):
            return NotImplemented
        return (self.names, self.paths) == (other.names, other.paths)

    def __hash__(self) -> int:
        return hash((self.names, self.leaves))

    def __repr__(self) -> str:
        shown = [f"{name}: {size}" for name, size in zip(self.names, self.sizes, strict=True)]
        return f"Levels({' > '.join(shown)})"

    @cached_property
    def leaves(self) -> tuple[Value, ...]:
        """The labels of the leaves, in the order of their codes."""
        return tuple(path[-1] for path in self.paths)

    @cached_property
    def groups(self) -> tuple[Integers, ...]:
        """For each level the code of every leaf's node, shape (leaves,), in ascending order."""
        found = []
        for level in range(len(self.names)):
            texts = [declared_text(_at(path, level)) for path in self.paths]
            # The leaves of a node are consecutive, so a new text begins a new node.
            is_first = [one != other for one, other in itertools.pairwise(texts)]
            found.append(np.cumsum([0, *is_first]))
        return tuple(found)

    @cached_property
    def labels(self) -> tuple[tuple[Value, ...], ...]:
        """For each level the labels of its nodes, in the order of their codes."""
        found = []
        for level, group in enumerate(self.groups):
            first_leaves = np.unique(group, return_index=True)[1].tolist()
            found.append(tuple(_at(self.paths[leaf], level) for leaf in first_leaves))
        return tuple(found)

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """The number of nodes of each level."""
        return tuple(map(len, self.labels))

    def members(self, level: int) -> list[tuple[Value, ...]]:
        """For each node of a level but the lowest, the labels of its nodes of the next level.

        Examples
        --------
        >>> paths = [["CA", "Alameda"], ["CA", "Fresno"], ["NV", "Clark"]]
        >>> Levels(["state", "county"], paths).members(0)
        [('Alameda', 'Fresno'), ('Clark',)]
        """
        first_leaves = np.unique(self.groups[level + 1], return_index=True)[1]
        parents = self.groups[level][first_leaves].tolist()
        found: list[list[Value]] = [[] for _ in self.labels[level]]
        for parent, label in zip(parents, self.labels[level + 1], strict=True):
            found[parent].append(label)
        return [tuple(labels) for labels in found]

    def index(self, name: str) -> int:
        """The position of a level, counted from the top.

        Raises
        ------
        DomainError
            When there is no level of this name.
        """
        if name not in self.names:
            raise DomainError(
                f"there is no level {name!r}; the levels are {', '.join(self.names)}, so name one "
                f"of these{did_you_mean(name, self.names)}"
            )
        return self.names.index(name)

    def to_json(self) -> dict[str, Any]:
        """The JSON form, with the table written out as `paths`."""
        return {"names": list(self.names), "paths": [list(path) for path in self.paths]}


def _at(path: Sequence[Value], level: int) -> Value:
    """The label of a path's node at a level. A short path ends in the same node at all levels
    below."""
    return path[min(level, len(path) - 1)]


def _sorted(
    names: Sequence[str],
    paths: Sequence[tuple[Value, ...]],
) -> tuple[tuple[Value, ...], ...]:
    """Check that every node has one parent; sort the paths so that each node's are consecutive."""
    columns = []
    for level in range(len(names)):
        # Number the nodes in the order in which they are declared.
        number: dict[str, int] = {}
        texts = [declared_text(_at(path, level)) for path in paths]
        columns.append(np.array([number.setdefault(text, len(number)) for text in texts]))
        if columns[1:]:
            _check_parents(names, level, texts, columns)
    if columns[-1].max() + 1 < len(paths):
        counts = np.bincount(columns[-1])
        repeated = paths[int(np.flatnonzero(counts[columns[-1]] > 1)[0])][-1]
        raise DomainError(
            f"each leaf must be declared once, but {repeated!r} occurs more than once in level "
            f"{names[-1]!r}; remove a path, or give the leaves codes that differ"
        )
    order = np.lexsort(columns[::-1])
    return tuple(paths[place] for place in order.tolist())


def _check_parents(
    names: Sequence[str],
    level: int,
    texts: Sequence[str],
    columns: Sequence[Integers],
) -> None:
    """Refuse a level with a node that lies in two nodes of the level above."""
    parents, own = columns[level - 1 : level + 1]
    first = np.zeros(own.max() + 1, np.int64)
    first[own[::-1]] = parents[::-1]
    wrong = np.flatnonzero(first[own] != parents)
    if wrong.size:
        raise DomainError(
            f"each node of level {names[level]!r} must lie in one node of level "
            f"{names[level - 1]!r}, but {texts[wrong[0]]!r} lies in two; correct a path, or use "
            f"labels that differ"
        )


def _read(form: object) -> tuple[tuple[str, ...], list[tuple[Value, ...]]]:
    """The names and the paths that a form declares."""
    if not isinstance(form, Mapping):
        raise DomainError(
            'levels must be a mapping, such as {"names": ["state", "county"], "paths": [["CA", '
            f'"Alameda"]]}}, but it is of type {type(form).__name__}; write it in this form'
        )
    unknown = sorted(set(map(str, form)) - set(_KEYS))
    if unknown:
        raise DomainError(
            f"unknown key {unknown[0]!r} of levels; the keys are {', '.join(_KEYS)}, so use one of "
            f"these{did_you_mean(unknown[0], _KEYS)}"
        )
    names = _checked_names(form.get("names"))
    tables = [key for key in ("paths", "codes", "file") if key in form]
    if len(tables) != 1:
        found = f"{' and '.join(tables)} are" if tables else "none of them is"
        raise DomainError(
            f"levels take exactly one of paths, codes and file, but {found} given; give exactly one"
        )
    (kind,) = tables
    if ("prefixes" in form) != (kind == "codes") and kind != "file":
        raise DomainError(
            "codes and prefixes belong together, but only one of them is given; give both, or the "
            "paths instead"
        )
    if kind == "file":
        wanted = names[-1:] if "prefixes" in form else names
        rows: Any = _read_file(form["file"], wanted)
    else:
        rows = form[kind]
    if "prefixes" in form:
        codes = [row[0] for row in rows] if kind == "file" else rows
        rows = _paths_of_codes(codes, _checked_prefixes(form["prefixes"], names))
    return names, _checked_paths(rows, names)


def _checked_names(names: object) -> tuple[str, ...]:
    """Check the names of levels."""
    listed = list(names) if isinstance(names, Iterable) and not isinstance(names, str) else []
    are_names = all(isinstance(name, str) and name.strip() == name != "" for name in listed)
    if len(listed) < 2 or not are_names or len(set(listed)) < len(listed):
        raise DomainError(
            "names must list the names of at least two levels, all different, from the largest "
            f'nodes to the leaves, such as ["state", "county"], but it is {names!r}; correct it'
        )
    for name in listed:
        if LEVEL_MARK in name:
            raise DomainError(
                f"the name of a level must not contain {LEVEL_MARK!r}, but {name!r} does; choose "
                "another name"
            )
    return tuple(listed)


def _checked_paths(rows: object, names: Sequence[str]) -> list[tuple[Value, ...]]:
    """Check the form of the paths."""
    if isinstance(rows, str) or not isinstance(rows, Iterable):
        raise DomainError(
            f"paths must be a list of paths, but it is of type {type(rows).__name__}; write it as "
            'in [["CA", "Alameda"], ["CA", "Fresno"]]'
        )
    paths = []
    for place, row in enumerate(rows, 1):
        path = tuple(row) if isinstance(row, Iterable) and not isinstance(row, str) else ()
        if not 1 <= len(path) <= len(names):
            raise DomainError(
                f"path {place} must be a list of 1 to {len(names)} labels, one for each level down "
                f"to the leaf ({', '.join(names)}), but it is {row!r}; correct it"
            )
        path = tuple(map(checked_value, path))
        if not all(map(declared_text, path)):
            raise DomainError(
                f"path {place} must hold a label for each level down to its leaf, but one of its "
                "labels is empty; fill it in, or shorten the path"
            )
        paths.append(path)
    if not paths:
        raise DomainError("levels must have at least one leaf, but none is declared; list them")
    return paths


def _checked_prefixes(prefixes: object, names: Sequence[str]) -> list[int]:
    """Check the numbers of characters that name the nodes above a leaf."""
    is_list = isinstance(prefixes, Iterable) and not isinstance(prefixes, str)
    lengths = list(prefixes) if is_list else []  # type: ignore[call-overload]
    are_whole = all(isinstance(one, int) and not isinstance(one, bool) for one in lengths)
    ascending = are_whole and [0, *lengths] == sorted({0, *lengths})
    if not ascending or len(lengths) != len(names) - 1:
        raise DomainError(
            f"prefixes must be {len(names) - 1} ascending numbers of characters, one for each "
            f"level above {names[-1]!r}, but it is {prefixes!r}; correct it"
        )
    return lengths


def _paths_of_codes(codes: object, lengths: Sequence[int]) -> list[tuple[str, ...]]:
    """The paths of codes whose prefixes name their nodes. A code that is no longer than the prefix
    of a level is a leaf at this level."""
    if isinstance(codes, str) or not isinstance(codes, Iterable):
        raise DomainError(
            f"codes must be a list of texts, but it is of type {type(codes).__name__}; list the "
            "codes of the leaves"
        )
    paths = []
    for code in codes:
        if not isinstance(code, str) or not code.strip():
            raise DomainError(
                f"each of the codes must be a non-empty text, but one is {code!r}; write it as a "
                'text, such as "011"'
            )
        text = declared_text(code)
        above = [text[:length] for length in lengths if length < len(text)]
        paths.append((*above, text))
    return paths


def _read_file(given: object, columns: Sequence[str]) -> list[list[str]]:
    """The rows of a CSV file in UTF-8, restricted to the columns of some levels. Empty cells at the
    end of a row are left out."""
    if not isinstance(given, str | os.PathLike):
        raise DomainError(
            f"file must be the path of a CSV file, but it is of type {type(given).__name__}; pass "
            "its path"
        )
    path = Path(given)
    problem = ""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            table = list(csv.reader(file, strict=True))
    except FileNotFoundError:
        problem = "does not exist; check the path"
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        kind = type(error).__name__
        problem = f"must be a CSV file in UTF-8, but it cannot be read ({kind}); correct the file"
    if problem:
        raise FileError(f"the file of levels {str(path)!r} {problem}")
    header = [name.strip() for name in table[0]] if table else []
    for name in columns:
        if header.count(name) != 1:
            raise FileError(
                f"the first line of {str(path)!r} must name each level once ({', '.join(columns)}),"
                f" but it names {name!r} {header.count(name)} times; correct the line"
                f"{did_you_mean(name, header) if name not in header else ''}"
            )
    places = [header.index(name) for name in columns]
    rows = []
    for line, cells in enumerate(table[1:], 2):
        if not any(map(str.strip, cells)):
            continue
        if len(cells) != len(header):
            raise FileError(
                f"line {line} of {str(path)!r} must have {len(header)} cells, but it has "
                f"{len(cells)}; correct the line"
            )
        row = [cells[place].strip() for place in places]
        while row and not row[-1]:
            row.pop()
        rows.append(row)
    return rows
