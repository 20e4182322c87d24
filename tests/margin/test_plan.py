import itertools
import json
import math
import os
import shlex
import subprocess
from pathlib import Path

import numpy as np
import pytest

import margin
from margin import ZCDP, ApproxDP, DomainError, MarginError, Neighbours, PriView, PureDP, Workload
from margin.bases.known import with_known
from margin.cli.arguments.written import written
from margin.cli.main import main
from margin.cli.plan import _quoted
from margin.datasets import people_domain
from margin.designs import allocate_budget, covering_views
from margin.mechanisms import Direct
from margin.mechanisms.views.priview import BestViews
from margin.plan import printed_tables
from margin.privacy.statement import Statement
from margin.privacy.strength import for_contents

DOMAIN = margin.Domain({"age": 10, "sex": 2, "region": 5, "income": 6, "smokes": 2, "job": 8})
BUDGETS = [
    PureDP(1),
    ZCDP("0.2"),
    ApproxDP(1, "1e-6"),
    PureDP("0.1", neighbours=Neighbours.REPLACE_ROW),
]
SMALL = Workload.of(
    DOMAIN, [["age", "sex"], ["sex", "region"], ["age", "region"], ["income"]], weights=[1, 2, 1, 5]
)


class Priced:
    """A mechanism with a given expected error."""

    def __init__(self, error):
        self.error = error

    def run(self, private, workload):
        raise NotImplementedError

    def expected_error(self, domain, workload, budget):
        if self.error is None:
            raise DomainError("too large: use another")
        return self.error


@pytest.mark.parametrize("budget", BUDGETS, ids=repr)
def test_the_best_comes_first_and_those_that_refuse_last(budget):
    mechanisms = [Priced(None), Priced(500.0), PriView(), Priced(1.0)]
    found = margin.plan(DOMAIN, workload=SMALL, budget=budget, mechanisms=mechanisms)
    errors = [row.error for row in found.table]
    assert len(errors) == 4
    assert errors[:3] == sorted(errors[:3]) and errors[3] is None
    assert found.best is mechanisms[3]
    assert found.table[-1].note == "too large: use another"
    # The last row of the table stands before six lines of the legend, and the remarks.
    assert "too large" in str(found).splitlines()[-7 - len(found.remarks)]


@pytest.mark.parametrize("budget", BUDGETS, ids=repr)
def test_what_is_installed_is_compared(budget):
    found = margin.plan(DOMAIN, workload=SMALL, budget=budget)
    assert "PriView" in {row.name for row in found.table}
    for row in found.table:
        assert (row.error is None) == bool(row.error is None and row.note)
        if row.error is not None:
            assert 0 < row.error < math.inf
            cells = sum(w * DOMAIN.cells(v) for v, w in zip(SMALL, SMALL.weights, strict=True))
            assert row.per_cell == pytest.approx(math.sqrt(row.error / cells))


def test_the_best_is_ready_for_a_release():
    rng = np.random.default_rng(0)
    codes = np.stack([rng.integers(0, size, 200) for size in DOMAIN.sizes], axis=1)
    best = margin.plan(DOMAIN, workload=SMALL, budget=PureDP(1), mechanisms=[PriView()]).best
    assert best.views is not None and len(best.views) == len(best.shares)
    synopsis = margin.release(
        codes, domain=DOMAIN, budget=PureDP(1), mechanism=best, workload=SMALL
    )
    assert set(map(frozenset, best.views)) == set(map(frozenset, synopsis.names))


def test_without_a_workload_the_plan_prices_what_a_release_chooses_for():
    """All triples; and the candidate that it ranks first is the one that `release` measures."""
    sizes = (6, 5, 4, 3, 2)
    domain = margin.Domain({f"x{axis}": size for axis, size in enumerate(sizes)}, rows=20_000)
    found = margin.plan(domain, budget=PureDP(1), rows=20_000)
    assert found.workload.views == Workload.all_kway(domain, 3).views
    assert margin.plan({"a": 7}, budget=PureDP(1)).workload.views == (("a",),)
    codes = np.random.default_rng(0).integers(0, sizes, (20_000, 5))
    made = margin.release(codes, domain=domain, budget=PureDP(1), mechanism=margin.Auto())
    measured = {frozenset(view) for view in made.names}
    assert measured == set(map(frozenset, found.best.views))
    # For pairs, other views are best: the same question gives the same answer.
    pairs = margin.plan(
        domain, workload=Workload.all_kway(domain, 2), budget=PureDP(1), rows=20_000
    )
    assert set(map(frozenset, pairs.best.views)) != measured


