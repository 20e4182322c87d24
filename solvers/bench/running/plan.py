"""Which solver runs on which instance, and how both are told apart."""

import copy
import dataclasses
import difflib
import hashlib
import inspect
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...response.apart import CpSat, MaxSat
from ..engines.apart import CpSatEngine, Rc2Engine
from ..families.every import FAMILIES
from ..families.family import Family
from ..instance import Instance
from ..libraries.by_model import ByModel
from ..libraries.roster import ROSTER, Listed, families_of
from ..libraries.tolerance import tolerance_of
from .compiling import has_loops
from .fingerprint import fingerprint
from .solving import library_of, solver_inside
from .telling import tells

__all__ = ["Entry", "listed", "named", "planned"]

_STOP_SHARE = 0.95
"""A solver that keeps a time limit stops at this share of the limit. The rest is for what comes
before and after its own clock: an answer that comes later than the limit does not count."""


@dataclass(
    frozen=True,
    kw_only=True,
)
class Entry:
    """A solver with its name, its description, and the bytes that are sent to its process.

    `library` is the package that solves, with its version; `inside` names the solver inside it, if
    there is one; `takes_model` tells that the solver takes the programme as arrays; `knows_limit`,
    that it has a time limit of its own; `has_loops`, that loops of margin's are compiled when it is
    first called. `stated_tolerance` is that of `tolerance_of`. `tells` has the names of the
    families of which it tells better answers on the way.
    """

    name: str
    options: str
    library: str
    inside: str
    pickled: bytes
    takes_model: bool
    knows_limit: bool
    has_loops: bool
    stated_tolerance: float | None
    tells: frozenset[str]


def named(solvers: Mapping[str, Any] | Sequence[Any]) -> dict[str, Any]:
    """The solvers by name."""
    if isinstance(solvers, Mapping):
        return dict(solvers)
    if not isinstance(solvers, Sequence) or isinstance(solvers, str):
        raise TypeError(
            "solvers must be a list of solvers or a dictionary from names to solvers, but it is "
            f"of type {type(solvers).__name__}; put a solver into a list, as in [solver]"
        )
    named = {str(solver): solver for solver in solvers}
    if len(named) < len(solvers):
        raise ValueError(
            "two solvers must not have one name, but two of the list have equal texts; pass a "
            "dictionary from names to solvers"
        )
    return named


def listed(instances: Iterable[Instance]) -> list[Instance]:
    """The instances, each once; TypeError if they are none, such as names.

    A ValueError if two different ones have the same name.
    """
    expected = "instances must be a list of Instance, such as bench.instances(size='small')"
    if isinstance(instances, Instance | str) or not isinstance(instances, Iterable):
        raise TypeError(
            f"{expected}, but it is of type {type(instances).__name__}; put one instance into a "
            "list, as in [instance]"
        )
    given = list(instances)
    for one in given:
        if not isinstance(one, Instance):
            raise TypeError(
                f"{expected}, but an entry is of type {type(one).__name__}; to choose by name, "
                "write [one for one in bench.instances() if one.name in names], and make an "
                "instance of your own problem with bench.Instance.of"
            )
    return _distinct(given)


def _distinct(instances: list[Instance]) -> list[Instance]:
    """The instances, each once; ValueError if two different ones have the same name."""
    found: dict[str, Instance] = {}
    for instance in instances:
        first = found.setdefault(instance.name, instance)
        if first is not instance and _identity(first) != _identity(instance):
            raise ValueError(
                "two different instances must not have one name, but two are named "
                f"{instance.name!r}; give one of them another name, as by "
                "dataclasses.replace(instance, name=...)"
            )
    return list(found.values())


def _identity(instance: Instance) -> tuple[Any, ...]:
    """What two instances have in common if they are the same one."""
    known = instance.best_known, instance.bound
    return instance.family.name, instance.version, *known, fingerprint(instance)


def planned(
    instances: list[Instance],
    solvers: dict[str, Any],
    seconds: float,
) -> list[tuple[Instance, Entry]]:
    """Every instance with every solver of its family, one instance after another."""
    entries = {}
    own_limit = round(_STOP_SHARE * seconds, 9)
    for name, solver in solvers.items():
        _check_solver(name, solver)
        limited = _here(_limited(solver, own_limit))
        entries[name] = Entry(
            name=name,
            options=_described(limited),
            library=library_of(limited),
            inside=solver_inside(limited),
            pickled=_pickled(name, limited),
            takes_model=callable(getattr(limited, "solve_instance", None)),
            knows_limit=getattr(limited, "time_limit", None) is not None,
            has_loops=has_loops(limited),
            stated_tolerance=tolerance_of(limited),
            tells=frozenset(family.name for family in FAMILIES if tells(limited, family)),
        )
    plan = []
    for instance in instances:
        fitting = [name for name, solver in solvers.items() if _fits(solver, instance)]
        plan += [(instance, entries[name]) for name in fitting]
        if not fitting:
            raise ValueError(
                f"at least one solver must take instances of the family {instance.family.name}, "
                f"by a method {instance.family.method}, but none does (needed by "
                f"{instance.name!r}); {_advice(solvers)}"
            )
    return plan


