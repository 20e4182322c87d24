import importlib
import itertools
import subprocess
import warnings

import numpy as np
import pytest
from bench_cases import FAMILIES, PROBLEMS, small
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from margin.solvers import BestResponse, Constraint, Status, bench
from margin.solvers.bench.engines.clarabel import ClarabelEngine
from margin.solvers.bench.engines.highs import HighsEngine
from margin.solvers.bench.engines.scip import solved
from margin.solvers.bench.formats.cbf import cbf, read_cbf
from margin.solvers.bench.formats.lp import lp
from margin.solvers.bench.formats.mps import mps
from margin.solvers.bench.formats.wcnf import decoded

CONTINUOUS = [name for name in FAMILIES if name not in ("response", "cover")]
LINEAR = ["minimax", "response", "cover"]
CONES = ["exact-entropy", "penalised-entropy"]


def optimum(name):
    """The best objective of the small problem of a family, by an engine on the model itself."""
    engine = ClarabelEngine() if name in CONTINUOUS else HighsEngine()
    model = small(name).model
    ended = engine(model)
    if ended.point is None:
        pytest.skip(ended.detail)
    return model.objective(ended.point)


def by_highs(path):
    read = bench.read(path)
    return read.objective(HighsEngine()(read).point)


def by_clarabel(path):
    read = bench.read(path)
    return read.objective(ClarabelEngine()(read).point)


def by_scip(path):
    scip = pytest.importorskip("pyscipopt", reason="pyscipopt is not installed")
    model = scip.Model()
    model.hideOutput()
    model.readProblem(str(path))
    assert solved(model) is Status.OPTIMAL
    return model.getObjVal()


def by_cbc(path):
    """The optimum of a file, read and solved by the programme CBC, which comes with PuLP."""
    from margin.solvers.backends import load_pulp

    with warnings.catch_warnings():
        # PuLP warns of its next version.
        warnings.simplefilter("ignore", DeprecationWarning)
        cbc = load_pulp().PULP_CBC_CMD().path
    answer = path.with_suffix(".answer")
    command = [cbc, path, "solve", "solution", answer, "quit"]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    # CBC counts the errors of MPS files alone.
    assert path.suffix == ".lp" or "read with 0 errors" in said
    ended, value = answer.read_text().splitlines()[0].split(" - objective value ")
    assert ended == "Optimal"
    return float(value)


def by_pulp(path):
    """The optimum of a file, read by PuLP and solved by CBC."""
    from margin.solvers.backends import load_pulp

    pulp = load_pulp()
    with warnings.catch_warnings():
        # PuLP warns of its next version.
        warnings.simplefilter("ignore", DeprecationWarning)
        _, problem = pulp.LpProblem.fromMPS(str(path))
        problem.solve(pulp.PULP_CBC_CMD(msg=False, threads=1, gapRel=0))
    return pulp.value(problem.objective)


READERS = {
    "HiGHS": by_highs,
    "SCIP": by_scip,
    "CBC": by_cbc,
    "PuLP": by_pulp,
    "Clarabel": by_clarabel,
}
TRIPS = [
    (name, ending, reader)
    for name in FAMILIES
    for ending in ("mps", "lp", "cbf")
    for reader in READERS
    if not (name in CONES and (ending != "cbf" or reader != "Clarabel"))
    if not (ending == "cbf" and reader == "SCIP")  # SCIP has no reader of this format
    # CBC solves linear programmes, and PuLP reads MPS alone.
    if not (reader in ("CBC", "PuLP") and (ending == "cbf" or name not in LINEAR))
    if not (reader == "PuLP" and ending == "lp")
    if not (reader == "PuLP" and name == "response")  # PuLP reads no constant of an objective
    if not (name not in CONTINUOUS and reader == "Clarabel")
]


@pytest.mark.parametrize(("name", "ending", "reader"), TRIPS)
def test_a_file_has_the_optimum_of_the_instance(name, ending, reader, tmp_path):
    if reader != "CBC" and (reader == "HiGHS" or ending != "cbf"):
        pytest.importorskip("highspy", reason="highspy is not installed")
    path = tmp_path / f"file.{ending}"
    small(name).export(path)
    assert READERS[reader](path) == pytest.approx(optimum(name), rel=1e-6, abs=1e-6)


