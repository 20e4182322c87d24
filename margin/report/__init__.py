"""Web pages that show a release: its marginals, its noise and its privacy guarantee."""

from .explore import explore
from .imprint import Imprint
from .page import write_report

__all__ = ["Imprint", "explore", "write_report"]
