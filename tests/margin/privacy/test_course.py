"""The course of a run: what was asked, for what, and how the budget was divided."""

from dataclasses import replace

import numpy as np
import pytest

import margin
from margin import ZCDP, Adaptive, Auto, DomainError, PureDP
from margin.audit import audit
from margin.cli.main import main
from margin.data import count
from margin.privacy.account import Account
from margin.private import Private
from margin.synopses.estimate import estimate

ROWS = np.zeros((50, 2), int)
DOMAIN = {"a": 2, "b": 3}


class Three:
    """Asks three times, twice for the same purpose, and leaves a half of the budget."""

    def __init__(self, purpose="pairs"):
        self.purpose = purpose

    def run(self, private: Private, workload):
        private.measure([["a"], ["b"]], spend="1/8")
        private.begin(self.purpose)
        private.measure([["a", "b"]], spend="1/4")
        measured = private.measure([["a", "b"]], spend="1/8")
        return estimate(private.domain, measured)


def released(mechanism, budget=PureDP(8)):
    return margin.release(ROWS, domain=DOMAIN, budget=budget, mechanism=mechanism)


@pytest.mark.parametrize("budget", [PureDP(8), ZCDP(8)])
def test_answers_are_summed_by_purpose_and_method(budget):
    course = released(Three(), budget).provenance.course
    steps = [(step.purpose, step.method, step.answers, step.units) for step in course.steps]
    one = 10**12
    assert steps == [("", "measure", 2, one), ("pairs", "measure", 2, 3 * one)]
    assert course.units == 8 * one


def test_a_refused_answer_is_no_step():
    class Refused(Three):
        def run(self, private, workload):
            with pytest.raises(margin.BudgetError):
                private.measure([["a"]], spend=2)
            return super().run(private, workload)

    assert released(Refused()).provenance.course == released(Three()).provenance.course


@pytest.mark.parametrize("purpose", [None, 3, ["pairs"], b"pairs"])
def test_a_purpose_must_be_a_text(purpose):
    with pytest.raises(DomainError, match="purpose must be a text"):
        released(Three(purpose))


@pytest.mark.parametrize("mechanism", [None, Adaptive(rounds=1), Auto()])
def test_the_default_says_what_it_measured(mechanism, tmp_path, capsys):
    """The candidate is named in the words of `plan`."""
    made = released(mechanism)
    rows, *_, last = made.provenance.course.steps
    assert rows.purpose == "counting the rows" and rows.units == 8 * 10**10
    if mechanism is None or isinstance(mechanism, Auto):
        assert last.purpose == "measuring 1 view of up to 6 cells"
    else:
        assert last.purpose == "choosing and measuring views in rounds"
    made.save(tmp_path / "x.margin")
    assert main(["info", str(tmp_path / "x.margin")]) == 0
    said = capsys.readouterr().out
    assert "charged       1.0 %  1 answer of measure_linear: counting the rows" in said
    assert last.purpose in said


class Telling(Three):
    """Tells the true number of rows in a purpose."""

    def run(self, private, workload):
        self.purpose = "pairs"
        (table,) = count(private._source, private.domain, [("a",)])
        private.begin(f"measuring {table.sum()} rows")
        private.measure([["a"]], spend="1/8")
        return super().run(private, workload)


@pytest.mark.parametrize(("kind", "fails"), [(Three, False), (Telling, True)])
def test_the_audit_compares_the_courses_of_neighbouring_tables(kind, fails):
    """It is published with the release, so nothing in it may depend on the true counts."""
    found = audit(
        kind(),
        domain=margin.Domain(DOMAIN),
        budget=PureDP(8),
        pairs=[({"a": [], "b": []}, {"a": [1], "b": [2]})],
        black_box=None,
    )
    assert found.ok is not fails
    assert ("course" in str(found)) is fails


def test_info_says_what_was_not_used_and_shows_no_control_characters(tmp_path, capsys):
    released(Three("a\x1b[2J\n 99.0 %  forged")).save(tmp_path / "x.margin")
    assert main(["info", str(tmp_path / "x.margin")]) == 0
    lines = capsys.readouterr().out.splitlines()
    start = next(place for place, line in enumerate(lines) if line.startswith("charged"))
    charged = [line[12:].strip() for line in lines[start : start + 3]]
    unknown = "\N{REPLACEMENT CHARACTER}"
    assert charged == [
        "12.5 %  2 answers of measure",
        f"37.5 %  2 answers of measure: a{unknown}[2J{unknown} 99.0 %  forged",
        "50.0 %  not used, but spent",
    ]


class Overdrawn(Three):
    """Sets its account back to what was spent before, or to another budget."""

    def __init__(self, change):
        super().__init__()
        self.change = change

    def run(self, private, workload):
        private.measure([["a"]], spend="3/4")
        self.change(private)
        return super().run(private, workload)


def set_back(private):
    private._account._spent = 0


def other_account(private):
    private._account = Account(PureDP(8))


def larger_budget(private):
    private.budget = PureDP(16)
    private._account = Account(PureDP(16))


@pytest.mark.parametrize("made", [margin.release, margin.simulate])
@pytest.mark.parametrize(
    ("change", "charged"), [(set_back, 10), (other_account, 10), (larger_budget, 14)]
)
def test_a_run_that_was_charged_more_than_its_budget_has_no_result(made, change, charged, tmp_path):
    arguments = {"domain": DOMAIN, "budget": PureDP(8), "mechanism": Overdrawn(change)}
    told = (
        f"Overdrawn must keep to the budget, {8 * 10**12} units .* charged {charged}{0:012} units"
    )
    if made is margin.simulate:
        with pytest.raises(margin.BudgetError, match=told):
            made(ROWS, **arguments, seed=0)
        return
    ledger = margin.Ledger(tmp_path / "ledger.json")
    ledger.register("people", PureDP(32))
    with pytest.raises(margin.BudgetError, match=told) as caught:
        made(ROWS, **arguments, ledger=ledger.dataset("people"))
    assert caught.value.budget_is_lost
    assert ledger.charges("people")


@pytest.mark.parametrize(
    ("units", "readable"),
    [
        ([10**12, 7 * 10**12], True),
        ([10**12, 7 * 10**12 + 1], False),
        ([-1, 10**12], False),
        ([0, 0], True),
    ],
)
def test_readers_refuse_a_file_that_was_charged_more_than_its_budget(
    units, readable, tmp_path, capsys
):
    made = released(Three())
    course = made.provenance.course
    steps = [replace(step, units=each) for step, each in zip(course.steps, units, strict=True)]
    forged = replace(course, steps=tuple(steps))
    path = tmp_path / "x.margin"
    replace(made, provenance=replace(made.provenance, course=forged)).save(path)
    assert (main(["info", str(path)]) == 0) == readable
    said = capsys.readouterr().err
    assert ("the guarantee that it states does not hold; do not use it" in said) != readable
    if readable:
        assert margin.load(path).provenance.course == forged
        return
    with pytest.raises(margin.FileError, match=f"at most its budget, {8 * 10**12} units"):
        margin.load(path)
