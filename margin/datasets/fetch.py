"""Files from their publishers: a folder of one's own, a cache, or a download, each checked."""

import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ..errors import FileError

_TIMEOUT = 60.0
_BLOCK = 1 << 20


@dataclass(frozen=True, kw_only=True)
class Remote:
    """A file of a publisher.

    Attributes
    ----------
    name
        Of the file in the cache.
    urls
        Where it is to be had, the publisher first.
    sha256
        Of its bytes. None where no checksum is published or known to us from others: then the first
        download is taken if the table that is read from it has the published structure, and the
        cache remembers its checksum.
    """

    name: str
    urls: Sequence[str]
    sha256: str | None = None

    def fetch(self, *, download: bool) -> Path:
        """The file in the cache; downloaded if it is not there and `download` is set.

        Raises
        ------
        FileError
            When it is not there and cannot or must not be downloaded, or its checksum is not the
            expected one.
        """
        path = cache() / self.name
        if not path.exists():
            if not download:
                raise FileError(
                    f"{self.name} is not in {path.parent}; allow the download, or put it there"
                )
            self._download(path)
        _check(path, self.sha256 or _remembered(path))
        return path

    def remember(self, path: Path) -> None:
        """Note the checksum of a file that proved right, so that a later change of it is told."""
        note = path.with_name(path.name + ".sha256")
        if self.sha256 is None and not note.exists():
            note.write_text(digest(path) + "\n")

    def _download(self, path: Path) -> None:
        import urllib.error
        import urllib.request

        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_name(f"{path.name}.{os.getpid()}.part")
        reasons = []
        for url in self.urls:
            try:
                with (
                    urllib.request.urlopen(url, timeout=_TIMEOUT) as answer,
                    part.open("wb") as file,
                ):
                    while block := answer.read(_BLOCK):
                        file.write(block)
                _check(part, self.sha256)
                part.replace(path)
                return
            except (
                OSError,
                FileError,
            ) as error:  # urllib's errors are OSErrors; the next place may be better
                reasons.append(f"{url}: {getattr(error, 'reason', error)}")
            finally:
                part.unlink(missing_ok=True)
        raise FileError(
            f"{self.name} could not be downloaded; put it into {path.parent} by hand. "
            + "; ".join(reasons)
        )


def cache() -> Path:
    """Where downloaded files are kept: the folder that MARGIN_CACHE names, else margin in the
    user's cache folder."""
    named = os.environ.get("MARGIN_CACHE")
    return (
        Path(named)
        if named
        else Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "margin"
    )


def own(name: str, sha256: str) -> Path | None:
    """A file in the folder that MARGIN_DATA names, if it is there.

    Raises
    ------
    FileError
        When its checksum is not the expected one.
    """
    folder = os.environ.get("MARGIN_DATA")
    path = Path(folder) / name if folder else None
    if path is None or not path.exists():
        return None
    _check(path, sha256)
    return path


def digest(path: Path) -> str:
    """The sha256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _remembered(path: Path) -> str | None:
    note = path.with_name(path.name + ".sha256")
    return note.read_text().strip() if note.exists() else None


def _check(path: Path, sha256: str | None) -> None:
    if sha256 is not None and (found := digest(path)) != sha256:
        raise FileError(
            f"{path} has the sha256 {found}, not {sha256}: delete it and fetch it again"
        )
