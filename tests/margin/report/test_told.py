"""What the page tells readers who do not see it, or who see it on paper."""

from xml.etree import ElementTree

import numpy as np
import pytest
from browsing import (
    choose,
    open_page,
    put_together,
    rows_of,
    share_of_line,
    texts,
    tick,
    tick_category,
    until,
    written,
)

import margin
from margin import Domain, PriView, PureDP
from margin.domain.bounds import whole_bounds
from margin.report import write_report

TREE = {
    "names": ["district", "ward"],
    "paths": [["Old", "Abbey"], ["Old", "Mill"], ["New", "Quay"]],
}
DOMAIN = Domain(
    {
        "ward": {"levels": TREE},
        "travel": ["bus", "car", "walk"],
        "age": {"bins": [0, 20, 40, 60]},
        "ground": ["hard", "soft"],
    }
)
VIEWS = [["ward", "travel"], ["travel", "age"], ["age", "ground"]]

TIMES = " \u00d7 "

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def released():
    rng = np.random.default_rng(3)
    rows = {
        "ward": rng.choice(["Abbey", "Mill", "Quay"], 3000, p=[0.3, 0.3, 0.4]),
        "travel": rng.choice(["bus", "car", "walk"], 3000, p=[0.5, 0.3, 0.2]),
        "age": rng.integers(0, 60, 3000),
        "ground": rng.choice(["hard", "soft"], 3000),
    }
    mechanism = PriView(views=VIEWS, shares=[2, 1, 1])
    return margin.release(rows, domain=DOMAIN, budget=PureDP(1), mechanism=mechanism)


@pytest.fixture
def opened(browser, released, tmp_path):
    write_report(released, tmp_path / "r.html", title=tmp_path.name)
    browser.set_window_size(1280, 900)
    open_page(browser, tmp_path / "r.html")
    return browser


def show(browser, *names):
    """Choose attributes by the names that readers see, and wait until their table is told."""
    browser.execute_script("document.getElementById('clear').click()")
    for name in names:
        tick(browser, name)
    heard(browser, f"{TIMES.join(names)}: ")


def heard(browser, start):
    """Wait until the only live region tells something that starts in this way."""
    live = "[role=status], [role=alert], [aria-live]"
    until(lambda: texts(browser, live)[0].startswith(start), seen=lambda: texts(browser, live))
    (said,) = texts(browser, live)
    return said


COUNT = "return [document.querySelector('#table tfoot td').firstChild.textContent]"
"""The script that reads the count of the last line of the table."""


def click(browser, selector):
    browser.execute_script("document.querySelector(arguments[0]).click()", selector)


def test_each_change_is_told_once_in_short_words(opened, tmp_path):
    # Nothing has changed yet.
    assert texts(opened, "#told") == [""]
    show(opened, "ward", "travel")
    assert heard(opened, "ward") == "ward \u00d7 travel: measured. 9 lines shown."
    tick_category(opened, 1, "bus")
    name, _, low, high, *_ = texts(opened, "#table tfoot tr > *")
    (count,) = opened.execute_script(COUNT)
    told = f"travel: bus. 3 lines shown. {name}: {count}, with bounds of {low} to {high}."
    assert heard(opened, "travel") == told and name == "Sum of the 3 chosen lines"
    tick_category(opened, 1, "car")
    said = heard(opened, "travel: bus or")
    assert said.startswith("travel: bus or car. 6 lines shown. Sum of ")
    put_together(opened, 1)
    said = heard(opened, "travel: bus or car, ")
    assert ", together as one. 3 lines shown. Sum of the 3 chosen lines: " in said
    choose(opened, "whole", "0")
    assert heard(opened, "Perc") == "Percentages of each ward. 3 lines shown."
    choose(opened, "scale", "count")
    assert heard(opened, "The chart") == "The chart shows counts."
    heads = "#table thead th:nth-child({}) button"
    for place, told in [
        (3, "Sorted by count, from the largest."),
        (3, "Sorted by count, from the smallest."),
        (3, "Lines are in their declared order."),
        (1, "Sorted by ward, from the first category."),
    ]:
        click(opened, heads.format(place))
        assert heard(opened, told) == f"{told} 3 lines shown."
    click(opened, "#choices details:nth-child(2) button")
    assert heard(opened, "travel: all") == "travel: all categories. 9 lines shown."
    click(opened, "#download")
    assert heard(opened, "Saved") == f"Saved 9 lines as {tmp_path.name}-ward-travel.csv"
    click(opened, "#clear")
    assert heard(opened, "Choose").startswith("Choose up to ")
    assert not [entry for entry in opened.get_log("browser") if entry["level"] == "SEVERE"]


