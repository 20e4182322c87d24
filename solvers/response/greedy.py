"""A fast heuristic for a `BestResponse`: the method of conditional expectations."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..status import Status
from ..types import Integers
from .best_response import BestResponse, Response, Seed
from .presolve import compress

if TYPE_CHECKING:
    from .loops import Layout, Small


@dataclass(
    frozen=True,
    kw_only=True,
)
class Greedy:
    """Fixes one attribute after the other, each at the value with the largest expected objective.

    In this expectation, the attributes that are not fixed yet are uniform. Attributes in many terms
    come first. This is the method of conditional expectations (Erdos and Selfridge 1973): the
    record is at least as good as the average record. Constraints are ignored; if the record breaks
    one, no record is returned (`Status.ITERATION_LIMIT`). `Response.work` is the number of
    attributes.

    Examples
    --------
    >>> instance = BestResponse.conjunctions([2, 2], [[0, 1]], [[1, 1]], [3])
    >>> Greedy().solve(instance).value
    3
    """

    def solve(
        self,
        instance: BestResponse,
        /,
        *,
        seed: Seed = 0,
    ) -> Response:
        """Find a good record for the instance; see `Responder.solve`."""
        from .loops import Layout

        rng = np.random.default_rng(seed)
        small = compress(instance)
        layout = Layout.of(small.instance)
        x = rng.integers(0, layout.sizes, dtype=np.int32)
        greedy_record(layout, small.instance.weight, x)
        record = instance.fill(small.lift(x, rng), rng)
        if instance.feasible(record):
            return instance.respond(
                record,
                status=Status.UNPROVEN,
                work=len(x),
            )
        detail = "its record breaks a constraint"
        return instance.respond(
            None,
            status=Status.ITERATION_LIMIT,
            work=len(x),
            detail=detail,
        )


def greedy_record(
    layout: "Layout",
    weight: Integers,
    x: "Small",
) -> None:
    """Replace `x`, shape (attributes,), by the record of `Greedy`; in ties a class in `x` stays."""
    from .loops import greedy

    terms = np.diff(layout.ptr)
    greedy(layout, weight, np.argsort(-terms, kind="stable"), x)
