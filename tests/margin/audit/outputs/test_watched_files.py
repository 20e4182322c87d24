"""Files, folders and connections are seen; only pyspark may fetch its results by a socket."""

import shutil
import socket
import sys
from types import ModuleType

import pyarrow as pa
import pytest
from pyarrow.fs import LocalFileSystem

from margin.audit.outputs.outcome import outcome_of
from margin.audit.violation import Violation

REMOTE = ("192.0.2.1", 80)


@pytest.mark.parametrize("event", ["socket.connect", "socket.sendto"])
@pytest.mark.parametrize("address", [REMOTE, ("127.0.0.1", 80), ("::1", 80, 0, 0), "/run/socket"])
def test_connections_and_messages_are_refused(event, address):
    connection = socket.socket.__new__(socket.socket)
    with pytest.raises(Violation, match="connection"):
        outcome_of(lambda: sys.audit(event, connection, address))


def test_a_number_that_is_sent_to_the_same_machine_is_refused():
    with socket.create_server(("127.0.0.1", 0)) as server:

        def sends():
            with socket.create_connection(server.getsockname()) as connection:
                connection.sendall(b"17")

        with pytest.raises(Violation, match="connection"):
            outcome_of(sends)


@pytest.fixture
def fetch(tmp_path, monkeypatch):
    """A function of a module that takes the place of pyspark: it connects to each of some
    addresses."""
    file = tmp_path / "pyspark" / "util.py"
    module = ModuleType("pyspark")
    module.__file__ = str(file.with_name("__init__.py"))
    monkeypatch.setitem(sys.modules, "pyspark", module)
    code = "def fetch(addresses):\n    for a in addresses: sys.audit('socket.connect', None, a)"
    names = {"sys": sys}
    exec(compile(code, str(file), "exec"), names)
    return names["fetch"]


def test_the_port_from_which_pyspark_fetches_a_result_is_not_compared(fetch):
    first, second = (outcome_of(lambda: fetch([("127.0.0.1", port)])) for port in (40_001, 40_002))  # noqa: B023
    assert first == second


def test_the_number_of_results_that_pyspark_fetches_is_compared(fetch):
    first, second = (outcome_of(lambda: fetch([("127.0.0.1", 40_001)] * n)) for n in (3, 4))  # noqa: B023
    assert first != second


def test_pyspark_may_not_connect_to_another_machine(fetch):
    with pytest.raises(Violation, match="connection"):
        outcome_of(lambda: fetch([REMOTE]))


def test_only_the_files_of_pyspark_may_connect(fetch):
    with pytest.raises(Violation, match="connection"):
        outcome_of(lambda: sys.audit("socket.connect", None, ("127.0.0.1", 40_001)))


def writes_parts_by_c(n):
    """C code reports nothing to audit hooks."""
    LocalFileSystem().create_dir("parts")
    for place in range(n):
        pa.OSFile(f"parts/{place}", "wb").close()


def test_the_number_of_files_that_c_code_writes_in_a_new_folder_is_seen(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    outcomes = []
    for number in (3, 3, 4):
        outcomes.append(outcome_of(lambda: writes_parts_by_c(number)))  # noqa: B023
        shutil.rmtree("parts")
    assert outcomes[0] == outcomes[1] != outcomes[2]
