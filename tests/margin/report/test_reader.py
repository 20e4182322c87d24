"""What a reader who has only the page, or only the folder, is told, sees and can save."""

import csv
import hashlib
import re
import zipfile
from xml.etree import ElementTree

import numpy as np
import pytest
from browsing import (
    choose,
    chosen_file,
    having,
    held,
    in_colours,
    open_page,
    pick,
    printed,
    rows_of,
    share_of_line,
    texts,
    tick_category,
    until,
    written,
)

import margin
from margin import Domain, PriView, PureDP
from margin.cli.main import main
from margin.domain.bounds import whole_bounds
from margin.publication import publish
from margin.publication.adding import ADDED_UP
from margin.report import Imprint, write_report
from margin.report.content import content
from margin.store import release_digest

DOMAIN = Domain(
    {
        "place": {"values": ["Elm", "Fenby", "Weir"], "description": "of residence"},
        "age": {"bins": [0, 16, 45, 65, 80, None]},
        "work": {"values": ["under 16", "employed", "retired"]},
        "person": 60,
    }
)
IMPRINT = Imprint(publisher="Office", licence="CC BY 4.0", contact="statistics@example.org")


@pytest.fixture(scope="module")
def synopsis():
    """One view holds place, age and work; "person" was measured alone."""
    rng = np.random.default_rng(0)
    rows = {
        "place": rng.choice(["Elm", "Fenby", "Weir"], 4000, p=[0.6, 0.3, 0.1]),
        "age": rng.integers(0, 90, 4000),
        "person": rng.integers(0, 60, 4000),
    }
    rows["work"] = np.where(rows["age"] < 16, "under 16", rng.choice(["employed", "retired"], 4000))
    mechanism = PriView(views=[["place", "age", "work"], ["person"]])
    return margin.release(rows, domain=DOMAIN, budget=PureDP(1), mechanism=mechanism)


UNSAID = "The publisher has not said what a row stands for (a person, a household, an answer)."


@pytest.mark.parametrize("description", [None, "A row is a person."])
@pytest.mark.parametrize("contact", [None, "statistics@example.org"])
@pytest.mark.parametrize("unit", [None, "who"])
def test_a_page_and_a_folder_say_once_that_nobody_told_what_a_row_is(
    tmp_path, description, contact, unit
):
    rows = {"a": [0, 1, 1], "who": [1, 2, 2]}
    ours = {} if unit is None else {"unit": unit, "rows_per_person": 2}
    made = margin.release(rows, domain={"a": 2}, budget=PureDP(1), **ours)
    imprint = Imprint(description=description, contact=contact)
    write_report(made, tmp_path / "r.html", imprint=imprint)
    publish(made, [["a"]], tmp_path / "out", imprint=imprint)
    page = (tmp_path / "r.html").read_text().partition('<script type="application/json"')[0]
    (said,) = (part.partition("</p>")[0] for part in page.split('<p id="unsaid"')[1:])
    readme = " ".join((tmp_path / "out" / "README.txt").read_text().split())
    for text in (said, readme):
        assert text.count(UNSAID) == (description is None)
        told = f"Rows with the same “{unit}” belong together." in text
        assert told is (description is None and unit is not None)
        unsaid = description is None
        assert ("Ask them: " in text) is (unsaid and contact is not None)
        assert ("Ask whoever gave this to you." in text) is (unsaid and contact is None)
    assert ('href="mailto:statistics@example.org"' in said) is (bool(contact) and not description)
    assert said.startswith(' class="warning" hidden') is (description is not None)
    # Whoever explores a release is no reader of a publication.
    assert content(made, title="t", live=True)["unsaid"] == ""


