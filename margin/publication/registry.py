"""An entry for a registry of deployments of differential privacy."""

from typing import Any

from ..errors import DomainError
from ..privacy.budget import ZCDP, ApproxDP, Neighbours, PureDP
from ..privacy.statement import OTHER_RELEASES, Statement
from ..privacy.strength import beside
from ..synopses.synopsis import Provenance, Synopsis, check_synopsis

__all__ = ["registry_entry"]

_FILL_IN = "FILL IN: "
"""The start of each text that only the publisher can write."""

_VARIANTS: dict[type, str] = {
    PureDP: "Pure DP",
    ZCDP: "Zero-concentrated DP",
    ApproxDP: "Approximate DP",
}
"""The names of the registry for the kinds of budgets."""


def registry_entry(synopsis: Synopsis) -> dict[str, Any]:
    """A draft of an entry for the Differential Privacy Deployments Registry.

    The entry follows the registry's schema (version of 2026). It holds everything that a .margin
    file states: the guarantee, the unit of privacy, the parameters, the mechanism and the software.
    Texts that begin with "FILL IN" are for the publisher. Written as JSON, the entry is also YAML,
    the format of the registry.

    Parameters
    ----------
    synopsis
        The result of a release.

    Returns
    -------
    dict
        The entry, as JSON values.

    Raises
    ------
    DomainError
        When the synopsis is not the result of a release, or is a simulation.

    Examples
    --------
    >>> import margin
    >>> made = margin.release({"a": [0, 1]}, domain={"a": 2}, budget=margin.PureDP(1))
    >>> registry_entry(made)["deployment"]["privacy_loss"]["privacy_parameters"]
    {'epsilon': 1.0}
    """
    check_synopsis(synopsis)
    provenance = synopsis.provenance
    if provenance is None or not provenance.private:
        raise DomainError(
            "a registry lists releases, but this synopsis is not the result of `release`; pass one "
            "that is"
        )
    return {
        "url_slug": f"{_FILL_IN}a short name for addresses",
        "status": "Draft",
        "tier": 3,
        "deployment": {
            "basic": _basic(synopsis),
            "dp_variant": {
                "variant_name": _VARIANTS[type(provenance.spent)],
                "data_domain": _data_domain(synopsis),
                "unprotected_quantities": _unprotected(synopsis, provenance.statement),
            },
            "privacy_loss": _privacy_loss(provenance.statement),
            "deployment_model": {
                "model_name": "Central",
                "release_type": "One release",
                "data_source_type": "Static",
                "access_type": "Non-interactive",
            },
            "accounting": {
                "post_processing": "Consistency between tables, removal of negative counts, and "
                "reconstruction of further tables, all from the published noisy counts alone.",
                "composition": "The parameters hold for this release as a whole. Other releases "
                "from the same table add to them.",
            },
            "implementation": _implementation(provenance),
        },
    }


def _basic(synopsis: Synopsis) -> dict[str, Any]:
    return {
        "name": f"{_FILL_IN}the name of the data product",
        "data_curators": [f"{_FILL_IN}who publishes it"],
        "intended_use": f"{_FILL_IN}what it is for",
        "data_product_type": "Summary statistics",
        "data_product_region": f"{_FILL_IN}which region the data describe",
        "description": f"Counts of rows by {', '.join(synopsis.domain)}, with error bars.",
        "publication_date": f"{_FILL_IN}YYYY-MM-DD",
    }


def _data_domain(synopsis: Synopsis) -> str:
    sizes = [f"{name} ({form.size} categories)" for name, form in synopsis.domain.items()]
    return f"Tables with the columns {', '.join(sizes)}. The categories were declared."


def _unprotected(
    synopsis: Synopsis,
    statement: Statement,
) -> str:
    quantities = "None."
    if statement.budget.number_of_rows_is_public or synopsis.domain.rows is not None:
        quantities = "The number of rows."
    assert synopsis.provenance is not None
    more = beside(statement, synopsis.domain, synopsis.provenance.base)
    return f"{quantities} {more}".rstrip()


def _privacy_loss(statement: Statement) -> dict[str, Any]:
    replaced = statement.neighbours is Neighbours.REPLACE_ROW
    change = "replacing" if replaced else "adding or removing"
    numbers = statement.budget.to_json()
    parameters = {
        name: float(numbers[name]) for name in ("epsilon", "delta", "rho") if name in numbers
    }
    return {
        "privacy_unit": statement.protects,
        "privacy_unit_details": f"Adjacent tables differ by {change} one such unit. "
        f"{statement.whom} {OTHER_RELEASES}",
        "privacy_parameters": parameters,
    }


def _implementation(provenance: Provenance) -> dict[str, str]:
    mechanism = provenance.mechanism
    kind = mechanism["name"] if isinstance(mechanism, dict) else str(mechanism)
    return {
        "preprocessing_and_hyperparameter_tuning": f"{_FILL_IN}whether the domain, the budget or "
        "the mechanism was chosen after looking at the data",
        "mechanisms": f"{kind} of margin {provenance.version}. The noise is of "
        "whole numbers, sampled exactly from the operating system's entropy. No floating-point "
        "number lies between a true count and its noisy value; private choices have their exact "
        "law.",
        "justification": f"{_FILL_IN}why this budget and this mechanism",
    }
