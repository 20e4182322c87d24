"""Chosen categories that are put together as one: lines, bounds, percentages, chart, download."""

import csv
import itertools

import numpy as np
import pytest
from browsing import (
    LIST,
    choose,
    chosen_file,
    either,
    having,
    held,
    in_colours,
    open_page,
    pick,
    put_together,
    rows_of,
    share_of_line,
    texts,
    tick_category,
    until,
    written,
)

import margin
from margin import Domain, PriView, PureDP
from margin.domain.bounds import whole_bounds
from margin.report import write_report
from margin.synopses.source import Source

VIEWS = [["age", "sex"], ["region", "sex", "children"]]

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def released(table, domain):
    return margin.release(table, domain=domain, budget=PureDP(1), mechanism=PriView(views=VIEWS))


def line(count):
    """A count of Python as the page should print it."""
    low, high = whole_bounds(*count.interval(0.95))
    numbers = (count.estimate, np.asarray(low), np.asarray(high))
    return ["0" if f"{number:,.0f}" == "-0" else f"{number:,.0f}" for number in map(float, numbers)]


def chosen(browser, domain, names, codes):
    """Show a table, tick some categories of each attribute in `codes`, and put them together."""
    pick(browser, domain, names)
    found = {}
    for name, own in codes.items():
        found[name] = [domain[name].captions[code] for code in own]
        for label in found[name]:
            tick_category(browser, names.index(name), label)
        put_together(browser, names.index(name))
    return found


@pytest.mark.parametrize(
    "mechanism",
    [PriView(views=VIEWS), PriView(views=VIEWS[::-1], shares=[1, 5]), margin.Residual(order=3)],
    ids=["equal", "shared", "components"],
)
def test_each_line_has_the_count_and_the_bounds_of_python(
    browser, table, domain, tmp_path, mechanism
):
    made = margin.release(table, domain=domain, budget=PureDP(1), mechanism=mechanism)
    write_report(made, tmp_path / "r.html")
    open_page(browser, tmp_path / "r.html")
    cases = [{"region": [0, 2, 3]}, {"region": [1, 3], "children": [0, 1]}, {"sex": [0, 1]}]
    for codes in cases:
        names = ["region", "children", "sex"]
        together = chosen(browser, domain, names, codes)
        others = [name for name in names if name not in codes]
        lines = [{}]
        for name in others:
            lines = [{**one, name: label} for one in lines for label in domain[name].captions]
        expected = [line(made.count({**one, **together})) for one in lines]
        assert rows_of(browser) == expected, codes
        first = next(iter(codes))
        heads = {*texts(browser, f"#table tbody th:nth-child({names.index(first) + 1})")}
        assert heads == {either(together[first])}


def test_cells_that_are_known_leave_few_sums_without_bounds(browser, table, domain, tmp_path):
    """The page has no bounds for three noisy lines and a known one; it says so, and hides none."""
    excluded = (np.array(table["region"]) == "east") & (np.array(table["children"]) == 3)
    rules = [{"region": "east", "children": [3]}]
    declared = Domain({name: domain[name] for name in domain}, impossible=rules)
    made = margin.release(
        table.filter(~excluded), domain=declared, budget=PureDP(1), mechanism=PriView(views=VIEWS)
    )
    write_report(made, tmp_path / "r.html")
    open_page(browser, tmp_path / "r.html")
    east = domain["region"].captions.index("east")
    others = [code for code in range(4) if code != east]
    for many in (1, 2, 3):
        codes = {"region": [east, *others[:many]]}
        together = chosen(browser, domain, ["region", "children"], codes)
        rows = rows_of(browser)
        for place, label in enumerate(domain["children"].captions[:3]):
            assert rows[place] == line(made.count({**together, "children": label}))
        exact = whole_bounds(*made.count({**together, "children": "3"}).interval(0.95))
        shown = [float(text.replace(",", "")) for text in rows[3][1:]]
        # The rule for the sum of two lines is wider than need be.
        assert shown[0] <= exact[0] and exact[1] <= shown[1]
        # All regions are a line of the table of children.
        assert many == 2 or shown == [float(end) for end in exact]
        assert "This page cannot tell" not in texts(browser, "#more")[0]
    codes = {"region": [east, others[0]], "children": [0, 3]}
    chosen(browser, domain, ["region", "children", "sex"], codes)
    assert {tuple(row[1:]) for row in rows_of(browser)} == {("\u2013", "\u2013")}
    lacks = "This page cannot tell the bounds of these sums. Do not add up the bounds"
    assert lacks in texts(browser, "#more")[0]
    # That is said before anything is chosen, and how to compute a share by hand stays.
    before = "On this page, some sums of more than two lines of this table have no bounds."
    assert texts(browser, "#unbounded") == [before]
    by_hand = "#quote:not([hidden]) #by-hand:not([hidden])"
    assert "divide the low bound of one count by the high bound" in texts(browser, by_hand)[0]


