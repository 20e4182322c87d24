"""Spark gives the integers of every other engine, loses no row with an executor, and draws no
noise."""

import ast
import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import closing
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from engines import assert_equal, by_hand, example
from kinds import DECLARED, KINDS
from spark_sessions import QUICK_JVM, session

import margin
from margin import DataError, Domain
from margin.data import SparkSource, spark, spark_tasks
from margin.data.count import count
from margin.data.opening import open_source
from margin.data.rows_per_person import bound
from margin.domain.values import identity
from margin.interrupts.share import listening
from margin.private.cell_counts import cells_in
from margin.sparse import axes, grid
from margin.sparse.axes import Halves, Leaves, Tree
from margin.sparse.grid import Grid, ordered

KEY = bytes(range(16))

pytestmark = [
    pytest.mark.slow,
    # pyspark's own: of pandas 3, which these tests do not use, and of sockets that it leaves to the
    # collector
    pytest.mark.filterwarnings(
        "ignore::FutureWarning", "ignore::ResourceWarning", "ignore::DeprecationWarning"
    ),
]


@pytest.fixture
def local():
    """The session of this process, made anew when another test has stopped it."""
    return session()


@pytest.fixture(scope="module", autouse=True)
def no_session_is_left():
    yield
    if "pyspark.sql" in sys.modules and (
        active := sys.modules["pyspark.sql"].SparkSession.getActiveSession()
    ):
        active.stop()


@pytest.mark.parametrize(("seed", "attributes"), [(1, 1), (2, 7), (5, 40)])
def test_spark_gives_the_same_integers(local, seed, attributes):
    domain, table, views = example(seed, attributes, 300)
    frame = local.createDataFrame(table).repartition(2)
    source = SparkSource(frame)
    source.check(domain)
    assert_equal(count(frame, domain, views), by_hand(domain, table, views))
    kept = count(bound(open_source(table), "person", 2, KEY), domain, views)
    assert_equal(count(bound(source, "person", 2, KEY), domain, views), kept)


@pytest.mark.parametrize("kind", KINDS)
def test_every_row_is_read_by_itself(local, kind):
    """The code and the identity of each row are those of its value, in whichever partition and
    batch it is."""
    pool, arrow = KINDS[kind]
    rng = random.Random(kind)
    values = [rng.choice(pool) for _ in range(150)]
    column = pa.array(values, arrow, from_pandas=False)
    frame = local.createDataFrame(
        pa.table({**dict.fromkeys(DECLARED, column), "row": np.arange(150)})
    )
    frame = frame.repartition(rng.choice([1, 3]))
    batches = list(SparkSource(frame).batches(Domain({**DECLARED, "row": 150})))
    order = np.concatenate([batch["row"] for batch in batches]).argsort()
    for name, attribute in DECLARED.items():
        codes = np.concatenate([batch[name] for batch in batches])[order]
        assert codes.tolist() == [attribute.code(value) for value in values]
    whose = [identity(value) for value in values]
    someone = frame.where(
        frame["row"].isin([row for row, text in enumerate(whose) if text is not None])
    )
    kept = count(bound(SparkSource(someone), "values", 1, KEY), Domain({"row": 150}), [["row"]])[0]
    assert kept.sum() == len(set(whose) - {None})
    if None in whose:
        with pytest.raises(DataError, match="must name its unit"):
            count(bound(SparkSource(frame), "values", 1, KEY), Domain({"row": 150}), [["row"]])


def test_a_display_hears_the_share_of_tasks(local, monkeypatch):
    def slowly(batches):
        for batch in batches:
            time.sleep(0.2)
            yield batch

    monkeypatch.setattr("margin.data.advance._PAUSE", 0.02)
    frame = local.range(0, 80, 1, 8).mapInArrow(slowly, "id long")
    heard = []
    with listening(lambda share, declared: heard.append(share)):
        tables = count(SparkSource(frame), Domain({"id": 80}), [["id"]])
    assert tables[0].tolist() == [1] * 80
    assert heard == sorted(heard) and heard[-1] == 1
    assert any(0 < share < 1 for share in heard)
    assert not local.sparkContext.getJobTags()


