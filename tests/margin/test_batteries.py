"""The batteries fail what does not work, and say why; they pass what works."""

import pytest

from margin import Domain, DPSense, MarginError, PureDP, release
from margin.mechanisms import PeeledItems, PrivBasis
from margin.solvers import IPF, Newton, Status
from margin.synopses.estimate import estimate
from margin.testing import check_mechanism, check_solver


class Returns:
    def __init__(self, result):
        self.result = result

    def run(self, private, workload):
        return self.result


class Raises:
    def __init__(self, error):
        self.error = error

    def run(self, private, workload):
        raise type(self.error)(*self.error.args)


class Picky:
    """Refuses everything but pure differential privacy."""

    def run(self, private, workload):
        if not isinstance(private.budget, PureDP):
            raise MarginError("only PureDP")
        return estimate(private.domain, private.measure([[name] for name in private.domain]))


@pytest.mark.parametrize(
    ("mechanism", "words"),
    [
        (Returns(5), "must return a synopsis, but it returns a int"),
        (Returns(None), "must return a synopsis, but it returns a NoneType"),
        (Raises(MarginError("not today")), "refuses every budget that was tried"),
        (Raises(RuntimeError("oh")), "raises RuntimeError"),
    ],
    ids=["five", "None", "refuses", "raises"],
)
def test_a_mechanism_that_does_not_work_fails(mechanism, words):
    with pytest.raises(AssertionError, match=words):
        check_mechanism(mechanism, pairs=1)


def test_a_mechanism_may_refuse_some_budgets():
    done = check_mechanism(Picky(), pairs=2)
    assert done == "2 budgets run, 3 refused, 10 pairs replayed, black box skipped"


class Named:
    """Works on a table with a certain attribute only."""

    def run(self, private, workload):
        return estimate(private.domain, private.measure([["age"]]))


def test_a_mechanism_for_other_tables_is_told_to_pass_its_domain():
    with pytest.raises(AssertionError, match="pass domain= and workload="):
        check_mechanism(Named(), pairs=1)
    check_mechanism(Named(), domain=Domain({"age": 3}), pairs=1)


def test_a_class_is_told_to_be_called():
    with pytest.raises(MarginError, match=r"it is the class Picky; call it: Picky\(\)"):
        check_mechanism(Picky, pairs=1)
    with pytest.raises(MarginError, match=r"it is the class Picky; call it: Picky\(\)"):
        release({"a": [0, 1]}, domain={"a": 2}, budget=PureDP(1), mechanism=Picky)


def test_a_release_says_what_a_mechanism_must_return():
    import margin

    with pytest.raises(MarginError, match=r"must return a synopsis, but it returned .* int"):
        margin.simulate(
            {"a": [0, 1]}, domain={"a": 2}, budget=PureDP(1), mechanism=Returns(5), seed=0
        )


class Solves:
    """Returns whatever a function makes of a problem and the right solution."""

    def __init__(self, make):
        self.make = make

    def solve(self, problem):
        return self.make(problem, Newton(bars=False).solve(problem))


def raising(problem, solution):
    raise RuntimeError("oh")


def refused(problem, solution):
    return problem.solution(
        None, status=Status.FAILED, objective=0.0, iterations=0, seconds=0.0, relaxation=0.0
    )


@pytest.mark.parametrize(
    ("solver", "words"),
    [
        (Newton, r"it is the class Newton; call it: Newton\(\)"),
        (5, "must be an object with a method solve"),
        (Solves(lambda problem, solution: 5), "returns a int without the attribute table"),
        (Solves(lambda problem, solution: None), "returns a NoneType without"),
        (Solves(raising), "raises RuntimeError"),
        (Solves(refused), "ends with FAILED, but must find the only table"),
    ],
    ids=["class", "five", "returns five", "None", "raises", "refuses"],
)
def test_a_solver_that_does_not_work_fails(solver, words):
    with pytest.raises(AssertionError, match=words):
        check_solver(solver)


def test_a_solver_that_works_passes():
    assert check_solver(Newton()) == "13 problems answered, 0 refused"


class Part:
    """Does not take some problems."""

    def __init__(self, takes, status=Status.UNSUPPORTED):
        self.takes = takes
        self.status = status

    def solve(self, problem):
        if self.takes(problem):
            return Newton(bars=False).solve(problem)
        return problem.solution(None, status=self.status, iterations=0, seconds=0, relaxation=0)


def test_a_solver_may_refuse_any_problems_that_it_does_not_take_but_not_all():
    has_none = Part(lambda problem: problem.zeros is None)
    assert check_solver(has_none) == (
        "8 problems answered, 5 refused: cells that must be zero (UNSUPPORTED), zeros across what "
        "is known (UNSUPPORTED), zeros and nothing known (UNSUPPORTED), pairs with errors and "
        "zeros (UNSUPPORTED), a table known by its zeros (UNSUPPORTED)"
    )
    with pytest.raises(AssertionError, match=r"it refuses all 13: binary pairs \(UNSUPPORTED\)"):
        check_solver(Part(lambda problem: False))
    # Any other status says that it takes the problem.
    failing = Part(lambda problem: problem.zeros is None, Status.FAILED)
    with pytest.raises(
        AssertionError, match=r"known by its zeros.*FAILED.*or end with UNSUPPORTED"
    ):
        check_solver(failing)


def test_problems_that_are_refused_are_named():
    assert check_solver(IPF()) == (
        "10 problems answered, 3 refused: pairs with errors (INFEASIBLE), contradictory pairs "
        "(INFEASIBLE), pairs with errors and zeros (INFEASIBLE)"
    )


@pytest.mark.parametrize("domain", [None, {"item": 5}, {"item": 40}, dict.fromkeys("abc", 2)])
@pytest.mark.parametrize("mechanism", [PeeledItems(k=2), DPSense(), PrivBasis(k=2)])
def test_a_mechanism_that_counts_items_is_tried_on_items(mechanism, domain):
    done = check_mechanism(mechanism, domain=domain, pairs=1)
    assert done.startswith("5 budgets run, 5 pairs")
    is_expanded = domain is None or len(domain) == 1
    assert ("on rows of items" in done) == is_expanded
