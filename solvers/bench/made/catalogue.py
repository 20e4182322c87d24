"""The catalogue: every recipe, and what is known of each instance."""

import csv
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

from . import covers, reconstructions, responses, view_tables
from .recipe import Recipe

__all__ = ["BEST_KNOWN", "Known", "known_values", "recipes"]

BEST_KNOWN = Path(__file__).with_name("best_known.csv")
"""The file of what is known; ``python -m experiments.solvers.bench_values`` makes it."""


class Known(NamedTuple):
    """What is known of an instance, and the digest of its problem; see `Instance`."""

    best_known: float | None
    bound: float | None
    proved_by: str
    digest: str = ""


@cache
def recipes() -> tuple[Recipe, ...]:
    """Every recipe, family after family."""
    return tuple(_recipes())


def _recipes() -> Iterator[Recipe]:
    for room in (reconstructions, view_tables, responses, covers):
        yield from room.recipes()


@cache
def known_values() -> dict[tuple[str, int], Known]:
    """What is known of each instance, by its name and version."""
    found = {}
    with BEST_KNOWN.open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            found[row["name"], int(row["version"])] = Known(
                best_known=float(row["best_known"]) if row["best_known"] else None,
                bound=float(row["bound"]) if row["bound"] else None,
                proved_by=row["proved_by"],
                digest=row["digest"],
            )
    return found
