"""`Greedy`: one pass of conditional expectations over a `BestResponse`."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..status import Status
from ..types import Integers
from .integer import BestResponse, Response, Seed
from .presolve import compress

if TYPE_CHECKING:
    from .loops import Layout, Small


@dataclass(frozen=True, kw_only=True)
class Greedy:
    """Attributes get the class of largest expected value, the later ones being uniform; those in
    most terms come first.

    The method of conditional expectations (Erdos and Selfridge 1973): never worse than the average
    record. It does not look at constraints: where its record breaks one, it returns none
    (`Status.ITERATION_LIMIT`). `Response.work` is the number of attributes.
    """

    def solve(self, instance: BestResponse, /, *, seed: Seed = 0) -> Response:
        """See `Responder`."""
        from .loops import Layout

        rng = np.random.default_rng(seed)
        small = compress(instance)
        layout = Layout.of(small.instance)
        x = rng.integers(0, layout.sizes, dtype=np.int32)
        greedy_record(layout, small.instance.weight, x)
        record = instance.fill(small.lift(x, rng), rng)
        if not instance.feasible(record):
            return instance.respond(
                None,
                status=Status.ITERATION_LIMIT,
                work=len(x),
                detail="its record breaks a constraint",
            )
        return instance.respond(record, status=Status.UNPROVEN, work=len(x))


def greedy_record(layout: "Layout", weight: Integers, x: "Small") -> None:
    """The greedy record of a layout, in place; what `x` holds breaks ties."""
    from .loops import greedy

    greedy(layout, weight, np.argsort(-np.diff(layout.ptr), kind="stable"), x)
