"""Reductions that make a `BestResponse` smaller without changing its best value.

`presolve` applies three reductions. The first and the third also give the map from records of the
smaller instance to records of the original one (`Reduced`).

- `compress`: drop attributes that no term and no constraint mentions. Of each other attribute, the
  values that nothing mentions become one *class*; every other value is a class of its own.
- `merge`: replace terms with equal literals by one term with the sum of their weights. It is
  dropped if the sum is zero.
- `fix`: fix an attribute at a class that is best whatever the other attributes are. For class u,
  let U(u) be the weight of the terms of one literal that u makes true, f(u) the absolute weight of
  the longer terms that u can only improve, and g(u) the absolute weight of the longer terms that u
  can only worsen. Class u is best if U(u) - g(u) >= U(v) + f(v) for every other class v. With U = 0
  this is the pure literal rule. An attribute that occurs in a single parity, and nowhere else, can
  always give this parity the better value; so both are dropped. Attributes in constraints are not
  fixed.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..types import Integers
from .best_response import BestResponse
from .constraint import Constraint

Lift = Callable[[NDArray[Any], np.random.Generator], Integers]


@dataclass(
    frozen=True,
    kw_only=True,
    eq=False,
)
class Reduced:
    """A smaller instance with the same best value, and the map of its records to the original.

    Attributes
    ----------
    instance
        The smaller instance.
    lift
        Takes a record of the smaller instance, shape (attributes left,), and a random generator.
        Returns a record of the original with the same value, shape (d,). In both records, -1 stands
        for an attribute whose value does not matter.
    """

    instance: BestResponse
    lift: Lift


def presolve(instance: BestResponse) -> Reduced:
    """Apply `compress`, `merge` and `fix` until they remove no more terms."""
    steps = [compress(instance)]
    while True:
        before = steps[-1].instance
        fixed = fix(merge(before))
        smaller = compress(fixed.instance)
        steps += [fixed, smaller]
        if smaller.instance.terms == before.terms:
            break

    def lift(record: NDArray[Any], rng: np.random.Generator) -> Integers:
        for step in reversed(steps):
            record = step.lift(record, rng)
        return record

    return Reduced(
        instance=steps[-1].instance,
        lift=lift,
    )


def compress(instance: BestResponse) -> Reduced:
    """Drop attributes that nothing mentions, and join values that nothing mentions to one class.

    The attributes stay in their order. The classes of an attribute are numbered in the order of its
    values; the class of the other values comes last. Binary attributes keep both values. In the
    result, no literal on an attribute of two classes is negated, and no literal of a parity.
    """
    kept = instance.mentioned
    place = np.full(len(instance.sizes), -1, np.int64)
    place[kept] = np.arange(len(kept))
    classes = _Classes.of(instance, place, kept)
    attribute = place[instance.attribute]
    value = classes.code(attribute, instance.value)
    negated = instance.negated
    # With two classes, "is not u" is "is v".
    two = classes.sizes[attribute] == 2
    value = np.where(two & negated, 1 - value, value)
    negated = negated & ~two
    # In a parity, "is not 1" and "is 0" become "is 1", and the parity changes its value.
    parity = instance.parity[instance.term]
    odd = parity & (negated | (two & (value == 0)))
    value = np.where(odd & two, 1, value)
    negated = negated & ~parity
    turned = np.bincount(instance.term[odd], minlength=instance.terms) % 2 == 1
    constraints = []
    for rule in instance.constraints:
        own = place[rule.attribute]
        constraints.append(
            replace(
                rule,
                attribute=own,
                value=classes.code(own, rule.value),
            )
        )
    smaller = replace(
        instance,
        sizes=classes.sizes,
        attribute=attribute,
        value=value,
        negated=negated,
        weight=np.where(turned, -instance.weight, instance.weight),
        constant=instance.constant + int(instance.weight[turned].sum()),
        constraints=tuple(constraints),
    )

    def lift(record: NDArray[Any], rng: np.random.Generator) -> Integers:
        whole = np.full(len(instance.sizes), -1, np.int64)
        whole[kept] = classes.decode(record, rng)
        return whole

    return Reduced(
        instance=smaller,
        lift=lift,
    )


@dataclass(
    frozen=True,
    kw_only=True,
    eq=False,
)
class _Classes:
    """The classes of values of each mentioned attribute: maps values to classes and back.

    An attribute with at most two values has one class for each value. For the other attributes,
    `values` lists the mentioned values, attribute after attribute, ascending. Attribute a has
    `named[a]` of them, from position `first[a]` on. `original` and `sizes` are the numbers of
    values and of classes of each attribute. All arrays but `values` have the shape (attributes,).
    """

    original: Integers
    sizes: Integers
    first: Integers
    named: Integers
    values: Integers

    @classmethod
    def of(
        cls,
        instance: BestResponse,
        place: Integers,
        kept: Integers,
    ) -> "_Classes":
        """Find the classes of an instance.

        `kept` are the mentioned attributes, and `place` gives the position of an attribute in them.
        """
        rules = instance.constraints
        attribute = np.concatenate([instance.attribute, *(rule.attribute for rule in rules)])
        value = np.concatenate([instance.value, *(rule.value for rule in rules)])
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

    def code(
        self,
        place: Integers,
        value: Integers,
    ) -> Integers:
        """Convert mentioned values of the attributes at these places to classes."""
        if not len(self.values):
            return value
        stride = int(self.original.max())
        keys = np.repeat(np.arange(len(self.named)), self.named) * stride + self.values
        found = np.searchsorted(keys, place * stride + value)
        return np.where(self.original[place] > 2, found - self.first[place], value)

    def decode(
        self,
        record: NDArray[Any],
        rng: np.random.Generator,
    ) -> Integers:
        """Convert a record of classes to a record of values; -1 stays -1.

        If a class stands for several values, one of them is drawn uniformly.
        """
        classes = np.asarray(record, np.int64)
        if not len(self.values):
            return classes
        many = self.original > 2
        other = np.flatnonzero(many & (classes >= self.named))
        named = np.flatnonzero(many & (classes >= 0) & (classes < self.named))
        result = classes.copy()
        result[named] = self.values[self.first[named] + classes[named]]
        # Of the values that nothing mentions, one is drawn by its rank among them.
        rank = rng.integers(0, self.original[other] - self.named[other]) if len(other) else other
        for step in range(int(self.named[other].max(initial=0))):
            has = step < self.named[other]
            taken = self.values[np.where(has, self.first[other] + step, 0)]
            rank = rank + (has & (taken <= rank))
        result[other] = rank
        return result


def merge(instance: BestResponse) -> BestResponse:
    """Merge terms with equal literals, in any order; drop terms of weight zero or without literals.

    The weight of a term without literals goes to the constant, since the term always holds. Equal
    terms are found by a hash of 64 bits and then compared. A collision of hashes can at worst leave
    two equal terms unmerged.
    """
    lengths = np.diff(instance.offsets)
    top = int(instance.sizes.max(initial=1))
    literal = (instance.attribute * top + instance.value) * 2 + instance.negated
    mixed = _mixed(literal.astype(np.uint64))
    sums = np.zeros(instance.terms, np.uint64)
    np.add.at(sums, instance.term, mixed)
    sums = _mixed(sums + instance.parity + np.uint64(2) * lengths.astype(np.uint64))
    # Terms of equal hashes are neighbours in this order; `same` are those equal to the one before.
    order = np.argsort(sums, kind="stable")
    same = np.zeros(instance.terms, np.bool_)
    pairs = np.flatnonzero(sums[order[1:]] == sums[order[:-1]]) + 1
    if len(pairs):
        literal = literal[np.lexsort((literal, instance.term))]
        same[pairs] = _equal(instance, literal, lengths, order[pairs - 1], order[pairs])
    # The weights of merged terms; terms without literals always hold.
    first = np.flatnonzero(~same)
    weight = np.add.reduceat(instance.weight[order], first) if len(first) else instance.weight[:0]
    kept = order[first]
    empty = (lengths[kept] == 0) & (weight != 0)
    constant = instance.constant + int(weight[empty].sum())
    stays = np.zeros(instance.terms, np.bool_)
    stays[kept] = (weight != 0) & ~empty
    total = np.zeros(instance.terms, np.int64)
    total[kept] = weight
    return take(
        instance,
        stays,
        weight=total,
        constant=constant,
    )


def _equal(
    instance: BestResponse,
    literals: Integers,
    lengths: Integers,
    one: Integers,
    other: Integers,
) -> NDArray[np.bool_]:
    """For each pair of terms (one[i], other[i]), whether they have the same literals and kind."""
    equal = (lengths[one] == lengths[other]) & (instance.parity[one] == instance.parity[other])
    for place in range(int(lengths[one].max(initial=0))):
        has = equal & (place < lengths[one])
        left = literals[np.where(has, instance.offsets[one] + place, 0)]
        right = literals[np.where(has, instance.offsets[other] + place, 0)]
        equal = equal & (~has | (left == right))
    result: NDArray[np.bool_] = equal
    return result


def _mixed(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Hash each number by a function like the finaliser of SplitMix64."""
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
    """Select some of the terms and literals of an instance, possibly with new weights.

    Parameters
    ----------
    instance
        The instance to select from.
    stays
        Which terms to keep, shape (terms,).
    weight
        New weights of all terms, shape (terms,); None to keep the weights.
    constant, constraints
        New values, or None to keep those of the instance.
    literals
        Which literals to keep, shape (literals,); None for all literals of the kept terms.
    """
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
    """Fix attributes that have a class which is best whatever the other attributes are.

    Also drop each parity that has an attribute of its own: this attribute can always give the
    parity the better value. The rules are in the text of the module.
    """
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

    return Reduced(
        instance=smaller,
        lift=lift,
    )


KEPT = -2
"""Marks an attribute that `fix` does not decide; -1 marks one that no longer matters."""


def _set_right(
    instance: BestResponse,
    term: int,
    attribute: int,
    record: Integers,
    rng: np.random.Generator,
) -> None:
    """Choose the class of one attribute so that a parity has the better value.

    It holds afterwards if and only if its weight is positive.

    `record` is changed in place. Attributes of the parity that are -1 get random classes first.
    """
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