def test_rows_of_a_plan_differ():
    """The best views for a workload may be the one table that is a candidate anyway."""
    for sizes in ((4, 3, 5, 2), (10,), (30, 4), (2, 2, 2, 2, 2)):
        domain = margin.Domain({f"x{axis}": size for axis, size in enumerate(sizes)})
        found = margin.plan(domain, budget=PureDP(1), rows=5_000)
        shown = [(row.name, row.error, row.note.split(",")[0]) for row in found.table]
        assert len(set(shown)) == len(shown)
        assert any(row.default for row in found.table)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"budget": 1.0}, "budget must be"),
        ({"workload": [["shoe"]]}, "'shoe'"),
        ({"workload": []}, "workload"),
        ({"mechanisms": []}, "mechanisms must hold at least one mechanism"),
        ({"mechanisms": [PriView]}, "each of mechanisms must be an object with a method"),
        ({"mechanisms": ["PriView"]}, "each of mechanisms must be an object with a method"),
        ({"domain": {}}, "domain"),
    ],
)
def test_bad_arguments_are_told(changes, says):
    with pytest.raises(MarginError, match=says):
        margin.plan(**{"domain": DOMAIN, "workload": SMALL, "budget": PureDP(1), **changes})


def test_when_all_refuse_there_is_no_best():
    found = margin.plan(DOMAIN, workload=SMALL, budget=PureDP(1), mechanisms=[Priced(None)])
    with pytest.raises(MarginError, match="too large"):
        _ = found.best


@pytest.mark.parametrize("budget", BUDGETS, ids=repr)
def test_the_chosen_views_are_no_worse_than_covers_of_any_limit(budget):
    found = margin.plan(
        DOMAIN, workload=Workload.all_kway(DOMAIN, 2), budget=budget, mechanisms=[PriView()]
    )
    power = 2 if isinstance(budget, PureDP) else 1
    sets = [DOMAIN.axes(view) for view in found.workload]
    for limit in (2**exponent for exponent in range(4, 17)):
        cover = covering_views(DOMAIN.sizes, max_cells=limit, sets=sets)
        shares = allocate_budget(DOMAIN.sizes, cover, workload=sets, power=power).shares
        views = [[DOMAIN.attributes[axis] for axis in axes] for axes in cover]
        mechanism = PriView(views=views, shares=[max(share, 1e-6) for share in shares])
        error = mechanism.expected_error(DOMAIN, found.workload, budget)
        assert found.table[0].error <= 1.001 * error


def test_the_picture_says_how_many_mechanisms_it_leaves_out(monkeypatch):
    pytest.importorskip("matplotlib")
    found = margin.plan(DOMAIN, budget=ZCDP("0.1"), mechanisms=[PriView(), Priced(1e5)])
    assert "first" not in found.plot().get_title()
    monkeypatch.setattr("margin.plots.plan._MOST", 1)
    axes = found.plot()
    assert axes.get_title().endswith("\nthe first 1 of 2 mechanisms")
    assert len(axes.get_yticklabels()) == 1


def test_the_picture_marks_the_choice():
    pytest.importorskip("matplotlib")
    axes = margin.plan(DOMAIN, budget=ZCDP("0.1"), mechanisms=[PriView(), Priced(1e5)]).plot()
    labels = [label.get_text() for label in axes.get_yticklabels()]
    assert labels[0] == "1 Priced" and labels[1].startswith("2 PriView: ")
    assert "expected error" in axes.get_xlabel()
    # The best is at the top, and has a mark of its own.
    assert axes.get_ylim()[0] > axes.get_ylim()[1]
    assert axes.lines[1].get_ydata()[0] == 0