def test_codes_at_the_ends_of_every_type_are_packed_alike(local):
    """Negative and huge numbers are what is not provided for, the least long as well; nulls are
    missing."""
    values = {
        pa.int8(): [-128, -1, 0, 2, 3, 127, None],
        pa.int16(): [-(2**15), -1, 0, 2, 3, 2**15 - 1, None],
        pa.int32(): [-(2**31), -1, 0, 2, 3, 2**31 - 1, None],
        pa.int64(): [-(2**63), -1, 0, 2, 3, 2**63 - 1, None],
        pa.bool_(): [False, True, False, True, True, True, None],
    }
    domain = Domain({f"x{place}": {"size": 4, "other": 1, "missing": 3} for place in range(5)})
    table = pa.table(
        {f"x{place}": pa.array(column, kind) for place, (kind, column) in enumerate(values.items())}
    )
    views = [[name] for name in domain]
    assert_equal(count(local.createDataFrame(table), domain, views), by_hand(domain, table, views))


@pytest.mark.parametrize("is_set", [True, False])
def test_local_workers_run_the_drivers_python_unless_told(local, is_set, monkeypatch):
    context = local.sparkContext
    monkeypatch.setattr(context, "pythonExec", "another-python")
    monkeypatch.delenv("PYSPARK_PYTHON")
    if is_set:
        monkeypatch.setenv("PYSPARK_PYTHON", "another-python")
    SparkSource(local.range(2))
    assert context.pythonExec == ("another-python" if is_set else sys.executable)


def test_rows_come_to_the_driver_when_a_method_needs_them(local):
    domain, table, _ = example(3, 5, 200)
    codes = {name: [] for name in domain}
    for batch in SparkSource(local.createDataFrame(table)).batches(domain):
        for name, column in batch.items():
            codes[name] += column.tolist()
    expected = {
        name: [attribute.code(value) for value in table[name].to_pylist()]
        for name, attribute in domain.items()
    }
    assert sorted(zip(*codes.values(), strict=True)) == sorted(zip(*expected.values(), strict=True))


def test_the_cells_of_a_huge_view_are_grouped_by_the_executors(local):
    domain, table, _ = example(11, 12, 300)
    source = SparkSource(local.createDataFrame(table).repartition(2))
    view = domain.attributes[2:9]
    leaves = Grid([Leaves(size) for size in domain.shape(view)])
    trees = Grid([Tree(leaves.axes[0].size), Halves(leaves.axes[1].size), *leaves.axes[2:]])
    for nodes in (leaves, trees):
        with closing(cells_in(source, domain, view, leaves, nodes)) as there:
            compare(there, cells_in(open_source(table), domain, view, leaves, nodes))
    kept, expected = (bound(it, "person", 2, KEY) for it in (source, open_source(table)))
    with closing(cells_in(kept, domain, view, leaves, leaves)) as there:
        compare(there, cells_in(expected, domain, view, leaves, leaves))
    assert nothing_is_left(local)


def compare(there, here):
    """The same cells each time, a partition at a time, and none twice."""
    assert there.number == here.number > 50
    for _ in range(2):
        blocks = list(there.blocks())
        assert len(blocks) > 1
        words, counts = (np.concatenate(parts) for parts in zip(*blocks, strict=True))
        order = ordered(words)
        assert np.array_equal(words[order], here.words) and np.array_equal(
            counts[order], here.counts
        )


def nothing_is_left(local):
    return local.sparkContext._jsc.getPersistentRDDs().isEmpty()


@pytest.mark.parametrize(
    "mechanism",
    [
        margin.mechanisms.PrioritySample(size=5000),
        margin.mechanisms.Dyadic(margin.HighPass(theta=1), attributes=["a", "b"], check=False),
    ],
)
def test_a_summary_of_cells_that_stay_distributed(local, mechanism):
    """With next to no noise: all of the executors' cells are kept, as of the same cells in
    memory."""
    rows = np.random.default_rng(1).integers(0, 40, (400, 2))
    table = pa.table({"a": rows[:, 0], "b": rows[:, 1]})
    domain = {"a": 40, "b": 10**6}
    one, other = (
        margin.simulate(
            data, domain=domain, budget=margin.PureDP(10**4), mechanism=mechanism, seed=1
        ).synopsis
        for data in (local.createDataFrame(table).repartition(3), table)
    )
    assert np.array_equal(one.codes, other.codes) and np.array_equal(one.values, other.values)
    assert nothing_is_left(local)


def test_a_release_of_a_spark_frame(local):
    frame = local.createDataFrame(pa.table({"a": [0, 1, 1, 1], "person": [7, 7, 7, 8]}))
    made = margin.simulate(
        frame, domain={"a": 2}, budget=margin.PureDP(50), unit="person", rows_per_person=2, seed=1
    )
    assert made.truth("a").counts.tolist() == [1, 3]
    assert round(made.marginal("a").counts.sum()) == 3