@pytest.mark.parametrize(("ending", "mark"), [("mps", "*"), ("lp", "\\"), ("cbf", "#")])
@pytest.mark.parametrize("name", FAMILIES)
def test_a_file_says_what_its_columns_and_rows_are(name, ending, mark, tmp_path):
    if name in CONES and ending != "cbf":
        pytest.skip("the format holds no cones")
    instance = small(name)
    instance.export(tmp_path / f"file.{ending}")
    lines = (tmp_path / f"file.{ending}").read_text("ascii").splitlines()
    told = " ".join(line.removeprefix(mark).strip() for line in lines if line.startswith(mark))
    assert instance.family.columns in told and instance.family.rows in told
    assert "family.answer(problem, point)" in told


@pytest.mark.parametrize("name", ["exact-entropy", "penalised-entropy", "least-squares", "minimax"])
def test_the_first_columns_of_a_reconstruction_are_its_cells_times_their_number(name):
    """As the comment of a file says, also where cells must be zero."""
    instance = small(name)
    problem, model = instance.problem, instance.model
    shares = np.random.default_rng(0).dirichlet(np.ones(len(problem.possible)))
    cells = problem.spread(shares) * problem.total
    point = np.append(shares * len(shares), np.zeros(model.columns - len(shares)))
    assert np.allclose(np.ravel(instance.family.answer(problem, point)), cells)
    # Each programme has a row that says that these columns sum to their number.
    sums = np.abs(model.matrix[[0]].toarray()[0] - (np.arange(model.columns) < len(shares)))
    assert sums.max() == 0 and model.lower[0] == model.upper[0] == len(shares)


@pytest.mark.parametrize("reader", ["HiGHS", "SCIP", "CBC"])
@pytest.mark.parametrize("name", ["mine", "my own cover", "two\nlines", "café", "x0 FREE", ""])
def test_a_name_of_ones_own_leaves_a_file_readable(name, reader, tmp_path):
    if reader != "CBC":
        pytest.importorskip("highspy", reason="highspy is not installed")
    cover = bench.Cover.of(3, [[0, 1], [1, 2], [2]], [2, 2, 1])
    path = tmp_path / "file.mps"
    bench.Instance.of(cover, name=name, family="cover").export(path)
    assert READERS[reader](path) == 3


@pytest.mark.parametrize("name", ["response", "cover"])
def test_maxsat_finds_the_best_answer(name, tmp_path):
    rc2 = pytest.importorskip("pysat.examples.rc2", reason="python-sat is not installed")
    formula = importlib.import_module("pysat.formula")
    path = tmp_path / "file.wcnf"
    instance = small(name)
    instance.export(path)
    read = bench.read(path)
    with rc2.RC2(formula.WCNF(from_file=str(path))) as solver:
        literals = solver.compute()
        cost = solver.cost
    objective = read.offset - cost if name == "response" else read.offset + cost
    check = instance.check(decoded(instance.problem, literals))
    assert check.feasible and check.objective == objective
    assert objective == pytest.approx(instance.family.from_model(optimum(name)))


def every_record(sizes):
    return np.indices(sizes.tolist()).reshape(len(sizes), -1).T


def test_the_clauses_cost_what_a_record_is_worth(tmp_path):
    """Every record, with the best auxiliary variables: brute force over these by unit clauses."""
    solvers = pytest.importorskip("pysat.examples.rc2", reason="python-sat is not installed")
    formulas = importlib.import_module("pysat.formula")
    instance = small("response")
    problem = instance.problem
    instance.export(tmp_path / "file.wcnf")
    read = bench.read(tmp_path / "file.wcnf")
    starts = 1 + np.cumsum([0, *np.where(problem.sizes == 2, 1, problem.sizes)])
    for record in every_record(problem.sizes)[::3]:
        fixed = []
        for start, size, value in zip(starts, problem.sizes, record, strict=False):
            fixed.append([int(start + value) if size != 2 else int(start if value else -start)])
        formula = formulas.WCNF()
        formula.extend(read.hard + fixed)
        for weight, clause in read.soft:
            formula.append(clause, weight=weight)
        with solvers.RC2(formula) as solver:
            found = solver.compute()
            assert (found is not None) == problem.feasible(record)
            if found is not None:
                assert read.offset - solver.cost == problem.objective(record)


# Numbers with many digits, of which some are zero, whole or infinite.
numbers = st.floats(-1e6, 1e6, allow_subnormal=False).map(lambda x: x if abs(x) > 1e-6 else 0.0)


