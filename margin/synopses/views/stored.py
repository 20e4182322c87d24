"""The content of a `ViewSynopsis` as fields and arrays of a file, and back."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._types import Floats
from ...domain.domain import Domain, View
from ...solvers import (
    IPF,
    LBFGS,
    STRUCTURE_RULE,
    ClarabelDirect,
    ComponentErrors,
    Cone,
    Ladder,
    LeastSquares,
    MinimaxLP,
    MirrorDescent,
    Newton,
    Solver,
    Tables,
    TrustExact,
    linked,
)
from ..bases.forms import StatedBase, apart, base_room, prefixed, read_base
from ..noisy_tables import packed_kurtosis, read_kurtosis
from ..synopsis import Packed, describe

__all__ = ["Content", "pack", "replaced_solver", "room", "scales", "unpack"]


@dataclass(
    frozen=True,
    kw_only=True,
    eq=False,
)
class Content:
    """What the file of a `ViewSynopsis` holds; see its attributes."""

    names: tuple[View, ...]
    held: Tables
    reconstruction: Solver
    noise: ComponentErrors | None
    base: StatedBase | None
    trust: tuple[Floats, ...]
    total: tuple[float, float] | None
    kurtosis: float


def pack(
    content: Content,
    learnt: Mapping[tuple[int, int], float],
) -> Packed:
    """The content of a file: the tables in one array, with axes in the order of the domain.

    `learnt` are scales of structure; see `ViewSynopsis.scales`.
    """
    held = content.held
    fields = {
        "views": content.names,
        "variances": held.variances,
        "reconstruction": _described(content.reconstruction),
        **packed_kurtosis(content.kurtosis),
    }
    if content.kurtosis and held.precisions is not None:
        fields["measured"] = [[list(axes), variance] for axes, variance in held.measurements]
    if learnt:
        listed = [[*key, scale] for key, scale in learnt.items()]
        fields["scales"] = {"rule": STRUCTURE_RULE, "learnt": listed}
    arrays = {"tables": np.concatenate([value.ravel() for value in held.values])}
    if held.precisions is not None:
        # A file holds finite numbers: 0 stands for the infinite precision of what is known.
        precisions = np.concatenate(held.precisions)
        arrays["precisions"] = np.where(np.isinf(precisions), 0.0, precisions)
    if content.noise is not None:
        fields["components"], own = content.noise.pack()
        arrays |= own
    if content.base is not None:
        packed = content.base.pack()
        fields["base"] = packed.fields
        fields["total"] = content.total
        arrays["trust"] = np.concatenate([scales.ravel() for scales in content.trust])
        arrays |= prefixed(packed.arrays)
        # The tables before negative counts were removed show how far the base is right.
        if held.unbiased is not None:
            arrays["unbiased"] = np.concatenate([value.ravel() for value in held.unbiased])
    return Packed(fields, arrays)


def room(
    fields: Mapping[str, Any],
    domain: Domain,
    room_of_release: Callable[..., Mapping[str, int]],
) -> Mapping[str, int]:
    """The largest number of entries that `unpack` accepts in each array of a file, by name.

    `room_of_release` tells the same of an earlier release, which may be the base.
    """
    views = [_view(domain, view) for view in fields["views"]]
    entries = {
        "tables": sum(domain.cells(view) if view else 1 for view in views),
        "precisions": sum(1 << len(view) for view in views),
        **ComponentErrors.room(domain.sizes, fields.get("components", ())),
    }
    if "base" in fields:
        entries["trust"] = entries["unbiased"] = entries["tables"]
        entries |= base_room(fields["base"], domain, room_of_release)
    return entries


def scales(fields: Mapping[str, Any]) -> dict[tuple[int, int], float]:
    """The scales that a file holds; none if it is older, or learnt them by another rule.

    ValueError if they are damaged.
    """
    stated = fields.get("scales")
    if stated is None or stated["rule"] != STRUCTURE_RULE:
        return {}
    found = {}
    for depth, count, scale in stated["learnt"]:
        if not (type(depth) is type(count) is int and 0 < float(scale) < math.inf):
            raise ValueError(
                "each scale of a file must be two whole numbers and a positive one, but one is "
                "not; get a fresh copy of the file"
            )
        found[depth, count] = float(scale)
    return found


def unpack(
    packed: Packed,
    domain: Domain,
    unpack_release: Callable[..., Any],
) -> Content:
    """The content of a file; ValueError if it is damaged.

    `unpack_release` makes an earlier release, which may be the base. A solver that is not part of
    this library is replaced by the default one; `replaced_solver` names it.
    """
    fields = packed.fields
    names = tuple(_view(domain, view) for view in fields["views"])
    axes = [tuple(sorted(domain.position[name] for name in view)) for view in names]
    shapes = [tuple(domain.sizes[axis] for axis in view) for view in axes]
    arrays, of_base = apart(packed.arrays)
    values = _tables(arrays.pop("tables"), shapes)

    # The precisions of components, which known tables make unequal.
    flat = arrays.pop("precisions", None)
    precisions = None
    if flat is not None:
        parts = _split(flat, [1 << len(view) for view in axes])
        precisions = tuple(np.where(part == 0, math.inf, part) for part in parts)

    # The base, and what was learnt about it.
    base = None
    trust: tuple[Floats, ...] = ()
    total = None
    unbiased = None
    if "base" in fields:
        stated = fields.get("total")
        total = None if stated is None else _checked_total(stated)
        base = read_base(Packed(fields["base"], of_base), domain, unpack_release)
        trust = _tables(arrays.pop("trust"), shapes)
        flat = arrays.pop("unbiased", None)
        unbiased = None if flat is None else _tables(flat, shapes)

    # The noise, if attributes were measured in bases of their own.
    noise = None
    if "components" in fields:
        noise = ComponentErrors.unpack(domain.sizes, fields["components"], arrays)
    elif arrays:
        raise ValueError(
            "a file of views must hold only tables and precisions, but it also holds "
            f"{', '.join(sorted(arrays))}; get a fresh copy of the file"
        )
    held = Tables(
        sizes=domain.sizes,
        views=tuple(axes),
        values=values,
        variances=tuple(float(variance) for variance in fields["variances"]),
        precisions=precisions,
        unbiased=unbiased,
        zeros=domain.zeros,
        known=domain.constraints,
        measured=_measured(fields["measured"], domain) if "measured" in fields else None,
    )
    return Content(
        names=names,
        # The version that wrote the file may not have known what rules make views share.
        held=linked(held),
        reconstruction=_solver(fields["reconstruction"]),
        noise=noise,
        base=base,
        trust=trust,
        total=total,
        kurtosis=read_kurtosis(fields),
    )


def _measured(
    stated: Sequence[tuple[Sequence[int], float]],
    domain: Domain,
) -> tuple[tuple[tuple[int, ...], float], ...]:
    """The measured tables of a file: their axes and variances; ValueError if they are damaged."""
    found = []
    for axes, variance in stated:
        is_view = list(axes) == sorted(set(axes) & set(range(len(domain))))
        if not (is_view and 0 < float(variance) < math.inf):
            raise ValueError(
                "each measured table of a file must have ascending axes of the domain and a "
                "variance > 0, but one has not; get a fresh copy of the file"
            )
        found.append((tuple(axes), float(variance)))
    return tuple(found)


def _view(domain: Domain, names: Sequence[str]) -> View:
    """A view of a file, which may hold the total alone: a view of no attributes."""
    return domain.view(names) if names else ()


def _tables(flat: NDArray[np.generic], shapes: Sequence[tuple[int, ...]]) -> tuple[Floats, ...]:
    """The tables of some shapes that stand one after another in an array."""
    parts = _split(flat, [math.prod(shape) for shape in shapes])
    return tuple(part.reshape(shape) for part, shape in zip(parts, shapes, strict=True))


def _split(
    flat: NDArray[np.generic],
    lengths: Sequence[int],
) -> list[Floats]:
    """Split an array from a file into parts of the given lengths; ValueError if it does not fit."""
    if flat.dtype != np.float64 or flat.shape != (sum(lengths),):
        raise ValueError(
            f"the array must be floats of shape {(sum(lengths),)}, but it is {flat.dtype} of shape "
            f"{flat.shape}; get a fresh copy of the file"
        )
    return np.split(flat.astype(np.float64), np.cumsum(lengths)[:-1])


def _checked_total(stated: Sequence[float]) -> tuple[float, float]:
    """The total of a file and its variance; ValueError if they are no such numbers."""
    total, variance = map(float, stated)
    if not math.isfinite(total) or not 0 < variance < math.inf:
        raise ValueError(
            "the total of a release with a base must be finite, with a variance > 0, but it is "
            f"{total} with {variance}; get a fresh copy of the file"
        )
    return total, variance


_SOLVERS: Mapping[str, Callable[..., Solver]] = {
    kind.__name__: kind
    for kind in (
        ClarabelDirect,
        Cone,
        IPF,
        LBFGS,
        Ladder,
        LeastSquares,
        MinimaxLP,
        MirrorDescent,
        Newton,
        TrustExact,
    )
}
"""The solvers that a file can hold, by name; a file never names code of another place."""

_OWN = "own"
"""The field that marks a solver of the user's, which may have the name of one of `_SOLVERS`."""


def _described(solver: Solver) -> dict[str, Any]:
    """A solver in a file: its name and parameters; of a user's own solver, the name alone."""
    name = type(solver).__name__
    if _SOLVERS.get(name) is not type(solver):
        return {"name": name, _OWN: True}
    described: dict[str, Any] = describe(solver)
    return described


def replaced_solver(fields: Mapping[str, Any]) -> str | None:
    """The name of the solver of a file that `unpack` replaces by the default; None if it is kept.

    If the base is an earlier release, its solver counts, too.
    """
    described = fields["reconstruction"]
    if _OWN in described or described["name"] not in _SOLVERS:
        return str(described["name"])
    # An earlier release as the base has a solver of its own.
    earlier = fields.get("base", {}).get("synopsis")
    return None if earlier is None else replaced_solver(earlier)


def _solver(described: Mapping[str, Any]) -> Solver:
    """Make the solver that a file describes, or the default if it is not part of this library."""
    parameters = dict(described)
    kind = _SOLVERS.get(parameters.pop("name"))
    if kind is None or _OWN in parameters:
        return Newton()
    # A file holds an infinite number as a text; see `describe`.
    given = {name: math.inf if value == "inf" else value for name, value in parameters.items()}
    return kind(**given)
