"""What a reader is told of those whom counts count, and in which words, numbers and colours."""

import html
import itertools
import re
from xml.etree import ElementTree

import numpy as np
import pytest
from browsing import (
    held,
    open_page,
    pick,
    put_together,
    texts,
    tick_category,
    until,
    written,
)
from hypothesis import given
from hypothesis import strategies as st

import margin
from margin import DataError, Domain, PriView, PureDP
from margin.privacy.statement import Statement
from margin.publication import publish
from margin.publication.coverage import covered
from margin.publication.units import by_unit, units
from margin.report import Imprint, write_report

DOMAIN = Domain(
    {
        "district": {"values": ["Lakeland", "Portside", "The Moors"]},
        "wait": {"bins": [0, 7, 30, 90, 180, None]},
        "kind": {"values": ["emergency", "outpatient", "dental"]},
        "travel": {"values": ["by public transport", "on foot", "antidisestablishmentarian"]},
    }
)
IMPRINT = Imprint(
    row_name="visits",
    unit_name="patient",
    population="Adults of Westmere",
    coverage="all visits",
    contact="statistics@example.org",
)


@pytest.fixture(scope="module")
def released():
    """One view holds district, wait and kind; travel was measured with the district alone."""
    rng = np.random.default_rng(5)
    rows = {
        "id": np.repeat(np.arange(2000), 3),
        "district": rng.choice(DOMAIN["district"].captions, 6000, p=[0.2, 0.6, 0.2]),
        "wait": rng.integers(0, 250, 6000),
        "kind": rng.choice(DOMAIN["kind"].captions, 6000, p=[0.3, 0.5, 0.2]),
        "travel": rng.choice(DOMAIN["travel"].captions, 6000),
    }
    return margin.release(
        rows,
        domain=DOMAIN,
        budget=PureDP(2),
        mechanism=PriView(views=[["district", "wait", "kind"], ["district", "travel"]]),
        unit="id",
        rows_per_person=2,
    )


@given(
    rows=st.lists(st.integers(1, 9), min_size=1, max_size=30),
    limit=st.integers(2, 5),
    below=st.integers(0, 20),
    above=st.integers(0, 20),
)
def test_the_number_of_units_is_between_the_two_numbers_that_are_told(rows, limit, below, above):
    """The bounds hold whenever those of the counted rows do, whether or not rows are left out."""
    statement = Statement(budget=PureDP(1, rows_per_person=limit), unit="id")
    counted = sum(min(own, limit) for own in rows)
    low, high = counted - below, counted + above
    said = units(statement, "visits", "patient", low=low, high=high)
    least, most = map(int, re.search(r"from (\d+) to (\d+) by", said).groups())
    assert least <= len(rows) <= most
    # The lower number is reached if all have as many rows as are counted.
    full = limit * len(rows)
    said = units(statement, "visits", "patient", low=full, high=full)
    assert f"from {len(rows)} to {full} by these bounds" in said


