"""`release(base=)`: kinds of base x mechanisms, what a file holds, and what is refused."""

import dataclasses
import functools
import hashlib
import json
import zipfile

import numpy as np
import pytest

import margin
from margin import (
    ZCDP,
    Adaptive,
    Auto,
    DataError,
    Domain,
    DomainError,
    FileError,
    MarginError,
    PriView,
    PublicTable,
    PureDP,
    Residual,
    store,
)
from margin.cli.main import main
from margin.synopses.source import Source, base_told

SIZES = {"a": 2, "b": 3, "c": 2, "d": 4, "e": 2}
NAMES = list(SIZES)
DOMAIN = Domain(SIZES)
MECHANISMS = [Auto(), Adaptive(), PriView(), Residual()]
PAIRS = margin.Workload.all_kway(DOMAIN, 2)
TRIPLES = margin.Workload.all_kway(DOMAIN, 3)


def rows(count, seed):
    """Rows of a mixture of three kinds."""
    law = np.random.default_rng(5)
    shares = [law.dirichlet(np.ones(size), 3).cumsum(axis=1) for size in SIZES.values()]
    rng = np.random.default_rng(seed)
    kind = rng.integers(0, 3, count)
    return np.column_stack(
        [(rng.random(count)[:, None] > share[kind][:, :-1]).sum(axis=1) for share in shares]
    )


PRIVATE = rows(4_000, 1)
PUBLIC = rows(2_000, 2)
MEASURED = PriView(views=[["a", "b"], ["c", "d"], ["d", "e"]])


def simulated(base=None, mechanism=MEASURED, seed=3, budget=PureDP("0.5")):
    return margin.simulate(
        PRIVATE, domain=DOMAIN, budget=budget, mechanism=mechanism, base=base, seed=seed
    )


def table(codes=PUBLIC):
    return PublicTable(codes, source="example.org/survey")


def shuffled():
    rng = np.random.default_rng(0)
    return table(np.column_stack([rng.permutation(column) for column in PUBLIC.T]))


def earlier():
    return margin.simulate(rows(3_000, 7), domain=DOMAIN, budget=PureDP(2), seed=9)


BASES = {
    "public": table,
    "shuffled": shuffled,
    "release": earlier,
    "chain": lambda: margin.simulate(
        rows(3_000, 7), domain=DOMAIN, budget=PureDP(2), base=table(), seed=9
    ),
}


PRODUCT = [
    pytest.param(
        kind,
        mechanism,
        id=f"{kind}-{type(mechanism).__name__}",
        marks=[] if isinstance(mechanism, PriView) or kind == "public" else [pytest.mark.slow],
    )
    for kind in BASES
    for mechanism in MECHANISMS
]


@pytest.mark.parametrize(("kind", "mechanism"), PRODUCT)
def test_each_kind_of_base_with_each_mechanism(kind, mechanism, tmp_path):
    """Answers are finite, whole in their total, and the same after a round trip."""
    synopsis = simulated(BASES[kind](), mechanism).synopsis
    assert synopsis.base is not None
    synopsis.save(tmp_path / "x.margin")
    loaded = margin.load(tmp_path / "x.margin", allow_simulation=True).synopsis
    assert loaded.provenance == synopsis.provenance
    assert loaded.summary() == synopsis.summary()
    views = [("b", "a"), ("a", "c", "e"), ("d",)]
    pairs = zip(synopsis.marginals(views), loaded.marginals(views), strict=True)
    for one, other in pairs:
        assert np.array_equal(one.counts, other.counts)
        assert np.array_equal(one.noise_variance, other.noise_variance)
        assert np.array_equal(one.missed_variance, other.missed_variance)
        assert np.isfinite(one.variance).all() and one.counts.min() >= 0
        assert one.counts.sum() == pytest.approx(synopsis.total[0], rel=1e-6)
    where = {"a": 1, "e": 0}
    assert synopsis.count(where) == loaded.count(where)


def error(simulation, views):
    truths = simulation.truths(views)
    answers = simulation.synopsis.marginals(views)
    squares = [((a.counts - t.counts) ** 2).sum() for a, t in zip(answers, truths, strict=True)]
    return float(np.sqrt(squares).mean())


