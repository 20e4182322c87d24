from http.server import ThreadingHTTPServer

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
from command_line import HAS_KEYS

import margin
from margin.publication import publish, sign_folder
from margin.report import sign_page, write_report


@pytest.fixture(scope="module")
def made(table, domain, tmp_path_factory):
    """A folder with the files that the examples use."""
    folder = tmp_path_factory.mktemp("made")
    rows = table.append_column("person_id", pa.array(np.arange(len(table)) // 2))
    for name in ("people.csv", "public.csv"):
        pyarrow.csv.write_csv(rows, folder / name)
    pyarrow.parquet.write_table(rows, folder / "people.parquet")
    (folder / "domain.json").write_text(domain.to_json())
    (folder / "about.json").write_text('{"title": "People", "publisher": "Office"}')
    (folder / "changes.json").write_text('{"sex": {"women": "F"}}')
    pyarrow.csv.write_csv(pa.table({"sex": ["F", "M"], "count": [240, 260]}), folder / "states.csv")
    for name in ("people.margin", "last_year.margin"):
        margin.release(table, domain=domain, budget=margin.PureDP(1)).save(folder / name)
    visits = margin.Domain(
        {
            "place": {"levels": {"names": ["state", "county"], "paths": [["CA", "Napa"]]}},
            "visited": {"dates": {"from": "2020-01-01", "to": "2020-12-31", "by": "month"}},
            "sex": ["f", "m"],
        }
    )
    rows = {"place": ["Napa"] * 3, "visited": ["2020-04-01"] * 3, "sex": ["f", "m", "f"]}
    release = margin.release(rows, domain=visits, budget=margin.PureDP(1))
    release.save(folder / "visits.margin")
    margin.Ledger(folder / "agency.db").register("people", margin.PureDP(3))
    (folder / "releases").mkdir()
    publish(release, [["sex"]], folder / "tables", formats=["csv"])
    if HAS_KEYS:
        margin.keygen(folder / "agency.key")
        margin.sign(folder / "people.margin", folder / "agency.key")
        sign_folder(folder / "tables", folder / "agency.key")
        write_report(release, folder / "page.html")
        sign_page(folder / "page.html", folder / "agency.key")
    return folder


@pytest.fixture
def folder(made, tmp_path, monkeypatch):
    """A fresh folder with these files. No browser opens, and a server stops at once."""
    for path in made.iterdir():
        (tmp_path / path.name).symlink_to(path) if path.is_dir() else (
            tmp_path / path.name
        ).write_bytes(path.read_bytes())
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("webbrowser.open", lambda _: True)

    def interrupted(_):
        raise KeyboardInterrupt

    monkeypatch.setattr(ThreadingHTTPServer, "serve_forever", interrupted)
    return tmp_path
