"""Making a `BestResponse` smaller without losing its best value: `compress`, `merge`, `fix`, all of
them in `presolve`.

Each returns a `Reduced`: the smaller instance, and how a record of it is lifted to one of the
original.

- `compress`: only mentioned attributes stay; the values of an attribute that nothing mentions become one *class*.
- `merge`: terms of equal literals become one, and vanish when their weights cancel.
- `fix`: let U(u) be the weight of the one-literal terms that class u of an attribute makes true, f(u) the absolute
  weight of the longer terms that would rather see u than anything else, and g(u) of those that
  would rather see anything but u. Class u is best whatever the others do when U(u) - g(u) >= U(v) +
  f(v) for every other class v. With U = 0 this is the pure literal rule. An attribute that stands
  in one parity only can always set that parity right, so both go. Attributes that stand in
  constraints are left alone.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..types import Integers
from .constraint import Constraint
from .integer import BestResponse

Lift = Callable[[NDArray[Any], np.random.Generator], Integers]


@dataclass(frozen=True, kw_only=True, eq=False)
class Reduced:
    """A smaller instance of the same best value, and the way back.

    Attributes
    ----------
    instance
        The smaller instance.
    lift
        From a record of it, shape (attributes left,), to one of the original of the same value,
        shape (d,). In both, -1 is an attribute whose value does not matter.
    """

    instance: BestResponse
    lift: Lift


def presolve(instance: BestResponse) -> Reduced:
    """All reductions, until none finds anything."""
    steps = [compress(instance)]
    while True:
        before = steps[-1].instance
        steps += [step := fix(merge(before))]
        steps += [compress(step.instance)]
        if steps[-1].instance.terms == before.terms:
            break

    def lift(record: NDArray[Any], rng: np.random.Generator) -> Integers:
        for step in reversed(steps):
            record = step.lift(record, rng)
        return record

    return Reduced(instance=steps[-1].instance, lift=lift)


def compress(instance: BestResponse) -> Reduced:
    """Mentioned attributes only, in their order, with their mentioned values, ascending, and one
    class for the rest.

    Binary attributes keep both values. Literals are without negation where there are two classes,
    and in parities.
    """
    kept = instance.mentioned
    place = np.full(len(instance.sizes), -1, np.int64)
    place[kept] = np.arange(len(kept))
    classes = _Classes.of(instance, place, kept)
    attribute = place[instance.attribute]
    value = classes.code(attribute, instance.value)
    negated = instance.negated
    two = classes.sizes[attribute] == 2
    parity = instance.parity[instance.term]
    value = np.where(two & negated, 1 - value, value)
    negated = negated & ~two
    # In a parity, "is not 1" and "is 0" are "is 1" and one more.
    odd = parity & (negated | (two & (value == 0)))
    value = np.where(odd & two, 1, value)
    negated = negated & ~parity
    turned = np.bincount(instance.term[odd], minlength=instance.terms) % 2 == 1
    smaller = replace(
        instance,
        sizes=classes.sizes,
        attribute=attribute,
        value=value,
        negated=negated,
        weight=np.where(turned, -instance.weight, instance.weight),
        constant=instance.constant + int(instance.weight[turned].sum()),
        constraints=tuple(
            replace(
                rule,
                attribute=place[rule.attribute],
                value=classes.code(place[rule.attribute], rule.value),
            )
            for rule in instance.constraints
        ),
    )

    def lift(record: NDArray[Any], rng: np.random.Generator) -> Integers:
        whole = np.full(len(instance.sizes), -1, np.int64)
        whole[kept] = classes.decode(record, rng)
        return whole

    return Reduced(instance=smaller, lift=lift)


@dataclass(frozen=True, kw_only=True, eq=False)
class _Classes:
    """Which values of the mentioned attributes are told apart; those with at most two values keep
    them all.

    `values` are the mentioned values of the others, flat and ascending in each attribute; `first`
    is where an attribute's begin, `named` how many it has.
    """

    original: Integers
    sizes: Integers
    first: Integers
    named: Integers
    values: Integers

    @classmethod
    def of(cls, instance: BestResponse, place: Integers, kept: Integers) -> "_Classes":
        attribute = np.concatenate(
            [instance.attribute, *(rule.attribute for rule in instance.constraints)]
        )
        value = np.concatenate([instance.value, *(rule.value for rule in instance.constraints)])
        many = instance.sizes[attribute] > 2
        stride = int(instance.sizes.max(initial=1))
        keys = np.unique(place[attribute[many]] * stride + value[many])
        original = instance.sizes[kept]
        named = np.bincount(keys // stride, minlength=len(kept))
        return cls(
            original=original,
            sizes=np.where(original > 2, np.minimum(named + 1, original), original),
            first=np.cumsum(named) - named,
            named=named,
            values=keys % stride,
        )

    def code(self, place: Integers, value: Integers) -> Integers:
        """The class of each value of the attributes at these places."""
        if not len(self.values):
            return value
        stride = int(self.original.max())
        keys = np.repeat(np.arange(len(self.named)), self.named) * stride + self.values
        found = np.searchsorted(keys, place * stride + value)
        return np.where(self.original[place] > 2, found - self.first[place], value)

    def decode(self, record: NDArray[Any], rng: np.random.Generator) -> Integers:
        """A value of the class at each place; -1 where the class is -1."""
        classes = np.asarray(record, np.int64)
        if not len(self.values):
            return classes
        many = self.original > 2
        other = np.flatnonzero(many & (classes >= self.named))
        named = np.flatnonzero(many & (classes >= 0) & (classes < self.named))
        result = classes.copy()
        result[named] = self.values[self.first[named] + classes[named]]
        rank = rng.integers(0, self.original[other] - self.named[other]) if len(other) else other
        for step in range(int(self.named[other].max(initial=0))):
            has = step < self.named[other]
            taken = self.values[np.where(has, self.first[other] + step, 0)]
            rank = rank + (has & (taken <= rank))
        result[other] = rank
        return result


def merge(instance: BestResponse) -> BestResponse:
    """Terms of equal literals, in whatever order, as one; without those of weight zero and those
    without literals.

    Equal terms are found by a hash of 64 bits and then compared, so a collision leaves them apart
    at worst.
    """
    lengths = np.diff(instance.offsets)
    top = int(instance.sizes.max(initial=1))
    literal = (instance.attribute * top + instance.value) * 2 + instance.negated
    mixed = _mixed(literal.astype(np.uint64))
    sums = np.zeros(instance.terms, np.uint64)
    np.add.at(sums, instance.term, mixed)
    sums = _mixed(sums + instance.parity + np.uint64(2) * lengths.astype(np.uint64))
    order = np.argsort(sums, kind="stable")
    same = np.zeros(instance.terms, np.bool_)
    pairs = np.flatnonzero(sums[order[1:]] == sums[order[:-1]]) + 1
    if len(pairs):
        literal = literal[np.lexsort((literal, instance.term))]
        same[pairs] = _equal(instance, literal, lengths, order[pairs - 1], order[pairs])
    first = np.flatnonzero(~same)
    weight = np.add.reduceat(instance.weight[order], first) if len(first) else instance.weight[:0]
    kept = order[first]
    empty = (lengths[kept] == 0) & (weight != 0)
    constant = instance.constant + int(weight[empty].sum())
    stays = np.zeros(instance.terms, np.bool_)
    stays[kept] = (weight != 0) & ~empty
    total = np.zeros(instance.terms, np.int64)
    total[kept] = weight
    return take(instance, stays, weight=total, constant=constant)


def _equal(
    instance: BestResponse, literals: Integers, lengths: Integers, one: Integers, other: Integers
) -> NDArray[np.bool_]:
    """Whether two terms have the same literals and kind, for many pairs."""
    equal = (lengths[one] == lengths[other]) & (instance.parity[one] == instance.parity[other])
    for place in range(int(lengths[one].max(initial=0))):
        has = equal & (place < lengths[one])
        left = literals[np.where(has, instance.offsets[one] + place, 0)]
        right = literals[np.where(has, instance.offsets[other] + place, 0)]
        equal = equal & (~has | (left == right))
    result: NDArray[np.bool_] = equal
    return result


def _mixed(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The finaliser of SplitMix64."""
    numbers = (numbers + np.uint64(0x9E3779B97F4A7C15)) * np.uint64(0xBF58476D1CE4E5B9)
    numbers = (numbers ^ (numbers >> np.uint64(31))) * np.uint64(0x94D049BB133111EB)
    return numbers ^ (numbers >> np.uint64(29))