OTHERS = "Put all other categories of "


@pytest.mark.parametrize(
    "mechanism",
    [PriView(views=VIEWS), margin.Residual(order=3)],
    ids=["views", "components"],
)
@pytest.mark.parametrize("names", [["region", "children"], ["age", "region", "sex"]])
@pytest.mark.parametrize("codes", [[2], [1, 3], [0, 1, 2]], ids=str)
def test_chosen_categories_stand_beside_all_others(
    browser, table, domain, tmp_path, mechanism, names, codes
):
    """In a measured table and in a reconstructed one, with the counts and bounds of Python."""
    made = margin.release(table, domain=domain, budget=PureDP(1), mechanism=mechanism)
    write_report(made, tmp_path / "r.html", title=tmp_path.name)
    open_page(browser, tmp_path / "r.html")
    pick(browser, domain, names)
    place = names.index("region")
    assert put_together(browser, place, OTHERS) is None  # without a category it cannot be ticked
    every = range(domain["region"].size)
    for code in codes:
        tick_category(browser, place, domain["region"].captions[code])
    put_together(browser, place, OTHERS)
    groups = [codes, [code for code in every if code not in codes]]
    groups = [[domain["region"].captions[code] for code in group] for group in sorted(groups)]
    rest = [name for name in names if name != "region"]
    cells = itertools.product(*(domain[name].captions for name in rest))
    lines = [
        {**dict(zip(rest, cell, strict=True)), "region": own} for cell in cells for own in groups
    ]
    lines.sort(key=lambda one: [_place(domain, name, one[name]) for name in names])
    head = f"#table tbody th:nth-child({place + 1})"
    assert texts(browser, head) == [either(one["region"]) for one in lines]
    is_measured = made.source(names) is Source.MEASURED
    for row, one in zip(rows_of(browser), lines, strict=True):
        expected = line(made.count(one))
        if not is_measured and len(one["region"]) > 1:
            expected[1:] = ["\u2013", "\u2013"]
        assert row == expected
    said = "and all other categories of region as another one. "
    assert said in texts(browser, "#more")[0]
    # None is hidden, so nothing is said of the sum of some lines, and the chart has both groups.
    assert texts(browser, "#table tfoot tr") == []
    assert ", and all others together" in texts(browser, "#choices summary")[place]
    assert not [entry for entry in browser.get_log("browser") if entry["level"] == "SEVERE"]
    # Percentages are within the two lines of each combination of the others; of nobody, none.
    choose(browser, "whole", ",".join(str(names.index(name)) for name in rest))
    counts = [made.count(one).estimate for one in lines]
    of = {}
    for one, count in zip(lines, counts, strict=True):
        key = tuple(one[name] for name in rest)
        of[key] = of.get(key, 0) + count
    for one, count, text in zip(
        lines, counts, texts(browser, "#table tbody td.share"), strict=True
    ):
        whole = of[tuple(one[name] for name in rest)]
        number = text.partition("(")[0].strip("\u2248 %")
        if round(whole) <= 0:
            assert number == "\u2013"
        else:
            assert float(number) == pytest.approx(100 * count / whole, abs=0.051)


def _place(domain, name, labels):
    """Where a line with these categories stands."""
    captions = domain[name].captions
    return min(captions.index(label) for label in ([labels] if isinstance(labels, str) else labels))


