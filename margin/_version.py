"""The version of the package, and the commit that it was installed from."""

from pathlib import Path

__all__ = ["__version__", "installed_commit"]

__version__ = "0.1.0"


def installed_commit() -> str | None:
    """The commit that pip installed this package from, if pip recorded it; otherwise None.

    pip records it (PEP 610) if it gets the package from the address of a repository. It records
    none for a folder, which may have changed since, and for a wheel.
    """
    # These take a while to import, and only `margin --version` needs them.
    import json
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        found = distribution("margin")
    except PackageNotFoundError:
        return None
    # Another installation may be recorded than the one that runs.
    if Path(str(found.locate_file("margin/_version.py"))).resolve() != Path(__file__).resolve():
        return None
    origin = json.loads(found.read_text("direct_url.json") or "{}")
    commit = origin.get("vcs_info", {}).get("commit_id")
    return commit if isinstance(commit, str) else None
