"""Files of publishers, from the user's own folder, from a cache, or by download. Each is
checked."""

import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ..errors import FileError

_TIMEOUT = 60.0
"""Seconds without an answer after which a download fails."""

_BLOCK = 1 << 20
"""Number of bytes that are downloaded together."""


@dataclass(
    frozen=True,
    kw_only=True,
)
class Remote:
    """A published file that can be downloaded.

    Attributes
    ----------
    name
        The name of the file in the cache.
    urls
        The addresses of the file, the publisher's first.
    sha256
        The SHA-256 checksum of the file. None if no checksum is known. The first download is then
        accepted if its table has the published structure, and the cache remembers its checksum.
    """

    name: str
    urls: Sequence[str]
    sha256: str | None = None

    def fetch(self, *, download: bool) -> Path:
        """Find the file in the cache, or download it; return its path. It is downloaded only if it
        is not there and `download` is true.

        Raises
        ------
        FileError
            When the file is not in the cache and cannot or must not be downloaded, or when it has
            another checksum than expected.
        """
        path = cache() / self.name
        if not path.exists():
            if not download:
                raise FileError(
                    f"{self.name} must be in {path.parent}, but it is not there; allow the "
                    "download with download=True, or put the file there"
                )
            self._download(path)
        _check(path, self.sha256 or _remembered(path))
        return path

    def remember(self, path: Path) -> None:
        """Store the checksum of a file whose table is right, so that a later change is noticed."""
        note = path.with_name(path.name + ".sha256")
        if self.sha256 is None and not note.exists():
            note.write_text(digest(path) + "\n")

    def _download(self, path: Path) -> None:
        """Download the file from the first address that has it."""
        import urllib.error
        import urllib.request

        path.parent.mkdir(
            parents=True,
            exist_ok=True,
        )
        part = path.with_name(f"{path.name}.{os.getpid()}.part")
        reasons = []
        for url in self.urls:
            try:
                opened = urllib.request.urlopen(url, timeout=_TIMEOUT)
                with opened as answer, part.open("wb") as file:
                    while block := answer.read(_BLOCK):
                        file.write(block)
                _check(part, self.sha256)
                part.replace(path)
                return
            except (OSError, FileError) as error:
                # urllib's errors are OSErrors. The next address may work.
                reasons.append(f"{url}: {getattr(error, 'reason', error)}")
            finally:
                part.unlink(missing_ok=True)
        raise FileError(
            f"{self.name} must be downloaded, but no address gave it: {'; '.join(reasons)}; "
            f"download it by hand and put it into {path.parent}"
        )


def cache() -> Path:
    """The folder of downloaded files: the environment variable MARGIN_CACHE, or the folder "margin"
    in the user's cache folder."""
    named = os.environ.get("MARGIN_CACHE")
    if named:
        return Path(named)
    users = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(users) / "margin"


def own(name: str, sha256: str) -> Path | None:
    """Find a file in the user's own folder, which the environment variable MARGIN_DATA names; None
    if it is not there.

    Raises
    ------
    FileError
        When the file has another checksum than expected.
    """
    folder = os.environ.get("MARGIN_DATA")
    path = Path(folder) / name if folder else None
    if path is None or not path.exists():
        return None
    _check(path, sha256)
    return path


def digest(path: Path) -> str:
    """The SHA-256 checksum of a file, in hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _remembered(path: Path) -> str | None:
    """The checksum that was stored for a file; None if there is none."""
    note = path.with_name(path.name + ".sha256")
    return note.read_text().strip() if note.exists() else None


def _check(path: Path, sha256: str | None) -> None:
    """Raise FileError if a file has another checksum than expected; None accepts any."""
    if sha256 is None:
        return
    found = digest(path)
    if found != sha256:
        raise FileError(
            f"{path} must have the sha256 {sha256}, but has {found}; delete it and fetch it again"
        )
