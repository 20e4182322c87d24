"""Publications: folders of tables that agree exactly, and entries for registries."""

from .folder import publish
from .formats import FORMATS
from .imprint import Imprint
from .registry import registry_entry
from .signing import sign_folder, verify_folder

__all__ = ["FORMATS", "Imprint", "publish", "registry_entry", "sign_folder", "verify_folder"]
