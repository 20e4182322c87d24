import hashlib
import io
import json
import os
import zipfile

import numpy as np
import pytest

import margin
from margin import ZCDP, Domain, FileError, PriView, PureDP, Simulation, ViewSynopsis
from margin.solvers import Newton, Solution, Status
from margin.store import _CHECKSUMS, _MANIFEST

_TABLES = "tables.npy"

VIEWS = [["age", "sex"], ["region", "sex", "children"]]


@pytest.fixture
def synopsis(table, domain):
    return margin.release(table, domain=domain, budget=PureDP("0.3"), mechanism=PriView(views=VIEWS))


@pytest.fixture
def saved(synopsis, tmp_path):
    path = tmp_path / "people.margin"
    synopsis.save(path)
    return path


def members(path):
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def write(path, contents, checksums=True):
    """The members as a file, by default with the checksums that fit them."""
    if checksums:
        sums = {name: hashlib.sha256(data).hexdigest() for name, data in contents.items() if name != _CHECKSUMS}
        contents = {**contents, _CHECKSUMS: json.dumps(sums).encode()}
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in contents.items():
            archive.writestr(name, data)


def changed(path, **change):
    contents = members(path)
    manifest = json.loads(contents[_MANIFEST])
    manifest.update(change)
    write(path, {**contents, _MANIFEST: json.dumps(manifest).encode()})


def repacked(path, **change):
    synopsis = json.loads(members(path)[_MANIFEST])["synopsis"]
    changed(path, synopsis={**synopsis, **change})


@pytest.mark.parametrize("budget", [PureDP("0.3"), ZCDP("0.1"), margin.ApproxDP(1, "1e-9")], ids=repr)
def test_what_is_loaded_is_what_was_saved(table, domain, budget, tmp_path):
    mechanism = PriView(views=VIEWS, reconstruction=Newton(strength=2.0))
    synopsis = margin.release(table, domain=domain, budget=budget, mechanism=mechanism)
    synopsis.save(tmp_path / "x.margin")
    loaded = margin.load(tmp_path / "x.margin")
    assert isinstance(loaded, ViewSynopsis)
    assert (loaded.domain, loaded.names, loaded.spent) == (domain, synopsis.names, budget)
    assert loaded.reconstruction == Newton(strength=2.0)
    assert loaded.provenance.private and loaded.provenance.version == margin.__version__
    for view in (["sex", "age"], ["age", "income", "children"]):
        ours, theirs = synopsis.marginal(view), loaded.marginal(view)
        assert (ours.counts == theirs.counts).all()
        assert np.array_equal(ours.variance, theirs.variance, equal_nan=True)


def test_a_users_own_solver_is_not_loaded_from_a_file(table, domain, tmp_path):
    class Mine:
        def solve(self, problem):
            return Solution(np.zeros(problem.shape), Status.FAILED, 0, 0, 0, 0, 0)

    mechanism = PriView(views=VIEWS, reconstruction=Mine())
    margin.release(table, domain=domain, budget=PureDP(1), mechanism=mechanism).save(tmp_path / "x.margin")
    assert margin.load(tmp_path / "x.margin").reconstruction == Newton()


def test_the_file_holds_only_what_was_declared_or_paid_for(saved, synopsis, domain):
    contents = members(saved)
    assert set(contents) == {_MANIFEST, _TABLES, _CHECKSUMS}
    manifest = json.loads(contents[_MANIFEST])
    assert set(manifest) == {
        "format", "private", "version", "domain", "spent", "charge", "mechanism", "kind", "synopsis"
    }  # fmt: skip
    assert set(manifest["synopsis"]) == {"reconstruction", "views", "variances"}
    assert Domain(manifest["domain"]) == domain
    cells = np.load(io.BytesIO(contents[_TABLES]), allow_pickle=False)
    assert cells.tolist() == np.concatenate([value.ravel() for value in synopsis.tables.values]).tolist()
    with zipfile.ZipFile(saved) as archive:
        assert {member.date_time for member in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}
    assert b"person " not in b"".join(contents.values())


