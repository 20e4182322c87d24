"""The published choice of views (Qardaji, Yang and Li, SIGMOD 2014, sections 4.5 and 4.7)."""

import itertools
import math

import numpy as np
import pytest

import margin
from margin import ZCDP, ApproxDP, Domain, DomainError, PriView, PureDP
from margin.mechanisms.views.paper_views import PaperViews, UsesRows, noise_error
from margin.mechanisms.views.priview import BestViews
from margin.privacy.protection import Neighbours
from margin.testing import check_mechanism

KOSARAK = 912_627
AOL = 647_377
MSNBC = 989_818


def binary(attributes, rows=None):
    return Domain({f"x{place}": 2 for place in range(attributes)}, rows=rows)


def strength(views, domain, most=4):
    """The largest t such that every t attributes lie together in a view."""
    held = 1
    for t in range(2, most + 1):
        covered = {members for view in views for members in itertools.combinations(sorted(view), t)}
        if len(covered) < math.comb(len(domain), t):
            return held
        held = t
    return held


def chosen(domain, epsilon, **options):
    views, shares = PaperViews(**options).plan(domain, None, PureDP(epsilon))
    assert len(shares) == len(views) and set(shares) == {1.0}
    return views


@pytest.mark.parametrize(
    ("attributes", "rows", "epsilon", "t"),
    [
        (32, KOSARAK, "1", 3),
        (32, KOSARAK, "0.1", 2),
        (45, AOL, "1", 2),
        (45, AOL, "0.1", 2),
        (64, 1_000_000, "1", 2),
    ],
    ids=["Kosarak", "Kosarak 0.1", "AOL", "AOL 0.1", "MCHAIN"],
)
def test_the_choice_that_the_paper_states(attributes, rows, epsilon, t):
    """Section 4.5: t = 3 for Kosarak at epsilon 1 and t = 2 at 0.1; t = 2 for the larger tables."""
    domain = binary(attributes)
    views = chosen(domain, epsilon, rows=rows)
    assert strength(views, domain) == t
    assert {len(view) for view in views} == {8}


def test_figure_1_measures_three_views_of_six():
    """The rule gives t = 4 for nine attributes, whose noise error is tiny for every t. The paper
    nevertheless measures C2(6, 3)."""
    domain = binary(9)
    assert [len(view) for view in chosen(domain, "1", t=2)] == [6, 6, 6]
    assert strength(chosen(domain, "1", rows=MSNBC), domain) == 4
    assert noise_error(attributes=9, block=8, views=5, rows=MSNBC, epsilon=0.1) < 0.001


@pytest.mark.parametrize(
    ("attributes", "block", "views", "rows", "epsilon", "error"),
    [
        # sqrt(2**3 * 1) / 1: one view of both attributes.
        (2, 2, 1, 1, 1.0, math.sqrt(8)),
        # 2**(5/2) / 50 * sqrt(3 * 12 / 12).
        (4, 4, 3, 100, 0.5, math.sqrt(32) / 50 * math.sqrt(3)),
        # 2**(7/2) / 989818 * sqrt(3 * 72 / 30).
        (9, 6, 3, MSNBC, 1.0, math.sqrt(128 * 7.2) / MSNBC),
    ],
)
def test_equation_5_by_hand(attributes, block, views, rows, epsilon, error):
    found = noise_error(attributes=attributes, block=block, views=views, rows=rows, epsilon=epsilon)
    assert found == pytest.approx(error, rel=1e-12)


@pytest.mark.parametrize("epsilon", ["0.1", "0.2", "0.4", "0.5", "1", "2", "10"])
def test_t_follows_the_rule(epsilon):
    """The rule by brute force: build all three covers, then go up while the noise allows it."""
    domain = binary(16)
    rows = 50_000
    errors = {}
    for t in (2, 3, 4):
        count = len(margin.designs.covering_views(domain.sizes, max_cells=256, t=t))
        errors[t] = noise_error(
            attributes=16, block=8, views=count, rows=rows, epsilon=float(epsilon)
        )
    t = 2
    while t < 4 and errors[t] < 0.001 and errors[t + 1] <= 0.003:
        t += 1
    assert strength(chosen(domain, epsilon, rows=rows), domain) == t


def test_both_sources_of_the_number_of_rows_agree():
    assert chosen(binary(32, rows=KOSARAK), "1") == chosen(binary(32), "1", rows=KOSARAK)


def test_other_budgets_are_compared_by_their_variance():
    """Gaussian noise of zCDP allows more views: its variance grows with their number only."""
    domain = binary(32, rows=KOSARAK)
    views, _ = PaperViews().plan(domain, None, ZCDP("0.1"))
    assert strength(views, domain) == 4
    few, _ = PaperViews().plan(domain, None, ZCDP("0.0001"))
    assert strength(few, domain) == 2


