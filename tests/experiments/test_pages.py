"""Every measured figure of a results page comes from a kept reading."""

import dataclasses

import pytest

from experiments.tools import page_tools, readings, trace
from experiments.tools.manifest import entry, summary
from experiments.tools.pages import page
from experiments.tools.readings import Claim, Readings, load, picture_name, save
from experiments.tools.study import MISSING, bad, sweep

TEMPLATES = list(trace.pages())
HAND_WRITTEN = list(trace.by_hand())
ROWS = (
    {"table": "a", "epsilon": 0.5, "error": 1.0},
    {"table": "a", "epsilon": 0.5, "error": 2.0},
    {"table": "b", "epsilon": 1, "error": ""},
)
MANIFEST = {"dates": ["2026-01-02", "2026-01-02"], "commit": ["c"], "machine": ["m; 2 cores"],
            "libraries": ["numpy 2"], "python": ["3"], "keys": 3, "cpu_seconds": 1.5}  # fmt: skip
STUDY = Readings(
    title="T",
    about="On X.",
    claims=(Claim(claim="A is best.", measured="1 to 3", holds=True, detail="1, 2, 3"),),
    rows=ROWS,
    manifest=MANIFEST,
)


@pytest.mark.parametrize(("template", "made"), TEMPLATES, ids=[p.stem for _, p in TEMPLATES])
def test_a_page_has_the_figures_of_the_readings_and_no_others(template, made):
    text = template.read_text()
    assert trace.untraced(text) == []
    expected = trace.rendered(text, readings.kept(), template)
    assert made.read_text() == expected, "run `python -m experiments pages`"


@pytest.mark.parametrize("page", HAND_WRITTEN, ids=lambda page: page.name)
def test_a_page_that_is_written_by_hand_has_no_measured_figures(page):
    found = trace.untraced(trace.text_of(page))
    name = page.relative_to(trace.DOCS.parent).as_posix().removeprefix("docs/")
    if name in trace.NOT_TRACED:
        assert found, "all its figures are traced: take it from the list"
    else:
        assert found == [], "declare what is given, take the others from a reading, or drop them"


@pytest.mark.parametrize(
    "page", [*(template for template, _ in TEMPLATES), *HAND_WRITTEN], ids=lambda page: page.name
)
def test_what_is_declared_as_given_is_in_the_text(page):
    assert trace.declared_in_vain(trace.text_of(page)) == []


def test_a_page_that_is_not_traced_is_there_and_has_a_reason():
    assert all((trace.DOCS / name).exists() for name in trace.NOT_TRACED)
    assert all(trace.NOT_TRACED.values())


def test_the_readings_are_small_and_say_how_they_were_made():
    files = list(readings.READINGS.glob("*.json"))
    assert files and sum(path.stat().st_size for path in files) < 1_000_000
    for path in files:
        manifest = load(path).manifest
        assert manifest["keys"] > 0 and manifest["commit"] and manifest["machine"], path.name


def test_readings_are_read_as_they_were_saved(tmp_path):
    save(STUDY, tmp_path / "one.json")
    assert load(tmp_path / "one.json") == STUDY


def test_a_reading_is_the_mean_of_the_rows_that_match():
    assert STUDY("error", table="a", epsilon=0.5) == 1.5
    with pytest.raises(LookupError, match="no row"):
        STUDY("error", table="b")
    with pytest.raises(LookupError, match="no row"):
        STUDY("error", table="c")
    assert STUDY.claim("best").measured == "1 to 3"
    with pytest.raises(LookupError, match="0 claims"):
        STUDY.claim("worst")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("an error of 0.27", ["0.27"]),
        ("takes 38 s, or 1,200 seconds", ["38", "1,200"]),
        ("lower by 30 %, 3 times", ["30", "3"]),
        ("22 of 24 rounds", ["22 of 24"]),
        ("| 5 | .25 |", ["5", ".25"]),
        ("13 percent lower, 300 ns a row", ["13", "300"]),
        ("| 1,649 | **38** | about 5 |", ["1,649", "38"]),
        ("k = 3 and `0.27`, [text](page2.5.md), $0.5 x$, <!-- 0.3 -->", []),
        ('{{ study("error") | .2f }} and version 2', []),
        ("<!-- given: 0.27; 38 -->\n0.27 in 38 s, then 0.28", ["0.28"]),
        ("---\ntitle: T\n---\n<!-- given: 0.27 -->\n0.27, then 0.28", ["0.28"]),
        ("```\nx = 0.5\n```\n", []),
    ],
)
def test_a_figure_in_the_text_is_found_unless_it_is_given(text, found):
    assert trace.untraced(text) == found


def test_expressions_are_replaced_and_paragraphs_filled(tmp_path):
    text = (
        "# T\n\nThe error\nis {{ study('error', table='a') | .2f }}.\n\n{{ claims(study) }}\n\n"
        "Not\nfilled.\n"
    )
    made = trace.rendered(text, {"study": STUDY}, tmp_path / "t.md")
    assert "The error is 1.50.\n" in made and "Not\nfilled.\n" in made
    assert "| A is best | 1 to 3 | yes |" in made
    details = trace.rendered("{{ details('study', study) }}", {"study": STUDY}, tmp_path / "t.md")
    assert (
        "- A is best: 1, 2, 3." in details and "Measurements: 3; processor seconds: 2." in details
    )
    with pytest.raises(NameError):
        trace.rendered("{{ other('error') }}", {}, tmp_path / "t.md")