@st.composite
def models(draw, cones=False, squares=True):
    """Models with every kind of row and of bound."""
    columns, rows = draw(st.integers(1, 4)), draw(st.integers(0, 4))
    vector = arrays.arrays(np.float64, columns, elements=numbers)
    sides = np.sort(draw(arrays.arrays(np.float64, (2, rows), elements=numbers)), axis=0)
    bounds = np.sort(draw(arrays.arrays(np.float64, (2, columns), elements=numbers)), axis=0)
    for part in (sides, bounds):
        part[0, draw(arrays.arrays(np.bool_, part.shape[1]))] = -np.inf
        part[1, draw(arrays.arrays(np.bool_, part.shape[1]))] = np.inf
    count = draw(st.integers(0, 2)) if cones else 0
    return bench.Model(
        cost=draw(vector),
        square=np.abs(draw(vector)) if squares else None,
        offset=draw(numbers),
        matrix=draw(arrays.arrays(np.float64, (rows, columns), elements=numbers)),
        lower=sides[0],
        upper=sides[1],
        least=bounds[0],
        most=bounds[1],
        whole=draw(arrays.arrays(np.bool_, columns)),
        cone=draw(arrays.arrays(np.float64, (3 * count, columns), elements=numbers)),
        shift=draw(arrays.arrays(np.float64, 3 * count, elements=numbers)),
    )


def rows_of(model):
    """The rows that bound something, one for each side, sorted: what formats may reorder."""
    made = []
    for row, lower, upper in zip(
        model.matrix.toarray().tolist(),
        (model.lower + 0.0).tolist(),  # minus zero becomes zero
        (model.upper + 0.0).tolist(),
        strict=True,
    ):
        if lower == upper:
            made.append((*row, "=", lower))
        else:
            made += [(*row, ">", lower)] * bool(np.isfinite(lower))
            made += [(*row, "<", upper)] * bool(np.isfinite(upper))
    return sorted(made, key=str)


def with_one(model):
    """The same programme, whose constant is the cost of a last column that is fixed at 1."""
    return bench.Model(
        cost=np.append(model.cost, model.offset),
        square=np.append(model.square, 0.0),
        matrix=np.pad(model.matrix.toarray(), ((0, 0), (0, 1))),
        lower=model.lower,
        upper=model.upper,
        least=np.append(model.least, 1.0),
        most=np.append(model.most, 1.0),
        whole=np.append(model.whole, False),
    )


@pytest.mark.parametrize("name", ["least-squares", "response"])
def test_a_point_of_an_lp_file_with_a_constant_is_an_answer(name, tmp_path):
    """Its last column is fixed at 1, and no answer has a part of it."""
    pytest.importorskip("highspy", reason="highspy is not installed")
    instance = small(name)
    instance.export(tmp_path / "file.lp")
    read = bench.read(tmp_path / "file.lp")
    assert instance.model.offset and read.columns == instance.model.columns + 1
    answer = instance.family.answer(instance.problem, HighsEngine()(read).point)
    checked = instance.check(answer)
    value = -optimum(name) if name == "response" else optimum(name)
    assert checked.feasible and checked.objective == pytest.approx(value, rel=1e-6)


@given(models())
@settings(max_examples=40, deadline=None)
def test_mps_and_lp_files_hold_every_number(tmp_path_factory, model):
    pytest.importorskip("highspy", reason="highspy is not installed")
    for ending, write in (("mps", mps), ("lp", lp)):
        path = tmp_path_factory.mktemp("files") / f"file.{ending}"
        path.write_text("\n".join(write(model, "a-model")) + "\n")
        read = bench.read(path)
        expected = with_one(model) if ending == "lp" and model.offset else model
        for field in ("cost", "square", "offset", "least", "most", "whole"):
            np.testing.assert_array_equal(getattr(read, field), getattr(expected, field), field)
        if ending == "lp":
            assert rows_of(read) == rows_of(expected)
            continue
        # MPS states the second bound of a row by its distance from the first one.
        bounded = np.isfinite(model.lower) | np.isfinite(model.upper)
        np.testing.assert_array_equal(read.matrix.toarray(), model.matrix.toarray()[bounded])
        np.testing.assert_array_equal(read.lower, model.lower[bounded])
        np.testing.assert_allclose(read.upper, model.upper[bounded], rtol=1e-9, atol=1e-9)


_SECTIONS = ("ROWS", "COLUMNS", "RHS", "RANGES", "BOUNDS", "QUADOBJ", "ENDATA")


