"""Instances of best responses: rounds of multiplicative weights over conjunctions and parities."""

import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

import numpy as np

from ...response.best_response import BestResponse
from ...response.constraint import Constraint
from ...types import Flags, Integers
from .draws import Draws
from .recipe import Recipe
from .records import KINDS, records

__all__ = ["recipes", "round_of_weights", "seeded"]

_CANDIDATES = 200
"""The number of records among which the generator answers a round."""

_WIDTH = 3
"""The number of attributes of a query of the catalogue."""

_STEPS = np.array([round(2 ** (16 + step / 4)) for step in range(-64, 65)], np.int64)
"""Integer weights: 2 ** (16 + step / 4) for the steps from -64 to 64."""


class _Case(NamedTuple):
    """Attributes, queries, samples of a round, and the round."""

    name: str
    size: str
    sizes: tuple[int, ...]
    kind: str
    width: int
    samples: int
    round: int
    parity: bool = False
    forbidden: int = 0


def round_of_weights(case: _Case, seed: int) -> BestResponse:
    """The problem of one round of multiplicative weights, as DualQuery draws it.

    Queries have integer weights. Each round draws `samples` queries and negations of queries in
    proportion to their weights, and answers by the best of some random records. Then a query gains
    weight where the records so far answer it too low, and its negation where they answer it too
    high (Gaboardi et al., Dual Query, ICML 2014, algorithm 1).
    """
    draws = Draws(seed + 4000)
    table = records(case.kind, case.sizes, 2000, seed)
    attributes, values = _queries(case, draws)
    held = _held(table, attributes, values, case.parity)
    # The true answers, in thousandths of the rows.
    truth = 1000 * held.sum(axis=0) // len(table)
    # Steps of the logarithm of the weights, in quarters of a bit, of each query.
    steps = np.zeros(len(attributes), np.int64)
    answered = np.zeros(len(attributes), np.int64)
    for turn in range(1, case.round + 1):
        weights = np.concatenate([_STEPS[64 + steps], _STEPS[64 - steps]])
        drawn = draws.weighted(weights, case.samples)
        net = np.bincount(drawn, minlength=2 * len(attributes)).astype(np.int64)
        wanted, unwanted = net[: len(attributes)], net[len(attributes) :]
        if turn == case.round:
            break
        used = np.flatnonzero(wanted + unwanted)
        candidates = np.stack([draws.below(size, _CANDIDATES) for size in case.sizes], axis=1)
        held = _held(candidates, attributes[used], values[used], case.parity)
        scores = held.astype(np.int64) @ (wanted - unwanted)[used]
        best = candidates[[int(np.argmax(scores))]]
        answered += _held(best, attributes, values, case.parity)[0]
        # Too low answers raise the weight of the query, too high ones that of its negation.
        missing = truth * turn - 1000 * answered
        steps = np.clip(missing // 250, -64, 64)
    return _problem(case, attributes, values, wanted, unwanted, draws)


def _queries(case: _Case, draws: Draws) -> tuple[Integers, Integers]:
    """The attributes and values of 20 queries for each attribute, both of shape (queries, k)."""
    count = max(300, 20 * len(case.sizes))
    attributes = np.array([draws.subset(len(case.sizes), case.width) for _ in range(count)])
    sizes = np.array(case.sizes)[attributes]
    values = draws.below(1 << 20, attributes.size).reshape(attributes.shape) % sizes
    return attributes, np.ones_like(values) if case.parity else values


def _held(table: Integers, attributes: Integers, values: Integers, parity: bool) -> Flags:
    """Which query holds at which record, shape (records, queries)."""
    equal = table[:, attributes] == values
    if parity:
        return np.asarray(equal.sum(axis=2) % 2 == 0)
    return np.asarray(equal.all(axis=2))


def _problem(
    case: _Case,
    attributes: Integers,
    values: Integers,
    wanted: Integers,
    unwanted: Integers,
    draws: Draws,
) -> BestResponse:
    """The problem of a round: queries drawn, less negations drawn."""
    used = np.flatnonzero(wanted != unwanted)
    weights = (wanted - unwanted)[used]
    constant = int(unwanted.sum())
    forbidden = []
    for _ in range(case.forbidden):
        pair = draws.subset(len(case.sizes), 2)
        forbidden.append(Constraint.forbid([(axis, case.sizes[axis] - 1) for axis in pair]))
    if case.parity:
        return BestResponse.parities(
            case.sizes, attributes[used], weights, constant=constant, constraints=forbidden
        )
    return BestResponse.conjunctions(
        case.sizes,
        attributes[used],
        values[used],
        weights,
        constant=constant,
        constraints=forbidden,
    )


def _mixed(count: int) -> tuple[int, ...]:
    """The numbers of categories of mixed attributes."""
    return tuple(2 + place % 5 for place in range(count))


def _conjunctions() -> Iterator[_Case]:
    """Conjunctions of three literals: early and late rounds, from easy to open."""
    ladder = (
        ("small", 20, 30),
        ("small", 40, 60),
        ("small", 60, 60),
        ("medium", 60, 150),
        ("medium", 100, 200),
        ("large", 100, 500),
        ("large", 235, 1000),
        ("large", 400, 2000),
    )
    for size, count, samples in ladder:
        for kind in ("independent", "chain", "clicks"):
            for turn in (2, 60):
                name = f"c{count}x{samples}-{kind}-round{turn}"
                yield _Case(name, size, (2,) * count, kind, _WIDTH, samples, turn)


def _others() -> Iterator[_Case]:
    """Parities, mixed categories, and forbidden combinations."""
    for size, count, samples in (
        ("small", 12, 20),
        ("small", 20, 25),
        ("medium", 24, 60),
        ("large", 32, 150),
        ("large", 60, 300),
    ):
        for turn in (2, 30):
            name = f"p{count}x{samples}-chain-round{turn}"
            yield _Case(name, size, (2,) * count, "chain", _WIDTH, samples, turn, parity=True)
    for size, count, samples in (
        ("small", 12, 40),
        ("small", 20, 60),
        ("medium", 40, 150),
        ("large", 80, 600),
    ):
        sizes = _mixed(count)
        for turn in (2, 60):
            name = f"m{count}x{samples}-classes-round{turn}"
            yield _Case(name, size, sizes, "classes", _WIDTH, samples, turn)
    for size, count, samples in (("small", 20, 40), ("small", 40, 60), ("medium", 60, 150)):
        name = f"f{count}x{samples}-chain-round10"
        yield _Case(name, size, (2,) * count, "chain", _WIDTH, samples, 10, forbidden=count)


_NAME = re.compile(r"([cpmf])([1-9]\d*)x([1-9]\d*)-([a-z]+)-round([1-9]\d*)")


def seeded(family: str, parts: list[str], seed: int) -> Callable[[], BestResponse] | None:
    """A function that makes the problem of the parts of a name; None if they do not fit."""
    name = "-".join(parts)
    found = _NAME.fullmatch(name)
    if not found or found[4] not in KINDS or int(found[2]) < _WIDTH:
        return None
    letter, kind = found[1], found[4]
    count, samples, turn = int(found[2]), int(found[3]), int(found[5])
    case = _Case(
        name=name,
        size="large",
        sizes=_mixed(count) if letter == "m" else (2,) * count,
        kind=kind,
        width=_WIDTH,
        samples=samples,
        round=turn,
        parity=letter == "p",
        forbidden=count if letter == "f" else 0,
    )
    return partial(round_of_weights, case, seed)


def recipes() -> Iterator[Recipe]:
    """The recipes of best responses."""
    for number, case in enumerate([*_conjunctions(), *_others()], start=1):
        yield Recipe(
            name=f"response-{case.name}",
            family="response",
            size=case.size,
            make=partial(round_of_weights, case, number),
        )
