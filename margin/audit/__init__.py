"""`audit`: does a mechanism keep to its budget? Three layers, for a user's own class as for ours.

Grey box: the mechanism is run through the gate on a table, and again on a neighbour with the same
noisy answers. It must ask the same, the true answers must differ by no more than was declared, the
noise must cost no more than the charges, and what it lets out must be equal bit by bit. What it
proves, it proves for the pairs that were tried.

Law: answers of each kind are drawn many times more, and the draws are compared with the declared
law.

Black box: the mechanism is run many times on both tables, and an event is sought that is more
probable on one than the budget allows. It sees only large errors (not 20 % too little noise), but
it sees them whatever the mechanism does.

The audit computes distances, costs and distribution functions itself, and asks nothing of the code
that it audits.
"""

import contextlib
import math
import random
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from ..data.opening import open_source
from ..data.rows_per_person import bound
from ..data.source import CodesSource, Source
from ..domain.domain import Domain
from ..errors import MarginError
from ..noise.entropy import SeededEntropy
from ..privacy.budget import Budget, Neighbours
from ..private import Private
from .black import claim_of, too_different
from .grey import Violation, observed, replayed
from .law import Law
from .left import outcome

__all__ = ["Audit", "audit", "neighbours"]

Codes = npt.NDArray[np.int64]
Pair = tuple[Any, Any]

_LOOKS = 6  # runs in which answers are drawn many times
_KEY = bytes(range(16))  # by which the rows of a unit are ordered
_MOST_HELD = 150  # cells of the table in which noise is looked at
_SIZES = 25  # of tables that are tried, from no row on


@dataclass(
    frozen=True,
    kw_only=True,
)
class Audit:
    """What an audit found.

    Attributes
    ----------
    pairs
        How many pairs of neighbouring tables were tried.
    runs
        How many runs of the black box were made on each table.
    findings
        What is wrong, in words; empty when nothing was found, which proves nothing beyond the pairs
        tried.
    alpha
        The chance at most that the black box finds something about a correct mechanism.
    """

    pairs: int
    runs: int
    findings: tuple[str, ...]
    alpha: float

    @property
    def ok(self) -> bool:
        """Whether nothing was found."""
        return not self.findings


def audit(
    mechanism: Any,
    *,
    domain: Domain,
    budget: Budget,
    workload: Any = None,
    pairs: int | Iterable[Pair] = 50,
    runs: int = 0,
    alpha: float = 1e-6,
    seed: int = 0,
    output: Callable[[Any], npt.ArrayLike] | None = None,
    unit: str | None = None,
) -> Audit:
    """Look for a way in which a mechanism lets out more than its budget allows.

    Parameters
    ----------
    mechanism
        An object with the method `run` of `Mechanism`.
    domain, budget, workload
        What it is run with.
    pairs
        Neighbouring tables: of codes, or anything else that `release` reads, such as data frames
        and paths of files. Or how many tables of codes to make up.
    runs
        For the black box, on each of two tables of the first few pairs; none when zero.
    alpha
        The chance at most of a false alarm of the black box, over all its pairs together.
    seed
        For the made-up tables and the noise.
    output
        For the black box: the numbers in what `run` returns, always as many; by default the tables
        of the views.
    unit
        The column that says whose a row is, as of `release`: at most `budget.rows_per_person` rows
        of each are counted, and neighbours differ in all rows of one.

    Returns
    -------
    Audit

    Raises
    ------
    MarginError
        When `mechanism` is none.

    Examples
    --------
    >>> from margin.privacy.budget import PureDP
    >>> class Nothing:
    ...     def run(self, private, workload):
    ...         return None
    >>> audit(Nothing(), domain=Domain({"a": 2}), budget=PureDP(1), pairs=5).ok
    True
    """
    if isinstance(mechanism, type) or not callable(getattr(mechanism, "run", None)):
        raise MarginError("mechanism must be an object with a method run")
    tables = list(neighbours(domain, budget, pairs, seed) if isinstance(pairs, int) else pairs)
    tried = _Trial(
        mechanism=mechanism,
        domain=domain,
        budget=budget,
        workload=workload,
        tables=tables,
        made_up=isinstance(pairs, int),
        runs=runs,
        alpha=alpha,
        seed=seed,
        output=output,
        unit=unit,
    )
    return Audit(
        pairs=len(tables),
        runs=runs,
        findings=tuple(dict.fromkeys(tried.findings())),
        alpha=alpha,
    )


