"""`ViewSynopsis`: its answers, their sums, and its file."""

from .synopsis import ViewSynopsis

__all__ = ["ViewSynopsis"]
