"""Whether a source reads each row by itself, so that neighbouring tables are counted as neighbours.

The property that is tested: the codes of a row, and the identity of its unit, are functions of that
row and of the declaration alone. So the counts of a table are the sum of the counts of its rows,
each in a table of its own. With a unit, the number of counted rows follows from which units are the
same. `margin.audit.identity` computes this from the values, and shares no code with the sources.
"""

import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from .._types import Integers
from ..data.encode import ROWS, Batch
from ..data.opening import open_source
from ..data.rows_per_person import bound
from ..data.source import Source
from ..domain.domain import Domain
from ..errors import MarginError
from ..noise.entropy import SeededEntropy
from ..privacy.budget import Budget, PureDP
from ..private import Keep
from .identity import AMBIGUOUS, Identity, identity_of
from .laws.law import Law
from .recorder import Recorder
from .replay import Replay
from .violation import Violation

__all__ = ["RawTables", "Row"]

Row = Mapping[str, object]

# The key that decides which rows of a unit are kept.
_KEY = bytes(range(16))

# The random tables have fewer rows than this.
_MOST_ROWS = 30

# The tables that are larger than a batch exceed it by fewer rows than this.
_BEYOND = 40

# One of this number of pairs is read again for every question.
_READ_AGAIN = 4


class _AllQuestions:
    """A mechanism that reads the rows in all ways: a table, a summary of a sparse table, and their
    number."""

    def run(self, private: Any, workload: Any) -> Any:
        view = list(private.domain)
        # The first answer is the table that `RawTables` compares.
        measured = private.measure([view], spend="1/3")
        kept = private.sparse_cells(
            view,
            keep=Keep(3, 3, False),
            spend="1/3",
        )
        return measured, kept.codes, kept.counts, private.count_rows(spend="1/3")