@given(models())
@settings(max_examples=40, deadline=None)
def test_no_section_of_an_mps_file_is_empty(model):
    """PuLP 3.3 takes the name of an empty section for a line of the one before."""
    lines = list(mps(model, "a-model"))
    for line, following in itertools.pairwise(lines):
        assert not (line in _SECTIONS and following in _SECTIONS), line


def test_pulp_reads_every_kind_of_bound(tmp_path):
    from margin.solvers.backends import load_pulp

    bounds = [(-3, 4), (-3, np.inf), (-np.inf, 4), (-np.inf, np.inf), (2, 2), (0, np.inf)]
    least, most = np.array(bounds, np.float64).T
    model = bench.Model(
        cost=np.ones(6), matrix=np.ones((1, 6)), lower=[1], upper=[np.inf], least=least, most=most
    )
    path = tmp_path / "file.mps"
    path.write_text("\n".join(mps(model, "bounds")) + "\n")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        columns, _ = load_pulp().LpProblem.fromMPS(str(path))
    read = [(columns[f"x{place}"].lowBound, columns[f"x{place}"].upBound) for place in range(6)]
    assert read == [tuple(b if np.isfinite(b) else None for b in pair) for pair in bounds]


@given(models(cones=True))
@settings(max_examples=40, deadline=None)
def test_cbf_files_hold_every_number(model):
    read = read_cbf("\n".join(cbf(model, "a-model")))
    for field in ("cost", "offset", "whole", "shift"):
        np.testing.assert_array_equal(getattr(read, field), getattr(model, field), field)
    np.testing.assert_array_equal(read.cone.toarray(), model.cone.toarray())
    np.testing.assert_allclose(read.square, model.square, rtol=1e-15)
    # Bounds other than zero and infinity come back as rows.
    finite = np.isfinite(model.least) | np.isfinite(model.most)
    own = bench.Model(
        cost=model.cost,
        matrix=np.vstack([model.matrix.toarray(), np.eye(model.columns)[finite]]),
        lower=np.concatenate([model.lower, model.least[finite]]),
        upper=np.concatenate([model.upper, model.most[finite]]),
    )
    again = bench.Model(
        cost=model.cost,
        matrix=np.vstack([read.matrix.toarray(), np.eye(model.columns)]),
        lower=np.concatenate([read.lower, read.least]),
        upper=np.concatenate([read.upper, read.most]),
    )
    assert rows_of(again) == rows_of(own)


def test_what_a_format_cannot_hold_is_refused_without_a_file(tmp_path):
    general = BestResponse.conjunctions(
        [2, 2, 2],
        [[0, 1]],
        [[1, 1]],
        [1],
        constraints=[Constraint(attribute=[0, 1], value=[1, 1], coefficient=[2, 1], upper=2)],
    )
    instance = bench.Instance.of(general, name="general", family="response")
    for one, ending, message in (
        (small("exact-entropy"), "mps", "export it as .cbf"),
        (small("exact-entropy"), "lp", "export it as .cbf"),
        (small("minimax"), "wcnf", "this problem is of the family minimax"),
        (instance, "wcnf", "export the instance as .mps or .lp"),
        (small("cover"), "xlsx", "must end in one of .mps"),
    ):
        path = tmp_path / f"file.{ending}"
        with pytest.raises(ValueError, match=message):
            one.export(path)
        assert not path.exists()


def test_files_that_are_something_else_are_refused(tmp_path):
    texts = {
        "maximise.cbf": ("VER\n3\nOBJSENSE\nMAX\n", "must minimise"),
        "matrix.cbf": ("VER\n3\nPSDVAR\n1\n2\n", "is PSDVAR"),
        "power.cbf": ("VER\n3\nVAR\n3 1\n@0:POW 3\n", "must lie in linear cones"),
        "cone.cbf": ("VER\n3\nVAR\n3 1\nF 3\nCON\n3 1\nQ 3\n", "one is Q"),
        "squares.cbf": ("VER\n3\nVAR\n3 1\nF 3\nCON\n3 1\nQR 3\n", "this one is another"),
        "clauses.wcnf": ("p wcnf 1 1 2\nthis is no clause\n", "line 2 is not"),
        "open.wcnf": ("h 1 2\n", "line 1 is not"),
        "unknown.txt": ("", "must end in one of"),
        "rows.parquet": ("", r"rows of a comparison are read by bench\.read_rows"),
        "one.npz": ("", r"an instance is read by bench\.load"),
    }
    for name, (text, message) in texts.items():
        (tmp_path / name).write_text(text)
        with pytest.raises(ValueError, match=message):
            bench.read(tmp_path / name)
    for ending in ("cbf", "wcnf"):
        with pytest.raises(FileNotFoundError):
            bench.read(tmp_path / f"nowhere.{ending}")


