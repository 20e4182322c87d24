"""Signatures: every change of a signed file is detected."""

import hashlib
import io
import json
import os
import stat
import sys
import zipfile

import numpy as np
import pytest

import margin
from margin import FileError, PureDP, signature, store
from margin.cli.main import main
from margin.publication import publish, sign_folder, verify_folder
from margin.report import write_report

DOMAIN = margin.Domain({"a": 2})
TABLE = {"a": [0, 1, 1, 0] * 10}


@pytest.fixture
def keys(tmp_path):
    pytest.importorskip("cryptography", reason="cryptography is not installed")
    public = margin.keygen(tmp_path / "agency.key")
    return tmp_path / "agency.key", public


@pytest.fixture
def signed(keys, tmp_path):
    path = tmp_path / "x.margin"
    margin.release(TABLE, domain=DOMAIN, budget=PureDP(1)).save(path)
    margin.sign(path, keys[0])
    return path


def members(path):
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def write(path, contents):
    """Write a file of these members with matching checksums."""
    others = {
        name: data
        for name, data in contents.items()
        if name not in ("checksums.json", "signature.json")
    }
    sums = json.dumps(
        {name: hashlib.sha256(data).hexdigest() for name, data in others.items()}, indent=1
    )
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in {**contents, "checksums.json": sums.encode()}.items():
            archive.writestr(name, data)


def test_a_signed_file_is_verified_and_read_like_any_other(signed, keys):
    synopsis = margin.verify(signed, keys[1])
    assert (synopsis.marginal(["a"]).counts == margin.load(signed).marginal(["a"]).counts).all()
    margin.sign(signed, keys[0])
    assert margin.verify(signed, keys[1]).spent == PureDP(1)


def test_a_signature_changes_nothing_that_is_signed(signed, keys, tmp_path):
    before = members(signed)
    margin.sign(signed, keys[0])
    assert members(signed) == before, "Ed25519 is deterministic"
    margin.load(signed).save(tmp_path / "again.margin")
    assert members(tmp_path / "again.margin").keys() == before.keys() - {"signature.json"}


def flipped_to_a_release(contents):
    manifest = json.loads(contents["manifest.json"])
    return {**contents, "manifest.json": json.dumps({**manifest, "version": "9"}).encode()}


def another_count(contents):
    array = np.load(io.BytesIO(contents["tables.npy"]))
    array[0] += 1
    buffer = io.BytesIO()
    np.save(buffer, array)
    return {**contents, "tables.npy": buffer.getvalue()}


SIGNATURES = {
    "empty": b"",
    "no JSON": b"{",
    "no object": b"[]",
    "another kind": b'{"kind": "rsa", "signature": "00"}',
    "no digits": b'{"kind": "ed25519", "signature": "zz"}',
    "no text": b'{"kind": "ed25519", "signature": 7}',
    "zeros": json.dumps({"kind": "ed25519", "signature": "00" * 64}).encode(),
    "too deep": b"[" * 100_000,
}
FORGERIES = {
    "a fact": flipped_to_a_release,
    "a count": another_count,
    **{
        f"signature: {name}": (lambda it, text=text: {**it, "signature.json": text})
        for name, text in SIGNATURES.items()
    },
}


@pytest.mark.parametrize("change", FORGERIES.values(), ids=FORGERIES)
def test_a_forgery_is_refused(signed, keys, change):
    write(signed, change(members(signed)))
    with pytest.raises(FileError, match="do not trust"):
        margin.verify(signed, keys[1])


def test_a_simulation_that_was_made_a_release_by_hand_is_seen(signed, keys, tmp_path):
    forged = tmp_path / "forged.margin"
    margin.simulate(TABLE, domain=DOMAIN, budget=PureDP(1), seed=3).save(forged)
    with pytest.raises(FileError, match="simulation"):
        margin.sign(forged, keys[0])
    contents = members(forged)
    manifest = {**json.loads(contents["manifest.json"]), "private": True}
    contents["manifest.json"] = json.dumps(manifest).encode()
    write(forged, contents)
    assert margin.load(forged), "nothing but a signature shows it"
    with pytest.raises(FileError, match="must be signed, but it is not"):
        margin.verify(forged, keys[1])
    write(forged, {**contents, "signature.json": members(signed)["signature.json"]})
    with pytest.raises(FileError, match="do not trust"):
        margin.verify(forged, keys[1])


def test_another_key_is_refused(signed, tmp_path):
    with pytest.raises(FileError, match="do not trust"):
        margin.verify(signed, margin.keygen(tmp_path / "other.key"))


