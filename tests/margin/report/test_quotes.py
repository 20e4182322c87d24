"""What the page says of a number that a reader may quote: how it was made, and its bounds."""

import csv
from xml.etree import ElementTree

import numpy as np
import pytest
from browsing import (
    LIST,
    choose,
    chosen_file,
    having,
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

NAMES = ["age", "region", "sex"]
"""A table that no view holds: age and sex are together in one, region and sex in the other."""

TIMES = " \u00d7 "
"""What stands between the attributes of a table."""

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def released(table, domain):
    views = PriView(views=[["age", "sex"], ["region", "sex", "children"]])
    return margin.release(table, domain=domain, budget=PureDP(1), mechanism=views)


@pytest.fixture
def opened(browser, released, domain, tmp_path):
    """The page of the release, which shows the table."""
    write_report(released, tmp_path / "r.html", title=tmp_path.name)
    browser.set_window_size(1280, 900)
    open_page(browser, tmp_path / "r.html")
    pick(browser, domain, NAMES)
    return browser


def between(count):
    """The bounds of a count of Python in words."""
    low, high = whole_bounds(*count.interval(0.95))
    return f"{float(low):,.0f} to {float(high):,.0f}"


def says(source):
    """What a quotation says of a number of this source, and no other."""
    found = {
        Source.MEASURED: "With a probability of about 95 %, the true number is from",
        Source.RECONSTRUCTED: "not measured, but estimated from smaller tables",
        Source.KNOWN: "This number is public and has no noise.",
    }
    return found[source], [words for other, words in found.items() if other is not source]


def named_sum(released, codes, count, source, lines):
    """What the last line of the table is called: a sum only if the lines add up to its number."""
    added = released.marginal(NAMES).counts
    for axis, name in enumerate(NAMES):
        added = added.take(codes[name], axis) if name in codes else added
    start, number = f"{len(lines)} chosen lines", f"{added.sum():,.0f}"
    if number == f"{count.estimate:,.0f}":
        return f"Sum of the {start}" + (", measured" if source is Source.MEASURED else "")
    table = TIMES.join(name for name in NAMES if name in codes)
    made = f"The {start} together, {source.value} in the table {table}"
    return f"{made}; the lines above add up to {number}"


ALL = range(100)
"""All categories of an attribute."""

CHOSEN = [
    {"age": [0], "sex": [1]},
    {"region": [1], "sex": [0]},
    {"sex": [0]},
    {"age": [0, 1], "sex": [0]},
    {"age": [0], "region": [1]},
    {"age": [0], "region": [1], "sex": [0]},
]


@pytest.mark.parametrize("codes", CHOSEN, ids=str)
def test_a_sum_is_quoted_as_the_table_was_made_that_has_it(opened, released, domain, codes):
    labels = {name: [domain[name].captions[code] for code in own] for name, own in codes.items()}
    for name, own in labels.items():
        for label in own:
            tick_category(opened, NAMES.index(name), label)
    count = released.count(labels)
    source = released.source(codes)
    (quoted,) = texts(opened, "#quoted")
    # Bands side by side are one.
    joined = {"age": ["0 to under 65"]} if codes.get("age") == [0, 1] else {}
    have = having(labels | joined)
    right, wrong = says(source)
    assert right in quoted and not any(words in quoted for words in wrong)
    # Of a number that may be 0, the bounds alone are quoted.
    is_doubtful = between(count).startswith("0 to ")
    number = between(count) if is_doubtful else f"about {count.estimate:,.0f}"
    assert f"“Among those counted, {number} rows have {have}. " in quoted
    assert f"{between(count)}" in quoted
    measured = source is Source.MEASURED
    table = TIMES.join(name for name in NAMES if name in codes)
    assert (f"is measured: the table {table} has it." in quoted) is measured
    # Its percentage has bounds if both numbers were measured, and no sign of an estimate.
    _, low, high = share_of_line(released, labels, [])
    share = f"{np.floor(1000 * low) / 10:.1f}% to {np.ceil(1000 * high) / 10:.1f}%"
    (said,) = texts(opened, "#quoted-share")
    number = f"{100 * count.estimate / released.count({}).estimate:.1f}%"
    start = (
        f"A percentage, for example: “Among those counted, about {number} of the rows have {have}. "
    )
    assert said.startswith(start) is measured is bool(said)
    assert (f"the true percentage is from {share};" in said) is measured
    foot = texts(opened, "#table tfoot tr > *")
    if len(codes) == len(NAMES):
        assert foot == []  # one line is no sum
    else:
        assert foot[0] == named_sum(released, codes, count, source, rows_of(opened))
        percentage = f"{100 * count.estimate / released.count({}).estimate:.1f}%"
        assert foot[-1] == (f"{percentage} ({share})" if measured else f"≈ {percentage}")
    if len(codes) == 2 and len(codes["sex" if "sex" in codes else "age"]) == 1:
        made = " (measured)" if measured else ""
        (total,) = texts(opened, "#total")
        # The lines of the estimated table may add up to another number than the line says.
        start = f" The table {table}{made} has this sum as a line: "
        other = f" In the table {table}{made}, the number of the same rows is "
        is_line = all(len(own) == 1 for own in codes.values())
        assert (start in total or other in total) is is_line
        assert (other in total) is ("lines above" in foot[0])
        assert ("Quote this number, not the sum of the lines." in total) is (other in total)


@pytest.mark.parametrize(
    "codes",
    [
        {"region": ALL},
        {"sex": ALL},
        {"age": ALL, "region": ALL},
        {"age": [0, 1], "region": ALL},
        {"age": ALL, "region": ALL, "sex": ALL},
    ],
    ids=str,
)
def test_categories_together_as_one_have_what_a_smaller_table_says(opened, released, domain, codes):
    """A sum over all categories of an attribute is a line of the table without the attribute."""
    for name, own in codes.items():
        place = NAMES.index(name)
        opened.execute_script(f"{LIST} list.open = true;", place)
        for label in domain[name].captions[: len(own)]:
            tick_category(opened, place, label)
        put_together(opened, place)
    left = [name for name in NAMES if codes.get(name) is not ALL]
    source = released.source(left)
    joined = {name: list(domain[name].captions[:2]) for name in codes if name in left}
    lines = [joined]
    for name in left:
        if name not in codes:
            lines = [{**line, name: label} for line in lines for label in domain[name].captions]
    counts = [released.count(line) for line in lines]
    assert [" to ".join(row[1:]) for row in rows_of(opened)] == [between(one) for one in counts]
    largest = max(counts, key=lambda one: one.estimate)
    (quoted,) = texts(opened, "#quoted")
    right, wrong = says(source)
    assert right in quoted and not any(words in quoted for words in wrong)
    assert between(largest) in quoted
    where = f"the table {TIMES.join(left)}" if left else "the number of all rows"
    said = f"The count and the bounds of each line are those of {where} ({source.value})."
    assert said in texts(opened, "#more")[0]


def test_files_say_of_lines_together_what_a_smaller_table_is(opened, domain, tmp_path):
    """The chart and the download, too, are of lines that were measured."""
    region = NAMES.index("region")
    for label in domain["region"].captions:
        tick_category(opened, region, label)
    put_together(opened, region)
    for button in ("save-chart", "download-chosen"):
        opened.execute_script(f"document.getElementById('{button}').click()")
    chart = opened.downloads / f"{tmp_path.name}-age-region-sex-chart.svg"
    until(written(chart))
    table = chosen_file(opened, f"{tmp_path.name}-age-region-sex")
    words = " ".join(ElementTree.fromstring(chart.read_text("utf-8")).itertext())
    assert "made a table of all these attributes" in words and "not measured together" not in words
    _, *lines = csv.reader(table.read_text("utf-8-sig").splitlines())
    assert {line[-2] for line in lines} == {"measured"} and len(lines) == 6


def test_percentages_within_an_attribute_are_quoted_if_both_numbers_were_measured(
    opened, released, domain
):
    age, sex = (domain[name].captions[0] for name in ("age", "sex"))
    tick_category(opened, 0, age)
    tick_category(opened, 2, sex)
    for place, name, label in ((0, "age", age), (2, "sex", sex)):
        choose(opened, "whole", str(place))
        _, low, high = share_of_line(released, {"age": age, "sex": sex}, [name])
        share = f"{np.floor(1000 * low) / 10:.1f}% to {np.ceil(1000 * high) / 10:.1f}%"
        (said,) = texts(opened, "#quoted-share")
        assert f"% of the rows with {having({name: [label]})} have " in said
        assert f"the true percentage is from {share};" in said
        # Whoever chose what percentages are of reads it first.
        assert (
            opened.execute_script(
                "return document.getElementById('quoted').previousElementSibling.id"
            )
            == "quoted-share"
        )
    assert not [entry for entry in opened.get_log("browser") if entry["level"] == "SEVERE"]


@pytest.mark.parametrize(
    ("places", "works", "number"),
    [(["a"], [], 60), (["a", "b"], [], 90), (["a", "b"], ["z"], 0)],
)
def test_a_public_number_is_quoted_without_noise(browser, tmp_path, places, works, number):
    """The numbers of rows in each place are public, and nobody in "a" or "b" does "z"."""
    rows = {"place": ["a"] * 60 + ["b"] * 30 + ["c"] * 30, "work": ["x", "y"] * 45 + ["z"] * 30}
    domain = Domain(
        {"place": ["a", "b", "c"], "work": ["x", "y", "z"], "sex": ["F", "M"]},
        known={("place",): [60, 30, 30]},
        impossible=[{"place": ["a", "b"], "work": "z"}],
    )
    mechanism = PriView(views=[domain.attributes])
    rows["sex"] = ["F", "M"] * 60
    made = margin.release(rows, domain=domain, budget=PureDP(1), mechanism=mechanism)
    write_report(made, tmp_path / "r.html")
    open_page(browser, tmp_path / "r.html")
    pick(browser, domain, domain.attributes)
    for place, labels in enumerate((places, works)):
        for label in labels:
            tick_category(browser, place, label)
    right, wrong = says(Source.KNOWN)
    (quoted,) = texts(browser, "#quoted")
    have = having({"place": places} | ({"work": works} if works else {}))
    assert quoted.startswith(f"For example: “Among those counted, {number} rows have {have}. ")
    assert right in quoted and not any(words in quoted for words in wrong)
