"""Start a Spark cluster on this machine, and release the same table from it and from a file.

It needs Java 17 or newer and ``pip install '.[spark]'``. Run ``python examples/spark_cluster.py``.
The cluster is a master and two workers, each a process of its own, as on several machines. It
listens on the loopback address only, and ends with the script.
"""

import contextlib
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow.parquet
import pyspark
from pyspark.sql import SparkSession

import margin
from margin.datasets import people, people_domain

HOST = "127.0.0.1"
DEPLOY = "org.apache.spark.deploy"
VIEWS = [["age", "sex"], ["region", "income"]]


def free_port() -> int:
    """A port on which nothing listens."""
    with socket.socket() as trial:
        trial.bind((HOST, 0))
        return int(trial.getsockname()[1])


def listens(port: int) -> bool:
    """Whether a process listens on a port."""
    with socket.socket() as trial:
        return trial.connect_ex((HOST, port)) == 0


@contextlib.contextmanager
def cluster(folder: Path) -> Iterator[str]:
    """A master and two workers of one core each; its value is the address of the master."""
    home = Path(pyspark.__path__[0])
    environment = os.environ | {
        "SPARK_HOME": str(home),
        "SPARK_LOCAL_IP": HOST,
        "PYSPARK_PYTHON": sys.executable,
    }
    port = free_port()
    address = f"spark://{HOST}:{port}"
    master = ["--host", HOST, "--port", str(port), "--webui-port", str(free_port())]
    worker = ["--host", HOST, "--cores", "1", "--memory", "1g", "--webui-port", "0"]
    commands = [[f"{DEPLOY}.master.Master", *master]]
    for number in (1, 2):
        place = ["--work-dir", str(folder / f"worker{number}")]
        commands.append([f"{DEPLOY}.worker.Worker", *worker, *place, address])
    started = []
    try:
        for command in commands:
            with (folder / f"{len(started)}.log").open("w") as log:
                call = [str(home / "bin" / "spark-class"), *command]
                started.append(
                    subprocess.Popen(call, env=environment, stdout=log, stderr=subprocess.STDOUT)
                )
            end = time.monotonic() + 60
            while not listens(port):
                if time.monotonic() > end or started[0].poll() is not None:
                    raise SystemExit(f"the master did not start:\n{(folder / '0.log').read_text()}")
                time.sleep(0.1)
        yield address
    finally:
        for process in started:
            process.terminate()
        for process in started:
            process.wait(30)


def release(data: object) -> margin.Synopsis:
    """The release: the same call for every kind of table."""
    return margin.release(data, domain=people_domain(), budget=margin.PureDP(1), workload=VIEWS)


def main() -> None:
    """Compare the counts of the cluster with those of a file, and release from both."""
    with tempfile.TemporaryDirectory() as name, cluster(Path(name)) as address:
        path = Path(name) / "people.parquet"
        pyarrow.parquet.write_table(people(), path)
        # Every worker must be able to read the path: on several machines, use a shared one.
        spark = (
            SparkSession.builder.master(address)
            .appName("margin")
            .config("spark.driver.host", HOST)
            .config("spark.driver.bindAddress", HOST)
            .config("spark.executor.memory", "512m")
            .config("spark.ui.enabled", "false")
            .getOrCreate()
        )
        try:
            frame = spark.read.parquet(str(path)).repartition(4)
            print("cluster:", address, "with", frame.rdd.getNumPartitions(), "partitions")
            domain = people_domain()
            # True counts are not private: nobody but the owner of the table may see them.
            on_cluster = margin.data.count(frame, domain, VIEWS)
            in_file = margin.data.count(path, domain, VIEWS)
            same = map(np.array_equal, on_cluster, in_file)
            print("the cluster counts what the file holds:", all(same))
            for kind, data in (("cluster", frame), ("file", path)):
                answer = release(data).marginal(["age", "sex"])
                low, high = answer.interval(0.95)
                print(f"{kind}: {answer.total:.0f} rows, widest interval {(high - low).max():.0f}")
        finally:
            spark.stop()


if __name__ == "__main__":
    main()
