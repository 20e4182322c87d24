"""`Ended`: what an engine returns, and the protocol of engines."""

from dataclasses import dataclass
from typing import Any, Protocol

from ...status import Status
from ...types import Floats
from ..models.model import Model

__all__ = ["Ended", "Engine"]


@dataclass(
    frozen=True,
    kw_only=True,
    eq=False,
)
class Ended:
    """How an engine ended on a `Model`; nothing in it is checked.

    Attributes
    ----------
    status
        How the solve ended, as the library says.
    point
        The point that it found, shape (columns,); None if it found none.
    bound
        The lower bound on the objective that it claims, with `Model.offset`; None if it claims
        none.
    work
        The number of nodes or iterations.
    dual
        The multipliers of the rows of the matrix, shape (rows,), for continuous models; None if the
        engine does not tell them. The sign is such that the objective rises by dual_i for each unit
        by which the active bound of row i rises: cost + square x - matrix' dual is the slope of the
        Lagrangian, and dual_i >= 0 where the lower bound of row i is active. `Model.lower_bound`
        computes the bound that they prove.
    detail
        What the library says of its end, in its own words.
    """

    status: Status
    point: Floats | None = None
    bound: float | None = None
    work: int = 0
    dual: Floats | None = None
    detail: str = ""


class Engine(Protocol):
    """A callable that solves a `Model`.

    An engine that tells better points on the way has a method ``tells(integral)``: whether it does
    so for programmes of integers (True), or for continuous ones (False). Then the call has another
    option, `improved`: None, or a function to be called with each better point.
    """

    def __call__(
        self,
        model: Model,
        /,
        *,
        time_limit: float | None = None,
        **options: Any,
    ) -> Ended: ...
