"""Two commands that write to one name: neither loses what it has paid for."""

import json
import multiprocessing
import os
import signal
import subprocess
import sys

import pytest

import margin
from margin._replace import replacing
from margin.cli.claims import abandoned, claimed
from margin.cli.main import main
from margin.errors import FileError
from margin.mechanisms import Flat

RELEASE = ["release", "t.csv", "--domain", "d.json", "--epsilon", "1"]
PAID = ["--ledger", "l.db", "--dataset", "p"]
OWN = """
import pathlib
from margin.mechanisms import Flat

class Waiting:
    def run(self, private, workload, /):
        made = Flat().run(private, workload)
        pathlib.Path("at work").write_text("")  # a pipe: waits for its reader
        pathlib.Path("go on").read_text()
        return made
"""

posix = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs locks and pipes with names")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "t.csv").write_text("a\n0\n1\n")
    (tmp_path / "d.json").write_text('{"a": 2}')
    (tmp_path / "own.py").write_text(OWN)
    monkeypatch.chdir(tmp_path)
    margin.Ledger("l.db").register("p", margin.PureDP(9))
    return tmp_path


def claims(folder):
    return [path.name for path in folder.iterdir() if path.name.startswith(".margin-")]


@pytest.mark.slow
@posix
@pytest.mark.parametrize("ends", [True, False], ids=["ended", "killed"])
def test_of_two_releases_to_one_name_the_second_is_refused_unpaid(ends, folder, capsys):
    os.mkfifo("at work")
    os.mkfifo("go on")
    line = [*RELEASE, *PAID, "-o", "x.margin"]
    own = ["--mechanism", "own.py:Waiting"]
    begin = [sys.executable, "-m", "margin", *line, *own]
    first = subprocess.Popen(begin, stdout=subprocess.DEVNULL)
    with open("at work") as pipe:
        pipe.read()
    for more in ([], ["--force"]):
        assert main([*line, *more]) == 75
        assert "another command is writing 'x.margin'" in capsys.readouterr().err
    assert len(margin.Ledger("l.db").charged("p")) == 1
    assert main([*line[:-1], "y.margin"]) == 0
    if ends:
        with open("go on", "w") as pipe:
            pipe.write("go on")
        assert first.wait(60) == 0 and not claims(folder)
        assert margin.load("x.margin").provenance.token.sequence == 2
        assert main(line) == 2 and "exists already" in capsys.readouterr().err
    else:
        first.send_signal(signal.SIGKILL)
        first.wait(60)
        # Its reserved room is left as a temporary file; its claim is taken over.
        (room,) = folder.glob(".margin-*.part")
        assert len(claims(folder)) == 2
        assert main(line) == 0 and claims(folder) == [room.name]
        assert len(margin.Ledger("l.db").charged("p")) == 3 and os.path.exists("x.margin")


@pytest.mark.parametrize("has_links", [True, False])
@pytest.mark.parametrize("force", [True, False])
def test_a_paid_release_replaces_no_file_that_another_program_made(
    has_links, force, folder, capsys, monkeypatch
):
    def unsupported(*_):
        raise PermissionError

    if not has_links:
        monkeypatch.setattr(os, "link", unsupported)
    run = Flat.run

    def meanwhile(*arguments):
        (folder / "x.margin").write_text("mine")
        return run(*arguments)

    monkeypatch.setattr(Flat, "run", meanwhile)
    (folder / "x-2.margin").write_text("mine, too")
    line = [*RELEASE, *PAID, "--mechanism", "Flat", "-o", "x.margin"]
    assert main([*line, "--force"] if force else line) == 0
    out, err = capsys.readouterr()
    name = "x.margin" if force else "x-3.margin"
    assert out.startswith(f"{name}: ") and bool(err) != force
    assert force or "another program made 'x.margin' meanwhile" in err
    assert margin.load(name).provenance.token.sequence == 2
    assert force or (folder / "x.margin").read_text() == "mine"
    assert (folder / "x-2.margin").read_text() == "mine, too"
    assert not claims(folder)


