"""What a mechanism that answers a workload is asked for, and how it says that a domain is beyond
its reach."""

from collections.abc import Iterable

from ..domain.domain import Domain
from ..domain.workload import Workload
from ..errors import DomainError

__all__ = ["asked", "check_reach"]


def asked(domain: Domain, workload: Workload | Iterable[Iterable[str]] | None) -> Workload:
    """A checked workload; all pairs of attributes when there is none."""
    if workload is None:
        return Workload.all_kway(domain, min(2, len(domain)))
    return Workload.of(domain, workload)


def check_reach(
    name: str, needed: int, most: int, *, what: str = "cells of the full table", instead: str
) -> None:
    """DomainError when a method would need more than it can hold; it follows from the domain alone.

    Parameters
    ----------
    name
        The method.
    needed, most
        What it would need here, and can hold.
    what
        Of what.
    instead
        Which methods can do it.
    """
    if needed > most:
        raise DomainError(
            f"{name} would need {_shown(needed)} {what}; at most {_shown(most)} are possible: use {instead}"
        )


def _shown(number: int) -> str:
    return f"{number:,}" if number < 10**15 else f"about 10**{len(str(number)) - 1}"
