"""Web pages that show a release: its marginals, its noise and its privacy guarantee."""

from ..publication.imprint import Imprint
from .explore import explore
from .page import write_report

__all__ = ["Imprint", "explore", "write_report"]