SMALL = Domain({"a": 2, "b": ["x", "y"]})


@pytest.mark.parametrize("kind", ["view", "saved table", "database"])
def test_a_table_of_the_catalogue_is_read_by_its_name(tmp_path, kind):
    """Hive, Delta and Iceberg tables have names in the catalogue, too."""
    own = session("local[2]", **{"spark.sql.warehouse.dir": str(tmp_path / "warehouse")})
    rows = {"sex": ["F", "M", "F"], "children": [0, 2, 1]}
    frame = own.createDataFrame(list(zip(*rows.values(), strict=True)), list(rows))
    name = f"visits_{os.getpid()}"
    path = str(tmp_path / "rows")
    if kind == "view":
        frame.createOrReplaceTempView(name)
    elif kind == "saved table":
        frame.write.option("path", path).mode("overwrite").saveAsTable(name)
    else:
        own.sql(f"CREATE DATABASE IF NOT EXISTS base LOCATION '{tmp_path / 'base'}'")
        name = f"base.{name}"
        frame.write.option("path", path).mode("overwrite").saveAsTable(name)
    domain = Domain({"sex": ["F", "M"], "children": 3})
    (found,) = count(own.table(name), domain, [("sex", "children")])
    assert found.tolist() == [[1, 1, 0], [0, 0, 1]]
    own.sql(f"DROP {'VIEW' if kind == 'view' else 'TABLE'} {name}")


def test_a_name_is_no_frame():
    with pytest.raises(DataError, match=r"not a str; .* spark\.table\(name\)"):
        SparkSource("warehouse.visits")


def test_another_python_is_told(monkeypatch):
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    assert spark._other_python() == ""
    monkeypatch.setenv("PYSPARK_PYTHON", "/opt/other/python3")
    assert "it is /opt/other/python3, and the driver runs" in spark._other_python()


BAD_FRAMES = [
    (
        {"a": [0, 2], "b": ["x", "y"]},
        "column 'a' holds a value for which its attribute has no category",
    ),
    ({"a": [0, -1], "b": ["x", "y"]}, "column 'a' holds a value"),
    ({"a": [0, None], "b": ["x", "y"]}, "column 'a' holds nulls"),
    ({"a": [0, 1], "b": ["x", "s3cr3t"]}, "column 'b' holds a value"),
    ({"a": [0, 1]}, "the Spark data frame has no column named 'b'"),
    ({"a": [[0], [1]], "b": ["x", "y"]}, "column 'a' is of type"),
]


@pytest.mark.parametrize(
    ("columns", "message"), BAD_FRAMES, ids=[message for _, message in BAD_FRAMES]
)
def test_what_does_not_fit_is_refused_by_name(local, columns, message):
    source = SparkSource(local.createDataFrame(pa.table(columns)))

    def action():
        source.check(SMALL)
        count(source, SMALL, [["a"]])

    refused(action, message)
    mechanism = margin.HighPass(theta=9)
    refused(
        lambda: margin.release(source, domain=SMALL, budget=margin.PureDP(1), mechanism=mechanism),
        message,
    )
    assert nothing_is_left(local)


def test_a_unit_must_be_told(local):
    source = SparkSource(
        local.createDataFrame(pa.table({"a": [0, 1], "b": ["x", "y"], "person": [1, None]}))
    )
    refused(lambda: count(bound(source, "person", 1, KEY), SMALL, [["a"]]), "'person' holds nulls")
    refused(lambda: bound(source, "nobody", 1, KEY).check(SMALL), "no column named 'nobody'")


def test_a_job_that_fails_says_so_without_the_rows(local):
    def broken(batches):
        raise RuntimeError("s3cr3t")

    frame = local.range(3).mapInArrow(broken, "a int, b string")
    refused(lambda: count(frame, SMALL, [["a"]]), "its job failed")
    refused(lambda: margin.release(frame, domain=SMALL, budget=margin.PureDP(1)), "its job failed")
    mechanism = margin.HighPass(theta=9)
    refused(
        lambda: margin.release(frame, domain=SMALL, budget=margin.PureDP(1), mechanism=mechanism),
        "its job failed",
    )


def refused(action, message):
    with pytest.raises(DataError, match=message) as caught:
        action()
    assert caught.value.__cause__ is None and caught.value.__context__ is None
    assert "s3cr3t" not in str(caught.value)


