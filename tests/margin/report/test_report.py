import contextlib
import csv
import functools
import html
import http.client
import importlib
import io
import itertools
import json
import re
import socket
import threading
import time
from importlib import resources

import numpy as np
import pytest
import scipy.sparse
from browsing import (
    LIST,
    choose,
    doubles,
    having,
    held,
    in_colours,
    open_address,
    open_page,
    pick,
    printed,
    rows_of,
    texts,
    tick,
    tick_category,
    until,
    written,
)

import margin
from margin import ZCDP, ApproxDP, Domain, FileError, Neighbours, PriView, PureDP
from margin.cli.main import main
from margin.domain.bounds import half_widths, whole_bounds
from margin.privacy.conversion import epsilon_of
from margin.privacy.statement import OTHER_RELEASES, Statement
from margin.privacy.words import in_a_paragraph, in_words
from margin.publication import publish
from margin.publication.adding import ADDED_UP, adding
from margin.publication.spreadsheets import OPENING, for_spreadsheet
from margin.report import Imprint, explore, write_report
from margin.report.content import content
from margin.report.page import _SCRIPTS
from margin.synopses.source import Source

VIEWS = [["age", "sex"], ["region", "sex", "children"]]


@pytest.fixture(scope="module")
def synopsis(table, domain):
    return margin.release(
        table, domain=domain, budget=PureDP("0.5"), mechanism=PriView(views=VIEWS)
    )


@pytest.fixture
def saved(synopsis, tmp_path):
    synopsis.save(tmp_path / "people.margin")
    return tmp_path / "people.margin"


def test_a_page_of_named_tables_holds_these_and_their_parts(saved, synopsis, tmp_path, capsys):
    page = tmp_path / "r.html"
    tables = ["sex,region", "age"]
    assert main(["report", str(saved), "-o", str(page), "--tables", *tables]) == 0
    assert "4 tables" in capsys.readouterr().out
    data = held(page.read_text())
    assert all(view["counts"] is None for view in data["views"])
    names = synopsis.domain.attributes
    shown = {frozenset(names[axis] for axis in answer["axes"]) for answer in data["answers"]}
    assert shown == set(map(frozenset, [["sex", "region"], ["sex"], ["region"], ["age"]]))
    for answer in data["answers"]:
        marginal = synopsis.marginal([names[axis] for axis in answer["axes"]])
        assert doubles(answer["counts"]) == pytest.approx(marginal.counts.ravel())
        assert answer["source"] == "measured"
    assert data["most"] == 2
    # By default the page holds more.
    write_report(synopsis, page)
    assert len(held(page.read_text())["answers"]) > 4
    with pytest.raises(margin.DomainError, match="unknown attribute 'nonsense'"):
        write_report(synopsis, page, tables=[["sex", "nonsense"]])


def test_a_page_of_named_tables_starts_with_one_that_it_holds(browser, synopsis, domain, tmp_path):
    write_report(synopsis, tmp_path / "r.html", tables=[["region", "sex"]])
    open_page(browser, tmp_path / "r.html")
    first = next(name for name in domain if name in ("region", "sex"))
    assert browser.find_element("id", "asked").text == first
    boxes = browser.find_elements("css selector", "#attributes input")
    assert sum(box.get_attribute("aria-disabled") == "false" for box in boxes) == 2


def test_the_page_holds_the_views_and_answers_what_they_lack(synopsis, tmp_path):
    write_report(synopsis, tmp_path / "r.html", title="A <title> & more")
    text = (tmp_path / "r.html").read_text()
    assert "<title>A &lt;title&gt; &amp; more</title>" in text
    data = held(text)
    assert data["title"] == "A <title> & more" and data["private"] and not data["live"]
    assert data["guarantee"] == synopsis.spent.describe()
    assert data["statement"] == synopsis.provenance.statement.to_json()
    for view, table in zip(data["views"], synopsis.held.values, strict=True):
        assert (doubles(view["counts"]) == table.ravel()).all()
    assert sum(view["share"] for view in data["views"]) == pytest.approx(1)
    for answer in data["answers"]:
        view = [synopsis.domain.attributes[axis] for axis in answer["axes"]]
        assert not any(set(view) <= set(other) for other in VIEWS)
        marginal = synopsis.marginal(view)
        assert doubles(answer["counts"]) == pytest.approx(marginal.counts.ravel())
    asked = {tuple(sorted(answer["axes"])) for answer in data["answers"]}
    assert {(4,), (0, 2), (0, 4), (0, 1, 2, 3)} <= asked
    # The fifth attribute was not measured.
    assert data["not_measured"] == [synopsis.domain.attributes[4]]
    count = synopsis.count({})
    low, high = whole_bounds(*count.interval(0.95))
    total = {"count": round(count.estimate), "low": low, "high": high, "source": "measured"}
    assert data["total"] == total
    assert f"the true number is {low:,.0f} to {high:,.0f}." in text


LEVELS = {
    "place": {
        "levels": {
            "names": ["state", "county"],
            "paths": [["CA", "Alameda"], ["CA", "Fresno"], ["NV", "Clark"], ["NV", "Elko"]],
        }
    },
    "sex": ["F", "M"],
    "visit": {"dates": {"from": "2024-01-01", "to": "2024-12-31", "by": "month"}},
}


@pytest.fixture(scope="module")
def leveled():
    """A release whose views hold some levels; others are reconstructed."""
    rng = np.random.default_rng(0)
    rows = {
        "place": rng.choice(["Alameda", "Fresno", "Clark", "Elko"], 3000, p=[0.6, 0.2, 0.15, 0.05]),
        "sex": rng.choice(["F", "M"], 3000),
        "visit": np.datetime64("2024-01-01") + rng.integers(0, 366, 3000),
    }
    return margin.release(
        rows,
        domain=Domain(LEVELS),
        budget=PureDP(1),
        mechanism=PriView(views=[["place", "sex"], ["sex", "visit"]]),
    )


def test_the_page_holds_levels_with_the_intervals_of_the_program(leveled, tmp_path):
    write_report(leveled, tmp_path / "r.html")
    data = held((tmp_path / "r.html").read_text())
    names = [one["name"] for one in data["attributes"]]
    assert names == ["place", "sex", "visit", "place@state", "visit@year", "visit@quarter"]
    assert [one["level_of"] for one in data["attributes"]] == [None] * 3 + [0, 2, 2]
    asked = {}
    for answer in data["answers"]:
        view = [names[axis] for axis in answer["axes"]]
        if not any("@" in name for name in view):
            continue
        asked[frozenset(view)] = leveled.source(view)
        marginal = leveled.marginal(view)
        low, high = marginal.interval(0.95)
        counts, half = doubles(answer["counts"]), doubles(answer["half_widths"])
        assert counts == pytest.approx(marginal.counts.ravel())
        assert np.maximum(counts - half, 0) == pytest.approx(low.ravel())
        assert np.maximum(counts + half, 0) == pytest.approx(high.ravel())
        leaves = leveled.marginal([name.split("@")[0] for name in view])
        assert counts.sum() == pytest.approx(leaves.total)
    assert {*asked.values()} == {Source.MEASURED, Source.RECONSTRUCTED}
    assert asked[frozenset(["place@state"])] is Source.MEASURED
    assert frozenset(["place@state", "visit@quarter", "sex"]) in asked
    assert not any({"visit@year", "visit@quarter"} <= view for view in asked)


def test_levels_do_not_grow_the_page_without_bounds(leveled, monkeypatch):
    monkeypatch.setattr(importlib.import_module("margin.report.content"), "_LEVEL_WEIGHTS", 800)
    monkeypatch.setattr(importlib.import_module("margin.report.content"), "_LEVEL_CELLS", 40)
    data = content(leveled, title="x", live=False)
    names = [one["name"] for one in data["attributes"]]
    leveled_answers = [
        [names[axis] for axis in answer["axes"]]
        for answer in data["answers"]
        if max(answer["axes"]) > 2
    ]
    sizes = {one["name"]: len(one["labels"]) for one in data["attributes"]}
    cells = [np.prod([sizes[name] for name in view]) for view in leveled_answers]
    reconstructed = [leveled.source(view) is Source.RECONSTRUCTED for view in leveled_answers]
    assert leveled_answers and sum(cells) <= 40
    summed = [leveled.domain.cells(name.split("@")[0] for name in view) for view in leveled_answers]
    weights = np.multiply(cells, summed).tolist()
    assert 0 < sum(itertools.compress(weights, reconstructed)) <= 800


def test_an_upper_level_is_held_wherever_the_lowest_one_is():
    paths = [[f"state {town // 5}", f"town {town}"] for town in range(20)]
    domain = {"place": {"levels": {"names": ["state", "town"], "paths": paths}}}
    domain |= dict.fromkeys("abc", 5)
    rng = np.random.default_rng(0)
    rows = {name: rng.integers(0, 5, 3000) for name in "abc"}
    rows["place"] = [paths[town][1] for town in rng.integers(0, 20, 3000)]
    views = [["place", "a"], ["a", "b"], ["b", "c"]]
    made = margin.release(rows, domain=domain, budget=PureDP(1), mechanism=PriView(views=views))
    data = content(made, title="x", live=False)
    shown = {frozenset(answer["axes"]) for answer in data["answers"]}
    for view in data["views"]:
        sizes = range(1, len(view["axes"]) + 1)
        parts = (itertools.combinations(view["axes"], size) for size in sizes)
        shown |= {frozenset(axes) for axes in itertools.chain.from_iterable(parts)}
    levels = {
        place: one["level_of"]
        for place, one in enumerate(data["attributes"])
        if one["level_of"] is not None
    }
    for level, attribute in levels.items():
        for axes in shown:
            assert attribute not in axes or axes - {attribute} | {level} in shown


@pytest.mark.parametrize("ways", [1, 2])
def test_an_empty_table_with_levels_has_a_page(ways):
    tree = {"names": ["state", "county"], "paths": [["CA", "Napa"], ["CA", "Yolo"], ["NV", "Elko"]]}
    domain = Domain({"place": {"levels": tree}, "sex": ["f", "m"], "age": 30})
    empty = {name: [] for name in domain}
    workload = margin.Workload.all_kway(domain, ways)
    made = margin.simulate(empty, domain=domain, budget=PureDP(1), workload=workload, seed=7)
    # With this noise no count is left, so that errors of reconstructed tables are not known.
    assert made.synopsis.held.total == 0
    data = content(made.synopsis, title="t", live=False)
    place = [one["name"] for one in data["attributes"]].index("place@state")
    answers = data["answers"]
    (state,) = (one for one in answers if one["axes"] == [place])
    assert doubles(state["counts"]).tolist() == [0, 0]


def test_the_page_asks_nobody(synopsis, tmp_path):
    """The page loads nothing, and its policy forbids a script to load anything."""
    write_report(synopsis, tmp_path / "r.html")
    text = (tmp_path / "r.html").read_text()
    assert not re.findall(r"<(?:link|img|iframe)\b|<script[^>]*\bsrc\b|@import", text)
    assert "default-src 'none'" in text
    assert len(text) < 3e6


def test_the_page_has_every_file_of_its_script():
    folder = resources.files("margin.report").joinpath("assets", "page")
    assert {file.name for file in folder.iterdir()} == {f"{name}.js" for name in _SCRIPTS}
    # Later files use what earlier ones say when they are read.
    assert (_SCRIPTS[0], _SCRIPTS[-1]) == ("data", "start")


def test_a_category_cannot_break_out_of_the_page(tmp_path):
    names = ["</script><script>alert(1)</script>", "<!--", "b"]
    domain = Domain({"a": {"values": names}, "<b>": 2})
    rows = {"a": names, "<b>": [0, 1, 0]}
    write_report(margin.release(rows, domain=domain, budget=PureDP(1)), tmp_path / "r.html")
    text = (tmp_path / "r.html").read_text()
    assert "<script>alert" not in text and text.count("<!--") == 0
    assert held(text)["attributes"][0]["labels"] == names


def test_a_simulation_says_what_it_is(table, domain, tmp_path):
    simulation = margin.simulate(table, domain=domain, budget=PureDP(1), seed=0)
    write_report(simulation.synopsis, tmp_path / "r.html")
    assert held((tmp_path / "r.html").read_text())["private"] is False


