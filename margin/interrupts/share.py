"""The share of the rows that has been read, for a display of progress.

The share of a file is that of its bytes, as DuckDB knows it. No number of rows leaves this module:
only the number that a domain *declares* is passed on. Nothing is computed unless somebody listens.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction

__all__ = ["Listener", "declaring", "is_heard", "listening", "tell", "teller", "within"]

Listener = Callable[[float, int | None], None]
"""Called with the share, from 0 to 1, and the declared number of rows, if there is one."""


class _State(threading.local):
    """Who listens in this thread, and to which part of the whole the next shares belong."""

    listener: Listener | None = None
    start: float = 0.0
    stop: float = 1.0
    declared: int | None = None


_state = _State()


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Pass the shares of this thread to a listener, for the length of a `with` block."""
    before, _state.listener = _state.listener, listener
    try:
        yield
    finally:
        _state.listener = before


@contextmanager
def declaring(rows: int | None) -> Iterator[None]:
    """Begin to read a table with a declared number of rows."""
    before = _state.declared, _state.start, _state.stop
    _state.declared, _state.start, _state.stop = rows, 0.0, 1.0
    try:
        yield
    finally:
        _state.declared, _state.start, _state.stop = before


@contextmanager
def within(start: float | Fraction, stop: float | Fraction) -> Iterator[None]:
    """Let the shares in a `with` block be those of a part of the whole, from 0 to 1."""
    before = _state.start, _state.stop
    width = before[1] - before[0]
    _state.start, _state.stop = before[0] + start * width, before[0] + stop * width
    try:
        yield
    finally:
        _state.start, _state.stop = before


def is_heard() -> bool:
    """Whether somebody listens in this thread."""
    return _state.listener is not None


def tell(share: float) -> None:
    """Say that a share of the current part, from 0 to 1, is done."""
    tell_here = teller()
    if tell_here is not None:
        tell_here(share)


def teller() -> Callable[[float], None] | None:
    """`tell` for another thread that works for this one; None if nobody listens in this thread."""
    listener, declared = _state.listener, _state.declared
    start, width = _state.start, _state.stop - _state.start
    if listener is None:
        return None
    return lambda share: listener(start + min(max(share, 0.0), 1.0) * width, declared)
