"""Python environments of pinned packages, and the scripts that run in them."""

import importlib.metadata
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import venv
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from experiments.tools import study

PINS: dict[str, tuple[str, ...]] = {
    "mbi": ("mbi==2.0.0",),
    "smartnoise": ("smartnoise-synth==1.0.8",),
    "opendp": ("opendp[polars]==0.16.0", "mbi==1.1.0", "polars==1.36.1"),
}
"""OpenDP 0.16 needs mbi 1.1, so that the two cannot be in one environment."""

SCRIPTS = Path(__file__).with_name("scripts")

_SETTINGS = {
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false",
    "JAX_ENABLE_X64": "true",
    "JAX_ENABLE_COMPILATION_CACHE": "false",
    "PYTHONWARNINGS": "ignore",
}


CLOCK = 5.0
"""Largest ratio of wall time to CPU time of a script, since other programs may run too."""

_BUILD_LIMIT = 1800.0
"""Seconds for the packages of an environment to come."""


def prepare(names: Iterable[str]) -> dict[str, str]:
    """Build environments where they are missing. Returns, by name, why one could not be built.

    If nothing is measured (`--report`), none is built.
    """
    if not study.measuring:
        return {}
    failed = {}
    for name in dict.fromkeys(names):
        try:
            interpreter(name, build=True)
        except RuntimeError as error:
            failed[name] = str(error)
            print(error, file=sys.stderr)
    return failed


def interpreter(name: str, *, build: bool) -> str | None:
    """The Python of an environment, built if need be; without building, this one if it has what is
    pinned, or None.

    Environments are kept in the folder that MARGIN_PEERS names, else in the user's cache.

    Raises
    ------
    RuntimeError
        When it could not be built, with the reason in one line. Nothing half built is left behind.
    """
    if not build:
        return sys.executable if all(map(_is_here, PINS[name])) else None
    base = os.environ.get("MARGIN_PEERS")
    home = (
        Path(base)
        if base
        else Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "margin-peers"
    )
    if not _is_built(home / name, PINS[name]):
        print(
            f"building the environment {name} in {home}: {', '.join(PINS[name])}", file=sys.stderr
        )
        try:
            _build(home / name, PINS[name])
        except (OSError, subprocess.SubprocessError) as error:
            raise RuntimeError(f"the environment {name} was not built: {_cause(error)}") from None
    return str(_python(home / name))


def _python(environment: Path) -> Path:
    return environment / "bin" / "python"


def _is_built(environment: Path, pins: tuple[str, ...]) -> bool:
    """Whether an environment holds these packages and its Python still exists."""
    listed = environment / "pins.txt"
    return (
        listed.exists() and listed.read_text() == "\n".join(pins) and _python(environment).exists()
    )


def _build(environment: Path, pins: tuple[str, ...]) -> None:
    """Build an environment in a temporary folder and move it to its place when it is complete.

    An interrupted build, or two builds at the same time, do no harm.
    """
    environment.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(
        dir=environment.parent, prefix=f".{environment.name}-"
    ) as folder:
        fresh = Path(folder) / "new"
        venv.create(fresh, with_pip=True)
        subprocess.run(
            [_python(fresh), "-m", "pip", "install", "--quiet", *pins],
            check=True,
            timeout=_BUILD_LIMIT,
            capture_output=True,
            text=True,
            env=_outside(),
        )
        (fresh / "pins.txt").write_text("\n".join(pins))
        if environment.exists():
            environment.rename(Path(folder) / "old")
        fresh.rename(environment)


def _cause(error: Exception) -> str:
    """The error that pip reported, or the exception itself, in one line."""
    output = getattr(error, "stderr", None) or getattr(error, "output", None) or ""
    text = output.decode(errors="replace") if isinstance(output, bytes) else output
    said = [line for line in text.splitlines() if line.startswith("ERROR: ")] or text.split("\n")[
        -2:
    ]
    return " ".join(" ".join(said).split())[:300] or str(error)


def _outside() -> dict[str, str]:
    """The variables of this process without those that would bring its packages into another
    environment.
    """
    return {
        name: value
        for name, value in os.environ.items()
        if name not in ("PYTHONPATH", "PYTHONHOME")
    }


def ask(python: str, script: str, folder: Path, *, limit: float | None) -> dict[str, Any]:
    """Run a script on the task in a folder and return its result.

    If the script was stopped or ended early, the result is partial and has a note.

    The script stops itself after `limit` seconds of the processor; one that hangs is stopped by the
    clock.

    Raises
    ------
    RuntimeError
        When it failed before it had anything to say.
    """
    result, note, stopped = folder / "result.json", "", ""
    try:
        made = subprocess.run(
            [python, SCRIPTS / f"{script}.py", folder],
            timeout=None if limit is None else CLOCK * limit,
            env=_outside() | _SETTINGS,
            stderr=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            text=True,
        )
        if made.returncode == -signal.SIGXCPU:
            stopped = f"stopped after {limit:.0f} CPU s"
        elif made.returncode:
            note = _reason(made.stderr) or f"ended by signal {-made.returncode}"
    except subprocess.TimeoutExpired as late:
        stopped = f"stopped after {late.timeout:.0f} s by the clock"
    said: dict[str, Any] = json.loads(result.read_text()) if result.exists() else {}
    if note and not said:
        raise RuntimeError(note)
    return said | ({"ended": note or stopped} if note or stopped else {})


def _reason(errors: str) -> str:
    """The exception at the end of a traceback, possibly of several lines."""
    said = errors.strip().splitlines()
    starts = [
        place for place, line in enumerate(said) if re.match(r"[\w.]*(Error|Exception)\b", line)
    ]
    return " ".join(" ".join(said[starts[-1] if starts else -1 :]).split())[:200]


def _is_here(pin: str) -> bool:
    package, _, version = pin.partition("==")
    try:
        return importlib.metadata.version(package.partition("[")[0]) == version
    except importlib.metadata.PackageNotFoundError:
        return False
