"""The black box: many runs on pairs of neighbouring tables, whose outputs are compared."""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from .._checks import share, whole_number
from .._types import Floats
from ..data.source import Source
from ..domain.domain import Domain
from ..errors import MarginError
from ..interrupts import watched
from ..noise.entropy import SeededEntropy
from ..privacy.budget import Budget
from ..private import Private
from .violation import other_error

__all__ = ["STEPS", "BlackBox", "many_outputs"]

STEPS = "audit: step %d of %d"
"""The log message of a step: a pair of tables that is replayed, or a run of the black box."""

log = logging.getLogger("margin")


@dataclass(
    frozen=True,
    kw_only=True,
)
class BlackBox:
    """The black-box part of an audit: many runs on both tables of the first three pairs.

    It takes as long as ``6 * runs`` runs of the mechanism on small tables; `margin.progress` shows
    how far it is. `Audit.least_loss` says what the runs show. How many runs find which excess is in
    docs/howto/own_mechanism.md.

    Parameters
    ----------
    runs
        The number of runs on each table, at least 2.
    alpha
        The probability of a false alarm, over all pairs together; > 0 and < 1.
    output
        A function from the result of ``run`` to an array of numbers, of any shape. By default, the
        tables of the views of a synopsis. A run that ends with a `MarginError` has no numbers.

    Raises
    ------
    MarginError
        If `runs` or `alpha` is out of range.
    """

    runs: int
    alpha: float = 1e-6
    output: Callable[[Any], npt.ArrayLike] | None = None

    def __post_init__(self) -> None:
        whole_number("runs", self.runs, least=2, error=MarginError)
        share("alpha", self.alpha, error=MarginError)
        if self.output is not None and not callable(self.output):
            raise MarginError("output must be a function of the result of run, or None")

    def numbers(self, result: Any) -> Floats:
        """The numbers of a result, shape (numbers,)."""
        output = _tables_of_views if self.output is None else self.output
        return np.asarray(output(result), np.float64).ravel()


def many_outputs(
    black_box: BlackBox,
    mechanism: Any,
    source: Source,
    *,
    domain: Domain,
    budget: Budget,
    workload: Any,
    entropy: SeededEntropy,
    before: int,
    steps: int,
) -> Floats:
    """The outputs of many runs on one table: array (runs, numbers). Shorter outputs are filled with
    infinity. A run that ends with a `MarginError` is an output without numbers.

    `before` and `steps` are the numbers of steps of the audit before these runs, and of all steps,
    which `progress` shows.

    Raises
    ------
    Violation
        If a run ends with another error.
    """
    outputs = []
    # One watch for all runs; otherwise each count of the rows starts a thread of its own.
    with watched():
        for run in range(black_box.runs):
            log.info(STEPS, before + run + 1, steps)
            private = Private(source, domain=domain, budget=budget, entropy=entropy)
            try:
                result = mechanism.run(private, workload)
            except (MarginError, SystemExit):
                outputs.append(np.empty(0))
            except Exception as error:  # the mechanism is anybody's code
                raise other_error(error) from error
            else:
                outputs.append(black_box.numbers(result))
    filled = np.full((len(outputs), max(output.size for output in outputs)), np.inf)
    for place, output in enumerate(outputs):
        filled[place, : output.size] = output
    return filled


def _tables_of_views(synopsis: Any) -> Floats:
    if not hasattr(synopsis, "held"):
        raise MarginError(
            "the black box looks at the tables of the views of a synopsis, but run returned "
            f"{type(synopsis).__name__}; pass BlackBox(output=), a function from the result of run "
            "to an array of numbers"
        )
    tables = [np.asarray(values, np.float64).ravel() for values in synopsis.held.values]
    return np.concatenate(tables)
