"""The default back-end for a `BestResponse`: it solves each connected component by itself."""

from dataclasses import dataclass, field, replace

import numpy as np
import scipy
from numpy.typing import NDArray

from ..fitted import (
    ANNEALING_SWEEPS,
    CHECK_SWEEPS,
    ENUMERATED_RECORDS,
    PROVED_GAP,
    PROVED_TERMS,
)
from ..status import Status
from ..types import Flags, Integers
from .anneal import Anneal
from .best_response import BestResponse, Responder, Response, Seed
from .milp import Milp
from .presolve import presolve, take
from .relaxation import relaxed


@dataclass(
    frozen=True,
    kw_only=True,
)
class ByComponents:
    """Makes the instance smaller (`presolve`), and solves its connected components separately.

    Two components have no attribute in common, so their best records make up the best record. A
    tiny component is solved by trying all records. Other components are annealed; where a proof is
    cheap, the record is also proved to be optimal. If annealing finds no record that meets the
    constraints, an integer programme searches for one. `Response.work` is the sum over the
    components, each in the unit of its back-end.

    The linear relaxation of a component bounds the value of its records, and its solution, rounded,
    is another record. If the better record reaches the bound, it is proved to be best. If it nearly
    does, `exact` is asked. The relaxation tells dense components apart: there the bound is far
    above every record, and a proof is out of reach.

    Parameters
    ----------
    tiny
        Components with at most this number of records are enumerated.
    otherwise
        The back-end for the other components.
    exact
        A second back-end for other components that the relaxation does not settle but whose `gap`
        is small. Its answer is compared with the answer of `otherwise`: a failure or a wrong claim
        does no harm. None for no proofs by relaxation or second back-end.
    gap
        The largest difference of the relaxation's bound and the value of the better record for
        which `exact` is asked, in units of the mean absolute weight of the terms.
    most
        The largest number of terms of a component for which the relaxation is solved.

    Examples
    --------
    >>> instance = BestResponse.conjunctions([2, 2, 5], [[0, 1], [1, 2]], [[1, 0], [1, 4]], [2, -1])
    >>> response = ByComponents().solve(instance)
    >>> response.value, response.status.name
    (2, 'OPTIMAL')
    """

    tiny: int = ENUMERATED_RECORDS
    otherwise: Responder = field(default_factory=lambda: Anneal(sweeps=ANNEALING_SWEEPS))
    exact: Responder | None = field(default_factory=lambda: Milp(nodes=1))
    gap: float = PROVED_GAP
    most: int = PROVED_TERMS

    def solve(
        self,
        instance: BestResponse,
        /,
        *,
        seed: Seed = 0,
    ) -> Response:
        """Find a good record for the instance; see `Responder.solve`."""
        rng = np.random.default_rng(seed)
        reduced = presolve(instance)
        small = reduced.instance
        label = components(small)
        bits = np.bincount(label, np.log2(small.sizes))
        large = bits > np.log2(self.tiny) + 1e-9
        x = rng.integers(0, small.sizes, dtype=np.int32)
        work, met = _tiny(small, label, ~large, x, self.tiny)
        parts = [self._large(small, label == part, x, rng) for part in np.flatnonzero(large)]
        work += sum(part.work for part in parts)
        details = dict.fromkeys(part.detail for part in parts if part.detail)
        detail = "; ".join(details)
        if not met or any(part.status is Status.INFEASIBLE for part in parts):
            return instance.respond(
                None,
                status=Status.INFEASIBLE,
                work=work,
                detail=detail,
            )
        if any(part.record is None for part in parts):
            return instance.respond(
                None,
                status=Status.FAILED,
                work=work,
                detail=detail,
            )
        record = instance.fill(reduced.lift(x, rng), rng)
        bound = instance.objective(record) + sum(int(part.gap) for part in parts)
        return instance.respond(
            record,
            status=Status.UNPROVEN,
            bound=bound,
            work=work,
            detail=detail,
        )

    def _large(
        self,
        small: BestResponse,
        own: Flags,
        x: NDArray[np.int32],
        rng: np.random.Generator,
    ) -> Response:
        """Solve one component, and write its record to `x`."""
        part = component(small, own)
        seed = int(rng.integers(2**63))
        response = _checked(part, self.otherwise.solve(part, seed=seed), seed)
        if response.record is None or response.status is Status.FAILED:
            response = _rescued(part, response, seed)
        settled = response.status in (Status.OPTIMAL, Status.INFEASIBLE)
        if self.exact is not None and part.terms <= self.most and not settled:
            response = self._proved(part, response, self.exact, seed)
        if response.record is not None:
            x[own] = response.record
        return response

    def _proved(
        self,
        part: BestResponse,
        response: Response,
        exact: Responder,
        seed: int,
    ) -> Response:
        """A response improved by the relaxation, and by `exact` if the gap is small."""
        bounded = _better(part, response, relaxed(part, seed=seed))
        mean = float(np.abs(part.weight).mean()) if part.terms else 0.0
        if not 0 < bounded.gap <= self.gap * mean:
            return bounded
        other = _checked(part, exact.solve(part, seed=seed), seed)
        return _better(part, bounded, other)


