"""`CpSat` and `MaxSat`: solvers of a `BestResponse` that run in a separate process.

There are two reasons. ortools and highspy cannot be loaded into one process, and a solver that
crashes ends only its own process. The script `apart_process` is the separate process.
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
    """

    steps: float | None = None
    time_limit: float | None = None

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
        return _solve("cpsat", "ortools", instance, seed, options, patience)


@dataclass(
    frozen=True,
    kw_only=True,
)
class MaxSat:
    """The MaxSAT solver RC2 of python-sat. It returns a record only if it proves it optimal.

    It takes conjunctions and forbidden cells only. Other instances, with parities or other
    constraints, end with `Status.FAILED`. `Response.work` is zero.

    Parameters
    ----------
    time_limit
        Seconds, including the start of the process, or None.
    """

    time_limit: float | None = None

    def solve(
        self,
        instance: BestResponse,
        /,
        *,
        seed: Seed = 0,
    ) -> Response:
        """Find a good record for the instance; see `Responder.solve`."""
        return _solve("maxsat", "pysat", instance, seed, {}, self.time_limit)


class Sent(NamedTuple):
    """An integer programme: maximise cost . y, lower <= matrix y <= upper, 0 <= y <= top."""

    matrix: Any
    lower: Floats
    upper: Floats
    top: Floats
    cost: Floats


class Told(NamedTuple):
    """What the other process says: nothing in it is checked."""

    status: Status
    point: Floats | None = None
    bound: float | None = None
    work: int = 0
    detail: str = ""


def call(
    which: str,
    sent: Sent,
    options: dict[str, Any],
    patience: float | None,
) -> Told:
    """Solve an integer programme in another process.

    Parameters
    ----------
    which
        The solver's name in `apart_process`.
    sent
        The programme; all its numbers are whole.
    options
        The solver's options.
    patience
        Seconds after which the process is ended, or None.
    """
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
    which: str,
    module: str,
    instance: BestResponse,
    seed: Seed,
    options: dict[str, Any],
    patience: float | None,
) -> Response:
    """Solve an instance by the solver `which`, which needs a module; see `call`."""
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
    told = call(which, sent, options, patience)
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
        answer = json.loads(done.stdout)
        point = answer["point"]
        bound = answer["bound"]
        return Told(
            status=Status[answer["status"]],
            point=None if point is None else np.array(point, np.float64),
            bound=None if bound is None else float(bound),
            work=int(answer["work"]),
            detail=str(answer["detail"]),
        )
    except (ValueError, KeyError, TypeError):
        last = done.stderr.decode(errors="replace").strip().splitlines()[-1:]
        detail = ": ".join([f"{which} ended with code {done.returncode}", *last])
        return Told(Status.FAILED, detail=detail)


def _packed(sent: Sent, options: dict[str, Any]) -> bytes:
    """Write the programme and the options as an .npz file in memory."""
    matrix = sent.matrix
    none = 2.0**62  # stands for no bound
    file = io.BytesIO()
    np.savez(
        file,
        start=matrix.indptr,
        column=matrix.indices,
        value=matrix.data.astype(np.int64),
        lower=np.clip(sent.lower, -none, none).astype(np.int64),
        upper=np.clip(sent.upper, -none, none).astype(np.int64),
        top=sent.top.astype(np.int64),
        cost=sent.cost.astype(np.int64),
        options=np.frombuffer(json.dumps(options).encode(), np.uint8),
    )
    return file.getvalue()