@pytest.mark.parametrize(
    "text", [b"", b"no key", b"-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n"]
)
def test_what_is_no_key_is_refused_and_not_quoted(signed, keys, tmp_path, text):
    (tmp_path / "bad").write_bytes(text)
    for call in (margin.sign, margin.verify):
        with pytest.raises(FileError, match=r"key file .*bad' does not hold a"):
            call(signed, tmp_path / "bad")
        with pytest.raises(FileError, match="cannot be read"):
            call(signed, tmp_path / "none")
    with pytest.raises(FileError, match="does not hold a secret Ed25519 key"):
        margin.sign(signed, keys[1])
    with pytest.raises(FileError, match="does not hold a public Ed25519 key") as refused:
        margin.verify(signed, keys[0])
    assert keys[0].read_text().splitlines()[1] not in str(refused.value)


def test_the_other_key_of_a_pair_is_named(signed, keys):
    secret, public = keys
    with pytest.raises(FileError, match=r"give the public key '.*agency\.key\.pub'$"):
        margin.verify(signed, secret)
    with pytest.raises(FileError, match=r"give the secret key '.*agency\.key'$"):
        margin.sign(signed, public)


def test_keys_are_never_replaced_and_the_secret_one_is_its_owners(keys, tmp_path):
    assert stat.S_IMODE(os.stat(keys[0]).st_mode) == 0o600
    before = keys[0].read_bytes(), keys[1].read_bytes()
    with pytest.raises(FileError, match="never replaced"):
        margin.keygen(keys[0])
    keys[1].unlink()
    with pytest.raises(FileError, match="never replaced"):
        margin.keygen(keys[0])
    assert keys[0].read_bytes() == before[0] and not keys[1].exists()
    (tmp_path / "new.key.pub").write_text("mine")
    with pytest.raises(FileError, match="never replaced"):
        margin.keygen(tmp_path / "new.key")
    assert not (tmp_path / "new.key").exists()


