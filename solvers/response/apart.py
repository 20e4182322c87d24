"""`CpSat` and `MaxSat`: solvers of a `BestResponse` that run in a separate process.

There are two reasons. ortools and highspy cannot be loaded into one process, and a solver that
crashes ends only its own process. The script `apart_process` is the separate process. A comparison
gives each solver a process anyway: there they run in it (``apart=False``), so that a solve does not
include the start of a process and the import of the library.
"""

import io
import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..backends import available
from ..status import Status
from ..types import Floats
from . import apart_process
from .best_response import BestResponse, Response, Seed
from .milp import conclude, settled
from .programme import Programme


@dataclass(
    frozen=True,
    kw_only=True,
)
class CpSat:
    """The CP-SAT solver of ortools, with one worker.

    `Response.work` is the number of branches. `seed` is also the solver's random seed.

    Parameters
    ----------
    steps
        The limit of the solver's "deterministic time", or None. Its unit is about a second, but the
        result is the same on every machine.
    time_limit
        Seconds, or None.
    apart
        Whether to solve in a separate process. `bench.compare` sets False; see `call`.
    """

    steps: float | None = None
    time_limit: float | None = None
    apart: bool = True

    def solve(
        self,
        instance: BestResponse,
        /,
        *,
        seed: Seed = 0,
    ) -> Response:
        """Find a good record for the instance; see `Responder.solve`."""
        number = int(np.random.SeedSequence(seed).generate_state(1)[0] >> 1)
        options = {"seed": number, "steps": self.steps, "seconds": self.time_limit}
        # The solver keeps its limit by itself. If it does not, its process is ended.
        patience = None if self.time_limit is None else 10.0 + 1.5 * self.time_limit
        calling = Calling("cpsat", options, patience, apart=self.apart)
        return _solve(calling, "ortools", instance, seed)


@dataclass(
    frozen=True,
    kw_only=True,
)
class MaxSat:
    """The MaxSAT solver RC2 of python-sat. It returns a record only if it proves it optimal.

    It takes conjunctions and forbidden cells only. Other instances, with parities or other
    constraints, end with `Status.UNSUPPORTED`. `Response.work` is zero.

    Parameters
    ----------
    time_limit
        Seconds, including the start of the process, or None. RC2 has no limit of its own: only a
        separate process can be ended.
    apart
        Whether to solve in a separate process. `bench.compare` sets False; see `call`.
    """

    time_limit: float | None = None
    apart: bool = True

    def solve(
        self,
        instance: BestResponse,
        /,
        *,
        seed: Seed = 0,
    ) -> Response:
        """Find a good record for the instance; see `Responder.solve`."""
        calling = Calling("maxsat", {}, self.time_limit, apart=self.apart)
        return _solve(calling, "pysat", instance, seed)


class Sent(NamedTuple):
    """An integer programme: maximise cost . y, lower <= matrix y <= upper, 0 <= y <= top."""

    matrix: Any
    lower: Floats
    upper: Floats
    top: Floats
    cost: Floats


class Calling(NamedTuple):
    """Which solver of `apart_process` is called, and how.

    Parameters
    ----------
    which
        The solver's name in `apart_process`.
    options
        The solver's options. In this process CP-SAT takes one more, `improved`: a function that is
        called with each better point.
    patience
        Seconds after which the separate process is ended, or None.
    apart
        Whether to solve in a separate process. Otherwise the solver's library is loaded into this
        process, which must not hold highspy; a crash ends this process, and `patience` is not kept.
    """

    which: str
    options: dict[str, Any]
    patience: float | None
    apart: bool = True


class Told(NamedTuple):
    """What the solver says: nothing in it is checked."""

    status: Status
    point: Floats | None = None
    bound: float | None = None
    work: int = 0
    detail: str = ""


def call(calling: Calling, sent: Sent) -> Told:
    """Solve an integer programme, all of whose numbers are whole; see `Calling`."""
    which, options, patience, apart = calling
    if not apart:
        return _told(apart_process.SOLVERS[which](_arrays(sent), options))
    # -P: the folder of the file is not searched for modules. It has names such as pulp.py.
    script = str(Path(__file__).with_name("apart_process.py"))
    command = [sys.executable, "-P", script, which]
    try:
        done = subprocess.run(
            command,
            input=_packed(sent, options),
            capture_output=True,
            timeout=patience,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return Told(Status.TIME_LIMIT, detail=f"{which} was ended after its time limit")
    except OSError as error:
        return Told(Status.FAILED, detail=f"{which} did not start: {error}")
    return _read(done, which)


def _solve(
    calling: Calling,
    module: str,
    instance: BestResponse,
    seed: Seed,
) -> Response:
    """Solve an instance by a solver that needs a module; see `call`."""
    if not available(module):
        return instance.respond(
            None,
            status=Status.MISSING,
            detail=f"{module} is not installed",
        )
    programme = Programme.of(instance)
    if programme.columns == 0:
        return settled(instance, seed=seed)
    sent = Sent(
        matrix=programme.matrix,
        lower=programme.lower,
        upper=programme.upper,
        top=programme.top,
        cost=programme.cost,
    )
    told = call(calling, sent)
    return conclude(
        instance,
        programme,
        told.point,
        status=told.status,
        bound=None if told.bound is None else programme.offset + told.bound,
        work=told.work,
        seed=seed,
        detail=told.detail,
    )


def _read(done: subprocess.CompletedProcess[bytes], which: str) -> Told:
    """Read the answer that the process wrote."""
    try:
        return _told(json.loads(done.stdout))
    except (ValueError, KeyError, TypeError):
        last = done.stderr.decode(errors="replace").strip().splitlines()[-1:]
        detail = ": ".join([f"{which} ended with code {done.returncode}", *last])
        return Told(Status.FAILED, detail=detail)


def _told(answer: dict[str, Any]) -> Told:
    """Read an `apart_process.answer`."""
    point = answer["point"]
    bound = answer["bound"]
    return Told(
        status=Status[answer["status"]],
        point=None if point is None else np.array(point, np.float64),
        bound=None if bound is None else float(bound),
        work=int(answer["work"]),
        detail=str(answer["detail"]),
    )


def _arrays(sent: Sent) -> dict[str, Any]:
    """The programme as the arrays that `apart_process` takes."""
    matrix = sent.matrix
    none = 2.0**62  # stands for no bound
    return {
        "start": matrix.indptr,
        "column": matrix.indices,
        "value": matrix.data.astype(np.int64),
        "lower": np.clip(sent.lower, -none, none).astype(np.int64),
        "upper": np.clip(sent.upper, -none, none).astype(np.int64),
        "top": sent.top.astype(np.int64),
        "cost": sent.cost.astype(np.int64),
    }


def _packed(sent: Sent, options: dict[str, Any]) -> bytes:
    """Write the programme and the options as an .npz file in memory."""
    file = io.BytesIO()
    written = np.frombuffer(json.dumps(options).encode(), np.uint8)
    np.savez(file, options=written, **_arrays(sent))
    return file.getvalue()
