"""While the library works: what Ctrl-C and SIGTERM do, and how far the reading of a table is."""

from .watch import Watch, at_the_end, check, interruptible, shielded, watched

__all__ = ["Watch", "at_the_end", "check", "interruptible", "shielded", "watched"]
