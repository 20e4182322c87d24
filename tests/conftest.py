import os
import signal
import sys
import zlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

# Before numpy is loaded: there is a worker for each processor, and several threads of each
# worker's linear algebra would wait for one another.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import hypothesis
import numpy as np
import pyarrow as pa
import pytest

from margin import Domain, release
from margin.noise.entropy import SeededEntropy
from margin.solvers.threads import processors

# The experiments are not part of the package. The path is added at the end, so that `margin` itself
# is the installed one.
_CHECKOUT = Path(__file__).parents[1]
sys.path.append(str(_CHECKOUT))

# Without symbolic links the checkout has a `margin` without solvers. The processes of tests must
# not find it in their folder, but take the installed one, too.
if not (_CHECKOUT / "margin" / "solvers").is_dir():
    os.environ["PYTHONSAFEPATH"] = "1"

# A signal that is ignored, as SIGHUP under nohup, is ignored by the processes of tests too, and
# these test what signals do.
for _name, _handler in (("SIGHUP", signal.SIG_DFL), ("SIGINT", signal.default_int_handler)):
    _number = getattr(signal, _name, None)
    if _number is not None and signal.getsignal(_number) == signal.SIG_IGN:
        signal.signal(_number, _handler)

# The same examples in every run: a failure is then the change's, not chance's. A clock fails no
# test.
hypothesis.settings.register_profile("fixed", derandomize=True, deadline=None)
hypothesis.settings.load_profile("fixed")


@pytest.hookimpl(optionalhook=True)  # of pytest-xdist
def pytest_xdist_auto_num_workers() -> int:
    """One worker more than the processors that this process may use, since many tests wait for
    processes of their own. At most four, since each holds half a gigabyte."""
    return min(processors() + 1, 4)


def pytest_configure(config: pytest.Config) -> None:
    """No two workers compile the same loops."""
    if hasattr(config, "workerinput"):  # in a worker of pytest-xdist
        import one_compiler  # loads numba

        one_compiler.begin()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The solvers' tests come first: each worker begins with a part of the tests of its own, so one
    worker compiles their loops while another does other things. Files with slow tests come next, so
    that no worker waits for one at the end."""
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: ("solvers" not in item.path.parts, item.path not in slow))


class RepeatedEntropy(SeededEntropy):
    """Bytes that a release takes for those of the operating system."""

    private = True


class _Noise:
    """The noise of the releases of a test: the same in every run, so that a failure is the
    change's. Other values of MARGIN_NOISE give other noise, to look for failures that depend on it.

    It depends on the test, or on the fixture that several tests share, and on the number of
    releases before.
    """

    def __init__(self) -> None:
        self.owner = ""
        self._releases: Counter[str] = Counter()

    def begin(self, owner: str) -> None:
        """Let `owner` make the releases that follow."""
        self.owner = owner
        self._releases[owner] = 0

    def __call__(self) -> RepeatedEntropy:
        """The entropy of the next release."""
        self._releases[self.owner] += 1
        variant = os.environ.get("MARGIN_NOISE", "")
        words = (variant, self.owner, self._releases[self.owner])
        return RepeatedEntropy(zlib.crc32(repr(words).encode()))


_noise = _Noise()
sys.modules[release.__module__].SystemEntropy = _noise  # type: ignore[attr-defined]


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """The releases that follow are this test's."""
    _noise.begin(item.nodeid)


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(fixturedef: Any, request: Any) -> Iterator[None]:
    """The releases of a shared fixture do not depend on the test that asks for it first."""
    if fixturedef.scope == "function":
        return (yield)
    before = _noise.owner
    place = getattr(request, "param_index", 0)
    _noise.begin(f"{fixturedef.baseid} {fixturedef.argname} {place}")
    try:
        return (yield)
    finally:
        _noise.owner = before


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
