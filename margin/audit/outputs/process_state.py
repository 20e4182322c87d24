"""What a run leaves in its process: the environment, settings, and variables of its modules."""

import builtins
import contextlib
import os
import sys
import threading
from collections.abc import Generator, Mapping
from typing import Any

import numpy as np

from ..violation import Violation
from .digest import Digest, digest_of

__all__ = ["state_around", "watched_environment"]

# Types of the variables that are compared.
_PLAIN = (bool, int, float, complex, str, bytes, list, dict, set, tuple, np.ndarray)

# Largest number of items of a variable that is compared.
_FEW = 1000


@contextlib.contextmanager
def watched_environment() -> Generator[list[Any]]:
    """Record changes of environment variables, of the thread's name and of the working folder.

    The list is filled when the context ends. The name and the folder are then restored.
    """
    changed: list[Any] = []
    before, folder, thread = dict(os.environ), os.getcwd(), threading.current_thread().name
    try:
        yield changed
    finally:
        after = dict(os.environ)
        names = [name for name in {*before, *after} if before.get(name) != after.get(name)]
        changed += [(name, after.get(name)) for name in sorted(names)]
        if threading.current_thread().name != thread:
            changed.append(("thread", threading.current_thread().name))
            threading.current_thread().name = thread
        if os.getcwd() != folder:
            changed.append(os.getcwd())
            os.chdir(folder)


def state_around(mechanism: object) -> dict[str, Digest]:
    """Digests of the settings of the process, and of the plain variables of a mechanism's classes
    and of the modules that define them."""
    found = {name: digest_of(value) for name, value in _settings().items()}
    for kind in type(mechanism).__mro__[:-1]:
        module = sys.modules.get(kind.__module__)
        _add_plain(found, kind.__qualname__, vars(kind))
        _add_plain(found, kind.__module__, vars(module) if module else {})
    return found


def _add_plain(
    found: dict[str, Digest],
    place: str,
    variables: Mapping[str, Any],
) -> None:
    """Add the digests of the plain variables of a class or a module that are not there yet."""
    for name, value in list(variables.items()):
        full = f"{place}.{name}"
        if name.startswith("__") or full in found or not _is_plain(value):
            continue
        # A variable that cannot be looked into is not compared.
        with contextlib.suppress(Violation):
            found[full] = digest_of(value)


def _is_plain(value: object) -> bool:
    """True for a plain value, and for a container of few plain values: a number could be stored
    there."""
    if type(value) not in _PLAIN:
        return False
    if not isinstance(value, list | set | tuple | dict):
        return True
    items = [*value, *value.values()] if isinstance(value, dict) else [*value]
    nested = any(isinstance(item, list | set | tuple | dict) or callable(item) for item in items)
    return len(items) <= _FEW and not nested


def _settings() -> dict[str, object]:
    """Settings of the process that a run could change."""
    mask = os.umask(0o77)
    os.umask(mask)
    return {
        "umask": mask,
        "arguments": list(sys.argv),
        "path": list(sys.path),
        "recursion": sys.getrecursionlimit(),
        "numpy errors": np.geterr(),
        "numpy printing": repr(np.get_printoptions()),
        "builtins": " ".join(sorted(map(repr, vars(builtins)))),
    }