@pytest.mark.parametrize("has_links", [True, False])
def test_a_new_file_replaces_none(has_links, tmp_path, monkeypatch):
    def unsupported(*_):
        raise PermissionError

    if not has_links:
        monkeypatch.setattr(os, "link", unsupported)
    path = tmp_path / "x"
    with replacing(path, only_new=True) as file:
        file.write(b"first")
    refused = pytest.raises(FileError, match="it exists already")
    with refused, replacing(path, only_new=True) as file:
        file.write(b"second")
    assert path.read_bytes() == b"first" and os.listdir(tmp_path) == ["x"]


def contend(path, rounds):
    """Claim a name again and again; two processes that hold it at once fail."""
    for _ in range(rounds):
        try:
            with claimed(path):
                marker = os.open(f"{path}.held", os.O_CREAT | os.O_EXCL)
                os.close(marker)
                os.unlink(f"{path}.held")
        except FileError:
            continue


@pytest.mark.slow
@posix
def test_two_processes_never_hold_one_claim(tmp_path):
    path = tmp_path / "x.margin"
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=contend, args=(path, 2000)) for _ in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert [worker.exitcode for worker in workers] == [0, 0, 0]
    assert not list(tmp_path.iterdir())


def test_a_folder_that_cannot_be_written_is_told_by_its_check(folder, capsys):
    assert main([*RELEASE, "-o", "x.margin"]) == 0
    publish = ["publish", "x.margin", "--tables", "a"]
    for command, name in ((RELEASE, "x.margin"), (publish, "week=2026-W47")):
        capsys.readouterr()
        assert main([*command, "-o", f"no where/{name}"]) == 2
        told = capsys.readouterr().err
        assert f"the folder of 'no where/{name}' must exist" in told
        assert "(mkdir -p 'no where')" in told


def test_a_disk_without_room_is_told_before_the_charge(folder, capsys, monkeypatch):
    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("margin.cli.claims.reserving", full)
    assert main([*RELEASE, *PAID, "-o", "x.margin"]) == 2
    assert capsys.readouterr().err.endswith(
        "'x.margin' cannot be written (No space left on device); 1 MB of room is needed: free some "
        "space, or choose a folder on another disk\n"
    )
    assert not margin.Ledger("l.db").charged("p")


@pytest.mark.parametrize("is_deleted", [False, True])
def test_the_room_for_a_release_is_reserved_before_the_charge_and_overwritten(
    is_deleted, folder, capsys, monkeypatch
):
    run = Flat.run
    reserved = []

    def meanwhile(*arguments):
        (part,) = folder.glob(".margin-*.part")
        reserved.append(part.stat())
        # A monitor does not take it for what a killed command left.
        check = [sys.executable, "-m", "margin", "ledger", "check", "l.db", "--releases", "."]
        told = subprocess.run([*check, "--json"], capture_output=True, check=True).stdout
        assert os.name != "posix" or json.loads(told)["leftovers"] == []
        if is_deleted:
            part.unlink()
        return run(*arguments)

    monkeypatch.setattr(Flat, "run", meanwhile)
    assert main([*RELEASE, *PAID, "--mechanism", "Flat", "-o", "x.margin"]) == 0
    (room,) = reserved
    written = (folder / "x.margin").stat()
    assert room.st_size == 1 << 20 and written.st_size < 10_000
    # The same file was overwritten, so that its room was never free.
    assert (room.st_ino == written.st_ino) != is_deleted
    assert margin.load("x.margin").provenance.token.sequence == 2 and not claims(folder)
    # A release that fails leaves nothing.
    assert main([*RELEASE, *PAID, "--epsilon", "99", "-o", "y.margin"]) == 3 and not claims(folder)


@posix
def test_a_claim_is_listed_only_if_nobody_holds_it_and_stays(tmp_path):
    old = tmp_path / "sub" / ".margin-0.claim"
    old.parent.mkdir()
    old.touch()
    with claimed(tmp_path / "x.margin"):
        assert abandoned(tmp_path) == [old]
        with pytest.raises(margin.FileError), claimed(tmp_path / "x.margin"):
            pass
    assert abandoned(tmp_path) == [old] and old.exists()
