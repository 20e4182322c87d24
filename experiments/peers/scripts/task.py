"""The task of a peer: a cell that is read from a folder, and results that are written there.

Needs numpy only.

`task.json` holds what is public (domain, budget, queries, seed, options) and `rows.npy` the table,
as integer codes. The answers are scored here, by the same few lines for every system: six-way
tables of mixed domains would fill a disk. `result.json` is written after each size of query, so
that a peer stopped by the clock leaves what it had done.
"""

import json
import math
import resource
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Axes = tuple[int, ...]
Table = NDArray[np.float64]


@dataclass(kw_only=True)
class Task:
    """A table, a budget and queries.

    Attributes
    ----------
    attributes, sizes
        Names of the attributes, and how many values each has.
    rows
        Codes, shape (rows, attributes).
    pure, amount
        Whether the budget is pure epsilon or zCDP's rho, and how much there is. One row is added or
        removed.
    queries
        By the number of attributes, the axes of each query, rising.
    options
        What the peer is asked to do: see each script.
    limit
        Seconds of the processor that it may take, or None.
    """

    folder: Path
    attributes: tuple[str, ...]
    sizes: tuple[int, ...]
    rows: NDArray[np.int64]
    pure: bool
    amount: float
    queries: dict[int, list[Axes]]
    options: dict[str, Any]
    limit: float | None
    rng: np.random.Generator
    result: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def read(cls, folder: Path) -> "Task":
        """Read the task of a folder."""
        return cls.of(
            json.loads((folder / "task.json").read_text()), np.load(folder / "rows.npy"), folder
        )

    @classmethod
    def of(cls, public: dict[str, Any], rows: NDArray[np.integer], folder: Path) -> "Task":
        """The task that `task.json` describes."""
        return cls(
            folder=folder,
            attributes=tuple(public["attributes"]),
            sizes=tuple(public["sizes"]),
            rows=rows.astype(np.int64),
            pure=public["pure"],
            amount=public["amount"],
            queries={
                int(k): [tuple(axes) for axes in some] for k, some in public["queries"].items()
            },
            options=public["options"],
            limit=public["limit"],
            rng=np.random.default_rng(public["seed"]),
        )

    def cells(self, axes: Axes) -> int:
        """The number of cells of the table of some attributes."""
        return math.prod(self.sizes[axis] for axis in axes)

    def counts(self, axes: Axes) -> Table:
        """The true table of some attributes."""
        shape = tuple(self.sizes[axis] for axis in axes)
        cells = np.ravel_multi_index(tuple(self.rows[:, axis] for axis in axes), shape)
        return np.bincount(cells, minlength=math.prod(shape)).reshape(shape).astype(float)

    def error(self, axes: Axes, answer: Table) -> float:
        """The L2 distance of an answer from the truth, divided by the number of rows."""
        return float(np.linalg.norm(answer - self.counts(axes)) / len(self.rows))

    def noisy(self, axes: Axes, share: float) -> tuple[Table, float]:
        """The table of some attributes, measured with a share of the budget, and the standard
        deviation of its noise.

        Gaussian noise of variance 1 / (2 rho) under zCDP, Laplace noise of scale 1 / epsilon
        otherwise.
        """
        true = self.counts(axes)
        if self.pure:
            scale = 1 / (share * self.amount)
            return true + self.rng.laplace(0, scale, true.shape), math.sqrt(2) * scale
        deviation = math.sqrt(1 / (2 * share * self.amount))
        return true + self.rng.normal(0, deviation, true.shape), deviation

    def pick(self, scores: NDArray[np.float64], epsilon: float) -> int:
        """Choose a position by the exponential mechanism, for scores of sensitivity one.

        It costs epsilon, or epsilon^2 / 8 of rho (Cesar and Rogers, ALT 2021).
        """
        return int(np.argmax(epsilon / 2 * scores + self.rng.gumbel(size=len(scores))))

    def note(self, **facts: Any) -> None:
        """Store facts with the result, such as rounds or the size of the model."""
        self.result |= facts
        fresh = self.folder / "result.new"
        fresh.write_text(json.dumps(self.result))
        fresh.replace(self.folder / "result.json")


def stop_after(seconds: float | None) -> None:
    """End this process by SIGXCPU, without a core file, after some CPU seconds."""
    if seconds is not None:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(
            resource.RLIMIT_CPU, (math.ceil(seconds), resource.getrlimit(resource.RLIMIT_CPU)[1])
        )


def main(release: Callable[[Task], Callable[[Axes], Table]]) -> None:
    """Release the table of the folder given on the command line, answer the queries, and measure
    CPU seconds of all threads.
    """
    task = Task.read(Path(sys.argv[1]))
    stop_after(task.limit)
    started = time.process_time()
    answer = release(task)
    task.note(release=time.process_time() - started)
    for k, queries in task.queries.items():
        errors, spent = [], 0.0
        for axes in queries:
            started = time.process_time()
            table = answer(axes)
            spent += time.process_time() - started
            errors.append(task.error(axes, table))
        task.note(**{f"error {k}": float(np.mean(errors)), f"answers {k}": spent})
