"""Compiling the loops of our solvers before a clock runs, so that the machine code is on disk."""

import logging
import subprocess
import sys
from functools import cache
from typing import Any

from ...response.anneal import Anneal
from ...response.best_response import BestResponse
from ...response.components import ByComponents
from ...response.constraint import Constraint
from ...response.enumerate import Enumerate
from ...response.greedy import Greedy
from .process import environment

__all__ = ["compile_loops", "has_loops", "main"]

log = logging.getLogger("margin")

_START = "from margin.solvers.bench.running.compiling import main; main()"

_LOOPED = (Anneal, ByComponents, Enumerate, Greedy)
"""The solvers whose loops numba compiles when they are first called, whatever the problem."""


def has_loops(solver: Any) -> bool:
    """Whether a solver is one of ours whose loops are compiled when it is first called."""
    return isinstance(solver, _LOOPED)


@cache
def compile_loops() -> None:
    """Compile the loops in a process of its own, once; numba keeps the machine code on disk.

    Where it is on disk already, this takes about two seconds of a processor, else half a minute.
    If the process fails, the first solve compiles, and its time says so.
    """
    log.info("compiling loops, which no time counts")
    command = [sys.executable, "-P", "-c", _START]
    subprocess.run(command, env=environment(threads=1), check=False, capture_output=True)


def main() -> None:
    """Solve a tiny problem by each loop. It holds every kind of term, and a constraint."""
    sizes = [2, 2, 3]
    conjunctions = BestResponse.conjunctions(sizes, [[0, 1], [1, 2]], [[1, 0], [1, 2]], [2, -1])
    parities = BestResponse.parities(sizes[:2], [[0, 1]], [1])
    bounded = BestResponse.conjunctions(
        sizes,
        [[0, 1]],
        [[1, 0]],
        [2],
        constraints=[Constraint.forbid([(0, 1), (2, 2)])],
    )
    for problem in (conjunctions, parities, bounded):
        for solver in (ByComponents(), Anneal(sweeps=1), Enumerate(), Greedy()):
            solver.solve(problem)
