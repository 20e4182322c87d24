"""The entry for a registry of deployments: it says what the release states, and no more."""

import json

import pytest

import margin
from margin import ZCDP, ApproxDP, DomainError, Neighbours, PureDP
from margin.cli.main import main
from margin.publication import registry_entry

TABLE = {"sex": [0, 1, 1], "smokes": [1, 0, 2]}
SIZES = {"sex": 2, "smokes": 3}

# The fields of the registry's schema that a .margin file can fill in, and those it asks for.
SECTIONS = {
    "basic": {
        "name",
        "data_curators",
        "intended_use",
        "data_product_type",
        "data_product_region",
        "description",
        "publication_date",
    },
    "dp_variant": {"variant_name", "data_domain", "unprotected_quantities"},
    "privacy_loss": {"privacy_unit", "privacy_unit_details", "privacy_parameters"},
    "deployment_model": {"model_name", "release_type", "data_source_type", "access_type"},
    "accounting": {"post_processing", "composition"},
    "implementation": {
        "preprocessing_and_hyperparameter_tuning",
        "mechanisms",
        "justification",
    },
}


def entry_of(budget, **declared):
    domain = margin.Domain(SIZES, **declared)
    return registry_entry(margin.release(TABLE, domain=domain, budget=budget))


@pytest.mark.parametrize(
    ("budget", "variant", "parameters"),
    [
        (PureDP("0.5"), "Pure DP", {"epsilon": 0.5}),
        (ZCDP("0.1"), "Zero-concentrated DP", {"rho": 0.1}),
        (ApproxDP(2, "1e-9"), "Approximate DP", {"epsilon": 2.0, "delta": 1e-9}),
    ],
)
def test_the_entry_states_the_guarantee(budget, variant, parameters):
    deployment = entry_of(budget)["deployment"]
    assert {name: set(section) for name, section in deployment.items()} == SECTIONS
    assert deployment["dp_variant"]["variant_name"] == variant
    assert deployment["privacy_loss"]["privacy_parameters"] == parameters
    assert deployment["dp_variant"]["unprotected_quantities"] == "None."


@pytest.mark.parametrize(
    ("budget", "declared", "unit", "change"),
    [
        (PureDP(1, rows_per_person=3), {}, "all rows of a person", "adding or removing"),
        (PureDP(1, neighbours=Neighbours.REPLACE_ROW), {}, "one row", "replacing"),
        (PureDP(1, neighbours=Neighbours.REPLACE_ROW), {"rows": 3}, "one row", "replacing"),
    ],
)
def test_the_entry_states_the_unit_and_what_is_public(budget, declared, unit, change):
    deployment = entry_of(budget, **declared)["deployment"]
    assert deployment["privacy_loss"]["privacy_unit"].startswith(unit)
    assert change in deployment["privacy_loss"]["privacy_unit_details"]
    public = deployment["dp_variant"]["unprotected_quantities"]
    assert (public == "The number of rows.") is (unit == "one row")


def test_a_simulation_is_no_deployment():
    simulation = margin.simulate(TABLE, domain=SIZES, budget=PureDP(1), seed=0)
    with pytest.raises(DomainError, match="lists releases"):
        registry_entry(simulation.synopsis)


def test_the_command_prints_the_entry(tmp_path, capsys):
    synopsis = margin.release(TABLE, domain=SIZES, budget=PureDP(1))
    synopsis.save(tmp_path / "t.margin")
    assert main(["info", str(tmp_path / "t.margin"), "--registry"]) == 0
    assert json.loads(capsys.readouterr().out) == registry_entry(synopsis)