def _advice(solvers: dict[str, Any]) -> str:
    """What to do if no solver takes an instance."""
    for name, solver in solvers.items():
        if inspect.isroutine(solver):
            return f"{name} is a function: make it this method of a class, and pass an object of it"
    return "add a solver or leave the instance out"


def _check_solver(name: str, solver: Any) -> None:
    """Refuse what is no solver, and a solver that names families which it cannot solve."""
    if isinstance(solver, str):
        example = solver if solver in ROSTER else "highs"
        raise TypeError(
            f"a solver must be an object, but {solver!r} is text; pass an object, such as "
            f"bench.ROSTER[{example!r}].make()"
        )
    if isinstance(solver, Listed):
        raise TypeError(
            f"a solver must be an object, but {name} is an entry of bench.ROSTER; call its make()"
        )
    if isinstance(solver, type):
        raise TypeError(
            f"a solver must be an object, but {name} is the class {solver.__name__}; call it: "
            f"{solver.__name__}()"
        )
    known = {family.name: family for family in FAMILIES}
    for stated in families_of(solver) or ():
        if stated not in known:
            near = difflib.get_close_matches(str(stated), known, n=1)
            hint = f"; did you mean '{near[0]}'?" if near else ""
            raise ValueError(
                f"the families of a solver must be among {', '.join(known)}, but {name} names "
                f"'{stated}'{hint}"
            )
        if not _has_method(solver, known[stated]):
            raise ValueError(
                f"a solver of the family {stated} must have the method {known[stated].method}, but "
                f"{name} has none; add it, or correct the solver's families"
            )


def _has_method(solver: Any, family: Family) -> bool:
    """Whether a solver has the method of a family, or the one for every family."""
    names = (family.method, "solve_instance")
    return any(callable(getattr(solver, name, None)) for name in names)


def _fits(solver: Any, instance: Instance) -> bool:
    """Whether a solver takes an instance."""
    families = families_of(solver)
    if families is not None:
        return instance.family.name in families
    return _has_method(solver, instance.family)


def _limited(solver: Any, seconds: float) -> Any:
    """The solver with the time limit, if it has an attribute for it that is None."""
    if getattr(solver, "time_limit", seconds) is not None:
        return solver
    is_record = dataclasses.is_dataclass(solver) and not isinstance(solver, type)
    if is_record and "time_limit" in _fields(solver):
        return dataclasses.replace(solver, time_limit=seconds)
    limited = copy.copy(solver)
    try:
        object.__setattr__(limited, "time_limit", seconds)
    except AttributeError:
        raise ValueError(
            f"the time_limit of a solver that is None is set to {_STOP_SHARE:.0%} of the limit, "
            f"but that of {type(solver).__name__} cannot be set; let it have another name or value"
        ) from None
    return limited


def _here(solver: Any) -> Any:
    """The solver, without a further process where it would start one for each solve.

    The comparison gives it a process of its own. Else each of its times would include the start of
    a process and the import of a library, and no other solver's would.
    """
    if isinstance(solver, ByModel):
        return dataclasses.replace(solver, engine=_here(solver.engine))
    if isinstance(solver, CpSat | MaxSat | CpSatEngine | Rc2Engine):
        return dataclasses.replace(solver, apart=False)
    return solver


def _fields(solver: Any) -> list[str]:
    """The names of the fields of a dataclass."""
    return [field.name for field in dataclasses.fields(solver)]


def _described(solver: Any) -> str:
    """The class and the options of a solver, as JSON; the code of what is not ours, too."""
    kind = type(solver)
    values = _options(solver)
    # The engine of `ByModel` is a value, and may be anybody's.
    kinds = dict.fromkeys([kind, *map(type, values.values())])
    codes = [_code_of(one) for one in kinds if not one.__module__.startswith("margin.")]
    code = " ".join(dict.fromkeys(filter(None, codes)))
    options = {name: _shown(value) for name, value in values.items()}
    if code:
        options = {"code": code, **options}
    return json.dumps({"class": f"{kind.__module__}.{kind.__qualname__}", **options})


def _options(solver: Any) -> dict[str, Any]:
    """The fields of a dataclass, or the attributes of another object."""
    if dataclasses.is_dataclass(solver):
        return {name: getattr(solver, name) for name in _fields(solver)}
    return dict(getattr(solver, "__dict__", {}))


def _shown(value: Any) -> str:
    """The text of an option. The text of a bare object is its place in memory, which differs from
    run to run: instead of it, its class and its options."""
    kind: Any = type(value)
    if kind.__repr__ is not object.__repr__:
        return repr(value)
    options = ", ".join(f"{name}={one!r}" for name, one in _options(value).items())
    return f"{kind.__qualname__}({options})"


def _code_of(kind: type) -> str:
    """Sixteen characters that change with the file of a class; empty if there is no such file."""
    try:
        lines, _ = inspect.findsource(kind)
    except (OSError, TypeError):
        return ""
    return hashlib.sha256("".join(lines).encode()).hexdigest()[:16]


def _pickled(name: str, solver: Any) -> bytes:
    """The solver as bytes; its class too, if another process cannot import it."""
    import cloudpickle

    try:
        return bytes(cloudpickle.dumps(solver))
    except Exception as error:  # pickling calls anybody's code
        raise ValueError(
            f"a solver must be picklable, but {name} is not ({type(error).__name__}: {error}); "
            "let it open files, connections and libraries when it solves"
        ) from error
