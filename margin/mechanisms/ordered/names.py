"""Which attributes a mechanism for ordered attributes takes as ordered."""

from collections.abc import Iterable

from ...domain.domain import Domain, View
from ...errors import DomainError

__all__ = ["checked_names", "ordered_names"]


def checked_names(attributes: Iterable[str] | None) -> tuple[str, ...] | None:
    """Check that names of attributes are a list; return them as a tuple. None stays None."""
    if attributes is None:
        return None
    if isinstance(attributes, str | bytes) or not isinstance(attributes, Iterable):
        raise DomainError(
            "attributes must be a list of attribute names, or None for those that the domain "
            f"declares as ordered, but it is of type {type(attributes).__name__}; put the names "
            "into a list"
        )
    return tuple(attributes)


def ordered_names(
    mechanism: str,
    domain: Domain,
    attributes: Iterable[str] | None,
    *,
    otherwise: str = "name them with attributes=[...]",
) -> View:
    """The attributes that a mechanism takes as ordered: the named ones, or for None those that the
    domain declares as ordered.

    This depends on the domain alone, so a mechanism asks before anything is charged.

    Raises
    ------
    DomainError
        When a named attribute is unknown; or when none is named, and the domain declares none as
        ordered. The message names the mechanism, and `otherwise` is what else can be done.
    """
    if attributes is not None:
        return domain.view(attributes)
    declared = tuple(name for name, attribute in domain.items() if attribute.ordered)
    if not declared:
        raise DomainError(
            f"{mechanism} needs ordered attributes, but the domain declares none as ordered; add "
            '"ordered": true to the attributes whose order of categories has a meaning, or '
            f"{otherwise}"
        )
    return declared