def test_two_groups_have_a_difference_a_chart_and_a_file(browser, released, domain, tmp_path):
    write_report(released, tmp_path / "r.html", title=tmp_path.name)
    open_page(browser, tmp_path / "r.html")
    pick(browser, domain, ["region"])
    labels = domain["region"].captions
    tick_category(browser, 0, labels[1])
    put_together(browser, 0, OTHERS)
    groups = [[labels[0], *labels[2:]], [labels[1]]]
    (low, high), (low_, high_) = (
        whole_bounds(*released.count({"region": own}).interval(0.95)) for own in groups
    )
    said = f", with bounds of {float(low - high_):,.0f} to {float(high - low_):,.0f}, "
    assert said in texts(browser, "#differences")[0]
    # The chosen group is quoted, though it is the smaller one.
    assert f" rows have {having({'region': labels[1:2]})}. " in texts(browser, "#quoted")[0]
    # The chart has them in the order of the table, also if it is sorted by the attribute.
    drawn = [either(own) for own in groups]
    browser.execute_script("document.querySelector('#table thead th button').click()")
    assert texts(browser, "#table tbody th") == drawn
    labels = "#chart .role-axis-label text"
    until(lambda: [text for text in texts(browser, labels) if text in drawn] == drawn)
    browser.execute_script("document.getElementById('download-chosen').click()")
    file = chosen_file(browser, f"{tmp_path.name}-region")
    _, *saved = csv.reader(file.read_text("utf-8-sig").splitlines())
    told = f"region: {domain['region'].captions[1]}, and all others together"
    assert {row[-1] for row in saved} == {told}
    assert [row[:4] for row in saved] == [
        [either(own), *(n.replace(",", "") for n in line(released.count({"region": own})))]
        for own in groups
    ]


def test_bands_side_by_side_have_the_name_of_one_band(browser, tmp_path):
    """In the table, the list, the sentence to quote and the file; other bands keep their names."""
    bins = {"age": {"bins": [float("-inf"), 5, 18, 30, 65, None]}, "cm": {"bins": [0, 50, 90, 120]}}
    bins["named"] = {"bins": [0, 5, 10, 20], "labels": ["0 to 4", "5 to 9", "10 to 20"]}
    domain = Domain({**bins, "sex": ["F", "M"]})
    rows = {
        "named": [1, 6] * 100,
        "age": [1, 7, 20, 40, 80] * 40,
        "cm": [10, 60, 100, 110] * 50,
        "sex": ["F", "M"] * 100,
    }
    whole = PriView(views=[domain.attributes])
    made = margin.release(rows, domain=domain, budget=PureDP(1), mechanism=whole)
    write_report(made, tmp_path / "r.html", title=tmp_path.name)
    open_page(browser, tmp_path / "r.html")
    for attribute, codes, name in (
        ("age", [3, 4], "30 or more"),
        ("age", [0, 1], "under 18"),
        ("age", [1, 2, 3], "5 to under 65"),
        ("age", [0, 2, 3], "under 5 or 18 to under 65"),
        ("age", [0, 1, 2, 3, 4], "any number"),
        ("named", [0, 1], "0 to 4 or 5 to 9"),
        ("cm", [1, 2], "50 to 120"),
    ):
        labels = chosen(browser, domain, [attribute, "sex"], {attribute: codes})[attribute]
        assert {*texts(browser, "#table tbody th:first-child")} == {name}
        expected = [line(made.count({attribute: labels, "sex": sex})) for sex in ("F", "M")]
        assert rows_of(browser) == expected
        if codes != [0, 2, 3] and attribute != "named":
            assert texts(browser, "#choices summary")[0] == f"{attribute}: {name}, together as one"
            assert f" have {having({attribute: [name]})} and sex " in texts(browser, "#quoted")[0]
    browser.execute_script("document.getElementById('download-chosen').click()")
    file = chosen_file(browser, f"{tmp_path.name}-cm-sex")
    _, *saved, _ = csv.reader(file.read_text("utf-8-sig").splitlines())
    assert {row[0] for row in saved} == {"50 to 120"}


