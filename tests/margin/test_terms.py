"""Who publishes a table, and under which licence, is in the files that have a place for it."""

import datetime
import json

import pyarrow.parquet
import pytest

import margin
from margin import PureDP
from margin.publication import Imprint, publish
from margin.store import release_digest

FULL = {
    "publisher": "Office of Statistics",
    "contact": "stat@example.org",
    "licence": "CC BY 4.0",
    "citation": "Office (2026)",
    "description": "A row is a resident",
    "population": "All residents.",
    "coverage": "all of them",
    "period": "1 July 2025",
    "source": "the register",
}
CASES = {
    "full": FULL,
    "link": {**FULL, "licence": "https://example.org/licence"},
    "none": {},
}


@pytest.fixture(scope="module")
def synopsis():
    return margin.release(
        {"sex": [0, 1], "town": [1, 1]}, domain={"sex": 2, "town": 3}, budget=PureDP(1)
    )


@pytest.fixture(params=CASES)
def folder(request, synopsis, tmp_path):
    said = CASES[request.param]
    imprint = Imprint(date=datetime.date(2026, 1, 31), **said)
    manifest = publish(
        synopsis, [["sex", "town"]], tmp_path / "out", title="People", imprint=imprint
    )
    expected = {
        "title": "People: sex, town",
        "issued": "2026-01-31",
        "isPartOf": release_digest(synopsis),
        "bibliographicCitation": manifest["imprint"]["How to cite"],
    }
    if said:
        expected |= {
            "abstract": "A row is a resident. Population: All residents. Coverage: all of them.",
            "publisher": said["publisher"],
            "temporal": said["period"],
            "source": said["source"],
            "license": said["licence"],
            "contactPoint": said["contact"],
        }
    return tmp_path / "out", manifest, expected


def test_parquet_and_json_stat_have_the_terms_of_dublin_core(folder):
    path, _, expected = folder
    schema = pyarrow.parquet.read_schema(path / "001-sex-town.parquet")
    assert json.loads(schema.metadata[b"margin"])["dcterms"] == expected
    stat = json.loads((path / "001-sex-town.json").read_text("utf-8"))
    assert stat["extension"]["dcterms"] == expected
    assert (stat["label"], stat["updated"]) == (expected["title"], expected["issued"])
    assert stat.get("source") == expected.get("publisher")


def test_csvw_has_the_terms_of_dublin_core(folder):
    csvw = pytest.importorskip("csvw", reason="csvw is not installed")
    path, manifest, expected = folder
    read = csvw.Table.from_file(path / "001-sex-town.csv-metadata.json")
    found = dict(read.common_props)
    # What a reader may do with the table is the licence alone.
    assert found.pop("skos:note") == manifest["privacy"] and "dc:rights" not in found
    assert manifest["meaning"] in found.pop("dc:description")
    assert found.pop("dc:issued") == {"@value": expected.pop("issued"), "@type": "xsd:date"}
    if "publisher" in expected:
        assert found.pop("dc:publisher") == {"schema:name": expected.pop("publisher")}
        assert found.pop("dcat:contactPoint") == {"vcard:fn": expected.pop("contactPoint")}
        licence = expected.pop("license")
        is_link = licence.startswith("https:")
        assert found.pop("dc:license") == ({"@id": licence} if is_link else licence)
    assert found == {f"dc:{term}": text for term, text in expected.items()}
