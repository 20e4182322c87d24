"""`ByComponents`, the default for a `BestResponse`: make it small, take it apart, and give each
part what suits it."""

from dataclasses import dataclass, field, replace

import numpy as np
from scipy import sparse

from ..status import Status
from ..types import Integers
from .anneal import Anneal
from .integer import BestResponse, Responder, Response, Seed
from .milp import Milp
from .presolve import presolve, take


@dataclass(frozen=True, kw_only=True)
class ByComponents:
    """Presolve, then components: the tiny are enumerated, the others annealed, and those that are
    sparse proved, too.

    Parts that share no attribute are solved apart, and their records put together. `Response.work`
    is the sum of the parts' works, in their own units. When `otherwise` finds no record that meets
    the constraints, an integer programme looks for any.

    Parameters
    ----------
    tiny
        A component with no more records than this is enumerated.
    otherwise
        For the other components.
    exact
        For those of them with at most `sparse` terms to an attribute and `most` terms in all,
        afterwards; None for never. Its answer is held against that of `otherwise`: it may fail, or
        claim what is not so, and does no harm.
    sparse, most
        See `exact`. The relaxation of sparse programmes is tight, that of dense ones says next to
        nothing.
    """

    tiny: int = 2**12
    otherwise: Responder = field(default_factory=lambda: Anneal(sweeps=300))
    exact: Responder | None = field(default_factory=lambda: Milp(nodes=1))
    sparse: float = 1.75
    most: int = 500

    def solve(self, instance: BestResponse, /, *, seed: Seed = 0) -> Response:
        """See `Responder`."""
        rng = np.random.default_rng(seed)
        reduced = presolve(instance)
        small = reduced.instance
        label = components(small)
        large = np.bincount(label, np.log2(small.sizes)) > np.log2(self.tiny) + 1e-9
        x = rng.integers(0, small.sizes, dtype=np.int32)
        work, met = _tiny(small, label, ~large, x, self.tiny)
        parts = [self._large(small, label == part, x, rng) for part in np.flatnonzero(large)]
        work += sum(part.work for part in parts)
        detail = "; ".join(dict.fromkeys(part.detail for part in parts if part.detail))
        if not met or any(part.status is Status.INFEASIBLE for part in parts):
            return instance.respond(None, status=Status.INFEASIBLE, work=work, detail=detail)
        if any(part.record is None for part in parts):
            return instance.respond(None, status=Status.FAILED, work=work, detail=detail)
        record = instance.fill(reduced.lift(x, rng), rng)
        bound = instance.objective(record) + sum(int(part.gap) for part in parts)
        return instance.respond(
            record, status=Status.UNPROVEN, bound=bound, work=work, detail=detail
        )

    def _large(
        self, small: BestResponse, own: np.ndarray, x: np.ndarray, rng: np.random.Generator
    ) -> Response:
        """Solve one component, and write its record to `x`."""
        part = component(small, own)
        seed = int(rng.integers(2**63))
        response = _checked(part, self.otherwise.solve(part, seed=seed), seed)
        if response.record is None or response.status is Status.FAILED:
            response = _rescued(part, response, seed)
        light = part.terms <= min(self.most, self.sparse * len(part.sizes))
        if (
            response.status not in (Status.OPTIMAL, Status.INFEASIBLE)
            and self.exact is not None
            and light
        ):
            response = _better(
                part, response, _checked(part, self.exact.solve(part, seed=seed), seed)
            )
        if response.record is not None:
            x[own] = response.record
        return response


def components(instance: BestResponse) -> Integers:
    """The number of each attribute's component, shape (d,): terms and constraints join what they
    mention."""
    count = len(instance.sizes)
    constraints = [
        np.full(len(rule.attribute), place) for place, rule in enumerate(instance.constraints)
    ]
    hub = (
        np.concatenate([instance.term, *(instance.terms + place for place in constraints)]) + count
    )
    attribute = np.concatenate(
        [instance.attribute, *(rule.attribute for rule in instance.constraints)]
    )
    nodes = count + instance.terms + len(instance.constraints)
    graph = sparse.coo_array((np.ones(len(hub)), (attribute, hub)), shape=(nodes, nodes))
    label = sparse.csgraph.connected_components(graph, directed=False)[1][:count]
    return np.unique(label, return_inverse=True)[1]


def component(instance: BestResponse, own: np.ndarray) -> BestResponse:
    """The instance of some attributes that share no term or constraint with the others; its
    constant is zero."""
    place = np.cumsum(own) - 1
    terms = np.zeros(instance.terms, np.bool_)
    terms[instance.term[own[instance.attribute]]] = True
    constraints = tuple(
        replace(constraint, attribute=place[constraint.attribute])
        for constraint in instance.constraints
        if len(constraint.attribute) and own[constraint.attribute[0]]
    )
    part = take(instance, terms, constant=0, constraints=())
    return replace(
        part, sizes=instance.sizes[own], attribute=place[part.attribute], constraints=constraints
    )


def _tiny(
    small: BestResponse, label: Integers, tiny: np.ndarray, x: np.ndarray, limit: int
) -> tuple[int, bool]:
    """Enumerate the tiny components together, in `x`; how many records were tried, and whether each
    had one."""
    from .loops import Layout, enumerate_parts

    met = all(
        constraint.met(np.empty(0))
        for constraint in small.constraints
        if not len(constraint.attribute)
    )
    members = np.argsort(label, kind="stable")
    members = members[tiny[label[members]]]
    if not len(members):
        return 0, met
    starts = np.flatnonzero(np.diff(label[members], prepend=-1))
    tried, found = enumerate_parts(
        Layout.of(small), small.weight, np.append(starts, len(members)), members, x, limit
    )
    return tried, met and found


def _checked(part: BestResponse, response: Response, seed: int) -> Response:
    """A back-end's response with its value recomputed, and its claims held against a short run of
    annealing."""
    claims = response.status is Status.INFEASIBLE or response.bound < part.ceiling
    return part.respond(
        response.record,
        status=response.status,
        bound=response.bound,
        work=response.work,
        known=Anneal(sweeps=10).solve(part, seed=seed).record if claims else None,
        detail=response.detail,
    )


def _better(part: BestResponse, one: Response, other: Response) -> Response:
    """The better record of two responses, with the best bound that nothing refutes; `one` has a
    record."""
    held = part.respond(
        other.record, status=other.status, bound=other.bound, known=one.record, detail=other.detail
    )
    best = max(
        (one, held), key=lambda response: -np.inf if response.value is None else response.value
    )
    bound = min(one.bound, held.bound)
    status = Status.UNPROVEN if best.record is not None else held.status
    return part.respond(
        best.record, status=status, bound=bound, work=one.work + other.work, detail=held.detail
    )


def _rescued(part: BestResponse, failed: Response, seed: int) -> Response:
    """An answer after a back-end failed: annealing, or if that meets not all constraints, any
    record that does."""
    response = Anneal().solve(part, seed=seed)
    if response.record is None:
        none = replace(part, offsets=part.offsets[:1], attribute=part.attribute[:0], value=part.value[:0],
                       negated=part.negated[:0], weight=part.weight[:0], parity=part.parity[:0])  # fmt: skip
        any_record = Milp().solve(none, seed=seed)
        response = part.respond(any_record.record, status=any_record.status, work=any_record.work)
    response = replace(response, work=response.work + failed.work, detail=failed.detail)
    return (
        response
        if failed.record is None
        else _better(part, response, replace(failed, bound=part.ceiling))
    )
