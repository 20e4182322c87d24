"""Every form of synopsis refuses the numbers that no file can hold; all others come back."""

import dataclasses
import math
import re

import numpy as np
import pytest

import margin
from margin import mechanisms
from margin.synopses import ColumnCounts, ItemsetCounts, MarginalSynopsis
from margin.testing import check_mechanism

SIDE = {"size": 4, "ordered": True}
GRID = {"x": [0, 1, 2, 3, 3] * 8, "y": [0, 1, 1, 2, 3] * 8}
BITS = {name: [0, 1, 1, 0, 1] * 8 for name in "abcd"}
LEVELS = {
    "place": {
        "levels": {
            "names": ["half", "place"],
            "paths": [["ab", "a"], ["ab", "b"], ["cd", "c"], ["cd", "d"]],
        }
    }
}

MADE = {
    "BoxSynopsis": (GRID, {"x": SIDE, "y": SIDE}, mechanisms.QuadTree(), None),
    "CellSynopsis": (
        GRID,
        {"x": SIDE, "y": SIDE},
        mechanisms.Dyadic(mechanisms.HighPass(target=3)),
        None,
    ),
    "ColumnCounts": (BITS, dict.fromkeys("abcd", 2), mechanisms.PeeledItems(k=2), None),
    "ItemsetCounts": (BITS, dict.fromkeys("abcd", 2), mechanisms.PrivBasis(k=3), None),
    "LevelSynopsis": (
        {"place": list("abcda") * 8},
        LEVELS,
        mechanisms.LevelCounts(attribute="place"),
        None,
    ),
    "MarginalSynopsis": (BITS, dict.fromkeys("abcd", 2), mechanisms.Direct(), [["a", "b"]]),
    "RecordSynopsis": (
        BITS,
        dict.fromkeys("abcd", 2),
        mechanisms.DualQuery(estimate_error=True),
        [["a", "b"]],
    ),
    "SketchSynopsis": (GRID, {"x": SIDE, "y": SIDE}, mechanisms.CountSketch(width=8), None),
    "TableSynopsis": (GRID, {"x": SIDE, "y": SIDE}, mechanisms.Flat(), None),
    "UniformSynopsis": (BITS, dict.fromkeys("abcd", 2), mechanisms.Uniform(), None),
    "ViewSynopsis": (BITS, dict.fromkeys("abcd", 2), margin.PriView(), [["a", "b"]]),
}

# 4 is more than the kurtosis of Laplace noise.
NUMBERS = [math.nan, math.inf, -1.0, 4.0]


def simulated(form):
    table, domain, mechanism, workload = MADE[form]
    made = margin.simulate(
        table,
        domain=domain,
        budget=margin.PureDP(1),
        mechanism=mechanism,
        workload=workload,
        seed=1,
    ).synopsis
    assert type(made).__name__ == form
    return made


def numeric(made):
    """The names of the fields that hold floats: numbers, tuples of numbers, arrays."""
    for field in dataclasses.fields(made):
        value = getattr(made, field.name)
        if field.name == "held" and isinstance(made, MarginalSynopsis):
            yield from ("held.counts", "held.noise_variance", "held.noise_kurtosis")
        elif (
            isinstance(value, float)
            or (isinstance(value, np.ndarray) and value.dtype.kind == "f")
            or (isinstance(value, tuple) and value and isinstance(value[0], float))
        ):
            yield field.name


def planted(value, number):
    """The value with the number in place of its first entry."""
    if isinstance(value, float):
        return number
    if isinstance(value, tuple):
        return (number, *value[1:])
    copy = np.array(value, np.float64)
    copy.flat[0] = number
    return copy