def test_a_search_tells_how_many_it_found(opened):
    search = """const search = document.getElementById("search");
        search.value = arguments[0]; search.dispatchEvent(new Event("input"));"""
    for wanted, told in [
        ("ward", "2 of 5 attributes found."),
        ("zebra", "No attribute has \u201czebra\u201d in its name, its meaning or its categories."),
    ]:
        opened.execute_script(search, wanted)
        assert heard(opened, told) == told


def test_a_reconstructed_table_is_told_with_its_warning(opened):
    show(opened, "ward", "age")
    said = "ward \u00d7 age: reconstructed. 9 lines shown. Do not compare groups in it."
    assert heard(opened, "ward") == said


def test_a_table_of_what_was_not_measured_is_told_as_that(browser, tmp_path):
    rows = {"a": ["x", "y"] * 50, "b": ["z", "w"] * 50}
    mechanism = PriView(views=[["a"]])
    made = margin.release(
        rows, domain={"a": ["x", "y"], "b": ["z", "w"]}, budget=PureDP(1), mechanism=mechanism
    )
    write_report(made, tmp_path / "r.html")
    open_page(browser, tmp_path / "r.html")
    show(browser, "a", "b")
    said = f"a{TIMES}b: not measured. 4 lines shown. Do not compare groups in it."
    assert heard(browser, "a") == said


def test_copied_is_told_and_taken_back(opened):
    stub = "navigator.clipboard.writeText = async (text) => { window.copied = text; };"
    opened.execute_script(stub)
    click(opened, "#imprint button")
    until(lambda: texts(opened, "#imprint button") == ["Copied"])
    assert heard(opened, "Copied") == "Copied how to cite this page."
    until(lambda: texts(opened, "#imprint button") == ["Copy"])


def test_the_measured_tables_are_a_list_that_the_chart_refers_to(opened, released):
    until(lambda: texts(opened, "#views-chart svg"))
    lines = texts(opened, "#views-listed li")
    shares = [view["share"] for view in opened.execute_script("return data.views")]
    expected = [
        f"{TIMES.join(view)} ({100 * share:.1f}% of the budget)"
        for view, share in zip(VIEWS, shares, strict=True)
    ]
    assert lines == expected
    for place in ("views-chart", "chart"):
        chart = opened.find_element("id", place)
        assert chart.aria_role in ("img", "image")
        assert chart.get_attribute("aria-roledescription") is None
    name = opened.find_element("id", "views-chart").accessible_name
    assert "the list below the chart has them as text" in name
    assert chart.accessible_name.endswith("; the table above has the numbers")
    details = opened.find_element("id", "views-listed")
    assert details.is_displayed() and details.get_attribute("open") is None
    # Paper opens it.
    opened.execute_script("dispatchEvent(new Event('beforeprint'))")
    assert details.get_attribute("open") is not None
    opened.execute_script("dispatchEvent(new Event('afterprint'))")
    assert details.get_attribute("open") is None


def test_readers_see_the_name_of_a_level_and_files_its_column(opened, tmp_path):
    show(opened, "district", "travel")
    click(opened, "#save-chart")
    file = opened.downloads / f"{tmp_path.name}-ward_district-travel-chart.svg"
    until(written(file))
    words = " ".join(ElementTree.fromstring(file.read_text("utf-8")).itertext())
    assert "Counts by district and travel" in words and "@" not in words
    click(opened, "#download")
    file = opened.downloads / f"{tmp_path.name}-ward_district-travel.csv"
    until(written(file))
    assert file.read_text("utf-8-sig").startswith("ward@district,travel,count,")
    opened.execute_script("document.getElementById('grouped').open = true")
    until(lambda: texts(opened, "#grouped p") == ["ward by district"])
    body = opened.execute_script("return document.body.innerText")
    assert "ward@district" not in body