def test_a_page_without_bounds_of_sums_says_so(browser, released, domain, tmp_path):
    write_report(released, tmp_path / "r.html")
    open_page(browser, tmp_path / "r.html")
    chosen(browser, domain, ["region", "age"], {"region": [0, 1]})
    assert {tuple(row[1:]) for row in rows_of(browser)} == {("\u2013", "\u2013")}
    (said,) = texts(browser, "#more")
    assert "This page cannot tell the bounds of these sums. Do not add up the bounds" in said
    assert not browser.find_element("id", "quoted").is_displayed()


def test_percentages_chart_and_download_are_of_the_sums(browser, released, domain, tmp_path):
    write_report(released, tmp_path / "r.html", title=tmp_path.name)
    open_page(browser, tmp_path / "r.html")
    together = chosen(browser, domain, ["children", "region"], {"region": [0, 2, 3]})
    name = either(together["region"])
    choose(browser, "whole", "1")
    labels = domain["children"].captions
    counts = [released.count({**together, "children": label}) for label in labels]
    all_of_them = released.count(together)
    shares = [100 * one.estimate / sum(each.estimate for each in counts) for one in counts]
    shown = [float(text.rstrip("%")) for text in texts(browser, "#table tbody td.share")]
    assert shown == pytest.approx(shares, abs=0.051)
    least, most = whole_bounds(*all_of_them.interval(0.95))
    ends = []
    for one in counts:
        low, high = whole_bounds(*one.interval(0.95))
        part = np.floor(1000 * low / most) / 10, np.ceil(1000 * min(high / least, 1)) / 10
        ends.append(f"{part[0]:.1f}% to {part[1]:.1f}%")
    assert texts(browser, "#table tbody td.ends") == ends
    # Bars have the categories of the other attribute, and say above what is together.
    until(lambda: "% within region" in texts(browser, "#chart text"))
    drawn = texts(browser, "#chart text")
    assert {*labels} <= {*texts(browser, "#chart .role-axis-label text")} and any(
        f"region: {name}" in text for text in drawn
    )
    assert name not in drawn
    assert texts(browser, "#drawn") == ["The chart shows the chosen lines."]
    largest = max(range(len(counts)), key=lambda place: counts[place].estimate)
    children = having({"children": [labels[largest]]})
    regions = having({"region": [name]})
    quoted = f"rows have {children} and {regions}. "
    assert quoted in texts(browser, "#quoted")[0]
    (quoted,) = texts(browser, "#quoted-share")
    assert f"% of the rows with {regions} have {children}. " in quoted
    assert f"the true percentage is from {ends[largest]};" in quoted
    browser.execute_script("document.getElementById('download-chosen').click()")
    file = chosen_file(browser, f"{tmp_path.name}-children-region")
    _, *saved, added = csv.reader(file.read_text("utf-8-sig").splitlines())
    assert [row[:2] for row in saved] == [[label, name] for label in labels]
    assert added[:3] == ["Sum of the 4 chosen lines", "", line(all_of_them)[0].replace(",", "")]
    assert added[-4:-2] == [f"all rows with region: {name}", "95%"] and added[-7] == "1000"
    numbers = [[text.replace(",", "") for text in line(one)] for one in counts]
    assert [row[2:5] for row in saved] == numbers
    assert {row[8] for row in saved} == {"each region"}


def test_many_categories_have_all_their_names_in_the_download(browser, tmp_path):
    domain = Domain({"place": [f"place {number}" for number in range(9)], "sex": ["F", "M"]})
    rows = {"place": list(domain["place"].captions) * 20, "sex": ["F", "M"] * 90}
    whole = PriView(views=[domain.attributes])
    made = margin.release(rows, domain=domain, budget=PureDP(1), mechanism=whole)
    write_report(made, tmp_path / "r.html", title=tmp_path.name)
    open_page(browser, tmp_path / "r.html")
    together = chosen(browser, domain, ["place", "sex"], {"place": range(6)})
    assert {*texts(browser, "#table tbody th:first-child")} == {"6 of 9 categories"}
    browser.execute_script("document.getElementById('download-chosen').click()")
    file = chosen_file(browser, f"{tmp_path.name}-place-sex")
    _, *saved, _ = csv.reader(file.read_text("utf-8-sig").splitlines())
    assert {row[0] for row in saved} == {either(together["place"])}
    # A choice can be taken back, line by line and as a whole.
    assert len(rows_of(browser)) == 2
    put_together(browser, 0)
    assert len(rows_of(browser)) == 12
    put_together(browser, 0)
    browser.execute_script(f"{LIST} list.querySelector('button').click()", 0)
    assert len(rows_of(browser)) == 18
    tick_category(browser, 0, "place 0")
    tick_category(browser, 0, "place 1")
    assert len(rows_of(browser)) == 4
    assert not held((tmp_path / "r.html").read_text())["live"]
    assert not [entry for entry in browser.get_log("browser") if entry["level"] == "SEVERE"]


