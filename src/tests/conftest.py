import os
import sys
from pathlib import Path

import hypothesis
import numpy as np
import pyarrow as pa
import pytest

from margin import Domain
from margin.solvers.threads import processors

# The experiments are not part of the package. The path is added at the end, so that `margin` itself
# is the installed one.
sys.path.append(str(Path(__file__).parents[1]))

# The same examples in every run: a failure is then the change's, not chance's. A clock fails no
# test.
hypothesis.settings.register_profile("fixed", derandomize=True, deadline=None)
hypothesis.settings.load_profile("fixed")


@pytest.hookimpl(optionalhook=True)  # of pytest-xdist
def pytest_xdist_auto_num_workers() -> int:
    """One worker for each processor that this process may use, and at most four: each holds half a
    gigabyte."""
    return min(processors(), 4)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The solvers' tests come first: each worker begins with a part of the tests of its own, so one
    worker compiles their loops while another does other things, and none compiles them a second
    time at the end."""
    items.sort(key=lambda item: "solvers" not in item.path.parts)


@pytest.fixture(scope="session")
def domain() -> Domain:
    """A small domain with every kind of attribute."""
    return Domain(
        {
            "age": {"bins": [0, 18, 65, 120]},
            "sex": ["F", "M"],
            "region": {"values": ["north", "south", "east"], "other": "elsewhere"},
            "children": 4,
            "income": {"values": ["low", "high"], "missing": "not stated"},
        }
    )


@pytest.fixture(scope="session")
def table() -> pa.Table:
    """Five hundred rows that fit `domain`."""
    rng = np.random.default_rng(7)
    rows = 500
    income = rng.choice(["low", "high"], rows).astype(object)
    income[rng.random(rows) < 0.1] = None
    return pa.table(
        {
            "age": rng.integers(0, 121, rows),
            "sex": rng.choice(["F", "M"], rows, p=[0.55, 0.45]),
            "region": rng.choice(["north", "south", "east", "overseas"], rows),
            "children": rng.integers(0, 4, rows),
            "income": pa.array(income.tolist()),
            "name": [f"person {row}" for row in range(rows)],
        }
    )


@pytest.fixture(scope="session")
def real_data() -> Path:
    """The folder of real tables that MARGIN_DATA names; skips where it is unset."""
    folder = os.environ.get("MARGIN_DATA")
    if not folder:
        pytest.skip("MARGIN_DATA does not name a folder of real tables")
    return Path(folder)
