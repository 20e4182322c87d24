"""What the page says of its lines: which count in percentages, what they count, their address."""

import re

import numpy as np
import pytest
from browsing import (
    between,
    choose,
    open_address,
    open_page,
    pick,
    put_together,
    rows_of,
    texts,
    tick_category,
    until,
    written,
)

import margin
from margin import Domain, PriView, PureDP
from margin.publication.imprint import Imprint
from margin.report import write_report

TREE = {
    "names": ["region", "town"],
    "paths": [["North", "Elm"], ["North", "Ash"], ["South", "Oak"]],
}
DOMAIN = Domain(
    {
        "meals": ["yes", "no"],
        "score": ["below", "expected", "above", "not tested"],
        "trip": ["walks", "bus & tram", "cycles, or runs"],
        # The list of attributes has its levels last.
        "town": {"levels": TREE},
    }
)
MECHANISMS = {
    "views": PriView(views=[["town", "meals", "score"], ["score", "trip"]]),
    "components": margin.Residual(order=2),
}

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module", params=MECHANISMS)
def released(request):
    rng = np.random.default_rng(7)
    rows = {name: rng.integers(0, DOMAIN[name].size, 4000) for name in ("meals", "score", "trip")}
    rows = {name: np.array(DOMAIN[name].captions)[codes] for name, codes in rows.items()}
    rows["town"] = rng.choice(["Elm", "Ash", "Oak"], 4000)
    mechanism = MECHANISMS[request.param]
    return margin.release(rows, domain=DOMAIN, budget=PureDP(1), mechanism=mechanism)


@pytest.fixture
def opened(browser, released, tmp_path):
    imprint = Imprint(row_name="pupils", description="A row is a pupil.")
    write_report(released, tmp_path / "r.html", title=tmp_path.name, imprint=imprint)
    browser.set_window_size(1280, 900)
    open_page(browser, tmp_path / "r.html")
    return browser


HIDDEN = ", also of those in lines that are not shown."


def test_lines_that_are_not_shown_count_in_percentages_and_the_page_says_so(opened, released):
    pick(opened, DOMAIN, ["meals", "score"])
    assert HIDDEN not in texts(opened, "#more")[0]
    tested = ["below", "expected", "above"]
    for label in tested:
        tick_category(opened, 1, label)
    assert f"Percentages are of all pupils{HIDDEN}" in texts(opened, "#more")[0]
    choose(opened, "whole", "0")
    (said,) = texts(opened, "#more")
    assert f"Percentages are of all pupils with the same meals{HIDDEN}" in said
    assert "in those that are shown, choose one category of meals, and divide its count" in said
    # What a reader who does so finds is a percentage, with bounds, of those who were tested.
    tick_category(opened, 0, "yes")
    assert (
        "in those that are shown, divide its count by that of the last" in texts(opened, "#more")[0]
    )
    (_, low, high), *_ = rows_of(opened)
    _, _, least, most, *_ = texts(opened, "#table tfoot tr > *")
    part = between(released.count({"meals": "yes", "score": "below"}))
    whole = between(released.count({"meals": "yes", "score": tested}))
    assert [int(text.replace(",", "")) for text in (low, high, least, most)] == [*part, *whole]
    # Lines of other wholes do not count in percentages.
    choose(opened, "whole", "1")
    pick(opened, DOMAIN, ["meals", "score"])
    tick_category(opened, 0, "yes")
    choose(opened, "whole", "0")
    assert HIDDEN not in texts(opened, "#more")[0]
    # A single line of each whole has no share in the lines that are shown but 100 %.
    pick(opened, DOMAIN, ["meals", "score"])
    tick_category(opened, 1, "below")
    choose(opened, "whole", "0")
    (said,) = texts(opened, "#more")
    assert HIDDEN in said and "in those that are shown" not in said


def test_the_rows_are_called_what_the_publisher_calls_them(opened, released, tmp_path):
    """In all that the page says of its tables, and in its files."""
    said = []

    def read():
        parts = ["#explorer", "#views-section", "#errors-section", "#told", "#all-rows"]
        said.extend(texts(opened, ", ".join(parts)))

    opened.execute_script("document.getElementById('clear').click()")
    until(lambda: texts(opened, "#status")[0].startswith("Choose up to"))
    read()
    for names in (["meals", "score"], ["town", "trip"], ["meals", "score", "trip"]):
        pick(opened, DOMAIN, names)
        for label in DOMAIN[names[1]].captions[:2]:
            tick_category(opened, 1, label)
            read()
        put_together(opened, 1)
        read()
        choose(opened, "whole", "0")
        read()
    opened.execute_script("document.getElementById('download-meaning').click()")
    file = opened.downloads / f"{tmp_path.name}-columns.txt"
    until(written(file))
    meanings = file.read_text("utf-8").partition("Columns of the tables")[2]
    said.append(meanings.partition("How people are protected")[0])
    found = {one for text in said for one in re.findall(r".{,60}\brows?\b.{,20}", text)}
    assert not found
    for sentence in (
        "how many pupils there are of each kind",
        "A line of a table on this page counts those with the categories at its start.",
    ):
        assert any(sentence in text for text in said)


