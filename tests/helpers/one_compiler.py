"""One process at a time compiles the loops of a folder; the others wait, and load what it made.

In a new environment each worker would otherwise compile the loops that it needs first, and several
of them the same ones: minutes of processor time for each.
"""

import contextlib
import os
import sys
from collections.abc import Iterator
from typing import Any

from numba.core.compiler_lock import global_compiler_lock
from numba.core.dispatcher import Dispatcher

if sys.platform != "win32":
    import fcntl

__all__ = ["begin"]


def begin() -> None:
    """Let every compilation of this process wait for those of others."""
    compile_ = Dispatcher.compile
    held: set[str] = set()

    def compile_alone(self: Any, signature: Any) -> Any:
        folder = self._cache.cache_path
        # The lock of numba comes first: one thread at a time takes the locks of folders. A loop
        # calls loops of its folder or of one that knows nothing of it, so no two processes wait for
        # each other.
        with global_compiler_lock, _locked(folder, held):
            return compile_(self, signature)

    if sys.platform != "win32":
        Dispatcher.compile = compile_alone


@contextlib.contextmanager
def _locked(folder: str | None, held: set[str]) -> Iterator[None]:
    """Lock a folder of machine code, unless this process holds it already, or nothing is kept."""
    if folder is None or folder in held:
        yield
        return
    opened = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(opened, fcntl.LOCK_EX)
        held.add(folder)
        try:
            yield
        finally:
            held.remove(folder)
    finally:
        os.close(opened)
