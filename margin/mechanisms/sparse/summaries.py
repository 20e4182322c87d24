"""What the summaries of sparse tables have in common: parameters from a target size, the synopsis
of what was kept."""

import math
from collections.abc import Callable, Iterable
from typing import Protocol

from ..._checks import positive_integer
from ..._numbers import Number
from ...domain.domain import Domain
from ...errors import DomainError
from ...noise.kept_cells import Entering
from ...noise.laws import DiscreteLaplace
from ...private import Keep, Largest, Private, SparseCells
from ...sparse.axes import Axis
from ...synopses.cells import CellSynopsis

__all__ = ["Chooser", "Rule", "Summary", "checked_target", "chosen_axes", "kept", "least_theta"]

Rule = Keep | Largest
Chooser = Callable[[int, DiscreteLaplace], Rule]


class Summary(Protocol):
    """A mechanism that keeps some cells: `HighPass`, `ThresholdSample`, `PrioritySample`,
    `FilterPriority`."""

    def prepare(self, private: Private, levels: int) -> tuple[Chooser, Number | None]:
        """The rule, as a function of public things, and what may be spent with it; `levels`: nodes
        that a row is in."""


def kept(private: Private, summary: Summary, axes: "list[Axis] | None" = None) -> CellSynopsis:
    """The synopsis of what a summary keeps of the table of all attributes."""
    levels = math.prod(len(axis.levels) for axis in axes or ())
    choose, spend = summary.prepare(private, levels)
    return synopsis_of(
        private.sparse_cells(private.domain.attributes, keep=choose, axes=axes, spend=spend)
    )


def synopsis_of(found: SparseCells) -> CellSynopsis:
    """A synopsis of what came out of `Private`."""
    rule = found.keep
    return CellSynopsis(
        domain=found.domain,
        axes=found.axes,
        codes=found.codes,
        values=found.counts,
        theta=rule.theta,
        tau=found.cut
        if isinstance(rule, Largest)
        else float(rule.tau)
        if rule.tau > rule.theta
        else 0.0,
        two_sided=isinstance(rule, Largest) or rule.two_sided,
        variance=found.variance,
    )


def checked_target(name: str, value: object, cells: int) -> int:
    """A target size: a whole number from 1 to the number of cells."""
    target = positive_integer(name, value)
    if target > cells:
        raise DomainError(f"{name} ({target}) is above the {cells} cells that there are: lower it")
    return target


def least_theta(cells: int, noise: DiscreteLaplace, target: int, *, two_sided: bool) -> int:
    """The least theta for which at most `target` empty cells are expected to pass a filter, were
    all cells empty."""
    low, high = 0, 1
    while cells * float(Entering(noise.scale, Keep(high, high, two_sided))) > target:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        enough = cells * float(Entering(noise.scale, Keep(middle, middle, two_sided))) <= target
        low, high = (low, middle) if enough else (middle, high)
    return high


def chosen_axes(
    domain: Domain, attributes: Iterable[str] | None, ordered: type[Axis], other: type[Axis]
) -> list[Axis]:
    """An axis an attribute: `ordered` for the attributes named, or all."""
    names = set(domain if attributes is None else domain.view(attributes))
    return [
        (ordered if name in names else other)(attribute.size) for name, attribute in domain.items()
    ]