def test_a_page_and_a_folder_of_one_release_name_one_digest(synopsis, tmp_path):
    synopsis.save(tmp_path / "x.margin")
    loaded = margin.load(tmp_path / "x.margin")
    digest = release_digest(synopsis)
    with zipfile.ZipFile(tmp_path / "x.margin") as file:
        sums = hashlib.sha256(file.read("checksums.json"))
    assert digest == release_digest(loaded) == f"sha256:{sums.hexdigest()}"
    again = margin.simulate(
        {"a": [0]}, domain={"a": 2}, budget=PureDP(1), mechanism=margin.Auto(), seed=1
    )
    assert release_digest(again.synopsis) != digest
    write_report(synopsis, tmp_path / "r.html")
    manifest = publish(loaded, [["age"]], tmp_path / "out")
    (said,) = {
        held((tmp_path / "r.html").read_text())["imprint"]["Release"],
        manifest["imprint"]["Release"],
    }
    assert said.startswith(f"{digest}. ") and "belong together" in said
    assert said in (tmp_path / "out" / "README.txt").read_text()


def test_both_say_which_numbers_to_quote_and_what_noise_does(synopsis, tmp_path):
    write_report(synopsis, tmp_path / "r.html")
    publish(synopsis, [["age", "work"]], tmp_path / "out")
    page = " ".join((tmp_path / "r.html").read_text().split())
    readme = " ".join((tmp_path / "out" / "README.txt").read_text().split())
    assert "Quote a single number, or a sum with its bounds, from this page." in page
    assert "Quote a single number, or a sum with its bounds, from the page" in readme
    for text in (page, readme):
        assert "tables whose totals must agree" in text
        assert text.count(ADDED_UP) == (text is page)
    assert "About 1 in 20 bounds misses the true number." in readme
    assert "a combination that cannot occur may have a small count" in readme
    assert "the noise of the release has no seed" in readme


def test_files_have_the_bounds_of_the_page(synopsis, tmp_path):
    """They differ only where agreement moved a count beyond them."""
    views = [["place", "age"], ["age", "work"], ["place", "person"], ["age", "person", "work"]]
    manifest = publish(synopsis, views, tmp_path / "out", formats=["csv"])
    for entry in manifest["tables"]:
        with (tmp_path / "out" / entry["files"]["csv"]["name"]).open(encoding="utf-8") as file:
            _, *lines = csv.reader(file)
        count, low, high = np.array([line[-3:] for line in lines], float).T
        marginal = synopsis.marginal(entry["attributes"])
        least, most = (bound.ravel() for bound in whole_bounds(*marginal.interval(0.95)))
        assert (low == np.minimum(least, count)).all()
        assert (high == np.maximum(most, count)).all()


@pytest.mark.parametrize("coverage", [None, "a <tenth> of all"])
@pytest.mark.parametrize("row_name", ["rows", "homes"])
def test_a_page_says_whether_it_counts_all_or_a_sample(synopsis, tmp_path, coverage, row_name):
    imprint = Imprint(coverage=coverage, row_name=row_name)
    write_report(synopsis, tmp_path / "r.html", imprint=imprint)
    before, *_ = (tmp_path / "r.html").read_text().split("<script>")
    said = f"Which {row_name} are in the table: a &lt;tenth&gt; of all."
    unsaid = f"has not said whether the table has all such {row_name} or a sample of them."
    assert (said in before, unsaid in before) == (coverage is not None, coverage is None)
    assert f"The numbers count {row_name} in the table." in before
    # Whoever compares with another page is told what is valid.
    assert "To compare with another page, such as that of last year, take measured" in before


@pytest.mark.parametrize("has_base", [False, True])
def test_the_total_claims_no_more_than_its_source(tmp_path, has_base):
    """With a base, bounds hold on average; without one, with a probability."""
    rows, domain = {"a": [0, 1] * 50}, {"a": 2}
    base = margin.release(rows, domain=domain, budget=PureDP(1)) if has_base else None
    made = margin.release(rows, domain=domain, budget=PureDP(1), base=base)
    write_report(made, tmp_path / "r.html")
    before, *_ = (tmp_path / "r.html").read_text().split("<script>")
    assert (" in all: with a probability of about 95 %, the true" in before) is not has_base
    assert (" in all: by bounds that hold for 95 % of such numbers on" in before) is has_base


