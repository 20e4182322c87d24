"""`compare`: what it runs, keeps, refuses and writes down."""

import dataclasses
import importlib
import json
import os
import pickle
import subprocess
import sys

import numpy as np
import pytest

from margin.solvers import IPF, ByComponents, LeastSquares, Newton, Status, UnsolvedError, bench
from margin.solvers.bench import Instance
from margin.solvers.bench.running import messages, tree
from margin.solvers.bench.running.answers import keep
from margin.solvers.bench.running.plan import planned
from margin.solvers.bench.running.process import Found, _told
from margin.solvers.testing import examples


@pytest.fixture(scope="module")
def instance():
    return Instance.of(examples()["mixed pairs"], name="pairs", family="exact-entropy")


@pytest.fixture(scope="module")
def made(instance, tmp_path_factory):
    path = tmp_path_factory.mktemp("rows") / "rows.parquet"
    rows = bench.compare([instance], {"IPF": IPF()}, repeats=2, memory_limit=2e9, to=path)
    return rows, path


def test_a_row_says_how_it_was_made(made):
    rows, _ = made
    assert [row["repeat"] for row in rows] == [0, 1, 2]
    assert [row["cold"] for row in rows] == [True, False, False]
    for row in rows:
        assert set(row) == set(bench.COLUMNS)
        assert row["outcome"] == "solved" and row["status"] == "OPTIMAL"
        assert row["cpu"] > 0 and row["wall"] > 0 and row["peak_memory"] > 1e7
        assert row["threads"] == 1 and row["memory_limit"] == 2_000_000_000
        assert "numpy" in json.loads(row["versions"])
        assert json.loads(row["options"])["iterations"] == "2000"
        assert row["machine"] and row["python"] and row["date"]


@pytest.mark.parametrize(
    ("name", "solver"),
    [
        ("exact-entropy-b4-independent-pairs", "IPF"),
        ("consistency-b6-clicks-4x3", "ResidualConsistency"),
    ],
)
def test_answers_are_kept_and_can_be_checked_again(name, solver, tmp_path):
    """An answer is an array, or the tables of views. Solvers may be named by a path."""
    one = bench.instance(name)
    named = {f"./mine.py:{solver}": bench.ROSTER[solver].make()}
    (row,) = bench.compare([one], named, repeats=0, answers=tmp_path / "kept")
    (file,) = (tmp_path / "kept" / name).iterdir()
    assert file.name == f".%2Fmine.py%3A{solver}-0.npz"
    assert one.check(bench.load_answer(file)).objective == row["objective"]


def test_an_answer_of_before_is_deleted_if_there_is_none_now(instance, tmp_path):
    for answer, files in ((np.ones(3), 1), (None, 0)):
        keep(tmp_path, instance, "A", Found(repeat=2, answer=answer))
        assert len([*tmp_path.rglob("A-2.npz")]) == files


def test_rows_come_back_from_the_file(made):
    rows, path = made
    for row, other in zip(rows, bench.read_rows(path), strict=True):
        for name in bench.COLUMNS:
            same = row[name] == other[name]
            assert same or np.isnan([row[name], other[name]]).all(), name


def test_what_is_done_is_kept(instance, made, monkeypatch):
    """The second call starts no process; another solver's rows stay in the file."""
    rows, path = made
    module = bench.compare.__module__
    monkeypatch.setattr(f"{module}.run", lambda *_: pytest.fail("ran again"))
    again = bench.compare([instance], {"IPF": IPF()}, repeats=2, memory_limit=2e9, to=path)
    assert [row["date"] for row in again] == [row["date"] for row in rows]


