"""The default workload of a mechanism, and the refusal of domains that are too large for it."""

from collections.abc import Iterable

from ..domain.domain import Domain
from ..domain.workload import Workload
from ..errors import DomainError

__all__ = ["asked", "check_reach"]


def asked(
    domain: Domain,
    workload: Workload | Iterable[Iterable[str]] | None,
) -> Workload:
    """Check a workload; None stands for the workload of all pairs of attributes."""
    if workload is None:
        return Workload.all_kway(domain, min(2, len(domain)))
    checked = Workload.of(domain, workload)
    checked.check_listed()
    return checked


def check_reach(
    name: str,
    needed: int,
    most: int,
    *,
    what: str = "cells of the full table",
    instead: str,
) -> None:
    """Raise DomainError when a method needs more than it can hold.

    The numbers depend on the domain alone, not on the data.

    Parameters
    ----------
    name
        The method, for the message.
    needed, most
        The number of `what` that it needs here, and the largest number it can hold.
    what
        The unit of these numbers, for the message.
    instead
        Other methods that can be used, for the message.
    """
    if needed > most:
        raise DomainError(
            f"{name} needs {_shown(needed)} {what} here, but at most {_shown(most)} are possible; "
            f"use {instead}"
        )


def _shown(number: int) -> str:
    """A number with separators, or its order of magnitude if it is long."""
    if number < 10**15:
        return f"{number:,}"
    return f"about 10**{len(str(number)) - 1}"
