"""What the page tells readers of categories that were changed after the release."""

import html
import re

import numpy as np
import pytest
from browsing import held, open_page, texts, until

import margin
from margin import ZCDP, Domain, PriView
from margin.mechanisms import Flat, Residual
from margin.report import write_report

DOMAIN = Domain(
    {
        "place": {"values": [f"p{code}" for code in range(30)]},
        "sex": {"values": ["female", "male"]},
        "age": {"bins": [0, 18, 65, None], "ordered": True},
    }
)
MECHANISMS = {
    "views": PriView(views=[["place", "sex"], ["age", "sex"]]),
    "components": Residual(order=2),
    "a table": Flat(),
}
ADULT = ["18 to under 65", "65 or more"]
CHANGES = {
    "put together": {"place": {"<first> & second": ["p0", "p1"]}, "age": {"adult": ADULT}},
    "renamed": {"sex": {"women": "female", "men": "male"}},
    "many": {"place": {f"group {code}": [f"p{code}", f"p{29 - code}"] for code in range(15)}},
}
SECTIONS = ["summary-section", "changes-section", "explorer", "imprint-section"]


@pytest.fixture(scope="module", params=MECHANISMS)
def released(request):
    rng = np.random.default_rng(2)
    rows = {
        "place": rng.choice(DOMAIN["place"].captions, 500),
        "sex": rng.choice(DOMAIN["sex"].captions, 500),
        "age": rng.integers(0, 90, 500),
    }
    return margin.release(
        rows, domain=DOMAIN, budget=ZCDP("0.5"), mechanism=MECHANISMS[request.param]
    )


def pages(released, changes, folder):
    """The text of the page of the release, and of that with changed categories."""
    for name, synopsis in (("own", released), ("new", released.recoded(changes))):
        write_report(synopsis, folder / f"{name}.html", title="x")
    return [(folder / f"{name}.html").read_text() for name in ("own", "new")]


def shown(text):
    """The sections that the page shows before its script runs, in their order."""
    found = re.findall(r'<section[^>]*?id="([\w-]+)"([^>]*)>', text)
    return [name for name, rest in found if "hidden" not in rest.split()]


@pytest.mark.parametrize("kind", CHANGES)
def test_changed_categories_change_no_section_and_have_a_sentence_at_the_top(
    released, kind, tmp_path
):
    own, new = pages(released, CHANGES[kind], tmp_path)
    sentences = released.recoded(CHANGES[kind]).recoding.words
    below = ["changes-section"] if kind == "many" else []
    assert [name for name in shown(new) if name not in below] == shown(own)
    assert below == [name for name in shown(new) if name not in shown(own)]
    assert held(new)["summary"] == held(own)["summary"]
    # The header, or the section that it leads to, has each sentence; the release has none.
    header = new.partition("</header>")[0]
    part = new.partition('id="changes-section"')[2].partition("</section>")[0]
    place = part if below else header
    for sentence in sentences:
        said = sentence.partition(": ")[2].removesuffix(".")
        assert html.escape(said) in place and html.escape(said) not in own.partition("<script")[0]
    assert ("#changes-section" in header) == bool(below)
    assert "changed after the release" in header
    assert "changed after the release" not in own.partition("</header>")[0]


@pytest.mark.parametrize("kind", CHANGES)
def test_the_measured_tables_stay_below_the_counts(released, kind, tmp_path, browser):
    """The page names those of the release, whose cells are not the page's: it adds up none."""
    own, new = pages(released, CHANGES[kind], tmp_path)
    views = [[one["axes"], one["share"]] for one in held(own)["views"]]
    assert [[one["axes"], one["share"]] for one in held(new)["views"]] == views
    assert all(one["counts"] is None for one in held(new)["views"]) and not held(new)["sums"]
    if not views:
        return
    said = []
    for name in ("own", "new"):
        open_page(browser, tmp_path / f"{name}.html")
        until(lambda: texts(browser, "#views-listed li"))
        said.append([texts(browser, "#views-text"), texts(browser, "#views-listed li")])
    assert said[0] == said[1] and "measured" in said[0][0][0]
    assert not [one for one in browser.get_log("browser") if one["level"] == "SEVERE"]