def components(instance: BestResponse) -> Integers:
    """Number the connected components of an instance: the component of each attribute, shape (d,).

    Two attributes are in one component if a term or a constraint mentions both, or if a chain of
    such pairs joins them.
    """
    count = len(instance.sizes)
    rules = instance.constraints
    # A graph of the attributes, then the terms, then the constraints.
    hubs = [instance.term]
    attributes = [instance.attribute]
    for place, rule in enumerate(rules):
        hubs.append(np.full(len(rule.attribute), instance.terms + place))
        attributes.append(rule.attribute)
    hub = np.concatenate(hubs) + count
    attribute = np.concatenate(attributes)
    nodes = count + instance.terms + len(rules)
    graph = scipy.sparse.coo_array((np.ones(len(hub)), (attribute, hub)), shape=(nodes, nodes))
    label = scipy.sparse.csgraph.connected_components(graph, directed=False)[1][:count]
    return np.unique(label, return_inverse=True)[1]


def component(instance: BestResponse, own: Flags) -> BestResponse:
    """Cut out the instance of one component, with constant zero.

    `own` marks the attributes of the component, shape (d,). No term or constraint mentions both
    these and other attributes.
    """
    place = np.cumsum(own) - 1
    terms = np.zeros(instance.terms, np.bool_)
    terms[instance.term[own[instance.attribute]]] = True
    constraints = []
    for rule in instance.constraints:
        if len(rule.attribute) and own[rule.attribute[0]]:
            constraints.append(replace(rule, attribute=place[rule.attribute]))
    part = take(
        instance,
        terms,
        constant=0,
        constraints=(),
    )
    return replace(
        part,
        sizes=instance.sizes[own],
        attribute=place[part.attribute],
        constraints=tuple(constraints),
    )


def _tiny(
    small: BestResponse,
    label: Integers,
    tiny: Flags,
    x: NDArray[np.int32],
    limit: int,
) -> tuple[int, bool]:
    """Solve the tiny components by enumeration, and write their best records to `x`.

    Parameters
    ----------
    small
        The instance.
    label
        The component of each attribute, shape (d,).
    tiny
        Which components to solve, shape (components,).
    x
        A record, shape (d,), changed in place.
    limit
        The largest number of records of a component.

    Returns
    -------
    tried, met
        The number of records that were tried, and whether each component has a feasible record.
    """
    from .loops import Layout, enumerate_parts

    nothing = np.empty(0)
    empty = [rule for rule in small.constraints if not len(rule.attribute)]
    met = all(rule.met(nothing) for rule in empty)
    members = np.argsort(label, kind="stable")
    members = members[tiny[label[members]]]
    if not len(members):
        return 0, met
    starts = np.flatnonzero(np.diff(label[members], prepend=-1))
    bounds = np.append(starts, len(members))
    tried, found = enumerate_parts(Layout.of(small), small.weight, bounds, members, x, limit)
    return tried, met and found


def _checked(
    part: BestResponse,
    response: Response,
    seed: int,
) -> Response:
    """Check the claims of a back-end with the record that a short run of annealing finds."""
    known = None
    if response.status is Status.INFEASIBLE or response.bound < part.ceiling:
        known = Anneal(sweeps=CHECK_SWEEPS).solve(part, seed=seed).record
    return part.respond(
        response.record,
        status=response.status,
        bound=response.bound,
        work=response.work,
        known=known,
        detail=response.detail,
    )


def _better(
    part: BestResponse,
    one: Response,
    other: Response,
) -> Response:
    """Combine two responses: the record of the larger value, and the smaller bound.

    A bound is ignored if it is smaller than the value of a record. `one` has a record.
    """
    held = part.respond(
        other.record,
        status=other.status,
        bound=other.bound,
        known=one.record,
        detail=other.detail,
    )
    best = one
    if held.value is not None and (one.value is None or held.value > one.value):
        best = held
    status = Status.UNPROVEN if best.record is not None else held.status
    return part.respond(
        best.record,
        status=status,
        bound=min(one.bound, held.bound),
        work=one.work + other.work,
        detail="; ".join(dict.fromkeys(filter(None, (one.detail, held.detail)))),
    )


def _rescued(
    part: BestResponse,
    failed: Response,
    seed: int,
) -> Response:
    """Solve a component again after its back-end failed.

    Annealing is tried first. If it finds no feasible record, an integer programme without terms
    searches for any.
    """
    response = Anneal().solve(part, seed=seed)
    if response.record is None:
        # Without terms every feasible record is optimal.
        none = replace(
            part,
            offsets=part.offsets[:1],
            attribute=part.attribute[:0],
            value=part.value[:0],
            negated=part.negated[:0],
            weight=part.weight[:0],
            parity=part.parity[:0],
        )
        any_record = Milp().solve(none, seed=seed)
        response = part.respond(
            any_record.record,
            status=any_record.status,
            work=any_record.work,
        )
    response = replace(
        response,
        work=response.work + failed.work,
        detail=failed.detail,
    )
    if failed.record is None:
        return response
    return _better(part, response, replace(failed, bound=part.ceiling))