def test_what_is_no_release_is_refused(synopsis, tmp_path):
    import dataclasses

    loose = dataclasses.replace(synopsis, provenance=None)
    with pytest.raises(FileError, match="release"):
        write_report(loose, tmp_path / "r.html")
    with pytest.raises(FileError, match="release"):
        explore(loose, title="x")
    with pytest.raises(FileError, match="must exist"):
        write_report(synopsis, tmp_path / "none" / "r.html")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("budget", "words"),
    [
        (PureDP(1), ["Each row", "did not have this row", "2.72 (epsilon = 1)", "at most 2.72 %."]),
        (PureDP(1), ["known to be in the table", "7.39 (epsilon = 2 x 1 = 2)"]),
        (PureDP(1), ["50 % into at most 73.11 %.", "50 % into at most 88.08 %."]),
        (PureDP("0.1", rows_per_person=3), ["Up to 3 rows", "did not have these rows", "1.11 %"]),
        (
            ZCDP("0.1"),
            ["12.30, except with a probability of at most 1 in 1,000,000 (rho = 0.1)", "0.000001)"],
        ),
        (ApproxDP(2, "1e-9"), ["14.78", "delta = 0.000000001", "at most 7.39 %."]),
        (PureDP(10), ["at most 100 %."]),
        (ApproxDP(1, "0.5"), ["at most 52.72 %."]),
        (
            PureDP(1, neighbours=Neighbours.REPLACE_ROW),
            ["number of rows is public", "if this row said something else"],
        ),
        (PureDP("7.43"), ["factor of at most 1,690 (", "factor of at most 2,850,000 ("]),
        (PureDP(60), ["factor of at most exp(60) ("]),
        (PureDP(1000), ["factor of at most exp(1000)", "factor of at most exp(2000)"]),
        (ZCDP(10**6), ["factor of at most exp(1007619)", "epsilon = 1.00743e+06"]),
    ],
)
def test_the_guarantee_in_words(budget, words):
    text = " ".join(in_words(Statement(budget=budget)))
    assert all(word in text for word in words), text
    assert not re.search(r"\b(\w+) \1\b", text)


def test_the_words_say_what_the_rows_are_if_the_publisher_does():
    statement = Statement(budget=PureDP(1))
    domain = Domain({"sex": ["F", "M"]})
    start = "The rows are homes. "
    assert in_words(statement, domain, row_name="homes")[2].startswith(start + "Each row")
    paragraph = in_a_paragraph(statement, domain, row_name="homes")
    assert paragraph.startswith(start + "Protects one row:")
    assert "The rows are" not in in_a_paragraph(statement, domain) + in_words(statement)[2]


@pytest.mark.parametrize("tables", [[["age", "sex"]], [["age", "sex"], ["age", "region"]]])
def test_only_a_page_with_reconstructed_tables_speaks_of_them(synopsis, tmp_path, tables):
    made = write_report(synopsis, tmp_path / "r.html", tables=tables)
    before, *_ = (tmp_path / "r.html").read_text().split("<script>")
    publish(synopsis, tables, tmp_path / "folder")
    readme = " ".join((tmp_path / "folder" / "README.txt").read_text().split())
    has = Source.RECONSTRUCTED in made
    assert has is (len(tables) > 1)
    assert ("in one table many true numbers may lie outside" in before) is has
    for text in (before, readme):
        assert (ADDED_UP in text) is has
        assert ("reconstructed" in text) is ("not measured" in text) is has


def test_the_words_say_who_answers_for_the_number_of_rows():
    declared, enforced, one = (
        in_words(Statement(budget=PureDP(1, rows_per_person=rows), unit=unit))[2]
        for rows, unit in [(3, None), (3, "person_id"), (1, None)]
    )
    assert (
        "did not check this" in declared
        and "'person_id'" in enforced
        and "Of the rows of one person_id, the software counted at most 3, chosen at random, so "
        "totals may be too low"
        in enforced
        and "percentages are of the counted rows" in enforced
    )
    assert "check" not in one and "counted" not in one


@pytest.mark.parametrize(
    ("statement", "whom"),
    [
        (Statement(budget=PureDP(1)), "a row is"),
        (Statement(budget=PureDP(1, rows_per_person=2)), "a person is"),
        (
            Statement(budget=PureDP(1, rows_per_person=2), unit="home"),
            "the rows with one 'home' are",
        ),
    ],
)
def test_the_words_promise_nothing_to_a_person_where_rows_are_protected(statement, whom):
    _, plainly, who, _, strength = in_words(statement)
    # The short answer has the two percentages of the paragraph that explains them.
    short = re.findall(r"at most ([\d.]+) % sure", plainly)
    assert plainly.startswith("In short: whoever was 50 % sure that ")
    assert short == re.findall(r"of 50 % into at most ([\d.]+) %", strength) and len(short) == 2
    assert f"the odds that {whom} in the table by a factor" in strength
    # A percentage is no finding, and a reader can tell whether it is high.
    assert "limits, not findings" in plainly and plainly.endswith(" that there is no limit.")
    assert "50 % would mean that the results tell nothing about " in plainly
    alone = (
        "If a person or a household has several rows in this table, each of them is protected by "
        "itself only."
    )
    assert (alone in who) is (alone in statement.describe()) is (whom == "a row is")
    # A statement of one release says that it is not that of all.
    assert OTHER_RELEASES in who and OTHER_RELEASES in in_a_paragraph(statement, Domain({"a": 2}))


REPLACED = Neighbours.REPLACE_ROW


