"""Sizes of the smallest covering designs that others have published."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from ..checks import check_parameters

FILE = Path(__file__).with_name("best_known.txt")

REPOSITORY = "La Jolla Covering Repository, D. Gordon, CC BY 4.0, table of 2017-01-30"
LATER = "La Jolla Covering Repository, D. Gordon, CC BY 4.0, as transcribed on 2026-03-19"

Cell = tuple[int, int, int]


@dataclass(
    frozen=True,
    kw_only=True,
)
class Known:
    """Size of the smallest published covering design for some v, k and t.

    Attributes
    ----------
    size : int
        Number of blocks.
    optimal : bool
        Whether it is proven that no smaller design exists.
    source : str
        Publication and its date. A smaller design may have been found since.
    """

    size: int
    optimal: bool
    source: str


def best_known(
    v: int,
    k: int,
    t: int,
) -> Known | None:
    """The size of the smallest published (v, k, t) covering design, with its source.

    The table holds v <= 99, k <= 25 and t <= 8. Returns None outside the table.

    Raises
    ------
    ValueError
        If a parameter is out of range.

    Examples
    --------
    >>> best_known(32, 8, 2).size, best_known(64, 8, 2).optimal, best_known(1000, 8, 2)
    (20, True, None)
    """
    check_parameters(v, k, t)
    if k >= v:
        return Known(
            size=1,
            optimal=True,
            source="one block holds everything",
        )
    return published_sizes().get((v, k, t))


def goal(
    v: int,
    k: int,
    t: int,
) -> int:
    """The best known size, at which a search stops; 0 if no size is known."""
    known = best_known(v, k, t)
    return 0 if known is None else known.size


@cache
def published_sizes() -> dict[Cell, Known]:
    """All published sizes by (v, k, t)."""
    known: dict[Cell, Known] = {}
    for line in FILE.read_text(encoding="ascii").splitlines():
        known.update(_read(line))
    return known


def _read(line: str) -> Iterator[tuple[Cell, Known]]:
    """Read the sizes of one line of the file, for one k and one t.

    The line begins with k and t. A word such as ``20:`` sets v to 20. Each word after it is a size:
    for v, then v + 1, and so on. The mark ``*`` behind a size means proven optimal, and ``'`` means
    the later source.
    """
    k, t, *words = line.split(" ")
    v = 0
    for word in words:
        if word.endswith(":"):
            v = int(word[:-1])
            continue
        size = int(word.rstrip("*'"))
        source = LATER if word.endswith("'") else REPOSITORY
        yield (
            (v, int(k), int(t)),
            Known(
                size=size,
                optimal="*" in word,
                source=source,
            ),
        )
        v += 1