def test_categories_are_put_together_by_keyboard(browser, released, domain, tmp_path):
    from selenium.webdriver.common.keys import Keys

    write_report(released, tmp_path / "r.html")
    open_page(browser, tmp_path / "r.html")
    pick(browser, domain, ["region", "sex"])
    browser.execute_script("document.querySelector('#choices summary').focus()")

    def press(*keys):
        for one in keys:
            browser.switch_to.active_element.send_keys(one)

    press(Keys.ENTER)
    until(lambda: texts(browser, "#choices fieldset label"))
    # Tick the first two of four categories, and go past the others to the box below them.
    press(Keys.TAB, Keys.SPACE, Keys.TAB, Keys.SPACE, Keys.TAB, Keys.TAB, Keys.TAB, Keys.SPACE)
    assert len(rows_of(browser)) == 2
    focus = browser.switch_to.active_element
    assert focus.accessible_name == "Put the chosen categories of region together as one"


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_categories_together_have_no_barriers(browser, released, domain, tmp_path, width, scheme):
    axe = pytest.importorskip("axe_core_python.selenium", reason="axe-core-python is not installed")
    write_report(released, tmp_path / "r.html")
    in_colours(browser, scheme)
    browser.set_window_size(width, 900)
    open_page(browser, tmp_path / "r.html")
    chosen(browser, domain, ["region", "sex", "children"], {"region": [0, 1, 2]})
    options = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]}
    assert axe.Axe().run(browser, options=options)["violations"] == []
    fits = "return document.documentElement.scrollWidth <= window.innerWidth"
    assert browser.execute_script(fits)
    in_colours(browser, "light")


@pytest.mark.parametrize("whole", [None, "region", "children"])
def test_the_sum_of_chosen_lines_is_a_line(browser, released, domain, tmp_path, whole):
    """Its share is in all rows, or in those with the chosen categories of the whole."""
    names = ["region", "children"]
    write_report(released, tmp_path / "r.html")
    open_page(browser, tmp_path / "r.html")
    pick(browser, domain, names)
    assert texts(browser, "#table tfoot tr") == []
    ticked = {"region": [0, 2], "children": [0, 1]}
    wanted = {name: [domain[name].captions[code] for code in own] for name, own in ticked.items()}
    for place, labels in enumerate(wanted.values()):
        for label in labels:
            tick_category(browser, place, label)
    if whole is not None:
        choose(browser, "whole", str(names.index(whole)))
    count = released.count(wanted)
    share, low, high = share_of_line(released, wanted, [whole] if whole else [])
    ends = np.floor(1000 * low) / 10, np.ceil(1000 * high) / 10
    name, *numbers = texts(browser, "#table tfoot tr > *")
    share = f"{100 * share:.1f}%"
    between = f"{ends[0]:.1f}% to {ends[1]:.1f}%"
    expected = line(count)
    both = "" if whole is None else either(wanted[whole])
    base = whole and f"; its percentage is of all rows with {whole}: {both}"
    assert name == f"Sum of the 4 chosen lines{base or ''}"
    assert numbers == [
        "".join([expected[0], " to ".join(expected[1:]), share, between]),
        *expected[1:],
        share,
        between,
    ]
    said = " from the list \u201cPercentages of\u201d above the table."
    assert (said in texts(browser, "#shares")[0]) is (whole is None)
    # The percentage of all lines that the whole counts is 100 % by choice, so it has no bounds.
    pick(browser, domain, ["sex", "region", "children"])
    tick_category(browser, 0, domain["sex"].captions[0])
    choose(browser, "whole", "0")
    *_, share, between = numbers = texts(browser, "#table tfoot tr > *")
    expected = line(released.count({"sex": domain["sex"].captions[0]}))
    sex = domain["sex"].captions[0]
    assert (
        numbers[0] == f"Sum of the 16 chosen lines; its percentage is of all rows with sex: {sex}"
    )
    assert numbers[1].startswith(expected[0])
    assert (numbers[2:4], share, between) == (expected[1:], "100.0%", "\u2013")
    # One line is no sum.
    pick(browser, domain, ["region"])
    tick_category(browser, 0, wanted["region"][0])
    assert texts(browser, "#table tfoot tr") == []


