"""`CpSatEngine` and `Rc2Engine`: CP-SAT and a MaxSAT solver, for models of whole numbers alone."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ...backends import available
from ...response import apart_process
from ...response.apart import Calling, Sent, call
from ...status import Status
from ...types import Floats
from ..models.model import Model
from .ended import Ended

__all__ = ["CpSatEngine", "Rc2Engine"]

_STATUS = {word: Status[name] for word, name in apart_process.CPSAT_WORDS.items()}

_LARGEST = 2.0**40
"""Largest absolute coefficient."""


@dataclass(
    frozen=True,
    kw_only=True,
)
class CpSatEngine:
    """Solves models whose columns and coefficients are whole numbers by CP-SAT of ortools.

    Parameters
    ----------
    seed
        The random seed of the solver.
    apart
        Whether to solve in a separate process. `compare` sets False, so that a solve does not
        include the start of a process.
    """

    statuses: ClassVar[Mapping[str, Status]] = _STATUS
    tells_dual: ClassVar[bool] = False
    tells_bound: ClassVar[bool] = True
    seed: int = 0
    apart: bool = True

    def tells(self, integral: bool) -> bool:
        """Whether it tells better points on the way: where it runs in this process."""
        return integral and not self.apart

    def __call__(
        self,
        model: Model,
        *,
        time_limit: float | None = None,
        improved: Callable[[Floats], None] | None = None,
    ) -> Ended:
        options: dict[str, Any] = {"seed": self.seed, "steps": None, "seconds": time_limit}
        if improved is not None:
            options["improved"] = improved
        patience = None if time_limit is None else 10.0 + 1.5 * time_limit
        return _ended(Calling("cpsat", options, patience, apart=self.apart), "ortools", model)


@dataclass(
    frozen=True,
    kw_only=True,
)
class Rc2Engine:
    """Solves models of 0 and 1 whose rows are clauses by the MaxSAT solver RC2 of python-sat.

    These are covers, and best responses to conjunctions whose constraints are forbidden cells.

    Parameters
    ----------
    apart
        See `CpSatEngine`. RC2 keeps its time limit only in a separate process, which is ended.
    """

    tells_dual: ClassVar[bool] = False
    tells_bound: ClassVar[bool] = True
    apart: bool = True

    def __call__(self, model: Model, *, time_limit: float | None = None) -> Ended:
        return _ended(Calling("maxsat", {}, time_limit, apart=self.apart), "pysat", model)


def _ended(calling: Calling, module: str, model: Model) -> Ended:
    """Solve a model by `response.apart`, which maximises."""
    if not available(module):
        return Ended(status=Status.MISSING, detail=f"{module} is not installed")
    whole = [model.cost, model.matrix.data, model.most]
    if not model.linear or (model.least != 0).any() or not all(map(_is_whole, whole)):
        detail = f"{calling.which} takes models of whole numbers >= 0 with whole coefficients only"
        return Ended(status=Status.UNSUPPORTED, detail=detail)
    sent = Sent(
        matrix=model.matrix,
        lower=np.ceil(model.lower),
        upper=np.floor(model.upper),
        top=model.most,
        cost=-model.cost,
    )
    found = call(calling, sent)
    return Ended(
        status=found.status,
        point=found.point,
        bound=None if found.bound is None else model.offset - found.bound,
        work=found.work,
        detail=found.detail,
    )


def _is_whole(values: Floats) -> bool:
    """Whether all numbers are whole and not too large."""
    return bool((np.abs(values) <= _LARGEST).all() and (values == np.round(values)).all())
