"""Who publishes a table, under which licence, and what it and its attributes are, for machines."""

from collections.abc import Sequence
from typing import Any

from ..domain.levels import LEVEL_MARK
from ..domain.marginal import Marginal

__all__ = ["CONTACT", "descriptions", "dublin_core"]

_TERMS = {
    "publisher": "Publisher",
    "issued": "Published",
    "temporal": "Period",
    "source": "Source",
    "license": "Licence",
    "bibliographicCitation": "How to cite",
}
"""The lines of an imprint that Dublin Core has a term for."""

CONTACT = "contactPoint"
"""The term of DCAT, the W3C's vocabulary of data catalogues, for whom readers can ask."""


def descriptions(table: Marginal, manifest: dict[str, Any]) -> dict[str, str]:
    """The descriptions of the attributes of a table, by their names; a level says whose it is.

    Parameters
    ----------
    table
        The table.
    manifest
        The manifest of the publication.
    """
    found = {}
    for name, form in table.domain.items():
        if form.description is None:
            continue
        found[name] = form.description
        if name not in manifest["domain"]:
            attribute = name.rpartition(LEVEL_MARK)[0]
            found[name] = f"a level of {attribute} ({form.description})"
    return found


def dublin_core(manifest: dict[str, Any], attributes: Sequence[str]) -> dict[str, str]:
    """The terms of a table of a publication, without those that its publisher did not say.

    The names are those of the DCMI Metadata Terms, and `CONTACT`.

    Parameters
    ----------
    manifest
        The manifest of the publication.
    attributes
        The attributes of the table.
    """
    imprint = manifest["imprint"]
    said = {term: imprint.get(head) for term, head in _TERMS.items()}
    said_of = {head: imprint.get(head) for head in ("Population", "Coverage")}
    lines = [text and f"{head}: {text}" for head, text in said_of.items()]
    about = [manifest["description"], *lines]
    # The line of the release says in words what its digest is for.
    digest = imprint.get("Release", "").partition(". ")[0]
    terms = {
        "title": f"{manifest['title']}: {', '.join(attributes)}",
        "abstract": " ".join(f"{text.rstrip('.')}." for text in about if text),
        **said,
        "isPartOf": digest,
        CONTACT: imprint.get("Contact"),
    }
    return {term: text for term, text in terms.items() if text}