def test_a_page_leaves_readings_that_can_be_kept(tmp_path, monkeypatch):
    monkeypatch.setattr(readings, "READINGS", tmp_path / "readings")
    monkeypatch.setattr(readings, "FIGURES", tmp_path)
    results = tmp_path / "results"
    sweep(results / "rows.csv", measure, [{"k": 4}, {"k": 6}])
    (results / "one.png").write_bytes(b"picture")
    claim = Claim(claim="C.", measured="m", holds=True)
    rows = [{"k": "4", "error": "0.25"}, {"k": "6", "error": ""}]
    page(results / "page.md", title="T", about="A.", claims=[claim], rows=rows,
         pictures=[results / "one.png", results / "one.svg"])  # fmt: skip
    copies = readings.keep("study", results)
    assert [path.name for path in copies] == ["study.json", "study-one.png"]
    found = readings.kept()["study"]
    assert found("error", k=4) == 0.25 and found.manifest["keys"] == 2
    assert found.claims == (claim,) and found.pictures == ("one.png",)


def measure(k):
    return {"error": k}


def test_a_long_list_of_claims_begins_with_those_that_do_not_hold():
    claims = [
        Claim(claim=f"C{n}.", measured=str(n), holds=[True, False, None][n % 3]) for n in range(7)
    ]
    study = Readings(title="T", about="", claims=tuple(claims), manifest=MANIFEST)
    text = page_tools.claims(study)
    shown, _, folded = text.partition("<details")
    assert shown.startswith("3 of 5 claims of the paper hold; these do not:")
    assert "| C1 |" in shown and "| C4 |" in shown and "| C0 |" not in shown
    assert "| C0 |" in folded and "| C2 | 2 | not tested |" in folded and "| C1 |" not in folded


def test_claims_of_the_paper_and_ours_are_counted_apart():
    claims = [
        Claim(claim="A.", measured="1", holds=True),
        Claim(claim="B.", measured="1", holds=False),
        Claim(claim="C (our claim).", measured="1", holds=True),
        Claim(claim="D (E; our claim).", measured="1", holds=None),
    ]
    study = Readings(title="T", about="", claims=tuple(claims), manifest=MANIFEST)
    counted = "1 of 2 claims of the paper hold, and 1 of 1 of ours"
    assert page_tools.held({"one": study}, "one") == counted


def test_a_study_that_was_broken_off_says_so():
    assert page_tools.unfinished(STUDY).startswith("All measurements")
    notes = ("x", "4 measurements of the study were not run.")
    broken = dataclasses.replace(STUDY, notes=notes)
    assert "3 measurements were made and 4 were not" in page_tools.unfinished(broken)


def test_a_study_that_was_broken_off_continues_from_its_kept_rows(tmp_path, monkeypatch):
    for name in ("READINGS", "FIGURES", "ROWS"):
        monkeypatch.setattr(readings, name, tmp_path / name)
    results = tmp_path / "results"
    sweep(results / "rows.csv", measure, [{"k": 4}])
    page(results / "page.md", title="T", about="", notes=bad([MISSING]))
    assert len(readings.keep("study", results)) == 3  # the readings, the rows, the manifest

    later = tmp_path / "later"
    later.mkdir()
    readings.continued("study", later)
    assert (later / "rows.csv").read_bytes() == (results / "rows.csv").read_bytes()
    assert not readings.continued("study", later)  # it has rows of its own now
    page(results / "page.md", title="T", about="")
    assert len(readings.keep("study", results)) == 1
    assert not readings.continued("study", tmp_path / "READINGS")


def test_the_errors_of_two_methods_are_compared_panel_by_panel():
    rows = [
        {"panel": panel, "method": method, "mean": mean}
        for panel, method, mean in (
            ("k = 4", "a", 2.0),
            ("k = 4", "b", 1.0),
            ("k = 6", "a", 3.0),
            ("k = 8", "a", 3.0),
            ("k = 8", "b", 1.0),
        )
    ]
    study = Readings(title="T", about="", rows=tuple(rows), manifest=MANIFEST)
    assert page_tools.span(study, "a", "b") == "2 to 3"
    assert page_tools.span(study, "a", "b", "k = 8") == "3"
    with pytest.raises(LookupError, match="no panel"):
        page_tools.span(study, "a", "b", "k = 6")


def test_a_manifest_adds_up_with_the_last_line_of_a_key():
    lines = [entry({"k": 4}, 2.0), entry({"k": 6}, None), entry({"k": 4}, 3.0)]
    found = summary(lines)
    assert (found["keys"], found["untimed"], found["cpu_seconds"]) == (2, 1, 3.0)
    assert len(found["commit"]) == len(found["machine"]) == 1
    assert summary([entry({"k": 4}, None)])["cpu_seconds"] is None


def test_names_of_pictures():
    assert picture_name("figure2", "figure2-l2.png") == "figure2-l2.png"
    assert picture_name("dualquery_figure2", "figure2.png") == "dualquery-figure2.png"
    assert picture_name("dpsense", "ndcg.png") == "dpsense-ndcg.png"