@pytest.mark.parametrize(
    ("statement", "domain", "change"),
    [
        (Statement(budget=PureDP(1)), None, "the table did not have your row"),
        (
            Statement(budget=PureDP(1, rows_per_person=2)),
            None,
            "the table did not have your rows",
        ),
        (
            Statement(budget=PureDP(1, rows_per_person=2), unit="home"),
            None,
            "the table did not have the rows with your value of the column 'home'",
        ),
        (
            Statement(budget=PureDP(1, neighbours=REPLACED)),
            None,
            "your row said something else",
        ),
        (
            Statement(budget=PureDP(1, neighbours=REPLACED, rows_per_person=2)),
            None,
            "up to 2 other rows stood in place of your rows",
        ),
        (
            Statement(budget=PureDP(1)),
            Domain({"sex": ["F", "M"]}, known={("sex",): [3, 4]}),
            "your row said something else, with the same public totals",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_the_words_answer_first_whether_somebody_can_find_out_about_a_reader(
    statement, domain, change
):
    first = in_words(statement, domain)[0]
    assert first.startswith("Can somebody find out about you from these numbers? ")
    assert first.endswith(f" how much more the numbers can tell about you than if {change}.")


def test_words_never_promise_more_than_the_budget():
    """The factors and the epsilon are rounded up."""
    text = " ".join(in_words(Statement(budget=ZCDP("0.1"))))
    factors = re.findall(r"at most ([\d.]+), except with a probability of at most 1 in 1,000", text)
    for factor, rho in zip(factors, [0.1, 0.4], strict=True):
        assert float(factor) >= np.exp(rho + 2 * np.sqrt(rho * np.log(2e6)))
    (epsilon,) = re.findall(r"\(epsilon = ([\d.]+) at", text)
    assert float(epsilon) >= epsilon_of("0.1", 1e-6)


@pytest.mark.parametrize("epsilon", ["0.4", "0.8", "1", "2"])
def test_both_percentages_have_two_decimals_and_are_rounded_up(epsilon):
    """The first of the budget 0.8 is 68.998 %: it is written as 69.00 beside 83.21."""
    text = " ".join(in_words(Statement(budget=PureDP(epsilon))))
    written = re.findall(r"at most (\S+) % sure", text)
    assert [len(one.partition(".")[2]) for one in written] == [2, 2]
    for one, steps in zip(written, [1, 2], strict=True):
        exact = 100 / (1 + np.exp(-steps * float(epsilon)))
        assert exact <= float(one) < exact + 0.01


def test_the_server_ends_when_nobody_asks(synopsis):
    made = explore(synopsis, title="people", idle=0.05)
    thread = threading.Thread(target=made.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    thread.join(60)
    made.server_close()
    assert not thread.is_alive()
    with pytest.raises(FileError, match="idle"):
        explore(synopsis, title="people", idle=0)


def test_a_visitor_who_asks_keeps_the_server_alive(synopsis):
    made = explore(synopsis, title="people", idle=1e6)
    made._last -= 2e6
    with Silent() as connection:
        made.finish_request(connection, ("127.0.0.1", 1))
    made.service_actions()
    assert not made._BaseServer__shutdown_request
    made.server_close()


class Silent(socket.socket):
    """A connection that sends nothing."""

    def __init__(self):
        super().__init__()
        self.settimeout(0.01)

    def makefile(self, *_, **__):
        return io.BytesIO()


@pytest.mark.parametrize("sent", [b"", b"GET / HT", b"GET / HTTP/1.1\r\nHost: 127.0.0.1:1\r\n"])
@pytest.mark.parametrize("limit", ["_SOCKET_SECONDS", "_REQUEST_SECONDS"])
def test_who_does_not_finish_a_request_is_cut_off(synopsis, monkeypatch, limit, sent):
    """There are two limits: the time between two bytes, and the time of the whole request."""
    monkeypatch.setattr(importlib.import_module("margin.report.explore"), limit, 0.2)
    made = explore(synopsis, title="people")
    thread = threading.Thread(target=made.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    with socket.create_connection(made.server_address, timeout=60) as connection:
        connection.sendall(sent)
        with contextlib.suppress(ConnectionError):
            if limit == "_REQUEST_SECONDS":
                while True:
                    connection.sendall(b"x")
                    time.sleep(0.05)
            assert connection.recv(100) == b""
    made.shutdown()
    thread.join()
    made.server_close()


def test_a_question_behind_a_long_one_is_told_to_come_again(synopsis, server, monkeypatch):
    monkeypatch.setattr(importlib.import_module("margin.report.explore"), "_TURN_SECONDS", 0.05)
    asked, done = threading.Event(), threading.Event()

    def slow(*_):
        asked.set()
        done.wait(60)
        raise margin.DomainError("late")

    monkeypatch.setattr(type(synopsis), "marginal", slow)
    first = threading.Thread(target=get, args=(server, "/marginal?attribute=sex"))
    first.start()
    assert asked.wait(60)
    assert get(server, "/marginal?attribute=age")[0] == 503
    done.set()
    first.join()


@pytest.fixture
def server(synopsis):
    made = explore(synopsis, title="people")
    thread = threading.Thread(target=made.serve_forever, args=(0.01,))
    thread.start()
    yield made
    made.shutdown()
    thread.join()
    made.server_close()


def get(server, path, host=None):
    port = server.server_address[1]
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    connection.request("GET", path, headers={"Host": host or f"127.0.0.1:{port}"})
    reply = connection.getresponse()
    body = reply.read()
    connection.close()
    return reply.status, body


def test_the_server_answers_every_marginal(server, synopsis):
    status, body = get(server, "/")
    assert status == 200 and held(body.decode())["live"] is True
    status, body = get(server, "/marginal?attribute=income&attribute=age&attribute=region")
    answer = json.loads(body)
    assert status == 200 and answer["axes"] == [4, 0, 2]
    assert (
        doubles(answer["counts"]) == synopsis.marginal(["income", "age", "region"]).counts.ravel()
    ).all()


def test_the_server_answers_levels(leveled):
    made = explore(leveled, title="people")
    thread = threading.Thread(target=made.serve_forever, args=(0.01,))
    thread.start()
    try:
        state = json.loads(get(made, "/marginal?attribute=sex&attribute=place@state")[1])
        county = json.loads(get(made, "/marginal?attribute=place@county")[1])
    finally:
        made.shutdown()
        thread.join()
        made.server_close()
    assert state["axes"] == [1, 3] and county["axes"] == [0]
    marginal = leveled.marginal(["sex", "place@state"])
    assert (doubles(state["counts"]) == marginal.counts.ravel()).all()


@pytest.mark.parametrize(
    ("path", "host", "status"),
    [
        ("/marginal?attribute=nobody", None, 400),
        ("/marginal", None, 400),
        ("/etc/passwd", None, 404),
        ("/", "evil.example:80", 403),
        ("/marginal?attribute=age", "evil.example", 403),
    ],
)
def test_the_server_refuses(server, path, host, status):
    assert get(server, path, host)[0] == status


def test_the_server_listens_on_this_machine_only(server):
    assert server.server_address[0] == "127.0.0.1"


def test_a_taken_port_is_a_typed_error(server, synopsis):
    with pytest.raises(FileError, match="cannot be used"):
        explore(synopsis, title="x", port=server.server_address[1])


@pytest.mark.parametrize("port", [99999, 65536, -1])
def test_a_port_that_does_not_exist_is_refused(saved, synopsis, port, capsys):
    with pytest.raises(FileError, match="must be a whole number from 0 to 65535"):
        explore(synopsis, title="x", port=port)
    assert main(["explore", str(saved), f"--port={port}", "--no-browser"]) == 2
    assert "from 0 to 65535" in capsys.readouterr().err


def test_the_command_writes_a_page_and_replaces_none(saved, capsys):
    assert main(["report", str(saved)]) == 0
    page = saved.with_suffix(".html")
    out, err = capsys.readouterr()
    # Each of the 30 sets of up to four of five attributes is a table. Half of them have the one
    # that was not measured, and 9 lie within a view.
    told = "; 30 tables: 9 measured, 6 reconstructed, 15 not measured\n"
    assert page.exists() and "MB" in out and told in out and "name the tables that matter" in out
    # A page that does not say what a row is gets a hint, with the options that would say it.
    assert all(option in err for option in ("--description", "--population", "--contact"))
    told = ["--description=x", "--population=y", "--period=1", "--publisher=o", "--contact=z"]
    told += ["--licence=l", "--coverage=c"]
    assert main(["report", str(saved), "-o", str(page.with_name("told.html")), *told]) == 0
    assert not capsys.readouterr().err
    assert main(["report", str(saved)]) == 2
    assert "--force" in capsys.readouterr().err
    assert main(["report", str(saved), "--force", "--title", "Census"]) == 0
    assert held(page.read_text())["title"] == "Census"


def test_the_command_refuses_a_simulation_unless_told(table, domain, tmp_path, capsys):
    path = tmp_path / "s.margin"
    margin.simulate(table, domain=domain, budget=PureDP(1), seed=0).save(path)
    assert main(["report", str(path)]) == 2
    assert main(["report", str(path), "--allow-simulation"]) == 0
    capsys.readouterr()


# In a real browser


@pytest.mark.slow
@pytest.mark.parametrize("width", [1200, 400])
def test_every_printed_number_is_pythons(browser, synopsis, domain, tmp_path, width):
    write_report(synopsis, tmp_path / "r.html")
    browser.set_window_size(width, 900)
    open_page(browser, tmp_path / "r.html")
    for names in (
        ["sex"],
        ["children", "region"],
        ["sex", "children", "region"],
        ["income", "age"],
        ["age", "region"],
    ):
        pick(browser, domain, names)
        assert rows_of(browser) == printed(synopsis.marginal(names)), names
        until(lambda: texts(browser, "#chart svg"))
    assert browser.execute_script(
        "return document.documentElement.scrollWidth <= window.innerWidth"
    )
    assert texts(browser, "#views-chart svg") and texts(browser, "#errors li")
    assert not [entry for entry in browser.get_log("browser") if entry["level"] == "SEVERE"]


@pytest.mark.slow
def test_a_page_of_45_attributes_is_light_and_opens_on_a_marginal(browser, tmp_path):
    """The release has as many cells as a page can hold."""
    rng = np.random.default_rng(0)
    labels = [f"category number {place}" for place in range(8)]
    domain = Domain({f"attribute {place}": {"values": labels} for place in range(45)})
    rows = {name: rng.choice(labels, 500) for name in domain}
    views = [
        [f"attribute {place}" for place in rng.choice(45, 4, replace=False)] for _ in range(29)
    ]
    mechanism = PriView(views=[["attribute 0", "attribute 1"], *views], nonnegativity=None)
    made = margin.release(rows, domain=domain, budget=PureDP(1), mechanism=mechanism)
    write_report(made, tmp_path / "r.html")
    assert (tmp_path / "r.html").stat().st_size < 3e6
    open_page(browser, tmp_path / "r.html")
    until(lambda: texts(browser, "#chart svg") and texts(browser, "#errors li"))
    assert rows_of(browser) == printed(made.marginal(["attribute 0"]))
    pick(browser, domain, ["attribute 1", "attribute 0"])
    assert rows_of(browser) == printed(made.marginal(["attribute 1", "attribute 0"]))


@pytest.mark.slow
@pytest.mark.parametrize(
    "mechanism",
    [
        PriView(views=[["age", "sex"], ["age", "children"]], shares=[1, 5]),
        margin.Residual(order=2),
        margin.mechanisms.Direct(),
        margin.mechanisms.Flat(),
        margin.MWEM(rounds=2),
        margin.mechanisms.Uniform(),
    ],
    ids=lambda mechanism: type(mechanism).__name__,
)
def test_numbers_are_pythons_whatever_was_released(browser, table, domain, tmp_path, mechanism):
    """This includes domains with impossible combinations and a declared number of rows."""
    names = ["age", "sex", "children"]
    rules = (
        [{"age": 0, "children": [2, 3]}] if isinstance(mechanism, PriView | margin.Residual) else []
    )
    declared = Domain(
        {name: domain[name] for name in names}, impossible=rules, rows=500 if rules else None
    )
    rows = table.filter(~((np.array(table["age"]) < 18) & (np.array(table["children"]) > 1)))
    made = margin.release(rows, domain=declared, budget=PureDP(1), mechanism=mechanism)
    write_report(made, tmp_path / "r.html")
    open_page(browser, tmp_path / "r.html")
    for asked in (["sex", "age"], ["children", "age"], ["sex", "children"]):
        pick(browser, declared, asked)
        expected = [
            ["\u2013" if "nan" in cell else cell for cell in row]
            for row in printed(made.marginal(asked))
        ]
        assert rows_of(browser) == expected, asked
    assert not [entry for entry in browser.get_log("browser") if entry["level"] == "SEVERE"]


@pytest.mark.slow
def test_a_release_without_tables_says_what_it_is(browser, tmp_path):
    rows = scipy.sparse.csr_array(
        np.eye(40, 10, dtype=np.int64) + np.eye(40, 10, 1, dtype=np.int64)
    )
    budget = PureDP(5)
    made = margin.release(
        rows, domain={"page": 10}, budget=budget, mechanism=margin.mechanisms.PrivBasis(k=3)
    )
    write_report(made, tmp_path / "r.html")
    open_page(browser, tmp_path / "r.html")
    shown = browser.execute_script("return document.body.innerText")
    assert (
        "What was published" in shown
        and "margin info" in shown
        and "Choose attributes" not in shown
    )
    assert "A release about page. Random noise was added" in shown
    assert not [entry for entry in browser.get_log("browser") if entry["level"] == "SEVERE"]


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 400])
def test_the_page_has_no_barriers(browser, synopsis, domain, tmp_path, width, scheme):
    """The rules of WCAG 2.1, levels A and AA, checked by axe."""
    axe = pytest.importorskip("axe_core_python.selenium", reason="axe-core-python is not installed")
    imprint = Imprint(contact="statistics@example.org", licence="CC BY 4.0")
    write_report(synopsis, tmp_path / "r.html", title="People", imprint=imprint)
    browser.set_window_size(width, 900)
    in_colours(browser, scheme)
    open_page(browser, tmp_path / "r.html")
    for names in (["age"], ["region", "children"], ["age", "sex"], ["age", "region"]):
        pick(browser, domain, names)
        until(lambda: texts(browser, "#chart svg"))
        browser.execute_script(
            "for (const one of document.querySelectorAll('details')) one.open = true"
        )
        if names == ["region", "children"]:
            tick_category(browser, 0, domain["region"].captions[1])
            choose(browser, "whole", "0")
        options = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]}
        found = axe.Axe().run(browser, options=options)
        assert [rule["id"] for rule in found["violations"]] == []
        assert len(found["passes"]) > 10
    in_colours(browser, "light")


@pytest.mark.slow
def test_paper_has_the_heads_of_columns_and_dark_text_on_white(browser, synopsis, domain, tmp_path):
    """Browsers do not repeat buttons on every page, so print shows the heads as plain text."""
    write_report(synopsis, tmp_path / "r.html")
    open_page(browser, tmp_path / "r.html")
    pick(browser, domain, ["age", "sex"])
    until(lambda: texts(browser, "#chart svg"))
    dark = {"name": "prefers-color-scheme", "value": "dark"}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print", "features": [dark]})
    heads = """return Array.from(document.querySelectorAll("#table thead th"), (head) =>
        head.innerText + getComputedStyle(head, "::after").content)"""
    shown = ["age", "sex", "count", "low", "high", "% of all rows"]
    *buttons, ends = browser.execute_script(heads)
    assert buttons == [f'"{name}"' for name in shown] and ends.startswith("bounds of %")
    colours = """const page = getComputedStyle(document.body);
        const text = getComputedStyle(document.querySelector("#chart svg text"));
        return [page.backgroundColor, page.color, text.fill]"""
    ink = "rgb(27, 31, 36)"
    assert browser.execute_script(colours) == ["rgb(255, 255, 255)", ink, ink]
    # What is closed is open on paper, and what can only be clicked is left out.
    quote = browser.find_element("id", "quote")
    for event, is_open in [("beforeprint", "true"), ("afterprint", None)]:
        browser.execute_script(f"dispatchEvent(new Event('{event}'))")
        assert quote.get_attribute("open") == is_open
    for useless in ("#clear", "#filtering", "#whole", "#download", "#held", "footer summary"):
        assert not browser.find_element("css selector", useless).is_displayed()
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": []})


@pytest.mark.slow
def test_a_table_is_printed_by_itself_and_its_chart_saved_for_other_programs(
    browser, synopsis, domain, tmp_path
):
    write_report(synopsis, tmp_path / "r.html", title=tmp_path.name)
    open_page(browser, tmp_path / "r.html")
    pick(browser, domain, ["age", "sex"])
    until(lambda: texts(browser, "#chart svg"))
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    script = """
        const parts = ["h1", "#asked", "#status", "#table", "#total", "#chart", "#imprint",
            "#words", "#quote", "#views-section", "#errors-section", "footer"].map(
                (part) => [part, document.querySelector(part)]);
        const seen = () => parts.filter(([, one]) => one.checkVisibility()).map(([part]) => part);
        let printed = [];
        window.print = () => {
            dispatchEvent(new Event("beforeprint"));
            printed = seen();
            dispatchEvent(new Event("afterprint"));
        };
        document.getElementById("print-table").click();
        return [printed, seen()];
    """
    printed_parts, page = browser.execute_script(script)
    assert printed_parts == ["h1", "#asked", "#status", "#table", "#total", "#chart", "#imprint"]
    assert {"#words", "#quote", "#errors-section", *printed_parts} <= {*page}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
    for ending in ("svg", "png"):
        button = "save-chart" if ending == "svg" else "save-png"
        browser.execute_script(f"document.getElementById('{button}').click()")
        until(written(browser.downloads / f"{tmp_path.name}-age-sex-chart.{ending}"))
    svg = (browser.downloads / f"{tmp_path.name}-age-sex-chart.svg").read_text("utf-8")
    size = [
        float(re.search(rf'<svg[^>]* {side}="([\d.]+)"', svg)[1]) for side in ("width", "height")
    ]
    image = (browser.downloads / f"{tmp_path.name}-age-sex-chart.png").read_bytes()
    assert image.startswith(b"\x89PNG")
    # The size stands behind the mark, and the length and the name of the first part.
    sides = [int.from_bytes(image[start : start + 4], "big") for start in (16, 20)]
    assert sides == [int(2 * side) for side in size]


@pytest.mark.slow
@pytest.mark.parametrize("unit_name", [None, "patient"])
@pytest.mark.parametrize(("rows", "were"), [(1, "was"), (3, "were")])
def test_totals_say_that_rows_of_a_person_were_left_out(browser, tmp_path, rows, were, unit_name):
    table = {"person": [0, 0, 0, 0, 1], "sex": [0, 1, 0, 1, 0]}
    made = margin.release(
        table,
        domain={"sex": 2},
        budget=PureDP(1),
        mechanism=PriView(views=[["sex"]]),
        unit="person",
        rows_per_person=rows,
    )
    imprint = Imprint(unit_name=unit_name, row_name="visits")
    write_report(made, tmp_path / "r.html", imprint=imprint)
    open_page(browser, tmp_path / "r.html")
    until(lambda: texts(browser, "#total") != [""])
    name = unit_name or "person"
    (first,) = texts(browser, "#all-rows")
    assert f" counted visits (at most {rows} of each {name}) in all: " in first
    assert first.endswith(" How many visits were not counted is not known here.")
    explained = " ".join(texts(browser, "#explorer > p"))
    assert "how far it may be from the true number of counted visits: they allow" in explained
    words = " ".join(texts(browser, "#words p, #in-numbers p"))
    assert f"All rows of one {name} are protected together." in words
    of_one = f"of one {unit_name}" if unit_name else "with one 'person'"
    assert f"Strength: the results change the odds that the rows {of_one} are in" in words
    assert f"same value of the column 'person' counts as one {name}. Whoever has two such" in words
    (total,) = texts(browser, "#total")
    assert f"At most {rows} of the visits of each {name} {were} counted." in total
    assert "percentages are of the counted visits: whoever has more weighs less." in total
    assert "counts and totals may be too low" in total
    assert "(counted visits: " in total
    assert texts(browser, "#table th.share") == ["% of counted visits"]
    (source,) = texts(browser, "#status")
    assert "the true number of counted rows lies between the bounds" in source
    (limit,) = texts(browser, "#left-out")
    assert "chosen at random" in limit and "weighs less in totals and in percentages" in limit
    assert f"For example, {rows + 5} such rows would count as {rows}." in limit
    (quoted,) = texts(browser, "#quoted")
    assert f" (at most {rows} counted for each {name}). " in quoted


@pytest.mark.slow
@pytest.mark.parametrize(("rows", "most"), [(1, "no two rows have"), (3, "at most 3 rows have")])
def test_totals_say_that_the_publisher_states_that_none_was_left_out(browser, tmp_path, rows, most):
    made = margin.release(
        {"person": [0, 1, 2, 3, 4], "sex": [0, 1, 0, 1, 0]},
        domain={"sex": 2},
        budget=PureDP(1),
        mechanism=PriView(views=[["sex"]]),
        unit="person",
        rows_per_person=rows,
        no_more_rows=True,
    )
    write_report(made, tmp_path / "r.html")
    open_page(browser, tmp_path / "r.html")
    until(lambda: texts(browser, "#total") != [""])
    (total,) = texts(browser, "#total")
    said = f"The publisher states that {most} the same \u201cperson\u201d, so none was left out."
    assert said in total and "counted" not in total and "too low" not in total
    assert texts(browser, "#table th.share") == ["% of all rows"]
    quoted = " ".join(texts(browser, "#quoted, #quoted-share, #status"))
    assert "counted for each" not in quoted and "number of counted" not in quoted


@pytest.mark.slow
def test_the_page_says_what_bounds_of_zero_mean_unless_zero_is_declared(browser, tmp_path):
    """Noise of a great budget is 0 with bounds below 1; an impossible cell is 0 for certain."""
    table = {"a": [0] * 50, "b": [0] * 50}
    for rules, budget, said in (([], 50, True), ([{"a": 1}], 50, False), ([], 1, False)):
        domain = Domain({"a": 2, "b": 2}, impossible=rules)
        made = margin.release(table, domain=domain, budget=PureDP(budget), workload=[["a", "b"]])
        write_report(made, tmp_path / "r.html")
        open_page(browser, tmp_path / "r.html")
        until(lambda: texts(browser, "#total") != [""])
        (misses,) = texts(browser, "#misses")
        assert ("Where the high bound is 1, do not write that" in misses) is said, misses


@pytest.mark.slow
def test_many_ordered_categories_are_drawn_in_their_order(browser, tmp_path):
    """Of many that have no order, the largest are drawn, and the page says so."""
    years = {"dates": {"from": "1920-01-01", "to": "2021-12-31", "by": "year"}}
    domain = Domain({"year": years, "code": {"values": [f"c{place}" for place in range(80)]}})
    rows = {"year": ["1950-05-05"] * 900, "code": ["c1"] * 900}
    made = margin.release(rows, domain=domain, budget=PureDP(1), workload=[["year"], ["code"]])
    write_report(made, tmp_path / "r.html")
    browser.set_window_size(1200, 900)
    open_page(browser, tmp_path / "r.html")
    names = {"year": "Counts by year", "code": "Counts by code"}
    for name, said in names.items():
        pick(browser, domain, [name])
        chart = browser.find_element("id", "chart")
        label = f"{said}; the table above has the numbers"
        until(lambda chart=chart, label=label: chart.get_attribute("aria-label") == label)
        until(lambda: texts(browser, "#chart svg[aria-hidden]"))
        assert texts(browser, "#caption") == [f"{said}, with bounds of 95 %"]
        assert ("60 largest" in texts(browser, "#drawn")[0]) is (name == "code")
        starts = {"year": "The band around the line goes", "code": "The thin line on each bar goes"}
        legend = f"{starts[name]} from the low to the high bound."
        assert texts(browser, "#legend") == [legend]
        if name == "year":
            ticks = [text for text in texts(browser, "#chart svg text") if len(text) == 4]
            assert len(ticks) > 3 and ticks[0] == "1920" and ticks == sorted(ticks)


@pytest.mark.slow
def test_numbers_below_a_chart_do_not_touch(browser, screen, tmp_path):
    domain = Domain({"a": {"values": ["x", "a name of twenty chars"]}})
    made = margin.release({"a": ["x"] * 11_000}, domain=domain, budget=PureDP(1))
    write_report(made, tmp_path / "r.html")
    screen(400)
    open_page(browser, tmp_path / "r.html")
    until(lambda: texts(browser, "#chart svg"))
    script = """return Array.from(document.querySelectorAll("#chart svg text"))
        .filter((text) => /^[0-9,]+$/.test(text.textContent) && getComputedStyle(text).opacity > 0)
        .map((text) => [text.getBoundingClientRect().left, text.getBoundingClientRect().right])"""
    ticks = sorted(browser.execute_script(script))
    assert len(ticks) > 1
    for (_, end), (start, _) in itertools.pairwise(ticks):
        assert end + 4 < start


@pytest.mark.slow
def test_columns_can_be_sorted_and_shares_add_up(browser, synopsis, domain, tmp_path):
    write_report(synopsis, tmp_path / "r.html")
    open_page(browser, tmp_path / "r.html")
    pick(browser, domain, ["region", "children"])
    declared = rows_of(browser)

    def numbers():
        return [float(row[0].replace(",", "")) for row in rows_of(browser)]

    def click(column):
        script = "document.querySelectorAll('#table th > button.sort')[arguments[0]].click()"
        browser.execute_script(script, column)

    click(2)
    assert numbers() == sorted(numbers(), reverse=True)
    assert texts(browser, "#table th[aria-sort=descending] > button") == ["count \u2193"]
    click(2)
    assert numbers() == sorted(numbers())
    click(2)
    assert rows_of(browser) == declared
    # Categories are sorted in their declared order, and heads of lines are heads.
    children = "#table tbody th[scope=row]:nth-child(2)"
    ascending = [name for name in domain["children"].captions for _ in domain["region"].captions]
    click(1)
    assert texts(browser, children) == ascending
    click(1)
    assert texts(browser, children) == ascending[::-1]
    click(5)
    assert numbers() == sorted(numbers(), reverse=True)
    assert "may be too low" not in texts(browser, "#total")[0]
    shares = [float(text.rstrip("%")) for text in texts(browser, "#table td.share")]
    assert sum(shares) == pytest.approx(100, abs=0.05 * len(shares))


@pytest.mark.slow
def test_all_tables_can_be_downloaded(browser, synopsis, tmp_path):
    write_report(synopsis, tmp_path / "r.html", title="All of it")
    open_page(browser, tmp_path / "r.html")
    browser.execute_script("document.getElementById('download-all').click()")
    until(written(browser.downloads / "All_of_it-all.csv"))
    with (browser.downloads / "All_of_it-all.csv").open(newline="", encoding="utf-8") as file:
        assert file.read(1) == "\ufeff"
        head, *lines = csv.reader(file)
    names = list(synopsis.domain)
    assert head == ["table", *names, "count", "low", "high", "confidence", "how_made"]
    data = held((tmp_path / "r.html").read_text())
    inside = [
        part
        for view in data["views"]
        for size in range(1, len(view["axes"]) + 1)
        for part in itertools.combinations(sorted(view["axes"]), size)
    ]
    tables = {*inside, *(tuple(answer["axes"]) for answer in data["answers"])}
    assert texts(browser, "#held") == [f"The file of all tables holds {len(tables)} tables."]
    found = set()
    for title, cells in itertools.groupby(lines, key=lambda line: line[0]):
        cells = list(cells)
        own = title.split(" \u00d7 ")
        found.add(tuple(names.index(name) for name in own))
        source = synopsis.source(own)
        # Bounds of estimates are not said to be what those of a measured table are.
        sure = {"measured": "95%", "reconstructed": "95% on average", "assumed": "not known"}
        sure = sure[source.value]
        assert {tuple(line[-2:]) for line in cells} == {(sure, source.value)}
        marginal = synopsis.marginal(own)
        numbers = [[number.replace(",", "") for number in row] for row in printed(marginal)]
        assert [line[-5:-2] for line in cells] == numbers
        filled = [name for place, name in enumerate(names) if cells[0][1 + place]]
        assert filled == own
    assert found == tables


@pytest.mark.slow
def test_a_download_that_cannot_hold_all_tables_says_so(browser, synopsis, tmp_path):
    write_report(synopsis, tmp_path / "r.html", title="Few")
    text = (tmp_path / "r.html").read_text()
    assert text.count("MOST_LINES = 250000") == 1
    few = text.replace("MOST_LINES = 250000", "MOST_LINES = 20")
    (tmp_path / "few.html").write_text(few)
    open_page(browser, tmp_path / "few.html")
    browser.execute_script("document.getElementById('download-all').click()")
    until(written(browser.downloads / "Few-all.csv"))
    lines = (browser.downloads / "Few-all.csv").read_text().splitlines()[1:]
    tables = {line.split(",")[0] for line in lines}
    assert 0 < len(lines) <= 20 and not any(" \u00d7 " in table for table in tables)
    (said,) = texts(browser, "#held")
    assert f"holds the {len(tables)} tables with the fewest attributes" in said
    assert "one by one" in said


@pytest.mark.slow
def test_the_page_says_which_attributes_were_not_measured(browser, tmp_path):
    rng = np.random.default_rng(0)
    rows = {name: rng.integers(0, 3, 3_000) for name in "abc"}
    made = margin.release(
        rows, domain=dict.fromkeys("abc", 3), budget=PureDP(1), workload=[["a", "b"]]
    )
    imprint = Imprint(description="A test without a full stop")
    browser.set_window_size(1280, 1000)
    write_report(made, tmp_path / "r.html", imprint=imprint)
    open_page(browser, tmp_path / "r.html")
    text = browser.find_element("id", "views-text").text
    # Nothing is known about the counts of what was not measured, so no line tells their noise.
    heads = [line.split(":")[0] for line in texts(browser, "#errors li")]
    assert heads == ["1 attribute, measured (2 tables)", "2 attributes, measured (1 table)"]
    assert "One table of 2 attributes was measured" in text and "Not measured: c." in text
    assert "not measured" in browser.find_element("id", "attributes").text
    assert "full stop. Numbers of rows" in browser.find_element("id", "facts").text


def test_what_the_page_cannot_answer_is_greyed_out(browser, tmp_path):
    rng = np.random.default_rng(0)
    domain = Domain({f"a{place}": 40 for place in range(6)})
    views = [[f"a{place}", f"a{place + 1}"] for place in range(5)]
    codes = rng.integers(0, 40, (2000, 6))
    made = margin.release(codes, domain=domain, budget=PureDP(1), mechanism=PriView(views=views))
    write_report(made, tmp_path / "r.html")
    open_page(browser, tmp_path / "r.html")
    pick(browser, domain, ["a2", "a3"])
    disabled = (
        "return [...document.querySelectorAll('#attributes input')].map((b) => b.ariaDisabled)"
    )
    assert browser.execute_script(disabled) == ["true", "true", "false", "false", "true", "true"]
    said = "return document.getElementById('grey').innerText"
    expected = "Not available: attributes in grey. At most 2 attributes can be chosen."
    assert browser.execute_script(said).strip() == expected
    # A reader is sent to a contact only if there is one.
    assert "contact" not in browser.execute_script(said)
    imprint = Imprint(contact="statistics@example.org")
    write_report(made, tmp_path / "r.html", imprint=imprint)
    open_page(browser, tmp_path / "r.html")
    assert browser.execute_script(said).endswith("ask the contact below.")


@pytest.mark.slow
@pytest.mark.parametrize("width", [1200, 400])
def test_a_reader_can_choose_levels(browser, leveled, tmp_path, width):
    axe = pytest.importorskip("axe_core_python.selenium", reason="axe-core-python is not installed")
    write_report(leveled, tmp_path / "r.html", title=f"levels{width}")
    browser.set_window_size(width, 900)
    open_page(browser, tmp_path / "r.html")
    offered = texts(browser, "#attributes label")
    level = "state, a level of place2 categories"
    assert offered[:3] == ["place4 categories", level, "sex2 categories"]
    # The level takes the place of the attribute that was chosen at the start, and the reverse.
    # A level is called by its own name.
    for names in (["place@state"], ["place@state", "sex"], ["place", "sex"]):
        told = [name.removeprefix("place@") for name in names]
        tick(browser, told[-1] if names != ["place", "sex"] else "place")
        until(lambda told=told: texts(browser, "#asked") == [" \u00d7 ".join(told)])
        until(lambda names=names: rows_of(browser) == printed(leveled.marginal(names)))
    tick(browser, "quarter")
    names = ["place", "sex", "visit@quarter"]
    until(lambda: rows_of(browser) == printed(leveled.marginal(names)))
    # What belongs to which level; every reader knows which months a quarter has.
    browser.execute_script("document.getElementById('grouped').open = true")
    until(lambda: texts(browser, "#grouped p") == ["place by state"])
    assert texts(browser, "#grouped dt") == ["CA", "NV"]
    assert texts(browser, "#grouped dd") == ["Alameda, Fresno", "Clark, Elko"]
    options = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]}
    assert axe.Axe().run(browser, options=options)["violations"] == []
    assert browser.execute_script(
        "return document.documentElement.scrollWidth <= window.innerWidth"
    )
    browser.execute_script("document.getElementById('download-meaning').click()")
    until(written(browser.downloads / f"levels{width}-columns.txt"))
    said = (browser.downloads / f"levels{width}-columns.txt").read_text()
    assert "  place@state: state, a level of place\n" in said
    assert "place by state (column place@state)\n  CA: Alameda, Fresno\n  NV: Clark, Elko\n" in said
    assert f"How to open the tables\n{OPENING}\n" in said
    assert texts(browser, "#opening") == [OPENING]
    assert not [entry for entry in browser.get_log("browser") if entry["level"] == "SEVERE"]


