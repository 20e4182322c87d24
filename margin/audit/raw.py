"""From raw tables: each row is read by itself, and neighbouring tables are counted as neighbours.

The theorem that is tested: the codes of a row, and the identity of its unit, are functions of that
row and of the declaration alone. So the counts of a table are the sum of those of its rows, each in
a table of its own; and with a unit, the number of rows counted follows from which units are the
same, which two rows alone decide.
"""

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from ..data.encode import ROWS, Batch
from ..data.opening import open_source
from ..data.rows_per_person import bound
from ..data.source import Source
from ..domain.domain import Domain
from ..errors import MarginError
from ..noise.entropy import SeededEntropy
from ..privacy.budget import Budget, PureDP
from ..private import Keep
from .grey import Recorder, Violation, replayed
from .law import Law

__all__ = ["RawTables", "Row"]

Row = Mapping[str, object]
Table = npt.NDArray[np.int64]

_KEY = bytes(range(16))
_MOST = 30  # rows of a made-up table
_BESIDE = 40  # rows beyond a batch
_ANEW = 4  # pairs of tables, of which one is read anew by every question


class _Looks:
    """A mechanism that reads the rows in all ways: a table, a summary of a sparse one, their
    number."""

    def run(
        self,
        private: Any,
        workload: Any,
    ) -> Any:
        view = list(private.domain)
        measured = private.measure(
            [view], spend="1/3"
        )  # first: `_replay` takes the table from there
        kept = private.sparse_cells(
            view,
            keep=Keep(3, 3, False),
            spend="1/3",
        )
        return measured, kept.codes, kept.counts, private.count_rows(spend="1/3")


