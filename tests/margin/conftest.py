import shutil
import subprocess
import tempfile

import pytest
from postgres_server import running

from margin.data import files, rows_per_person, sql


@pytest.fixture(autouse=True)
def a_folder_of_its_own():
    """The audit watches the working folder: neither another process nor the test itself may write
    there meanwhile."""
    # pytest looks for the last number among all numbered folders, so each takes longer to make.
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        yield


@pytest.fixture
def one_engine(monkeypatch):
    """One DuckDB for all reads of a test: to start it takes ten times as long as to read a small
    table."""
    database = files.connected()

    def connected(memory_limit="1GB"):
        connection = database.cursor()
        connection.execute("RESET preserve_insertion_order")
        return connection

    for module in (files, sql, rows_per_person):
        monkeypatch.setattr(module, "connected", connected)
    yield
    database.close()


@pytest.fixture(scope="session")
def as_process_1():
    """The words before a command that make it process 1, as a container does."""
    words = ["unshare", "--user", "--map-root-user", "--pid", "--fork"]
    found = shutil.which(words[0])
    if not found or subprocess.run([*words, "true"], capture_output=True).returncode:
        pytest.skip("this machine gives no process namespace")
    return words


@pytest.fixture(scope="session")
def server():
    """The address of a PostgreSQL server of its own, on loopback."""
    yield from running()
