"""Web pages that show a release: its marginals, its noise and its privacy guarantee."""

from .explore import explore
from .page import write_report

__all__ = ["explore", "write_report"]