def test_a_file_that_was_written_before_a_column_was_added_is_read(made, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    _, path = made
    older = tmp_path / "older.parquet"
    parquet.write_table(parquet.read_table(path).drop_columns(["library", "waited"]), older)
    rows = bench.read_rows(older)
    assert {(row["library"], row["waited"]) for row in rows} == {(None, None)}
    assert [row["cpu"] for row in rows] == [row["cpu"] for row in made[0]]


def test_a_file_of_something_else_is_refused(tmp_path, instance):
    path = tmp_path / "x.parquet"
    path.write_text("no rows")
    with pytest.raises(ValueError, match="must hold the rows of a comparison"):
        bench.compare([instance], {"IPF": IPF()}, to=path)


def test_a_file_with_another_ending_is_refused(tmp_path, instance):
    with pytest.raises(ValueError, match=r"ends in \.parquet, but .*; write x\.parquet"):
        bench.compare([instance], {"IPF": IPF()}, to=tmp_path / "x.csv")
    assert not list(tmp_path.iterdir())


def test_what_is_done_is_run_again_if_that_is_asked_for(instance, tmp_path, monkeypatch):
    path = tmp_path / "rows.parquet"
    seconds = iter([1.0, 2.0, 3.0])
    ran = lambda *_: [Found(repeat=0, end="raised", wall=next(seconds))]  # noqa: E731
    monkeypatch.setattr(f"{bench.compare.__module__}.run", ran)
    others = bench.compare([instance], {"other": IPF()}, repeats=0, to=path)
    (first,) = bench.compare([instance], {"IPF": IPF()}, repeats=0, to=path)
    (second,) = bench.compare([instance], {"IPF": IPF()}, repeats=0, to=path, again=True)
    assert first["wall"] == 2.0 and second["wall"] == 3.0
    held = [(row["solver"], row["wall"]) for row in bench.read_rows(path)]
    assert held == [("other", others[0]["wall"]), ("IPF", second["wall"])]


class Slow:
    """An engine of which it is known whether the arrays were written before its clock started."""

    families = ("exact-entropy",)

    def solve_instance(self, instance, *, improved=None):
        is_written = "model" in vars(instance)
        status = Status.ITERATION_LIMIT if is_written else Status.TIME_LIMIT
        return bench.Answered(answer=None, claim=bench.Claim(status=status))


def test_writing_the_arrays_is_never_counted(instance):
    rows = bench.compare([instance], {"slow": Slow()}, repeats=1)
    assert [row["status"] for row in rows] == ["ITERATION_LIMIT", "ITERATION_LIMIT"]


class Unsolved:
    families = ("consistency",)

    def __call__(self, tables):
        raise UnsolvedError("no tables after 9 rounds; take more", Status.ITERATION_LIMIT)


def test_a_projection_can_say_that_it_found_nothing():
    (easy, *_) = bench.instances(family="consistency", size="small")
    (row,) = bench.compare([easy], {"mine": Unsolved()}, repeats=0)
    assert row["outcome"] == "nothing" and row["status"] == "ITERATION_LIMIT"
    assert "9 rounds" in row["detail"]
    assert row["cause"] == f"no answer: ITERATION_LIMIT: {row['detail']}"


def test_the_first_solve_at_its_limit_says_what_it_counts():
    assert "compilation" in _told("time", 0, repeat=0)
    assert "compilation" not in _told("time", 0, repeat=1)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"time_limit": 0}, "time_limit"),
        ({"repeats": -1}, "repeats"),
        ({"jobs": 0}, "jobs"),
        ({"threads": 0}, "threads"),
        ({"memory_limit": -5}, "memory_limit"),
        ({"tolerance": float("nan")}, "tolerance"),
    ],
)
def test_bad_options_are_refused(instance, options, words):
    with pytest.raises(ValueError, match=words):
        bench.compare([instance], {"IPF": IPF()}, **options)


def test_a_file_that_is_missing_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"there is no such file; check the name"):
        bench.read_rows(tmp_path / "none.parquet")


@pytest.mark.parametrize(
    ("give", "words"),
    [
        (lambda one: (one, [IPF()]), r"type Instance; put one instance into a list"),
        (lambda one: (one.name, [IPF()]), r"type str"),
        (lambda one: ([one, one.name], [IPF()]), r"an entry is of type str; to choose by name"),
        (lambda one: ([one], IPF()), r"type IPF; put a solver into a list"),
    ],
)
def test_arguments_that_are_no_lists_are_refused(instance, give, words):
    instances, solvers = give(instance)
    with pytest.raises(TypeError, match=words):
        bench.compare(instances, solvers)


def _cover(name, cost, **known):
    cover = bench.Cover.of(3, [[0, 1], [1, 2], [2]], cost)
    return Instance.of(cover, name=name, family="cover", **known)


def test_an_instance_that_is_given_twice_runs_once():
    rows = bench.compare(
        [_cover("mine", [2, 2, 1]), _cover("mine", [2, 2, 1])], {"own": First()}, repeats=0
    )
    assert [row["instance"] for row in rows] == ["mine"]


