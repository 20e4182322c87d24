import csv
import dataclasses
import hashlib
import json
import math
import pickle
import subprocess
import sys
from collections import Counter
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from bench_cases import FAMILIES, PROBLEMS, small

from margin.designs import best_known
from margin.solvers import Newton, bench
from margin.solvers.bench.digest import digest
from margin.solvers.bench.made.catalogue import BEST_KNOWN, recipes
from margin.solvers.bench.made.covers import covering_design, views_for
from margin.solvers.bench.made.draws import Draws
from margin.solvers.bench.made.records import KINDS, counts_of, records

EVERY = bench.instances()
SIZES = ("small", "medium", "large")


def test_there_are_300_instances_of_five_groups_and_three_sizes():
    assert len(EVERY) >= 300 and len({one.name for one in EVERY}) == len(EVERY)
    sizes = Counter((one.family.group, one.size) for one in EVERY)
    assert {group for group, _ in sizes} == {
        "entropy",
        "reconstruction",
        "projection",
        "response",
        "cover",
    }
    assert len(sizes) == 15 and min(sizes.values()) >= 5


def test_instances_are_chosen_by_family_group_and_size():
    assert {one.family.name for one in bench.instances(family="entropy")} == {
        "exact-entropy",
        "penalised-entropy",
    }
    chosen = bench.instances(family="cover", size="medium")
    assert {(one.family.name, one.size) for one in chosen} == {("cover", "medium")}
    assert bench.instance(chosen[3].name).name == chosen[3].name
    for call, message in (
        (lambda: bench.instances(family="covers"), "did you mean 'cover'"),
        (lambda: bench.instances(size="huge"), "must be one of small, medium, large"),
        (lambda: bench.instance("cover-design-7-3-22"), "did you mean 'cover-design-7-3-2'"),
    ):
        with pytest.raises(ValueError, match=message):
            call()


def test_the_file_of_best_values_has_one_line_for_each_instance():
    with BEST_KNOWN.open(newline="") as file:
        rows = [(row["name"], int(row["version"])) for row in csv.DictReader(file)]
    assert sorted(rows) == sorted((recipe.name, recipe.version) for recipe in recipes())


def test_no_best_known_value_is_better_than_its_bound():
    for one in EVERY:
        assert one.best_known is not None and one.bound is not None, one.name
        assert "found by" in one.proved_by and "bound by" in one.proved_by, one.name
        assert math.isfinite(one.best_known) and math.isfinite(one.bound)
        room = 1e-6 * max(1.0, abs(one.best_known))
        if one.family.sense == "minimise":
            assert one.bound <= one.best_known + room, one.name
        else:
            assert one.bound >= one.best_known - room, one.name
        assert one.proved or one.size != "small", one.name


def made_of(size):
    """The name and the digest of each instance of a size."""
    return {one.name: digest(one.family.pack(one.problem)) for one in bench.instances(size=size)}


def shipped():
    with BEST_KNOWN.open(newline="") as file:
        return {row["name"]: row["digest"] for row in csv.DictReader(file)}


@pytest.mark.parametrize(
    "size",
    ["small", *(pytest.param(size, marks=pytest.mark.slow) for size in ("medium", "large"))],
)
def test_the_best_values_belong_to_the_problems_that_are_made(size):
    known = shipped()
    made = made_of(size)
    assert {name: known[name] for name in made} == made


SCRIPT = """
import hashlib
from margin.solvers import bench
for name in {names}:
    one = bench.instance(name)
    text = hashlib.sha256()
    for key, array in sorted(one.family.pack(one.problem).items()):
        text.update(key.encode() + array.tobytes())
    print(name, text.hexdigest())
"""


def test_instances_are_the_same_to_the_bit_in_another_process(tmp_path):
    names = [bench.instances(family=name)[4].name for name in FAMILIES]
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT.format(names=names)],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
    )
    expected = []
    for name in names:
        one = bench.instance(name)
        text = hashlib.sha256()
        for key, array in sorted(one.family.pack(one.problem).items()):
            text.update(key.encode() + array.tobytes())
        expected.append(f"{name} {text.hexdigest()}")
    assert done.stdout.split("\n")[:-1] == expected


