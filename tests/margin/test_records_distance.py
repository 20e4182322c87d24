"""How far records are from their release: against brute force, and on the command line."""

import datetime
import itertools
import json

import numpy as np
import pyarrow.parquet
import pytest

import margin
from margin import Domain, DomainError, PriView, PureDP
from margin.cli.main import main
from margin.metrics import records_distance

DOMAIN = Domain({"sex": 2, "age": 5, "region": 3})


@pytest.fixture(scope="module")
def synopsis():
    codes = np.random.default_rng(0).integers(0, DOMAIN.sizes, (400, 3))
    mechanism = PriView(views=[["sex", "age"], ["age", "region"]])
    return margin.release(codes, domain=DOMAIN, budget=PureDP(1), mechanism=mechanism)


def by_hand(synopsis, codes, view):
    """The share of rows that would have to change, cell by cell."""
    answer = synopsis.marginal(view)
    axes = synopsis.domain.axes(view)
    distance = 0.0
    for cell in itertools.product(*map(range, answer.counts.shape)):
        rows = np.mean([tuple(row[axis] for axis in axes) == cell for row in codes])
        distance += max(rows - answer.counts[cell] / answer.counts.sum(), 0.0)
    return distance


@pytest.mark.parametrize("size", [1, 2, 3])
def test_the_distance_is_the_share_of_rows_to_be_changed(synopsis, size):
    codes = np.random.default_rng(1).integers(0, DOMAIN.sizes, (60, 3))
    found = records_distance(synopsis, codes, size=size)
    distances = [by_hand(synopsis, codes, view) for view in itertools.combinations(DOMAIN, size)]
    assert found.tables == len(distances)
    assert found.mean == pytest.approx(np.mean(distances))
    assert found.largest == pytest.approx(max(distances))


def test_own_records_are_near_and_others_are_far(synopsis):
    own = records_distance(synopsis, synopsis.records(2_000))
    others = records_distance(synopsis, np.zeros((2_000, 3), np.int64))
    assert own.mean < 0.02 < 0.5 < others.mean


@pytest.mark.parametrize(
    ("rows", "size", "says"),
    [(5, 0, "from 1 to 3"), (5, 4, "from 1 to 3"), (0, 2, "at least one")],
)
def test_what_cannot_be_compared_is_refused(synopsis, rows, size, says):
    with pytest.raises(DomainError, match=says):
        records_distance(synopsis, np.zeros((rows, 3), np.int64), size=size)


def test_the_command_says_how_near_its_rows_are(synopsis, tmp_path, capsys):
    synopsis.save(tmp_path / "p.margin")
    arguments = ["records", str(tmp_path / "p.margin"), "-n", "500", "-o", str(tmp_path / "r.csv")]
    assert main([*arguments, "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert [distance["size"] for distance in said["distances"]] == [2, 3]
    assert main([*arguments, "--force"]) == 0
    assert "of the rows on average" in capsys.readouterr().out


@pytest.mark.parametrize("missing", [None, "unknown"])
def test_days_are_written_as_dates(tmp_path, missing):
    days = {"from": "2026-01-01", "to": "2026-01-03", "by": "day"}
    domain = Domain({"day": {"dates": days, "missing": missing}, "sex": 2})
    table = {"day": ["2026-01-01", "2026-01-02"] * 20, "sex": [0, 1] * 20}
    # With this budget the noisy total is positive, but for a chance below 1e-9.
    made = margin.release(table, domain=domain, budget=PureDP(5))
    made.save(tmp_path / "d.margin")
    file = tmp_path / "r.parquet"
    assert main(["records", str(tmp_path / "d.margin"), "-n", "9", "-o", str(file)]) == 0
    kinds = {type(value) for value in pyarrow.parquet.read_table(file)["day"].to_pylist()}
    assert kinds == ({datetime.date} if missing is None else {str})