class _ReadOnce:
    """A source whose rows are read once and then kept."""

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
    """Tables of given rows, in a form that `release` reads.

    Parameters
    ----------
    make
        A function from rows to something that `release` reads: a data frame, a path or a source.
    domain
        The declared domain. The table of all its attributes should be small.
    rows
        Rows with values of every type that the source can hold, including values that must be
        refused.
    unit, rows_per_person
        As for `release`.
    seed
        The seed of the random tables.
    """

    make: Callable[[Sequence[Row]], Any]
    domain: Domain
    rows: Sequence[Row]
    unit: str | None = None
    rows_per_person: int = 1
    seed: int = 0

    def problems(
        self,
        tables: int,
        *,
        beyond: bool = False,
    ) -> list[str]:
        """The problems that `tables` random pairs of tables show, in sentences.

        With `beyond`, every fourth pair has more rows than a batch.
        """
        rng = random.Random(self.seed)
        alone = [self.counted([row]) for row in self.rows]
        accepted = [place for place, counts in enumerate(alone) if counts is not None]
        found = self._check_refused(rng, alone, accepted)
        if not accepted:
            return [*found, "all rows are refused; at least one must be accepted"]
        same, problems = self._same_unit(accepted)
        found += problems
        for number in range(tables):
            is_large = beyond and number % 4 == 0
            first, second, changed = self._neighbours(rng, accepted, same, is_large)
            counts, problems = self._replay(first, second, again=number % _READ_AGAIN == 0)
            for places, table in zip((first, second), counts, strict=True):
                found += self._check_counts(places, table, alone, same)
            found += problems
            if found:
                unique = dict.fromkeys(found)
                return [f"when row {changed} is inserted: {text}" for text in unique]
        return found

    def counted(self, rows: Sequence[Row]) -> Integers | None:
        """The true table of all attributes, or None if the rows are refused."""
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
        table: Integers = recorder.tape[0].true[0]
        return table

    def _open(self, rows: Sequence[Row]) -> Source:
        source = open_source(self.make(rows))
        return source if self.unit is None else bound(source, self.unit, self.rows_per_person, _KEY)

    @property
    def _budget(self) -> Budget:
        return PureDP(1, rows_per_person=1 if self.unit is None else self.rows_per_person)

    def _check_refused(
        self,
        rng: random.Random,
        alone: Sequence[Integers | None],
        accepted: Sequence[int],
    ) -> list[str]:
        """Whether a row that is refused alone is refused among others too."""
        refused = [place for place, counts in enumerate(alone) if counts is None]
        if not refused:
            return []
        chosen = [*accepted[:5], rng.choice(refused)]
        if self.counted([self.rows[place] for place in chosen]) is None:
            return []
        return [f"row {chosen[-1]} is refused alone, but it is accepted among other rows"]

    def _same_unit(self, accepted: Sequence[int]) -> tuple[dict[int, int], list[str]]:
        """For each row the first row of the same unit, by the specification of the values; and what
        is wrong with the units of the source. Without a unit, each row by itself."""
        if self.unit is None:
            return {place: place for place in accepted}, []
        first: dict[int, int] = {}
        found: list[str] = []
        # The first row of each unit, and the forms of ids that were compared with those.
        units: dict[Identity | None, int] = {}
        compared: set[tuple[str, str]] = set()
        for place in accepted:
            value = self.rows[place][self.unit]
            identity = identity_of(value)
            if identity is None or identity == AMBIGUOUS:
                found.append(f"row {place} is accepted, but its value does not tell whose it is")
            if (form := (type(value).__name__, repr(value))) not in compared:
                compared.add(form)
                found += self._compare_units(place, identity, units)
            first[place] = units.setdefault(identity, place)
        return first, found

    def _compare_units(
        self,
        place: int,
        identity: Identity | None,
        units: Mapping[Identity | None, int],
    ) -> Iterator[str]:
        """Compare a row with the first row of each unit, in tables of two rows, one counted of each
        unit."""
        one_row = replace(self, rows_per_person=1)
        for known, other in units.items():
            both = one_row.counted([self.rows[other], self.rows[place]])
            expected = 1 if known == identity else 2
            if both is not None and int(both.sum()) != expected:
                relation = "one unit" if expected == 1 else "two units"
                yield f"the ids of rows {other} and {place} are of {relation}, but not here"

    def _neighbours(
        self,
        rng: random.Random,
        accepted: Sequence[int],
        same: Mapping[int, int],
        is_large: bool,
    ) -> tuple[list[int], list[int], int]:
        """Two tables, as places of rows, and the place of the row that is inserted anywhere in the
        second one; with a unit, several rows of its unit."""
        changed = rng.choice(accepted)
        others = [place for place in accepted if self.unit is None or same[place] != same[changed]]
        first = [rng.choice(others) for _ in range(rng.randrange(_MOST_ROWS))] if others else []
        if is_large and others:
            first += [rng.choice(others)] * (ROWS + rng.randrange(_BEYOND))
            if rng.random() < 0.5:
                first = first[::-1]
        mine = [place for place in accepted if same[place] == same[changed]]
        new = [changed]
        if self.unit is not None:
            new = [rng.choice(mine) for _ in range(rng.randint(1, 2 * self.rows_per_person))]
        second = list(first)
        for place in new:
            second.insert(rng.choice([0, len(second), rng.randint(0, len(second))]), place)
        return first, second, changed

    def _check_counts(
        self,
        places: Sequence[int],
        counts: Integers | None,
        alone: Sequence[Integers | None],
        same: Mapping[int, int],
    ) -> list[str]:
        """Whether the counts of a table follow from its rows."""
        if counts is None:
            return ["a table is refused, although each of its rows is accepted alone"]
        if self.unit is None:
            expected = np.zeros_like(counts)
            for place in places:
                one = alone[place]
                assert one is not None
                expected = expected + one
            if np.array_equal(counts, expected):
                return []
            return ["the counts of a table are not the sum of the counts of its rows"]
        rows_of_unit = Counter(same[place] for place in places)
        expected_rows = sum(min(self.rows_per_person, rows) for rows in rows_of_unit.values())
        if int(counts.sum()) == expected_rows:
            return []
        return [
            f"{int(counts.sum())} rows are counted, but {expected_rows} were expected from the "
            "units of the rows: the units are not identified row by row"
        ]

    def _replay(
        self,
        first: Sequence[int],
        second: Sequence[int],
        *,
        again: bool,
    ) -> tuple[list[Integers | None], list[str]]:
        """The true tables of all attributes of two tables, and what is wrong if one is replayed on
        the other.

        With `again`, the rows are read again for each question, otherwise once.
        """
        tables = [[self.rows[place] for place in places] for places in (first, second)]

        def opened(rows: Sequence[Row]) -> Source:
            return self._open(rows) if again else _ReadOnce(self._open(rows))

        replay = Replay(
            mechanism=_AllQuestions(),
            domain=self.domain,
            budget=self._budget,
            entropy=SeededEntropy(self.seed),
            law=Law(),
        )
        try:
            answers = replay.compare(*(partial(opened, rows) for rows in tables))
        except Violation as violation:
            return [self.counted(rows) for rows in tables], [str(violation)]
        return [true[0][0] if true else None for true in answers], []
