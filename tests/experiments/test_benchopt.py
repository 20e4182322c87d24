"""The bench as a benchmark of benchopt: one instance, two solvers, checked answers."""

import importlib.util
import math
import shutil
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

FOLDER = Path(__file__).parent.parent.parent / "experiments" / "benchopt"


@pytest.mark.slow
def test_benchopt_runs_it(tmp_path):
    if importlib.util.find_spec("benchopt") is None:
        pytest.skip("benchopt is not installed")
    benchmark = tmp_path / "benchmark"
    shutil.copytree(FOLDER, benchmark)
    command = [sys.executable, "-m", "benchopt", "run", str(benchmark), "--no-plot", "--no-html"]
    data = ["-d", "bench[instance=[exact-entropy-b4-chain-pairs]]", "-r", "1"]
    solvers = ["-s", "bench[solver=[IPF,clarabel,Newton]]"]
    done = subprocess.run(
        [*command, *data, *solvers], capture_output=True, text=True, cwd=tmp_path, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (file,) = (benchmark / "outputs").glob("*.parquet")
    values = pd.read_parquet(file)["objective_value"]
    assert len(values) == 2  # Newton solves another family, and is skipped
    assert all(math.isfinite(value) for value in values)
    assert values.max() - values.min() < 1e-6

    from experiments.benchopt.table import table

    rows = table(pd.read_parquet(file))
    assert [(row["instances"], row["solved"]) for row in rows] == [(1, 1), (1, 1)]
