import tempfile

import pytest

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
