"""The report: one self-contained page that shows what was released, under which guarantee, and any
marginal of it."""

from .explore import explore
from .page import write_report

__all__ = ["explore", "write_report"]