@pytest.mark.parametrize(("kind", "most"), [("public", 0.8), ("shuffled", 1.05)])
def test_a_good_base_helps_and_a_shuffled_one_costs_next_to_nothing(kind, most):
    with_base = without = 0.0
    for seed in range(2):
        with_base += error(simulated(BASES[kind](), seed=seed), TRIPLES)
        without += error(simulated(seed=seed), TRIPLES)
    assert with_base <= most * without


@pytest.mark.parametrize(
    ("whole", "half"),
    [(PureDP("0.5"), PureDP("0.25")), (ZCDP("0.04"), ZCDP("0.02"))],
    ids=["pure", "zCDP"],
)
def test_bounds_with_an_earlier_release_of_the_rows_are_narrower_and_hold(whole, half):
    views = [["a", "b"], ["c", "d"], ["d", "e"], ["a"], ["d"]]
    inside, ratios = [], []
    for seed in range(8):
        release = functools.partial(simulated, budget=half, seed=50 + seed)
        earlier_one = simulated(budget=whole, seed=seed)
        using, without = release(earlier_one), release()
        for answer, alone, truth in zip(
            using.synopsis.marginals(views),
            without.synopsis.marginals(views),
            using.truths(views),
            strict=True,
        ):
            low, high = answer.interval(0.95)
            inside.append(((low <= truth.counts) & (truth.counts <= high)).ravel())
            ratios.append(answer.variance.mean() / alone.variance.mean())
    # Cells of a release depend on each other, so this is no test of the level.
    assert np.concatenate(inside).mean() >= 0.9
    # The mean of a table and a base with a quarter of its variance has a fifth of it, if it is
    # known that both are about the same rows.
    assert 0.2 < np.mean(ratios) < 0.97


def two_years():
    """Codes of two years: most rows stay, and some rows of one category move to another."""
    rng = np.random.default_rng(5)

    def drawn():
        place = rng.choice(8, 20_000, p=[0.3, 0.2, 0.15, 0.1, 0.1, 0.07, 0.05, 0.03])
        age, sex = rng.integers(0, 5, 20_000), rng.integers(0, 2, 20_000)
        step = rng.choice(8, 20_000, p=[0.4, 0.2, 0.1, 0.1, 0.08, 0.06, 0.04, 0.02])
        return np.column_stack([place, age, sex, (age + step) % 8])

    first, others = drawn(), drawn()
    second = np.where(rng.random((20_000, 1)) < 0.05, others, first)
    moves = (second[:, 0] == 0) & (second[:, 3] == 0) & (rng.random(20_000) < 0.15)
    second[moves, 3] = 1
    return first, second


@pytest.mark.parametrize(("rho", "uses_base"), [("0.01", False), ("0.01", True), ("0.002", True)])
def test_a_release_leans_towards_its_base(rho, uses_base):
    """The page on bases says what this means for changes (seeds are fixed)."""
    first, second = two_years()
    views = [["a", "b", "c"], ["a", "d"], ["b", "d"]]
    settings = {
        "domain": Domain({"a": 8, "b": 5, "c": 2, "d": 8}),
        "mechanism": PriView(),
        "workload": views,
    }
    errors, stated = [], []
    for seed in range(25):
        last = margin.simulate(first, budget=ZCDP("0.01"), seed=seed, **settings)
        base = last.synopsis if uses_base else None
        now = margin.simulate(second, budget=ZCDP(rho), seed=100 + seed, base=base, **settings)
        both = [(one.marginal(view), one.truth(view)) for one in (last, now) for view in views]
        errors.append([(made.counts - true.counts).ravel() for made, true in both])
        stated.append([made.variance.ravel() for made, _ in both])
    before, after = (
        np.array([np.concatenate(run[part]) for run in errors])
        for part in (slice(0, 3), slice(3, 6))
    )
    roots = np.sqrt([np.concatenate(run[:3]) + np.concatenate(run[3:]) for run in stated])
    true = [now.truth(view).counts - last.truth(view).counts for view in views]
    change = np.concatenate([one.ravel() for one in true])
    correlation = (before * after).mean() / np.sqrt((before**2).mean() * (after**2).mean())
    inside = abs(after - before) <= 1.96 * roots
    sudden = abs(change) > 2 * roots.mean(0)
    published = change + (after - before).mean(0)
    kept = (published * change)[sudden].sum() / (change[sudden] ** 2).sum()
    assert sudden.sum() >= 2 and inside.mean() > 0.93
    if not uses_base:
        assert abs(correlation) < 0.05 and abs(kept - 1) < 0.05
        assert inside[:, sudden].mean() > 0.85
        return
    # The root is cautious for most counts, and too small for those that changed suddenly.
    assert correlation > 0.15 and inside.mean() > 0.97
    assert 0.5 < kept < (0.96 if rho == "0.01" else 0.85)
    if rho == "0.002":
        assert inside[:, sudden].mean() < 0.9