@pytest.mark.parametrize(
    ("unit", "limit", "stated"),
    [(None, 1, False), *itertools.product(["id"], [1, 3], [False, True])],
)
def test_a_page_and_a_folder_say_that_rows_are_not_units(tmp_path, unit, limit, stated):
    rows = {"a": [0, 1, 1, 0], "id": [1, 2, 2, 3]}
    ours = {} if unit is None else {"unit": unit, "rows_per_person": limit, "no_more_rows": stated}
    made = margin.release(rows, domain={"a": 2}, budget=PureDP(1), **ours)
    write_report(made, tmp_path / "r.html", imprint=IMPRINT)
    publish(made, [["a"]], tmp_path / "out", imprint=IMPRINT)
    text = (tmp_path / "r.html").read_text()
    readme = " ".join((tmp_path / "out" / "README.txt").read_text().split())
    total = held(text)["total"]
    before = html.unescape(text.partition('<script type="application/json"')[0])
    (head,) = re.findall(r'<p id="all-rows">(.*?)</p>', before)
    (near,) = re.findall(r'<p id="by-unit">(.*?)</p>', before)
    once = "so this number counts each patient once."
    several = (
        f"Up to {limit} of the visits may be of one patient: do not write as if each were of "
        "another patient."
    )
    least = -(-total["low"] // limit)
    number = f"would be from {least:,} to {total['high']:,} by these bounds"
    has_several = unit is not None and limit > 1
    assert (once in head) is (unit is not None and limit == 1)
    assert (several in head) is (number in head) is (several in readme) is has_several
    assert near == (several if has_several else "")
    assert ("patient" in head) is (unit is not None)


def test_a_total_without_bounds_tells_no_number_of_units():
    statement = Statement(budget=PureDP(1, rows_per_person=3), unit="id")
    said = units(statement, "visits", low=None, high=None)
    assert said.startswith(by_unit(statement, "visits")) and not re.search(r"\bfrom \d", said)
    assert "if each id were counted once" in said


@pytest.mark.parametrize("population", [None, "Adults <of> Westmere", "Adults."])
@pytest.mark.parametrize("coverage", [None, "all of them"])
def test_the_population_stands_beside_the_coverage(released, tmp_path, population, coverage):
    imprint = Imprint(population=population, coverage=coverage)
    write_report(released, tmp_path / "r.html", imprint=imprint)
    text = (tmp_path / "r.html").read_text()
    (said,) = re.findall(r'<p id="covered">(.*?)</p>', text)
    said = html.unescape(said)
    assert said == covered(coverage, "rows", population) == held(text)["covered"]
    start = f"Population: {(population or '').rstrip('.')}. "
    assert said.startswith(start) is (population is not None)
    assert ("all of them." in said, "has not said" in said) == (bool(coverage), not coverage)


@pytest.mark.parametrize("value", ["", None, "elsewhere"])
@pytest.mark.parametrize("declared", [False, True])
def test_no_row_is_left_out_for_a_value_without_a_category(tmp_path, value, declared):
    """As the page says: such a value stops the release, or counts in the category for it."""
    more = {"missing": "not known", "other": "not known"} if declared else {}
    domain = Domain({"a": {"values": ["x", "y"], **more}})
    rows = {"a": ["x"] * 500 + [value] * 500}
    budget = PureDP(50)
    if not declared:
        with pytest.raises(DataError):
            margin.release(rows, domain=domain, budget=budget)
        return
    made = margin.release(rows, domain=domain, budget=budget)
    assert made.marginal(["a"]).counts == pytest.approx([500, 0, 500], abs=2)
    write_report(made, tmp_path / "r.html", imprint=IMPRINT)
    said = " ".join((tmp_path / "r.html").read_text().split())
    words = "None of the visits were left out here because of a blank or unknown value:"
    assert f"{words} such values have a category, or do not occur." in said
    assert "Whether some were left out before, only the publisher knows: ask them." in said


# In a real browser


@pytest.fixture
def opened(browser, released, tmp_path):
    write_report(released, tmp_path / "r.html", title=tmp_path.name, imprint=IMPRINT)
    browser.set_window_size(1280, 900)
    open_page(browser, tmp_path / "r.html")
    return browser


def saved(browser, button, name):
    """The text of a file that the page saves."""
    browser.execute_script(f"document.getElementById('{button}').click()")
    until(written(browser.downloads / name))
    return (browser.downloads / name).read_text("utf-8")


@pytest.mark.slow
def test_the_file_on_the_columns_has_the_rules_of_the_page(opened, tmp_path):
    pick(opened, DOMAIN, ["district", "wait"])
    text = saved(opened, "download-meaning", f"{tmp_path.name}-columns.txt")
    shown = opened.execute_script("return data.adding")
    rules = [shown, *texts(opened, "#compare, #by-hand, #by-unit")]
    pick(opened, DOMAIN, ["wait", "travel"])
    (beware,) = texts(opened, "#compare")
    rules.append(beware.replace("this table", "a reconstructed table"))
    assert len(rules) == 5 and all(rules)
    part = text.partition("How to compute with these numbers\n")[2]
    for rule in rules:
        assert rule in part
    assert "Do not add up the bounds of more than two lines" in part
    for words in texts(opened, "#all-rows, #covered"):
        assert words in text
    assert "The lines of one table may add up to another number" in text
    assert "None of the visits were left out here because of a blank or unknown value" in text
    page = " ".join(texts(opened, "#rules"))
    assert "not the files that this page saves" in " ".join(page.split())


@pytest.mark.slow
def test_a_saved_picture_says_whom_it_is_about(opened, tmp_path):
    pick(opened, DOMAIN, ["district", "wait"])
    root = ElementTree.fromstring(
        saved(opened, "save-chart", f"{tmp_path.name}-district-wait-chart.svg")
    )
    words = " ".join("".join(one.itertext()) for one in root.iter() if one.tag.endswith("}text"))
    assert "Population: Adults of Westmere. Which visits are in the table: all visits." in words


CHOSEN = {
    "district": ["Portside"],
    "wait": ["90 to under 180", "180 or more"],
    "kind": ["outpatient", "dental"],
}


@pytest.mark.slow
@pytest.mark.parametrize("number", [1, 2], ids=["one joined", "two joined"])
@pytest.mark.parametrize("names", list(itertools.permutations(CHOSEN)), ids=" ".join)
def test_only_joined_attributes_are_in_the_brackets(opened, names, number):
    pick(opened, DOMAIN, names)
    for place, name in enumerate(names):
        for label in CHOSEN[name]:
            tick_category(opened, place, label)
    told = {"district": "Portside", "wait": "90 or more", "kind": "outpatient or dental"}
    several = [name for name in names if len(CHOSEN[name]) > 1]
    joined = several[:number]
    for name in joined:
        put_together(opened, names.index(name))
    (note,) = texts(opened, "#more")
    parts = "; ".join(f"{name}: {told[name]}" for name in joined)
    assert f"are together as one ({parts}). " in note
    rest = "; ".join(f"{name}: {told[name]}" for name in names if name not in joined)
    assert f"The table shows the lines with {rest}. " in note
    # A sentence to quote has the attributes in the same order, as words.
    (quoted,) = texts(opened, "#quoted")
    one, two, three = names
    assert re.search(rf" visits have {one} .+, {two} .+, and {three} .+\. ", quoted)


@pytest.mark.slow
def test_numbers_on_a_map_can_be_read_on_every_shade(opened):
    """The contrast of WCAG: at least 4.5, for 600 shades from one end of the scale to the other."""
    script = """
        const most = 600;
        const found = [];
        for (let start = 0; start < most; start += 50) {
          // The two ends are in each map, so that all maps have one scale.
          const values = [0, most, ...Array.from({ length: 50 }, (_, at) => start + at)];
          const rows = values.map((value, at) => ({ labels: [`${at}`, "x"], value }));
          const of = ({ value }) => ({ value, low: value, high: value, text: "1", bounds: "2" });
          const spec = heat(rows, ["one", "two"], [rows.map((row) => row.labels[0]), ["x"]], 900,
            { title: "count", of });
          const view = new vega.View(compiled({ ...spec, width: 700 }, "d"), { renderer: "none" });
          const svg = await view.toSVG();
          const drawn = new DOMParser().parseFromString(svg, "image/svg+xml");
          const fills = (kind) => [...drawn.querySelectorAll(`.${kind}.role-mark [fill]`)].map(
            (one) => one.getAttribute("fill"));
          found.push([fills("mark-rect"), fills("mark-text")]);
        }
        return found;
    """
    start = "const [script, done] = arguments; new Function(`return (async () => {${script}})()`)()"
    opened.set_script_timeout(60)
    found = opened.execute_async_script(
        f"{start}.then(done, (error) => done(String(error)))", script
    )
    seen = set()
    for shades, inks in found:
        assert len(shades) == 52 and len(inks) == 2 * len(shades)
        for place, shade in enumerate(shades):
            for ink in (inks[place], inks[place + len(shades)]):
                assert contrast(shade, ink) >= 4.5, (shade, ink)
        seen.update(shades)
    assert len(seen) > 200


def luminance(colour):
    """The relative luminance of WCAG 2.1."""
    named = {"white": [255, 255, 255], "black": [0, 0, 0]}
    numbers = named.get(colour) or [int(part) for part in re.findall(r"\d+", colour)]
    if colour.startswith("#"):
        numbers = [int(colour[start : start + 2], 16) for start in (1, 3, 5)]
    parts = np.array(numbers) / 255
    linear = np.where(parts <= 0.03928, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])


