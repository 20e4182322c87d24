"""The bounds that the page gives to sums of lines are those of `Synopsis.count`."""

import itertools

import numpy as np
import pytest
from browsing import held, open_page

import margin
from margin import ZCDP, Domain, PriView, PureDP
from margin.domain.bounds import whole_bounds
from margin.report import write_report
from margin.synopses.source import Source

DOMAIN = Domain(
    {
        "ward": {
            "levels": {
                "names": ["district", "ward"],
                "paths": [["Old", "Abbey"], ["Old", "Mill"], ["Old", "Park"], ["New", "Quay"]],
            }
        },
        "age": {"bins": [0, 5, 18, 30, 45, None], "ordered": True},
        "sex": ["F", "M"],
        "how": ["bus", "car", "walk"],
    }
)

CODES = [[code] for code in range(5)]
"""The categories of an attribute itself."""

MECHANISMS = {
    "bases": margin.Residual(order=2),
    "views": PriView(views=[["ward", "age"], ["age", "sex", "how"]], shares=[2, 1]),
    "components": margin.Residual(order=2),
}


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(4)
    return {
        "ward": rng.choice(["Abbey", "Mill", "Park", "Quay"], 3000, p=[0.3, 0.3, 0.2, 0.2]),
        "age": rng.integers(0, 80, 3000),
        "sex": rng.choice(["F", "M"], 3000),
        "how": rng.choice(["bus", "car", "walk"], 3000, p=[0.5, 0.3, 0.2]),
    }


def released(rows, name, budget):
    pairs = list(itertools.combinations(DOMAIN, 2))
    # Ranges and levels are measured in bases of their own.
    asked = {"age": "ranges", "ward": "levels"} if name == "bases" else {}
    workload = margin.Workload.of(DOMAIN, pairs, asked=asked)
    return margin.release(
        rows, domain=DOMAIN, budget=budget, mechanism=MECHANISMS[name], workload=workload
    )


def sums_in(form):
    """Sets of categories of an attribute: one, all but one, the first ones, the last ones, all."""
    codes = range(form.size)
    return {tuple(codes[:1]), tuple(codes[1:]), tuple(codes[:2]), tuple(codes[-2:]), tuple(codes)}


@pytest.mark.slow
@pytest.mark.parametrize("tables", [None, [["ward", "age"], ["ward@district", "sex"]]])
@pytest.mark.parametrize("budget", [PureDP(1), ZCDP("0.1")], ids=["pure", "zcdp"])
@pytest.mark.parametrize("name", MECHANISMS)
def test_each_sum_of_a_measured_table_has_the_bounds_of_python(
    browser, rows, tmp_path, name, budget, tables
):
    """A level is one of the attributes, whose nodes have several categories. A page of named tables
    holds no counts of views."""
    made = released(rows, name, budget)
    assert (made.noise is not None) is (name == "bases")
    write_report(made, tmp_path / "r.html", tables=tables)
    open_page(browser, tmp_path / "r.html")
    names = [one["name"] for one in held((tmp_path / "r.html").read_text())["attributes"]]
    leaves = {"ward@district": [[0, 1, 2], [3]]}
    script = """
        const [axes, codes] = arguments, answer = onPage(axes);
        if (answer === null) return "not here";
        const isChosen = (row) => row.codes.every((code, at) => codes[at].includes(code));
        const lines = records(axes, answer).filter(isChosen);
        return endsOfSum(axes, answer, lines);
    """
    compared = 0
    for size in (1, 2):
        for asked in itertools.combinations([*DOMAIN, "ward@district"], size):
            attributes = [one.split("@")[0] for one in asked]
            is_once = len({*attributes}) == size
            if not is_once or made.source(asked) is not Source.MEASURED:
                continue
            forms = [sums_in(made.marginal(asked).domain[one]) for one in asked]
            for chosen in itertools.product(*map(sorted, forms)):
                ends = browser.execute_script(
                    script, [names.index(one) for one in asked], list(map(list, chosen))
                )
                if ends == "not here":
                    break
                where = {}
                for one, codes in zip(asked, chosen, strict=True):
                    own = [leaf for code in codes for leaf in leaves.get(one, CODES)[code]]
                    form = DOMAIN[one.split("@")[0]]
                    where[one.split("@")[0]] = [form.captions[leaf] for leaf in own]
                expected = whole_bounds(*made.count(where).interval(0.95))
                assert ends == [float(end) for end in expected], (asked, chosen)
                compared += 1
    assert compared > (60 if tables is None else 20)
