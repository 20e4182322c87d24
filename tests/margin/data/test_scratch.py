"""Folders for what outgrows memory: nobody else's to read, and gone when the process is."""

import os
import shutil
import signal
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import margin
from margin.data.files import quoted
from margin.data.parts import Parts
from margin.data.scratch import scratch
from margin.interrupts import ENDING

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="locks and signals of POSIX")


@pytest.fixture
def parent(tmp_path, monkeypatch):
    """A temporary folder whose name needs quotes."""
    made = tmp_path / "it's ; 'here'"
    made.mkdir()
    monkeypatch.setenv("TMPDIR", str(made))
    monkeypatch.setattr("tempfile.tempdir", None)
    return made


@pytest.fixture
def untouched_signal():
    """SIGTERM as it is in a new process: an earlier test may still hold a folder."""
    handler = signal.signal(signal.SIGTERM, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGTERM, handler)


def test_a_folder_is_its_owners_and_does_not_stay(parent, untouched_signal, monkeypatch):
    monkeypatch.setattr("margin.data.scratch._held", {})
    before = signal.getsignal(signal.SIGTERM)
    with scratch() as folder:
        assert folder.parent == parent and folder.name.startswith(f"margin-{os.getpid()}-")
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        (folder / "rows").write_text("secret")
        with scratch() as other:
            assert other != folder and folder.exists()
        assert folder.exists() and signal.getsignal(signal.SIGTERM) is not before
    assert not os.listdir(parent) and signal.getsignal(signal.SIGTERM) is before
    with pytest.raises(ZeroDivisionError), scratch() as folder:
        _ = 1 / 0
    assert not os.listdir(parent)


@pytest.mark.parametrize(
    "name",
    ["margin-thesis-draft", "margin-123-x", f"margin-{os.getpid()}-abcdefgh"],
    ids=["no number", "no lock of ours", "this process"],
)
@pytest.mark.parametrize("lock", [b"", b"123", None])
def test_a_folder_of_the_users_own_is_left_alone(parent, name, lock):
    with scratch() as ours:
        said = (ours / "lock").read_bytes()
    other = parent / name
    other.mkdir(mode=0o700)
    (other / "lock").write_bytes(said if lock is None else lock)
    (other / "work").write_text("dear")
    with scratch():
        pass
    assert (other / "work").read_text() == "dear"


CHILD = """
import os, signal, sys
from margin.data.scratch import scratch
{before}
with scratch() as folder:
    (folder / "rows").write_text("secret")
    print(folder, flush=True)
    {then}
"""


def child(parent, *, before="", then="signal.pause()"):
    process = subprocess.Popen(
        [sys.executable, "-c", CHILD.format(before=before, then=then)],
        env={**os.environ, "TMPDIR": str(parent)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    return process, Path(process.stdout.readline().strip())


def ended(process, number):
    if number:
        process.send_signal(number)
    process.communicate("\n", timeout=60)
    return process.returncode


HANDLERS = {
    "none": ("", None),
    "one that exits": ("lambda *_: sys.exit(7)", 7),
}


@pytest.mark.slow
@pytest.mark.parametrize("number", ENDING)
@pytest.mark.parametrize(("handler", "code"), HANDLERS.values(), ids=HANDLERS)
def test_a_signal_removes_it_and_does_what_it_did_before(parent, handler, code, number):
    before = f"signal.signal({int(number)}, {handler})" if handler else ""
    process, folder = child(parent, before=before)
    assert (folder / "rows").exists()
    assert ended(process, number) == (-number if code is None else code)
    assert not os.listdir(parent)


@pytest.mark.slow
def test_what_a_handler_that_exits_at_once_leaves_the_next_one_removes(parent):
    process, folder = child(parent, before="signal.signal(15, lambda *_: os._exit(9))")
    assert ended(process, signal.SIGTERM) == 9
    assert (folder / "rows").exists()
    with scratch():
        assert not folder.exists()


@pytest.mark.parametrize("number", ENDING)
def test_a_handler_that_returns_lets_a_release_go_on(parent, number, request, monkeypatch):
    received, kept = [], []
    before = signal.signal(number, lambda number, frame: received.append(number))
    request.addfinalizer(lambda: signal.signal(number, before))

    class Signalled(Parts):
        """The signal comes while the rows are read into the folder."""

        def __init__(self, folder, schema):
            super().__init__(folder, schema)
            signal.raise_signal(number)
            kept.append(folder.exists())

    monkeypatch.setattr("margin.data.rows_per_person.Parts", Signalled)
    made = margin.release(
        {"id": [0, 0, 1], "a": [0, 1, 1]},
        domain={"a": 2},
        budget=margin.PureDP(1),
        unit="id",
        rows_per_person=2,
    )
    assert made.marginal("a").counts.shape == (2,)
    assert set(received) == {number} and set(kept) == {True} and not os.listdir(parent)


@pytest.mark.parametrize("number", ENDING)
def test_who_ignores_a_signal_goes_on(parent, number):
    before = f"signal.signal({int(number)}, signal.SIG_IGN)"
    process, folder = child(parent, before=before, then="print(input())")
    process.send_signal(number)
    assert (folder / "rows").exists()
    assert ended(process, None) == 0
    assert not os.listdir(parent)


def test_what_is_left_open_is_removed_at_exit(parent):
    process, _ = child(parent, then="sys.exit(0)")
    assert ended(process, None) == 0 and not os.listdir(parent)
    code = (
        "from margin.data.scratch import scratch; "
        "open_ = scratch(); print(open_.__enter__(), flush=True)"
    )
    subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, "TMPDIR": str(parent)}, check=True
    )
    assert not os.listdir(parent)