def test_a_digest_sees_changes_and_forgives_the_last_bits():
    rng = np.random.default_rng(0)
    arrays = {"a": rng.normal(size=1000), "b": np.arange(5)}
    same = {"a": arrays["a"] * (1 + 1e-15), "b": arrays["b"]}
    assert digest(arrays) == digest(same)
    for other in (
        {"a": arrays["a"], "b": np.arange(1, 6)},
        {"a": np.where(np.arange(1000) == 7, arrays["a"] + 1e-3, arrays["a"]), "b": arrays["b"]},
        {"a": arrays["a"].reshape(10, 100), "b": arrays["b"]},
        {"a": arrays["a"], "c": arrays["b"]},
    ):
        assert digest(other) != digest(arrays)


@pytest.mark.parametrize("name", FAMILIES)
def test_a_saved_instance_is_loaded_with_the_same_bits(name, tmp_path):
    one = bench.instances(family=name, size="small")[2]
    one.save(tmp_path / "one.npz")
    other = bench.load(tmp_path / "one.npz")
    for field in ("name", "version", "family", "size", "best_known", "bound", "proved_by"):
        assert getattr(other, field) == getattr(one, field)
    ours, theirs = one.family.pack(one.problem), other.family.pack(other.problem)
    assert ours.keys() == theirs.keys()
    for key, array in ours.items():
        assert array.dtype == theirs[key].dtype
        np.testing.assert_array_equal(array, theirs[key])
    with np.load(tmp_path / "one.npz", allow_pickle=False) as file:
        assert json.loads(file["header"].tobytes())["name"] == one.name


def test_instances_can_be_sent_to_other_processes():
    for name in FAMILIES:
        one = pickle.loads(pickle.dumps(bench.instances(family=name)[0]))
        assert digest(one.family.pack(one.problem)) == shipped()[one.name]


def test_the_digest_is_of_the_numbers_alone(tmp_path):
    one = bench.instances(family="minimax", size="small")[0]
    named = dataclasses.replace(one, name="other", version=2, best_known=None)
    one.save(tmp_path / "one.npz")
    assert one.digest == named.digest == bench.load(tmp_path / "one.npz").digest
    assert len({other.digest for other in bench.instances(size="small")[::20]} | {one.digest}) > 8


def test_files_that_are_no_instances_are_refused(tmp_path):
    (tmp_path / "text.npz").write_text("this is no archive")
    np.savez(tmp_path / "other.npz", a=np.arange(3))
    np.save(tmp_path / "array.npy", np.arange(3))
    for name in ("text.npz", "other.npz", "array.npy"):
        with pytest.raises(ValueError, match=r"written by Instance\.save"):
            bench.load(tmp_path / name)
    header = json.dumps({"format": 99, "family": "cover"}).encode()
    np.savez(tmp_path / "later.npz", header=np.frombuffer(header, np.uint8))
    with pytest.raises(ValueError, match="update margin"):
        bench.load(tmp_path / "later.npz")
    with pytest.raises(FileNotFoundError):
        bench.load(tmp_path / "nowhere.npz")
    with pytest.raises(ValueError, match="family must be one of"):
        bench.Instance.of(PROBLEMS["cover"](), name="x", family="covers")


def test_the_gap_is_positive_for_worse_objectives():
    cover = bench.instance("cover-design-7-3-2")
    assert cover.gap(7) == 0 and cover.gap(14) == 1
    response = bench.instances(family="response")[0]
    assert response.gap(response.best_known - 1) == 1 / response.best_known
    assert math.isnan(small("cover").gap(1)) and not small("cover").proved


def test_a_gap_is_a_share_of_the_best_value_of_every_instance():
    """The smallest size of an objective matters where the best value is zero, and nowhere else."""
    for one in [one for one in EVERY if one.best_known is not None]:
        worse = one.best_known * (1.001 if one.family.sense == "minimise" else 0.999)
        is_zero = abs(one.best_known) < 1e-12
        assert one.gap(worse) == pytest.approx(0.0 if is_zero else 0.001), one.name


