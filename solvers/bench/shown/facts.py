"""How rows were made: the machine, the limits, the versions and the dates."""

import json
from collections.abc import Iterable

from .times import Row

__all__ = ["facts"]


def facts(rows: Iterable[Row]) -> list[str]:
    """What the rows were made with, in a few words each.

    Parameters
    ----------
    rows
        The rows of a comparison, at least one.
    """
    listed = list(rows)
    versions: dict[str, set[str]] = {}
    for row in listed:
        for library, version in json.loads(row["versions"]).items():
            versions.setdefault(library, set()).add(version)
    libraries = ", ".join(f"{name} {'/'.join(sorted(versions[name]))}" for name in sorted(versions))
    dates = sorted(row["date"][:10] for row in listed)
    loads = [row["load"] for row in listed]
    return [
        f"{len(listed)} solves",
        " to ".join(dict.fromkeys([dates[0], dates[-1]])),
        *_values(listed, "machine", "{}"),
        *_values(listed, "threads", "threads of each: {}"),
        *_values(listed, "jobs", "solves at a time: {}"),
        *_values(listed, "time_limit", "time limit {:g} s"),
        *_values(listed, "tolerance", "gap {:g}"),
        f"load of the machine {min(loads):.1f} to {max(loads):.1f}",
        *_values(listed, "margin", "margin {}"),
        *_values(listed, "commit", "commit {}"),
        *_values(listed, "python", "Python {}"),
        libraries,
    ]


def _values(rows: list[Row], name: str, form: str) -> list[str]:
    """The values of a column that are not empty, each once."""
    return [form.format(value) for value in dict.fromkeys(row[name] for row in rows) if value]
