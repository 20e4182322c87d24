"""What the table of a comparison does not tell: what was not run, and why answers are wrong."""

from collections.abc import Iterable

from .times import NOT_TRIED, Row, by_family

__all__ = ["notes"]


def notes(rows: Iterable[Row]) -> list[str]:
    """Sentences for each family: which solvers lack instances, and why answers are wrong.

    Parameters
    ----------
    rows
        The rows of a comparison, of any families.

    Examples
    --------
    >>> row = {"family": "cover", "cause": ""}
    >>> rows = [
    ...     row | {"instance": "one", "solver": "A", "outcome": "solved"},
    ...     row | {"instance": "two", "solver": "A", "outcome": "solved"},
    ...     row | {"instance": "one", "solver": "B", "outcome": "wrong", "cause": "no cover"},
    ... ]
    >>> for line in notes(rows):
    ...     print(line)
    cover: B was tried on 1 of 2 instances
    cover: an answer of B to one is wrong: no cover
    """
    found = []
    for family, part in by_family(rows).items():
        instances = {row["instance"] for row in part}
        for solver in dict.fromkeys(row["solver"] for row in part):
            own = [row for row in part if row["solver"] == solver]
            lost = {row["instance"] for row in own if row["outcome"] == NOT_TRIED}
            tried = {row["instance"] for row in own} - lost
            if len(tried) < len(instances):
                found.append(
                    f"{family}: {solver} was tried on {len(tried)} of {len(instances)} instances"
                )
            wrong = [row for row in own if row["outcome"] == "wrong"]
            if wrong:
                first = wrong[0]
                found.append(
                    f"{family}: an answer of {solver} to {first['instance']} is wrong: "
                    f"{first['cause']}"
                )
    return found