def test_mps_files_that_maximise_or_have_products_are_refused(tmp_path):
    pytest.importorskip("highspy", reason="highspy is not installed")
    head = "Maximize\n obj: x\nSubject To\n r: x <= 1\nEnd\n"
    (tmp_path / "most.lp").write_text(head)
    with pytest.raises(ValueError, match="must minimise"):
        bench.read(tmp_path / "most.lp")
    products = "Minimize\n obj: [ x ^2 + x * y + y ^2 ] / 2\nSubject To\n r: x + y >= 1\nEnd\n"
    (tmp_path / "products.lp").write_text(products)
    with pytest.raises(ValueError, match="products of two columns"):
        bench.read(tmp_path / "products.lp")
    (tmp_path / "rubbish.mps").write_text("ROWS\nwhat is this\n")
    with pytest.raises(ValueError, match="that HiGHS can read"):
        bench.read(tmp_path / "rubbish.mps")
    with pytest.raises(FileNotFoundError):
        bench.read(tmp_path / "nowhere.mps")


_SEMI = """min
 obj: x + y
st
 c1: x + y >= 1
bounds
 2 <= x <= 3
 y <= 1
general
 {whole}
semi-continuous
 x
end
"""

_UNDECLARED = """NAME a
ROWS
 N obj
 G r0
COLUMNS
 x0 obj 1
 x0 r0 1
 x0 r9 1
RHS
 RHS r0 1
ENDATA
"""


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("semi.lp", _SEMI.format(whole="y"), "one is semi-continuous or semi-integer"),
        ("both.lp", _SEMI.format(whole="x"), "one is semi-continuous or semi-integer"),
        ("undeclared.mps", _UNDECLARED, "without a warning"),
        ("empty.lp", "", "at least one column"),
        ("empty.mps", "NAME a\nROWS\n N obj\nCOLUMNS\nRHS\nENDATA\n", "at least one column"),
    ],
)
def test_files_that_highs_reads_as_another_model_are_refused(tmp_path, name, text, message):
    pytest.importorskip("highspy", reason="highspy is not installed")
    (tmp_path / name).write_text(text)
    with pytest.raises(ValueError, match=message):
        bench.read(tmp_path / name)


def test_the_new_form_of_wcnf_is_read(tmp_path):
    (tmp_path / "new.wcnf").write_text("c a comment\nh 1 -2 0\n3 2 0\n")
    read = bench.read(tmp_path / "new.wcnf")
    assert read == bench.Clauses(variables=2, hard=[[1, -2]], soft=[(3, [2])])


@pytest.mark.parametrize("name", PROBLEMS)
def test_cvxpy_and_pulp_find_the_optimum_of_the_instance(name):
    instance = small(name)
    best = optimum(name)
    if name in CONTINUOUS:
        programme = instance.to_cvxpy()
        value = programme.solve(
            solver="CLARABEL", tol_gap_abs=1e-10, tol_gap_rel=1e-10, tol_feas=1e-10
        )
        point = programme.var_dict["x"].value
        assert value == pytest.approx(best, rel=1e-6, abs=1e-6)
        assert instance.check(instance.family.answer(instance.problem, point)).feasible
    else:
        assert instance.to_cvxpy().is_mixed_integer()
    if not instance.model.linear:
        with pytest.raises(ValueError, match="use to_cvxpy"):
            instance.to_pulp()
        return
    from margin.solvers.backends import load_pulp

    pulp = load_pulp()
    problem = instance.to_pulp()
    with warnings.catch_warnings():
        # PuLP warns of its next version.
        warnings.simplefilter("ignore", DeprecationWarning)
        problem.solve(pulp.PULP_CBC_CMD(msg=False, threads=1, gapRel=0))
    assert pulp.value(problem.objective) == pytest.approx(best, rel=1e-6, abs=1e-6)
    point = [
        problem.variablesDict()[f"x{place}"].value() for place in range(instance.model.columns)
    ]
    assert instance.check(instance.family.answer(instance.problem, np.array(point))).feasible