def test_a_level_with_the_name_of_another_one_has_that_of_its_attribute_too(browser, tmp_path):
    domain = Domain({"home": {"levels": TREE}, "work": {"levels": TREE}, "day": ["a", "b"]})
    rows = {"home": ["Abbey", "Quay"] * 50, "work": ["Mill", "Quay"] * 50, "day": ["a", "b"] * 50}
    mechanism = PriView(views=[["home", "work"], ["day"]])
    made = margin.release(rows, domain=domain, budget=PureDP(1), mechanism=mechanism)
    write_report(made, tmp_path / "r.html")
    open_page(browser, tmp_path / "r.html")
    show(browser, "district (home)", "district (work)")
    assert texts(browser, "#asked") == ["district (home) \u00d7 district (work)"]


def test_the_limits_of_bands_are_told_where_they_are_shown(opened):
    show(opened, "travel", "age")
    told = [text for text in texts(opened, "#meanings p") if text.startswith("The limits of ")]
    assert told == [
        "The limits of age are fixed: this page has no counts for other limits than those in the "
        "table. Bands side by side can be put together as one."
    ]
    show(opened, "travel", "ward")
    assert texts(opened, "#meanings p") == [
        "The publisher has not declared what travel and ward mean, such as their unit, time or "
        "place. If the text at the top does not tell it, ask whoever gave this to you."
    ]


@pytest.mark.parametrize("zeros", [0, 500])
def test_low_bounds_below_zero_are_told_only_where_they_occur(browser, tmp_path, zeros):
    """Without the removal of negative counts, noise on many empty cells gives some."""
    size = 2 + zeros
    domain = Domain({"a": size})
    mechanism = PriView(views=[["a"]], nonnegativity=None)
    rows = {"a": [0, 1] * 4000}
    made = margin.release(rows, domain=domain, budget=PureDP(1), mechanism=mechanism)
    assert (made.marginal(["a"]).counts < 0).any() == bool(zeros)
    write_report(made, tmp_path / "r.html")
    open_page(browser, tmp_path / "r.html")
    said = browser.execute_script("return document.getElementById('errors-section').innerText")
    assert ("or at a count below 0" in " ".join(said.split())) is bool(zeros)


MODES = pytest.mark.parametrize("modes", [["bus"], ["bus", "car"], ["bus", "car", "walk"]])
"""The ways of travelling that are chosen, as one if they are several: lines of the table, sums of
its lines, and lines of the table of wards."""


def choose_modes(browser, modes):
    """Choose ways of travelling in the table of these and of wards."""
    show(browser, "travel", "ward")
    for mode in modes:
        tick_category(browser, 0, mode)
    if len(modes) > 1:
        put_together(browser, 0)


@MODES
def test_two_chosen_lines_have_a_difference_with_the_bounds_of_the_rule(opened, released, modes):
    for chosen in (["Abbey", "Mill"], ["Abbey", "Quay"]):
        show(opened, "age")
        choose_modes(opened, modes)
        for label in chosen:
            tick_category(opened, 1, label)
        counts = {
            f"“{label}”": released.count({"ward": label, "travel": modes}) for label in chosen
        }
        # In the order of the table, and in the reverse: the larger one is first.
        for is_reversed in (False, True):
            if is_reversed:
                click(opened, "#table thead th:nth-child(2) button")
                click(opened, "#table thead th:nth-child(2) button")
            numbers = {
                name: [round(one.estimate), *map(int, whole_bounds(*one.interval(0.95)))]
                for name, one in counts.items()
            }
            said, told = apart("count", numbers, "{:,}".format)
            (found,) = texts(opened, "#differences")
            assert said + told in found and "-" not in found
    # One line, three lines, and lines of an estimate have none.
    tick_category(opened, 1, "Mill")
    assert texts(opened, "#differences") == [""]
    show(opened, "ward", "age")
    for label in ("Abbey", "Mill"):
        tick_category(opened, 0, label)
    tick_category(opened, 1, "0 to under 20")
    assert len(rows_of(opened)) == 2 and texts(opened, "#differences") == [""]


