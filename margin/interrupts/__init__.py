"""Interrupts: what Ctrl-C and SIGTERM do while the library works."""

from .watch import Watch, at_the_end, check, interruptible, shielded, watched

__all__ = ["Watch", "at_the_end", "check", "interruptible", "shielded", "watched"]