@pytest.mark.slow
@pytest.mark.parametrize("width", [1200, 400])
def test_the_page_says_what_attributes_are(browser, tmp_path, width):
    """Below the table, above each kind of chart, and in a download."""
    told = {"income": "net income, EUR a month", "day": "day of the visit", "place": "of residence"}
    tree = {"names": ["state", "county"], "paths": [["CA", "Napa"], ["CA", "Yolo"], ["NV", "Elko"]]}
    forms = {
        "income": {"bins": [0, 1000, 2000, 8000]},
        "day": {"dates": {"from": "2025-01-01", "to": "2025-04-30", "by": "day"}},
        "place": {"levels": tree},
    }
    domain = {name: {**form, "description": told[name]} for name, form in forms.items()}
    one = {"income": 10, "sex": "f", "day": "2025-01-01", "place": "Elko"}
    rows = {name: [value] * 100 for name, value in one.items()}
    release = margin.release(rows, domain={**domain, "sex": ["f", "m"]}, budget=PureDP(1))
    write_report(release, tmp_path / "r.html", title=f"told{width}")
    browser.set_window_size(width, 900)
    open_page(browser, tmp_path / "r.html")
    # Bars, a map of colours, panels, a line, a level, and an attribute without a description.
    charts = (["income"], ["income", "place"], ["sex", "income"], ["day"], ["state"], ["sex"])
    for names in charts:
        browser.execute_script("document.getElementById('clear').click()")
        for name in names:
            tick(browser, name)
        until(lambda names=names: texts(browser, "#asked") == [" \u00d7 ".join(names)])
        meanings = {name: told[name] for name in names if name in told}
        meanings |= {"state": "a level of place (of residence)"} if names == ["state"] else {}
        lines = {name: f"{name}: {meaning}" for name, meaning in meanings.items()}
        silent = ["sex"] if "sex" in names else []
        bands = ["income"] if "income" in names else []
        limits = [f"The limits of {name} are fixed: this page has no counts" for name in bands]
        shown = texts(browser, "#meanings p")
        assert shown[: len(lines)] == list(lines.values())
        told_last = shown[len(lines) + len(silent) :]
        assert [text.partition(" for other limits")[0] for text in told_last] == limits
        undeclared = [text.partition(" means")[0] for text in shown[len(lines) :][: len(silent)]]
        assert undeclared == [f"The publisher has not declared what {name}" for name in silent]

        def above_the_chart():
            written = texts(browser, "#chart text:not(:has(tspan)), #chart tspan")
            return [text for text in written if ": " in text]

        expected = sorted(lines.values())
        until(lambda expected=expected: sorted(above_the_chart()) == expected, seen=above_the_chart)
    browser.execute_script("document.getElementById('download-meaning').click()")
    file = browser.downloads / f"told{width}-columns.txt"
    until(written(file))
    listed = "".join(f"  {name}: {meaning}\n" for name, meaning in told.items())
    at = "  An @ stands between the name of an attribute and that of one of its levels.\n"
    for name in ("day", "place"):
        levels = release.domain[name].levels.names[:-1]
        listed += "".join(f"  {name}@{level}: {level}, a level of {name}\n" for level in levels)
    assert f"What the attributes are\n{at}{listed}\n" in file.read_text()
    assert not [entry for entry in browser.get_log("browser") if entry["level"] == "SEVERE"]


