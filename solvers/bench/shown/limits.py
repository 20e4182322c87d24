"""The limits under which rows were made: only solves under the same limits are compared."""

from collections.abc import Iterable

from .times import Row, by_family

__all__ = ["by_limits"]

_SHOWN = {
    "time_limit": "time limit {:g} s",
    "memory_limit": "memory limit {:.0f} MB",
    "threads": "{} threads",
    "jobs": "{} jobs",
    "tolerance": "tolerance {:g}",
    "machine": "{}",
}
"""The columns that must be the same, and how each is shown."""


def by_limits(rows: Iterable[Row]) -> dict[str, list[Row]]:
    """Separate rows so that solvers of one family are compared under the same limits only.

    Times, failures and means of a run with another time limit, memory limit, tolerance, number of
    threads or jobs, or of another machine, are no fair comparison. Repeats follow each other, so
    rows with other numbers of them stay together: in each family, the least number of repeats that
    was asked for counts, and the rows of later repeats are left out. `notes` says so.

    Parameters
    ----------
    rows
        The rows of one or several comparisons, of any families.

    Returns
    -------
    dict
        The rows under each combination of limits, by its description, in the order in which they
        first appear. One entry, if no family has rows under several.

    Examples
    --------
    >>> rows = [
    ...     {"family": "cover", "solver": "A", "time_limit": 10.0},
    ...     {"family": "cover", "solver": "B", "time_limit": 60.0},
    ... ]
    >>> list(by_limits(rows))
    ['time limit 10 s', 'time limit 60 s']
    """
    listed = list(rows)
    found: dict[str, list[Row]] = {}
    for row in listed:
        found.setdefault(_limits(row), []).append(row)
    mixed = any(len({_limits(row) for row in part}) > 1 for part in by_family(listed).values())
    groups = found if mixed else {"; ".join(found): listed}
    return {limits: _first_repeats(part) for limits, part in groups.items()}


def _first_repeats(rows: list[Row]) -> list[Row]:
    """The rows of the repeats that all solves of their family were asked for."""
    least: dict[str, int] = {}
    for row in rows:
        asked = row.get("repeats")
        if asked is not None:
            least[row["family"]] = min(asked, least.get(row["family"], asked))
    return [
        row
        for row in rows
        if row["family"] not in least or (row.get("repeat") or 0) <= least[row["family"]]
    ]


def _limits(row: Row) -> str:
    """The limits of a row as a text."""
    parts = []
    for name, form in _SHOWN.items():
        value = row.get(name)
        if value is not None:
            shown = value / 1e6 if name == "memory_limit" else value
            parts.append(form.format(shown))
    return ", ".join(parts)