def measured(codes, domain, workload, mechanism, budget, seeds):
    totals = []
    for seed in range(seeds):
        simulation = margin.simulate(
            codes, domain=domain, budget=budget, mechanism=mechanism, workload=workload, seed=seed
        )
        truths = simulation.truths(workload)
        answers = simulation.marginals(workload)
        errors = [((a.counts - t.counts) ** 2).sum() for a, t in zip(answers, truths, strict=True)]
        totals.append(sum(w * e for w, e in zip(workload.weights, errors, strict=True)))
    return np.mean(totals), np.std(totals) / math.sqrt(seeds)


@pytest.mark.slow
@pytest.mark.parametrize("budget", BUDGETS, ids=repr)
def test_the_expected_error_of_priview_is_what_releases_show(budget):
    """Without non-negativity, the mean of 200 releases lies within 6 standard errors.

    The probability of a false alarm is below 1e-8.
    """
    rng = np.random.default_rng(3)
    codes = np.stack([rng.integers(0, size, 500) for size in DOMAIN.sizes], axis=1)
    mechanism = PriView(nonnegativity=None).planned(DOMAIN, SMALL, budget)
    mean, deviation = measured(codes, DOMAIN, SMALL, mechanism, budget, 200)
    assert abs(mean - mechanism.expected_error(DOMAIN, SMALL, budget)) < 6 * deviation


@pytest.mark.slow
@pytest.mark.parametrize("budget", [PureDP(1), ZCDP("0.1")], ids=repr)
def test_the_expected_error_on_adult(budget):
    """For all pairs of 13 real columns, the error without non-negativity is within 5 %."""
    folder = os.environ.get("MARGIN_DATA")
    if folder is None:
        pytest.skip("MARGIN_DATA is not set")
    domain = margin.Domain(Path(folder) / "adult13_domain.json")
    pairs = Workload.all_kway(domain, 2)
    mechanism = PriView(nonnegativity=None).planned(domain, pairs, budget)
    mean, deviation = measured(
        str(Path(folder) / "adult13.parquet"), domain, pairs, mechanism, budget, 8
    )
    expected = mechanism.expected_error(domain, pairs, budget)
    assert abs(mean / expected - 1) < 0.05 and deviation / expected < 0.02


def test_weights_move_views_towards_what_matters():
    pairs = [["age", "job"], ["income", "job"], ["age", "income"]]
    for budget in (PureDP(1), ZCDP("0.1")):
        errors = []
        for weights in ([1, 1, 1], [100, 1, 1]):
            asked = Workload.of(DOMAIN, pairs, weights=weights)
            chosen = PriView().planned(DOMAIN, asked, budget)
            errors.append(chosen.expected_error(DOMAIN, Workload.of(DOMAIN, pairs[:1]), budget))
        assert errors[1] < 0.9 * errors[0]


def test_shares_follow_the_views():
    views = [["age", "sex"], ["region"]]
    assert PriView(views=views, shares=[3, 1]).shares == (3, 1)
    rich = PriView(views=views, shares=[9, 1]).expected_error(DOMAIN, [["age"]], PureDP(1))
    poor = PriView(views=views, shares=[1, 9]).expected_error(DOMAIN, [["age"]], PureDP(1))
    assert rich < poor / 10


@pytest.mark.parametrize(
    "shares", [[1], [1, 2, 3], [1, 0], [1, -1], [1, math.nan], [1, math.inf], [1, True], "12", 3]
)
def test_bad_shares_are_refused(shares):
    with pytest.raises(DomainError, match="share"):
        PriView(views=[["a"], ["b"]], shares=shares)


def test_shares_need_views():
    with pytest.raises(DomainError, match="shares divides the budget among views, but no views"):
        PriView(shares=[1])


def test_what_the_views_do_not_hold_has_no_closed_form():
    with pytest.raises(DomainError, match="can be computed in advance only for marginals within"):
        PriView(views=[["age"]]).expected_error(DOMAIN, [["age", "sex"]], PureDP(1))


def test_a_cell_limit_below_the_largest_pair_is_refused():
    with pytest.raises(DomainError, match="max_cells"):
        PriView(selection=BestViews(max_cells=70)).planned(
            DOMAIN, Workload.all_kway(DOMAIN, 2), PureDP(1)
        )


