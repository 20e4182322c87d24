"""The checksums that files hold, compared with their content. DuckDB reads rows without a look at
them."""

import gzip
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..encode import quietly
from ..failures import unknown

__all__ = ["compare_checksums"]

_CHUNK = 1 << 21
"""Number of bytes of a compressed file that are read at once."""

_ROWS = 1 << 16
"""Number of rows of a Parquet file that are read at once."""

_WITH_CHECKSUM = re.compile(rb"(?:\x15[\x80-\xff]*[\x00-\x7f]){3}\x15")
"""The beginning of the header of a Parquet page that has a checksum: the kind of the page and two
sizes, each as \\x15 and a number of several bytes, and then \\x15 once more for the checksum."""

_LONGEST = 32
"""Number of bytes that are enough for this beginning."""

_DIFFERS = "CRC checksum verification failed"
"""Words of Arrow about a page that differs from its checksum."""


def compare_checksums(
    path: Path,
    described: str,
    names: Sequence[str] | None = None,
    *,
    hint: str = "",
) -> None:
    """Compare a gzip file with its checksum, and a Parquet file with those of its pages. A file
    that holds no checksum is not read.

    Parameters
    ----------
    path
        The file. It is a gzip file if its name ends in .gz, and otherwise a Parquet file.
    described
        The file, for a message.
    names
        The columns of a Parquet file that are compared; all when not given.
    hint
        What a message says last.

    Raises
    ------
    DataError
        When the file differs from a checksum.
    """
    if path.name.lower().endswith(".gz"):
        damaged = (
            f"{described} must be a complete gzip file, but its checksum is wrong or its end is "
            f"missing; copy it again{hint}"
        )
        quietly(lambda: _read_gzip(path), damaged)
        return

    def failed(error: Exception) -> str:
        if _DIFFERS not in str(error):
            return f"{unknown(error, described)}{hint}"
        return (
            f"{described} must agree with the checksums of its pages, but it does not, so it is "
            f"damaged; copy it again, or write it anew{hint}"
        )

    quietly(lambda: _read_pages(path, names), failed)


def _read_gzip(path: Path) -> None:
    """Read a compressed file to its end, where its checksum is."""
    with gzip.open(path) as file:
        while file.read(_CHUNK):
            pass


def _read_pages(path: Path, names: Sequence[str] | None) -> None:
    """Read columns of a Parquet file with Arrow, which compares each page, if it has checksums."""
    import pyarrow.parquet as pq

    with pq.ParquetFile(path, page_checksum_verification=True) as file:
        if _has_checksums(path, file.metadata):
            for _ in file.iter_batches(_ROWS, columns=names):
                pass


def _has_checksums(path: Path, metadata: Any) -> bool:
    """Whether the first page of a Parquet file has a checksum: a writer gives one to each page, or
    to none."""
    if not (metadata.num_row_groups and metadata.num_columns):
        return False
    first = metadata.row_group(0).column(0)
    # If the column has a page with its different values, it stands before all others.
    start = first.dictionary_page_offset or first.data_page_offset
    with path.open("rb") as file:
        file.seek(start)
        return _WITH_CHECKSUM.match(file.read(_LONGEST)) is not None