def apart(what, numbers, written):
    """How far two named numbers with their bounds are apart in words, the larger one first, and
    which one is larger."""
    (one, first), (other, second) = sorted(
        numbers.items(), key=lambda item: item[1][0], reverse=True
    )
    unit = " percentage points" if what == "percentage" else ""
    least, most = first[1] - second[2], first[2] - second[1]
    ends = f"{written(least)} to {written(most)}"
    if least < 0:
        ends = f"{written(-least)} below to {written(most)} above it"
    said = f"The {what} of {one} is {written(first[0] - second[0])}{unit} above that of {other}, "
    told = f", so the true {what} of {one} is larger with a probability of"
    if least <= 0:
        told = f", which allow 0: do not conclude which true {what} is larger"
    return f"{said}with bounds of {ends}", told


def percentages(released, chosen, whole):
    """The percentages of lines in the rows with their categories of `whole`, and the bounds of
    these, in tenths as the page shows them."""
    found = []
    for line in chosen:
        share, low, high = share_of_line(released, line, whole)
        numbers = np.floor(1000 * share + 0.5), np.floor(1000 * low), np.ceil(1000 * high)
        found.append([int(one) for one in numbers])
    return found


@MODES
@pytest.mark.parametrize("wards", [["Abbey", "Mill"], ["Abbey", "Quay"]])
def test_two_percentages_are_compared_as_percentages(opened, released, wards, modes):
    """Not only by their counts, which may be in another order if the wholes differ."""
    choose_modes(opened, modes)
    for label in wards:
        tick_category(opened, 1, label)
    lines = [{"ward": label, "travel": modes} for label in wards]
    is_all = len(modes) == DOMAIN["travel"].size
    for place, whole in {"": None, "0": "travel", "1": "ward"}.items():
        choose(opened, "whole", place)
        (found,) = texts(opened, "#differences")
        if whole == "ward" and is_all:
            # All of a ward are 100 % of it by choice, which is no finding.
            assert "percentage" not in found
            continue
        numbers = percentages(released, lines, [] if whole is None else [whole])
        named = {f"“{label}”": one for label, one in zip(wards, numbers, strict=True)}
        said, told = apart("percentage", named, lambda tenths: f"{tenths / 10:.1f}")
        # Shares of the same rows are compared by their counts.
        ending = told if whole == "ward" else ". The count of"
        assert found.startswith(said + ending) and "-" not in found
        is_same = "The percentages are of the same number, so what is said of the counts holds"
        assert (is_same in found) is (whole != "ward")
        assert found.endswith(" Such bounds are low minus high, and high minus low.")


@pytest.mark.parametrize("width", [1280, 390])
def test_the_head_that_shows_its_button_is_marked_as_sorted(opened, width):
    opened.set_window_size(width, 900)
    show(opened, "ward", "travel")
    visible = """[...document.querySelectorAll('#table thead {}')].filter((one) =>
        one.offsetParent !== null)"""
    marked = f"return {visible.format('[aria-sort]')}.map((one) => [one.textContent, one.ariaSort])"
    sort = f"{visible.format('.sort')}.find((one) => one.textContent === arguments[0]).click()"
    for name in ("ward", "count", "low", "high", "% of all rows"):
        opened.execute_script(sort, name)
        found = opened.execute_script(marked)
        ((head, order),) = found
        assert name in head and order == ("ascending" if name == "ward" else "descending")
        # A reader who turns the screen finds the mark at the head that shows then.
        opened.set_window_size(1670 - width, 900)
        until(lambda: len(opened.execute_script(marked)) == 1)
        opened.set_window_size(width, 900)
        until(lambda found=found: opened.execute_script(marked) == found)
    sizes = f"""return {visible.format(".sort")}.map((one) => one.getBoundingClientRect()).map(
        ({{ width, height }}) => Math.min(width, height))"""
    assert min(opened.execute_script(sizes)) >= 24


def test_keys_reach_attributes_that_cannot_be_chosen(opened):
    from selenium.webdriver.common.keys import Keys

    opened.execute_script("data.most = 1; element('full').textContent = 'At most 1.'; offer();")
    show(opened, "ward")
    opened.find_element("id", "search").send_keys(Keys.TAB, Keys.TAB, Keys.TAB)
    box = opened.switch_to.active_element
    assert box.accessible_name.startswith("travel")
    box.send_keys(Keys.SPACE)
    assert heard(opened, "At most") == "At most 1."
    assert not box.is_selected() and texts(opened, "#asked") == ["ward"]


