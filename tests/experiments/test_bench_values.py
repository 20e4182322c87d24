"""What a new run of `bench_values` finds replaces what was known only where it is better."""

import pytest

from experiments.solvers.bench_values import better
from margin.solvers import bench

COVER = "cover-design-7-3-2"
RESPONSE = bench.instances(family="response")[0].name


def row(name, best, bound, who):
    proved_by = f"found by {who}; bound by {who}"
    return {"name": name, "best_known": best, "bound": bound, "proved_by": proved_by}


CASES = [
    (COVER, ("30", "20"), ("40", "10"), ("30", "20", "found by old; bound by old")),
    (COVER, ("30", "20"), ("30", "20"), ("30", "20", "found by old; bound by old")),
    (COVER, ("40", "20"), ("30", "10"), ("30", "20", "found by new; bound by old")),
    (COVER, ("30", "20"), ("40", "25"), ("30", "25", "found by old; bound by new")),
    (COVER, ("30", "20"), ("", "25"), ("30", "25", "found by old; bound by new")),
    (RESPONSE, ("30", "50"), ("40", "45"), ("40", "45", "found by new; bound by new")),
    (RESPONSE, ("40", "45"), ("30", "50"), ("40", "45", "found by old; bound by old")),
]


@pytest.mark.parametrize(("name", "old", "new", "expected"), CASES)
def test_the_better_answer_and_the_better_bound_are_kept(name, old, new, expected):
    found = better(row(name, *old, "old"), row(name, *new, "new"))
    assert (found["best_known"], found["bound"], found["proved_by"]) == expected


def test_a_new_problem_has_what_was_found():
    found = row(COVER, "30", "20", "new")
    assert better(None, found) == found
