"""The mechanisms, one class a file."""

from .priview import PriView

__all__ = ["PriView"]