def test_the_commands_name_what_readers_are_not_told(synopsis, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    synopsis.save("people.margin")
    options = ["description", "population", "coverage", "period", "publisher", "contact", "licence"]
    given = [part for name in options for part in (f"--{name}", "something")]
    for command in (["report"], ["publish", "--tables", "1way", "-o", "out"]):
        name, *more = command
        assert main([name, "people.margin", *more, "--force"]) == 0
        error = capsys.readouterr().err
        assert all(f"(--{option})" in error for option in options)
        assert "nobody has said what a row is: add --description" in error
        assert main([name, "people.margin", *more, "--force", *given]) == 0
        assert "readers" not in capsys.readouterr().err
    # A page and a folder without a title have the same one.
    assert (tmp_path / "out" / "README.txt").read_text().startswith("people\n")
    assert "<h1>people</h1>" in (tmp_path / "people.html").read_text()


# In a real browser


@pytest.fixture
def opened(browser, synopsis, tmp_path):
    """The page of the release in the browser."""
    write_report(synopsis, tmp_path / "r.html", title=tmp_path.name, imprint=IMPRINT)
    browser.set_window_size(1280, 900)
    open_page(browser, tmp_path / "r.html")
    return browser


def drawn_values(browser):
    """What the chart draws, line by line."""
    return browser.execute_script("return charted(700).spec.data.values")


@pytest.mark.slow
def test_the_chart_shows_percentages_with_their_bounds_on_one_scale(opened, synopsis):
    pick(opened, DOMAIN, ["place", "work"])
    assert texts(opened, "#scale option") == ["counts", "percentages of all rows"]
    assert {value["text"] for value in drawn_values(opened)} == {row[0] for row in rows_of(opened)}
    choose(opened, "whole", "0")
    # Whoever chooses what percentages are of sees them in the chart.
    assert opened.execute_script("return document.getElementById('scale').value") == "share"
    assert texts(opened, "#scale option")[1] == "percentages of each place"
    until(lambda: "% within place" in texts(opened, "#chart text"))
    values = drawn_values(opened)
    table = synopsis.marginal(["place", "work"])
    places = synopsis.marginal(["place"])
    low, high = whole_bounds(*table.interval(0.95))
    least, most = (ends[:, None] for ends in whole_bounds(*places.interval(0.95)))
    shares = table.counts / table.counts.sum(axis=1, keepdims=True)
    for name, expected in (
        ("value", shares),
        ("low", low / most),
        ("high", np.minimum(high / least, 1)),
    ):
        assert [value[name] for value in values] == pytest.approx(expected.ravel().tolist())
    # Words and numbers are those of the table.
    assert [value["text"] for value in values] == texts(opened, "#table td.share")
    assert [value["bounds"] for value in values] == texts(opened, "#table td.ends")
    # All panels have one scale: the widths of bars are proportional to the percentages.
    script = """return [...document.querySelectorAll("#chart .mark-rect[aria-roledescription] path,"
        + "#chart .role-mark.mark-rect path")].map((bar) => bar.getBBox().width)"""
    widths = np.array(opened.execute_script(script))
    assert len(widths) == len(values)
    assert widths / widths.max() == pytest.approx(shares.ravel() / shares.max(), abs=0.01)
    choose(opened, "scale", "count")
    until(lambda: "% within place" not in texts(opened, "#chart text"))
    assert {value["text"] for value in drawn_values(opened)} == {row[0] for row in rows_of(opened)}
    # Percentages of estimates would invite to compare groups.
    pick(opened, DOMAIN, ["place", "person"])
    assert texts(opened, "#scale option") == ["counts"]
    assert not [entry for entry in opened.get_log("browser") if entry["level"] == "SEVERE"]


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("scale", ["count", "share"])
def test_a_saved_chart_says_what_it_is_and_whose(opened, tmp_path, scheme, scale):
    in_colours(opened, scheme)
    pick(opened, DOMAIN, ["place", "age"])
    choose(opened, "scale", scale)
    opened.execute_script("document.getElementById('save-chart').click()")
    kind = "chart" if scale == "count" else "percentages"
    file = opened.downloads / f"{tmp_path.name}-place-age-{kind}.svg"
    until(written(file))
    text = file.read_text("utf-8")
    root = ElementTree.fromstring(text)
    words = " ".join("".join(one.itertext()) for one in root.iter() if one.tag.endswith("}text"))
    start = "Counts by" if scale == "count" else "Percentages of all rows by"
    assert words.startswith(f"{tmp_path.name} {start} place and age ")
    # A reader who does not see it hears what it shows; who sees it is told what its lines are.
    assert root.get("role") == "img" and root[0].tag.endswith("}title")
    assert root[0].text == f"{tmp_path.name}: {start} place and age"
    legend = "The thin line on each bar goes from the low to the high bound."
    # A map of colours has no lines.
    assert (legend in words) is (scale == "share")
    assert "The chart shows" not in words
    assert "Elm" in words and "45 to under 65" in words and "place: of residence" in words
    assert "random noise added on purpose" in words and UNSAID in words
    assert f"Source: Office: {tmp_path.name} (" in words and words.endswith("Licence: CC BY 4.0")
    # Paper is white, whatever colours the screen has, and no colour depends on the page.
    assert "var(" not in text and root[1].get("fill") == "#ffffff"
    assert float(root.get("height")) > float(root[-1].get("y"))
    in_colours(opened, "light")


@pytest.mark.slow
def test_the_sum_of_chosen_lines_is_quoted_and_saved(opened, synopsis, tmp_path):
    pick(opened, DOMAIN, ["place", "work"])
    tick_category(opened, 0, "Elm")
    for label in ("employed", "retired"):
        tick_category(opened, 1, label)
    chosen = synopsis.count({"place": "Elm", "work": ["employed", "retired"]})
    low, high = whole_bounds(*chosen.interval(0.95))
    what = "place: Elm; work: employed or retired"
    have = having({"place": ["Elm"], "work": ["employed", "retired"]})
    quoted = f"“Among those counted, about {chosen.estimate:,.0f} rows have {have}. "
    bounds = f"the true number is from {low:,.0f} to {high:,.0f};"
    assert quoted in texts(opened, "#quoted")[0] and bounds in texts(opened, "#quoted")[0]

    def said(*whole):
        line = {"place": "Elm", "work": ["employed", "retired"]}
        _, least, most = share_of_line(synopsis, line, whole)
        return f"{np.floor(1000 * least) / 10:.1f}% to {np.ceil(1000 * most) / 10:.1f}%"

    everybody = synopsis.count({}).estimate
    share = f"{said()} of all rows have {have}."
    (added,) = texts(opened, "#total")
    assert f" The percentage of the sum is {100 * chosen.estimate / everybody:.1f}%:" in added
    (quoted,) = texts(opened, "#quoted-share")
    assert share in added and f"% of the rows have {have}. With a probability" in quoted
    assert f"the true percentage is from {said()};" in quoted
    choose(opened, "whole", "0")
    work = having({"work": ["employed", "retired"]})
    share = f"{said('place')} of all rows with place Elm have {work}."
    assert share in texts(opened, "#total")[0]
    choose(opened, "whole", "1")
    assert f"of all rows with {work} have place Elm." in " ".join(texts(opened, "#total"))
    # The file has the order of the table, and its last line.
    opened.execute_script("document.querySelector('#table thead th.number button').click()")
    opened.execute_script("document.getElementById('download-chosen').click()")
    file = chosen_file(opened, f"{tmp_path.name}-place-work")
    assert file.stem.endswith("-place_Elm_work_employed_or_retired")
    lines = list(csv.reader(file.read_text("utf-8-sig").splitlines()))
    shown, added = rows_of(opened), texts(opened, "#table tfoot tr > *")
    expected = printed(synopsis.marginal(["place", "work"]))[1:3]
    assert sorted(shown) == sorted(expected)
    # The file says in columns of its own what the percentage is of, and which lines were chosen.
    head, *rest = [line[-1] for line in lines]
    assert head == "chosen" and {*rest} == {what}
    name = added[0].partition("; its percentage is of ")[0]
    assert lines[-1][:2] == [name, ""] and lines[-1][3:5] == [
        number.replace(",", "") for number in added[2:4]
    ]
    assert [line[2:5] for line in lines[1:-1]] == [
        [number.replace(",", "") for number in row] for row in shown
    ]
    # Without chosen lines, the largest line is quoted, and there is no such download.
    pick(opened, DOMAIN, ["work"])
    assert not opened.find_element("id", "download-chosen").is_displayed()
    table = synopsis.marginal(["work"])
    largest = DOMAIN["work"].captions[int(table.counts.argmax())]
    assert f"rows have work {largest}. " in texts(opened, "#quoted")[0]


@pytest.mark.slow
def test_a_search_finds_meanings_and_all_categories(opened):
    search = """const search = document.getElementById("search");
        search.value = arguments[0]; search.dispatchEvent(new Event("input"));"""
    place = "place3 categoriesof residence"
    for wanted, found in [
        ("65", ["age“65 to under 80”, “45 to under 65”"]),
        ("residence", [place]),
        ("16", ["age“16 to under 45”, “0 to under 16”", "work“under 16”", "person“16”"]),
        ("5", ["age“16 to under 45”, “45 to under 65”, “65 to under 80”", "person"]),
    ]:
        opened.execute_script(search, wanted)
        shown = texts(opened, "#attributes label:not([hidden])")
        assert len(shown) == len(found) and all(map(str.startswith, shown, found)), shown
    assert shown[1] == "person“5”, “50”, “51” and 12 more"
    opened.execute_script(search, "")
    assert texts(opened, "#attributes label")[0] == place


@pytest.mark.slow
@pytest.mark.parametrize(
    ("searched", "found"),
    [
        ("places", ["place"]),
        ("residences", ["place"]),
        ("residence place", ["place"]),
        ("employed", ["work"]),
        ("works employed", []),
        ("zs", []),
    ],
)
def test_a_search_finds_plurals_and_single_words(opened, searched, found):
    box = opened.find_element("id", "search")
    box.clear()
    box.send_keys(searched)
    shown = "#attributes label:not([hidden])"
    names = opened.execute_script(
        "return Array.from(document.querySelectorAll(arguments[0]), (e) => e.childNodes[1].data)",
        shown,
    )
    assert names == found


@pytest.mark.slow
@pytest.mark.parametrize(
    ("bins", "shown"),
    [
        ([0, 9000, 12000, None], ["0 to under 9,000", "9,000 to under 12,000", "12,000 or more"]),
        ([1950, 1990, 2030], ["1950 to under 1990", "1990 to 2030"]),
        ([0, 10000.5, 1234567], ["0 to under 10,000.5", "10,000.5 to 1,234,567"]),
    ],
)
def test_limits_of_bands_have_marks_of_thousands_on_the_page_alone(browser, tmp_path, bins, shown):
    """Limits of four digits may be years. Files have the labels of the release."""
    domain = Domain({"x": {"bins": bins}, "code": ["12000 to 13000", "b"]})
    rows = {"x": [bins[0], bins[1]] * 50, "code": ["b"] * 100}
    whole = PriView(views=[domain.attributes])
    made = margin.release(rows, domain=domain, budget=PureDP(1), mechanism=whole)
    write_report(made, tmp_path / "r.html", title=tmp_path.name)
    open_page(browser, tmp_path / "r.html")
    pick(browser, domain, ["x"])
    assert texts(browser, "#table tbody th") == shown
    until(lambda: {*shown} <= {*texts(browser, "#chart .role-axis-label text")})
    files = {}
    for name in ("download", "download-all"):
        browser.execute_script("document.getElementById(arguments[0]).click()", name)
        file = browser.downloads / f"{tmp_path.name}-{'x' if name == 'download' else 'all'}.csv"
        until(written(file))
        files[name] = list(csv.DictReader(file.read_text("utf-8-sig").splitlines()))
    labels = list(domain["x"].captions)
    assert [line["x"] for line in files["download"]] == labels
    assert {line["x"] for line in files["download-all"]} == {*labels, ""}
    # A search takes both, and other labels are left alone.
    browser.find_element("id", "search").send_keys(shown[-1])
    assert texts(browser, "#unfound") == [""]
    pick(browser, domain, ["code"])
    assert texts(browser, "#table tbody th") == ["12000 to 13000", "b"]


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_meanings_and_percentages_have_no_barriers(opened, width, scheme):
    axe = pytest.importorskip("axe_core_python.selenium", reason="axe-core-python is not installed")
    in_colours(opened, scheme)
    opened.set_window_size(width, 900)
    pick(opened, DOMAIN, ["place", "work"])
    choose(opened, "whole", "0")
    until(lambda: "% within place" in texts(opened, "#chart text"))
    options = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]}
    assert axe.Axe().run(opened, options=options)["violations"] == []
    assert opened.execute_script("return document.documentElement.scrollWidth <= window.innerWidth")
    in_colours(opened, "light")