@pytest.mark.parametrize("change", [{"cost": [2, 2, 2]}, {"best_known": 3.0}])
def test_two_instances_of_one_name_are_refused(change):
    other = _cover("mine", **({"cost": [2, 2, 1]} | change))
    with pytest.raises(ValueError, match="two are named 'mine'; give one of them another name"):
        bench.compare([_cover("mine", [2, 2, 1]), other], {"own": First()})


def test_a_file_holds_one_problem_of_each_name(instance, tmp_path):
    rows = tmp_path / "rows.parquet"
    first, second = _cover("mine", [2, 2, 1]), dataclasses.replace(instance, name="pairs")
    bench.compare([first, second], {"own": First(), "IPF": IPF()}, repeats=0, to=rows)
    before = rows.read_bytes()
    same = Instance.of(instance.problem, name="pairs", family="minimax")
    solvers = {"own": First(), "LP": bench.ROSTER["MinimaxLP"].make()}
    for other in (_cover("mine", [2, 2, 2]), same):
        with pytest.raises(ValueError, match=f"another problem that was named '{other.name}'"):
            bench.compare([other], solvers, repeats=0, to=rows)
    assert rows.read_bytes() == before


class First:
    """Chooses the first two sets."""

    families = ("cover",)

    def solve(self, cover):
        return bench.Chosen(sets=np.array([0, 1]), status=Status.OPTIMAL)


def test_a_false_optimum_is_told_with_both_values():
    known = _cover("mine", [2, 2, 1], best_known=3.0, bound=3.0)
    (row,) = bench.compare([known], {"own": First()}, repeats=0)
    assert row["cause"] == "called OPTIMAL, but worse than the best known: 4, but 3 is known"


def test_a_solver_for_no_instance_is_told(instance):
    with pytest.raises(ValueError, match=r"at least one solver must take .* exact-entropy"):
        bench.compare([instance], {"Newton": Newton()})


def test_solvers_of_one_name_are_refused(instance):
    with pytest.raises(ValueError, match="must not have one name"):
        bench.compare([instance], [IPF(), IPF()])


def test_the_time_limit_is_given_to_solvers_that_take_one():
    problem = examples()["mixed pairs"]
    squares = Instance.of(problem, name="s", family="least-squares")
    ((_, entry),) = planned([squares], {"x": LeastSquares()}, 7.0)
    # A little less, so that what it has found arrives in time.
    assert json.loads(entry.options)["time_limit"] == "6.65"


class Limitless:
    """Has the attribute at its class."""

    families = ("exact-entropy",)
    time_limit = None

    def solve(self, problem):
        return problem.uniform


class LimitedAtFirst(Limitless):
    def __init__(self, time_limit=None):
        self.time_limit = time_limit


@dataclasses.dataclass(frozen=True)
class FrozenLimit(Limitless):
    rounds: int = 3


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class SlottedLimit:
    families: tuple[str, ...] = ("exact-entropy",)
    time_limit: float | None = None

    def solve(self, problem):
        return problem.uniform


@pytest.mark.parametrize(
    "make", [Limitless, LimitedAtFirst, FrozenLimit, SlottedLimit], ids=lambda kind: kind.__name__
)
def test_any_object_gets_the_time_limit(instance, make):
    solver = make()
    ((_, entry),) = planned([instance], {"x": solver}, 7.0)
    assert pickle.loads(entry.pickled).time_limit == 6.65
    assert solver.time_limit is None


def test_a_time_limit_of_its_own_stays(instance):
    ((_, entry),) = planned([instance], {"x": LimitedAtFirst(3.0)}, 7.0)
    assert pickle.loads(entry.pickled).time_limit == 3.0


class ReadOnly(Limitless):
    @property
    def time_limit(self):
        return None


def test_a_time_limit_that_cannot_be_set_is_refused(instance):
    with pytest.raises(ValueError, match=r"time_limit .* of ReadOnly cannot be set"):
        planned([instance], {"x": ReadOnly()}, 7.0)


class Misnamed:
    families = ("cover",)

    def solv(self, cover):
        return None


class Misspelt:
    families = ("exact-entropie",)

    def solve(self, problem):
        return None


