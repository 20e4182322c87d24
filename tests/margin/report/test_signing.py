"""Signatures of pages: every change of a signed page is detected."""

import json
import re

import pytest

import margin
from margin import FileError, PureDP
from margin.cli.main import main
from margin.publication import publish
from margin.report import sign_page, verify_page, write_report
from margin.store import release_digest

MADE = margin.release({"a": [0, 1, 1, 0] * 10}, domain={"a": 2}, budget=PureDP(1))


@pytest.fixture
def keys(tmp_path):
    pytest.importorskip("cryptography", reason="cryptography is not installed")
    return tmp_path / "agency.key", margin.keygen(tmp_path / "agency.key")


@pytest.fixture
def page(tmp_path):
    write_report(MADE, tmp_path / "page.html")
    return tmp_path / "page.html"


def test_a_signed_page_is_valid_and_gives_its_content(page, keys):
    before = page.read_bytes()
    signature = sign_page(page, keys[0])
    assert page.read_bytes() == before
    assert signature == page.with_name("page.html.sig")
    assert verify_page(page, keys[1])["title"] == "page"
    other = margin.keygen(page.with_name("other.key"))
    with pytest.raises(FileError, match="do not trust it"):
        verify_page(page, other)


@pytest.mark.parametrize("place", [0, 1 / 4, 1 / 2, 3 / 4, 1])
@pytest.mark.parametrize("which", ["page.html", "page.html.sig"])
def test_no_byte_can_be_changed_added_or_removed(page, keys, which, place):
    sign_page(page, keys[0])
    path = page.with_name(which)
    written = path.read_bytes()
    at = min(int(place * len(written)), len(written) - 1)
    start, byte, end = written[:at], written[at], written[at + 1 :]
    for changed in (start + bytes([byte ^ 1]) + end, start + end, start + b"8" + written[at:]):
        path.write_bytes(changed)
        with pytest.raises(FileError, match="do not trust it"):
            verify_page(page, keys[1])


def test_a_page_without_signature_and_a_page_of_another_kind_are_told(page, keys, tmp_path):
    with pytest.raises(FileError, match=r"no file 'page\.html\.sig' beside it"):
        verify_page(page, keys[1])
    other = tmp_path / "other.html"
    for text in ("<p>page</p>", '<script type="application/json" id="data">{</script>'):
        other.write_text(text)
        with pytest.raises(FileError, match="must be a page that margin report wrote"):
            sign_page(other, keys[0])
    with pytest.raises(FileError, match="cannot be read"):
        sign_page(tmp_path / "none.html", keys[0])
    simulated = margin.simulate({"a": [0, 1]}, domain={"a": 2}, budget=PureDP(1), seed=0)
    write_report(simulated.synopsis, other)
    with pytest.raises(FileError, match="that of a simulation"):
        sign_page(other, keys[0])
    assert not other.with_name("other.html.sig").exists()


def test_a_signature_for_another_purpose_is_not_valid_for_a_page(page, keys, monkeypatch):
    monkeypatch.setattr("margin.report.signing._CONTEXT", b"margin file, signature 1\n")
    sign_page(page, keys[0])
    monkeypatch.undo()
    with pytest.raises(FileError, match="do not trust it"):
        verify_page(page, keys[1])


def test_the_page_the_folder_and_the_file_name_the_same_release(page, keys, tmp_path, capsys):
    MADE.save(tmp_path / "made.margin")
    publish(MADE, [["a"]], tmp_path / "tables")
    digest = release_digest(MADE)
    assert re.fullmatch("sha256:[0-9a-f]{64}", digest)
    for name in ("made.margin", "tables", "page.html"):
        assert main(["sign", str(tmp_path / name), "--key", str(keys[0])]) == 0
        assert "signed" in capsys.readouterr().out
        options = ["verify", str(tmp_path / name), "--key", str(keys[1])]
        assert main(options) == 0
        said = capsys.readouterr().out
        assert f"\nrelease: {digest}\n" in said and "factor of at most 2.72" in said
        assert main([*options, "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["release"] == digest