def test_a_noisy_base_does_not_make_the_total_of_a_sparse_table_worse():
    """The noise of the base made it too small by a third (seeds are fixed)."""
    settings = {
        "domain": Domain(dict.fromkeys("abcd", 12)),
        "mechanism": PriView(views=[["a", "b", "c", "d"]]),
    }
    law = np.random.default_rng(5).dirichlet(np.full(12, 0.3), (20, 4)).cumsum(axis=2)
    found = []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        shares = law[rng.integers(0, 20, 2_000)]
        codes = (rng.random((2_000, 4, 1)) > shares[:, :, :-1]).sum(axis=2)
        last, now = codes[:1_000], codes[1_000:]
        base = margin.simulate(last, budget=ZCDP("0.2"), seed=seed, **settings).synopsis
        made = margin.simulate(now, budget=ZCDP("0.05"), seed=100 + seed, base=base, **settings)
        found.append((made.synopsis.total[0] - 1_000, made.synopsis.held.total - 1_000))
    with_base, own = np.sqrt((np.array(found) ** 2).mean(axis=0))
    assert with_base < 1.02 * own


def test_the_noise_does_not_depend_on_the_base():
    """The base must not touch what is measured: equal seeds give equal noisy tables."""
    plain = simulated().synopsis
    for kind in BASES:
        based = simulated(BASES[kind]()).synopsis
        for one, other in zip(plain.held.values, based.held.values, strict=True):
            assert np.array_equal(one, other)
        assert based.spent == plain.spent


@pytest.mark.parametrize("kind", ["table", "total", "views"])
@pytest.mark.parametrize("order", [0, 1])
def test_a_release_of_the_total_alone_takes_a_base(kind, order):
    """The default may measure or keep the total alone: this must not fail after the charge."""
    settings = {"domain": DOMAIN, "budget": PureDP(1)}
    if kind == "table":
        base = table()
    else:
        earlier = Residual(order=0 if kind == "total" else 1)
        base = margin.release(PRIVATE, mechanism=earlier, **settings)
    made = margin.release(PRIVATE, mechanism=Residual(order=order), base=base, **settings)
    assert made.base is not None
    assert np.isfinite(made.count({}).estimate)
    assert np.isfinite(made.marginal(["a"]).counts).all()


def test_the_provenance_states_the_source_of_a_public_table():
    provenance = simulated(table()).synopsis.provenance
    assert provenance.base == {
        "kind": "public table",
        "source": "example.org/survey",
        "rows": 2_000,
    }
    assert simulated().synopsis.provenance.base is None


def test_the_provenance_states_who_paid_for_an_earlier_release(tmp_path):
    """The statement of its guarantee, the receipt of its ledger, and its own base."""
    ledger = margin.Ledger(tmp_path / "l.db")
    ledger.register("people-2025", PureDP(3))
    last = margin.release(
        PRIVATE,
        domain=DOMAIN,
        budget=PureDP(1),
        mechanism=MEASURED,
        ledger=ledger.dataset("people-2025"),
        base=table(),
    )
    last.save(tmp_path / "last.margin")
    now = margin.release(
        PRIVATE,
        domain=DOMAIN,
        budget=ZCDP("0.1"),
        mechanism=MEASURED,
        base=tmp_path / "last.margin",
    )
    stated = now.provenance.base
    assert stated["digest"] == store.release_digest(last)
    assert stated["statement"] == last.provenance.statement.to_json()
    assert stated["charge"] == dataclasses.asdict(last.provenance.token)
    assert stated["base"]["source"] == "example.org/survey"
    assert now.spent == ZCDP("0.1")
    now.save(tmp_path / "now.margin")
    assert margin.load(tmp_path / "now.margin").provenance == now.provenance
    assert now.marginal(["a", "e"]).reconstructed