@pytest.mark.slow
@pytest.mark.parametrize("words", [1, 12])
@pytest.mark.parametrize(("width", "height"), [(1280, 900), (1920, 1080), (390, 844)])
def test_the_head_of_a_table_leaves_two_thirds_of_its_box_to_the_lines(
    browser, screen, tmp_path, width, height, words
):
    """Whatever the attributes are called, and however long their descriptions are."""
    form = {"values": ["in school", "at work"], "description": "main activity in the week, " * 7}
    domain = Domain({f"{'activity ' * words}{place}": form for place in range(6)})
    rows = dict.fromkeys(domain, ["in school", "at work"] * 100)
    whole = PriView(views=[domain.attributes])
    made = margin.release(rows, domain=domain, budget=PureDP(1), mechanism=whole)
    write_report(made, tmp_path / "r.html")
    screen(width, height, mobile=width < 400)
    open_page(browser, tmp_path / "r.html")
    script = """
        const box = document.getElementById("table").parentElement;
        box.scrollTop = 600;
        const edge = box.getBoundingClientRect().top;
        const heads = [...document.querySelectorAll("#table thead th")];
        const bottom = Math.max(...heads.map((head) => head.getBoundingClientRect().bottom));
        return (bottom - edge) / box.clientHeight;"""
    for many in (4, 5, 6):
        pick(browser, domain, domain.attributes[:many])
        # A pixel is the edge of the head.
        assert browser.execute_script(script) <= 0.34, many


@pytest.mark.slow
def test_a_share_within_a_level_has_an_example(browser, leveled, tmp_path):
    """No view has the level as an attribute: the page holds the table of the level by itself."""
    write_report(leveled, tmp_path / "r.html")
    open_page(browser, tmp_path / "r.html")
    for name in ("state", "sex"):
        tick(browser, name)
    until(lambda: texts(browser, "#asked") == ["state \u00d7 sex"])
    until(lambda: len(rows_of(browser)) == 4)
    low, high = whole_bounds(*leveled.marginal(["place@state"]).interval(0.95))
    table = leveled.marginal(["place@state", "sex"])
    state, sex = np.unravel_index(table.counts.argmax(), table.counts.shape)
    own_low, own_high = (ends[state, sex] for ends in whole_bounds(*table.interval(0.95)))
    least = f"{np.floor(1000 * own_low / high[state]) / 10:.1f}%"
    most = f"{np.ceil(1000 * own_high / low[state]) / 10:.1f}%"
    names = ["CA", "NV"][state], leveled.domain["sex"].captions[sex]
    browser.execute_script(
        "const select = document.getElementById('whole');"
        "select.value = '0'; select.dispatchEvent(new Event('change'));"
    )
    said = f"% of the rows with state {names[0]} have sex {names[1]}. "
    (quoted,) = texts(browser, "#quoted-share")
    assert said in quoted and f"the true percentage is from {least} to {most};" in quoted


@pytest.mark.slow
def test_percentages_are_within_all_attributes_but_one(browser, synopsis, domain, tmp_path):
    write_report(synopsis, tmp_path / "r.html")
    open_page(browser, tmp_path / "r.html")
    pick(browser, domain, ["region", "sex", "children"])
    offered = ["all rows", "each region", "each sex", "each children"]
    offered += ["each region \u00d7 sex", "each region \u00d7 children", "each sex \u00d7 children"]
    assert texts(browser, "#whole option") == offered
    browser.execute_script(
        "const select = document.getElementById('whole');"
        "select.selectedIndex = 4; select.dispatchEvent(new Event('change'));"
    )
    counts = synopsis.marginal(["region", "sex", "children"]).counts
    shown = [float(text.rstrip("%")) for text in texts(browser, "#table td.share")]
    shares = 100 * counts / counts.sum(axis=2, keepdims=True)
    assert shown == pytest.approx(shares.ravel(), abs=0.051)
    assert texts(browser, "#table th.share") == ["% within region \u00d7 sex"]
    # What the list has chosen is not to be computed by hand.
    assert "choose" not in texts(browser, "#shares")[0]
    assert "of two counts, or a share that this page does not" in texts(browser, "#by-hand")[0]


@pytest.mark.slow
def test_a_shadow_says_that_a_table_goes_on_below(browser, screen, leveled, tmp_path):
    """It covers the whole width, also where the count stands before other columns."""
    write_report(leveled, tmp_path / "r.html")
    screen(400)
    open_page(browser, tmp_path / "r.html")
    for name in ("sex", "visit"):
        tick(browser, name)
    is_shown = """
        const box = document.querySelector(".scroll"), style = getComputedStyle(box, "::after");
        return style.content !== "none" && parseFloat(style.width) >= box.clientWidth - 1;
    """
    until(lambda: browser.execute_script(is_shown))
    browser.execute_script("document.querySelector('.scroll').scrollTop = 1e6")
    until(lambda: not browser.execute_script(is_shown))
    tick(browser, "visit")
    until(lambda: len(rows_of(browser)) == 8 and not browser.execute_script(is_shown))
    # The list of attributes has it, too.
    box = "const box = document.getElementById('attributes');"
    is_shown = f"{box} return getComputedStyle(box, '::after').content !== 'none'"
    assert browser.execute_script(is_shown)
    browser.execute_script(f"{box} box.scrollTop = 1e6")
    until(lambda: not browser.execute_script(is_shown))


