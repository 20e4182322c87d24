import contextlib
import copy
import dataclasses
import hashlib
import io
import json
import math
import os
import stat
import zipfile
from pathlib import Path

import numpy as np
import pytest

import margin
from margin import ZCDP, Domain, FileError, PriView, PureDP, Simulation
from margin.cli.main import main
from margin.privacy.budget import certified
from margin.solvers import (
    IPF,
    LBFGS,
    STRUCTURE_RULE,
    ClarabelDirect,
    Cone,
    Ladder,
    LeastSquares,
    MinimaxLP,
    MirrorDescent,
    Newton,
    Solution,
    Status,
    Structure,
    TrustExact,
)
from margin.store import _CHECKSUMS, _COURSE, _MANIFEST, _SIGNATURE
from margin.synopses import ViewSynopsis

_TABLES = "tables.npy"

VIEWS = [["age", "sex"], ["region", "sex", "children"]]


@pytest.fixture(scope="module")
def synopsis(table, domain):
    return margin.release(
        table, domain=domain, budget=PureDP("0.3"), mechanism=PriView(views=VIEWS)
    )


@pytest.fixture
def saved(synopsis, tmp_path):
    path = tmp_path / "people.margin"
    synopsis.save(path)
    return path


def members(path):
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def write(path, contents, checksums=True):
    """Write the members to a file, by default with matching checksums."""
    if checksums:
        sums = {
            name: hashlib.sha256(data).hexdigest()
            for name, data in contents.items()
            if name != _CHECKSUMS
        }
        contents = {**contents, _CHECKSUMS: json.dumps(sums).encode()}
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in contents.items():
            archive.writestr(name, data)


def changed(path, **change):
    contents = members(path)
    manifest = json.loads(contents[_MANIFEST])
    manifest.update(change)
    write(path, {**contents, _MANIFEST: json.dumps(manifest).encode()})


def restated(path, **change):
    statement = json.loads(members(path)[_MANIFEST])["statement"]
    changed(path, statement={**statement, **change})


def repacked(path, **change):
    synopsis = json.loads(members(path)[_MANIFEST])["synopsis"]
    changed(path, synopsis={**synopsis, **change})


@pytest.mark.parametrize(
    "budget", [PureDP("0.3"), ZCDP("0.1"), margin.ApproxDP(1, "1e-9")], ids=repr
)
def test_what_is_loaded_is_what_was_saved(table, domain, budget, tmp_path):
    mechanism = PriView(views=VIEWS, reconstruction=Newton(strength=2.0))
    synopsis = margin.release(table, domain=domain, budget=budget, mechanism=mechanism)
    synopsis.save(tmp_path / "x.margin")
    loaded = margin.load(tmp_path / "x.margin")
    assert isinstance(loaded, ViewSynopsis)
    promised = (
        certified(budget) if isinstance(budget, margin.ApproxDP) else budget
    )  # one call that spends all
    assert (loaded.domain, loaded.names, loaded.spent) == (domain, synopsis.names, promised)
    assert loaded.reconstruction == Newton(strength=2.0)
    assert loaded.provenance.private and loaded.provenance.version == margin.__version__
    for view in (["sex", "age"], ["age", "income", "children"]):
        ours, theirs = synopsis.marginal(view), loaded.marginal(view)
        assert (ours.counts == theirs.counts).all()
        assert np.array_equal(ours.variance, theirs.variance, equal_nan=True)


OURS = [
    Newton(strength=2.0, bars=False),
    Ladder(first=1e-4),
    LeastSquares(solver="SCIPY"),
    LeastSquares(strength=3.0, time_limit=math.inf),
    MinimaxLP(time_limit=9.0),
    IPF(iterations=np.int64(77)),
    MirrorDescent(tolerance=0.5),
    LBFGS(),
    Cone(solver="SCS"),
    ClarabelDirect(),
    TrustExact(),
]


@pytest.mark.parametrize("solver", OURS, ids=lambda solver: type(solver).__name__)
def test_each_solver_of_the_library_comes_back_from_a_file(synopsis, solver, tmp_path):
    synopsis.with_reconstruction(solver).save(tmp_path / "x.margin")
    assert margin.load(tmp_path / "x.margin").reconstruction == solver