def percentage(released, line, whole):
    """The percentage of a line in the rows with its categories of `whole`, and its bounds, as a
    file has them: in tenths, with the bounds rounded outwards."""
    share, low, high = share_of_line(released, line, whole)
    numbers = np.floor(1000 * share + 0.5), np.floor(1000 * low), np.ceil(1000 * high)
    return [f"{number:.0f}" for number in numbers]


@pytest.mark.parametrize("is_joint", [False, True], ids=["apart", "together"])
@pytest.mark.parametrize("whole", [[], ["region"], ["children"], ["sex"], ["region", "sex"]])
def test_every_file_has_the_percentages_of_its_own_lines(
    browser, released, domain, tmp_path, whole, is_joint
):
    """The file of all lines has each category by itself, whether some are together or not."""
    names = ["region", "children", "sex"]
    write_report(released, tmp_path / "r.html", title=tmp_path.name)
    open_page(browser, tmp_path / "r.html")
    pick(browser, domain, names)
    ticked = [domain["region"].captions[code] for code in (1, 3)]
    for label in ticked:
        tick_category(browser, 0, label)
    if is_joint:
        put_together(browser, 0)
    choose(browser, "whole", ",".join(str(names.index(name)) for name in whole))

    def lines(regions):
        others = itertools.product(regions, *(domain[name].captions for name in names[1:]))
        return [dict(zip(names, labels, strict=True)) for labels in others]

    joint = [ticked] if is_joint else ticked
    for ending, regions in [("", domain["region"].captions), ("-chosen", joint)]:
        browser.execute_script(f"document.getElementById('download{ending}').click()")
        file = browser.downloads / f"{tmp_path.name}-region-children-sex.csv"
        if ending:
            file = chosen_file(browser, file.with_suffix("").name)
        until(written(file))
        _, *saved = csv.reader(file.read_text("utf-8-sig").splitlines())
        expected = lines(regions)
        for row, one in zip(saved[: len(expected)], expected, strict=True):
            labels = [either(one["region"]) if is_joint and ending else one["region"]]
            assert row[:3] == [*labels, one["children"], one["sex"]]
            assert row[3:6] == [text.replace(",", "") for text in line(released.count(one))]
            assert row[6:9] == percentage(released, one, whole), (ending, one)
        # The file of chosen lines ends with their sum.
        assert len(saved) == len(expected) + bool(ending)
    # The chart shows what the table and the file of the chosen lines have.
    drawn = "return charted(700).spec.data.values.map((value) => [value.text, value.bounds])"
    shown = (texts(browser, f"#table tbody td.{column}") for column in ("share", "ends"))
    expected = sorted(map(list, zip(*shown, strict=True)))
    assert sorted(browser.execute_script(drawn)) == expected
    tenths = [[text.rstrip("%").replace(".", "") for text in pair[:1]] for pair in expected]
    assert sorted(tenths) == sorted([str(int(row[6])).zfill(2)] for row in saved[:-1])


def test_the_file_of_all_tables_is_the_same_whatever_is_together(
    browser, released, domain, tmp_path
):
    write_report(released, tmp_path / "r.html", title=tmp_path.name)
    open_page(browser, tmp_path / "r.html")
    saved = []
    for codes in ({}, {"region": [1, 3]}):
        chosen(browser, domain, ["region", "sex"], codes)
        browser.execute_script("document.getElementById('download-all').click()")
        file = browser.downloads / f"{tmp_path.name}-all.csv"
        until(written(file))
        saved.append(file.read_text("utf-8-sig"))
        file.unlink()
    assert saved[0] == saved[1]