def test_equal_simulations_make_equal_files(table, domain, tmp_path):
    for name in ("one", "two"):
        margin.simulate(table, domain=domain, budget=PureDP(1), seed=5).save(tmp_path / name)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_a_simulation_is_loaded_only_on_request(table, domain, tmp_path):
    path = tmp_path / "x.margin"
    simulation = margin.simulate(table, domain=domain, budget=PureDP(1), seed=5)
    simulation.save(path)
    with pytest.raises(FileError, match="simulation"):
        margin.load(path)
    loaded = margin.load(path, allow_simulation=True)
    assert isinstance(loaded, Simulation)
    assert (loaded.marginal(["sex"]).counts == simulation.marginal(["sex"]).counts).all()
    with pytest.raises(margin.DomainError, match="truth"):
        loaded.truth(["sex"])


def test_a_synopsis_that_is_no_release_cannot_be_saved(domain, synopsis, tmp_path):
    made = ViewSynopsis.of(domain, synopsis.views, reconstruction=Newton())
    with pytest.raises(FileError, match="release"):
        made.save(tmp_path / "x.margin")
    with pytest.raises(margin.DomainError, match="not yet"):
        _ = made.spent
    assert not list(tmp_path.iterdir())


def truncated(path):
    path.write_bytes(path.read_bytes()[:-200])


def flipped(path):
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 0xFF
    path.write_bytes(data)


def with_array(make):
    def change(path):
        array = io.BytesIO()
        np.save(array, make(np.load(io.BytesIO(members(path)[_TABLES]))))
        write(path, {**members(path), _TABLES: array.getvalue()})

    return change


def with_nan(cells):
    cells[0] = np.nan
    return cells


DAMAGE = {
    "empty": lambda path: path.write_bytes(b""),
    "text": lambda path: path.write_text("a,b\n1,2\n"),
    "truncated": truncated,
    "flipped byte": flipped,
    "another zip": lambda path: write(path, {"x.txt": b"1"}),
    "member missing": lambda path: write(path, {_MANIFEST: b"{}"}),
    "wrong checksum": lambda path: write(path, {**members(path), _MANIFEST: b"{}"}, checksums=False),
    "manifest is no JSON": lambda path: write(path, {**members(path), _MANIFEST: b"{"}),
    "manifest is a list": lambda path: write(path, {**members(path), _MANIFEST: b"[]"}),
    "newer format": lambda path: changed(path, format=99),
    "unknown field": lambda path: changed(path, rows=500),
    "private is a text": lambda path: changed(path, private="yes"),
    "bad domain": lambda path: changed(path, domain={"age": 0}),
    "bad views": lambda path: repacked(path, views=[["nobody"]]),
    "unknown kind": lambda path: changed(path, kind="Synopsis"),
    "kind is a list": lambda path: changed(path, kind=[]),
    "synopsis is a text": lambda path: changed(path, synopsis="views"),
    "bad receipt": lambda path: changed(path, charge={"ledger": "x"}),
    "bad budget": lambda path: changed(path, spent={"kind": "pure", "epsilon": "-1"}),
    "infinite variance": lambda path: repacked(path, variances=[float("inf"), 1.0]),
    "bad solver": lambda path: repacked(path, reconstruction={"name": "Newton", "strength": -1}),
    "array too short": with_array(lambda cells: cells[:-1]),
    "array of objects": with_array(lambda cells: np.array([None, 1], dtype=object)),
    "array with NaN": with_array(with_nan),
    "array of integers": with_array(lambda cells: cells.astype(int)),
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_a_damaged_file_is_a_typed_error(saved, damage):
    damage(saved)
    with pytest.raises(FileError, match=r"people\.margin"):
        margin.load(saved)


def test_a_missing_file_is_a_typed_error(tmp_path):
    with pytest.raises(FileError, match="does not exist"):
        margin.load(tmp_path / "none.margin")
    with pytest.raises(FileError):
        margin.load(tmp_path)


def test_what_cannot_be_written_is_a_typed_error_and_leaves_nothing(synopsis, tmp_path):
    with pytest.raises(FileError, match="cannot be written"):
        synopsis.save(tmp_path / "no folder" / "x.margin")
    (tmp_path / "folder").mkdir()
    with pytest.raises(FileError, match="cannot be written"):
        synopsis.save(tmp_path / "folder")
    assert sorted(os.listdir(tmp_path)) == ["folder"] and not os.listdir(tmp_path / "folder")


def test_saving_again_replaces_the_file(saved, synopsis):
    synopsis.save(saved)
    assert isinstance(margin.load(saved), ViewSynopsis)
    assert os.listdir(saved.parent) == ["people.margin"]