def test_without_noise_views_cover_four_attributes():
    """With this budget the variance of the noise is zero in floating point."""
    domain = binary(12, rows=10)
    assert strength(chosen(domain, 10**6), domain) == 4


@pytest.mark.parametrize(
    ("size", "least", "most"), [(3, 150, 2000), (4, 200, 3200), (5, 250, 5000), (7, 350, 9800)]
)
def test_cells_of_categorical_views(size, least, most):
    """Section 4.7: the recommended number of cells of a view, and all pairs."""
    domain = Domain({f"x{place}": size for place in range(12)})
    views = chosen(domain, "1")
    assert strength(views, domain, most=2) == 2
    cells = [domain.cells(view) for view in views]
    assert max(cells) <= most and np.median(cells) >= least


def test_the_workload_does_not_matter():
    """One four-way marginal does not turn the mechanism into `Direct`."""
    domain = Domain({"a": 3, "b": 4, "c": 2, "d": 5, "e": 6, "f": 3, "g": 9})
    everything = PriView.paper().planned(domain, None, PureDP(1))
    narrow = PriView.paper().planned(domain, [["a", "b", "c", "d"]], PureDP(1))
    assert narrow == everything and len(everything.views) > 1
    assert strength(everything.views, domain, most=2) == 2


def test_attributes_of_one_category_are_in_no_ones_way():
    domain = Domain({"one": 1, **{f"x{place}": 2 for place in range(12)}}, rows=100_000)
    views = chosen(domain, "1")
    assert all(domain.cells(view) <= 256 for view in views)
    assert {name for view in views for name in view} == set(domain)


@pytest.mark.parametrize(
    "options", [{"t": 1}, {"t": 5}, {"rows": 0}, {"rows": math.inf}, {"rows_share": 1}]
)
def test_parameters_out_of_range(options):
    with pytest.raises(DomainError):
        PaperViews(**options)


def test_the_number_of_rows_is_needed_only_for_many_binary_attributes():
    assert isinstance(PaperViews(), UsesRows) and not isinstance(BestViews(), UsesRows)
    assert PaperViews().needs_rows(binary(9))
    assert not PaperViews().needs_rows(binary(9, rows=5))
    assert not PaperViews().needs_rows(binary(8))
    assert not PaperViews(t=2).needs_rows(binary(9))
    assert not PaperViews(rows=9).needs_rows(binary(9))
    assert not PaperViews().needs_rows(Domain({f"x{place}": 3 for place in range(9)}))
    with pytest.raises(DomainError, match="declare rows in the domain, or pass rows or t"):
        PriView.paper().planned(binary(9), None, PureDP(1))


@pytest.mark.parametrize("budget", [PureDP("0.5"), ZCDP("0.5"), ApproxDP("0.5", "1e-6")], ids=repr)
def test_a_measured_number_of_rows_is_charged(budget):
    """A thousandth of the budget buys the number of rows; the views get the rest."""
    domain = binary(9)
    codes = np.random.default_rng(1).integers(0, 2, (500, 9))
    events = _events(codes, domain, budget, PriView.paper())
    assert events[0].method == "count_rows"
    assert {event.method for event in events[1:]} == {"measure"}
    assert sum(event.units for event in events) == budget.units
    assert events[0].units == pytest.approx(budget.units / 1000, abs=1)


@pytest.mark.parametrize(
    ("domain", "mechanism"),
    [
        (binary(9, rows=500), PriView.paper()),
        (binary(9), PriView.paper(rows=500)),
        (binary(9), PriView.paper(t=2)),
        (binary(8), PriView.paper()),
        (binary(9), PriView.paper(views=[["x0", "x1"]])),
    ],
    ids=["declared", "passed", "t", "one view", "views"],
)
def test_a_known_number_of_rows_costs_nothing(domain, mechanism):
    codes = np.zeros((500, len(domain)), dtype=int)
    events = _events(codes, domain, PureDP(1), mechanism)
    assert {event.method for event in events} == {"measure"}


def test_a_public_number_of_rows_costs_nothing():
    budget = PureDP(1, neighbours=Neighbours.REPLACE_ROW)
    events = _events(np.zeros((500, 9), dtype=int), binary(9), budget, PriView.paper())
    assert {event.method for event in events} == {"measure"}


def test_the_audit_passes_a_measured_number_of_rows():
    """Views that follow from the noisy number of rows let out no more than the budget allows."""
    check_mechanism(PriView.paper(), domain=binary(9), pairs=6)


def _events(codes, domain, budget, mechanism):
    """The events of a run of the mechanism."""
    kept = []

    class Watched:
        def run(self, private, workload):
            synopsis = mechanism.run(private, workload)
            kept.extend(private.events)
            return synopsis

    margin.simulate(codes, domain=domain, budget=budget, mechanism=Watched(), seed=0)
    return kept
