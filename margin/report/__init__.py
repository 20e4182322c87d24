"""Web pages that show a release: its marginals, its noise and its privacy guarantee."""

from ..publication.imprint import Imprint
from .explore import explore
from .page import write_report
from .signing import sign_page, verify_page

__all__ = ["Imprint", "explore", "sign_page", "verify_page", "write_report"]
