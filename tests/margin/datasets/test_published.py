"""Published tables: what is downloaded is checked, kept and read in its publisher's form. No test
uses the network."""

import gzip
import hashlib

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

import margin
from margin import DataError, FileError, PriView, PureDP, datasets
from margin.datasets import declared, published
from margin.datasets.fetch import Remote, cache
from margin.errors import DomainError

LOADERS = {
    name: getattr(datasets, name)
    for name in ("msnbc", "kosarak", "adult", "kdd99", "mushroom", "nursery")
}


@pytest.fixture
def publisher(tmp_path, monkeypatch):
    """A folder that serves files, an empty cache, and no folder of one's own."""
    monkeypatch.delenv("MARGIN_DATA", raising=False)
    monkeypatch.setenv("MARGIN_CACHE", str(tmp_path / "cache"))
    folder = tmp_path / "publisher"
    folder.mkdir()
    return folder


def remote(folder, content=b"1,2\n", sha256="right", more=()):
    (folder / "table.csv").write_bytes(content)
    known = hashlib.sha256(content).hexdigest() if sha256 == "right" else sha256
    return Remote(name="table.csv", urls=[*more, (folder / "table.csv").as_uri()], sha256=known)


def test_a_file_is_downloaded_once(publisher):
    table = remote(publisher)
    path = table.fetch(download=True)
    assert path == cache() / "table.csv" and path.read_bytes() == b"1,2\n"
    (publisher / "table.csv").unlink()
    assert table.fetch(download=False) == path
    assert [file.name for file in path.parent.iterdir()] == ["table.csv"]


def test_a_wrong_checksum_is_refused_and_nothing_kept(publisher):
    with pytest.raises(FileError, match="sha256"):
        remote(publisher, sha256="0" * 64).fetch(download=True)
    assert not list(cache().iterdir())


def test_a_change_in_the_cache_is_told(publisher):
    table = remote(publisher)
    table.fetch(download=True).write_bytes(b"1,3\n")
    with pytest.raises(FileError, match="delete it and fetch it again"):
        table.fetch(download=True)


def test_without_a_known_checksum_the_first_one_is_remembered(publisher):
    table = remote(publisher, sha256=None)
    path = table.fetch(download=True)
    table.remember(path)
    assert table.fetch(download=False) == path
    path.write_bytes(b"1,3\n")
    with pytest.raises(FileError, match="sha256"):
        table.fetch(download=False)


def test_the_next_place_is_tried(publisher):
    table = remote(publisher, more=[(publisher / "gone").as_uri()])
    assert table.fetch(download=True).exists()


def test_what_cannot_be_had_says_where_to_put_it(publisher):
    missing = Remote(name="x.gz", urls=[(publisher / "gone").as_uri()])
    with pytest.raises(
        FileError,
        match=r"x\.gz must be downloaded, .*; download it by hand and put it into .*cache",
    ):
        missing.fetch(download=True)
    with pytest.raises(FileError, match="allow the download"):
        missing.fetch(download=False)


@pytest.mark.parametrize("load", LOADERS.values(), ids=LOADERS)
def test_nothing_is_downloaded_unless_allowed(publisher, load):
    with pytest.raises(FileError, match="allow the download"):
        load(download=False)


@pytest.mark.parametrize(
    ("load", "name", "content"),
    [
        (
            "nursery",
            "nursery.data",
            b"usual,proper,complete,1,convenient,convenient,nonprob,recommended,recommend\n",
        ),
        ("nursery", "nursery.data", b"<html>moved</html>\n"),
        ("nursery", "nursery.data", b""),
        (
            "msnbc",
            "msnbc990928.seq.gz",
            gzip.compress(b"% heading\nfrontpage news\n\n1 2\n2\n", mtime=0),
        ),
        ("msnbc", "msnbc990928.seq.gz", b"not zipped"),
        ("msnbc", "msnbc990928.seq.gz", gzip.compress(b"1 2\nx\n", mtime=0)),
        ("kosarak", "kosarak.dat.gz", gzip.compress(b"1 2 3\n1\n", mtime=0)),
    ],
)
def test_what_is_not_the_published_table_is_refused(publisher, load, name, content):
    cache().mkdir()
    (cache() / name).write_bytes(content)
    with pytest.raises(DataError, match=r"published table of|format of its publisher"):
        LOADERS[load](download=False)
    assert not list(cache().glob("*.sha256"))  # nothing that proved wrong is remembered


def test_a_file_of_ones_own_is_checked(publisher, monkeypatch):
    monkeypatch.setenv("MARGIN_DATA", str(publisher))
    (publisher / "msnbc9.parquet").write_bytes(b"PAR1")
    with pytest.raises(FileError, match="sha256"):
        datasets.msnbc()


@pytest.mark.parametrize("pages", [0, 1001])
def test_pages(pages):
    with pytest.raises(DomainError, match=f"pages \\({pages}\\)"):
        datasets.kosarak(pages=pages)


