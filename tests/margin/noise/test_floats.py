"""Every float of a release: named in docs/noise.md, and a function of noisy integers and public
things only.

Mechanisms are run on a table, and again on tables that have nothing in common with it, with the
answers of the first run. What is saved must be the same bytes: then neither a float's last bits nor
anything else carries what was not in the answers.
"""

import ast
import copy
import dataclasses
import io
import json
import re
import zipfile
from pathlib import Path

import numpy as np
import pytest
from every_mechanism import ALL, BITS, ROUGH, codes_of

import margin.noise
from margin import PureDP, mechanisms
from margin.data.source import CodesSource
from margin.mechanisms import (
    CountSketch,
    Direct,
    DPSense,
    DualQuery,
    Dyadic,
    Flat,
    Learning,
    LevelCounts,
    LogThreshold,
    MatrixMechanism,
    PrioritySample,
    PrivBasis,
    PriView,
    QuadTree,
    Residual,
    SpanningTree,
    Uniform,
    Wavelet,
    Zealous,
)
from margin.noise.entropy import SeededEntropy
from margin.privacy.statement import Statement
from margin.private import Private
from margin.private.sparse_noise import Kept
from margin.store import _KINDS
from margin.synopses.synopsis import Provenance, describe

PAGE = Path(__file__).parents[3] / "docs" / "noise.md"
BUDGET = PureDP("3/2")


OF_EACH_KIND = (
    CountSketch,
    DPSense,
    Direct,
    DualQuery,
    Dyadic,
    Flat,
    Learning,
    PrioritySample,
    PrivBasis,
    PriView,
)
OF_EACH_KIND += (LevelCounts, QuadTree, Residual, SpanningTree, Uniform, Wavelet)


class Recording(Private):
    """Keeps the answers; these are noisy."""

    def _answer(self, events, true, draw):
        answer = super()._answer(events, true, draw)
        self.answers.append(copy.deepcopy(answer))
        return answer


class Replaying(Private):
    """Gives the answers of another run, whatever the table."""

    def _answer(self, events, true, draw):
        super()._answer(events, true, lambda: None)
        return copy.deepcopy(self.answers.pop(0))


def saved(kind, domain, codes, mechanism, answers, path):
    """The bytes of a release's file."""
    budget = ROUGH if isinstance(mechanism, LogThreshold | Zealous) else BUDGET
    private = kind(CodesSource(codes), domain=domain, budget=budget, entropy=SeededEntropy(5))
    private.answers = answers
    synopsis = mechanism.run(private, None)
    provenance = Provenance(
        mechanism=describe(mechanism),
        statement=Statement(budget=private.spent),
        private=True,
        version="0",
        course=private.course,
    )
    dataclasses.replace(synopsis, provenance=provenance).save(path)
    return path.read_bytes()


@pytest.mark.parametrize(
    ("domain", "mechanism"), ALL, ids=[repr(mechanism)[:60] for _, mechanism in ALL]
)
def test_a_release_is_a_function_of_the_noisy_answers(domain, mechanism, tmp_path):
    """Bit by bit: with the same answers on an empty table, and on one of other rows, the same
    file."""
    answers: list = []
    first = saved(Recording, domain, codes_of(domain, 300, 1), mechanism, answers, tmp_path / "one")
    assert answers and all(kind in "iub" for answer in answers for kind in kinds_of(answer))
    for other in (np.zeros((0, len(domain)), np.int64), codes_of(domain, 77, 2)):
        again = saved(Replaying, domain, other, mechanism, list(answers), tmp_path / "two")
        assert again == first
    assert floats_of(tmp_path / "one") <= listed()


def kinds_of(answer):
    """Of what passes through the gate: integers, places and cells, no float but a cut, which lies
    on its grid."""
    for part in answer if isinstance(answer, list | tuple) else [answer]:
        for array in (part.words, part.counts) if isinstance(part, Kept) else [part]:
            yield np.asarray(array).dtype.kind