@pytest.mark.parametrize("solver", [LeastSquares(solver="SCIPY"), MinimaxLP()])
def test_a_loaded_release_answers_by_the_solver_that_it_was_saved_with(synopsis, solver, tmp_path):
    before = synopsis.with_reconstruction(solver)
    before.save(tmp_path / "x.margin")
    ours, theirs = (
        one.marginal(["age", "income", "children"])
        for one in (before, margin.load(tmp_path / "x.margin"))
    )
    assert (ours.counts == theirs.counts).all()
    assert np.array_equal(ours.variance, theirs.variance, equal_nan=True)


def _own(name):
    def solve(self, problem):
        return Solution(np.zeros(problem.shape), Status.FAILED, 0, 0, 0, 0, 0)

    return type(name, (), {"solve": solve})()


@pytest.mark.parametrize("name", ["Mine", "LeastSquares", "Newton"])
def test_a_users_own_solver_is_not_loaded_from_a_file_and_a_warning_says_so(
    synopsis, name, tmp_path
):
    synopsis.with_reconstruction(_own(name)).save(tmp_path / "x.margin")
    with pytest.warns(UserWarning, match=rf"solver {name},.*Newton.*with_reconstruction"):
        loaded = margin.load(tmp_path / "x.margin")
    assert loaded.reconstruction == Newton()


def test_the_command_line_warns_in_one_line_without_code(synopsis, tmp_path, capsys):
    synopsis.with_reconstruction(_own("Mine")).save(tmp_path / "x.margin")
    assert main(["info", str(tmp_path / "x.margin")]) == 0
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("margin: ") and "solver Mine" in line


def test_a_file_of_before_names_an_unknown_solver_without_a_mark(saved, tmp_path):
    contents = members(saved)
    manifest = json.loads(contents[_MANIFEST])
    manifest["synopsis"]["reconstruction"] = {"name": "Mine", "depth": 3}
    write(tmp_path / "x.margin", {**contents, _MANIFEST: json.dumps(manifest).encode()})
    with pytest.warns(UserWarning, match="solver Mine"):
        assert margin.load(tmp_path / "x.margin").reconstruction == Newton()


def test_the_file_holds_only_what_was_declared_or_paid_for(saved, synopsis, domain):
    contents = members(saved)
    assert set(contents) == {_MANIFEST, _TABLES, _CHECKSUMS}
    manifest = json.loads(contents[_MANIFEST])
    assert set(manifest) == {
        "format",
        "private",
        "version",
        "domain",
        "statement",
        "charge",
        "mechanism",
        "kind",
        "synopsis",
    }
    fields = {"reconstruction", "views", "variances", "kurtosis", "scales"}
    assert set(manifest["synopsis"]) == fields
    assert Domain(manifest["domain"]) == domain
    cells = np.load(io.BytesIO(contents[_TABLES]), allow_pickle=False)
    assert (
        cells.tolist() == np.concatenate([value.ravel() for value in synopsis.held.values]).tolist()
    )
    with zipfile.ZipFile(saved) as archive:
        assert {member.date_time for member in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}
    assert b"person " not in b"".join(contents.values())


def test_the_course_of_a_run_is_kept_beside_the_parameters(saved, synopsis):
    """Among the parameters of the mechanism, where versions that do not know it let it stand."""
    course = synopsis.provenance.course
    assert course.units == sum(step.units for step in course.steps) == synopsis.spent.units
    manifest = json.loads(members(saved)[_MANIFEST])
    assert manifest["mechanism"] == {**synopsis.provenance.mechanism, _COURSE: course.to_json()}
    loaded = margin.load(saved).provenance
    assert loaded.course == course and loaded.mechanism == synopsis.provenance.mechanism


def test_a_file_of_before_has_no_course(saved, synopsis):
    changed(saved, mechanism=synopsis.provenance.mechanism)
    assert margin.load(saved).provenance == dataclasses.replace(synopsis.provenance, course=None)


ASKED = ["age", "region"]