def test_the_papers_views_have_equal_shares():
    views, shares = PriView.paper().selection.plan(DOMAIN, None, PureDP(1))
    assert set(shares) == {1.0}
    held = {pair for view in views for pair in itertools.combinations(sorted(view), 2)}
    assert len(held) == 15


def test_the_command_plan(tmp_path, capsys):
    (tmp_path / "domain.json").write_text(DOMAIN.to_json())
    picture = tmp_path / "plan.png"
    options = ["plan", "--domain", str(tmp_path / "domain.json"), "--epsilon", "1"]
    assert main([*options, "--workload", "1way", "--picture", str(picture)]) == 0
    shown = capsys.readouterr().out
    assert "6 views of 6 attributes" in shown and "PriView" in shown
    assert picture.stat().st_size > 1000
    assert main([*options, "--workload", "age,sex", "job"]) == 0
    assert "2 views" in capsys.readouterr().out
    assert main([*options, "--workload", "age,shoe"]) == 2
    assert "'shoe'" in capsys.readouterr().err
    assert main([*options, "--workload", "9way"]) == 2
    assert main([*options, "--picture", str(tmp_path / "no" / "plan.png")]) == 2


def test_the_command_design(capsys):
    assert main(["design", "9", "6", "2"]) == 0
    shown = capsys.readouterr().out.splitlines()
    assert len(shown[:3]) == 3 and all(len(line.split()) == 6 for line in shown[:3])
    assert (
        shown[4].startswith("size        3 blocks")
        and "La Jolla" in shown[5]
        and "bound       3" in shown[6]
    )
    assert main(["design", "9", "6", "2", "--blocks"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 3
    for wrong in (
        ["4", "3", "5"],
        ["0", "1", "1"],
        ["9", "6", "2", "--effort", "0"],
        ["100000", "8", "2"],
    ):
        assert main(["design", *wrong]) == 2
        assert capsys.readouterr().err.startswith("margin: ")


@pytest.mark.parametrize("budget", BUDGETS, ids=repr)
def test_with_rows_it_holds_what_auto_considers(budget):
    found = margin.plan(
        DOMAIN, workload=SMALL, budget=budget, mechanisms=[PriView()], rows=5000, structure="strong"
    )
    prices = margin.Auto(structure="strong").prices(DOMAIN, SMALL, budget, rows=5000)
    assert len(found.table) == 1 + len(prices) > 3
    assert {row.error for row in found.table} >= {price.error for price in prices}
    errors = [row.error for row in found.table]
    assert errors == pytest.approx(sorted(errors), rel=1e-3)
    missed = [row for row in found.table if row.missed]
    assert missed and all("not measured" in row.note for row in missed)
    assert found.best is found.table[0].mechanism
    with pytest.raises(DomainError, match="rows"):
        margin.plan(DOMAIN, budget=budget, mechanisms=[PriView()], rows=-1)


@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize(
    "sizes",
    [
        (4, 3, 5, 2),
        *(
            pytest.param(sizes, marks=pytest.mark.slow)
            for sizes in ((2,) * 6, (2, 3, 5, 8), (30, 2, 2, 7), (9, 2, 3, 12, 2, 5), (600, 5, 2))
        ),
    ],
    ids=str,
)
def test_what_is_ranked_first_is_what_a_release_measures(sizes, k):
    """For any stated workload, with the number of rows declared.

    Each list of sizes and each k meet all four budgets, but not each list with each k.
    """
    rows = int(np.random.default_rng(k).integers(1_000, 200_000))
    domain = margin.Domain({f"x{axis}": size for axis, size in enumerate(sizes)}, rows=rows)
    work = Workload.all_kway(domain, k)
    first = (len(sizes) + k) % 2
    pure, concentrated = (PureDP(1), PureDP("0.05")), (ZCDP("0.5"), ZCDP("0.001"))
    for budget in (pure[first], concentrated[first]):
        found = margin.plan(domain, workload=work, budget=budget, rows=rows)
        chosen = margin.Auto().prices(domain, work, budget, rows=rows)[0]
        assert found.best == chosen.mechanism
        # With very many rows all errors are those of the noise, in closed form.
        least = margin.plan(domain, workload=work, budget=budget).table[0].error
        many = margin.Auto().prices(domain, work, budget, rows=1e13)[0]
        assert many.missed == 0 and many.error <= 1.02 * least


def test_one_large_view_is_measured_itself():
    domain = margin.Domain({"county": 600, "state": 20, "age": 5, "sex": 2})
    view = ["state", "county", "age", "sex"]
    found = margin.plan(domain, workload=[view], budget=ZCDP("0.05"), rows=200_000)
    assert isinstance(found.best, PriView) and set(found.best.views[0]) == set(view)


PLACES = [["CA", "Alameda"], ["CA", "Fresno"], ["NV", "Clark"], ["NV", "Washoe"]]
COPIED = {
    "small": (DOMAIN, SMALL),
    "strange names": (margin.Domain({"it's": 3, 'a "b", c': 4, "é(x)=1": 2, "d": 5}), None),
    "levels": (
        margin.Domain(
            {"place": {"levels": {"names": ["state", "county"], "paths": PLACES}}, "age": 9}
        ),
        None,
    ),
    "wide": (margin.Domain({f"a{place}": 300 + place for place in range(6)}), None),
}


def planned_again(mechanism, found):
    """A mechanism with the views that it chooses for the workload of a plan."""
    if isinstance(mechanism, PriView):
        return mechanism.planned(found.domain, found.workload, found.budget)
    return mechanism


@pytest.mark.parametrize("name", COPIED)
@pytest.mark.parametrize("budget", [PureDP(1), ZCDP("0.01")], ids=repr)
def test_what_is_copied_from_a_row_is_its_mechanism(name, budget):
    """In Python and on the command line, for every row."""
    domain, workload = COPIED[name]
    found = margin.plan(domain, workload=workload, budget=budget, rows=40_000)
    assert len(found.table) > 8
    for row in found.table:
        in_python = eval(row.python, {"margin": margin})
        on_command_line = written(row.command)
        assert in_python == on_command_line
        if row.error is not None:
            assert planned_again(in_python, found) == row.mechanism
        assert row.python in str(found) or len(row.python) > 160


def test_the_row_of_the_default_is_marked():
    for domain, workload in COPIED.values():
        found = margin.plan(domain, workload=workload, budget=PureDP(1), rows=40_000)
        chosen = margin.Auto().prices(domain, found.workload, PureDP(1), rows=40_000)[0]
        assert [row.mechanism for row in found.table if row.default] == [chosen.mechanism]
        marked = [line for line in str(found).splitlines() if line.lstrip().startswith("*")]
        assert len(marked) == 2 and marked[1].startswith("*: the first choice of release")
    for options in ({}, {"rows": 40_000, "structure": "weak"}):
        found = margin.plan(DOMAIN, budget=PureDP(1), mechanisms=[PriView()], **options)
        assert not any(row.default for row in found.table)


def test_a_mechanism_of_ones_own_has_no_expression():
    (row,) = margin.plan(DOMAIN, budget=PureDP(1), mechanisms=[Priced(5.0)]).table
    assert row.python is None and row.command is None


@pytest.mark.parametrize("number", [1, 2, 9])
def test_options_copied_from_the_command_line_make_a_release(number, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    domain = margin.Domain({"it's": 3, "b": 4, "c": 2, "d": 5})
    (tmp_path / "domain.json").write_text(domain.to_json())
    rng = np.random.default_rng(0)
    rows = [",".join(map(str, rng.integers(0, domain.sizes))) for _ in range(50)]
    (tmp_path / "t.csv").write_text("\n".join(["it's,b,c,d", *rows]) + "\n")
    options = ["--domain", "domain.json", "--epsilon", "1", "--workload", "2way"]
    assert main(["plan", *options, "--rows", "50"]) == 0
    shown = [line.strip() for line in capsys.readouterr().out.splitlines()]
    shown = [line for line in shown if line.startswith(("--mechanism", "(long"))]
    assert main(["plan", *options, "--rows", "50", "--copy", str(number)]) == 0
    words = capsys.readouterr().out.removesuffix("\n")
    if not shown[number - 1].startswith("(long"):
        assert shlex.split(shown[number - 1]) == ["--mechanism", words]
    release = ["release", "t.csv", *options, "--mechanism", words, "-o", "out.margin"]
    assert main(release) == 0


@pytest.mark.skipif(os.name != "posix", reason="there is no shell")
@pytest.mark.parametrize(
    ("text", "is_plain"),
    [
        ("PriView(views=[['age', 'sex']])", True),
        ("Residual(order=2)", True),
        ("Auto", True),
        ("""PriView(views=[["it's", '$HOME']])""", False),
        ("PriView(views=[['`id`', '!!', 'a\\\\b', '$(id)']])", False),
    ],
)
def test_a_quoted_mechanism_reaches_a_release_as_it_is(text, is_plain):
    quoted = _quoted(text)
    command = ["sh", "-c", f"printf %s {quoted}"]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == text
    assert ("'\"'\"'" not in quoted) == is_plain


def test_a_row_that_does_not_exist_is_told(tmp_path, capsys):
    (tmp_path / "domain.json").write_text(DOMAIN.to_json())
    options = ["plan", "--domain", str(tmp_path / "domain.json"), "--epsilon", "1"]
    for wrong in ("0", "99"):
        assert main([*options, "--workload", "1way", "--copy", wrong]) == 2
        assert f"--copy ({wrong}) must be the number of a row, from 1 to" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("view", "asked", "counts", "published"),
    [
        (["place", "sex"], {"place": "levels"}, 14, 10),
        (["place@state", "size"], {"place": "levels"}, 6, 6),
        (["place", "size"], {"place": "levels", "size": "ranges"}, 42, 15),
        (["size"], {"size": "prefixes"}, 3, 3),
        (["size", "sex"], {}, 6, 6),
    ],
)
def test_a_table_has_as_many_lines_as_are_published(view, asked, counts, published):
    """Not as many as counts are asked: of levels, prefixes and ranges, too."""
    paths = [["A", "a1"], ["A", "a2"], ["A", "a3"], ["A", "a4"], ["B", "b1"]]
    place = {"levels": {"names": ["state", "county"], "paths": paths}}
    size = {"values": [1, 2, 3], "ordered": True}
    domain = margin.Domain({"place": place, "sex": ["F", "M"], "size": size})
    workload = margin.Workload.of(domain, [view], asked=asked)
    plan = margin.plan(domain, workload=workload, budget=margin.ZCDP(1))
    (table,) = plan.tables(1)
    assert (table.counts, table.published) == (counts, published)
    assert ("the lines of the table where" in printed_tables(plan, 1)) == (counts != published)


def test_the_command_lists_the_error_of_each_table(tmp_path, capsys):
    domain = tmp_path / "domain.json"
    paths = [["A", "a1"], ["A", "a2"], ["A", "a3"], ["A", "a4"], ["B", "b1"]]
    place = {"levels": {"names": ["state", "county"], "paths": paths}}
    domain.write_text(json.dumps({"place": place, "sex": ["F", "M"]}))
    command = ["plan", "--domain", str(domain), "--rho", "0.5", "--workload", "place@state", "sex"]
    assert main([*command, "--rows", "100", "--tables"]) == 0
    said = capsys.readouterr().out
    listed = [line.split() for line in said.splitlines()[-5:-2]]
    assert listed[0] == ["table", "counts", "published", "per", "count", "largest"]
    assert [line[:3] for line in listed[1:]] == [["place@state", "2", "2"], ["sex", "2", "2"]]
    assert main([*command, "--json", "--tables", "2"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["views"] == [["place@state"], ["sex"]]
    assert "leaves of place and add them up" in told["remarks"][0]
    by_name = {row["name"]: row["tables"] for row in told["mechanisms"]}
    # Each cell of two tables with half of the budget has variance 2: a state has 2.5 on average.
    assert [table["typical_error"] for table in by_name["Direct"]] == [
        pytest.approx(math.sqrt(2 * 5 / 2), rel=1e-3),
        pytest.approx(math.sqrt(2), rel=1e-3),
    ]
    # The larger state has four counties.
    assert [table["largest_error"] for table in by_name["Direct"]] == [
        pytest.approx(math.sqrt(2 * 4), rel=1e-3),
        pytest.approx(math.sqrt(2), rel=1e-3),
    ]
    assert not any(table["reconstructed"] for table in by_name["Direct"])
    assert main([*command, "--tables", "99"]) == 2
    assert "--tables (99) must be the number of a row" in capsys.readouterr().err
    assert main([*command, "--json"]) == 0
    assert "tables" not in json.loads(capsys.readouterr().out)["mechanisms"][0]


@pytest.mark.parametrize(
    ("default", "replaced", "ratio"),
    [
        (ZCDP("0.025"), ZCDP("0.1", neighbours=Neighbours.REPLACE_ROW), 2),
        (PureDP("0.5"), PureDP(1, neighbours=Neighbours.REPLACE_ROW), 1),
    ],
)
def test_replaced_rows_have_half_the_variance_for_the_same_promise_with_a_rho(
    default, replaced, ratio
):
    """docs/proofs/known.md and docs/howto/agency.md: the variances of a measured count."""
    promises = [for_contents(Statement(budget=budget)) for budget in (default, replaced)]
    assert promises[0].epsilon == promises[1].epsilon
    domain = margin.Domain(json.loads(DOMAIN.to_json()) | {"$rows": 1000})
    views = [["age", "sex"], ["job"]]
    squares = []
    for budget in (default, replaced):
        plan = margin.plan(domain, budget=budget, workload=views, mechanisms=[Direct()])
        squares.append(plan.table[0].error)
    # Discrete noise has nearly the variance of its continuous law.
    assert squares[0] == pytest.approx(ratio * squares[1], rel=1e-3)


def test_the_figures_of_the_page_for_agencies():
    """docs/howto/agency.md, "Which neighbours?": the best row of each plan."""
    domain = people_domain()
    known = {("region",): [500] * domain["region"].size}
    domain = with_known(domain, known)
    budgets = [ZCDP("0.025"), ZCDP("0.1", neighbours=Neighbours.REPLACE_ROW)]
    pairs = Workload.all_kway(domain, 2)
    best = [margin.plan(domain, budget=budget, workload=pairs).table[0] for budget in budgets]
    assert [f"{row.per_cell:.1f}" for row in best] == ["25.1", "19.9"]


@pytest.mark.parametrize("limit", [None, 1, 3])
def test_a_plan_says_that_it_knows_nothing_of_rows_that_are_left_out(limit, tmp_path, capsys):
    """In Python a limit of 1 is none."""
    (tmp_path / "d.json").write_text('{"sex": 2, "job": 8}')
    words = ["plan", "--domain", str(tmp_path / "d.json"), "--epsilon", "1"]
    words += [] if limit is None else ["--rows-per-person", str(limit)]
    assert main(words) == 0
    printed = capsys.readouterr().out
    assert printed.count("leaves out rows of a person beyond") == (limit is not None)
    assert main([*words, "--json"]) == 0
    remarks = json.loads(capsys.readouterr().out)["remarks"]
    assert sum("leaves out rows of a person beyond" in line for line in remarks) == (
        limit is not None
    )
    budget = PureDP(1, rows_per_person=limit or 1)
    plan = margin.plan(margin.Domain({"sex": 2, "job": 8}), budget=budget)
    assert any("leaves out" in line for line in plan.remarks) == (limit == 3)


@pytest.mark.parametrize("known", [None, 2_000, 100_000])
@pytest.mark.parametrize("rows", [None, 1_900, 2_100, 30_000, 100_000])
def test_public_totals_that_are_far_from_the_expected_rows_are_remarked(known, rows):
    """Such as the population of a sample."""
    domain = margin.Domain({"sex": 2, "job": 8}, rows=known)
    views = [["sex"], ["job"]]
    plan = margin.plan(domain, budget=PureDP(1), workload=views, rows=rows)
    is_far = None not in (known, rows) and not rows / 1.1 <= known <= rows * 1.1
    told = [line for line in plan.remarks if line.startswith("the public totals add up")]
    assert len(told) == is_far
    if is_far:
        assert f"{known:,} rows" in told[0] and f"about {rows:,}:" in told[0]
        assert told[0] in str(plan)