def contrast(one, other):
    dark, light = sorted(map(luminance, (one, other)))
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.slow
def test_words_stay_whole_on_a_narrow_screen(opened, screen):
    """A word breaks only if it is very long; then all of it is seen."""
    screen(375, mobile=True)
    pick(opened, DOMAIN, DOMAIN.attributes)
    script = """const found = [];
        for (const cell of document.querySelectorAll("#table tbody th")) {
          const text = cell.firstChild;
          for (const word of text.data.matchAll(/\\S+/g)) {
            const range = document.createRange();
            range.setStart(text, word.index);
            range.setEnd(text, word.index + word[0].length);
            found.push([word[0], new Set([...range.getClientRects()].map((one) => one.top)).size]);
          }
        }
        return found"""
    lines = dict(opened.execute_script(script))
    assert {"Lakeland", "outpatient", "emergency", "transport"} <= {*lines}
    assert {word for word, number in lines.items() if number > 1} == {"antidisestablishmentarian"}
    box = "const box = document.querySelector('.scroll'); return box.scrollWidth - box.clientWidth"
    assert opened.execute_script(box) < 60


@pytest.mark.slow
def test_labels_of_bars_are_cut_between_words_only(opened, screen):
    screen(375, mobile=True)
    pick(opened, DOMAIN, DOMAIN.attributes)
    until(lambda: texts(opened, "#chart .role-axis-label text"))
    # Bars have all words of their lines.
    values = opened.execute_script(
        "return charted(document.getElementById('chart').clientWidth).spec.data.values"
    )
    assert len(values) == 60
    for value in values:
        assert value["name"].replace("\n", " ") == value["full"]
        assert max(map(len, value["name"].split("\n"))) <= 349 / 7.5
    assert any("\n" in value["name"] for value in values)
    lines = texts(opened, "#chart .role-axis-label tspan")
    assert lines[:2] == values[0]["name"].split("\n")
    # Elsewhere the middle of a long label is left out, and both ends have whole words.
    words = ["one", "hundred", "and", "ninety", "thousand", "to", "under", "30", "or", "456"]
    for many, most in itertools.product(range(3, len(words) + 1), range(16, 40)):
        text = " ".join(words[:many])
        (short,) = opened.execute_script(
            "return shortened([arguments[0]], arguments[1])", text, most
        )
        assert len(short) <= most + 1
        if short == text:
            continue
        start, end = (part.split(" ") for part in short.split("…"))
        assert words[: len(start)] == start and words[many - len(end) : many] == end
