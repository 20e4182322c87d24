"""The table of docs/mechanisms/index.md that says which methods of `Private`, and so which proofs,
each mechanism uses: compared with the calls that each mechanism makes."""

import inspect
import re
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest
from every_mechanism import ALL, ROUGH, codes_of

from margin import ZCDP, Adaptive, Auto, Domain, PriView, PureDP
from margin.data.source import CodesSource
from margin.mechanisms import PMW, LogThreshold, PrivBasis, Zealous
from margin.noise.entropy import SeededEntropy
from margin.privacy.budget import Neighbours
from margin.private import Private

PAGE = Path(__file__).parents[3] / "docs" / "mechanisms" / "index.md"


def bits(length):
    return Domain({f"x{place}": 2 for place in range(length)})


# Parameters, domains and numbers of rows with which mechanisms take steps that small domains do not
# need.
MORE = [
    (bits(12), Adaptive(rounds=0), 2_000),  # looks for strong pairs
    (bits(20), Auto(), 200),  # a tree of pairs
    (bits(12), PriView.paper(), 200),  # needs the number of rows
    (bits(12), PMW.paper(rounds=1), 200),  # single cells
    (bits(20), PrivBasis(k=20), 200),  # pairs of items
]


def chain(rows, length):
    """Rows of bits, each of which mostly equals the one before."""
    rng = np.random.default_rng(1)
    changes = rng.random((rows, length)) < 0.1
    changes[:, 0] = rng.integers(0, 2, rows)
    return np.cumsum(changes, axis=1) % 2


BUDGETS = (ZCDP("1/10"), PureDP("3/2", neighbours=Neighbours.REPLACE_ROW))


METHODS = {name for name, _ in inspect.getmembers(Private, inspect.isfunction) if name[0] != "_"}
METHODS -= {"affords", "begin", "contest"}  # these read no row


class Watching(Private):
    """Keeps the names of the methods that are called, also of those that record no event, because
    they cost nothing."""

    def __getattribute__(self, name):
        if name in METHODS:
            vars(self)["called"].add(name)
        return super().__getattribute__(name)


def called(domain, mechanism, codes):
    """The methods that are called, under both kinds of budget and of neighbours."""
    rough = isinstance(mechanism, LogThreshold | Zealous)
    found = set()
    for budget in (ROUGH,) if rough else BUDGETS:
        private = Watching(
            CodesSource(codes),
            domain=domain,
            budget=budget,
            entropy=SeededEntropy(5),
        )
        private.called = found
        mechanism.run(private, None)
        assert found >= {event.method for event in private.events}
    return found


RUNS = defaultdict(list)
for _domain, _mechanism in ALL:
    RUNS[type(_mechanism).__name__].append((_domain, _mechanism, codes_of(_domain, 300, 1)))
for _domain, _mechanism, _rows in MORE:
    RUNS[type(_mechanism).__name__].append((_domain, _mechanism, chain(_rows, len(_domain))))


def stated():
    """The methods in the table, by the mechanism; each is a link to its proof."""
    part = PAGE.read_text().split("## Which proofs apply")[1].split("\n## ")[0]
    table = {}
    for line in part.splitlines():
        if line.startswith("| `"):
            _, mechanisms, methods, _ = line.split("|")
            links = re.findall(r"\[`(\w+)`\]\(\.\./proofs/(\w+)\.md\)", methods)
            assert [name for name, page in links if name != page] == []
            for name in re.findall(r"`(\w+)`", mechanisms):
                table[name] = {method for method, _ in links}
    return table


STATED = stated()


def test_the_table_has_all_mechanisms():
    assert set(STATED) == set(RUNS)


@pytest.mark.parametrize("name", RUNS)
def test_a_mechanism_uses_the_methods_that_are_stated(name):
    used = set().union(*(called(*run) for run in RUNS[name]))
    assert used == STATED[name]