def changed(made, field, number):
    if not field.startswith("held."):
        return dataclasses.replace(made, **{field: planted(getattr(made, field), number)})
    marginal, *others = made.held
    parts = {
        "counts": marginal.counts,
        "noise_variance": marginal.noise_variance,
        "noise_kurtosis": np.broadcast_to(marginal.noise_kurtosis, marginal.counts.shape),
    }
    name = field.removeprefix("held.")
    parts[name] = planted(parts[name], number)
    other = margin.Marginal(
        marginal.domain,
        parts["counts"],
        parts["noise_variance"],
        noise_kurtosis=parts["noise_kurtosis"],
    )
    return dataclasses.replace(made, held=(other, *others))


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("form", MADE)
def test_what_can_be_made_can_be_saved_and_loaded(form, number, tmp_path):
    made = simulated(form)
    refusals = []
    for field in numeric(made):
        try:
            other = changed(made, field, number)
        except margin.DomainError as error:
            refusals.append(str(error))
            continue
        path = tmp_path / f"{field}.margin"
        other.save(path)
        loaded = margin.load(path, allow_simulation=True).synopsis
        if "." not in field:
            np.testing.assert_array_equal(getattr(loaded, field), getattr(other, field))
    # Each message says what to do.
    for told in refusals:
        assert re.search(r"must (hold|be) .*; (put|take|leave|measure)", told), told


@pytest.mark.parametrize("form", MADE)
def test_a_form_as_it_was_made_comes_back(form, tmp_path):
    made = simulated(form)
    made.save(tmp_path / "x.margin")
    again = margin.load(tmp_path / "x.margin", allow_simulation=True).synopsis
    for field in numeric(made):
        if "." not in field:
            np.testing.assert_array_equal(getattr(again, field), getattr(made, field))


class Unmeasured:
    """Counts two chosen items, and says `number` as the variance of the others."""

    def __init__(self, number, missed=math.nan, parameter=1.0):
        self.number = number
        self.missed = missed
        self.parameter = parameter

    def run(self, private, workload):
        chosen = private.select_items(count=2, spend="0.5")
        counted = private.chosen_counts(chosen=chosen)
        variance = np.full(counted.counts.size, self.number)
        variance[list(chosen)] = private.events[-1].noise.variance
        missed = np.full(counted.counts.size, self.missed)
        missed[list(chosen)] = 0.0
        return ColumnCounts(
            domain=counted.domain,
            counts=counted.counts,
            variance=variance,
            missed_variance=missed,
            ranking=np.array(chosen),
            parameters={"size": self.parameter},
        )


@pytest.mark.parametrize(
    ("mechanism", "words"),
    [
        (Unmeasured(math.nan), "put 0 for an item that was not measured, and NaN in missed_var"),
        (Unmeasured(math.inf), "put 0 for an item that was not measured, and NaN in missed_var"),
        (Unmeasured(-1.0), "put 0 for an item that was not measured, and NaN in missed_var"),
        (Unmeasured(0.0, missed=5.0), "put NaN for each count that misses something"),
        (Unmeasured(0.0, parameter=math.inf), "'size' is not"),
    ],
    ids=["nan", "inf", "negative", "missed", "parameter"],
)
def test_an_own_mechanism_is_told_what_to_put_for_what_it_did_not_measure(mechanism, words):
    with pytest.raises(AssertionError, match=words):
        check_mechanism(mechanism, domain=dict.fromkeys("abcd", 2), pairs=1)


def test_zero_is_what_an_own_mechanism_puts_there():
    check_mechanism(Unmeasured(0.0), domain=dict.fromkeys("abcd", 2), pairs=1)


class Wrong:
    """Returns a form whose file cannot be read again: it has no variance for its set."""

    def run(self, private, workload):
        (counted,) = private.measure([["a"]])
        return ItemsetCounts(
            domain=private.domain,
            itemsets=((0,),),
            counts=counted.counts[:1],
            variance=np.zeros(0),
        )


class Unhelpful(margin.Synopsis):
    """A form of a user's own, which no file holds."""


class Own:
    def run(self, private, workload):
        private.measure([["a"]])
        return Unhelpful(domain=private.domain)


def test_the_check_saves_and_loads_the_result():
    with pytest.raises(AssertionError, match="cannot be saved and loaded again: FileError"):
        check_mechanism(Wrong(), pairs=1)
    check_mechanism(Own(), pairs=1)