@pytest.mark.slow
def test_the_download_holds_the_table(browser, synopsis, domain, tmp_path):
    imprint = Imprint(contact="statistics@example.org")
    write_report(synopsis, tmp_path / "r.html", title="People 2025", imprint=imprint)
    open_page(browser, tmp_path / "r.html")
    pick(browser, domain, ["sex", "age"])
    browser.execute_script("document.getElementById('download').click()")
    until(written(browser.downloads / "People_2025-sex-age.csv"))
    text = (browser.downloads / "People_2025-sex-age.csv").read_text("utf-8")
    # The mark at the start tells spreadsheets the encoding.
    assert text[0] == "\ufeff"
    lines = text[1:].splitlines()
    marginal = synopsis.marginal(["sex", "age"])
    shares = "per_1000,per_1000_low,per_1000_high,per_1000_of"
    assert lines[0] == f"sex,age,count,low,high,{shares},confidence,how_made"
    assert len(lines) == 1 + marginal.counts.size
    assert {tuple(line.split(",")[-2:]) for line in lines[1:]} == {("95%", "measured")}
    numbers = [[number.replace(",", "") for number in row] for row in printed(marginal)]
    assert [line.split(",")[2:5] for line in lines[1:]] == numbers
    # Percentages as in the table, per 1,000 rows.
    shown = zip(texts(browser, "#table td.share"), texts(browser, "#table td.ends"), strict=True)
    expected = [re.sub(r"[.%]", "", f"{share} to {ends}").split(" to ") for share, ends in shown]
    found = [line.split(",")[5:9] for line in lines[1:]]
    assert found == [[*(str(int(one)) for one in row), "all rows"] for row in expected]
    # A text says what the columns mean.
    browser.execute_script("document.getElementById('download-meaning').click()")
    until(written(browser.downloads / "People_2025-columns.txt"))
    said = (browser.downloads / "People_2025-columns.txt").read_text()
    every = "table: only in the file of all tables"
    assert "per_1000, per_1000_low, per_1000_high: the percentage of the line and its" in said
    for words in ("low, high: ", "statistics@example.org", Source.MEASURED.words, every):
        assert words in said
    assert all(words in said for words in in_words(synopsis.provenance.statement))


def test_a_page_without_scripts_says_who_is_protected_and_whom_to_ask(synopsis, tmp_path):
    imprint = Imprint(contact="a <b>", licence="CC BY 4.0", description="People. Really")
    write_report(synopsis, tmp_path / "r.html", title="Title", imprint=imprint)
    text = (tmp_path / "r.html").read_text()
    plain = re.sub(r"<(script|style)\b.*?</\1>", "", text, flags=re.DOTALL)
    said = html.unescape(re.sub("<[^>]*>", " ", plain))
    data = held(text)
    for words in (*data["words"], data["guarantee"], "Title", "a <b>", "CC BY 4.0"):
        assert words in said
    total = data["total"]
    assert f"About {total['count']:,} rows in all: " in said
    assert "People. Really. Numbers of rows by age, " in said and "@@" not in plain
    assert "<noscript>" in plain and '<div id="columns" class="columns" hidden>' in plain


@pytest.mark.slow
def test_a_page_offers_as_many_attributes_as_it_holds_together(browser, tmp_path):
    rng = np.random.default_rng(0)
    names = [f"a{place}" for place in range(6)]
    made = margin.release(
        rng.integers(0, 2, (500, 6)),
        domain=Domain(dict.fromkeys(names, 2)),
        budget=PureDP(1),
        mechanism=PriView(views=[names[:3], names[3:]]),
    )
    assert content(made, title="x", live=False)["most"] == 4
    assert content(made, title="x", live=True)["most"] == 6
    write_report(made, tmp_path / "r.html")
    open_page(browser, tmp_path / "r.html")
    browser.execute_script("document.getElementById('clear').click()")
    until(lambda: "Choose up to 4 attributes" in texts(browser, "#status")[0])
    # A search without a hit says so.
    search = browser.find_element("id", "search")
    search.send_keys("zz")
    said = "No attribute has \u201czz\u201d in its name, its meaning or its categories."
    assert texts(browser, "#unfound") == [said]
    search.clear()
    search.send_keys("a1")
    assert texts(browser, "#unfound") == [""]


def test_the_imprint_has_links_and_a_publisher(synopsis, tmp_path):
    imprint = Imprint(
        publisher="Office <of> Statistics",
        contact="Ask a.b+c@example.org, please",
        licence='CC BY 4.0 (https://example.org/by?a=1&b="2").',
    )
    write_report(synopsis, tmp_path / "r.html", title="Title", imprint=imprint)
    text = (tmp_path / "r.html").read_text()
    assert "<dt>Publisher</dt><dd>Office &lt;of&gt; Statistics</dd>" in text
    assert "Office &lt;of&gt; Statistics: Title (" in text
    assert 'Ask <a href="mailto:a.b+c@example.org">a.b+c@example.org</a>, please' in text
    address = "https://example.org/by?a=1&amp;b="
    assert f'(<a href="{address}">{address}</a>&quot;2&quot;).' in text


@pytest.mark.slow
def test_a_reconstructed_table_says_that_its_groups_must_not_be_compared(
    browser, synopsis, domain, tmp_path
):
    """A measured table says instead what its bounds say about differences, shares and sums."""
    write_report(synopsis, tmp_path / "r.html")
    open_page(browser, tmp_path / "r.html")
    pick(browser, domain, ["age", "region"])
    assert texts(browser, "#made.warning #status") == [Source.RECONSTRUCTED.words]
    # The caption claims no more than the box.
    (caption,) = texts(browser, "#caption")
    assert caption.startswith("Counts by age and region, estimated, with bounds that hold for 95 %")
    assert caption.endswith("on average, though many of this table may miss")
    said = "Measured together: age with sex; region with sex and children."
    assert texts(browser, "#near") == [said]
    (said,) = texts(browser, "#apart")
    assert said.startswith("No measured table holds age and region together: except for what both ")
    assert "Do not compare counts, shares or ratios of groups" in texts(browser, "#compare")[0]
    _, low, high = max(
        printed(synopsis.marginal(["age", "region"])), key=lambda row: int(row[0].replace(",", ""))
    )
    said = "not measured, but estimated from smaller tables; noise was added for privacy. On "
    said += "average, 95 % of such estimates have the true number between their bounds: here, "
    assert f"{said}{low} to {high}.”" in texts(browser, "#quoted")[0]
    assert texts(browser, "#shares") == [""] and texts(browser, "#table .ends") == []
    assert "Do not add up bounds of lines of this table" in texts(browser, "#sums")[0]
    assert texts(browser, "#table th.share") == ["% of all rows, estimated"]
    assert all(share.startswith("\u2248 ") for share in texts(browser, "#table td.share"))
    pick(browser, domain, ["age", "sex", "region"])
    assert texts(browser, "#near") == ["Measured together: age \u00d7 sex and sex \u00d7 region."]
    pick(browser, domain, ["age", "sex"])
    assert texts(browser, "#made.warning") == [] and texts(browser, "#near") == [""]
    assert texts(browser, "#apart") == [""]
    assert "If they do not even touch, it is larger" in texts(browser, "#compare")[0]
    (rule,) = texts(browser, "#sums")
    assert rule.startswith("For a sum of lines, choose") and rule.endswith(
        adding(has_contact=False, has_smaller=True)
    )
    # The largest count and its careful share of all rows, in tenths of a percent.
    marginal = synopsis.marginal(["age", "sex"])
    largest = marginal.counts.argmax()
    low, high = (bounds.flat[largest] for bounds in whole_bounds(*marginal.interval(0.95)))
    total = synopsis.count({}).interval(0.95)
    total_low, total_high = whole_bounds(*total)
    least = np.floor(1000 * low / total_high) / 10
    most = np.ceil(1000 * high / total_low) / 10
    said = f"the true percentage is from {least:.1f}% to {most:.1f}%;"
    assert said in texts(browser, "#quoted-share")[0]
    assert f"(all rows: {total_low:,.0f} to {total_high:,.0f})" in texts(browser, "#total")[0]