@pytest.mark.slow
@pytest.mark.parametrize("following", ["folder", "release"])
def test_what_sigkill_leaves_the_next_one_removes(parent, following):
    living, used = child(parent)
    killed, left = child(parent)
    ended(killed, signal.SIGKILL)
    assert (left / "rows").exists()
    (parent / "margin-1-mine").mkdir()  # a folder of the user's own, with a similar name
    (parent / "margin-1-mine" / "letter").write_text("x")
    if following == "folder":
        with scratch():
            assert not left.exists()
    else:
        margin.release({"a": [0]}, domain={"a": 2}, budget=margin.PureDP(1))
    assert (
        not left.exists()
        and (used / "rows").exists()
        and (parent / "margin-1-mine" / "letter").exists()
    )
    ended(living, signal.SIGTERM)


STEPS = ["mkdtemp", "Path.open", "Path.rename", "os.listdir", "Path.unlink", "os.rmdir"]
"""What making and removing a folder does. Some steps occur several times."""


@pytest.mark.slow
@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("occurrence", [0, 1, 2])
@pytest.mark.parametrize("step", STEPS)
def test_a_process_that_is_killed_at_any_step_leaves_nothing(parent, step, occurrence, after):
    """The process kills itself before or after each step; the next folder finds what it left."""
    code = f"""
import os, pathlib, signal, tempfile
from margin.data.scratch import scratch
owner, name = {{
    "mkdtemp": (tempfile, "mkdtemp"),
    "os.listdir": (os, "listdir"),
    "os.rmdir": (os, "rmdir"),
    "Path.open": (pathlib.Path, "open"),
    "Path.rename": (pathlib.Path, "rename"),
    "Path.unlink": (pathlib.Path, "unlink"),
}}[{step!r}]
true = getattr(owner, name)
times = 0

def killing(*args, **kwargs):
    global times
    times += 1
    if times > {occurrence} and not {after}:
        os.kill(os.getpid(), signal.SIGKILL)
    result = true(*args, **kwargs)
    if times > {occurrence}:
        os.kill(os.getpid(), signal.SIGKILL)
    return result

setattr(owner, name, killing)
with scratch() as folder:
    (folder / "rows").touch()
    (folder / "more").mkdir()
    (folder / "more" / "rows").touch()
"""
    env = {**os.environ, "TMPDIR": str(parent)}
    subprocess.run([sys.executable, "-c", code], env=env, check=False)
    with scratch() as folder:
        assert os.listdir(parent) == [folder.name]
    assert not os.listdir(parent)


@pytest.mark.parametrize("left", [None, "lock.new"])
@pytest.mark.parametrize("name", ["margin-12-letters", "margin-12-ABCDEFGH", "margin-x-abcdefgh"])
def test_an_empty_folder_with_another_name_is_left_alone(parent, name, left):
    (parent / name).mkdir()
    if left is not None:
        (parent / name / left).touch()
    with scratch():
        assert (parent / name).exists()


@pytest.mark.parametrize("step", ["open", "rename"])
def test_a_folder_that_is_removed_while_it_is_made_is_made_anew(parent, step, monkeypatch):
    """Another process may take a folder that is not locked yet for one that was left."""
    true = getattr(Path, step)
    lost = []

    def late(path, *args, **kwargs):
        if path.name == "lock.new" and not lost:
            lost.append(path.parent)
            shutil.rmtree(path.parent)
        return true(path, *args, **kwargs)

    monkeypatch.setattr(Path, step, late)
    with scratch() as folder:
        assert folder.exists() and lost != [folder] and (folder / "lock").exists()
    assert len(lost) == 1 and not os.listdir(parent)


def test_a_forked_process_leaves_its_parents_folder(parent):
    process, folder = child(
        parent,
        then="pid = os.fork()\n    if not pid: sys.exit(0)\n    os.waitpid(pid, 0)\n"
        "    print(len(os.listdir(folder)))",
    )
    assert process.stdout.readline().strip() == "2", "its lock, and the rows"
    ended(process, None)
    assert not folder.exists()


def test_another_thread_may_have_one_too(parent):
    before = signal.getsignal(signal.SIGTERM)
    found = []

    def work():
        with scratch() as folder:
            found.append(folder.exists())

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert found == [True] and not os.listdir(parent) and signal.getsignal(signal.SIGTERM) is before


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_temporary_folder_with_quotes_in_its_name_does_no_harm(parent):
    assert quoted("it's") == "'it''s'"
    table = {"id": ["x", "y", "y"], "a": [0, 1, 1]}
    for data in (table, margin.Sql("SELECT 'x' AS id, 1 AS a")):
        synopsis = margin.release(
            data, domain={"a": 2}, budget=margin.PureDP(1), unit="id", rows_per_person=1
        )
        assert synopsis.marginal(["a"]).counts.shape == (2,)
    assert not os.listdir(parent)


@pytest.mark.parametrize("kind", ["missing", "file"])
def test_a_wrong_temporary_folder_is_refused_before_anything_is_charged(
    tmp_path, monkeypatch, kind
):
    named = tmp_path / "tmp"
    if kind == "file":
        named.touch()
    monkeypatch.setenv("TMPDIR", str(named))
    ledger = margin.Ledger(tmp_path / "l.db")
    ledger.register("d", margin.PureDP(1))
    with pytest.raises(margin.FileError, match="TMPDIR must name a folder"):
        margin.release(
            {"a": [0, 1]}, domain={"a": 2}, budget=margin.PureDP(1), ledger=ledger.dataset("d")
        )
    assert ledger.spent("d") == 0
