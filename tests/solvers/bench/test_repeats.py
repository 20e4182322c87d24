"""More repeats than a file holds: only the missing ones are run."""

import pytest

from margin.solvers import IPF, bench
from margin.solvers.bench.running import compare as comparing
from margin.solvers.bench.running.process import Found
from margin.solvers.testing import examples

pytest.importorskip("pyarrow")

INSTANCE = bench.Instance.of(examples()["nothing"], name="mine", family="exact-entropy")
ANSWER = IPF().solve(INSTANCE.problem).table


class Runs:
    """Made-up runs: every solve answers, but the one with the number `fails` ends the process."""

    def __init__(self):
        self.asked = []
        self.fails = None
        self.solved = 0

    def __call__(self, task, stop):
        self.asked.append(task.repeats)
        found = []
        for repeat in range(task.repeats + 1):
            self.solved += 1
            ends = repeat == self.fails
            end = "time" if ends else "answered"
            wall = float(self.solved)
            answer = None if ends else ANSWER
            found.append(Found(repeat=repeat, end=end, answer=answer, wall=wall, cpu=wall))
            if ends:
                break
        return found


@pytest.fixture
def runs(monkeypatch):
    made = Runs()
    monkeypatch.setattr(comparing, "run", made)
    return made


@pytest.fixture
def compared(tmp_path):
    def compare(repeats, **options):
        return bench.compare(
            [INSTANCE],
            {"IPF": IPF()},
            repeats=repeats,
            to=tmp_path / "rows.parquet",
            answers=tmp_path / "answers",
            **options,
        )

    return compare


def told(rows):
    return [(row["repeat"], row["cold"], row["repeats"], row["wall"]) for row in rows]


@pytest.mark.parametrize(("first", "then"), [(0, 1), (0, 3), (1, 2), (1, 4), (3, 5)])
def test_the_missing_repeats_alone_are_run(runs, compared, tmp_path, first, then):
    compared(first)
    before = bench.read_rows(tmp_path / "rows.parquet")
    rows = compared(then)
    # One more solve warms the process up; its number is none.
    assert runs.asked == [first, then - first]
    walls = [float(1 + number) for number in range(first + 1)]
    walls += [float(first + 3 + number) for number in range(then - first)]
    expected = [(number, number == 0, then, wall) for number, wall in enumerate(walls)]
    assert told(rows) == told(bench.read_rows(tmp_path / "rows.parquet")) == expected
    assert [row["date"] for row in rows[: first + 1]] == [row["date"] for row in before]
    files = {path.name for path in (tmp_path / "answers" / "mine").iterdir()}
    assert files == {f"IPF-{number}.npz" for number in range(then + 1)}
    # Nothing is missing now, and fewer repeats are another measurement.
    assert told(compared(then)) == expected and len(runs.asked) == 2
    assert len(compared(then - 1)) == then and runs.asked[2:] == [then - 1]


def test_a_process_that_ended_early_is_not_started_for_more_repeats(runs, compared, tmp_path):
    runs.fails = 1
    compared(2)
    rows = compared(5)
    assert runs.asked == [2] and [row["repeats"] for row in rows] == [5, 5]
    assert told(bench.read_rows(tmp_path / "rows.parquet")) == told(rows)


def test_a_process_that_ends_while_it_warms_up_is_told(runs, compared):
    compared(1)
    runs.fails = 0
    rows = compared(3)
    assert [(row["repeat"], row["cold"], row["outcome"]) for row in rows] == [
        *((0, True, "feasible"), (1, False, "feasible")),
        (2, True, "time"),
    ]
    assert told(compared(3)) == told(rows) and len(runs.asked) == 2


@pytest.mark.parametrize("options", [{"again": True}, {"time_limit": 5}, {"jobs": 2}])
def test_other_limits_and_again_run_all_repeats(runs, compared, options):
    compared(1)
    assert len(compared(2, **options)) == 3 and runs.asked == [1, 2]


def test_an_interrupt_keeps_the_repeats_that_were_there(runs, compared, tmp_path, monkeypatch):
    compared(1)

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(comparing, "run", interrupted)
    with pytest.raises(KeyboardInterrupt, match="holds 2 solves"):
        compared(2)
    assert [row["repeats"] for row in bench.read_rows(tmp_path / "rows.parquet")] == [1, 1]
    monkeypatch.setattr(comparing, "run", runs)
    assert len(compared(2)) == 3 and runs.asked == [1, 1]