@pytest.mark.parametrize(
    ("solver", "error", "words"),
    [
        (Misnamed(), ValueError, r"must have the method solve, but mine has none"),
        (Misspelt(), ValueError, r"names 'exact-entropie'; did you mean 'exact-entropy'\?"),
        (Limitless, TypeError, r"is the class Limitless; call it: Limitless\(\)"),
        ("highs", TypeError, r"'highs' is text; .* bench\.ROSTER\['highs'\]\.make\(\)"),
        (bench.ROSTER["IPF"], TypeError, r"mine is an entry of bench\.ROSTER; call its make"),
        (len, ValueError, r"by a method solve, but none does .* mine is a function"),
    ],
)
def test_solvers_that_cannot_run_are_refused_before_any_process(instance, solver, error, words):
    with pytest.raises(error, match=words):
        planned([instance], {"mine": solver}, 1.0)


_OWN = {
    "plain": "class Own:\n    def solve(self, problem):\n        return problem.uniform{change}\n",
    "record": "import dataclasses\n@dataclasses.dataclass\nclass Own:\n    rounds: int = 3\n"
    "    def solve(self, problem):\n        return problem.uniform{change}\n",
    "an engine": "from margin.solvers import bench\nclass Engine:\n"
    "    def __call__(self, model, *, time_limit=None):\n        return None{change}\n"
    "def Own():\n    return bench.ByModel(engine=Engine())\n",
    "a helper": "class Own:\n    def solve(self, problem):\n        return _start(problem)\n"
    "def _start(problem):\n    return problem.uniform{change}\n",
}


@pytest.mark.parametrize("kind", _OWN)
def test_an_edited_solver_is_another_solver(kind, instance, tmp_path, monkeypatch):
    """Rows that a file holds of the code before would else stand for the new code."""
    monkeypatch.syspath_prepend(tmp_path)
    found = []
    for number, change in enumerate(["", "", " * 2.0"]):
        path = tmp_path / f"own_{number}.py"
        path.write_text(_OWN[kind].format(change=change))
        solver = importlib.import_module(path.stem).Own()
        ((_, entry),) = planned([instance], {"own": solver}, 1.0)
        found.append(json.loads(entry.options)["code"])
    assert found[0] == found[1] != found[2]


class Engine:
    """Without a text of its own."""

    families = ("cover",)

    def __init__(self, scale):
        self.scale = scale

    def __call__(self, model, *, time_limit=None):
        return None


def test_an_engine_is_described_by_its_options_and_not_by_its_place():
    """Its rows would else be run again each time, and stand beside those before."""
    covers = [_cover("mine", [2, 2, 1])]
    engines = [Engine(1), Engine(1), Engine(2)]
    entries = [planned(covers, {"own": bench.ByModel(engine=one)}, 1.0)[0][1] for one in engines]
    first, same, other = (entry.options for entry in entries)
    assert first == same != other


