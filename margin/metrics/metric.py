"""`Metric`: what `margin.compare` measures."""

from collections.abc import Sequence
from typing import Protocol

from ..domain.marginal import Marginal

__all__ = ["Metric"]


class Metric(Protocol):
    """A measure of the error, or of the quality, of the answers of one run."""

    @property
    def name(self) -> str:
        """The heading of its column in a table, such as "L2/N"."""

    @property
    def larger_is_better(self) -> bool:
        """Whether it measures quality, not error."""

    def __call__(
        self,
        answers: Sequence[Marginal],
        truths: Sequence[Marginal],
        /,
    ) -> list[float]:
        """Measure the answers of one run: one number for each view, or one for all views."""
