"""Publications: folders of tables that agree exactly, and entries for registries."""

from .folder import publish
from .formats import FORMATS
from .registry import registry_entry

__all__ = ["FORMATS", "publish", "registry_entry"]
