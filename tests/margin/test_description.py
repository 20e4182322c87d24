"""Descriptions of attributes: declared once, shown on pages and in folders, and equal to nothing
else that a domain declares."""

import json

import numpy as np
import pyarrow.parquet
import pytest

import margin
from margin import Domain, DomainError, PureDP
from margin.cli.main import main
from margin.domain.attribute import Attribute
from margin.privacy.statement import digest
from margin.publication import publish
from margin.report.content import content

PATHS = [["CA", "Napa"], ["NV", "Clark"]]
KINDS = {
    "size": {"size": 4},
    "values": {"values": ["f", "m"], "missing": "?"},
    "spellings": {"values": {"f": ["F"], "m": []}},
    "bins": {"bins": [0, 1000, None], "labels": ["low", "high"], "ordered": True},
    "dates": {"dates": {"from": "2025-01-01", "to": "2025-12-31", "by": "month"}},
    "levels": {"levels": {"names": ["state", "county"], "paths": PATHS}},
}
UNIT = "net income, EUR a month"


@pytest.mark.parametrize("kind", KINDS)
def test_a_description_survives_and_changes_no_category(kind, tmp_path):
    plain, described = (
        Domain({"a": KINDS[kind]}),
        Domain({"a": {**KINDS[kind], "description": UNIT}}),
    )
    assert described["a"].description == UNIT and plain["a"].description is None
    # It stands in the JSON of a domain that has it, and in no other.
    assert "description" not in plain.to_json()
    assert Domain.from_json(described.to_json())["a"].description == UNIT
    (tmp_path / "d.json").write_text(described.to_json())
    assert Domain(tmp_path / "d.json")["a"].to_json() == described["a"].to_json()
    assert digest(plain) != digest(described)
    # Equality is for categories.
    assert plain == described and hash(plain) == hash(described)
    assert plain["a"].labels == described["a"].labels
    for level in described["a"].levels.names if described["a"].levels else ():
        assert described["a"].at_level(level).description == UNIT
        assert plain["a"].at_level(level).description is None


def test_the_digest_of_a_domain_without_descriptions_is_that_of_earlier_versions():
    assert digest(Domain({"a": 2}))[:15] == "sha256:7e8059f4"
    listed = Domain({"sex": ["F", "M"], "age": {"bins": [0, 18, None], "other": "?"}})
    assert json.loads(listed.to_json()) == {
        "sex": ["F", "M"],
        "age": {"bins": [0, 18, None], "other": "?"},
    }


@pytest.mark.parametrize("text", ["", "  ", "x" * 201, "two\nlines", "turned \u202e", 5, ["EUR"]])
def test_what_is_no_description_is_refused(text):
    with pytest.raises(DomainError, match="'a': a description must be a text of 1 to 200 "):
        Domain({"a": {"size": 2, "description": text}})


@pytest.mark.parametrize(
    "text", ["x" * 200, "€ / Monat", "größer als \N{GREEK SMALL LETTER ALPHA}"]
)
def test_a_description_may_be_in_any_language(text):
    assert Attribute(size=2, description=text).description == text


DOMAIN = {
    "income": {"bins": [0, 1000, 8000], "description": UNIT},
    "sex": ["f", "m"],
    "place": {**KINDS["levels"], "description": "place of residence"},
}


@pytest.fixture(scope="module")
def release():
    codes = np.random.default_rng(0).integers(0, (2, 2, 2), (100, 3))
    rows = {name: np.array(["f", "m"])[codes[:, 1]] if name == "sex" else None for name in DOMAIN}
    rows["income"] = np.array([10, 2000])[codes[:, 0]]
    rows["place"] = np.array(["Napa", "Clark"])[codes[:, 2]]
    return margin.release(rows, domain=DOMAIN, budget=PureDP(1))


def test_the_files_of_a_folder_say_it(release, tmp_path):
    release.save(tmp_path / "r.margin")
    views = [["income", "sex"], ["place@state", "sex"]]
    publish(margin.load(tmp_path / "r.margin"), views, tmp_path / "t")
    told = {
        "001-income-sex": {"income": UNIT},
        "002-place_state-sex": {"place@state": "a level of place (place of residence)"},
    }
    for name, expected in told.items():
        (attribute,) = expected
        columns = json.loads((tmp_path / "t" / f"{name}.csv-metadata.json").read_text())
        said = [one["dc:description"] for one in columns["tableSchema"]["columns"]]
        assert said[:2] == [f"{attribute}: {expected[attribute]}", "sex"]
        stat = json.loads((tmp_path / "t" / f"{name}.json").read_text())["dimension"]
        assert stat[attribute]["note"] == [expected[attribute]] and "note" not in stat["sex"]
        metadata = pyarrow.parquet.read_schema(tmp_path / "t" / f"{name}.parquet").metadata
        assert json.loads(metadata[b"margin"])["attributes"] == expected
    readme = (tmp_path / "t" / "README.txt").read_text()
    assert f"\n\n- income: {UNIT}\n- place: place of residence\n\n" in readme
    manifest = json.loads((tmp_path / "t" / "manifest.json").read_text())
    assert manifest["domain"]["income"]["description"] == UNIT


def test_a_folder_names_only_the_attributes_of_its_tables(release, tmp_path):
    publish(release, [["sex"]], tmp_path / "t")
    files = [path.read_text() for path in (tmp_path / "t").iterdir() if path.suffix == ".txt"]
    files += [path.read_text() for path in (tmp_path / "t").glob("001-*.json")]
    assert files and not any(UNIT in text or "residence" in text for text in files)
    (parquet,) = (tmp_path / "t").glob("*.parquet")
    told = json.loads(pyarrow.parquet.read_schema(parquet).metadata[b"margin"])
    assert "attributes" not in told


def test_the_page_and_the_command_say_it(release, tmp_path, capsys):
    held = content(release, title="t", live=False)["attributes"]
    told = {one["name"]: one["description"] for one in held}
    residence = "place of residence"
    assert told == {"income": UNIT, "sex": None, "place": residence, "place@state": residence}
    release.save(tmp_path / "r.margin")
    assert main(["info", str(tmp_path / "r.margin")]) == 0
    assert (
        f"meaning     income: {UNIT}\n            place: {residence}\n" in capsys.readouterr().out
    )


def test_a_base_may_lack_the_description(release):
    plain = {name: dict(form) if isinstance(form, dict) else form for name, form in DOMAIN.items()}
    del plain["income"]["description"]
    rows = {"income": [10], "sex": ["f"], "place": ["Napa"]}
    again = margin.release(rows, domain=plain, budget=PureDP(1), base=release)
    assert again.domain["income"].description is None
    assert again.domain["place"].description == "place of residence"
