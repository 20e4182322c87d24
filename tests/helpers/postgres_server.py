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
    programs = _programs()
    if programs is None:
        pytest.skip("PostgreSQL is not installed")
    folder = Path(
        tempfile.mkdtemp(prefix="postgres-")
    )  # pytest's own folders are closed to other users
    if os.geteuid() == 0:
        shutil.chown(folder, "postgres")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    run = {"check": True, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": folder}
    subprocess.run(
        [
            *_as_user(),
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
    options = f"""
        listen_addresses = '127.0.0.1'
        port = {port}
        unix_socket_directories = '{folder}'
        fsync = off
    """
    with open(folder / "data" / "postgresql.conf", "a") as settings:
        settings.write(options)
    _control(folder, "start")
    yield f"postgres:host=127.0.0.1 port={port} user=postgres dbname=postgres"
    _control(folder, "-m", "immediate", "stop")
    shutil.rmtree(folder)


@contextmanager
def stopped(server):
    """Stop the server as its administrator does, and start it again at the end."""
    folder = Path(socket_of(server))
    _control(folder, "-m", "fast", "stop")
    try:
        yield
    finally:
        _control(folder, "start")


def socket_of(server):
    """The folder of the server's Unix socket, which holds its data, too."""
    with session(server) as cursor:
        cursor.execute("SELECT current_setting('unix_socket_directories')")
        return cursor.fetchone()[0]


def _control(folder, *words):
    """Start or stop the server of a folder, and wait until it has."""
    control = [_programs() / "pg_ctl", "-D", folder / "data", "-w", "-l", folder / "log"]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    subprocess.run([*_as_user(), *control, *words], check=True, cwd=folder, **quiet)


def _as_user():
    """The words before a command of PostgreSQL, which refuses to run as root."""
    return ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []


def _programs():
    """The folder of PostgreSQL's programs; None if it is not installed."""
    found = [
        *sorted(Path("/usr/lib/postgresql").glob("*/bin")),
        *map(Path, [shutil.which("initdb") or ""]),
    ]
    return next((folder for folder in found if (folder / "initdb").exists()), None)


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