def test_the_file_of_meanings_spells_the_name_of_a_table(opened, tmp_path):
    """One that the file of all tables has, with a level."""
    for name in ("meaning", "all"):
        opened.execute_script(f"document.getElementById('download-{name}').click()")
    meanings, tables = (
        opened.downloads / f"{tmp_path.name}-{end}" for end in ("columns.txt", "all.csv")
    )
    until(written(meanings))
    until(written(tables))
    (name,) = re.findall(
        r"with a \u00d7 between them, such as “(.*?)”", meanings.read_text("utf-8")
    )
    assert name.endswith(" \u00d7 town@region")
    assert f"\n{name}," in tables.read_text("utf-8-sig")


def test_bounds_of_reconstructed_tables_are_not_set_beside_those_of_measured_ones(opened, released):
    shown = "#on-average"
    is_estimated = "reconstructed" in " ".join(texts(opened, "#errors li"))
    assert is_estimated
    assert "many true numbers may lie outside" in texts(opened, shown)[0]


SHOWN = ["#asked", "#table tbody", "#table tfoot", "#more", "#differences", "#choices summary"]


def state(browser):
    """What a reader sees of a table."""
    found = [texts(browser, part) for part in SHOWN]
    values = "return ['whole', 'scale'].map((name) => document.getElementById(name).value)"
    return [*found, browser.execute_script(values)]


ONE_RELEASE = pytest.mark.parametrize("released", ["views"], indirect=True)


@ONE_RELEASE
@pytest.mark.parametrize("end", [None, "chosen", "others"])
@pytest.mark.parametrize("whole", ["", "0", "1"])
def test_an_address_leads_to_its_table_and_its_lines(opened, end, whole):
    first = opened.current_url
    start = state(opened)
    pick(opened, DOMAIN, ["trip", "score"])
    for label in DOMAIN["trip"].captions[1:]:
        tick_category(opened, 0, label)
    if end:
        put_together(
            opened, 0, f"Put {'all other' if end == 'others' else 'the chosen'} categories"
        )
    if whole:
        choose(opened, "whole", whole)
    left, address = state(opened), opened.current_url
    assert address != first
    open_address(opened, first)
    until(lambda: state(opened) == start)
    # Loaded by its address, and reached by it from another table of the page.
    open_address(opened, "about:blank")
    open_address(opened, address)
    until(lambda: state(opened) == left, seen=lambda: (left, state(opened)))
    pick(opened, DOMAIN, ["meals"])
    opened.execute_script("location.href = arguments[0]", address)
    until(lambda: state(opened) == left, seen=lambda: (left, state(opened)))
    # The boxes of the lists say what is chosen, too.
    boxes = "return [...document.querySelectorAll('#choices input:checked')].length"
    opened.execute_script("document.querySelector('#choices details').open = true")
    until(lambda: opened.execute_script(boxes) >= 2)
    # A link within the page leaves all as it is.
    opened.execute_script("location.hash = 'explorer'")
    assert state(opened) == left


@ONE_RELEASE
@pytest.mark.parametrize("descending", [True, False])
@pytest.mark.parametrize("column", ["count", "low", "high", "share", 0, 1])
def test_a_link_opens_at_its_table_in_its_order(opened, column, descending):
    pick(opened, DOMAIN, ["trip", "score"])
    title = ["trip", "score"][column] if isinstance(column, int) else column
    title = "% of all pupils" if column == "share" else title
    head = "document.querySelector(`#table thead button[title='sort by ${arguments[0]}']`)"
    # Numbers are sorted from the largest one first, and categories from the first one.
    for _ in range(1 + (descending is isinstance(column, int))):
        opened.execute_script(f"{head}.click()", title)
    rows, address = rows_of(opened), opened.current_url
    name = column + 1 if isinstance(column, int) else column
    assert f"&sort={name}&order={'down' if descending else 'up'}" in address
    open_address(opened, "about:blank")
    open_address(opened, address)
    until(lambda: rows_of(opened) == rows)
    way = "descending" if descending else "ascending"
    assert len(texts(opened, f"#table thead th[aria-sort={way}]")) == 1
    place = """const place = document.getElementById("asked");
        return [document.activeElement === place, place.getBoundingClientRect().top]"""
    until(lambda: opened.execute_script(place)[0])
    assert 0 <= opened.execute_script(place)[1] < 100