PAID = {"ledger": "a1c089adffff", "sequence": 2, "mark": "x"}
EARLIER = {"kind": "release", "charge": None, "base": None}
TOLD = {
    "public table": (
        {"kind": "public table", "source": "example.org/survey", "rows": 2},
        "The base is a public table: example.org/survey.",
    ),
    "neither": (EARLIER, "The base is an earlier release, which has noise of its own."),
    "digest": (
        {**EARLIER, "digest": f"sha256:{32 * '12'}"},
        "which has noise of its own; its digest begins with sha256:1212121212121212.",
    ),
    "ledger": (
        {**EARLIER, "digest": None, "charge": PAID},
        "which has noise of its own; its budget is entry 2 of the ledger a1c089ad.",
    ),
    "both": (
        {**EARLIER, "digest": f"sha256:{64 * '0'}", "charge": PAID},
        "begins with sha256:0000000000000000; its budget is entry 2 of the ledger a1c089ad.",
    ),
}


@pytest.mark.parametrize("left_out", [False, True])
@pytest.mark.parametrize("source", Source)
@pytest.mark.parametrize(("base", "said"), TOLD.values(), ids=TOLD)
def test_readers_are_told_what_the_base_is(base, said, source, left_out):
    """A reader of a folder or a page never heard of a base."""
    told = source.told(some_left_out=left_out, base=base)
    without_base = source.told(some_left_out=left_out)
    assert (f" {base_told(base)} " in told) == (source is Source.BASED)
    assert base_told(base).endswith(said) and said not in without_base
    assert told.replace(f"{base_told(base)} ", "") == without_base


def without(key):
    return lambda stated: {name: value for name, value in stated.items() if name != key}


def with_own(**change):
    return lambda stated: {**stated, **change}


FORGED = {
    "nothing": lambda stated: None,
    "empty": lambda stated: {},
    "text": lambda stated: "release",
    "list": lambda stated: [stated],
    "kind": with_own(kind="table"),
    "simulation": with_own(private=False),
    "number for truth": with_own(private=1),
    "text for truth": with_own(total_is_public="no"),
    "other total": with_own(total_is_public=True),
    "no statement": without("statement"),
    "empty statement": with_own(statement={}),
    "no charge": without("charge"),
    "charge": with_own(charge={"sequence": "x"}),
    "no base": without("base"),
    "base": with_own(base="x"),
    "base of the base": with_own(base={"kind": "release"}),
    "source": with_own(base={"kind": "public table", "source": 7}),
    "other source": with_own(base={"kind": "public table", "source": "x", "rows": 1}),
    "digest": with_own(digest="sha256:00"),
    "number for a digest": with_own(digest=7),
    "other digest": with_own(digest=f"sha256:{64 * '0'}"),
    "no digest": without("digest"),
    "itself": lambda stated: {**stated, "base": stated},
}


@pytest.mark.parametrize("forge", FORGED.values(), ids=FORGED)
def test_a_file_states_the_base_that_it_holds(forge, tmp_path):
    """Whatever a file says about its base is checked when it is loaded, not when it is shown."""
    settings = {"domain": DOMAIN, "budget": PureDP(1), "mechanism": MEASURED}
    last = margin.release(PRIVATE, base=table(), **settings)
    margin.release(PRIVATE, base=last, **settings).save(tmp_path / "x.margin")
    contents = store.read(tmp_path / "x.margin")
    manifest = json.loads(contents.members["manifest.json"])
    manifest["base"] = forge(manifest["base"])
    members = {**contents.members, "manifest.json": json.dumps(manifest).encode()}
    sums = {name: hashlib.sha256(content).hexdigest() for name, content in members.items()}
    forged = store.Contents(members, json.dumps(sums).encode(), None)
    store.write(tmp_path / "y.margin", forged)
    margin.load(tmp_path / "x.margin")
    with pytest.raises(FileError, match="is damaged, or was not written by this library"):
        margin.load(tmp_path / "y.margin")