@pytest.mark.slow
def test_a_wide_table_cuts_no_percentages(browser, tmp_path):
    labels = ["a category", "another one"]
    domain = Domain({f"attribute{place}": {"values": labels} for place in range(6)})
    rows = dict.fromkeys(domain, labels * 100)
    made = margin.release(
        rows, domain=domain, budget=PureDP(1), mechanism=PriView(views=[domain.attributes])
    )
    write_report(made, tmp_path / "r.html")
    browser.set_window_size(1280, 900)
    open_page(browser, tmp_path / "r.html")
    sizes = """const box = document.getElementById("table").parentElement;
        return [...box.classList, box.scrollWidth - box.clientWidth];"""
    for many, classes in ((2, []), (4, ["tight"]), (6, ["tight", "stacked"])):
        pick(browser, domain, domain.attributes[:many])
        found = browser.execute_script(sizes)
        assert [one for one in found if one not in ("scroll", "more")] == [*classes, 0]
    # What a wide table has no room for stands below the count, as on a narrow screen.
    assert browser.find_element("css selector", "#table td.number .narrow").is_displayed()


@pytest.mark.slow
def test_the_page_says_how_often_bounds_miss(opened):
    pick(opened, DOMAIN, ["age", "work"])
    (said,) = texts(opened, "#misses")
    assert said.startswith("About 1 in 20 bounds misses the true number. ")
    assert said.endswith("can show a small count, and bounds above 0, because of the noise.")
    pick(opened, DOMAIN, ["age"])
    assert texts(opened, "#misses") == ["About 1 in 20 bounds misses the true number."]
    # In one reconstructed table, many may miss, as the box above it says.
    pick(opened, DOMAIN, ["place", "person"])
    (said,) = texts(opened, "#misses")
    assert (
        "misses the true number" not in said
        and "many may lie outside" in texts(opened, "#status")[0]
    )


