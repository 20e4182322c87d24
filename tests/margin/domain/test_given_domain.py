"""Every public function takes a domain as `release` does: a mapping, a file or a `Domain`."""

import json

import numpy as np
import pytest

import margin
from margin import ZCDP, Domain, mechanisms
from margin.audit import audit, neighbours
from margin.data import count
from margin.queries import Conjunctions, Parities
from margin.synopses.estimate import estimate
from margin.testing import check_mechanism, check_source

FORMS = {"a": 2, "b": 2}
TABLE = {"a": [0, 1, 1], "b": [1, 0, 1]}
BUDGET = ZCDP(1)


class Singles:
    """A mechanism that measures each attribute."""

    def run(self, private, workload):
        return estimate(private.domain, private.measure([[name] for name in private.domain]))


def _columns(rows):
    return {"a": [row["a"] for row in rows], "b": [row["b"] for row in rows]}


_TABLES = margin.simulate(TABLE, domain=FORMS, budget=BUDGET, seed=0).marginals([["a"], ["b"]])

FUNCTIONS = {
    "simulate": lambda domain: (
        margin.simulate(TABLE, domain=domain, budget=BUDGET, seed=0).marginal(["a"]).counts
    ),
    "plan": lambda domain: str(margin.plan(domain, budget=BUDGET)),
    "compare": lambda domain: (
        margin.compare(
            TABLE,
            domain=domain,
            budget=BUDGET,
            mechanisms={"it": Singles()},
            workload=[["a"]],
            runs=1,
        )
        .rows[0]
        .values
    ),
    "audit": lambda domain: audit(Singles(), domain=domain, budget=BUDGET, pairs=2).ok,
    "check_mechanism": lambda domain: check_mechanism(Singles(), domain=domain, pairs=1),
    "check_source": lambda domain: check_source(
        _columns, domain=domain, rows=[{"a": 0, "b": 1}], tables=1
    ),
    "neighbours": lambda domain: [
        table.tolist() for pair in neighbours(domain, BUDGET, 2) for table in pair
    ],
    "count": lambda domain: count(TABLE, domain, [["a", "b"]]),
    "Workload.of": lambda domain: margin.Workload.of(domain, [["a"]]),
    "Workload.all_kway": lambda domain: margin.Workload.all_kway(domain, 1).views[1],
    "Conjunctions.random": lambda domain: Conjunctions.random(domain, 1, 3, 0).values,
    "Parities.random": lambda domain: Parities.random(domain, 1, 3, 0).attributes,
    "Strategy.total": lambda domain: margin.Strategy.total(domain).shape,
    "estimate": lambda domain: estimate(domain, _TABLES).marginal(["a", "b"]).counts,
    "from_measurements": lambda domain: (
        margin.from_measurements([(["a"], [1, 2], 1.0)], domain=domain).marginal(["a"]).counts
    ),
    "Auto.prices": lambda domain: margin.Auto().prices(domain, None, BUDGET, rows=9)[0].error,
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_mapping_is_a_domain(name):
    call = FUNCTIONS[name]
    np.testing.assert_equal(call(FORMS), call(Domain(FORMS)))


@pytest.mark.parametrize("name", sorted(FUNCTIONS.keys() - {"Workload.all_kway"}))
def test_a_file_is_a_domain(name, tmp_path):
    path = tmp_path / "domain.json"
    path.write_text(json.dumps(FORMS))
    np.testing.assert_equal(FUNCTIONS[name](path), FUNCTIONS[name](FORMS))


METHODS = {
    "PriView": lambda domain: margin.PriView().expected_error(domain, [["a"]], BUDGET),
    "planned": lambda domain: margin.PriView().planned(domain, [["a"]], BUDGET),
    "Residual": lambda domain: margin.Residual().table_errors(domain, [["a"]], BUDGET),
    "Flat": lambda domain: mechanisms.Flat().largest_errors(domain, [["a"]], BUDGET),
    "LevelCounts": lambda domain: mechanisms.LevelCounts().expected_error(domain, None, BUDGET),
    "range_error": lambda domain: mechanisms.Wavelet().range_error(domain, "a", BUDGET),
}


@pytest.mark.parametrize("name", METHODS)
def test_the_methods_of_mechanisms_say_that_they_need_a_domain(name):
    with pytest.raises(margin.DomainError, match=r"of type dict; pass margin\.Domain"):
        METHODS[name](FORMS)