def test_a_loaded_synopsis_knows_how_much_reconstructions_miss(saved, synopsis, monkeypatch):
    loaded = margin.load(saved)
    expected = synopsis.marginal(ASKED).missed_variance
    monkeypatch.setattr(Structure, "_misses", lambda *key: pytest.fail("it learns again"))
    assert loaded.marginal(ASKED).missed_variance.tolist() == expected.tolist()


@pytest.mark.parametrize("older", [None, {"rule": 0, "learnt": [[1, 2, 9.0]]}], ids=["none", "0"])
def test_scales_of_older_files_are_learnt_again(saved, synopsis, older):
    repacked(saved, scales=older)
    expected = synopsis.marginal(ASKED).missed_variance
    assert margin.load(saved).marginal(ASKED).missed_variance.tolist() == expected.tolist()


@pytest.mark.parametrize("learnt", [[[1, 2, -1.0]], [[1, True, 1.0]], [[1, 2]], [["1", 2, 1.0]], 5])
def test_damaged_scales_are_a_typed_error(saved, learnt):
    repacked(saved, scales={"rule": STRUCTURE_RULE, "learnt": learnt})
    with pytest.raises(FileError):
        margin.load(saved)


def test_a_changed_copy_has_no_scales_of_the_file(saved):
    loaded = margin.load(saved)
    assert loaded.scales
    assert not loaded.with_reconstruction(Newton(strength=3.0)).scales


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
    with pytest.raises(margin.DomainError, match="that was loaded from a file does not hold them"):
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
    """Flip a byte in the middle of the array. Zip ignores some bytes outside of its members."""
    with zipfile.ZipFile(path) as archive:
        member = archive.getinfo(_TABLES)
    header = 30 + len(_TABLES)
    data = bytearray(path.read_bytes())
    data[member.header_offset + header + member.compress_size // 2] ^= 0xFF
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
    "wrong checksum": lambda path: write(
        path, {**members(path), _MANIFEST: b"{}"}, checksums=False
    ),
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
    "bad budget": lambda path: restated(path, budget={"kind": "pure", "epsilon": "-1"}),
    "another unit": lambda path: restated(path, unit="person"),
    "of a data set": lambda path: restated(path, unit="id", bound="each release", rows=None),
    "no digest": lambda path: restated(path, domain="sha256:" + "0" * 63),
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


@pytest.mark.parametrize(
    ("form", "version", "told"),
    [
        (4, "0.2.0", "has format 4, .* install margin 0.2.0, which wrote it"),
        (2, margin.__version__, "has format 2, .* install the commit of margin 0.1.0 that wrote"),
        # What a stranger wrote is not repeated.
        (4, "1\x1b[31m", "has format 4, .* install the version of margin that wrote it"),
        (4, 7, "has format 4, .* install the version of margin that wrote it"),
        ("\x1b", "0.2.0", "has another format, .* install margin 0.2.0"),
        (10**30, "0.2.0", "has another format, .* install margin 0.2.0"),
    ],
)
def test_a_file_of_another_format_says_which_version_wrote_it(saved, form, version, told):
    changed(saved, format=form, version=version)
    with pytest.raises(FileError, match=told) as refused:
        margin.load(saved)
    assert "reads only format 3;" in str(refused.value) and "\x1b" not in str(refused.value)


def test_a_file_that_was_written_before_is_still_read():
    """A file that this version cannot read must have another format number, and be refused for it.
    This one was written by margin 0.1.0."""
    old = margin.load(Path(__file__).with_name("release_of_format_3.zip"))
    assert old.provenance.version == "0.1.0" and old.provenance.token.sequence == 2
    assert old.provenance.statement.unit == "id"
    assert old.marginal(["sex"]).counts == pytest.approx([26.04439266689633, 56.9556073331036])


def test_a_missing_file_is_a_typed_error(tmp_path):
    with pytest.raises(FileError, match="does not exist"):
        margin.load(tmp_path / "none.margin")
    with pytest.raises(FileError):
        margin.load(tmp_path)


def test_what_cannot_be_written_is_a_typed_error_and_leaves_nothing(synopsis, tmp_path):
    with pytest.raises(FileError, match=r"the folder of .* must exist"):
        synopsis.save(tmp_path / "no folder" / "x.margin")
    (tmp_path / "folder").mkdir()
    with pytest.raises(FileError, match="is a folder"):
        synopsis.save(tmp_path / "folder")
    assert sorted(os.listdir(tmp_path)) == ["folder"] and not os.listdir(tmp_path / "folder")


def test_saving_again_replaces_the_file(saved, synopsis):
    synopsis.save(saved)
    assert isinstance(margin.load(saved), ViewSynopsis)
    assert os.listdir(saved.parent) == ["people.margin"]


@pytest.mark.parametrize("replace", [False, True])
@pytest.mark.parametrize("has_folders", [False, True])
def test_a_new_name_is_on_the_disk_when_saving_ends(
    synopsis, tmp_path, monkeypatch, replace, has_folders
):
    """First the content is written to the disk, then the folder that has the name already. A system
    that cannot open folders does without."""
    path = tmp_path / "x.margin"
    settled = []
    usual_open, usual_sync = os.open, os.fsync

    def opened(name, *more, **options):
        if not has_folders and os.path.isdir(name):
            raise PermissionError(13, "Permission denied")
        return usual_open(name, *more, **options)

    def synced(file):
        kind = "folder" if stat.S_ISDIR(os.fstat(file).st_mode) else "file"
        settled.append((kind, path.exists()))
        usual_sync(file)

    monkeypatch.setattr(os, "open", opened)
    monkeypatch.setattr(os, "fsync", synced)
    synopsis.save(path, replace=replace)
    assert settled == [("file", False), *([("folder", True)] if has_folders else [])]
    assert os.listdir(tmp_path) == ["x.margin"]


# Files of strangers


def header(shape, dtype="<f8"):
    """The first bytes of an .npy member."""
    text = (
        repr({"descr": dtype, "fortran_order": False, "shape": shape}).encode() + b" " * 50 + b"\n"
    )
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text


def with_manifest(change):
    """Change the text of the manifest, to make texts that `json` would not write."""

    def changing(path):
        contents = members(path)
        write(path, {**contents, _MANIFEST: change(contents[_MANIFEST].decode()).encode()})

    return changing


def with_tables(content):
    return lambda path: write(path, {**members(path), _TABLES: content})


def mixed_up_domain(path):
    manifest = json.loads(members(path)[_MANIFEST])
    names = list(manifest["domain"])
    rules = [{names[0]: "x", names[1]: "y"}]
    changed(path, domain={**manifest["domain"], "$impossible": rules})


@pytest.mark.parametrize("order", ["C", "F"])
def test_arrays_are_kept_in_either_order(tmp_path, order):
    codes = np.array([[0, 1], [1, 0], [1, 1]], np.int64, order=order)
    domain = Domain({"a": 2, "b": 2})
    made = margin.release(
        {"a": [0], "b": [1]}, domain=domain, budget=PureDP(1), mechanism=margin.HighPass(theta=3)
    )
    values = np.array([5, 6, 7])
    dataclasses.replace(made, codes=codes, values=values, agreed=None).save(tmp_path / "x.margin")
    loaded = margin.load(tmp_path / "x.margin")
    assert (loaded.codes == codes).all() and (loaded.values == values).all()


STEP = {"purpose": "", "method": "measure", "answers": 1, "units": 5}


CRAFTED = {
    "array of 10**13 numbers": with_tables(header((10**13,))),
    "array of 2**62 numbers": with_tables(header((1 << 62,))),
    "array whose size wraps": with_tables(header((1 << 32, 1 << 32)) + bytes(8)),
    "array of a negative size": with_tables(header((-1,))),
    "array of objects": with_tables(header((2,), "|O") + b"cos\nsystem\n"),
    "array of no bytes each": with_tables(header((1 << 60,), "|V0")),
    "array of Python 2": with_tables(header((1,)).replace(b"(1,)", b"(1L,)") + bytes(8)),
    "array with a deep header": with_tables(
        b"\x93NUMPY\x01\x00" + (60_000).to_bytes(2, "little") + b"(" * 60_000
    ),
    "array of version 3": with_tables(b"\x93NUMPY\x03\x00" + bytes(20)),
    "array of another name": lambda path: write(
        path, {**members(path), "more.npy": header((1,)) + bytes(8)}
    ),
    "path as a name": lambda path: write(
        path, {**members(path), "../../x.npy": header((1,)) + bytes(8)}
    ),
    "deep manifest": with_manifest(lambda _: "[" * 200_000 + "]" * 200_000),
    "deep mechanism": lambda path: with_manifest(
        lambda text: json.dumps({**json.loads(text), "mechanism": 0}).replace(
            '"mechanism": 0', '"mechanism": ' + "[" * 900 + "]" * 900
        )
    )(path),
    "long number": with_manifest(
        lambda text: text.replace('"children": 4', '"children": ' + "9" * 5000)
    ),
    "huge size": with_manifest(
        lambda text: text.replace('"children": 4', '"children": 2147483647')
    ),
    "sizes whose product is huge": lambda path: changed(
        path, domain={f"a{place}": 2**31 - 1 for place in range(50)}
    ),
    "not a number": with_manifest(lambda text: text.replace('"children": 4', '"children": NaN')),
    "domain is a list": lambda path: changed(path, domain=["age"]),
    "domain is nothing": lambda path: changed(path, domain=None),
    "domain is a draft": lambda path: changed(path, domain={"$draft": "x", "age": 2}),
    "rules of no category": mixed_up_domain,
    "description is a list": lambda path: changed(path, description=["people"]),
    **{
        f"course {place}": lambda path, course=course: changed(
            path, mechanism={"name": "Auto", _COURSE: course}
        )
        for place, course in enumerate(
            (
                [],
                {"units": 5},
                {"steps": [], "units": 5.0},
                {"steps": [], "units": 5, "more": 1},
                {"steps": ["measure"], "units": 5},
                {"steps": [{"purpose": "", "method": "measure", "answers": 1}], "units": 5},
                {"steps": [{**STEP, "answers": True}], "units": 5},
                {"steps": [{**STEP, "method": ["measure"]}], "units": 5},
            )
        )
    },
    "another domain": lambda path: changed(path, domain={"age": 2}),
    "signature without a file": lambda path: write(path, {"signature.json": b"{}"}),
}


@pytest.mark.parametrize("craft", CRAFTED.values(), ids=CRAFTED)
def test_a_crafted_file_is_a_typed_error(saved, craft):
    craft(saved)
    with pytest.raises(FileError, match=r"people\.margin"):
        margin.load(saved)


@pytest.mark.parametrize("kind", ["file", "fifo", "folder", "device"])
def test_a_text_in_place_of_a_domain_is_not_opened(saved, tmp_path, kind):
    """As a path it would be read: this could show a secret file or block on a pipe."""
    place = tmp_path / "private.json"
    if kind == "file":
        place.write_text('{"age": {"values": ["SECRET"]}}')
    elif kind == "fifo":
        os.mkfifo(place)
    elif kind == "folder":
        place.mkdir()
    else:
        place = "/dev/zero"
    changed(saved, domain=str(place))
    with pytest.raises(FileError) as refused:
        margin.load(saved)
    assert "SECRET" not in str(refused.value)


def bomb(path, name, content, *, lies=False, compression=zipfile.ZIP_DEFLATED):
    """Write a file with one very large member that compresses to a few bytes."""
    contents = {**members(path), name: content}
    sums = {
        it: hashlib.sha256(data).hexdigest() for it, data in contents.items() if it != _CHECKSUMS
    }
    contents[_CHECKSUMS] = json.dumps(sums).encode()
    with zipfile.ZipFile(path, "w", compression) as archive:
        for it, data in contents.items():
            archive.writestr(it, data)
    if lies:  # the list of members declares too few bytes
        told = len(content).to_bytes(4, "little")
        raw = path.read_bytes()
        assert raw.count(told) >= 2
        path.write_bytes(raw.replace(told, (200).to_bytes(4, "little")))


ZEROS = 1 << 26
BOMBS = {
    "array": (_TABLES, header((ZEROS // 8,)) + bytes(ZEROS), {}),
    "array that lies": (_TABLES, header((ZEROS // 8,)) + bytes(ZEROS), {"lies": True}),
    "manifest": (_MANIFEST, b" " * ZEROS, {}),
    "manifest that lies": (_MANIFEST, b" " * ZEROS, {"lies": True}),
    "checksums": (_SIGNATURE, b" " * ZEROS, {}),
    "another compression": (
        _TABLES,
        header((ZEROS // 8,)) + bytes(ZEROS),
        {"compression": zipfile.ZIP_LZMA},
    ),
}


@pytest.mark.parametrize(("name", "content", "how"), BOMBS.values(), ids=BOMBS)
def test_a_bomb_is_refused_before_it_is_inflated(saved, name, content, how):
    import tracemalloc

    bomb(saved, name, content, **how)
    assert saved.stat().st_size < ZEROS / 100
    tracemalloc.start()
    try:
        with pytest.raises(FileError):
            margin.load(saved)
        assert tracemalloc.get_traced_memory()[1] < ZEROS / 4
    finally:
        tracemalloc.stop()


def test_a_long_manifest_is_kept_as_it_is_and_read_again(table, domain, tmp_path, monkeypatch):
    """A reader can then refuse every long compressed text as a bomb."""
    monkeypatch.setattr("margin.store._DEFLATED", 300)
    path = tmp_path / "x.margin"
    margin.release(table, domain=domain, budget=PureDP(1), mechanism=PriView(views=VIEWS)).save(
        path
    )
    with zipfile.ZipFile(path) as archive:
        assert archive.getinfo(_MANIFEST).compress_type == zipfile.ZIP_STORED
        assert archive.getinfo(_TABLES).compress_type == zipfile.ZIP_DEFLATED
    assert margin.load(path).domain == domain


@pytest.mark.parametrize("error", [MemoryError, RecursionError, OverflowError, ZeroDivisionError])
@pytest.mark.parametrize("where", ["json.loads", "numpy.load", "margin.store.Domain"])
def test_whatever_a_file_makes_a_library_raise_is_a_typed_error(saved, monkeypatch, where, error):
    def raises(*_, **__):
        raise error

    monkeypatch.setattr(where, raises)
    says = "no more memory" if error is MemoryError else error.__name__
    with pytest.raises(FileError, match=says):
        margin.load(saved)


VALUES = [
    None,
    True,
    0,
    -1,
    1.5,
    10**400,
    "",
    "x",
    "/dev/zero",
    [],
    {},
    [[]],
    {"name": []},
    [None] * 9,
    1 << 62,
]


@pytest.mark.parametrize("seed", range(12))
def test_any_change_is_a_typed_error_or_a_synopsis(saved, tmp_path, seed):
    """The test changes random values of the manifest and random bytes of the members."""
    rng = np.random.default_rng(seed)
    contents = members(saved)
    path = tmp_path / "changed.margin"
    for _ in range(40):
        manifest = json.loads(contents[_MANIFEST])
        for _ in range(rng.integers(1, 3)):
            change_one(manifest, rng)
        made = {**contents, _MANIFEST: json.dumps(manifest).encode()}
        if rng.random() < 0.2:
            name = str(rng.choice(list(made)))
            raw = bytearray(made[name])
            raw[rng.integers(len(raw))] ^= 1 << rng.integers(8)
            made[name] = bytes(raw)
        write(path, made)
        with contextlib.suppress(FileError):
            assert margin.load(path, allow_simulation=True).domain


def change_one(value, rng):
    """Change one element of a JSON value, at any depth."""
    places = list(value) if isinstance(value, dict) else list(range(len(value)))
    if not places:
        return
    place = places[rng.integers(len(places))]
    if isinstance(value[place], dict | list) and value[place] and rng.random() < 0.7:
        change_one(value[place], rng)
    elif rng.random() < 0.15:
        del value[place]
    else:
        value[place] = copy.deepcopy(VALUES[rng.integers(len(VALUES))])
