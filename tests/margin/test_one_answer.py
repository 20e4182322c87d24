"""One question has one answer: in `marginal`, in `count`, on the page and before publication."""

import base64
import functools
from statistics import NormalDist

import numpy as np
import pytest

import margin
from margin import Domain, PureDP
from margin.report.content import content
from margin.solvers import errors_of_components
from margin.synopses.source import Source

DOMAIN = Domain({"a": 3, "b": {"size": 4, "ordered": True}, "c": 2, "d": 2})
VIEWS = [["a", "b"], ["b", "c"], ["c", "d"]]


def table(seed):
    rng = np.random.default_rng(seed)
    first = rng.integers(0, 3, 4_000)
    return {
        "a": first,
        "b": (first + rng.integers(0, 2, 4_000)) % 4,
        "c": rng.integers(0, 2, 4_000),
        "d": rng.integers(0, 2, 4_000),
    }


@functools.cache
def released(*, with_base, with_known, mechanism=None):
    mechanism = mechanism or margin.PriView(views=VIEWS)
    rows = table(1)
    known = {("d",): np.bincount(rows["d"]).tolist()} if with_known else None
    base = None
    if with_base:
        base = margin.simulate(
            table(0), domain=DOMAIN, budget=PureDP(1), mechanism=mechanism, seed=3
        )
    return margin.simulate(
        rows,
        domain=DOMAIN,
        budget=PureDP(1),
        mechanism=mechanism,
        seed=4,
        base=base,
        known=known,
    ).synopsis


@functools.cache
def page_of(synopsis):
    return content(synopsis, title="t", live=False)


def on_page(synopsis, names):
    """A marginal as the page answers it: counts, half the widths of intervals, source."""
    data = page_of(synopsis)
    axes = sorted(DOMAIN.position[name] for name in names)
    shape = [DOMAIN.sizes[axis] for axis in axes]
    for answer in data["answers"]:
        if sorted(answer["axes"]) == axes:
            numbers = (
                np.frombuffer(base64.b64decode(answer[key])) for key in ("counts", "half_widths")
            )
            return *(one.reshape(shape) for one in numbers), answer["source"]
    holding = [view for view in data["views"] if view["counts"] and set(axes) <= set(view["axes"])]
    view = min(holding, key=lambda one: len(one["axes"]))
    # The page sums the counts of the view, and computes the variance from its precisions.
    counts = np.frombuffer(base64.b64decode(view["counts"]))
    counts = counts.reshape([DOMAIN.sizes[axis] for axis in view["axes"]])
    counts = counts.sum(axis=tuple(n for n, axis in enumerate(view["axes"]) if axis not in axes))
    precision = np.frombuffer(base64.b64decode(view["precision"]))
    places = [view["axes"].index(axis) for axis in axes]
    total = 0.0
    for part in range(1 << len(axes)):
        chosen = [n for n in range(len(axes)) if part >> n & 1]
        functions = np.prod([shape[n] - 1 for n in chosen])
        total += functions / precision[sum(1 << places[n] for n in chosen)]
    variance = total / np.prod(shape) ** 2
    # The law of the noise: a few draws of Laplace noise, or nearly normal.
    share = 0.0
    if data["by_components"]:
        errors = errors_of_components(synopsis.held, tuple(axes))
        share = errors.concentration(tuple(axes)).flat[0]
    for table in data["measured"]:
        if set(axes) <= set(table["axes"]):
            summed = np.prod([DOMAIN.sizes[axis] for axis in table["axes"]]) / np.prod(shape)
            share += variance**2 / (summed**3 * table["variance"] ** 2)
    half = NormalDist().inv_cdf(0.975) * np.sqrt(variance)
    if share > 0 and variance > 0:
        rate = 2 * np.arcsinh(np.sqrt(1 / (2 * variance)))
        single = np.log(2 / (0.05 * (1 + np.exp(-rate)))) / rate
        kurtosis = min(3.0, 3 * min(share, 1.0) + 1 / variance)
        share = 8 * kurtosis / (15 + 3 * kurtosis)
        half = share * single + (1 - share) * (half + min(half, 0.5))
    return counts, np.full(shape, half), None


