"""Percentages of groups in which the page shows nobody, or in which there may be nobody."""

import csv

import numpy as np
import pytest
from browsing import choose, open_page, pick, share_of_line, texts, until, written

import margin
from margin import Domain, PriView, PureDP
from margin.report import write_report

DOMAIN = Domain(
    {
        "place": ["Elm", "Fenby", "Oak", "Weir"],
        "work": ["pupil", "employed", "retired"],
        "fine": ["yes", "no"],
    }
)
NAMES = DOMAIN.attributes

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def released():
    """Few of the places and kinds of work have rows. With this seed, the page shows some groups
    without rows as 0, and others not."""
    rng = np.random.default_rng(0)
    rows = {
        "place": rng.choice(["Elm", "Fenby", "Oak", "Weir"], 2000, p=[0.9, 0.1, 0, 0]),
        "work": rng.choice(["pupil", "employed", "retired"], 2000, p=[0.7, 0.3, 0]),
        "fine": rng.choice(["yes", "no"], 2000),
    }
    mechanism = PriView(views=[NAMES])
    return margin.simulate(
        rows, domain=DOMAIN, budget=PureDP("0.2"), mechanism=mechanism, seed=10
    ).synopsis


@pytest.fixture
def opened(browser, released, tmp_path):
    write_report(released, tmp_path / "r.html", title=tmp_path.name)
    browser.set_window_size(1280, 900)
    open_page(browser, tmp_path / "r.html")
    pick(browser, DOMAIN, NAMES)
    return browser


def expected_shares(released, whole):
    """For each line, its share in its group and the bounds of this; None where its group has the
    count 0 as shown."""
    table, groups = released.marginal(NAMES), released.marginal(whole)
    found = []
    for cell in np.ndindex(table.counts.shape):
        group = tuple(cell[NAMES.index(name)] for name in whole)
        if np.round(groups.counts[group]) == 0:
            found.append(None)
            continue
        labels = [DOMAIN[name].captions[code] for name, code in zip(NAMES, cell, strict=True)]
        found.append(share_of_line(released, dict(zip(NAMES, labels, strict=True)), whole))
    return found


def in_tenths(share, low, high):
    """The numbers of a file: per 1,000, the share to the nearest one and its bounds outwards."""
    numbers = np.floor(1000 * share + 0.5), np.floor(1000 * low), np.ceil(1000 * high)
    return [int(number) for number in numbers]


@pytest.mark.parametrize("whole", [["place", "work"], ["work", "fine"]])
def test_a_group_that_shows_nobody_has_no_percentages(opened, released, tmp_path, whole):
    """All others have percentages with bounds, in the table, the file and the chart. The high bound
    is 100 % where there may be nobody in the group."""
    choose(opened, "whole", ",".join(str(NAMES.index(name)) for name in whole))
    shares = expected_shares(released, whole)
    others = [share for share in shares if share is not None]
    assert 0 < len(others) < len(shares) and any(high == 1 > share for share, _, high in others)
    tenths = [None if share is None else in_tenths(*share) for share in shares]
    percentages = [
        ["\u2013", "\u2013"]
        if one is None
        else [f"{one[0] / 10:.1f}%", f"{one[1] / 10:.1f}% to {one[2] / 10:.1f}%"]
        for one in tenths
    ]
    columns = (texts(opened, f"#table tbody td.{column}") for column in ("share", "ends"))
    assert list(map(list, zip(*columns, strict=True))) == percentages
    assert texts(opened, "#total")[0].endswith(" Of 0 rows, there is no percentage (\u2013).")
    # The file has no number there.
    opened.execute_script("document.getElementById('download').click()")
    file = opened.downloads / f"{tmp_path.name}-place-work-fine.csv"
    until(written(file))
    _, *saved = csv.reader(file.read_text("utf-8-sig").splitlines())
    assert [row[6:9] for row in saved] == [
        ["", "", ""] if one is None else list(map(str, one)) for one in tenths
    ]
    # The chart draws a bar and a thin line for each of the others, and says how many lack bounds.
    lacking = len(shares) - len(others)
    said = f" Without bounds in this chart: {lacking} of {len(shares)} lines."
    until(lambda: texts(opened, "#legend")[0].endswith(said), seen=lambda: texts(opened, "#legend"))
    for mark in ("rect", "rule"):
        drawn = texts(opened, f"#chart .role-mark.mark-{mark} :is(path, line)")
        assert len(drawn) == len(others)
    assert not opened.get_log("browser")


def test_a_chart_without_any_bounds_says_nothing_of_them(opened):
    lacking = "Without bounds in this chart:"
    assert lacking not in texts(opened, "#legend")[0]
    script = "return legendOf({data: {values: [{low: NaN}, {low: NaN}]}}, ON_BARS)"
    assert opened.execute_script(script) == ""
