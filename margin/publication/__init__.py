"""Publications: folders of tables that agree exactly."""

from .folder import publish
from .formats import FORMATS

__all__ = ["FORMATS", "publish"]
