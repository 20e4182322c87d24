"""`CpSat` and `MaxSat`: a `BestResponse` by solvers that run in a process of their own, see
`apart_process`.

ortools and highspy cannot be loaded into one process, and a solver that crashes takes only its own
process with it.
"""

import io
import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..backends import available
from ..status import Status
from .integer import BestResponse, Response, Seed
from .milp import conclude, settled
from .programme import Programme


@dataclass(frozen=True, kw_only=True)
class CpSat:
    """The CP-SAT solver of ortools, one worker. `Response.work` is the number of branches, `seed`
    its random seed, too.

    Parameters
    ----------
    steps
        Its "deterministic time" at most, or None: about seconds, but the same everywhere.
    time_limit
        Seconds, or None.
    """

    steps: float | None = None
    time_limit: float | None = None

    def solve(self, instance: BestResponse, /, *, seed: Seed = 0) -> Response:
        """See `Responder`."""
        number = int(np.random.SeedSequence(seed).generate_state(1)[0] >> 1)
        options = {"seed": number, "steps": self.steps, "seconds": self.time_limit}
        # It keeps its limit by itself; if it does not, it is ended.
        patience = None if self.time_limit is None else 10.0 + 1.5 * self.time_limit
        return _solve("cpsat", "ortools", instance, seed, options, patience)


@dataclass(frozen=True, kw_only=True)
class MaxSat:
    """RC2 of python-sat, which has an answer only when it has a proof. Parities, and constraints
    other than forbidden cells, do not become clauses: `Status.FAILED`. `Response.work` is zero.

    Parameters
    ----------
    time_limit
        Seconds, with those to start it, or None.
    """

    time_limit: float | None = None

    def solve(self, instance: BestResponse, /, *, seed: Seed = 0) -> Response:
        """See `Responder`."""
        return _solve("maxsat", "pysat", instance, seed, {}, self.time_limit)


def _solve(
    which: str,
    module: str,
    instance: BestResponse,
    seed: Seed,
    options: dict[str, Any],
    patience: float | None,
) -> Response:
    """Send the programme's arrays to the process, wait for `patience` seconds, and judge what comes
    back."""
    if not available(module):
        return instance.respond(None, status=Status.MISSING, detail=f"{module} is not installed")
    programme = Programme.of(instance)
    if programme.columns == 0:
        return settled(instance, seed=seed)
    matrix = programme.matrix
    none = 2.0**62
    file = io.BytesIO()
    np.savez(
        file,
        start=matrix.indptr, column=matrix.indices, value=matrix.data.astype(np.int64),
        lower=np.clip(programme.lower, -none, none).astype(np.int64),
        upper=np.clip(programme.upper, -none, none).astype(np.int64),
        top=programme.top.astype(np.int64), cost=programme.cost.astype(np.int64),
        options=np.frombuffer(json.dumps(options).encode(), np.uint8),
    )  # fmt: skip
    # -P: the folder of the file, where solvers have names such as pulp.py, is not searched for
    # modules.
    command = [sys.executable, "-P", str(Path(__file__).with_name("apart_process.py")), which]
    try:
        done = subprocess.run(
            command, input=file.getvalue(), capture_output=True, timeout=patience, check=False
        )
    except subprocess.TimeoutExpired:
        return instance.respond(
            None, status=Status.TIME_LIMIT, detail=f"{which} was ended after its time limit"
        )
    except OSError as error:
        return instance.respond(
            None, status=Status.FAILED, detail=f"{which} did not start: {error}"
        )
    try:
        answer = json.loads(done.stdout)
        status = Status[answer["status"]]
        point = answer["point"]
        values = None if point is None else np.array(point, np.float64)
        bound = None if answer["bound"] is None else programme.offset + float(answer["bound"])
        work = int(answer["work"])
        detail = str(answer["detail"])
    except (ValueError, KeyError, TypeError):
        last = done.stderr.decode(errors="replace").strip().splitlines()[-1:]
        detail = f"{which} ended with code {done.returncode}" + "".join(
            f": {line}" for line in last
        )
        return instance.respond(None, status=Status.FAILED, detail=detail)
    return conclude(
        instance, programme, values, status=status, bound=bound, work=work, seed=seed, detail=detail
    )
