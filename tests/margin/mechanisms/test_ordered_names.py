"""Which attributes the mechanisms for ordered attributes take as ordered."""

import inspect

import numpy as np
import pytest

import margin
from margin import Domain, DomainError, Ledger, PureDP
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
