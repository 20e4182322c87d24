"""An answer that is sent is checked, and compared with what is known."""

import dataclasses

import numpy as np
import pytest
from bench_cases import FAMILIES, small

from margin.cli.main import main
from margin.solvers import bench
from margin.solvers.bench.engines.clarabel import ClarabelEngine
from margin.solvers.bench.running.answers import read_kept
from margin.solvers.bench.running.standing import standing

FANO = [0, 9, 14, 20, 23, 27, 28]
"""A best answer to `cover-design-7-3-2`, of 7 sets."""


@pytest.fixture
def fano():
    return bench.instance("cover-design-7-3-2")


def kept(folder, instance, answer, **more):
    bench.save_answer(folder / "answer.npz", instance, answer, **more)
    return read_kept(folder / "answer.npz")


@pytest.mark.parametrize(
    ("answer", "best_known", "bound", "word"),
    [
        (FANO, 7.0, 7.0, "equal"),
        (FANO, 8.0, 6.0, "better"),
        (FANO, 6.0, 5.0, "worse"),
        ([*FANO, 1], 7.0, None, "worse"),
        (FANO, None, None, "first"),
        (FANO, 8.0, 8.0, "impossible"),
        (FANO[1:], 8.0, 6.0, "infeasible"),
        ([99], 8.0, 6.0, "infeasible"),
    ],
)
def test_an_answer_is_compared_with_what_is_known(fano, tmp_path, answer, best_known, bound, word):
    instance = dataclasses.replace(fano, best_known=best_known, bound=bound)
    assert standing(instance, kept(tmp_path, fano, answer)).word == word


@pytest.mark.parametrize(
    ("best_known", "bound", "word"), [(7.00005, 7.00005, "equal"), (7.00005, 6.9, "better")]
)
def test_an_answer_that_passes_a_bound_by_rounding_is_not_better(
    fano, tmp_path, best_known, bound, word
):
    instance = dataclasses.replace(fano, best_known=best_known, bound=bound)
    assert standing(instance, kept(tmp_path, fano, FANO)).word == word


@pytest.mark.parametrize("family", FAMILIES)
def test_the_answer_of_every_family_can_be_saved(family, tmp_path):
    """Its bound is that of the multipliers, in the sense of the family."""
    instance = small(family)
    model = instance.model
    is_certified = not model.cones and not model.integral
    ended = ClarabelEngine()(dataclasses.replace(model, whole=False))
    point = np.round(ended.point) if model.integral else ended.point
    answer = instance.family.answer(instance.problem, point)
    if answer is None:  # the rounded point is no record
        answer = np.zeros(len(instance.problem.sizes), int)
    dual = None if model.cones else np.zeros(model.rows)
    found = standing(instance, kept(tmp_path, instance, answer, dual=dual))
    assert found.check == instance.check(answer)
    if dual is not None:
        assert found.bound == instance.family.from_model(model.lower_bound(dual))
    if is_certified:
        found = standing(instance, kept(tmp_path, instance, answer, dual=ended.dual))
        assert found.is_better_bound
        assert found.bound == pytest.approx(found.check.objective, rel=1e-5, abs=1e-6)


CERTIFICATES = {"good": (1 / 3, 7.0), "weak": (0.3, 6.3), "of the wrong sign": (-1.0, -np.inf)}


@pytest.mark.parametrize(("dual", "bound"), CERTIFICATES.values(), ids=CERTIFICATES)
@pytest.mark.parametrize("known", [None, 6.0, 7.0])
def test_a_bound_is_better_only_if_the_multipliers_prove_it(fano, tmp_path, dual, bound, known):
    """Each of the 21 pairs costs a third of a set: the sets cost what they hold."""
    instance = dataclasses.replace(fano, bound=known)
    found = standing(instance, kept(tmp_path, fano, FANO, dual=[dual] * 21))
    proves = max(bound, 0.0)  # a multiplier of the wrong sign is taken for zero
    assert found.bound == pytest.approx(proves)
    assert found.is_better_bound == (known is None or proves > known + 1e-6)


