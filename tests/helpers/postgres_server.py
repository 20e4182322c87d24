"""A PostgreSQL server for tests."""

import os
import shutil
import socket
import subprocess
import tempfile
from contextlib import contextmanager
from pathlib import Path

import pytest


def running():
    """The address of a PostgreSQL server of its own, on loopback."""
    pytest.importorskip(
        "adbc_driver_postgresql", reason="the driver of PostgreSQL is not installed"
    )
    found = [
        *sorted(Path("/usr/lib/postgresql").glob("*/bin")),
        *map(Path, [shutil.which("initdb") or ""]),
    ]
    programs = next((folder for folder in found if (folder / "initdb").exists()), None)
    if programs is None:
        pytest.skip("PostgreSQL is not installed")
    folder = Path(
        tempfile.mkdtemp(prefix="postgres-")
    )  # pytest's own folders are closed to other users
    as_user = []
    if os.geteuid() == 0:  # the server refuses to run as root
        shutil.chown(folder, "postgres")
        as_user = ["runuser", "-u", "postgres", "--"]
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    run = {"check": True, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": folder}
    subprocess.run(
        [
            *as_user,
            programs / "initdb",
            "-D",
            folder / "data",
            "-A",
            "trust",
            "-U",
            "postgres",
            "-N",
        ],
        **run,
    )
    options = f"-h 127.0.0.1 -p {port} -k {folder} -F"
    control = [*as_user, programs / "pg_ctl", "-D", folder / "data", "-w", "-l", folder / "log"]
    subprocess.run([*control, "-o", options, "start"], **run)
    yield f"postgres:host=127.0.0.1 port={port} user=postgres dbname=postgres"
    subprocess.run([*control, "-m", "immediate", "stop"], **run)
    shutil.rmtree(folder)


def ingest(server, table, name="visits"):
    """Write a table of Arrow into the server."""
    with session(server) as cursor:
        cursor.adbc_ingest(name, table, mode="replace")


@contextmanager
def session(server):
    """A cursor; what it did is kept at the end."""
    from adbc_driver_postgresql import dbapi

    address = server.split(":", 1)[1]
    with dbapi.connect(address) as connection, connection.cursor() as cursor:
        yield cursor
        connection.commit()