@pytest.mark.slow
def test_the_noise_to_expect_is_that_of_the_tables_of_the_page(browser, synopsis, tmp_path):
    write_report(synopsis, tmp_path / "r.html")
    open_page(browser, tmp_path / "r.html")
    halves, counts = {}, {}
    for size in (1, 2, 3, 4):
        for view in itertools.combinations(synopsis.domain, size):
            marginal = synopsis.marginal(view)
            source = synopsis.source(view)
            if source is not Source.ASSUMED:
                # As the page shows them: a count to the nearest whole number, bounds outwards.
                rounded = np.round(marginal.counts)
                low, high = whole_bounds(*marginal.interval(0.95))
                half = np.maximum(high - rounded, rounded - low).ravel()
                halves.setdefault((size, source.value), []).append(half)
                counts.setdefault((size, source.value), []).append(marginal.counts.ravel())
    expected = []
    for (size, source), tables in sorted(halves.items()):
        found = np.sort(np.concatenate(tables))
        middle = found[(len(found) + 1) // 2 - 1]
        shown = [f"\u00b1 {half:,.0f}" for half in (found[0], middle, found[-1])]
        all_of_them = "" if shown[0] == shown[2] else f" (from {shown[0]} to {shown[2]})"
        heads = f"{size} attribute{'s' * (size > 1)}, {source} ({len(tables)} table"
        heads += f"{'s' * (len(tables) > 1)})"
        typical = np.sort(np.concatenate(counts[size, source]))[(len(found) + 1) // 2 - 1]
        beside = f"a typical count is {typical:,.0f}"
        expected.append(f"{heads}: typically {shown[1]} rows{all_of_them}; {beside}")
    assert sorted(texts(browser, "#errors li")) == sorted(expected)


@pytest.mark.slow
def test_no_download_is_run_as_a_formula(browser, tmp_path):
    labels = ["=1+1", "  @SUM(A1)", "a=1", "\uff1d7"]
    rows = {"-name": labels, "number": [0, 1, 0, 1]}
    domain = Domain({"-name": labels, "number": 2})
    made = margin.release(rows, domain=domain, budget=PureDP(5), workload=[["-name", "number"]])
    write_report(made, tmp_path / "r.html", title="Formulae")
    open_page(browser, tmp_path / "r.html")
    for button, name in (("download", "Formulae-_name.csv"), ("download-all", "Formulae-all.csv")):
        browser.execute_script(f"document.getElementById('{button}').click()")
        until(lambda name=name: [*browser.downloads.glob(name.replace("_", "?"))])
        (path,) = browser.downloads.glob(name.replace("_", "?"))
        until(written(path))
        with path.open(newline="", encoding="utf-8-sig") as file:
            cells = {cell for line in csv.reader(file) for cell in line}
        assert {for_spreadsheet(label) for label in ["-name", *labels]} <= cells
        assert not {"-name", "=1+1", "  @SUM(A1)", "\uff1d7"} & cells


@pytest.mark.slow
def test_lines_of_a_long_table_can_be_chosen(browser, synopsis, domain, tmp_path):
    write_report(synopsis, tmp_path / "r.html")
    open_page(browser, tmp_path / "r.html")
    pick(browser, domain, ["sex"])
    assert not browser.find_element("id", "filtering").is_displayed()
    pick(browser, domain, ["region", "children"])
    whole = rows_of(browser)
    region = domain["region"].captions[1]
    tick_category(browser, 0, region)
    assert {*texts(browser, "#table tbody th:first-child")} == {region}
    assert rows_of(browser) == whole[4:8]
    (said,) = texts(browser, "#more")
    assert said.startswith(f"The table shows 4 of 16 lines: those with region: {region}. ")
    # Each button says which lines it saves.
    assert texts(browser, "#download") == ["Download all 16 lines of this table as CSV"]
    assert texts(browser, "#download-chosen") == ["Download the 4 chosen lines as CSV"]
    # The chart shows the same lines, and says so.
    assert texts(browser, "#drawn") == ["The chart shows the chosen lines."]
    until(lambda: region in texts(browser, "#chart svg")[0])
    drawn = texts(browser, "#chart svg")[0]
    assert not any(other in drawn for other in domain["region"].captions if other != region)
    table = synopsis.marginal(["region", "children"])
    # The example is the sum of those that are shown.
    count, low, high = printed(synopsis.marginal(["region"]))[1]
    said = f"“Among those counted, about {count} rows have {having({'region': [region]})}. "
    said += "With a probability of about 95 %, "
    assert f"{said}the true number is from {low} to {high};" in texts(browser, "#quoted")[0]
    total, part = f"{table.counts.sum():,.0f}", f"{table.counts[1].sum():,.0f}"
    (added,) = texts(browser, "#total")
    assert f"the lines with region: {region} add up to {part}, and" in added
    assert f"all lines of the table to {total} (all rows: " in added
    # The bounds of the sum are those of the line that it is in a smaller table.
    said = f"The table region has this sum as a line: {count}, with bounds of {low} to {high}."
    assert said in added
    # Lines must have a ticked category of every attribute.
    child = domain["children"].captions[2]
    tick_category(browser, 1, child)
    assert rows_of(browser) == whole[6:7]
    quoted = f"rows have {having({'region': [region], 'children': [child]})}. "
    assert quoted in texts(browser, "#quoted")[0]
    (added,) = texts(browser, "#total")
    assert f"region: {region}; children: {child} add up to {table.counts[1, 2]:,.0f}, and" in added
    assert "bounds" not in added.partition("%")[0]
    summaries = [f"region: {region}", f"children: {child}"]
    assert texts(browser, "#choices summary") == summaries
    # A category that is ticked again is no condition.
    tick_category(browser, 1, child)
    assert rows_of(browser) == whole[4:8]
    for code in (0, 2, 3):
        tick_category(browser, 0, domain["region"].captions[code])
    assert rows_of(browser) == whole
    assert texts(browser, "#more") == ["All lines of the table have a ticked category."]
    assert texts(browser, "#drawn") == [""]
    browser.execute_script(f"{LIST} list.querySelector('button').click()", 0)
    assert texts(browser, "#choices summary")[0] == "region: all categories"
    assert rows_of(browser) == whole and texts(browser, "#more") == [""]
    assert texts(browser, "#download") == ["Download this table as CSV"]
    tick_category(browser, 0, region)
    pick(browser, domain, ["children", "region"])
    assert len(rows_of(browser)) == 16


@pytest.mark.slow
@pytest.mark.parametrize(
    "mechanism",
    [PriView(views=VIEWS), PriView(views=VIEWS[::-1], shares=[1, 5]), margin.Residual(order=3)],
    ids=["equal", "shared", "components"],
)
@pytest.mark.parametrize(
    "budget", [PureDP(1), ZCDP("0.1")], ids=lambda budget: type(budget).__name__
)
def test_the_bounds_of_a_chosen_sum_are_pythons(
    browser, table, domain, tmp_path, mechanism, budget
):
    """This includes a table with impossible cells, none of which is in the sums."""
    excluded = (np.array(table["region"]) == "east") & (np.array(table["children"]) == 3)
    rules = [{"region": "east", "children": [3]}]
    declared = Domain({name: domain[name] for name in domain}, impossible=rules)
    made = margin.release(
        table.filter(~excluded), domain=declared, budget=budget, mechanism=mechanism
    )
    write_report(made, tmp_path / "r.html")
    open_page(browser, tmp_path / "r.html")
    data = held((tmp_path / "r.html").read_text())
    by_components = isinstance(mechanism, margin.Residual) and isinstance(budget, PureDP)
    assert data["by_components"] is by_components and any(view["empty"] for view in data["views"])
    pick(browser, domain, ["region", "children", "sex"])
    ticked = {"region": [], "children": [], "sex": []}
    for name, code in (("region", 1), ("region", 3), ("children", 0), ("region", 0), ("sex", 1)):
        ticked[name].append(domain[name].captions[code])
        tick_category(browser, [*ticked].index(name), ticked[name][-1])
        chosen = {one: some for one, some in ticked.items() if some}
        low, high = whole_bounds(*made.count(chosen).interval(0.95))
        if chosen.keys() != ticked.keys():
            start = "Bounds of this sum, from the table " + " \u00d7 ".join(chosen) + ","
        else:
            start = "Bounds of the first sum"
        (added,) = texts(browser, "#total")
        if len(chosen) > 1 or len(ticked["region"]) > 1:
            assert f"{start} are {low:,.0f} to {high:,.0f}." in added, chosen


def test_a_reader_is_told_where_the_page_has_no_bounds_for_a_sum(
    browser, synopsis, domain, leveled, tmp_path
):
    imprint = Imprint(contact="statistics@example.org")
    write_report(synopsis, tmp_path / "r.html", imprint=imprint)
    open_page(browser, tmp_path / "r.html")
    # A table of three attributes that are not in one view.
    pick(browser, domain, ["region", "age", "sex"])
    for place, name in enumerate(["region", "age", "sex"]):
        tick_category(browser, place, domain[name].captions[0])
    assert "bounds" not in texts(browser, "#total")[0].partition("%")[0]
    tick_category(browser, 0, domain["region"].captions[1])
    assert texts(browser, "#unbounded")[0].startswith("Sums of lines of this table have no bounds")
    said = "last line of the table, \u201cSum of the 2 chosen lines\u201d: \u201cHow to quote"
    assert said in texts(browser, "#total")[0]
    said = "table: the contact below can compute a sum with its bounds."
    assert texts(browser, "#sums")[0].endswith(said)
    # The page holds no covariances of levels. Two lines have the bounds of the rule for readers.
    write_report(leveled, tmp_path / "levels.html")
    open_page(browser, tmp_path / "levels.html")
    browser.execute_script("document.getElementById('clear').click()")
    tick(browser, "state")
    tick(browser, "sex")
    until(lambda: texts(browser, "#asked") == ["state \u00d7 sex"])
    tick_category(browser, 0, "CA")
    rows = printed(leveled.marginal(["place@state", "sex"]))[:2]
    low, high = (sum(int(row[end].replace(",", "")) for row in rows) for end in (1, 2))
    if f"{low:,} to {high:,}" not in texts(browser, "#total")[0]:
        # The sum is a line of the table place@state.
        count, low, high = printed(leveled.marginal(["place@state"]))[0]
        assert f"line: {count}, with bounds of {low} to {high}." in texts(browser, "#total")[0]


@pytest.mark.slow
def test_categories_are_found_without_accents_and_chosen_as_a_whole(browser, tmp_path):
    places = ["Südland", "Westland", *(f"{first} to {first + 9}" for first in range(0, 120, 10))]
    domain = Domain({"place": {"values": places}, "work": {"values": ["in work", "not in work"]}})
    rows = {"place": places * 20, "work": ["in work", "not in work"] * 10 * len(places)}
    mechanism = PriView(views=[["place", "work"]])
    made = margin.release(rows, domain=domain, budget=PureDP(1), mechanism=mechanism)
    write_report(made, tmp_path / "r.html")
    open_page(browser, tmp_path / "r.html")
    pick(browser, domain, ["place", "work"])
    tick_category(browser, 1, "in work")
    assert {*texts(browser, "#table tbody th:nth-child(2)")} == {"in work"}
    lists = browser.find_elements("css selector", "#choices details")
    lists[0].find_element("tag name", "summary").click()
    # Only long lists have a field to search them.
    field, other = (one.find_element("css selector", "input[type=search]") for one in lists)
    until(field.is_displayed)
    assert not other.is_displayed()
    field.send_keys("SUDL")
    offered = "#choices details:first-child fieldset label"
    until(lambda: texts(browser, offered) == ["Südland"])
    tick_category(browser, 0, "Südland")
    assert len(rows_of(browser)) == 1
    # The search changes the list, not the lines of the table.
    field.clear()
    field.send_keys("nowhere")
    until(lambda: texts(browser, offered) == [])
    assert "No category has “nowhere” in it." in texts(browser, "#choices p")
    assert texts(browser, "#choices summary")[0] == "place: Südland"
    assert len(rows_of(browser)) == 1


@pytest.mark.slow
def test_attributes_are_found_by_their_categories(browser, tmp_path):
    domain = Domain({"commute": ["car", "bicycle"], "place": ["Südstadt", "Nord"]})
    rows = {"commute": ["car"] * 50, "place": ["Nord"] * 50}
    write_report(margin.release(rows, domain=domain, budget=PureDP(1)), tmp_path / "r.html")
    open_page(browser, tmp_path / "r.html")
    search = """const search = document.getElementById("search");
        search.value = arguments[0]; search.dispatchEvent(new Event("input"));"""
    found = "#attributes label:not([hidden])"
    for wanted, shown in [
        ("Bicycle", ["commute“bicycle”"]),
        ("sud", ["place“Südstadt”"]),
        ("comm", ["commute2 categories"]),
        ("", ["commute2 categories", "place2 categories"]),
        ("train", []),
    ]:
        browser.execute_script(search, wanted)
        assert texts(browser, found) == shown
    said = "No attribute has “train” in its name, its meaning or its categories."
    assert texts(browser, "#unfound") == [said]


@pytest.mark.slow
def test_the_citation_can_be_copied(browser, synopsis, tmp_path):
    write_report(synopsis, tmp_path / "r.html", title="People", imprint=Imprint(publisher="Office"))
    open_page(browser, tmp_path / "r.html")
    stub = "navigator.clipboard.writeText = async (text) => { window.copied = text; };"
    browser.execute_script(stub)
    browser.execute_script("document.querySelector('#imprint button').click()")
    until(lambda: texts(browser, "#imprint button") == ["Copied"])
    copied = browser.execute_script("return window.copied")
    assert copied.startswith("Office: People (") and not copied.endswith("Copy")


SCHOOLS = {"school": {"values": ["B", "A"]}, "year": {"values": ["Year 7", "Year 10", "Year 11"]}}


@pytest.fixture(scope="module")
def schools():
    rows = {"school": ["B"] * 600 + ["A"] * 300, "year": ["Year 7", "Year 10", "Year 11"] * 300}
    mechanism = PriView(views=[["school", "year"]])
    return margin.release(rows, domain=Domain(SCHOOLS), budget=PureDP(1), mechanism=mechanism)


@pytest.mark.slow
def test_panels_are_in_the_declared_order(browser, schools, tmp_path):
    write_report(schools, tmp_path / "r.html")
    open_page(browser, tmp_path / "r.html")
    browser.get_log("browser")
    pick(browser, schools.domain, ["year", "school"])
    chart = browser.find_element("id", "chart")
    until(lambda: texts(browser, "#chart svg") and "year and school" in chart.accessible_name)
    # A description stands for the parts of the chart.
    (hidden,) = browser.execute_script(
        "return [document.querySelector('#chart svg').getAttribute('aria-hidden')]"
    )
    assert hidden == "true"
    heads = [
        text for text in texts(browser, "#chart svg text") if text in SCHOOLS["year"]["values"]
    ]
    assert heads == SCHOOLS["year"]["values"]
    # Neither charts of bars, panels nor maps make the browser warn.
    assert not browser.get_log("browser")


@pytest.mark.slow
def test_percentages_are_of_all_rows_or_within_an_attribute(browser, schools, tmp_path):
    write_report(schools, tmp_path / "r.html")
    open_page(browser, tmp_path / "r.html")
    pick(browser, schools.domain, ["school", "year"])
    counts = schools.marginal(["school", "year"]).counts

    def shares():
        return [float(text.rstrip("%")) for text in texts(browser, "#table td.share")]

    assert texts(browser, "#table th.share") == ["% of all rows"]
    assert texts(browser, "#near") == [""]
    assert shares() == pytest.approx(100 * counts.ravel() / counts.sum(), abs=0.051)
    choose = """const select = document.getElementById("whole");
        select.value = arguments[0]; select.dispatchEvent(new Event("change"));"""
    browser.execute_script(choose, "0")
    assert texts(browser, "#table th.share") == ["% within school"]
    within = counts / counts.sum(axis=1, keepdims=True)
    assert shares() == pytest.approx(100 * within.ravel(), abs=0.051)
    assert "Percentages are rounded." in texts(browser, "#total")[0]
    # Each percentage has bounds: of the line's bounds and those of its school.
    lows, highs = whole_bounds(*schools.marginal(["school", "year"]).interval(0.95))
    whole_lows, whole_highs = whole_bounds(*schools.marginal(["school"]).interval(0.95))
    least = np.floor(1000 * lows / whole_highs[:, None] + 1e-9) / 10
    most = np.minimum(np.ceil(1000 * highs / whole_lows[:, None] - 1e-9) / 10, 100)
    ends = [f"{one:.1f}% to {other:.1f}%" for one, other in zip(least.flat, most.flat, strict=True)]
    assert texts(browser, "#table td.ends") == ends
    (quoted,) = texts(browser, "#quoted")
    low, high = (
        float(bound.flat[counts.argmax()])
        for bound in schools.marginal(["school", "year"]).interval(0.95)
    )
    assert f"is from {np.floor(low):,.0f} to {np.ceil(high):,.0f};" in quoted
    # The example of a share is of what the percentages are of.
    low, high = np.floor(low), np.ceil(high)
    whole_low, whole_high = whole_bounds(*schools.marginal(["school"]).interval(0.95))
    school, year = np.unravel_index(counts.argmax(), counts.shape)
    least = f"{np.floor(1000 * low / whole_high[school]) / 10:.1f} %"
    most = f"{np.ceil(1000 * high / whole_low[school]) / 10:.1f} %"
    names = schools.domain["school"].captions[school], schools.domain["year"].captions[year]
    of = f"% of the rows with school {names[0]} have year {names[1]}. "
    (said,) = texts(browser, "#quoted-share")
    assert of in said
    assert f"the true percentage is from {least} to {most};".replace(" %", "%") in said
    browser.execute_script(choose, "")
    assert f"of the rows have school {names[0]} and year {names[1]}. " in " ".join(
        texts(browser, "#quoted-share")
    )
    # The list has the share of a group, so nobody has to divide.
    (said,) = texts(browser, "#shares")
    assert "choose “each school” from the list “Percentages of” above the table." in said
    assert "divide" not in said


ERRORS = np.arange(-150, 151)
"""The errors of a count in tests of sums. Larger errors have almost no probability."""


def law(variance, kurtosis):
    """The probabilities of `ERRORS`."""
    rate = 2 * np.arcsinh(np.sqrt(1 / (2 * variance)))
    weights = np.exp(-rate * abs(ERRORS) if kurtosis else -(ERRORS**2) / (2 * variance))
    return weights / weights.sum()


def ends(true, variance, kurtosis):
    """The bounds of a count with each of `ERRORS`."""
    counts = true + ERRORS
    half = half_widths(
        counts,
        variance,
        0.0,
        level=0.95,
        kurtosis=kurtosis,
    )
    return whole_bounds(np.maximum(counts - half, 0), np.maximum(counts + half, 0))


@pytest.mark.parametrize("kurtosis", [0.0, 3.0])
def test_bounds_of_many_lines_must_not_be_added_up(kurtosis):
    """Why the page says so: low bounds of empty cells stop at 0, so their sum is often too high."""
    low, _ = ends(0, 8.0, kurtosis)
    one = np.bincount(low.astype(int), law(8.0, kurtosis))
    sum_of_thirty = functools.reduce(np.convolve, [one] * 30)
    assert sum_of_thirty[1:].sum() > 0.25


@pytest.mark.parametrize("variances", [(8.0, 8.0), (8.0, 50.0)])
@pytest.mark.parametrize("kurtosis", [0.0, 3.0])
def test_bounds_of_a_sum_or_difference_of_two_lines_hold(variances, kurtosis):
    """What the page says of two lines, by exact laws: also for true numbers near 0, where low
    bounds stop. Errors may be independent, equal or opposite."""
    laws = [law(variance, kurtosis) for variance in variances]
    for one, other in itertools.product([0, 1, 5, 12, 100], repeat=2):
        low, high = ends(one, variances[0], kurtosis)
        low_, high_ = ends(other, variances[1], kurtosis)
        holds = {
            "sum": (low[:, None] + low_ <= one + other) & (one + other <= high[:, None] + high_),
            "difference": (low[:, None] - high_ <= one - other)
            & (one - other <= high[:, None] - low_),
        }
        for what, held_ in holds.items():
            independent = laws[0] @ held_ @ laws[1]
            assert independent >= 0.95, (what, one, other)
            if variances[0] == variances[1]:
                for same in (held_.diagonal(), held_[:, ::-1].diagonal()):
                    assert laws[0] @ same >= 0.95, (what, one, other)


@pytest.mark.parametrize("variances", [(8.0, 8.0), (8.0, 50.0), (50.0, 8.0)])
@pytest.mark.parametrize("kurtosis", [0.0, 3.0])
def test_bounds_of_a_share_hold_with_those_that_the_others_leave(variances, kurtosis):
    """By exact laws: the narrower ends of the share of a part, and of 1 minus that of the others,
    hold as often as they should. The counts of both add up to that of all."""
    laws = [law(variance, kurtosis) for variance in variances]
    both = ERRORS[:, None] + ERRORS
    # The sum of two errors is nearer to the normal law.
    of_sum = kurtosis * (np.array(variances) ** 2).sum() / sum(variances) ** 2
    narrower = 0
    for part, others in itertools.product([0, 1, 5, 40, 100], repeat=2):
        if part + others == 0:
            continue
        low, high = ends(part, variances[0], kurtosis)
        low_, high_ = ends(others, variances[1], kurtosis)
        counts = part + others + both
        half = half_widths(counts, sum(variances), 0.0, level=0.95, kurtosis=of_sum)
        least, most = whole_bounds(np.maximum(counts - half, 0), np.maximum(counts + half, 0))
        with np.errstate(divide="ignore", invalid="ignore"):
            own = low[:, None] / most, np.where(least > 0, high[:, None] / least, 1)
            rest = low_ / most, np.where(least > 0, high_ / least, 1)
        start = np.maximum(own[0], 1 - np.minimum(rest[1], 1))
        end = np.minimum(np.minimum(own[1], 1), 1 - rest[0])
        share = part / (part + others)
        # Where the page shows nobody, it shows no share.
        holds = (counts <= 0) | ((start - 1e-12 <= share) & (share <= end + 1e-12))
        assert laws[0] @ holds @ laws[1] >= 0.95, (part, others)
        narrower += laws[0] @ ((start > own[0]) | (end < np.minimum(own[1], 1))) @ laws[1]
    assert narrower > 2


@pytest.mark.slow
def test_a_narrow_screen_names_and_sorts_what_stands_below_a_count(
    browser, screen, schools, tmp_path
):
    write_report(schools, tmp_path / "r.html")
    screen(400)
    open_page(browser, tmp_path / "r.html")
    pick(browser, schools.domain, ["school", "year"])
    head = "return document.querySelector('#table th.number').innerText.split('\\n')"
    assert browser.execute_script(head) == ["count", "low to high", "% of all rows", "bounds of %"]
    # They are texts of the page, which can be searched and copied.
    first = "return document.querySelector('#table td.number').innerText.split('\\n')"
    count, low_, high_ = printed(schools.marginal(["school", "year"]))[0]
    assert browser.execute_script(first)[:2] == [count, f"{low_} to {high_}"]
    low = browser.find_element("css selector", "#table th.number .narrow button")
    low.click()
    lows = [float(row[1].replace(",", "")) for row in rows_of(browser)]
    assert lows == sorted(lows, reverse=True)
    focus = browser.switch_to.active_element
    assert focus.text == "low \u2193" and focus.is_displayed()


@pytest.mark.slow
def test_a_narrow_screen_shows_the_count_beside_any_number_of_attributes(browser, screen, tmp_path):
    """No word is cut or broken: the categories stand below each other if they do not fit."""
    labels = ["unemployed", "self-employed or retired"]
    names = [f"occupation {place}" for place in range(6)]
    domain = Domain({name: {"values": labels} for name in names})
    rows = dict.fromkeys(names, labels * 100)
    whole = PriView(views=[names])
    made = margin.release(rows, domain=domain, budget=PureDP(1), mechanism=whole)
    write_report(made, tmp_path / "r.html")
    screen(400)
    open_page(browser, tmp_path / "r.html")
    script = """const box = document.querySelector(".scroll");
        const shown = box.getBoundingClientRect();
        const cells = [...document.querySelectorAll("#table td.number:not(.bound)")];
        const seen = cells.map((cell) => cell.getBoundingClientRect()).every(
            (cell) => cell.left >= shown.left && cell.right <= shown.right);
        return [seen, box.scrollWidth > box.clientWidth]"""
    # A word that breaks takes two lines, and one that is cut is wider than its cell.
    whole_words = """const box = document.querySelector(".scroll").getBoundingClientRect();
        const range = document.createRange();
        const names = document.querySelectorAll("#table :is(thead, tbody) th:not(.number)");
        const shown = [...names].filter((name) => name.offsetParent !== null);
        const texts = shown.map((name) => (name.querySelector("button") ?? name).firstChild);
        return texts.every((text) => [...text.data.matchAll(/[^\\s-]+/g)].every((word) => {
            range.setStart(text, word.index);
            range.setEnd(text, word.index + word[0].length);
            const places = [...range.getClientRects()];
            return places.length === 1 && places[0].right <= box.right;
        }))"""
    for count in (3, 4, 5, 6):
        pick(browser, domain, names[:count])
        assert browser.execute_script(script) == [True, False], count
        assert browser.execute_script(whole_words), count
    # Each category has the name of its attribute then.
    before = "getComputedStyle(document.querySelector('#table tbody th'), '::before').content"
    assert names[0] in browser.execute_script(f"return {before}")
    axe = pytest.importorskip("axe_core_python.selenium", reason="axe-core-python is not installed")
    options = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]}
    assert axe.Axe().run(browser, options=options)["violations"] == []