def test_a_file_of_an_earlier_version_states_no_digest_of_its_base(tmp_path):
    settings = {"domain": DOMAIN, "budget": PureDP(1), "mechanism": MEASURED}
    last = margin.release(PRIVATE, **settings)
    margin.release(PRIVATE, base=last, **settings).save(tmp_path / "x.margin")
    contents = store.read(tmp_path / "x.margin")
    manifest = json.loads(contents.members["manifest.json"])
    del manifest["base"]["digest"], manifest["synopsis"]["base"]["stated"]["digest"]
    members = {**contents.members, "manifest.json": json.dumps(manifest).encode()}
    sums = {name: hashlib.sha256(content).hexdigest() for name, content in members.items()}
    store.write(tmp_path / "y.margin", store.Contents(members, json.dumps(sums).encode(), None))
    old = margin.load(tmp_path / "y.margin")
    # A digest of another form is no digest, even if the whole file agrees on it.
    manifest["base"]["digest"] = manifest["synopsis"]["base"]["stated"]["digest"] = 7
    members["manifest.json"] = json.dumps(manifest).encode()
    sums = {name: hashlib.sha256(content).hexdigest() for name, content in members.items()}
    store.write(tmp_path / "z.margin", store.Contents(members, json.dumps(sums).encode(), None))
    with pytest.raises(FileError, match="is damaged, or was not written by this library"):
        margin.load(tmp_path / "z.margin")
    assert "digest" not in old.provenance.base
    told = "which has noise of its own. The bounds allow"
    assert told in Source.BASED.told(some_left_out=False, base=old.provenance.base)


REFUSED = [
    (lambda: PUBLIC, MarginError, "base must be a PublicTable"),
    (lambda: {"a": [0]}, MarginError, "base must be a PublicTable"),
    (lambda: "nowhere.margin", FileError, "does not exist"),
    (lambda: table(PUBLIC[:0]), DataError, "at least one row"),
    (lambda: table({"a": [0]}), DataError, "b"),
    (earlier, MarginError, "it is a simulation"),
    (lambda: PublicTable(PUBLIC, source=" "), MarginError, "source must say"),
]


@pytest.mark.parametrize(("base", "kind", "says"), REFUSED)
def test_wrong_bases_are_refused_before_the_charge(base, kind, says, tmp_path):
    ledger = margin.Ledger(tmp_path / "l.db")
    ledger.register("people", PureDP(3))
    with pytest.raises(kind, match=says):
        margin.release(
            PRIVATE,
            domain=DOMAIN,
            budget=PureDP(1),
            base=base(),
            ledger=ledger.dataset("people"),
        )
    assert not ledger.charges("people")


def test_a_base_with_other_values_is_refused():
    other = Domain({**SIZES, "b": 5})
    last = margin.simulate(PRIVATE, domain=other, budget=PureDP(1), seed=0)
    with pytest.raises(DomainError, match="'b' with the same values"):
        simulated(last)


