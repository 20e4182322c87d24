"""What a run was made with: the machine, the commit, and the versions of libraries."""

import importlib.metadata
import os
import platform
import subprocess
import sys
from functools import cache
from pathlib import Path

__all__ = ["LIBRARIES", "commit", "loaded_versions", "machine", "memory", "processor"]

LIBRARIES = {
    "numpy": "numpy",
    "scipy": "scipy",
    "numba": "numba",
    "cvxpy": "cvxpy",
    "pulp": "PuLP",
    "highspy": "highspy",
    "pyscipopt": "PySCIPOpt",
    "ortools": "ortools",
    "clarabel": "clarabel",
    "scs": "scs",
    "osqp": "osqp",
    "piqp": "piqp",
    "ecos": "ecos",
    "cyipopt": "cyipopt",
    "qpalm": "qpalm",
    "proxsuite": "proxsuite",
    "daqp": "daqp",
    "quadprog": "quadprog",
    "ipfn": "ipfn",
    "mbi": "mbi",
    "jax": "jax",
    "pysat": "python-sat",
    "sklearn": "scikit-learn",
    "torch": "torch",
}
"""The names under which libraries are imported, and those under which they are installed."""


@cache
def machine() -> str:
    """The processor, the number of cores and the memory, in one line."""
    return f"{processor()}; {os.cpu_count()} cores; {memory()} GB; {platform.system()}"


@cache
def commit() -> str:
    """The commit of margin's source, with "+" after changes; empty if it is no checkout."""
    folder = Path(__file__).resolve().parent

    def git(*command: str) -> str:
        done = subprocess.run(
            ["git", *command],
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
        )
        return done.stdout.strip() if done.returncode == 0 else ""

    try:
        found = git("rev-parse", "--short=12", "HEAD")
        changed = git("status", "--porcelain", "--untracked-files=no")
    except OSError:  # there is no git
        return ""
    return f"{found}{'+' if changed else ''}" if found else ""


def loaded_versions(module: str) -> dict[str, str]:
    """The versions of the libraries of `LIBRARIES` that are loaded, and of one more module."""
    top = module.partition(".")[0]
    named = {name: LIBRARIES[name] for name in LIBRARIES if name in sys.modules}
    if top not in ("margin", "__main__", *named):
        named[top] = top
    found = {}
    for package in named.values():
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def processor() -> str:
    """The name of the processor."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:  # only Linux has this file
        return platform.processor() or platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def memory() -> int:
    """The memory of the machine in GB, or 0 where the system does not tell."""
    try:
        size = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError):
        return 0
    return round(size / 1e9)