def test_an_interrupted_count_is_cancelled_on_the_cluster(local):
    def slow(batches):
        time.sleep(30)
        yield from batches

    frame = local.createDataFrame(pa.table({"a": [0, 1], "b": ["x", "y"]})).mapInArrow(
        slow, "a long, b string"
    )
    stop = threading.Timer(2, lambda: os.kill(os.getpid(), signal.SIGINT))
    stop.start()
    with pytest.raises(KeyboardInterrupt, match="no noise was drawn, and nothing has been charged"):
        margin.release(frame, domain=SMALL, budget=margin.PureDP(1))
    stop.join()
    tracker = local.sparkContext.statusTracker()
    for _ in range(50):
        if not tracker.getActiveJobsIds():
            return
        time.sleep(0.1)
    raise AssertionError("the job goes on")


def test_what_is_no_frame():
    refused(lambda: SparkSource([1]), "not a list")


def test_nothing_random_is_in_reach_of_a_task():
    """Tasks are repeated: noise drawn in one would be drawn twice. They may import neither entropy
    nor noise."""
    for module in (spark, spark_tasks, grid, axes):
        tree = ast.parse(Path(module.__file__).read_text())
        names = {
            part.name
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom)
            for part in node.names
        }
        modules = {
            part
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom)
            for part in (node.module or "").split(".")
        }
        assert not modules & {"noise", "entropy", "exact", "private", "budget"}
        assert not names & {"noise", "entropy", "exact", "private", "budget", "random"}


def free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    """A standalone master and two workers on loopback; the address of the master."""
    pyspark = pytest.importorskip("pyspark", reason="pyspark is not installed")
    home = Path(pyspark.__file__).parent
    folder, port = tmp_path_factory.mktemp("cluster"), free_port()
    environment = {
        **os.environ,
        "SPARK_HOME": str(home),
        "SPARK_DAEMON_JAVA_OPTS": QUICK_JVM,
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYSPARK_PYTHON": sys.executable,
    }
    deploy = "org.apache.spark.deploy"
    commands = [
        [
            f"{deploy}.master.Master",
            "--host",
            "127.0.0.1",
            "--port",
            str(port),
            "--webui-port",
            str(free_port()),
        ]
    ]
    commands += [
        [
            f"{deploy}.worker.Worker",
            "--host",
            "127.0.0.1",
            "--cores",
            "1",
            "--memory",
            "1g",
            "--work-dir",
            str(folder / f"worker{place}"),
            "--webui-port",
            str(free_port()),
            f"spark://127.0.0.1:{port}",
        ]
        for place in range(2)
    ]
    started = []
    for place, command in enumerate(commands):
        with (folder / f"{place}.log").open("w") as log:
            started.append(
                subprocess.Popen(
                    [home / "bin" / "spark-class", *command],
                    env=environment,
                    stdout=log,
                    stderr=log,
                )
            )
        _await(lambda: _listens(port))
    yield f"spark://127.0.0.1:{port}"
    for process in started:
        process.terminate()
    for process in started:
        process.wait(20)


def _listens(port):
    with socket.socket() as trial:
        return trial.connect_ex(("127.0.0.1", port)) == 0


def _await(condition):
    for _ in range(600):
        if condition():
            return
        time.sleep(0.1)
    raise TimeoutError


def test_an_executor_that_is_killed_loses_no_row(cluster, tmp_path):
    running = session(cluster, **{"spark.executor.memory": "512m", "spark.executor.cores": "1"})
    marker = tmp_path / "killed"

    def kills_its_executor_once(batches):
        """The executor's JVM started the Python worker that runs this, perhaps through other
        processes."""
        for batch in batches:
            process = os.getpid() if batch.column(0)[0].as_py() >= 5_000 else 0
            while process > 1 and not marker.exists():
                process = int(
                    Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[1]
                )
                if b"ExecutorBackend" in Path(f"/proc/{process}/cmdline").read_bytes():
                    marker.touch()
                    os.kill(process, signal.SIGKILL)
            yield batch

    try:
        frame = running.range(0, 10_000, 1, 4).mapInArrow(kills_its_executor_once, "id bigint")
        frame = frame.selectExpr("id % 3 AS a", "CAST(id % 2 AS STRING) AS b")
        domain = Domain({"a": 3, "b": ["0", "1"]})
        tables = count(SparkSource(frame), domain, [["a", "b"], ["b"]])
    finally:
        running.stop()
    assert marker.exists()
    expected = np.zeros((3, 2), np.int64)
    np.add.at(expected, (np.arange(10_000) % 3, np.arange(10_000) % 2), 1)
    assert_equal(tables, [expected, expected.sum(axis=0)])
