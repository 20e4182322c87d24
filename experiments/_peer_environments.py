"""Environments of pinned packages, one for each set that goes together, and scripts that run in them."""

import importlib.metadata
import json
import os
import re
import subprocess
import sys
import venv
from pathlib import Path
from typing import Any

PINS: dict[str, tuple[str, ...]] = {
    "mbi": ("mbi==2.0.0",),
    "opendp": ("opendp[polars]==0.16.0", "mbi==1.1.0", "polars==1.36.1"),
}
"""OpenDP 0.16 needs mbi 1.1, so that the two cannot be in one environment."""

SCRIPTS = Path(__file__).with_name("peer_scripts")

_SETTINGS = {
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false",
    "JAX_ENABLE_X64": "true",
    "JAX_ENABLE_COMPILATION_CACHE": "false",
    "PYTHONWARNINGS": "ignore",
}


def interpreter(name: str, *, build: bool) -> str | None:
    """The Python of an environment, built if need be; without building, this one if it has what is pinned, or None.

    Environments are kept in the folder that MARGIN_PEERS names, else in the user's cache.
    """
    if not build:
        return sys.executable if all(map(_is_here, PINS[name])) else None
    base = os.environ.get("MARGIN_PEERS")
    home = Path(base) if base else Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "margin-peers"
    python = home / name / "bin" / "python"
    done = home / name / "pins.txt"
    if not done.exists() or done.read_text() != "\n".join(PINS[name]):
        print(f"building the environment {name} in {home}: {', '.join(PINS[name])}", file=sys.stderr)
        venv.create(home / name, with_pip=True, clear=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", *PINS[name]], check=True)
        done.write_text("\n".join(PINS[name]))
    return str(python)


def ask(python: str, script: str, folder: Path, *, limit: float | None) -> dict[str, Any]:
    """What a script says of the task in a folder; with a note if it was stopped, or ended early, with part of it.

    Raises
    ------
    RuntimeError
        When it failed before it had anything to say.
    """
    result, note = folder / "result.json", ""
    try:
        made = subprocess.run(
            [python, SCRIPTS / f"{script}.py", folder],
            timeout=limit,
            env=os.environ | _SETTINGS,
            stderr=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            text=True,
        )
        if made.returncode:
            note = _reason(made.stderr) or f"ended by signal {-made.returncode}"
    except subprocess.TimeoutExpired:
        note = f"stopped after {limit:.0f} s"
    said: dict[str, Any] = json.loads(result.read_text()) if result.exists() else {}
    if note and not said and not note.startswith("stopped"):
        raise RuntimeError(note)
    return said | ({"ended": note} if note else {})


def _reason(errors: str) -> str:
    """The exception of a traceback, also one of many lines."""
    said = errors.strip().splitlines()
    starts = [place for place, line in enumerate(said) if re.match(r"[\w.]*(Error|Exception)\b", line)]
    return " ".join(" ".join(said[starts[-1] if starts else -1 :]).split())[:200]


def _is_here(pin: str) -> bool:
    package, _, version = pin.partition("==")
    try:
        return importlib.metadata.version(package.partition("[")[0]) == version
    except importlib.metadata.PackageNotFoundError:
        return False
