"""`by_unit` and `units`: that rows are not those who are protected together, in words."""

from ..privacy.statement import Statement

__all__ = ["by_unit", "units"]


def by_unit(
    statement: Statement,
    row_name: str,
    unit_name: str | None = None,
) -> str:
    """Warn readers that several rows may be of one unit; empty if no two counted rows are.

    Parameters
    ----------
    statement
        Who is protected.
    row_name
        What rows are called, in the plural.
    unit_name
        What a unit is called, in the singular; None for the name of the column.

    Examples
    --------
    >>> from margin import PureDP
    >>> statement = Statement(budget=PureDP(1, rows_per_person=3), unit="id")
    >>> print(by_unit(statement, "visits", "patient"))
    Up to 3 of the visits may be of one patient: do not write as if each were of another patient.
    """
    if statement.unit is None or statement.rows == 1:
        return ""
    name = unit_name or statement.unit
    return (
        f"Up to {statement.rows} of the {row_name} may be of one {name}: do not write as if each "
        f"were of another {name}."
    )


def units(
    statement: Statement,
    row_name: str,
    unit_name: str | None = None,
    *,
    low: int | None,
    high: int | None,
) -> str:
    """Tell readers between which numbers that of the units is; empty if rows are protected.

    **Proof.** Let the units have n_1, n_2, ... rows, each at least one, and let m be the limit. The
    software counts min(n_i, m) rows of unit i (see `BoundedSource`), which is from 1 to m. So the
    number U of units and the number C of counted rows have U <= C <= m U, whether or not rows were
    left out. If low <= C <= high, then U is from low / m, rounded up, to high. With m = 1, U = C.

    Parameters
    ----------
    statement, row_name, unit_name
        As for `by_unit`.
    low, high
        The bounds of the number of all counted rows; None if they are not known.

    Examples
    --------
    >>> from margin import PureDP
    >>> print(units(Statement(budget=PureDP(1), unit="id"), "visits", "patient", low=9, high=12))
    One of the visits of each patient is counted, so this number counts each patient once.
    """
    if statement.unit is None:
        return ""
    name = unit_name or statement.unit
    limit = statement.rows
    if limit == 1:
        return (
            f"One of the {row_name} of each {name} is counted, so this number counts each {name} "
            "once."
        )
    if low is None or high is None:
        known = f"This release does not tell the number if each {name} were counted once."
    else:
        # Whole numbers, rounded up without floats.
        least = -(-max(low, 0) // limit)
        known = (
            f"If each {name} were counted once, the number would be from {least:,} to {high:,} by "
            "these bounds: this release does not tell it more exactly."
        )
    return f"{by_unit(statement, row_name, unit_name)} {known}"