def test_the_commands(signed, keys, tmp_path, capsys):
    assert main(["verify", str(signed), "--key", str(keys[1]), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["statement"]["rows"] == 1
    margin.load(signed).save(signed)
    assert main(["verify", str(signed), "--key", str(keys[1])]) == 2
    assert main(["sign", str(signed), "--key", str(keys[0])]) == 0
    assert main(["verify", str(signed), "--key", str(keys[1])]) == 0
    assert "Protects one row" in capsys.readouterr().out


def test_without_its_package_it_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "cryptography.hazmat.primitives", None)
    for call in (
        lambda: margin.keygen(tmp_path / "k"),
        lambda: margin.sign(tmp_path / "x", tmp_path / "k"),
        lambda: margin.verify(tmp_path / "x", tmp_path / "k"),
    ):
        with pytest.raises(FileError, match="run pip install cryptography"):
            call()


def test_a_simulation_signed_by_hand_is_none(keys, tmp_path):
    """`sign` refuses a simulation. The holder of the key can still sign it by other means."""
    path = tmp_path / "simulated.margin"
    margin.simulate(TABLE, domain=DOMAIN, budget=PureDP(1), seed=1).synopsis.save(path)
    contents = store.read(path)
    made = signature.secret_key(keys[0]).sign(signature._CONTEXT + contents.checksums)
    written = json.dumps({"kind": "ed25519", "signature": made.hex()}).encode()
    store.write(path, contents._replace(signature=written))
    text = signature._CONTEXT + contents.checksums
    assert signature.is_signed(signature.public_key(keys[1]), store.read(path).signature, text)
    with pytest.raises(FileError, match="simulation"):
        margin.verify(path, keys[1])


# Folders


@pytest.fixture
def tables(keys, tmp_path):
    made = margin.release(TABLE, domain=DOMAIN, budget=PureDP(1))
    publish(made, [["a"]], tmp_path / "tables", formats=["csv", "json-stat"])
    return tmp_path / "tables"


def test_a_signed_folder_is_verified(tables, keys, capsys):
    assert main(["sign", str(tables), "--key", str(keys[0])]) == 0
    assert main(["verify", str(tables), "--key", str(keys[1])]) == 0
    out = capsys.readouterr().out
    manifest = json.loads((tables / "manifest.json").read_text())
    assert "valid signature" in out and "all 3 files are as signed" in out
    assert manifest["privacy"] in out
    assert verify_folder(tables, keys[1]) == manifest
    # Signing again writes the same bytes.
    before = (tables / "manifest.json.sig").read_bytes()
    sign_folder(tables, keys[0])
    assert (tables / "manifest.json.sig").read_bytes() == before


FOLDER_CHANGES = {
    "a count": lambda folder: change(folder / "001-a.csv", b"0,", b"1,"),
    "a readme": lambda folder: change(folder / "README.txt", b"a", b"b"),
    "the manifest": lambda folder: change(folder / "manifest.json", b"true", b"false"),
    "a space in the manifest": lambda folder: change(folder / "manifest.json", b"}", b" }"),
    "the signature": lambda folder: change(folder / "manifest.json.sig", b"ed25519", b"ed448"),
    "no text": lambda folder: (folder / "manifest.json.sig").write_bytes(b"\xff"),
    "no signature": lambda folder: (folder / "manifest.json.sig").unlink(),
    "a file less": lambda folder: (folder / "001-a.json").unlink(),
    "a file more": lambda folder: (folder / "002-b.csv").write_text("b,count"),
    "a folder more": lambda folder: (folder / "more").mkdir(),
    "no manifest": lambda folder: (folder / "manifest.json").unlink(),
}


def change(path, old, new):
    text = path.read_bytes()
    assert old in text
    path.write_bytes(text.replace(old, new, 1))


@pytest.mark.parametrize("changed", FOLDER_CHANGES.values(), ids=FOLDER_CHANGES.keys())
def test_every_change_of_a_signed_folder_is_detected(tables, keys, changed, capsys):
    sign_folder(tables, keys[0])
    changed(tables)
    with pytest.raises(FileError):
        verify_folder(tables, keys[1])
    assert main(["verify", str(tables), "--key", str(keys[1])]) == 2
    assert capsys.readouterr().err.startswith("margin: ")


def test_a_folder_is_signed_as_it_was_published_and_with_the_right_key(tables, keys, tmp_path):
    sign_folder(tables, keys[0])
    other = margin.keygen(tmp_path / "other.key")
    with pytest.raises(FileError, match="another key"):
        verify_folder(tables, other)
    change(tables / "001-a.csv", b"0,", b"1,")
    with pytest.raises(FileError, match="it was changed"):
        sign_folder(tables, keys[0])


@pytest.mark.parametrize(
    ("manifest", "message"),
    [
        ({"private": False}, "simulation"),
        ({"private": "yes"}, "simulation"),
        ({"tables": [{"files": [1]}]}, "must be the manifest"),
        ({"readme": {}}, "must be the manifest"),
        ({"readme": {"name": "../agency.key", "sha256": ""}}, "is missing|is not listed"),
        ({"format": "margin publication 9"}, "must be the manifest"),
        (None, "must be the manifest"),
    ],
)
def test_what_is_no_published_release_is_not_signed(tables, keys, manifest, message):
    held = json.loads((tables / "manifest.json").read_text())
    written = "[" if manifest is None else json.dumps({**held, **manifest})
    (tables / "manifest.json").write_text(written)
    with pytest.raises(FileError, match=message):
        sign_folder(tables, keys[0])
    assert not (tables / "manifest.json.sig").exists()


def test_signatures_of_files_and_folders_are_different(tables, signed, keys):
    """Neither can be passed off as the other."""
    moved = members(signed)["signature.json"]
    (tables / "manifest.json.sig").write_bytes(moved)
    checksums = members(signed)["checksums.json"]
    (tables / "manifest.json").write_bytes(checksums)
    with pytest.raises(FileError, match="another key"):
        verify_folder(tables, keys[1])


@pytest.mark.parametrize("kind", ["file", "folder", "page"])
def test_signing_again_says_if_another_signature_is_replaced(kind, keys, tmp_path, capsys):
    """The same key gives the same content the same signature, so nothing is said of it."""
    made = margin.release(TABLE, domain=DOMAIN, budget=PureDP(1))
    path = {"file": tmp_path / "x.margin", "folder": tmp_path / "t", "page": tmp_path / "x.html"}[
        kind
    ]
    {
        "file": lambda: made.save(path),
        "folder": lambda: publish(made, [["a"]], path),
        "page": lambda: write_report(made, path),
    }[kind]()
    margin.keygen(tmp_path / "other.key")
    digests = set()
    for key, is_replaced in ((keys[0], False), (keys[0], False), (tmp_path / "other.key", True)):
        line = [str(path), "--key", str(key)]
        assert main(["sign", *line, "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["replaced"] == is_replaced
        assert main(["verify", str(path), "--key", f"{key}.pub", "--json"]) == 0
        digests.add(json.loads(capsys.readouterr().out)["release"])
    assert len(digests) == 1
    assert main(["sign", str(path), "--key", str(keys[0])]) == 0
    assert "an earlier signature, of another key" in capsys.readouterr().out
    assert main(["verify", str(path), "--key", f"{tmp_path / 'other.key'}.pub"]) == 2