@pytest.mark.parametrize(
    ("known", "dual", "row"),
    [
        ((8.0, 6.0), None, ["7.0", "6.0", "found by ME; bound by B"]),
        ((7.0, 6.0), 1 / 3, ["7.0", "7", "found by A; bound by ME"]),
        ((8.0, 6.0), 1 / 3, ["7.0", "7", "found by ME; bound by ME"]),
        ((7.0, 7.0), 1 / 3, None),
    ],
)
def test_the_row_holds_what_is_better_and_who_found_it(fano, tmp_path, known, dual, row):
    best_known, bound = known
    instance = dataclasses.replace(
        fano, best_known=best_known, bound=bound, proved_by="found by A; bound by B"
    )
    more = {} if dual is None else {"dual": [dual] * 21}
    made = standing(instance, kept(tmp_path, fano, FANO, **more)).row(instance, "ME")
    if row is None:
        assert made is None
        return
    assert made[:2] == ["cover-design-7-3-2", "1"] and len(made[2]) == 16
    assert made[3] == row[0] and made[5] == row[2]
    assert float(made[4]) == pytest.approx(float(row[1]))
    # Nobody keeps a row of what is not in the catalogue.
    other = dataclasses.replace(instance, name="mine")
    assert standing(instance, kept(tmp_path, fano, FANO, **more)).row(other, "ME") is None


def test_what_cannot_be_an_answer_is_not_written(fano, tmp_path):
    path = tmp_path / "answer.npz"
    for answer, more, words in (
        (object(), {}, "must hold an array of numbers"),
        (FANO, {"dual": [1.0]}, "dual must hold 21 finite numbers"),
    ):
        with pytest.raises(ValueError, match=words):
            bench.save_answer(path, fano, answer, **more)
    with pytest.raises(ValueError, match=r"must end in \.npz"):
        bench.save_answer(tmp_path / "answer.txt", fano, FANO)
    assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize("write", [lambda path: path.write_text("x"), lambda path: np.savez(path)])
def test_a_file_of_something_else_is_refused(write, tmp_path, capsys):
    path = tmp_path / "other.npz"
    write(path)
    assert main(["bench", "check", str(path)]) == 2
    assert "must hold an answer, as bench.save_answer or margin bench run" in (
        capsys.readouterr().err
    )


def test_the_command_tells_each_file(fano, tmp_path, capsys):
    good, bad = tmp_path / "good.npz", tmp_path / "bad.npz"
    bench.save_answer(good, fano, FANO)
    bench.save_answer(bad, fano, FANO[1:])
    assert main(["bench", "check", str(good)]) == 0
    assert "cover-design-7-3-2: equal\n" in capsys.readouterr().out
    assert main(["bench", "check", str(good), str(bad)]) == 2
    said = capsys.readouterr().out
    assert "equal\n" in said and "infeasible\n  it is no answer: 3 items" in said


def test_a_problem_of_ones_own_is_named_by_its_file(fano, tmp_path, capsys):
    mine = bench.Instance.of(fano.problem, name="mine", family="cover", best_known=8.0)
    mine.save(tmp_path / "mine.npz")
    bench.save_answer(tmp_path / "answer.npz", mine, FANO)
    command = ["bench", "check", str(tmp_path / "answer.npz")]
    assert main(command) == 2
    assert "a problem of your own, add --instance FILE.npz" in capsys.readouterr().err
    assert main([*command, "--instance", str(tmp_path / "mine.npz")]) == 0
    assert "mine: better" in capsys.readouterr().out
    assert main([*command, "--instance", "cover-design-8-4-2"]) == 2
    assert "it is one to another problem" in capsys.readouterr().err


def test_a_file_of_an_older_version_names_its_instance_by_its_folder(tmp_path):
    folder = tmp_path / "my%2Fown"
    folder.mkdir()
    np.savez_compressed(folder / "A-0.npz", kind=np.array("array"), part0=np.array(FANO))
    found = read_kept(folder / "A-0.npz")
    assert (found.instance, found.digest, found.dual) == ("my/own", "", None)
    assert found.answer.tolist() == FANO


@pytest.mark.parametrize("family", ["minimax", "least-squares", "consistency", "nonnegativity"])
@pytest.mark.parametrize("factor", [0.5, 0.999, 1.0, 1.5, 3.0])
def test_multipliers_that_are_not_the_best_ones_never_prove_too_much(family, factor, tmp_path):
    instance = small(family)
    ended = ClarabelEngine()(instance.model)
    answer = instance.family.answer(instance.problem, ended.point)
    found = standing(instance, kept(tmp_path, instance, answer, dual=factor * ended.dual))
    assert found.bound <= found.check.objective + 1e-6
    # Columns without a bound have a box.
    assert np.isfinite(found.bound)
