"""The table of docs/mechanisms/index.md that says which methods of `Private`, and so which proofs,
each mechanism uses: compared with the calls that each mechanism makes."""

import inspect
import re
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest
from every_mechanism import ALL, ROUGH, codes_of

from margin import ZCDP, Adaptive, Domain, PriView, PureDP
from margin.data.source import CodesSource
from margin.mechanisms import PMW, LogThreshold, PrivBasis, Zealous
from margin.noise.entropy import SeededEntropy
from margin.privacy.budget import Neighbours
from margin.private import Private

PAGE = Path(__file__).parents[3] / "docs" / "mechanisms" / "index.md"
ROWS = 2_000
MANY = Domain({f"x{place}": 2 for place in range(12)})


def chain(length):
    """Rows of bits, each of which mostly equals the one before."""
    rng = np.random.default_rng(1)
    changes = rng.random((ROWS, length)) < 0.1
    changes[:, 0] = rng.integers(0, 2, ROWS)
    return np.cumsum(changes, axis=1) % 2


# Parameters and domains with which mechanisms take steps that small domains do not need.
MORE = [
    (MANY, Adaptive(rounds=0)),  # looks for strong pairs
    (MANY, PriView.paper()),  # needs the number of rows
    (MANY, PMW.paper(rounds=1)),  # single cells
    (Domain({f"x{place}": 2 for place in range(20)}), PrivBasis(k=20)),  # pairs of items
]

BUDGETS = (ZCDP("1/10"), PureDP("3/2", neighbours=Neighbours.REPLACE_ROW))


METHODS = {name for name, _ in inspect.getmembers(Private, inspect.isfunction) if name[0] != "_"}
METHODS -= {"affords", "contest"}  # these read no row


class Watching(Private):
    """Keeps the names of the methods that are called, also of those that record no event, because
    they cost nothing."""

    def __getattribute__(self, name):
        if name in METHODS:
            vars(self)["called"].add(name)
        return super().__getattribute__(name)


def called(domain, mechanism):
    """The methods that are called, under both kinds of budget and of neighbours."""
    codes = chain(len(domain)) if (domain, mechanism) in MORE else codes_of(domain, 300, 1)
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


CONFIGURATIONS = defaultdict(list)
for _domain, _mechanism in (*ALL, *MORE):
    CONFIGURATIONS[type(_mechanism).__name__].append((_domain, _mechanism))


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
    assert set(STATED) == set(CONFIGURATIONS)


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_a_mechanism_uses_the_methods_that_are_stated(name):
    used = set().union(*(called(*configuration) for configuration in CONFIGURATIONS[name]))
    assert used == STATED[name]
