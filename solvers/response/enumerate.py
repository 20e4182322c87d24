"""Exact solution of a small `BestResponse`: try all records."""

from dataclasses import dataclass

import numpy as np

from ..status import Status
from .best_response import BestResponse, Response, Seed
from .presolve import compress


@dataclass(
    frozen=True,
    kw_only=True,
)
class Enumerate:
    """Tries every record and keeps the best; the result is always optimal.

    Only attributes that a term or a constraint mentions are varied, and all values that none of
    them mentions count as one value. Each record differs from the one before in one attribute (a
    Gray code), so its value is found quickly. `Response.work` is the number of records. If there
    are more than `limit`, nothing is tried: `Status.ITERATION_LIMIT`, without a record.

    Parameters
    ----------
    limit
        The largest number of records.

    Examples
    --------
    >>> instance = BestResponse.conjunctions([2, 2], [[0, 1]], [[1, 1]], [3])
    >>> Enumerate().solve(instance).value
    3
    """

    limit: int = 2**22

    def solve(
        self,
        instance: BestResponse,
        /,
        *,
        seed: Seed = 0,
    ) -> Response:
        """Find a good record for the instance; see `Responder.solve`."""
        from .loops import Layout, enumerate_parts

        rng = np.random.default_rng(seed)
        small = compress(instance)
        sizes = small.instance.sizes
        bits = np.log2(sizes).sum()
        if bits > np.log2(self.limit) + 1e-9:
            detail = f"there are 2^{bits:.0f} records to try; the limit is {self.limit}"
            return instance.respond(
                None,
                status=Status.ITERATION_LIMIT,
                detail=detail,
            )
        x = rng.integers(0, sizes, dtype=np.int32)
        members = np.arange(len(x))
        starts = np.array([0, len(x)])
        layout = Layout.of(small.instance)
        tried, found = enumerate_parts(layout, small.instance.weight, starts, members, x, 2**62)
        if not found:
            return instance.respond(
                None,
                status=Status.INFEASIBLE,
                work=tried,
            )
        record = instance.fill(small.lift(x, rng), rng)
        return instance.respond(
            record,
            status=Status.OPTIMAL,
            work=tried,
        )