@pytest.mark.slow
def test_rows_of_an_edited_solver_replace_those_before(instance, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    rows = tmp_path / "rows.parquet"
    outcomes = []
    for change in ("problem.uniform * 2.0", "__import__('margin').solvers.IPF().solve(problem)"):
        text = f"class Own:\n    def solve(self, problem):\n        return {change}\n"
        (tmp_path / "own_solver.py").write_text(text)
        sys.modules.pop("own_solver", None)
        importlib.invalidate_caches()
        own = importlib.import_module("own_solver").Own()
        bench.compare([instance], {"own": own, "IPF": IPF()}, repeats=0, to=rows)
        outcomes.append({row["solver"]: row["outcome"] for row in bench.read_rows(rows)})
        assert len(bench.read_rows(rows)) == 2
    assert [found["own"] for found in outcomes] == ["wrong", "solved"]


def test_a_solver_that_cannot_be_sent_is_refused(instance):
    solver = IPF()
    object.__setattr__(solver, "lock", __import__("threading").Lock())
    with pytest.raises(ValueError, match="must be picklable"):
        planned([instance], {"x": solver}, 1.0)


@pytest.mark.parametrize(
    "answer",
    [np.arange(6.0).reshape(2, 3), [np.ones(2), np.ones((2, 2))], None, 5, "text", object()],
    ids=lambda answer: type(answer).__name__,
)
def test_an_answer_is_sent_without_code(answer):
    kind, arrays = messages.packed_answer(answer)
    reader = messages.Reader()
    sent = messages.encoded({"answer": kind}, arrays)
    assert reader.feed(sent[:3]) == []
    ((values, received),) = reader.feed(sent[3:])
    found = messages.unpacked_answer(values["answer"], received)
    if isinstance(answer, np.ndarray | int):
        assert np.array_equal(found, answer)
    elif isinstance(answer, list):
        assert all(np.array_equal(one, other) for one, other in zip(found, answer, strict=True))
    elif answer is None:
        assert found is None
    else:
        assert type(found).__name__ == type(answer).__name__ and not isinstance(found, str)


def test_the_memory_of_a_process_is_known():

    assert tree.own_peak() > 1e7
    if os.path.isdir("/proc"):
        assert tree.Memory(os.getpid(), "no such run").look() > 1e7


_HUNGRY = """
import os, sys, time
if os.fork() == 0:
    if os.fork() == 0:
        os.setsid()
        held = bytearray(b"1") * 150_000_000
        print("held", flush=True)
        time.sleep(600)
    os._exit(0)
os.wait()
time.sleep(600)
"""


@pytest.mark.skipif(not os.path.isdir("/proc"), reason="runaways are found in /proc")
def test_the_memory_of_a_child_that_left_its_parent_counts(monkeypatch):
    monkeypatch.setattr(tree, "_PERIOD", 0.0)
    monkeypatch.setattr(tree, "_REST", 0)
    token = os.urandom(8).hex()
    parent = subprocess.Popen(
        [sys.executable, "-c", _HUNGRY],
        env={**os.environ, tree.TOKEN: token},
        stdout=subprocess.PIPE,
        process_group=0,
    )
    try:
        assert parent.stdout.readline() == b"held\n"
        assert tree.Memory(parent.pid, "another run").look() < 1e8
        assert tree.Memory(parent.pid, token).look() > 1.5e8
    finally:
        assert tree.end(parent.pid, token) == 1
        parent.wait()
        parent.stdout.close()


def test_loops_are_compiled_before_the_first_solve_that_needs_them(instance, monkeypatch):
    module = bench.compare.__module__
    done = []
    monkeypatch.setattr(f"{module}.compile_loops", lambda: done.append("loops"))
    monkeypatch.setattr(f"{module}.run", lambda *_: done.append("run") or [Found(repeat=0)])
    bench.compare([instance], {"IPF": IPF()}, repeats=0)
    assert done == ["run"]
    (easy, *_) = bench.instances(family="response", size="small")
    bench.compare([easy], {"ours": ByComponents()}, repeats=0)
    assert done == ["run", "loops", "run"]


_COMPILED = """
import gc
from numba.core.dispatcher import Dispatcher
from margin.solvers import bench
from margin.solvers.bench.running import compiling

def compiled():
    loops = [one for one in gc.get_objects() if isinstance(one, Dispatcher)]
    return {(one.py_func.__qualname__, types) for one in loops for types in one.signatures}

compiling.main()
before = compiled()
for instance in bench.instances(family="response", size="small")[::4]:
    for name in ("ByComponents", "Anneal", "Greedy", "Enumerate"):
        bench.ROSTER[name].make().solve(instance.problem)
print(len(before), len(compiled() - before))
"""


@pytest.mark.slow
def test_every_loop_is_compiled_before():
    """No solver of a best response compiles anything after `compile_loops`."""
    command = [sys.executable, "-c", _COMPILED]
    ended = subprocess.run(command, capture_output=True, text=True, check=True)
    before, after = map(int, ended.stdout.split())
    assert before > 0
    assert after == 0


@pytest.mark.slow
def test_libraries_that_clash_are_kept_apart():
    """HiGHS with ortools, and OSQP with PuLP: each crashes the other in one process."""
    for module in ("highspy", "ortools", "osqp", "pulp"):
        _need(module)
    pairs = Instance.of(examples()["pairs with errors"], name="pairs", family="minimax")
    names = ["highs", "pdlp", "pulp-highs", "osqp", "cbc"]
    chosen = {name: bench.ROSTER[name].make() for name in names}
    rows = bench.compare([pairs], chosen, repeats=1, jobs=2)
    assert {row["outcome"] for row in rows} == {"solved"}


def _need(module):
    """Skip if a module is not installed; it is not imported, because it would clash."""
    import importlib.util

    if importlib.util.find_spec(module) is None:
        pytest.skip(f"{module} is not installed")
