"""Real tables, from the folder in the environment variable MARGIN_DATA, or from their publishers
through a cache.

Every table is checked. Its file must have the known SHA-256 checksum, if there is one. Its number
of rows and some counts must be those that the publisher or the literature states. Each docstring
states its checks. This library does not contain the tables. If you download one, you accept its
publisher's terms.
"""

import gzip
import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ..domain.domain import Domain
from ..errors import DataError, DomainError
from .dataset import Dataset
from .declared import ADULT, ADULT_BINS, KDD99, MUSHROOM, NURSERY
from .fetch import Remote, own

_UCI = "https://archive.ics.uci.edu/ml/machine-learning-databases"


@dataclass(
    frozen=True,
    kw_only=True,
)
class _Published:
    """A published table, and the facts by which it is checked.

    Attributes
    ----------
    name, note
        See `Dataset`.
    remotes
        The publisher's files.
    read
        A function that makes the table from these files.
    rows
        The published number of rows.
    counts
        For some columns, a value and the published number of rows with it.
    domain
        The declared domain; None for columns of zeros and ones.
    folder
        The name and the checksum of the table as a file in the user's own folder.
    """

    name: str
    note: str
    remotes: Sequence[Remote]
    read: Callable[[list[Path]], Any]
    rows: int
    counts: Mapping[str, tuple[Any, int]] = field(default_factory=dict)
    domain: Mapping[str, Any] | None = None
    folder: tuple[str, str] | None = None


def msnbc(*, download: bool = True) -> Dataset:
    """Load MSNBC.com anonymous web data (UCI): 989,818 visitors of one day, 9 binary attributes.

    The attributes are the nine categories of pages that most visitors saw. This is our reading of
    "only 9 attributes" in the PriView paper. A visitor who saw none of them stays in the table. We
    know no checksum of the publisher's file. The table is checked by the number of visitors
    (989,818) and by the number of visitors who saw the front page (313,181).

    Parameters
    ----------
    download
        Whether the file may be downloaded if it is neither in MARGIN_DATA nor in the cache.

    Raises
    ------
    FileError
        When the file cannot be found or downloaded, or its checksum is wrong.
    DataError
        When the table is not the published one.
    """
    published = _Published(
        name="MSNBC-9",
        note="UCI, msnbc.com anonymous web data; the nine categories seen by most visitors",
        remotes=[
            Remote(
                name="msnbc990928.seq.gz",
                urls=[f"{_UCI}/msnbc-mld/msnbc990928.seq.gz"],
            )
        ],
        read=_read_msnbc,
        rows=989_818,
        counts={"frontpage": (1, 313_181)},
        folder=(
            "msnbc9.parquet",
            "ce1d6a595b313577323195144d70bb51bcffbd7d1927ea92b4bac24116f93d67",
        ),
    )
    return _dataset(published, download=download)


def kosarak(*, pages: int = 32, download: bool = True) -> Dataset:
    """Load Kosarak (FIMI, F. Bodon): visitors of a Hungarian news portal and the popular pages that
    they saw.

    The publisher's file gives 990,002 visitors and the `pages` most popular pages, in the order of
    their popularity. Visitors who saw none of them stay in the table. If MARGIN_DATA has the file
    `kosarak32_first100k.parquet` and `pages` is 32, the table is this file: the first 100,000
    visitors and their 32 most popular pages. We could not confirm a checksum of the publisher's
    file. The table is checked by the number of visitors.

    Parameters
    ----------
    pages
        The number of pages, from 1 to 1000.
    download
        See `msnbc`.

    Raises
    ------
    DomainError
        When `pages` is outside its range.
    FileError, DataError
        See `msnbc`.
    """
    if not 1 <= pages <= 1000:
        raise DomainError(
            f"pages ({pages}) must be a whole number from 1 to 1000; pass such a number"
        )
    part = (
        "kosarak32_first100k.parquet",
        "4f007840940df32141d52b746b0df5768e7823f8e4f1eea972900b5a091b1261",
    )
    folder = part if pages == 32 else None
    is_part = folder is not None and own(*folder) is not None
    note = "FIMI, Kosarak click-stream"
    if is_part:
        note += "; the first 100,000 of 990,002 visitors"
    published = _Published(
        name=f"Kosarak-{pages}",
        note=note,
        remotes=[_KOSARAK],
        read=lambda files: _read_kosarak(files, pages),
        rows=100_000 if is_part else 990_002,
        folder=folder,
    )
    return _dataset(published, download=download)


