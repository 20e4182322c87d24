"""The forms of a synopsis, one file each."""

from .view import ViewSynopsis

__all__ = ["ViewSynopsis"]
