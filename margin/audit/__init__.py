"""`audit`: does a mechanism keep to its budget? Two layers, for a user's own class as for ours.

Grey box: the mechanism is run through the gate on a table, and again on a neighbour with the same noisy answers. It
must ask the same, the true answers must differ by no more than was declared, the noise must be what the charges buy,
and what is returned must be equal bit by bit. What it proves, it proves for the pairs that were tried.

Black box: the mechanism is run many times on both tables, and an event is sought that is more probable on one than the
budget allows. It sees only large errors (not 20 % too little noise), but it sees them whatever the mechanism does.
"""

import random
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..budget import Budget, Neighbours
from ..domain import Domain
from ..entropy import SeededEntropy
from ..errors import MarginError
from ..private import Private
from ..source import CodesSource
from .black import claim_of, too_different
from .grey import Violation, observed, replayed
from .law import Law

__all__ = ["Audit", "audit", "neighbours"]

Codes = npt.NDArray[np.int64]
Pair = tuple[Codes, Codes]

_LOOKS = 80  # runs in which only the noise is looked at
_SIZES = 25  # of tables that are tried, from no row on


@dataclass(frozen=True, kw_only=True)
class Audit:
    """What an audit found.

    Attributes
    ----------
    pairs
        How many pairs of neighbouring tables were tried.
    runs
        How many runs of the black box were made on each table.
    findings
        What is wrong, in words; empty when nothing was found, which proves nothing beyond the pairs tried.
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
) -> Audit:
    """Look for a way in which a mechanism lets out more than its budget allows.

    Parameters
    ----------
    mechanism
        An object with the method `run` of `Mechanism`.
    domain, budget, workload
        What it is run with.
    pairs
        Neighbouring tables of codes, or how many to make up.
    runs
        For the black box, on each of two tables of the first few pairs; none when zero.
    alpha
        The chance at most of a false alarm of the black box, over all its pairs together.
    seed
        For the made-up tables and the noise.
    output
        For the black box: the numbers in what `run` returns, always as many; by default the tables of the views.

    Returns
    -------
    Audit

    Raises
    ------
    MarginError
        When `mechanism` is none.

    Examples
    --------
    >>> from margin.budget import PureDP
    >>> class Nothing:
    ...     def run(self, private, workload):
    ...         return None
    >>> audit(Nothing(), domain=Domain({"a": 2}), budget=PureDP(1), pairs=5).ok
    True
    """
    if isinstance(mechanism, type) or not callable(getattr(mechanism, "run", None)):
        raise MarginError("mechanism must be an object with a method run")
    tables = list(neighbours(domain, budget, pairs, seed) if isinstance(pairs, int) else pairs)
    law, findings = Law(), []
    entropy = SeededEntropy(seed)
    run = {"domain": domain, "budget": budget, "workload": workload, "entropy": entropy, "law": law}
    for pair in tables:
        try:
            replayed(mechanism, pair, **run)
        except Violation as violation:
            findings.append(str(violation))
    for number in range(0 if findings else min(2 * len(tables), _LOOKS)):
        observed(mechanism, _full(domain) if number % 2 else tables[number % len(tables)][0], **run)
    findings += law.judge()
    if runs:
        chosen = tables[:3]
        sample = _Sampler(mechanism, domain, budget, workload, output or _views, entropy)
        for pair in chosen:
            first, second = (sample.many(codes, runs) for codes in pair)
            findings.append(too_different(first, second, claim_of(budget), alpha / len(chosen)))
    return Audit(pairs=len(tables), runs=runs, findings=tuple(dict.fromkeys(filter(None, findings))), alpha=alpha)


def neighbours(domain: Domain, budget: Budget, count: int, seed: int = 0) -> Iterator[Pair]:
    """Neighbouring tables of codes, as the budget means it: first a row into an empty cell, then any; both directions.

    Tables have no row, one row, and so on up to 24, and their rows crowd in few cells, so that neighbours differ in
    empty cells, in single rows, in all attributes at once, and around every small count. `count` pairs of arrays of
    codes, shape (rows, attributes), over `domain`; the same `seed` gives the same ones.
    """
    rng = random.Random(seed)
    for number in range(count):
        crowd = [[rng.randrange(size) for size in domain.sizes] for _ in range(3)]
        shared = [rng.choice(crowd) for _ in range((number - 1) % _SIZES)]
        news = [[rng.randrange(size) for size in domain.sizes] for _ in range(2)]
        if number == 0:
            shared, news[0] = [[0] * len(domain)] * 20, [size - 1 for size in domain.sizes]
        elif number % 3 == 0:
            news[0] = crowd[0]
        rows = rng.randint(1, budget.rows_per_person) if number % 2 else budget.rows_per_person
        other = [news[1]] * rows if budget.neighbours is Neighbours.REPLACE_ROW else []
        pair = (_codes(shared + other, domain), _codes(shared + [news[0]] * rows, domain))
        yield pair if number % 2 == 0 else (pair[1], pair[0])


def _codes(rows: list[list[int]], domain: Domain) -> Codes:
    return np.array(rows, np.int64).reshape(len(rows), len(domain))


def _full(domain: Domain) -> Codes:
    """A table of 300 rows without many empty cells, where the domain is small."""
    rng = random.Random(0)
    return _codes([[rng.randrange(size) for size in domain.sizes] for _ in range(300)], domain)


def _views(synopsis: Any) -> npt.NDArray[np.float64]:
    return np.concatenate([np.asarray(values, np.float64).ravel() for values in synopsis.tables.values])


@dataclass(frozen=True)
class _Sampler:
    mechanism: Any
    domain: Domain
    budget: Budget
    workload: Any
    output: Callable[[Any], npt.ArrayLike]
    entropy: SeededEntropy

    def many(self, codes: Codes, runs: int) -> npt.NDArray[np.float64]:
        """The outputs of many runs on a table: array (runs, numbers); shorter outputs are filled with infinity."""
        rows = [np.asarray(self.output(self._once(codes)), np.float64).ravel() for _ in range(runs)]
        filled = np.full((runs, max(row.size for row in rows)), np.inf)
        for place, row in enumerate(rows):
            filled[place, : row.size] = row
        return filled

    def _once(self, codes: Codes) -> Any:
        private = Private(CodesSource(codes), domain=self.domain, budget=self.budget, entropy=self.entropy)
        return self.mechanism.run(private, self.workload)