@pytest.mark.slow
def test_a_narrow_screen_leaves_no_room_beside_numbers(browser, screen, schools, tmp_path):
    """Categories have the room, so that fewer of their words break."""
    write_report(schools, tmp_path / "r.html")
    screen(390)
    open_page(browser, tmp_path / "r.html")
    pick(browser, schools.domain, ["school", "year"])
    script = """const range = document.createRange();
        const cells = [...document.querySelectorAll("#table tbody td.number:not(.bound)")];
        const widths = cells.flatMap((cell) => [...cell.childNodes].map((part) => {
            range.selectNodeContents(part);
            return range.getBoundingClientRect().width;
        }));
        return cells[0].clientWidth - Math.max(...widths)"""
    room = browser.execute_script(script)
    # That is the padding of a cell.
    assert room < 16


@pytest.mark.slow
def test_the_page_works_by_keyboard_alone(browser, synopsis, domain, tmp_path):
    from selenium.webdriver.common.keys import Keys

    write_report(synopsis, tmp_path / "r.html")
    open_page(browser, tmp_path / "r.html")

    def press(*keys):
        for one in keys:
            browser.switch_to.active_element.send_keys(one)

    press(Keys.TAB, Keys.TAB, Keys.TAB, Keys.TAB)
    assert browser.switch_to.active_element.get_attribute("id") == "search"
    press("sex", Keys.TAB, Keys.SPACE)
    until(lambda: texts(browser, "#asked") == ["age \u00d7 sex"])
    until(lambda: rows_of(browser) == printed(synopsis.marginal(["age", "sex"])))


@pytest.mark.slow
def test_what_the_page_lacks_the_server_gives(browser, tmp_path):
    rng = np.random.default_rng(0)
    domain = Domain({f"a{place}": 9 for place in range(9)})
    views = [[f"a{place}", f"a{place + 1}"] for place in range(8)]
    codes = rng.integers(0, 9, (2000, 9))
    made = margin.release(codes, domain=domain, budget=PureDP(1), mechanism=PriView(views=views))
    write_report(made, tmp_path / "r.html")
    open_page(browser, tmp_path / "r.html")
    for place in (5, 7, 8):
        browser.execute_script(
            "document.querySelectorAll('#attributes input')[arguments[0]].click()", place
        )
    until(lambda: texts(browser, "#asked") not in (["a0"], ["a5 \u00d7 a7 \u00d7 a8"]))
    assert browser.execute_script("return !document.getElementById('grey').hidden")
    server = explore(made, title="x")
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        open_address(browser, f"http://127.0.0.1:{server.server_address[1]}/")
        pick(browser, domain, ["a5", "a7", "a8"])
        # The table before stays until the answer is there.
        expected = printed(made.marginal(["a5", "a7", "a8"]))
        until(lambda: rows_of(browser) == expected)
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