def adult(*, download: bool = True) -> Dataset:
    """Load Adult (UCI, R. Kohavi and B. Becker): 48,842 people of the 1994 census, 15 attributes.

    The table contains the training set and the test set. Numbers are in declared bins, and "?" is a
    category. The files are checked by SHA-256 checksums that many others have published too. See
    `msnbc` for the parameter and the errors."""
    published = _Published(
        name="Adult-15",
        note="UCI, Adult; training and test sets",
        remotes=_ADULT,
        read=_read_adult,
        rows=48_842,
        counts={"income": ("<=50K", 37_155)},
        domain=ADULT,
        folder=(
            "adult_raw.parquet",
            "29c0d6b70d35620787a3f98ee0a7564e47fdbd215b06ebf9dba247580ae62b1a",
        ),
    )
    return _dataset(published, download=download)


def kdd99(*, download: bool = True) -> Dataset:
    """Load KDD Cup 1999, 10 percent (UCI): 494,021 connections, 41 attributes and the label.

    Numbers are in declared bins. The columns whose names end in "_rate" are integer hundredths. The
    file is checked by a SHA-256 checksum that others have published too. See `msnbc` for the
    parameter and the errors."""
    published = _Published(
        name="KDD99-42",
        note="UCI, KDD Cup 1999, 10 percent",
        remotes=[_KDD99],
        read=_read_kdd99,
        rows=494_021,
        counts={"label": ("smurf.", 280_790)},
        domain=KDD99,
        folder=(
            "kdd99_10pct.parquet",
            "9e6332cdeb92c592d1ec44380a6d28d032cfce7f85bb09f27fa15054a2136096",
        ),
    )
    return _dataset(published, download=download)


def mushroom(*, download: bool = True) -> Dataset:
    """Load Mushroom (UCI, J. Schlimmer): 8,124 mushrooms and 23 categorical attributes.

    "?" is a category. The file is checked by a SHA-256 checksum that many others have published
    too. See `msnbc` for the parameter and the errors.
    """
    published = _Published(
        name="Mushroom-23",
        note="UCI, Mushroom",
        remotes=[_MUSHROOM],
        read=lambda files: _read_csv(files[0], list(MUSHROOM)),
        rows=8_124,
        counts={"class": ("e", 4_208)},
        domain=MUSHROOM,
    )
    return _dataset(published, download=download)