@pytest.mark.slow
@pytest.mark.parametrize("private", [True, False])
def test_the_page_says_that_small_numbers_may_be_printed(browser, synopsis, tmp_path, private):
    """Of a release only, and not of numbers without noise."""
    simulated = margin.simulate({"a": [0, 1]}, domain={"a": 2}, budget=PureDP(1), seed=1).synopsis
    write_report(synopsis if private else simulated, tmp_path / "r.html")
    open_page(browser, tmp_path / "r.html")
    (said,) = texts(browser, "#printing")
    begin = "A small number may be printed, too, with its bounds, if the low one is above 0: "
    assert said.startswith(begin) is private
    assert ("however small it is. It says little if its bounds are as far apart" in said) is private


@pytest.mark.slow
def test_no_small_number_is_spoken_of_where_all_are_public(browser, tmp_path):
    rows = {"a": [0, 1, 1], "b": [0, 1, 1]}
    domain = Domain({"a": 2, "b": 2}, known={("a",): [1, 2]})
    made = margin.release(
        rows, domain=domain, budget=PureDP(1), mechanism=PriView(views=[["a", "b"]])
    )
    write_report(made, tmp_path / "r.html")
    open_page(browser, tmp_path / "r.html")
    for names, is_public in ((["a"], True), (["a", "b"], False)):
        pick(browser, domain, names)
        assert (texts(browser, "#printing") == [""]) is is_public


