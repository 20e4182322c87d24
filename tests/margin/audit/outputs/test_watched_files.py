"""Files, folders and connections are seen; only pyspark may fetch its results by a socket."""

import socket
import subprocess
import sys
from pathlib import Path
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


def test_the_number_of_files_that_c_code_writes_in_a_new_folder_is_seen():
    outcomes = [outcome_of(lambda: writes_parts_by_c(number)) for number in (3, 3, 4)]  # noqa: B023
    assert outcomes[0] == outcomes[1] != outcomes[2]


@pytest.fixture
def files(tmp_path, monkeypatch):
    """A working folder with a small file, a large one and a folder."""
    monkeypatch.chdir(tmp_path)
    Path("small.txt").write_text("small")
    Path("large.txt").write_bytes(bytes(2 << 20))
    Path("folder").mkdir()
    Path("folder", "inside.txt").write_text("inside")
    return tmp_path


def test_a_run_reads_what_its_user_would_read(files):
    def reads():
        return [Path(name).read_bytes() for name in ("small.txt", "large.txt", "folder/inside.txt")]

    seen = []
    assert outcome_of(lambda: seen.extend(reads())) == outcome_of(reads().clear)
    assert seen == reads()


OVERWRITTEN = {
    "small, by C": lambda n: pa.OSFile("small.txt", "wb").write(b"%d" % n),
    "small, added by C": lambda n: pa.OSFile("small.txt", "ab").write(b"%d" % n),
    "small, by Python": lambda n: Path("small.txt").write_text(str(n)),
    "large, by Python": lambda n: Path("large.txt").write_text(str(n)),
    "inside, by Python": lambda n: Path("folder/inside.txt").write_text(str(n)),
    "new inside, by Python": lambda n: Path(f"folder/{n}.txt").touch(),
    "hidden, by C": lambda n: pa.OSFile(".hidden", "wb").write(b"%d" % n),
}


@pytest.mark.parametrize("write", OVERWRITTEN.values(), ids=OVERWRITTEN)
def test_a_number_in_a_file_is_seen(write, files):
    outcomes = []
    for number in (3, 3, 4):
        outcomes.append(outcome_of(lambda: write(number)))  # noqa: B023
        Path("folder/3.txt").unlink(missing_ok=True)  # behind a link
    assert outcomes[0] == outcomes[1] != outcomes[2]


def test_a_number_in_a_file_of_another_folder_is_seen(files):
    path = files / "absolute.txt"
    outcomes = [outcome_of(lambda: path.write_text(str(n))) for n in (3, 3, 4)]  # noqa: B023
    assert outcomes[0] == outcomes[1] != outcomes[2]


def test_the_file_that_differs_is_named(files):
    first, second, neither = (
        outcome_of(lambda: text and Path("made.txt").write_text(text) and None)  # noqa: B023
        for text in ("a", "b", None)
    )
    assert first.differs(second) == "files 'made.txt'"
    assert first.differs(neither) == "files 'made.txt', which only one of both has"


def test_the_folder_and_its_files_stay_as_they_were(files):
    outcome_of(lambda: (Path("small.txt").write_text("x"), Path("new.txt").touch()))
    assert Path.cwd() == files and not Path("new.txt").exists()
    assert Path("small.txt").read_text() == "small"


# Appends a line to each of two files whenever it is asked to.
OTHER = """
import sys
for line in sys.stdin:
    for name in ("small.txt", "other.log"):
        with open(name, "a") as file:
            file.write(line)
    print("done", flush=True)
"""


def test_what_another_process_writes_does_not_count(files):
    command = [sys.executable, "-c", OTHER]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:

        def waits_for_the_other():
            print("now", file=other.stdin, flush=True)
            other.stdout.readline()

        outcomes = [outcome_of(waits_for_the_other) for _ in range(2)]
        other.stdin.close()
    assert Path("other.log").read_text() == "now\nnow\n"
    assert outcomes[0] == outcomes[1] == outcome_of(lambda: None)
