"""While the library works: what Ctrl-C, SIGTERM and SIGHUP do, and how far the reading of a table
is."""

from .._ending import ENDING
from .watch import (
    Watch,
    at_the_end,
    check,
    handlers_kept,
    interruptible,
    shielded,
    watched,
)

__all__ = [
    "ENDING",
    "Watch",
    "at_the_end",
    "check",
    "handlers_kept",
    "interruptible",
    "shielded",
    "watched",
]
