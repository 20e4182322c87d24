"""Which attributes the mechanisms for ordered attributes take as ordered."""

import inspect

import numpy as np
import pytest

import margin
from margin import Domain, DomainError, Ledger, PureDP, Workload
from margin.mechanisms import (
    AdaptiveGrid,
    Compressive,
    DPCube,
    Dyadic,
    Haar,
    Hierarchical,
    HighPass,
    KDTree,
    QuadTree,
    UniformGrid,
    Wavelet,
)

MAKERS = {
    "AdaptiveGrid": AdaptiveGrid,
    "DPCube": DPCube,
    "Dyadic": lambda **names: Dyadic(HighPass(theta=2), **names),
    "Haar": lambda **names: Haar(HighPass(theta=2, two_sided=True), **names),
    "Hierarchical": Hierarchical,
    "KDTree": KDTree,
    "QuadTree": QuadTree,
    "UniformGrid": UniformGrid,
    "Wavelet": Wavelet,
}
ORDERED = {
    "integers": {"size": 6, "ordered": True},
    "values": {"values": list(range(6)), "ordered": True},
    "bins": {"bins": [0, 1, 2, 3, 4, 5, 6], "ordered": True},
    "dates": {"dates": {"from": "2025-01-01", "to": "2025-06-30", "by": "month"}},
}
PLAIN = {"region": 3, "sex": ["f", "m"], "size": {"bins": [0, 1, 2, 3, 4]}}
CODES = np.random.default_rng(0).integers(0, [3, 2, 4, 6], (200, 4))


@pytest.mark.parametrize("kind", ORDERED)
@pytest.mark.parametrize("name", MAKERS)
def test_without_names_the_declared_ones_are_taken(name, kind):
    domain = Domain({**PLAIN, "of order": ORDERED[kind]})
    by_default, named = (
        margin.simulate(CODES, domain=domain, budget=PureDP(1), mechanism=mechanism, seed=3)
        for mechanism in (MAKERS[name](), MAKERS[name](attributes=["of order"]))
    )
    counts = [made.synopsis.marginal(["of order"]).counts for made in (by_default, named)]
    assert np.array_equal(*counts)
    assert by_default.synopsis.summary() == named.synopsis.summary()


@pytest.mark.parametrize("name", MAKERS)
def test_a_domain_that_declares_none_is_refused_before_anything_is_charged(name, tmp_path):
    domain = Domain(PLAIN)
    ledger = Ledger(tmp_path / "ledger.json")
    ledger.register("people", PureDP(1))
    with pytest.raises(DomainError, match=f'^{name} needs ordered .* "ordered": true'):
        margin.release(
            CODES[:, :3],
            domain=domain,
            budget=PureDP(1),
            mechanism=MAKERS[name](),
            ledger=ledger.dataset("people"),
        )
    assert ledger.charges("people") == ()
    # A name is enough: it says that the order of the codes has a meaning.
    made = margin.simulate(
        CODES[:, :3],
        domain=domain,
        budget=PureDP(1),
        mechanism=MAKERS[name](attributes=["size"]),
        seed=0,
    )
    assert made.synopsis.marginal(["size"]).counts.shape == (4,)


def test_wavelets_of_compressive_are_along_the_declared_attributes():
    """Steps along an ordered attribute, and spikes along another, are few coefficients."""
    counts = np.kron([[60, 0], [0, 0], [5, 20], [0, 0]], np.ones((1, 8), np.int64))
    codes = np.stack(np.nonzero(counts), axis=1).repeat(counts[counts > 0], axis=0)
    mechanism = Compressive(sparsity=4, wavelet=True)
    domain = Domain({"region": 4, "age": {"size": 16, "ordered": True}})
    made = margin.simulate(codes, domain=domain, budget=PureDP(10**5), mechanism=mechanism, seed=0)
    assert made.synopsis.table == pytest.approx(counts, abs=0.5)
    with pytest.raises(DomainError, match=r"^Compressive needs ordered .* leave wavelet=True out$"):
        margin.release(
            codes, domain={"region": 4, "age": 16}, budget=PureDP(1), mechanism=mechanism
        )


def test_every_mechanism_that_takes_names_of_ordered_attributes_is_tested():
    words = "The attributes whose codes are ordered"
    documented = {
        name
        for name in margin.mechanisms.__all__
        if words in (inspect.getdoc(getattr(margin.mechanisms, name)) or "")
    }
    assert documented == set(MAKERS)


MANY = Domain({"age": ORDERED["integers"], "region": 3, **{f"x{place}": 4 for place in range(14)}})


@pytest.mark.parametrize("make", [Hierarchical, Wavelet])
@pytest.mark.parametrize(
    ("views", "asked", "instead"),
    [
        (
            [["age", "region"]],
            {"age": "ranges"},
            r"use Residual, .*\.restrict\(\['age', 'region'\]\)$",
        ),
        ([["region", "age"]], {"age": "prefixes"}, r"domain\.restrict\(\['age', 'region'\]\)$"),
        ([list(MANY)], {"age": "ranges"}, "use Residual, which takes a workload .* bins"),
        ([["age", "region"]], {}, "use Residual, which takes a workload .* bins"),
    ],
)
def test_a_table_that_is_too_large_is_refused_with_what_takes_ranges(make, views, asked, instead):
    workload = Workload.of(MANY, views, asked=asked)
    codes = np.zeros((9, len(MANY)), int)
    arguments = {"domain": MANY, "budget": PureDP(1), "mechanism": make(), "workload": workload}
    with pytest.raises(DomainError, match=instead):
        margin.simulate(codes, **arguments, seed=0)
    with pytest.raises(DomainError, match=instead):
        make().expected_error(MANY, workload, PureDP(1))


@pytest.mark.parametrize("make", [Hierarchical, Wavelet])
def test_the_domain_of_the_workload_alone_can_be_released(make):
    few = MANY.restrict(["age", "region"])
    workload = Workload.of(few, [["age", "region"]], asked={"age": "ranges"})
    codes = np.zeros((9, 2), int)
    made = margin.simulate(
        codes, domain=few, budget=PureDP(1), mechanism=make(), workload=workload, seed=0
    )
    assert made.marginal(["age"]).counts.shape == (6,)
