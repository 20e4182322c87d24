"""Keeping the linear algebra libraries to one thread where their threads only wait for each other."""

from contextlib import AbstractContextManager
from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController


def single_thread() -> AbstractContextManager[Any]:
    """One thread inside: on small matrices a busy machine's threads wait for each other thirty times longer than they
    work."""
    limited: AbstractContextManager[Any] = _libraries().limit(limits=1)
    return limited


@cache
def _libraries() -> ThreadpoolController:
    """The libraries that this process has loaded, looked up once."""
    return ThreadpoolController()