def take(
    instance: BestResponse,
    stays: NDArray[np.bool_],
    *,
    weight: Integers | None = None,
    constant: int | None = None,
    literals: NDArray[np.bool_] | None = None,
    constraints: tuple[Constraint, ...] | None = None,
) -> BestResponse:
    """The instance with some of the terms, of these weights, and some of their literals."""
    kept = stays[instance.term]
    if literals is not None:
        kept = kept & literals
    lengths = np.bincount(instance.term[kept], minlength=instance.terms)[stays]
    return replace(
        instance,
        offsets=np.concatenate([[0], np.cumsum(lengths)]),
        attribute=instance.attribute[kept],
        value=instance.value[kept],
        negated=instance.negated[kept],
        weight=(instance.weight if weight is None else weight)[stays],
        parity=instance.parity[stays],
        constant=instance.constant if constant is None else constant,
        constraints=instance.constraints if constraints is None else constraints,
    )


def fix(instance: BestResponse) -> Reduced:
    """Attributes that have a best class whatever the others do, and parities that can always be set
    right."""
    from .loops import Layout
    from .presolve_loops import fix_attributes

    fixed = np.full(len(instance.sizes), KEPT, np.int64)
    weight = instance.weight.copy()
    alive = np.ones(instance.terms, np.bool_)
    peeled = np.empty((len(instance.sizes), 2), np.int64)
    gained, peels = fix_attributes(Layout.of(instance), weight, alive, fixed, peeled)
    smaller = take(
        instance,
        alive,
        weight=weight,
        constant=instance.constant + gained,
        literals=fixed[instance.attribute] == KEPT,
    )

    def lift(record: NDArray[Any], rng: np.random.Generator) -> Integers:
        whole = np.where(fixed == KEPT, record, fixed)
        for term, attribute in peeled[:peels][::-1]:
            _set_right(instance, int(term), int(attribute), whole, rng)
        return whole

    return Reduced(instance=smaller, lift=lift)


KEPT = -2
"""What marks an attribute that `fix` does not decide; -1 marks one that no longer matters."""


def _set_right(
    instance: BestResponse, term: int, attribute: int, record: Integers, rng: np.random.Generator
) -> None:
    """Choose an attribute's class so that a parity holds if its weight is positive, and does not if
    negative."""
    span = slice(instance.offsets[term], instance.offsets[term + 1])
    places = instance.attribute[span]
    values = instance.value[span]
    negated = instance.negated[span]
    loose = places[(record[places] < 0)]
    record[loose] = rng.integers(0, instance.sizes[loose])
    others = places != attribute
    odd = int(((record[places] == values) != negated)[others].sum()) % 2
    wanted = bool(odd) == (instance.weight[term] > 0)
    own = int(np.flatnonzero(~others)[0])
    true = wanted != bool(negated[own])
    value = int(values[own])
    size = int(instance.sizes[attribute])
    record[attribute] = value if true else (value + 1 + rng.integers(0, size - 1)) % size