def test_nursery_is_read_and_remembered(publisher, monkeypatch):
    """The whole of it, made here: its attributes take every combination of values once."""
    monkeypatch.setattr(published, "_UCI", publisher.as_uri())
    values = list(declared.NURSERY.values())
    places = np.indices([len(some) for some in values[:8]]).reshape(8, -1).T
    lines = [
        ",".join(values[axis][code] for axis, code in enumerate(row)) + ",priority"
        for row in places
    ]
    (publisher / "nursery").mkdir()
    (publisher / "nursery" / "nursery.data").write_text("\n".join(lines) + "\n\n")
    table = datasets.nursery()
    assert table.rows == 12_960 and list(table.domain) == list(declared.NURSERY)
    assert (cache() / "nursery.data.sha256").exists()
    simulation = margin.simulate(
        table.data,
        domain=table.domain,
        budget=PureDP(1),
        mechanism=PriView(views=[["class", "form"]]),
        seed=0,
    )
    assert simulation.truth(["form"]).counts.tolist() == [3_240] * 4


def test_msnbc_lines(tmp_path):
    """Twelve categories of which the nine most seen are kept, most seen first; a visitor counts
    once."""
    names = [f"c{place}" for place in range(12)]
    lines = [
        "% Different categories found in input file:",
        "",
        " ".join(names),
        "",
        "% Sequences:",
        "",
    ]
    visits = [[place + 1] * 2 for place in range(12) for _ in range(place + 1)]
    (tmp_path / "x.gz").write_bytes(
        gzip.compress("\n".join([*lines, *(" ".join(map(str, v)) for v in visits)]).encode())
    )
    table = published._read_msnbc([tmp_path / "x.gz"])
    assert table.column_names == [f"c{place}" for place in range(11, 2, -1)]
    assert [sum(table[name].to_pylist()) for name in table.column_names] == list(range(12, 3, -1))
    assert table.num_rows == 78


def test_kosarak_lines(tmp_path):
    (tmp_path / "x.gz").write_bytes(gzip.compress(b"7 3 7\n3\n9 \n3 7\n"))
    table = published._read_kosarak([tmp_path / "x.gz"], 2)
    assert table.to_pydict() == {"p3": [1, 1, 0, 1], "p7": [1, 0, 0, 1]}


def test_mushrooms(tmp_path):
    row = [values[0] for values in declared.MUSHROOM.values()]
    (tmp_path / "x").write_text(",".join(row) + "\n")
    assert published._read_csv(tmp_path / "x", list(declared.MUSHROOM)).to_pylist() == [
        dict(zip(declared.MUSHROOM, row, strict=True))
    ]
    assert [len(set(values)) for values in declared.MUSHROOM.values()] == [
        len(values) for values in declared.MUSHROOM.values()
    ]


@pytest.mark.parametrize(
    ("name", "rows", "attributes"),
    [
        ("msnbc", 989_818, 9),
        ("kosarak", 100_000, 32),
        ("adult", 48_842, 15),
        ("kdd99", 494_021, 42),
    ],
)
def test_tables_of_ones_own(real_data, name, rows, attributes):
    table = LOADERS[name](download=False)
    assert (table.rows, len(table.domain)) == (rows, attributes)
    views = [[attribute] for attribute in table.domain]
    simulation = margin.simulate(
        table.data,
        domain=table.domain,
        budget=PureDP(1),
        mechanism=PriView(views=views[:1]),
        seed=0,
    )
    assert {truth.total for truth in simulation.truths(views)} == {
        rows
    }  # every value is provided for


@pytest.mark.slow
def test_adult_in_its_publishers_form(real_data, tmp_path):
    known = pyarrow.parquet.read_table(real_data / "adult_raw.parquet")
    rows = [", ".join(map(str, row.values())) for row in known.to_pylist()]
    (tmp_path / "adult.data").write_text("\n".join(rows[:32_561]) + "\n\n")
    (tmp_path / "adult.test").write_text(
        "|1x3 Cross validator\n" + ".\n".join(rows[32_561:]) + ".\n\n"
    )
    read = published._read_adult([tmp_path / "adult.data", tmp_path / "adult.test"])
    assert read.to_pylist() == known.to_pylist()


def test_kdd99_in_its_publishers_form(real_data, tmp_path):
    known = pyarrow.parquet.read_table(real_data / "kdd99_10pct.parquet").slice(0, 5_000)
    rows = [
        ",".join(
            f"{value / 100:.2f}" if name.endswith("_rate") else str(value)
            for name, value in row.items()
        )
        for row in known.to_pylist()
    ]
    (tmp_path / "kdd.gz").write_bytes(gzip.compress("\n".join(rows).encode()))
    read = published._read_kdd99([tmp_path / "kdd.gz"])
    assert (
        read.cast(
            pa.schema(
                [
                    (
                        field.name,
                        field.type.value_type if pa.types.is_dictionary(field.type) else field.type,
                    )
                    for field in known.schema
                ]
            )
        ).to_pylist()
        == known.to_pylist()
    )