class _ReadOnce:
    """A source whose rows are read once, and then kept."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._kept: list[Batch] | None = None

    def check(self, domain: Domain) -> None:
        """See `Source`."""
        self._source.check(domain)

    def batches(self, domain: Domain) -> Iterator[Batch]:
        """See `Source`."""
        if self._kept is None:
            self._kept = list(self._source.batches(domain))
        return iter(self._kept)


@dataclass(
    frozen=True,
    kw_only=True,
)
class RawTables:
    """Tables made of some rows, in a form that `release` reads, and what is wrong with how they are
    read.

    Attributes
    ----------
    make
        Makes of rows what `release` reads: a data frame, the path of a file, a source.
    domain
        What the rows hold; a table of all its attributes should be small.
    rows
        Rows of all kinds: of every type that the source can hold, also such as must be refused.
    unit, max_rows
        As of `release`.
    seed
        For the tables that are made up.
    """

    make: Callable[[Sequence[Row]], Any]
    domain: Domain
    rows: Sequence[Row]
    unit: str | None = None
    max_rows: int = 1
    seed: int = 0

    def problems(
        self,
        tables: int,
        *,
        beyond: bool = False,
    ) -> list[str]:
        """Describe what is wrong, over `tables` generated pairs of tables.

        With `beyond`, every fourth pair has more rows than a batch.
        """
        rng = random.Random(self.seed)
        alone = [self.counted([row]) for row in self.rows]
        accepted = [place for place, counts in enumerate(alone) if counts is not None]
        found = []
        if len(accepted) < len(alone):
            refused = [place for place, counts in enumerate(alone) if counts is None]
            chosen = [*accepted[:5], rng.choice(refused)]
            if self.counted([self.rows[place] for place in chosen]) is not None:
                found.append("a row is refused alone, but not among others")
        if not accepted:
            return [*found, "all rows are refused"]
        same = self._same(accepted)
        for number in range(tables):
            first, second, changed = self._neighbours(
                rng, accepted, same, beyond and number % 4 == 0
            )
            counts, problems = self._replay(first, second, anew=number % _ANEW == 0)
            for places, table in zip((first, second), counts, strict=True):
                found += self._wrong(places, table, alone, same)
            found += problems
            if found:
                return [f"{text}, when row {changed} is added" for text in dict.fromkeys(found)]
        return found

    def counted(self, rows: Sequence[Row]) -> Table | None:
        """The true table of all attributes, or None where the rows are refused."""
        recorder = Recorder(
            self._open(rows),
            domain=self.domain,
            budget=self._budget,
            entropy=SeededEntropy(0),
        )
        try:
            recorder.measure([list(self.domain)])
        except MarginError:
            return None
        table: Table = recorder.tape[0].true[0]
        return table

    def _open(self, rows: Sequence[Row]) -> Source:
        source = open_source(self.make(rows))
        return source if self.unit is None else bound(source, self.unit, self.max_rows, _KEY)

    @property
    def _budget(self) -> Budget:
        return PureDP(1, rows_per_person=1 if self.unit is None else self.max_rows)

    def _same(self, accepted: Sequence[int]) -> dict[int, int]:
        """Of each row the first row of the same unit, as two rows alone tell; each row its own
        without units."""
        first: dict[int, int] = {}
        if self.unit is None:
            return {place: place for place in accepted}
        one = RawTables(**{**vars(self), "max_rows": 1})
        known: dict[
            tuple[str, str], int
        ] = {}  # of each id, by its type and text, the first row of the same unit
        for place in accepted:
            unit = self.rows[place][self.unit]
            key = type(unit).__name__, repr(unit)
            if key not in known:
                known[key] = place
                for other in dict.fromkeys(first.values()):
                    both = one.counted([self.rows[other], self.rows[place]])
                    if both is not None and int(both.sum()) == 1:
                        known[key] = other
                        break
            first[place] = known[key]
        return first

    def _neighbours(
        self,
        rng: random.Random,
        accepted: Sequence[int],
        same: Mapping[int, int],
        beyond: bool,
    ) -> tuple[list[int], list[int], int]:
        """Two tables, as places of rows, of which the second has a row more, or all rows of a unit,
        anywhere."""
        changed = rng.choice(accepted)
        others = [place for place in accepted if self.unit is None or same[place] != same[changed]]
        first = [rng.choice(others) for _ in range(rng.randrange(_MOST))] if others else []
        if beyond and others:
            first += [rng.choice(others)] * (ROWS + rng.randrange(_BESIDE))
            if rng.random() < 0.5:
                first = first[::-1]
        mine = [place for place in accepted if same[place] == same[changed]]
        news = (
            [changed]
            if self.unit is None
            else [rng.choice(mine) for _ in range(rng.randint(1, 2 * self.max_rows))]
        )
        second = list(first)
        for new in news:
            second.insert(rng.choice([0, len(second), rng.randint(0, len(second))]), new)
        return first, second, changed

    def _wrong(
        self,
        places: Sequence[int],
        counts: Table | None,
        alone: Sequence[Table | None],
        same: Mapping[int, int],
    ) -> list[str]:
        """Whether a table is more, or less, than its rows."""
        if counts is None:
            return ["rows that are read alone are refused among others"]
        if self.unit is None:
            expected = np.zeros_like(counts)
            for place in places:
                one = alone[place]
                assert one is not None
                expected = expected + one
            return (
                []
                if np.array_equal(counts, expected)
                else ["a row is read in another way among others"]
            )
        units: dict[int, int] = {}
        for place in places:
            units[same[place]] = units.get(same[place], 0) + 1
        expected_rows = sum(min(self.max_rows, rows) for rows in units.values())
        if int(counts.sum()) != expected_rows:
            return [
                f"{int(counts.sum())} rows are counted where {expected_rows} should be: "
                "units are told apart amiss"
            ]
        return []

    def _replay(
        self,
        first: Sequence[int],
        second: Sequence[int],
        *,
        anew: bool,
    ) -> tuple[list[Table | None], list[str]]:
        """The true tables of all attributes of two tables, and what is wrong when one is replayed
        on the other.

        The rows are read anew in each of the ways to read them, or once for all.
        """
        tables = [[self.rows[place] for place in places] for places in (first, second)]

        def opened(rows: Sequence[Row]) -> Source:
            return self._open(rows) if anew else _ReadOnce(self._open(rows))

        try:
            answers = replayed(
                _Looks(),
                (partial(opened, tables[0]), partial(opened, tables[1])),
                domain=self.domain,
                budget=self._budget,
                workload=None,
                entropy=SeededEntropy(self.seed),
                law=Law(),
            )
        except Violation as violation:
            return [self.counted(rows) for rows in tables], [str(violation)]
        return [true[0][0] if true else None for true in answers], []