def nursery(*, download: bool = True) -> Dataset:
    """Load Nursery (UCI, V. Rajkovic): 12,960 applications and 9 categorical attributes.

    We know no checksum of the publisher's file. The table is checked by its form: the first eight
    attributes take each combination of their values once. See `msnbc` for the parameter and the
    errors."""
    inputs = list(NURSERY.items())[:8]
    published = _Published(
        name="Nursery-9",
        note="UCI, Nursery",
        remotes=[
            Remote(
                name="nursery.data",
                urls=[f"{_UCI}/nursery/nursery.data"],
            )
        ],
        read=lambda files: _read_csv(files[0], list(NURSERY)),
        rows=12_960,
        counts={name: (values[0], 12_960 // len(values)) for name, values in inputs},
        domain=NURSERY,
    )
    return _dataset(published, download=download)


def _dataset(published: _Published, *, download: bool) -> Dataset:
    """Read the table from the user's own folder or from the publisher's files, and check it.
    DataError if it is not the published table."""
    import pyarrow.parquet

    path = own(*published.folder) if published.folder else None
    files = [] if path else [remote.fetch(download=download) for remote in published.remotes]
    try:
        table = pyarrow.parquet.read_table(path) if path else published.read(files)
        found = {}
        for column, (value, _) in published.counts.items():
            found[column] = sum(cell == value for cell in table[column].to_pylist())
    except (OSError, EOFError, ValueError, KeyError, IndexError, pyarrow.ArrowException) as error:
        raise DataError(
            f"{published.name} must be in the format of its publisher, but it cannot be read as "
            f"such ({type(error).__name__}); delete the file and fetch it again"
        ) from None
    wanted = {column: count for column, (_, count) in published.counts.items()}
    if table.num_rows != published.rows or found != wanted:
        raise DataError(
            f"{published.name} must be the published table of {published.rows} rows with the "
            f"counts {wanted}, but it has {table.num_rows} rows and the counts {found}; delete "
            "the file and fetch it again"
        )
    # Files from the publisher have proved right; there are none if the table is the user's own.
    for remote, file in zip(published.remotes, files, strict=False):
        remote.remember(file)
    declared = published.domain or dict.fromkeys(table.column_names, 2)
    return Dataset(
        name=published.name,
        data=table,
        domain=Domain(declared),
        note=published.note,
    )


def _read_msnbc(files: list[Path]) -> Any:
    """Read a table from lines of category numbers, one line for each visitor, after a line that
    names the categories."""
    import pyarrow as pa

    with gzip.open(files[0], "rt", encoding="ascii") as file:
        lines = [line.split() for line in file if line.strip() and not line.startswith("%")]
    names = lines[0]
    seen = np.zeros((len(lines) - 1, len(names)), np.uint8)
    for row, line in enumerate(lines[1:]):
        seen[row, [int(word) - 1 for word in line]] = 1
    top = np.argsort(
        -seen.sum(
            axis=0,
            dtype=np.int64,
        ),
        kind="stable",
    )[:9]
    return pa.table({names[place]: np.ascontiguousarray(seen[:, place]) for place in top})


def _read_kosarak(files: list[Path], pages: int) -> Any:
    """Read a table from lines of page numbers, one line for each visitor."""
    import pyarrow as pa

    with gzip.open(files[0], "rb") as file:
        lines = file.read().splitlines()
    sizes = np.array([len(line.split()) for line in lines])
    pages_seen = np.array(b" ".join(lines).split(), dtype=np.int64)
    visitor = np.repeat(np.arange(len(lines)), sizes)
    visits = np.unique(np.column_stack([visitor, pages_seen]), axis=0)
    popularity = np.bincount(visits[:, 1])
    columns = {}
    for page in np.argsort(-popularity, kind="stable")[:pages]:
        column = np.zeros(len(lines), np.uint8)
        column[visits[visits[:, 1] == page, 0]] = 1
        columns[f"p{page}"] = column
    return pa.table(columns)


def _read_adult(files: list[Path]) -> Any:
    """Read a table from the training file and the test file. In the latter, the first line and the
    full stops after labels are left out."""
    train, test = (file.read_text("ascii") for file in files)
    lines = train.splitlines() + [line.rstrip(".") for line in test.splitlines()[1:]]
    rows = [[word.strip() for word in line.split(",")] for line in lines if line.strip()]
    return _texts(rows, list(ADULT), set(ADULT_BINS))


def _read_kdd99(files: list[Path]) -> Any:
    """Read a table from a CSV file without a header, with rates as integer hundredths."""
    import pyarrow.compute
    import pyarrow.csv

    names = list(KDD99)
    rates = [name for name in names if name.endswith("_rate")]
    types = dict.fromkeys(rates, pyarrow.float64())
    with gzip.open(files[0], "rb") as file:
        content = io.BytesIO(file.read())
    table = pyarrow.csv.read_csv(
        content,
        read_options=pyarrow.csv.ReadOptions(column_names=names),
        convert_options=pyarrow.csv.ConvertOptions(column_types=types),
    )
    for name in rates:
        hundredths = pyarrow.compute.round(pyarrow.compute.multiply(table[name], 100.0))
        column = hundredths.cast(pyarrow.uint8())
        table = table.set_column(names.index(name), name, column)
    return table


def _read_csv(path: Path, names: list[str]) -> Any:
    """Read a table of texts from a CSV file without a header."""
    lines = path.read_text("ascii").splitlines()
    rows = [line.strip().split(",") for line in lines if line.strip()]
    return _texts(rows, names, set())


def _texts(
    rows: list[list[str]],
    names: list[str],
    numbers: set[str],
) -> Any:
    """Make a table of columns of texts; the columns in `numbers` become integers."""
    import pyarrow as pa

    columns = list(zip(*rows, strict=True))
    if len(columns) != len(names):
        raise ValueError(
            f"the table must have {len(names)} columns, but it has {len(columns)}; fetch it again"
        )
    arrays: dict[str, Any] = {}
    for name, column in zip(names, columns, strict=True):
        arrays[name] = list(map(int, column)) if name in numbers else column
    return pa.table(arrays)


_KOSARAK = Remote(
    name="kosarak.dat.gz",
    urls=[
        "http://fimi.uantwerpen.be/data/kosarak.dat.gz",
        "https://www.cs.rpi.edu/~zaki/Workshops/FIMI/data/kosarak.dat.gz",
    ],
)
_ADULT = [
    Remote(
        name="adult.data",
        urls=[f"{_UCI}/adult/adult.data"],
        sha256="5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d",
    ),
    Remote(
        name="adult.test",
        urls=[f"{_UCI}/adult/adult.test"],
        sha256="a2a9044bc167a35b2361efbabec64e89d69ce82d9790d2980119aac5fd7e9c05",
    ),
]
_KDD99 = Remote(
    name="kddcup.data_10_percent.gz",
    urls=[
        f"{_UCI}/kddcup99-mld/kddcup.data_10_percent.gz",
        "http://kdd.ics.uci.edu/databases/kddcup99/kddcup.data_10_percent.gz",
    ],
    sha256="8045aca0d84e70e622d1148d7df782496f6333bf6eb979a1b0837c42a9fd9561",
)
_MUSHROOM = Remote(
    name="agaricus-lepiota.data",
    urls=[f"{_UCI}/mushroom/agaricus-lepiota.data"],
    sha256="e65d082030501a3ebcbcd7c9f7c71aa9d28fdfff463bf4cf4716a3fe13ac360e",
)