@pytest.mark.slow
@pytest.mark.parametrize("contact", [None, "statistics@example.org"])
def test_the_page_and_the_folder_say_which_attributes_have_no_meaning(
    browser, synopsis, tmp_path, contact
):
    start = "The publisher has not declared what "
    end = "If the text at the top does not tell it, ask "
    end += f"them: {contact}" if contact else "whoever gave this to you."
    imprint = Imprint(contact=contact)
    write_report(synopsis, tmp_path / "r.html", title=tmp_path.name, imprint=imprint)
    open_page(browser, tmp_path / "r.html")
    for names, said in (
        (["place"], ""),
        (["place", "age"], "age means, such as its unit, time or place. "),
        (["age", "work"], "age and work mean, such as their unit, time or place. "),
    ):
        pick(browser, DOMAIN, names)
        found = [text for text in texts(browser, "#meanings p") if text.startswith(start)]
        assert [text.startswith(f"{start}{said}{end}") for text in found] == [True] * bool(said)
    browser.execute_script("document.getElementById('download-meaning').click()")
    file = browser.downloads / f"{tmp_path.name}-columns.txt"
    until(written(file))
    text = file.read_text("utf-8")
    assert f"{start}age, work, and person mean, such as their unit, time or place. {end}" in text
    assert "because some spreadsheets take a number such as 16.9 for a date." in text
    publish(synopsis, [["place", "age"], ["place"]], tmp_path / "out", imprint=imprint)
    readme = " ".join((tmp_path / "out" / "README.txt").read_text().split())
    assert f"- place: of residence {start}age means, such as its unit" in readme and end in readme
    # A folder of explained attributes has no such sentence.
    publish(synopsis, [["place"]], tmp_path / "told", imprint=imprint)
    assert start not in (tmp_path / "told" / "README.txt").read_text()


