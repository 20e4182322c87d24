"""What each key of a sweep was measured with: code, versions, machine, date and processor seconds.

`sweep` writes one line for each key to NAME.manifest.csv, beside its rows in NAME.csv. `summary`
adds these lines up for a page.
"""

import datetime
import importlib.metadata
import os
import platform
import subprocess
import time
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

from margin.solvers.bench.running.machine import memory, processor

LIBRARIES = ("numpy", "scipy", "numba", "cvxpy", "highspy", "pulp", "osqp", "matplotlib")
"""The libraries whose versions may change a result, or a time."""
SEPARATOR = "; "


def manifest_path(rows: Path) -> Path:
    """The manifest beside a file of rows."""
    return rows.with_name(f"{rows.stem}.manifest.csv")


def cpu_seconds() -> float:
    """Processor seconds of this process so far, including child processes that have ended."""
    now = os.times()
    return time.process_time() + now.children_user + now.children_system


def entry(key: dict[str, Any], seconds: float | None) -> dict[str, Any]:
    """The line of a key; `seconds` is None if its process was stopped."""
    return {
        "key": ", ".join(f"{name} {value}" for name, value in key.items()),
        "cpu_seconds": "" if seconds is None else f"{seconds:.3f}",
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        **environment(),
    }


@cache
def environment() -> dict[str, str]:
    """The commit, the versions and the machine, as short texts."""
    return {
        "commit": _commit(),
        "margin": _version("margin"),
        "python": platform.python_version(),
        "libraries": SEPARATOR.join(f"{name} {_version(name)}" for name in LIBRARIES),
        "machine": SEPARATOR.join([processor(), f"{os.cpu_count()} cores", f"{memory()} GB"]),
    }


def summary(entries: Iterable[dict[str, str]]) -> dict[str, Any]:
    """What the lines of one or more manifests have in common, and their seconds together.

    A key that was measured several times counts with its last line. Where lines differ, all values
    are listed, and `dates` has the first and the last day. `untimed` counts the keys whose seconds
    are not known, as those whose process was stopped; without any, `cpu_seconds` is None.
    """
    last = {line["key"]: line for line in entries}
    dates = sorted({line["date"] for line in last.values()})
    found: dict[str, Any] = {
        name: sorted({line[name] for line in last.values()})
        for name in ("commit", "margin", "python", "libraries", "machine")
    }
    measured = [float(line["cpu_seconds"]) for line in last.values() if line["cpu_seconds"]]
    return found | {
        "dates": [dates[0], dates[-1]] if dates else [],
        "keys": len(last),
        "untimed": len(last) - len(measured),
        "cpu_seconds": round(sum(measured), 1) if measured else None,
    }


def _commit() -> str:
    """The commit of the source, with "+" if files that git knows have been changed since."""
    folder = Path(__file__).parent

    def git(*command: str) -> str:
        done = subprocess.run(["git", *command], cwd=folder, capture_output=True, text=True)
        return done.stdout.strip() if done.returncode == 0 else ""

    try:
        commit = git("rev-parse", "--short=12", "HEAD")
        changed = git("status", "--porcelain", "--untracked-files=no")
    except OSError:  # there is no git
        return "unknown"
    return f"{commit}{'+' if changed else ''}" if commit else "unknown"


def _version(name: str) -> str:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return "missing"
