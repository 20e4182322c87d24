"""The quality list of a publication: how uncertain the cells of each table are.

It is computed from the published numbers alone, so it is post-processing and spends no budget.
"""

import csv
import math
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..domain.marginal import Marginal
from ..errors import FileError
from .numbers import NUMBERS, whole_numbers
from .spreadsheets import BYTE_ORDER_MARK, for_spreadsheet

__all__ = ["LIMIT", "QUALITY", "check_limit", "listed", "quality_of", "told", "write_quality"]

QUALITY = "quality.csv"
"""The name of the file."""

LIMIT = 30.0
"""Half-width in percent of the count above which a cell is uncertain."""

_TOLD = (
    "half-width: the distance from a count to the farther of its bounds, in percent of the count; "
    "the middle one (median) of the cells of the table. uncertain: the cells whose half-width is "
    "above {limit:g} %, whose count is 0, or that have no bounds. Left out are cells that must be "
    "0, and those of the categories for missing and for other values, which are often empty. A - "
    "stands for a table of which half of the counts or more are 0 or have no bounds."
)
"""What the columns of the list mean."""


def check_limit(limit: float) -> None:
    """Raise FileError unless a limit is a positive percentage."""
    if not (math.isfinite(limit) and limit > 0):
        raise FileError(
            f"uncertain ({limit:g}) must be a percentage > 0, such as 30 for half-widths above "
            "30 % of the count; pass such a number"
        )


def quality_of(table: Marginal, limit: float) -> dict[str, Any]:
    """How uncertain the cells of a published table are.

    Parameters
    ----------
    table
        The published table.
    limit
        The half-width in percent of the count above which a cell is uncertain.

    Returns
    -------
    dict
        `cells`: the number of cells that need not be 0, and are not of a category that the domain
        declares for missing or other values. `half_width`: the median of their half-widths in
        percent of the count; None without cells, or if it is not finite. `uncertain`: the
        percentage of cells that are uncertain; None without cells.

    Examples
    --------
    >>> import numpy as np
    >>> from margin import Domain
    >>> counts, variance = np.array([100.0, 10.0]), np.array([4.0, 4.0])
    >>> quality_of(Marginal(Domain({"a": 2}), counts, noise_variance=variance), 30)
    {'cells': 2, 'half_width': 22.0, 'uncertain': 50.0}
    """
    columns = whole_numbers(table)
    cells = zip(*(columns[name] for name in NUMBERS), _is_named(table).flat, strict=True)
    found = [
        _half_width(count, low, high)
        for count, low, high, is_named in cells
        if is_named and not (low == 0 and high == 0)  # such a cell must be 0
    ]
    if not found:
        return {"cells": 0, "half_width": None, "uncertain": None}
    middle = statistics.median(found)
    uncertain = sum(half > limit for half in found)
    return {
        "cells": len(found),
        "half_width": round(middle, 1) if math.isfinite(middle) else None,
        "uncertain": round(100 * uncertain / len(found), 1),
    }


def _is_named(table: Marginal) -> NDArray[np.bool_]:
    """Which cells are of no category for missing or other values, in the shape of the table."""
    named = np.ones(table.counts.shape, dtype=bool)
    for axis, name in enumerate(table.domain):
        attribute = table.domain[name]
        for label in (attribute.other, attribute.missing):
            if label is not None:
                np.moveaxis(named, axis, 0)[attribute.labels.index(label)] = False
    return named


def _half_width(
    count: int | None,
    low: int | None,
    high: int | None,
) -> float:
    """The distance from a count to its farther bound, in percent of the count."""
    if not count or low is None or high is None:
        return math.inf
    return 100 * max(high - count, count - low) / count


def write_quality(path: Path, manifest: dict[str, Any], *, spreadsheet: bool) -> None:
    """Write the list as CSV, with a line for each table of the manifest."""
    with path.open("x", newline="", encoding="utf-8") as file:
        file.write(BYTE_ORDER_MARK if spreadsheet else "")
        writer = csv.writer(file)
        head = ["table", "attributes", "source", "cells"]
        writer.writerow([*head, "half_width_percent", "uncertain_percent", "limit_percent"])
        for entry in manifest["tables"]:
            attributes = ", ".join(entry["attributes"])
            label = for_spreadsheet(attributes) if spreadsheet else attributes
            numbers = [entry["quality"][name] for name in ("cells", "half_width", "uncertain")]
            row = [entry["name"], label, entry["source"], *numbers, manifest["uncertain_above"]]
            writer.writerow(row)


def told(limit: float) -> str:
    """What the columns of the list mean, in words."""
    return _TOLD.format(limit=limit)


def listed(tables: Sequence[dict[str, Any]]) -> str:
    """The list as text, with a line for each entry of a manifest."""
    rows = [("table", "cells", "half-width", "uncertain")]
    for entry in tables:
        found = entry["quality"]
        percents = [found["half_width"], found["uncertain"]]
        shown = ["-" if number is None else f"{number:,.1f} %" for number in percents]
        rows.append((entry["name"], f"{found['cells']:,}", *shown))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for name, *numbers in rows:
        columns = [number.rjust(width) for number, width in zip(numbers, widths[1:], strict=True)]
        lines.append("  ".join([name.ljust(widths[0]), *columns]))
    return "\n".join(lines)
