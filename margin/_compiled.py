"""The decorator of compiled loops. numba takes a second to import, so only modules of loops import
this one, and those modules are imported only when there is enough work."""

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

__all__ = ["compiled"]

_Function = TypeVar("_Function", bound=Callable[..., Any])


def compiled(function: _Function) -> _Function:
    """Compile a function to machine code with numba.

    The code is kept on disk. Other threads can run while the function runs.
    """
    return cast(
        _Function,
        numba.njit(
            cache=True,
            nogil=True,
        )(function),
    )
