import importlib.util
import itertools
import json
import math
import os
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest

import margin
from margin import DataError, Domain, DomainError, FileError, Marginal, PriView, PureDP
from margin.domain.exports import to_arrow, to_json, to_pandas, to_polars, to_xarray
from margin.synopses.estimate import from_measurements
from margin.synopses.exports import to_mbi_constraints

VIEWS = [["age", "sex"], ["region", "sex", "children"]]


@pytest.fixture(scope="module")
def synopsis(table, domain):
    return margin.release(
        table,
        domain=domain,
        budget=PureDP(2),
        mechanism=PriView(views=VIEWS),
    )


@pytest.fixture
def marginal(synopsis):
    return synopsis.marginal(["sex", "age"])


def test_arrow_and_polars_have_a_row_a_cell(marginal):
    arrow = to_arrow(marginal)
    assert (
        arrow.column_names == ["sex", "age", "count", "low", "high", "noise_sd", "missed_sd"]
        and arrow.num_rows == marginal.counts.size
    )
    assert arrow["count"].to_pylist() == marginal.counts.ravel().tolist()
    deviations = np.sqrt(marginal.noise_variance.ravel())
    assert arrow["noise_sd"].to_pylist() == pytest.approx(deviations)
    assert set(arrow["missed_sd"].to_pylist()) == {0.0}
    low, high = marginal.interval()
    assert arrow["low"].to_pylist() == low.ravel().tolist()
    assert arrow["high"].to_pylist() == high.ravel().tolist()
    frame = to_pandas(marginal)
    keys = list(
        zip(
            arrow["sex"].to_pylist(),
            arrow["age"].to_pylist(),
            strict=True,
        )
    )
    for name in ("count", "low", "high"):
        assert frame.loc[keys, name].tolist() == arrow[name].to_pylist()
    assert frame["sd"].to_numpy() == pytest.approx(np.sqrt(marginal.variance).ravel())
    pytest.importorskip("polars", reason="polars is not installed")
    assert to_polars(marginal).to_dict(as_series=False) == arrow.to_pydict()


def test_xarray_selects_by_category(marginal):
    pytest.importorskip("xarray", reason="xarray is not installed")
    made = to_xarray(marginal)
    label = marginal.domain["age"].names[1]
    assert made["count"].sel(age=label).values == pytest.approx(marginal.counts[:, 1])
    assert made["noise_sd"].dims == ("sex", "age")


def test_json_is_json(marginal):
    made = json.loads(to_json(marginal))
    assert list(made["attributes"]) == ["sex", "age"] and made["counts"] == marginal.counts.tolist()
    unknown = Marginal(
        marginal.domain,
        marginal.counts,
        np.full(marginal.counts.shape, math.nan),
    )
    text = json.loads(to_json(unknown))
    assert text["noise_sd"] is None and text["low"] is None and not text["reconstructed"]
    assert to_arrow(unknown)["noise_sd"].null_count == unknown.counts.size


def test_categories_of_several_types_become_texts():
    domain = Domain({"a": {"values": [1, "x"]}})
    assert to_arrow(Marginal(domain, np.ones(2), np.ones(2)))["a"].to_pylist() == ["1", "x"]


def test_what_was_measured_elsewhere_answers_like_a_release(
    table,
    domain,
):
    """The same noisy tables, by way of triples and of marginals: the same answers."""

    class Kept:
        def run(self, private, workload):
            self.measured = private.measure(VIEWS)
            return margin.synopses.ViewSynopsis.of(
                private.domain,
                self.measured,
                reconstruction=margin.solvers.Newton(),
            )

    kept = Kept()
    margin.release(
        table,
        domain=domain,
        budget=PureDP(2),
        mechanism=kept,
    )
    triples = [(m.attributes, m.counts, math.sqrt(m.variance.flat[0])) for m in kept.measured]
    flat = [(view, np.ravel(counts), deviation) for view, counts, deviation in triples]
    made = [from_measurements(given, domain=domain) for given in (triples, kept.measured, flat)]
    for view in (["sex"], ["age", "region"], ["children", "sex"]):
        first, *others = [synopsis.marginal(view) for synopsis in made]
        for other in others:
            assert other.counts == pytest.approx(first.counts, rel=1e-9, abs=1e-9)
        assert first.counts.min() >= 0 and first.total == pytest.approx(made[0].held.total)


def test_a_set_measured_twice_counts_for_both(domain):
    rough = (["sex"], [100.0, 300.0], 10.0)
    fine = (["sex"], [200.0, 200.0], 1.0)
    counts = from_measurements([rough, fine], domain=domain).marginal(["sex"]).counts
    assert counts == pytest.approx([200 - 100 / 101, 200 + 100 / 101])


