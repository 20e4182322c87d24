"""Real tables, from the folder that MARGIN_DATA names, or from their publishers through a cache.

What a function returns was checked: the bytes by their sha256 where one is known, the table always,
by the number of rows and by counts that its publisher or the literature states. Which is which is
in each docstring. Nothing of these tables comes with this library; who downloads one accepts its
publisher's terms.
"""

import gzip
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from ..domain.domain import Domain
from ..errors import DataError, DomainError
from .dataset import Dataset
from .declared import ADULT, ADULT_BINS, KDD99, MUSHROOM, NURSERY
from .fetch import Remote, own

_UCI = "https://archive.ics.uci.edu/ml/machine-learning-databases"


def msnbc(*, download: bool = True) -> Dataset:
    """MSNBC.com anonymous web data (UCI): 989,818 visitors of one day, 9 binary attributes, as in
    the PriView paper.

    The attributes are the nine categories of pages that most visitors saw, which is our reading of
    "only 9 attributes"; a visitor who saw none of them stays in the table. No checksum of the
    publisher's file is known to us: it is checked by the number of visitors (989,818) and by how
    many of them saw the front page (313,181).

    Parameters
    ----------
    download
        Whether the file may be downloaded if it is neither in MARGIN_DATA nor in the cache.

    Raises
    ------
    FileError
        When the file is not to be had, or its checksum is wrong.
    DataError
        When the table that was read is not the published one.
    """
    return _dataset(
        "MSNBC-9",
        folder=(
            "msnbc9.parquet",
            "ce1d6a595b313577323195144d70bb51bcffbd7d1927ea92b4bac24116f93d67",
        ),
        remotes=[Remote(name="msnbc990928.seq.gz", urls=[f"{_UCI}/msnbc-mld/msnbc990928.seq.gz"])],
        read=_read_msnbc,
        counts={"frontpage": 313_181},
        rows=989_818,
        domain=lambda table: Domain(dict.fromkeys(table.column_names, 2)),
        note="UCI, msnbc.com anonymous web data; the nine categories seen by most visitors",
        download=download,
    )


def kosarak(*, pages: int = 32, download: bool = True) -> Dataset:
    """Kosarak (FIMI, F. Bodon): visitors of a Hungarian news portal, and which of the most popular
    pages they saw.

    From the publisher's file: 990,002 visitors, the `pages` most popular pages first to last,
    visitors of none of them kept. From MARGIN_DATA, where `kosarak32_first100k.parquet` is there:
    its first 100,000 visitors and their 32 most popular pages. No checksum of the publisher's file
    is known to us that we could confirm: it is checked by the number of visitors. `download` and
    errors as in `msnbc`, and DomainError unless 1 <= pages <= 1000.
    """
    if not 1 <= pages <= 1000:
        raise DomainError(f"pages ({pages}) must be from 1 to 1000")
    part = (
        "kosarak32_first100k.parquet",
        "4f007840940df32141d52b746b0df5768e7823f8e4f1eea972900b5a091b1261",
    )
    path = own(*part) if pages == 32 else None
    return _dataset(
        f"Kosarak-{pages}",
        folder=part if pages == 32 else None,
        remotes=[_KOSARAK],
        read=lambda files: _read_kosarak(files, pages),
        counts={},
        rows=990_002 if path is None else 100_000,
        domain=lambda table: Domain(dict.fromkeys(table.column_names, 2)),
        note="FIMI, Kosarak click-stream"
        + ("" if path is None else "; the first 100,000 of 990,002 visitors"),
        download=download,
    )


def adult(*, download: bool = True) -> Dataset:
    """Adult (UCI, R. Kohavi and B. Becker): 48,842 people of the 1994 census, training and test
    set, 15 attributes.

    Numbers are in declared bins, "?" is a category. The sha256 of both files is that which many
    others have published. `download` and errors as in `msnbc`.
    """
    return _dataset(
        "Adult-15",
        folder=(
            "adult_raw.parquet",
            "29c0d6b70d35620787a3f98ee0a7564e47fdbd215b06ebf9dba247580ae62b1a",
        ),
        remotes=_ADULT,
        read=_read_adult,
        counts={"income": ("<=50K", 37_155)},
        rows=48_842,
        domain=lambda _: Domain(ADULT),
        note="UCI, Adult; training and test sets",
        download=download,
    )


def kdd99(*, download: bool = True) -> Dataset:
    """KDD Cup 1999, the 10 percent (UCI): 494,021 connections, 41 attributes and the label; numbers
    in declared bins.

    The ..._rate columns are integer hundredths. The sha256 of the publisher's file is that which
    others have published. `download` and errors as in `msnbc`.
    """
    return _dataset(
        "KDD99-42",
        folder=(
            "kdd99_10pct.parquet",
            "9e6332cdeb92c592d1ec44380a6d28d032cfce7f85bb09f27fa15054a2136096",
        ),
        remotes=[_KDD99],
        read=_read_kdd99,
        counts={"label": ("smurf.", 280_790)},
        rows=494_021,
        domain=lambda _: Domain(KDD99),
        note="UCI, KDD Cup 1999, 10 percent",
        download=download,
    )


