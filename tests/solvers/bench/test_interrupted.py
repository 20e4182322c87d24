"""An interrupt of a comparison loses nothing that has ended, and is told truly, at any moment."""

import json
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from margin.solvers import bench
from tests.helpers.interrupted_comparisons import ENDED, FRONTS, REPEATS, SIGNALS

pytest.importorskip("pyarrow")
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")

HELPERS = Path(__file__).parents[2] / "helpers"


@pytest.fixture(scope="module")
def interrupted(tmp_path_factory):
    """The folder of all cases, and the exit code of each."""
    folder = tmp_path_factory.mktemp("interrupted")
    done = subprocess.run(
        [sys.executable, HELPERS / "interrupted_comparisons.py", folder],
        capture_output=True,
        text=True,
        check=True,
    )
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    return folder, {tuple(case): code for *case, code in lines}


@pytest.mark.parametrize("moment", ENDED)
@pytest.mark.parametrize("name", SIGNALS)
@pytest.mark.parametrize("front", FRONTS)
def test_nothing_that_has_ended_is_lost(interrupted, front, name, moment):
    folder, codes = interrupted
    own = folder / f"{front}-{name}-{moment}"
    told = (own / "told").read_text()
    solves = ENDED[moment] * (REPEATS + 1)
    # The file, the folder of answers and the message say the same.
    rows = own / "rows.parquet"
    held = bench.read_rows(rows) if rows.exists() else []
    assert len(held) == len(list(own.glob("answers/mine/*.npz"))) == solves, told
    assert {row["outcome"] for row in held} <= {"solved", "feasible"}
    if solves:
        assert re.search(rf"rows.parquet' holds {solves} solves, and the same", told), told
    else:
        assert "no solver has ended all its repeats" in told and not rows.exists()
    assert told.count("margin: interrupted") == 1
    # SIGTERM ends the process; a KeyboardInterrupt that no signal sent does not.
    by_signal = name == "SIGTERM" and moment != "raised"
    assert codes[front, name, moment] == (-signal.SIGTERM if by_signal else 130)