@pytest.mark.parametrize("deviation", [np.full(2, 5.0), [5.0, 5.0], np.full((2, 1), 5.0), []])
def test_a_table_has_one_standard_deviation(domain, deviation):
    with pytest.raises(margin.DataError, match="one standard deviation for the whole table"):
        from_measurements([(["sex"], [1.0, 2.0], deviation)], domain=domain)


@pytest.mark.parametrize("deviation", [5, 5.0, np.float64(5), np.array(5.0), np.array([5.0])])
def test_a_standard_deviation_may_be_any_number(domain, deviation):
    (held,) = from_measurements([(["sex"], [1.0, 2.0], deviation)], domain=domain).held.variances
    assert held == 25


def test_the_publishers_guarantee_goes_with_the_file(domain, tmp_path):
    given = [(["sex"], [100.0, 300.0], 10.0)]
    with pytest.raises(FileError, match="release"):
        from_measurements(given, domain=domain).save(tmp_path / "x.margin")
    from_measurements(
        given,
        domain=domain,
        guarantee=PureDP("0.1"),
    ).save(tmp_path / "x.margin")
    loaded = margin.load(tmp_path / "x.margin")
    assert loaded.spent == PureDP("0.1") and loaded.provenance.mechanism == {
        "name": "from_measurements"
    }


BAD = {
    "none": ([], DomainError, "at least one"),
    "unknown attribute": ([(["nobody"], [1.0], 1.0)], DomainError, "nobody"),
    "shape": ([(["sex"], [1.0, 2.0, 3.0], 1.0)], DataError, "shape"),
    "NaN": ([(["sex"], [1.0, math.nan], 1.0)], DataError, "finite"),
    "no deviation": ([(["sex"], [1.0, 2.0], 0.0)], DataError, "a finite number > 0"),
    "infinite deviation": ([(["sex"], [1.0, 2.0], math.inf)], DataError, "a finite number > 0"),
    "text": ([(["sex"], ["a", "b"], 1.0)], DataError, "numbers"),
    "pair": ([(["sex"], [1.0, 2.0])], DataError, "measurement must be"),
    "number": ([7], DataError, "measurement must be"),
}


@pytest.mark.parametrize(
    ("given", "error", "words"),
    BAD.values(),
    ids=BAD,
)
def test_bad_measurements_are_typed_errors(
    domain,
    given,
    error,
    words,
):
    with pytest.raises(error, match=words):
        from_measurements(given, domain=domain)


def test_a_marginal_of_several_variances_is_refused(domain):
    uneven = Marginal(
        domain.restrict(["sex"]),
        np.ones(2),
        np.array([1.0, 2.0]),
    )
    with pytest.raises(DataError, match="must have the same noise variance"):
        from_measurements([uneven], domain=domain)


MBI = """
import sys
import mbi
import numpy as np
import margin
from margin.synopses.exports import to_mbi

synopsis = margin.load(sys.argv[1])
domain, measurements = to_mbi(synopsis)
assert domain.shape == synopsis.domain.sizes
model = mbi.estimation.MirrorDescent().estimate(domain, measurements)
for view in (["sex"], ["age", "sex"], ["region", "children"]):
    vector = np.asarray(model.project(tuple(view)).datavector())
    theirs = vector.reshape(synopsis.domain.shape(view))
    ours = synopsis.marginal(view).counts
    assert np.abs(theirs - ours).max() < 0.01 * ours.sum(), view
again = margin.from_measurements(measurements, domain=synopsis.domain)
for view in synopsis.names:
    found, expected = again.marginal(view).counts, synopsis.marginal(view).counts
    assert np.allclose(found, expected, rtol=1e-3, atol=0.5), view
"""


MBI_RULES = """
import mbi
import numpy as np
import margin
from margin.synopses.exports import to_mbi, to_mbi_constraints

rng = np.random.default_rng(0)
age = rng.integers(0, 3, 5_000)
spouse, region = np.where(age == 0, 0, rng.integers(0, 2, 5_000)), rng.integers(0, 4, 5_000)
sizes = {"age": 3, "spouse": 2, "region": 4}
domain = margin.Domain(sizes, impossible=[{"age": 0, "spouse": 1}], rows=5_000)
views = margin.PriView(views=[["age", "region"], ["spouse", "region"]])
table = {"age": age, "spouse": spouse, "region": region}
made = margin.simulate(table, domain=domain, budget=margin.PureDP(2), mechanism=views, seed=0)
synopsis = made.synopsis
known, measurements = to_mbi(synopsis)
rules = to_mbi_constraints(domain)
model = mbi.estimation.MirrorDescent().estimate(known, measurements, constraints=rules)
asked = ("age", "spouse")
theirs = mbi.marginal_oracles.variable_elimination(
    model.potentials, asked, model.total, constraints=rules
)
theirs = np.asarray(theirs.values)
assert theirs[0, 1] == 0 and abs(theirs.sum() - 5_000) < 0.1  # in single precision
ours = synopsis.marginal(asked).counts
assert np.abs(theirs - ours).max() < 0.01 * 5_000, (theirs, ours)
"""