def test_our_solver_reaches_the_best_known_value():
    one = bench.instance("penalised-entropy-m3-chain-pairs")
    check = one.check(Newton().solve(one.problem))
    assert check.feasible and one.gap(check.objective) == pytest.approx(0, abs=1e-7)


@pytest.mark.parametrize("name", FAMILIES)
def test_statements_are_latex_and_their_symbols_are_explained(name):
    convert = pytest.importorskip("latex2mathml.converter", reason="latex2mathml is not installed")
    family = FAMILIES[name]
    assert convert.convert(family.statement()).startswith("<math")
    for symbol in family.symbols():
        assert convert.convert(symbol).startswith("<math")
    assert small(name).statement() == family.statement()


def test_draws_do_not_depend_on_the_distributions_of_numpy():
    draws = Draws(1)
    assert draws.below(1000, 6).tolist() == [511, 950, 144, 948, 311, 423]
    assert draws.noise(1, 4).tolist() == [0, -6, -5, -6]
    assert draws.subset(10, 4) == (4, 6, 8, 9)
    many = Draws(2)
    assert np.std(many.noise(3, 20_000)) == pytest.approx(12, rel=0.05)
    assert many.happen(250, 20_000).mean() == pytest.approx(0.25, abs=0.02)
    shares = np.bincount(many.weighted(np.array([1, 0, 3]), 20_000)) / 20_000
    assert shares == pytest.approx([0.25, 0, 0.75], abs=0.02)


@pytest.mark.parametrize("kind", KINDS)
def test_generated_tables_fit_their_attributes(kind):
    sizes = (2, 3, 1, 5)
    table = records(kind, sizes, 500, seed=3)
    assert table.shape == (500, 4) and table.min() >= 0 and (table < sizes).all()
    assert counts_of(table, sizes, (1, 3)).sum() == 500


def test_covering_designs_and_views_hold_what_they_say():
    fano = covering_design(7, 3, 2)
    lines = [(0, 1, 2), (0, 3, 4), (0, 5, 6), (1, 3, 5), (1, 4, 6), (2, 3, 6), (2, 4, 5)]
    number = {block: place for place, block in enumerate(combinations(range(7), 3))}
    assert fano.left([number[line] for line in lines]) == 0
    # Views of at most 12 cells of attributes of 2, 3, 4 and 5 categories that cannot be extended,
    # and the pair of 20 cells, which is wanted, too.
    views = views_for((2, 3, 4, 5), 2, 0, 12, "cells", 1)
    assert views.items == 6 and sorted(views.cost.tolist()) == [6, 8, 10, 12, 15, 20]


def test_a_bound_that_others_proved_is_the_published_size_of_a_design():
    """No answer and no bound passes what is published as best possible."""
    designs = [one for one in EVERY if one.name.startswith("cover-design-")]
    by_others = 0
    for one in designs:
        known = best_known(*map(int, one.name.split("-")[2:]))
        assert one.best_known >= known.size >= one.bound or not known.optimal
        if "bound by others" in one.proved_by:
            by_others += 1
            assert known.optimal and one.bound == known.size and known.source in one.proved_by
    assert by_others == 6  # as docs/bench.md says


def test_the_page_states_every_family_and_counts_the_instances():
    page = (Path(__file__).parents[3] / "docs" / "bench.md").read_text()
    for name, family in FAMILIES.items():
        assert f"### {name}\n\n$$ {family.statement()} $$" in page
        own = [one for one in EVERY if one.family.name == name]
        counts = [[one for one in own if one.size == size] for size in SIZES]
        cells = [f"{len(some)} ({sum(one.proved for one in some)})" for some in [*counts, own]]
        assert f"| `{name}` | {' | '.join(cells)} |" in page
    assert f"| {len(EVERY)} ({sum(one.proved for one in EVERY)}) |" in page
