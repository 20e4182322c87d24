"""OSQP and PuLP in one process, in both orders, and the banner of HiGHS; each case runs in a
process of its own."""

import importlib.util
import subprocess
import sys

import pytest

from margin.solvers import bench

SOLVE = """
from margin.solvers import LeastSquares
from margin.solvers.backends import load_pulp
from margin.solvers.testing import examples
{first}
problem = next(iter(examples().values()))
print(LeastSquares(solver="OSQP").solve(problem).status.name)
"""


def outcome(first: str) -> subprocess.CompletedProcess[str]:
    for package in ("osqp", "highspy"):
        if importlib.util.find_spec(package) is None:
            pytest.skip(f"{package} is not installed")
    command = [sys.executable, "-c", SOLVE.format(first=first)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_osqp_works_after_our_import_of_pulp():
    ended = outcome("load_pulp()")
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.strip() == "OPTIMAL"


@pytest.mark.slow
def test_osqp_is_refused_after_a_users_import_of_pulp():
    ended = outcome("import pulp")
    assert ended.returncode == 1  # an exception, not the crash of the process
    assert "Begin the script with 'import osqp'" in ended.stderr


def test_highs_prints_nothing_into_the_process_that_solves():
    if importlib.util.find_spec("highspy") is None:
        pytest.skip("highspy is not installed")
    # The text before is still in the buffer when the library is loaded.
    code = "print('before'); from margin.solvers.backends import load_highs; load_highs().Highs()"
    command = [sys.executable, "-c", f"{code}; print('after')"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["before", "after"]


MODEL = "Model(cost=[1, 1], matrix=[[1, 2]], lower=[2], upper=[9], least=[0, 0], most=[5, 5])"
ENGINE = f"""
from margin.solvers import bench
from margin.solvers.bench.models.model import Model
print(bench.ROSTER[{{name!r}}].make().engine({MODEL}).status.name)
"""
QUIET = {
    **{
        name: ENGINE.format(name=name)
        for name, entry in bench.ROSTER.items()
        if isinstance(entry.make(), bench.ByModel)
    },
    "HIGHS of cvxpy": (
        "from margin.solvers.backends import load_cvxpy; load_cvxpy('HIGHS'); print('OPTIMAL')"
    ),
    "MinimaxLP": (
        "from margin.solvers import MinimaxLP; from margin.solvers.testing import examples\n"
        "problem = next(iter(examples().values()))\n"
        "print(MinimaxLP(solver='HIGHS').solve(problem).status.name)"
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", QUIET)
def test_an_engine_prints_nothing_in_a_fresh_process(name):
    """The first use of a library in a process is the one that may print a banner."""
    command = [sys.executable, "-c", QUIET[name]]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.strip() in ("OPTIMAL", "UNSUPPORTED", "MISSING")
    assert done.stderr == ""