def mushroom(*, download: bool = True) -> Dataset:
    """Mushroom (UCI, J. Schlimmer): 8,124 mushrooms, 23 categorical attributes, "?" a category.

    The sha256 of the publisher's file is that which many others have published. `download` and
    errors as in `msnbc`.
    """
    return _dataset(
        "Mushroom-23",
        remotes=[_MUSHROOM],
        read=lambda files: _read_csv(files[0], list(MUSHROOM)),
        counts={"class": ("e", 4_208)},
        rows=8_124,
        domain=lambda _: Domain(MUSHROOM),
        note="UCI, Mushroom",
        download=download,
    )


def nursery(*, download: bool = True) -> Dataset:
    """Nursery (UCI, V. Rajkovic): 12,960 applications, 9 categorical attributes.

    No checksum of the publisher's file is known to us. It is checked by its form: the first eight
    attributes take each combination of their values once. `download` and errors as in `msnbc`.
    """
    return _dataset(
        "Nursery-9",
        remotes=[Remote(name="nursery.data", urls=[f"{_UCI}/nursery/nursery.data"])],
        read=lambda files: _read_csv(files[0], list(NURSERY)),
        counts={
            name: (values[0], 12_960 // len(values)) for name, values in list(NURSERY.items())[:8]
        },
        rows=12_960,
        domain=lambda _: Domain(NURSERY),
        note="UCI, Nursery",
        download=download,
    )


def _dataset(
    name: str,
    *,
    remotes: list[Remote],
    read: Callable[[list[Path]], Any],
    counts: dict[str, int | tuple[str, int]],
    rows: int,
    domain: Callable[[Any], Domain],
    note: str,
    download: bool,
    folder: tuple[str, str] | None = None,
) -> Dataset:
    """The table in one's own folder, or what is read from the publisher's files, if it is as it
    should be."""
    import pyarrow.parquet

    path = own(*folder) if folder else None
    files = [] if path else [remote.fetch(download=download) for remote in remotes]
    try:
        table = pyarrow.parquet.read_table(path) if path else read(files)
        found = {key: _count(table, key, value) for key, value in counts.items()}
    except (OSError, EOFError, ValueError, KeyError, IndexError, pyarrow.ArrowException) as error:
        raise DataError(
            f"{name} is not in the form its publisher gives it ({type(error).__name__})"
        ) from None
    wanted = {key: value if isinstance(value, int) else value[1] for key, value in counts.items()}
    if table.num_rows != rows or found != wanted:
        raise DataError(
            f"{name} is not the published table: expected {rows} rows and the counts {wanted}"
        )
    for remote, file in zip(remotes, files, strict=False):
        remote.remember(file)
    return Dataset(name=name, data=table, domain=domain(table), note=note)


def _count(table: Any, column: str, wanted: int | tuple[str, int]) -> int:
    """How often a column holds the value of which a count is known, or one."""
    value: Any = 1 if isinstance(wanted, int) else wanted[0]
    return sum(cell == value for cell in table[column].to_pylist())


def _read_msnbc(files: list[Path]) -> Any:
    """Lines of category numbers, a visitor a line, after a heading that names the categories."""
    import pyarrow as pa

    with gzip.open(files[0], "rt", encoding="ascii") as file:
        lines = [line.split() for line in file if line.strip() and not line.startswith("%")]
    names = lines[0]
    seen = np.zeros((len(lines) - 1, len(names)), np.uint8)
    for row, line in enumerate(lines[1:]):
        seen[row, [int(word) - 1 for word in line]] = 1
    top = np.argsort(-seen.sum(axis=0, dtype=np.int64), kind="stable")[:9]
    return pa.table({names[place]: np.ascontiguousarray(seen[:, place]) for place in top})


def _read_kosarak(files: list[Path], pages: int) -> Any:
    """Lines of page numbers, a visitor a line."""
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
    """The training file, and the test file without its first line and the full stops after its
    labels."""
    train, test = (file.read_text("ascii") for file in files)
    lines = train.splitlines() + [line.rstrip(".") for line in test.splitlines()[1:]]
    rows = [[word.strip() for word in line.split(",")] for line in lines if line.strip()]
    return _texts(rows, list(ADULT), set(ADULT_BINS))


def _read_kdd99(files: list[Path]) -> Any:
    import pyarrow.compute
    import pyarrow.csv

    names = list(KDD99)
    rates = [name for name in names if name.endswith("_rate")]
    with gzip.open(files[0], "rb") as file:
        table = pyarrow.csv.read_csv(
            io.BytesIO(file.read()),
            read_options=pyarrow.csv.ReadOptions(column_names=names),
            convert_options=pyarrow.csv.ConvertOptions(
                column_types=dict.fromkeys(rates, pyarrow.float64())
            ),
        )
    for name in rates:
        hundredths = pyarrow.compute.round(pyarrow.compute.multiply(table[name], 100.0)).cast(
            pyarrow.uint8()
        )
        table = table.set_column(names.index(name), name, hundredths)
    return table


def _read_csv(path: Path, names: list[str]) -> Any:
    rows = [
        line.strip().split(",") for line in path.read_text("ascii").splitlines() if line.strip()
    ]
    return _texts(rows, names, set())


def _texts(rows: list[list[str]], names: list[str], numbers: set[str]) -> Any:
    """A table of columns of text, some of them integers."""
    import pyarrow as pa

    columns = list(zip(*rows, strict=True))
    if len(columns) != len(names):
        raise ValueError("wrong number of columns")
    return pa.table(
        {
            name: list(map(int, column)) if name in numbers else column
            for name, column in zip(names, columns, strict=True)
        }
    )


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