def test_a_base_with_more_attributes_in_another_order_is_understood():
    wide = np.column_stack([PRIVATE[:, ::-1], PRIVATE[:, 0]])
    domain = Domain({**{name: SIZES[name] for name in reversed(NAMES)}, "f": 2})
    last = margin.simulate(wide, domain=domain, budget=PureDP(50), seed=0)
    own = margin.simulate(PRIVATE, domain=DOMAIN, budget=PureDP(50), seed=0)
    one = simulated(last, budget=PureDP("0.1"))
    other = simulated(own, budget=PureDP("0.1"))
    # Both bases are nearly the table itself.
    assert error(one, PAIRS) == pytest.approx(error(other, PAIRS), rel=0.2)


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda it: type(it).__name__)
def test_a_base_may_have_other_impossible_combinations(mechanism):
    """The rules of the new domain hold, and those of the earlier one leave no trace."""
    earlier = Domain(SIZES, impossible=[{"d": 3}, {"c": 0, "e": 1}])
    now = Domain(SIZES, impossible=[{"a": 0, "b": 0}])
    before = PRIVATE[(PRIVATE[:, 3] < 3) & ((PRIVATE[:, 2] > 0) | (PRIVATE[:, 4] == 0))]
    codes = PRIVATE[(PRIVATE[:, 0] > 0) | (PRIVATE[:, 1] > 0)]
    settings = {"budget": PureDP(2), "mechanism": mechanism, "workload": PAIRS, "seed": 4}
    base = margin.simulate(before, domain=earlier, **settings)
    made, plain = (
        margin.simulate(codes, domain=now, base=one, **settings).synopsis for one in (base, None)
    )
    assert made.base is not None and made.marginal(["a", "b"]).counts[0, 0] == 0
    for view in (["d"], ["c", "e"]):
        shape = now.shape(view)
        places = np.ravel_multi_index(codes[:, now.axes(view)].T, shape)
        truth = np.bincount(places, minlength=np.prod(shape)).reshape(shape)
        errors = [np.abs(one.marginal(view).counts - truth).max() for one in (made, plain)]
        # The seed is fixed. A base that took these cells for empty would miss hundreds of rows.
        assert truth[(3,) if view == ["d"] else (0, 1)] > 300
        assert errors[0] < errors[1] + 60


def test_a_mechanism_that_does_not_use_a_base_is_refused():
    with pytest.raises(MarginError, match="base is used by Auto, Adaptive, PriView and Residual"):
        simulated(table(), margin.DualQuery())


def test_a_file_with_a_damaged_base_is_refused(tmp_path):
    simulated(table()).save(tmp_path / "x.margin")
    with zipfile.ZipFile(tmp_path / "x.margin") as archive:
        manifest = json.loads(archive.read("manifest.json"))
    kind = type(simulated().synopsis)
    packed = simulated(table()).synopsis.pack()
    provenance = simulated().synopsis.provenance
    assert manifest["synopsis"]["base"]["kind"] == "table"
    for change in (
        {"base.codes": packed.arrays["base.codes"] + 9},
        {"base.codes": packed.arrays["base.codes"].astype(float)},
        {"base.weights": -packed.arrays["base.weights"]},
        {"trust": packed.arrays["trust"][:-1]},
    ):
        arrays = {**packed.arrays, **change}
        with pytest.raises(ValueError, match="must"):
            kind.unpack(packed._replace(arrays=arrays), domain=DOMAIN, provenance=provenance)
    damaged = packed._replace(fields={**packed.fields, "total": (10.0, 0.0)})
    with pytest.raises(ValueError, match="total of a release with a base must"):
        kind.unpack(damaged, domain=DOMAIN, provenance=provenance)
    fields = dict(packed.fields)
    fields["base"] = {**fields["base"], "count": 1 << 40}
    with pytest.raises(ValueError, match="codes"):
        kind.room(fields, domain=DOMAIN)


def test_a_total_that_is_not_positive_is_answered_by_zeros():
    synopsis = simulated(table()).synopsis
    values = tuple(np.full_like(value, -1.0) for value in synopsis.held.values)
    tables = dataclasses.replace(synopsis.held, values=values, unbiased=None)
    nothing = synopsis.with_tables(tables).with_base(synopsis.base)
    assert not nothing.marginal(["a", "e"]).counts.any()


def test_the_command_line_takes_a_base(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lines = [",".join(NAMES), *(",".join(map(str, row)) for row in PRIVATE[:300].tolist())]
    (tmp_path / "t.csv").write_text("\n".join(lines))
    (tmp_path / "d.json").write_text(DOMAIN.to_json())
    start = ["release", "t.csv", "--domain", "d.json", "--epsilon", "1"]
    assert main([*start, "-o", "one.margin"]) == 0
    capsys.readouterr()
    assert main([*start, "--base", "one.margin", "-o", "two.margin", "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["base"]["kind"] == "release"
    assert "earlier release" in printed["summary"]["base"]
    assert margin.load("two.margin").provenance.base["private"] is True