def test_a_narrow_screen_has_a_link_from_the_attributes_to_the_table(opened):
    shown = {}
    for width in (1280, 390):
        opened.set_window_size(width, 900)
        link = opened.find_element("link text", "See the table") if width == 390 else None
        shown[width] = opened.find_element("id", "onto").is_displayed()
    assert shown == {1280: False, 390: True}
    link.click()
    top = "return document.getElementById('asked').getBoundingClientRect().top"
    until(lambda: abs(opened.execute_script(top)) < 5)


def test_the_page_says_that_sums_of_lines_count_as_measured(opened):
    said = "Tables whose counts are sums of lines of these count as measured, too."
    assert texts(opened, "#views-text")[0].endswith(said)
    show(opened, "ward")
    start = "Measured: the release made a table of all these attributes, with random noise"
    assert texts(opened, "#status")[0].startswith(start)


def test_a_chart_of_one_chosen_category_has_a_bar_a_line_in_the_order_of_the_table(opened):
    show(opened, "ward", "travel")
    tick_category(opened, 1, "bus")
    drawn = "return charted(700).spec.data.values.map((value) => [value.full, value.text])"

    def lines():
        heads = texts(opened, "#table tbody th:first-child")
        return [[head, row[0]] for head, row in zip(heads, rows_of(opened), strict=True)]

    assert opened.execute_script(drawn) == lines()
    click(opened, "#table thead th:nth-child(3) button")
    counts = [int(row[0].replace(",", "")) for row in rows_of(opened)]
    assert counts == sorted(counts, reverse=True)
    assert opened.execute_script(drawn) == lines()
    until(lambda: any("travel: bus" in text for text in texts(opened, "#chart text")))
    # The axis of the drawn chart has the same order as the table.
    labels = "#chart .role-axis-label text"
    heads = texts(opened, "#table tbody th:first-child")
    until(lambda: [text for text in texts(opened, labels) if text in heads] == heads)


@pytest.mark.parametrize("width", [1280, 390])
def test_open_lists_have_no_barriers(opened, width):
    axe = pytest.importorskip("axe_core_python.selenium", reason="axe-core-python is not installed")
    opened.set_window_size(width, 900)
    show(opened, "district", "age")
    tick_category(opened, 0, "Old")
    for part in ("views-listed", "grouped", "quote"):
        opened.execute_script("document.getElementById(arguments[0]).open = true", part)
    options = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]}
    assert axe.Axe().run(opened, options=options)["violations"] == []
    assert opened.execute_script("return document.documentElement.scrollWidth <= window.innerWidth")


def test_readers_hear_why_attributes_are_grey(opened):
    """Each grey box is described by its reason, which is told with the table."""
    described = """return [...document.querySelectorAll("#attributes input")].filter((box) =>
        box.ariaDisabled === "true").map((box) => document.getElementById(
        box.getAttribute("aria-describedby")).textContent)"""
    show(opened, "ward", "travel")
    assert opened.execute_script(described) == []
    assert "not available" not in heard(opened, "ward")
    # The page cannot answer all sets of its attributes, and never more than a number of them.
    opened.execute_script("data.most = 3; element('full').textContent = 'At most 3.';")
    show(opened, "ward", "travel", "age")
    assert opened.execute_script(described) == ["At most 3."]
    assert heard(opened, "ward").endswith(" 1 attribute is not available. At most 3.")
    assert opened.find_element("id", "full").is_displayed()
    assert not opened.find_element("id", "unknown").is_displayed()
    opened.execute_script("data.most = 4; answers.delete(key([0, 1, 2, 3]));")
    show(opened, "ward", "travel", "age")
    (said,) = opened.execute_script(described)
    assert (
        " ".join(said.split()) == ("This page does not hold them together with the chosen ones.")
        and opened.find_element("id", "unknown").is_displayed()
    )
    # A level says which attribute it is of to those who do not see that it is indented.
    (name,) = (text for text in texts(opened, "#attributes label") if "district" in text)
    assert name.startswith("district, a level of ward2 categories")


def test_percentages_of_four_attributes_can_be_of_any_of_them(opened):
    show(opened, "ward", "travel", "age", "ground")
    options = texts(opened, "#whole option")
    assert options[0] == "all rows" and len(options) == 1 + 4 + 6 + 4
    places = [option.removeprefix("each ").split(TIMES) for option in options[1:]]
    assert ["travel", "ground"] in places and sorted(map(len, places)) == list(map(len, places))
