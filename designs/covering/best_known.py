"""The sizes of the smallest covering designs that others have published."""

from dataclasses import dataclass
from functools import cache
from pathlib import Path

from ..checks import check_parameters

FILE = Path(__file__).with_name("best_known.txt")

REPOSITORY = "La Jolla Covering Repository, D. Gordon, CC BY 4.0, table of 2017-01-30"
LATER = "La Jolla Covering Repository, D. Gordon, CC BY 4.0, as transcribed on 2026-03-19"


@dataclass(frozen=True, kw_only=True)
class Known:
    """The size of the smallest covering design that was known.

    Attributes
    ----------
    size : int
        Number of blocks.
    optimal : bool
        Whether it is proven that none is smaller.
    source : str
        Who says so, and when; since then a smaller one may have been found.
    """

    size: int
    optimal: bool
    source: str


def best_known(v: int, k: int, t: int) -> Known | None:
    """The size of the smallest (v, k, t) covering design that was known, and who says so.

    From a table of v <= 99, k <= 25, t <= 8; None beyond it.

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
        return Known(size=1, optimal=True, source="one block holds everything")
    return _table().get((v, k, t))


def goal(v: int, k: int, t: int) -> int:
    """The best known size, at which a search ends; 0 if none is known."""
    known = best_known(v, k, t)
    return 0 if known is None else known.size


@cache
def _table() -> dict[tuple[int, int, int], Known]:
    """One line for each k and t: sizes for v, v + 1, ... after ``v:``; ``*`` marks proof, ``'`` the
    later source."""
    known: dict[tuple[int, int, int], Known] = {}
    for line in FILE.read_text(encoding="ascii").splitlines():
        k, t, *words = line.split(" ")
        v = 0
        for word in words:
            if word.endswith(":"):
                v = int(word[:-1])
                continue
            source = LATER if word.endswith("'") else REPOSITORY
            known[v, int(k), int(t)] = Known(
                size=int(word.rstrip("*'")), optimal="*" in word, source=source
            )
            v += 1
    return known
