"""Queries answered from marginals: every synopsis that gives marginals, against cells added up one
by one."""

import itertools

import numpy as np
import pytest

import margin
from margin import Domain, DomainError, HighPass, PriView, PureDP, simulate
from margin.mechanisms import Direct, Dyadic, Flat, Uniform
from margin.queries import BitTable, Conjunctions, Parities

DOMAIN = Domain({"a": 2, "b": 3, "c": 2, "d": 4, "e": 2})
CODES = (
    np.random.default_rng(1).integers(
        0,
        DOMAIN.sizes,
        (500, 5),
    )
    * (np.arange(500) % 3 > 0)[:, None]
)


def some(k, count=60, seed=1):
    """Conjunctions in any order of attributes, some literals negated."""
    drawn = Conjunctions.random(DOMAIN, k, count, seed)
    flags = np.random.default_rng(seed).random(drawn.attributes.shape) < 0.4
    return Conjunctions(
        DOMAIN,
        drawn.attributes,
        drawn.values,
        flags,
    )


def by_hand(synopsis, queries):
    """Cell by cell of each query's own marginal."""
    answers = []
    for place, attributes in enumerate(queries.attributes):
        marginal = synopsis.marginal([DOMAIN.attributes[axis] for axis in attributes])
        kept = 0.0
        for cell in itertools.product(*map(range, marginal.counts.shape)):
            if isinstance(queries, Parities):
                holds = sum(cell) % 2 == 0
            else:
                literals = zip(
                    cell,
                    queries.values[place],
                    queries.negated[place],
                    strict=True,
                )
                holds = all((code == value) != negated for code, value, negated in literals)
            kept += marginal.counts[cell] if holds else 0.0
        answers.append(min(max(kept / marginal.counts.sum(), 0.0), 1.0))
    return np.array(answers)


MECHANISMS = [
    PriView(views=[["a", "b", "c"], ["c", "d"], ["b", "e"]]),
    Flat(),
    Uniform(),
    HighPass(theta=1),
    Dyadic(HighPass(theta=1), attributes=["d"]),
    Direct(),
]


@pytest.mark.parametrize(
    "mechanism",
    MECHANISMS,
    ids=lambda mechanism: type(mechanism).__name__,
)
@pytest.mark.parametrize("k", [1, 2, 3])
def test_answers_are_those_of_the_marginals(mechanism, k):
    workload = list(itertools.combinations(DOMAIN.attributes, k))
    synopsis = simulate(
        CODES,
        domain=DOMAIN,
        budget=PureDP(2),
        mechanism=mechanism,
        workload=workload,
        seed=1,
    ).synopsis
    for queries in (some(k), Parities(DOMAIN, [[4, 0, 2][:k], [2, 4, 0][:k], [0, 2, 4][:k]])):
        answers = synopsis.answer(queries)
        assert answers.shape == (len(queries),) and answers == pytest.approx(
            by_hand(synopsis, queries),
            abs=1e-9,
        )


def test_without_noise_they_are_the_shares_of_the_rows():
    synopsis = simulate(
        CODES,
        domain=DOMAIN,
        budget=PureDP(10**5),
        mechanism=Flat(),
        seed=1,
    ).synopsis
    table = BitTable.of_codes(DOMAIN, CODES)
    for k in range(1, 6):
        assert synopsis.answer(some(k)) == pytest.approx(
            some(k).counts(table) / len(CODES),
            abs=1e-9,
        )


def test_answers_come_in_parts(monkeypatch):
    synopsis = simulate(
        CODES,
        domain=DOMAIN,
        budget=PureDP(1),
        seed=1,
    ).synopsis
    whole = synopsis.answer(some(2))
    monkeypatch.setattr("margin.queries.marginals._AT_ONCE", 3)
    assert (synopsis.answer(some(2)) == whole).all()


def test_nothing_is_known_where_noise_hid_all_rows():
    synopsis = margin.synopses.UniformSynopsis(
        domain=DOMAIN,
        total=-3.0,
        variance=1.0,
    )
    assert (synopsis.answer(some(2)) == 0).all()


def test_what_cannot_be_answered_is_told():
    synopsis = simulate(
        CODES,
        domain=DOMAIN,
        budget=PureDP(1),
        seed=1,
    ).synopsis
    with pytest.raises(DomainError, match="queries about the domain"):
        synopsis.answer(
            Conjunctions.random(
                Domain({"x": 2}),
                1,
                3,
                1,
            )
        )
    with pytest.raises(DomainError, match="queries about the domain"):
        synopsis.answer(["a"])
    workload = [["a", "b"]]
    few = simulate(
        CODES,
        domain=DOMAIN,
        budget=PureDP(1),
        mechanism=Direct(),
        workload=workload,
        seed=1,
    )
    with pytest.raises(DomainError, match="must be within a released marginal"):
        few.synopsis.answer(some(3))
    wide = Domain({f"x{place}": 2 for place in range(40)})
    flat = simulate(
        np.zeros((3, 40), int),
        domain=wide,
        budget=PureDP(1),
        mechanism=Uniform(),
        seed=1,
    ).synopsis
    with pytest.raises(DomainError, match="cells"):
        flat.answer(Conjunctions.random(wide, 35, 2, 1))