def test_rules_become_constraints_one_for_each_set_of_attributes(monkeypatch):
    made = SimpleNamespace(
        Domain=lambda names, sizes: (names, sizes),
        Constraint=lambda domain, invalid: (domain, invalid),
    )
    monkeypatch.setitem(sys.modules, "mbi", made)
    rules = [{"b": 1, "a": 0}, {"a": 2, "b": [0, 1]}, {"c": [1, 3]}]
    pair, single = sorted(
        to_mbi_constraints(Domain({"a": 3, "b": 2, "c": 4}, impossible=rules)),
        key=str,
    )
    assert pair[0] == (("a", "b"), (3, 2)) and pair[1].tolist() == [[0, 1], [2, 0], [2, 1]]
    assert single[0] == (("c",), (4,)) and single[1].tolist() == [[1], [3]]
    assert to_mbi_constraints(Domain({"a": 3})) == []


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("mbi") is None, reason="mbi is not installed")
def test_mbi_keeps_the_rules_that_we_export():
    paths = os.pathsep.join(path for path in sys.path if path)
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", MBI_RULES],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": paths},
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_mbi_reads_what_we_export_and_we_read_it_back(
    synopsis,
    tmp_path,
):
    """In a process of its own: mbi runs on JAX, whose threads others must not inherit."""
    if importlib.util.find_spec("mbi") is None:
        pytest.skip("mbi is not installed")
    synopsis.save(tmp_path / "x.margin")
    paths = os.pathsep.join(path for path in sys.path if path)
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", MBI, str(tmp_path / "x.margin")],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": paths},
    )
    assert done.returncode == 0, done.stderr


def test_a_measurement_of_something_else_is_refused(domain):
    class Weighted:
        clique, noisy_measurement, stddev = ("sex",), np.ones(2), 1.0
        query = object()

    with pytest.raises(DataError, match="whole marginals"):
        from_measurements([Weighted()], domain=domain)


def test_the_methods_of_a_marginal_are_the_functions(marginal):
    assert marginal.to_json() == to_json(marginal) and marginal.to_arrow().equals(
        to_arrow(marginal)
    )
    assert marginal.to_pandas().equals(to_pandas(marginal))


@pytest.mark.parametrize("rows", [1, 500, 3_000])
def test_records_of_views_are_valid_and_fit_them(
    synopsis,
    domain,
    rows,
):
    found = synopsis.population(rows)
    codes = synopsis.records(rows)
    assert (codes == found.codes).all() and codes.shape == (rows, len(domain))
    assert (codes >= 0).all() and (codes < domain.sizes).all()
    assert rows < 3_000 or found.gaps.max() < 0.01


def test_records_are_as_accurate_as_answers():
    """Generated rows of one hidden class, measured by pairs: tables of two and three attributes."""
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(4)
    sizes = [4, 3, 6, 2, 5, 3]
    hidden = rng.random(4_000)[:, None]
    rows = np.floor((0.6 * hidden + 0.4 * rng.random((4_000, len(sizes)))) * sizes).astype(int)
    data = pandas.DataFrame(rows, columns=[f"a{place}" for place in range(len(sizes))])
    domain = Domain({f"a{place}": size for place, size in enumerate(sizes)})
    synopsis = margin.simulate(
        data,
        domain=domain,
        budget=margin.ZCDP(0.05),
        mechanism=margin.Residual(order=2),
        seed=1,
    ).synopsis
    codes = synopsis.records(len(rows))
    by_answers = []
    by_records = []
    for size in (2, 3):
        views = list(itertools.combinations(range(len(sizes)), size))
        answers = synopsis.marginals([[f"a{place}" for place in view] for view in views])
        for view, answer in zip(views, answers, strict=True):
            edges = [np.arange(sizes[place] + 1) for place in view]
            truth = np.histogramdd(rows[:, view], edges)[0]
            made = np.histogramdd(codes[:, view], edges)[0]
            by_answers.append(np.linalg.norm(answer.counts - truth))
            by_records.append(np.linalg.norm(made - truth))
    assert np.mean(by_records) <= 1.05 * np.mean(by_answers)


@pytest.mark.parametrize("rows", [0, -1, True, 1.5, 10**8 + 1])
def test_a_bad_number_of_records_is_refused(synopsis, rows):
    with pytest.raises(DomainError, match="whole number"):
        synopsis.records(rows)
