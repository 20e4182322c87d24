"""Sessions of Spark for tests, in the one JVM of this process."""

import os
import subprocess
import sys
import warnings

import pytest

# Tests run each line of the JVM a few times: code is compiled by its quick compiler alone, and each
# job is interpreted instead of compiled for itself.
QUICK_JVM = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.extraJavaOptions": QUICK_JVM,
    "spark.executor.extraJavaOptions": QUICK_JVM,
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.session.timeZone": "UTC",  # a time without zone is read in it
    "spark.sql.codegen.wholeStage": "false",
    "spark.log.level": "OFF",
    "spark.ui.showConsoleProgress": "false",
}


def session(master="local[2]", **options):
    """The session of this process; made anew when a test has stopped it, or for another master."""
    pytest.importorskip("pyspark", reason="pyspark is not installed")
    try:
        subprocess.run(["java", "-version"], check=True, capture_output=True)
    except OSError:
        pytest.skip("Java is not installed")
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master(master).appName("margin tests")
    for name, value in {**SETTINGS, **options}.items():
        builder = builder.config(name, value)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        active = SparkSession.getActiveSession()
        if active is not None:
            if active.sparkContext.master == master and not options:
                return active
            if active.sparkContext.master != master:
                active.stop()  # a process has one at a time, and would get that one again
        return builder.getOrCreate()