# The names come first: they change fastest, so that one worker has all tests of a release.
@pytest.mark.slow
@pytest.mark.parametrize("names", [("a",), ("d",), ("a", "b"), ("a", "c"), ("b", "d")])
@pytest.mark.parametrize("mechanism", [None, margin.Residual(order=2)], ids=str)
@pytest.mark.parametrize("with_known", [False, True])
@pytest.mark.parametrize("with_base", [False, True])
def test_one_question_has_one_answer(with_base, with_known, names, mechanism):
    synopsis = released(with_base=with_base, with_known=with_known, mechanism=mechanism)
    marginal = synopsis.marginal(names)
    for cell in np.ndindex(marginal.counts.shape):
        count = synopsis.count(dict(zip(names, cell, strict=True)))
        assert count.estimate == pytest.approx(marginal.counts[cell])
        assert count.variance == pytest.approx(marginal.variance[cell], abs=1e-9)
        kurtosis = np.broadcast_to(marginal.noise_kurtosis, marginal.counts.shape)[cell]
        assert count.noise_kurtosis == pytest.approx(kurtosis)
    counts, half_widths, source = on_page(synopsis, names)
    assert counts == pytest.approx(marginal.counts)
    assert counts + half_widths == pytest.approx(marginal.interval(0.95)[1], abs=1e-6)
    assert source in (None, synopsis.source(names).value)
    if (marginal.counts > 0).all():
        (agreeing,) = synopsis.tables([names], integers=False)
        assert agreeing.counts == pytest.approx(marginal.counts, rel=1e-6)
        assert agreeing.variance == pytest.approx(marginal.variance, rel=1e-6)


@pytest.mark.parametrize("with_known", [False, True])
def test_all_rows_are_counted_with_a_base(with_known):
    """Without conditions, the count is the total, which the domain may declare."""
    synopsis = released(with_base=True, with_known=with_known)
    count = synopsis.count({})
    assert (count.variance == 0) is with_known
    assert abs(count.estimate - 4_000) <= 6 * np.sqrt(count.variance) + 1e-9
    assert synopsis.source(()) is (Source.KNOWN if with_known else Source.BASED)


def test_the_page_offers_as_many_attributes_as_there_are():
    data = page_of(released(with_base=False, with_known=False))
    assert data["most"] == 4
    assert set(data["sources"]) == {source.value for source in Source}


@pytest.mark.parametrize("with_known", [False, True])
def test_the_page_computes_bounds_of_sums_unless_tables_are_known(with_known):
    data = page_of(released(with_base=False, with_known=with_known))
    assert data["sums"] is not with_known


def test_the_source_of_each_answer():
    plain = released(with_base=False, with_known=True)
    based = released(with_base=True, with_known=True)
    assert plain.source(["a", "b"]) is Source.MEASURED
    assert based.source(["a", "b"]) is Source.BASED
    for synopsis in (plain, based):
        assert synopsis.source(["d"]) is Source.KNOWN
        assert synopsis.source(["a", "c"]) is Source.RECONSTRUCTED
    views = [source for source in Source if source.has_no_view]
    assert views == [Source.RECONSTRUCTED, Source.ASSUMED]


ASKED = {
    "count": lambda one, name: one.count({"a": 0, name: 0}),
    "share": lambda one, name: one.ratio({"a": 0, name: 0}, {}),
    "difference": lambda one, name: one.count({"a": 0, name: 0}) - one.count({"a": 1}),
    "mean": lambda one, name: one.mean("a", {0: 1.0, 1: 2.0}, {name: 0}),
    "quantile": lambda one, name: one.quantile("a", where={name: 0}),
}


@pytest.mark.parametrize("ask", ASKED)
@pytest.mark.parametrize(
    ("with_base", "name", "said"),
    [
        (False, "b", "(95 %"),
        (True, "b", "(measured and combined with the base, "),
        (False, "c", "(reconstructed, "),
        (True, "c", "(reconstructed, "),
    ],
)
def test_python_prints_how_a_number_was_made(ask, with_base, name, said):
    synopsis = released(with_base=with_base, with_known=False)
    assert said in str(ASKED[ask](synopsis, name))


def test_the_page_has_the_intervals_of_cells_whose_variances_differ():
    """Attributes measured in bases of their own: cells of one view have different variances."""
    mechanism = margin.Residual(
        workload=margin.Workload.of(DOMAIN, [["a", "b"], ["c"]], asked={"b": "prefixes"})
    )
    synopsis = released(with_base=False, with_known=False, mechanism=mechanism)
    assert synopsis.noise is not None
    counts, half_widths, _ = on_page(synopsis, ("b",))
    marginal = synopsis.marginal(["b"])
    assert counts == pytest.approx(marginal.counts)
    assert counts + half_widths == pytest.approx(marginal.interval(0.95)[1])