@dataclass(
    frozen=True,
    kw_only=True,
)
class _Trial:
    """A mechanism and the tables on which it is tried."""

    mechanism: Any
    domain: Domain
    budget: Budget
    tables: list[Pair]
    workload: Any = None
    made_up: bool = True
    runs: int = 0
    alpha: float = 1e-6
    seed: int = 0
    output: Callable[[Any], npt.ArrayLike] | None = None
    unit: str | None = None

    def findings(self) -> Iterator[str]:
        """What is wrong, one finding after another: of pairs of tables, then of the noise, then of
        many runs."""
        entropy, law = SeededEntropy(self.seed), Law(self.seed)
        self._first_use()
        replays = 0
        for finding in self._of_replays(entropy, law):
            replays += 1
            yield finding
        yield from self._of_noise(
            entropy, law, runs=0 if replays else min(len(self.tables), _LOOKS)
        )
        yield from self.of_many_runs(entropy)

    def _opened(self, data: Any) -> Source:
        source = CodesSource(data) if isinstance(data, np.ndarray) else open_source(data)
        return (
            source
            if self.unit is None
            else bound(source, self.unit, self.budget.rows_per_person, _KEY)
        )

    def _first_use(self) -> None:
        """Libraries that are loaded or compiled on first use leave files: once before anything is
        compared."""
        for table, _ in self.tables[:1]:
            entropy = SeededEntropy(self.seed)
            with contextlib.suppress(Violation):
                private = Private(
                    self._opened(table),
                    domain=self.domain,
                    budget=self.budget,
                    entropy=entropy,
                )
                outcome(self.mechanism, private, self.workload)

    def _of_replays(
        self,
        entropy: SeededEntropy,
        law: Law,
    ) -> Iterator[str]:
        for first, second in self.tables:
            pair = partial(self._opened, first), partial(self._opened, second)
            try:
                replayed(self.mechanism, pair, **self._run(entropy, law))
            except Violation as violation:
                yield str(violation)

    def _of_noise(
        self,
        entropy: SeededEntropy,
        law: Law,
        runs: int,
    ) -> Iterator[str]:
        for number in range(runs):
            pair = self.tables[number % len(self.tables)]
            data = _full(self.domain) if self.made_up and number % 2 else pair[number // 2 % 2]
            try:
                observed(self.mechanism, self._opened(data), **self._run(entropy, law))
            except Violation as violation:
                yield str(violation)
        yield from law.judge()

    def of_many_runs(self, entropy: SeededEntropy) -> Iterator[str]:
        """What the black box alone finds."""
        chosen = self.tables[:3] if self.runs else []
        output = self.output or _views
        sample = _Sampler(self.mechanism, self.domain, self.budget, self.workload, output, entropy)
        for pair in chosen:
            first, second = (sample.many(self._opened(data), self.runs) for data in pair)
            if finding := too_different(
                first, second, claim_of(self.budget), self.alpha / len(chosen)
            ):
                yield finding

    def _run(
        self,
        entropy: SeededEntropy,
        law: Law,
    ) -> dict[str, Any]:
        return {
            "domain": self.domain,
            "budget": self.budget,
            "workload": self.workload,
            "entropy": entropy,
            "law": law,
        }


def neighbours(
    domain: Domain,
    budget: Budget,
    count: int,
    seed: int = 0,
) -> Iterator[Pair]:
    """Neighbouring tables of codes, as the budget means it: first a row into an empty cell, then
    any; both directions.

    Tables have no row, one row, and so on up to 24, and their rows crowd in few cells, so that
    neighbours differ in empty cells, in single rows, in all attributes at once, and around every
    small count. `count` pairs of arrays of codes, shape (rows, attributes), over `domain`; the same
    `seed` gives the same ones.
    """
    rng = random.Random(seed)
    for number in range(count):
        crowd = [[rng.randrange(size) for size in domain.sizes] for _ in range(3)]
        shared = [rng.choice(crowd) for _ in range((number - 1) % _SIZES)]
        news = [[rng.randrange(size) for size in domain.sizes] for _ in range(2)]
        if number == 0:
            shared, news[0] = [[0] * len(domain)] * 20, [size - 1 for size in domain.sizes]
        elif number % 3 == 0:  # from each small count of a cell to the next
            news[0] = crowd[0]
            shared = [row for row in shared if row != crowd[0]] + [crowd[0]] * (number // 3 % 8)
        elif number % 4 == 1:
            news[0] = [size - 1 for size in domain.sizes]
        rows = rng.randint(1, budget.rows_per_person) if number % 2 else budget.rows_per_person
        # The rows of a person are replaced by others, not necessarily as many; one row by one.
        replaced = rng.randint(0, budget.rows_per_person) if budget.rows_per_person > 1 else 1
        other = [news[1]] * replaced if budget.neighbours is Neighbours.REPLACE_ROW else []
        pair = (
            _codes(_among(shared, other, rng), domain),
            _codes(_among(shared, [news[0]] * rows, rng), domain),
        )
        yield pair if number % 2 == 0 else (pair[1], pair[0])


def _among(
    shared: list[list[int]],
    news: list[list[int]],
    rng: random.Random,
) -> list[list[int]]:
    """Some rows with others inserted anywhere."""
    rows = list(shared)
    for new in news:
        rows.insert(rng.randint(0, len(rows)), new)
    return rows


def _codes(rows: list[list[int]], domain: Domain) -> Codes:
    return np.array(rows, np.int64).reshape(len(rows), len(domain))


def _full(domain: Domain) -> Codes:
    """A table of 300 rows in about half of the cells, where the domain is small."""
    rng = random.Random(0)
    cells = [
        [rng.randrange(size) for size in domain.sizes]
        for _ in range(min(_MOST_HELD, math.prod(domain.sizes)))
    ]
    held = [list(cell) for cell in dict.fromkeys(map(tuple, cells))]
    held = held[: max(1, math.prod(domain.sizes) // 2)]
    return _codes([rng.choice(held) for _ in range(300)], domain)


def _views(synopsis: Any) -> npt.NDArray[np.float64]:
    return np.concatenate(
        [np.asarray(values, np.float64).ravel() for values in synopsis.tables.values]
    )


@dataclass(frozen=True)
class _Sampler:
    mechanism: Any
    domain: Domain
    budget: Budget
    workload: Any
    output: Callable[[Any], npt.ArrayLike]
    entropy: SeededEntropy

    def many(
        self,
        source: Source,
        runs: int,
    ) -> npt.NDArray[np.float64]:
        """The outputs of many runs on a table: array (runs, numbers); shorter outputs are filled
        with infinity."""
        rows = [
            np.asarray(self.output(self._once(source)), np.float64).ravel() for _ in range(runs)
        ]
        filled = np.full((runs, max(row.size for row in rows)), np.inf)
        for place, row in enumerate(rows):
            filled[place, : row.size] = row
        return filled

    def _once(self, source: Source) -> Any:
        private = Private(
            source,
            domain=self.domain,
            budget=self.budget,
            entropy=self.entropy,
        )
        return self.mechanism.run(private, self.workload)