@pytest.fixture
def alone(opened):
    """The page in a tab of its own. Back would skip the choices of a script, which no reader made,
    and lead to the page of another test."""
    first, window = opened.current_url, opened.current_window_handle
    opened.switch_to.new_window("tab")
    open_address(opened, first)
    yield opened
    opened.close()
    opened.switch_to.window(window)


@ONE_RELEASE
def test_the_button_back_undoes_a_choice(alone):
    opened = alone

    def ticked():
        tick_category(opened, 0, "walks")

    def sorted_():
        opened.execute_script("document.querySelector('#table thead button').click()")

    steps = [
        lambda: pick(opened, DOMAIN, ["trip", "score"]),
        ticked,
        lambda: put_together(opened, 0, "Put all other categories"),
        lambda: choose(opened, "whole", "0"),
        sorted_,
    ]

    def seen():
        return state(opened)[:-1], texts(opened, "#table thead th[aria-sort]")

    states = [seen()]
    for step in steps:
        step()
        states.append(seen())
    opened.execute_script("location.hash = 'explorer'")
    assert seen() == states[-1]
    opened.execute_script("history.back()")
    until(lambda: not opened.current_url.endswith("#explorer"))
    # `pick` clears the attributes and chooses one after another.
    for before in states[-2:0:-1]:
        opened.execute_script("history.back()")
        until(lambda before=before: seen() == before, seen=lambda before=before: (before, seen()))
    for after in states[2:]:
        opened.execute_script("history.forward()")
        until(lambda after=after: seen() == after, seen=lambda after=after: (after, seen()))
    assert not [entry for entry in opened.get_log("browser") if entry["level"] == "SEVERE"]


@ONE_RELEASE
@pytest.mark.parametrize(
    ("address", "misread"),
    [
        ("table=nothing&table=trip", "an attribute “nothing”. This page does not have it. It sh"),
        ("table=trip&table=trip", "the table trip \u00d7 trip. This page does not have it. It sh"),
        ("table=trip&lines1=flies", "a category “flies” of trip. This page does not have it. It s"),
        ("table=trip&lines1=walks", None),
    ],
)
@pytest.mark.parametrize("is_open", [False, True])
def test_an_address_that_is_not_understood_says_so(opened, address, misread, is_open):
    first = opened.current_url
    if not is_open:
        open_address(opened, "about:blank")
    open_address(opened, f"{first}#{address}")
    expected = "" if misread is None else f"The address names {misread}"
    until(lambda: texts(opened, "#misread")[0].startswith(expected))
    assert opened.find_element("id", "misread").is_displayed() is bool(misread)
    focused = "return document.activeElement.id"
    target = "misread" if misread else "asked"
    until(lambda: opened.execute_script(focused) == target)
    # A choice takes the warning away.
    pick(opened, DOMAIN, ["meals"])
    assert texts(opened, "#misread") == [""]


@ONE_RELEASE
@pytest.mark.parametrize("place", ["#onwards a", "#onto", ".skip"])
def test_a_link_to_a_place_of_the_page_keeps_the_address(opened, place):
    """Whoever gets the address sees the same table."""
    shown = f"{opened.current_url.partition('#')[0]}#table=trip&lines1=walks"
    open_address(opened, "about:blank")
    open_address(opened, shown)
    until(lambda: texts(opened, "#asked") == ["trip"])
    opened.execute_script(f"document.querySelector({place!r}).click()")
    until(lambda: opened.current_url == shown)
    assert texts(opened, "#asked") == ["trip"]


@ONE_RELEASE
@pytest.mark.parametrize(
    ("address", "lines"),
    [
        ("table=nothing", None),
        ("table=trip&table=trip", None),
        ("table=town&table=town%40region", None),
        ("table=meals&table=score&table=trip&table=town&table=town%40region", None),
        ("table=trip&lines1=flies&together=1", 3),
        ("table=trip&lines1=walks&of=7", 1),
        ("table=meals&lines1=yes", 2),
        ("table=town%40region&lines1=North", 2),
    ],
)
def test_an_address_of_what_the_page_does_not_have_is_left_out(opened, address, lines):
    """A table, or a category; a table of two lines has no choice of lines."""
    first, start = opened.current_url, state(opened)
    open_address(opened, "about:blank")
    open_address(opened, f"{first}#{address}")
    if lines is None:
        until(lambda: state(opened) == start)
    else:
        until(lambda: len(rows_of(opened)) == lines, seen=lambda: rows_of(opened))
        assert texts(opened, "#within:not([hidden])") == []
    assert not [entry for entry in opened.get_log("browser") if entry["level"] == "SEVERE"]