@pytest.mark.slow
def test_a_count_that_may_be_of_nobody_is_marked(opened):
    """Where the low bound is 0, noise alone can make the count."""
    for names, alone in ((["place", "age", "work"], "noise"), (["place", "person"], "an estimate")):
        pick(opened, DOMAIN, names)
        script = "return Array.from(document.querySelectorAll('#table tbody tr'), (line) => "
        script += (
            "[line.querySelector('.nobody') !== null, line.querySelector('.bound').innerText])"
        )
        lines = opened.execute_script(script)
        assert [is_marked for is_marked, _ in lines] == [low == "0" for _, low in lines]
        assert any(is_marked for is_marked, _ in lines)
        (said,) = texts(opened, "#small")
        assert said.startswith("* The low bound is not above 0, so there may be no such rows: ")
        assert f"{alone} alone can make such a count. Do not write that there are some." in said
    # A quoted count of this kind says it, too, and another one does not.
    pick(opened, DOMAIN, ["age", "work"])
    assert "Beware" not in texts(opened, "#quoted")[0]
    tick_category(opened, 0, "0 to under 16")
    tick_category(opened, 1, "retired")
    (quoted,) = texts(opened, "#quoted")
    assert " Beware: The low bound is not above 0" in quoted
    # The sentence has bounds only: an estimate would say that there are some.
    assert re.search("“Among those counted, 0 to [0-9]+ rows have ", quoted), quoted
    pick(opened, DOMAIN, ["age"])
    assert texts(opened, "#small") == [""] and texts(opened, "#table .nobody") == []


@pytest.mark.slow
def test_columns_are_explained_by_the_sources_that_occur(browser, tmp_path):
    rows = {"a": [0, 1] * 50, "b": [0, 1] * 50}
    made = margin.release(rows, domain={"a": 2, "b": 2}, budget=PureDP(1))
    write_report(made, tmp_path / "r.html", title=tmp_path.name)
    open_page(browser, tmp_path / "r.html")
    browser.execute_script("document.getElementById('download-meaning').click()")
    file = browser.downloads / f"{tmp_path.name}-columns.txt"
    until(written(file))
    text = file.read_text("utf-8")
    assert "  measured: Measured" in text and UNSAID in text
    for source in ("known", "impossible", "based", "reconstructed", "assumed", "answered"):
        assert f"\n  {source}: " not in text