def floats_of(path):
    """The places of a file where a float is, by the kind of synopsis and the name of the field."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    manifest = json.loads(members.pop("manifest.json"))
    kind = manifest["kind"]
    places = {name for name, value in manifest.items() if name != "synopsis" and holds_float(value)}
    places |= {
        f"{kind}.{name}" for name, value in manifest["synopsis"].items() if holds_float(value)
    }
    for name, content in members.items():
        if name.endswith(".npy") and np.load(io.BytesIO(content)).dtype.kind not in "iub":
            places.add(f"{kind}.{re.sub('[0-9]+$', '', name.removesuffix('.npy'))}")
    return places


def holds_float(value):
    if isinstance(value, dict):
        return any(map(holds_float, value.values()))
    return isinstance(value, float) or (isinstance(value, list) and any(map(holds_float, value)))


def listed():
    """The first column of the table of floats."""
    part = PAGE.read_text().split("## Every float of a release")[1].split("\n## ")[0]
    rows = [line.split("|")[1] for line in part.splitlines() if line.startswith("| `")]
    return {name for row in rows for name in re.findall("`([^`]+)`", row)}


def test_the_list_is_that_of_all_floats(tmp_path):
    """Nothing is listed that no release has; all kinds of synopsis, and all mechanisms, are
    tried."""
    used = {type(mechanism).__name__ for _, mechanism in ALL}
    used |= {
        type(mechanism.strategy).__name__
        for _, mechanism in ALL
        if isinstance(mechanism, MatrixMechanism)
    }
    assert used >= {*mechanisms.__all__, *mechanisms.strategies.__all__}
    found = set()
    for domain, mechanism in ALL:
        if isinstance(mechanism, OF_EACH_KIND):
            saved(Recording, domain, codes_of(domain, 100, 1), mechanism, [], tmp_path / "one")
            found |= floats_of(tmp_path / "one")
    assert found == listed()
    assert {name.split(".")[0] for name in found if "." in name} == set(_KINDS)


FLOATS = {"float", "float64", "exp", "ldexp", "expm1", "sqrt", "log", "rint"}

DECIDING = {
    "laws._accept",
    "wide_gaussian._accept",
    "selection._classes",
    "selection.accept",
    "selection_loops.classes",
    "priorities._block",
}
"""The functions in which floats decide, each with a proof of its margin."""

NOT_DECIDING = {
    "certified._exponential_bounds",  # the `exp` of `decimal`
    "kept_cells._as_float",
    "laws.kurtosis",
    "laws.variance",
    "priorities.grid_point",
    "selection._classes_at_once",  # calls the loop
    "wide_gaussian.__init__",  # a table for `_accept`
}


def test_floats_decide_only_where_the_page_says():
    """The first table of the page names the laws of these functions. A float that decides anywhere
    else needs a proved margin and a row there."""
    using = set()
    for file in Path(margin.noise.__file__).parent.glob("*.py"):
        for made in ast.walk(ast.parse(file.read_text())):
            if isinstance(made, ast.FunctionDef):
                # What it computes with, not the types of its arguments.
                nodes = [node for line in made.body for node in ast.walk(line)]
                used = {getattr(node, "attr", getattr(node, "id", "")) for node in nodes}
                numbers = {type(getattr(node, "value", None)) for node in nodes}
                if used & FLOATS or float in numbers:
                    using.add(f"{file.stem}.{made.name}")
    assert using == DECIDING | NOT_DECIDING


@pytest.mark.parametrize("name", ["variance", "counts"])
def test_the_replay_sees_a_float_of_the_truth(name, tmp_path):
    """A mechanism whose variance, or whose counts, carry the true number of rows in their last
    bits."""

    class Careless(Direct):
        def run(self, private, workload):
            rows = sum(
                len(next(iter(batch.values()))) for batch in private._source.batches(private.domain)
            )
            synopsis = super().run(private, workload)
            array = getattr(synopsis.held[0], name)
            array.flat[0] = np.nextafter(array.flat[0], np.inf if rows % 2 else -np.inf)
            return synopsis

    answers: list = []
    first = saved(Recording, BITS, codes_of(BITS, 300, 1), Careless(), answers, tmp_path / "one")
    again = saved(
        Replaying, BITS, codes_of(BITS, 77, 2), Careless(), list(answers), tmp_path / "two"
    )
    assert again != first
