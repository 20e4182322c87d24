"""Functions that all summaries of sparse tables share: parameters from a target size, and the
synopsis of the cells that were kept."""

import math
from collections.abc import Callable, Iterable
from typing import Protocol

from ..._checks import positive_integer
from ..._numbers import Number, shown
from ...domain.domain import Domain
from ...errors import DomainError
from ...noise.kept_cells import Entering
from ...noise.laws import DiscreteLaplace
from ...private import Keep, Largest, Private, SparseCells
from ...sparse.axes import Axis
from ...synopses.cells import CellSynopsis
from ..ordered.names import ordered_names

__all__ = [
    "Chooser",
    "Rule",
    "Summary",
    "checked_summary",
    "checked_target",
    "chosen_axes",
    "kept",
    "least_theta",
    "listed",
]

Rule = Keep | Largest
"""Which noisy counts are kept."""

Chooser = Callable[[int, DiscreteLaplace], Rule]
"""A function from the number of cells and the noise, both public, to the rule."""


class Summary(Protocol):
    """The interface of a mechanism that keeps some noisy counts of a huge table: `HighPass`,
    `ThresholdSample`, `PrioritySample` or `FilterPriority`."""

    def prepare(
        self,
        private: Private,
        levels: int,
    ) -> tuple[Chooser, Number | None]:
        """Decide how cells are kept, before the table is counted.

        The result is the rule, and the share of the budget for the table; None for all that is
        left.

        Parameters
        ----------
        private
            Gives the domain, and may measure the number of rows.
        levels
            The number of nodes that a row is counted in; 0 if no trees are counted.
        """


def kept(
    private: Private,
    summary: Summary,
    axes: "list[Axis] | None" = None,
) -> CellSynopsis:
    """Measure the table of all attributes; return a synopsis of the cells that a summary keeps."""
    levels = math.prod(len(axis.levels) for axis in axes or ())
    choose, spend = summary.prepare(private, levels)
    names = private.domain.attributes
    return synopsis_of(
        private.sparse_cells(
            names,
            keep=choose,
            axes=axes,
            spend=spend,
        )
    )


def synopsis_of(found: SparseCells) -> CellSynopsis:
    """Make a synopsis from the cells that `Private.sparse_cells` kept."""
    rule = found.keep
    if isinstance(rule, Largest):
        tau = found.cut
        two_sided = True
    else:
        # Up to theta the filter decides, and tau has no effect.
        tau = float(rule.tau) if rule.tau > rule.theta else 0.0
        two_sided = rule.two_sided
    return CellSynopsis(
        domain=found.domain,
        axes=found.axes,
        codes=found.codes,
        values=found.counts,
        theta=rule.theta,
        tau=tau,
        two_sided=two_sided,
        variance=found.variance,
    )


def checked_target(
    name: str,
    value: object,
    cells: int,
) -> int:
    """Check that a target size is a whole number from 1 to the number of cells, and return it."""
    target = positive_integer(name, value)
    if target > cells:
        raise DomainError(
            f"{name} ({target}) must be at most {cells}, the number of cells; pass a smaller number"
        )
    return target


def least_theta(
    cells: int,
    noise: DiscreteLaplace,
    target: float,
    *,
    two_sided: bool,
) -> int:
    """The smallest threshold theta that at most `target` empty cells are expected to pass.

    All cells are taken to be empty, so theta depends on public numbers only.
    """

    def enough(theta: int) -> bool:
        chance = float(Entering(noise.scale, Keep(theta, theta, two_sided)))
        return cells * chance <= target

    # Double until theta is large enough, then bisect.
    low, high = 0, 1
    while not enough(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        if enough(middle):
            high = middle
        else:
            low = middle
    return high


def chosen_axes(
    mechanism: str,
    domain: Domain,
    attributes: Iterable[str] | None,
    ordered: type[Axis],
    other: type[Axis],
) -> list[Axis]:
    """Make an axis for each attribute: of type `ordered` for those of `ordered_names`, of type
    `other` for the rest."""
    names = set(ordered_names(mechanism, domain, attributes))
    axes = []
    for name, attribute in domain.items():
        kind = ordered if name in names else other
        axes.append(kind(attribute.size))
    return axes


def checked_summary(inner: object) -> None:
    """Raise DomainError unless an object is a `Summary`."""
    if not callable(getattr(inner, "prepare", None)):
        raise DomainError(
            "inner must be HighPass, ThresholdSample, PrioritySample or FilterPriority, but it is "
            f"{shown(inner)}; pass one such object"
        )


def listed(attributes: Iterable[str] | None) -> tuple[str, ...] | None:
    """Convert names of attributes to a tuple; a text is one name, and None stays None."""
    if attributes is None:
        return None
    return (attributes,) if isinstance(attributes, str) else tuple(attributes)
