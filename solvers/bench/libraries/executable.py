"""`Executable`: a program that reads MPS or LP files, as an engine."""

import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from ...status import Status
from ...types import Floats
from ..engines.ended import Ended
from ..formats.files import write
from ..models.model import Model

__all__ = ["Executable"]

_VALUE = re.compile(r"(?<!\S)x(\d+)[ \t]+(\S+)")
"""The name of a column and, after it, its value."""

_PLACES = ("{model}", "{solution}", "{seconds}")

_ENDLESS = 1_000_000_000.0
"""The seconds that a program is told if there is no time limit."""

_PATIENCE_SHARE, _PATIENCE_SECONDS = 1.5, 10.0
"""A program is ended after this share of its time limit, and this many seconds. A comparison ends
it earlier."""

_NO_COLUMN = (
    "the solution file names no column; its lines must hold a name, such as x0, and a value"
)

_MOST_WORDS = 200
"""Largest number of characters of a program's own words that are kept."""


@dataclass(
    frozen=True,
    kw_only=True,
)
class Executable:
    """Solves models by a program that reads a file, and writes a file with a solution.

    For each solve it writes the model to a temporary file, starts the program, waits for its end,
    and reads the values of the columns. ``bench.ByModel(engine=Executable(...))`` makes it a solver
    of all families. In a comparison, the processor seconds and the memory of the program count, and
    so do those for writing the model and reading the solution.

    Of a solution file, each name of a column, x0, x1, ..., is read with the word after it, which is
    its value; a column that is not named is 0, and if one is named twice, the first value counts.
    All else is passed over. The files of HiGHS, SCIP, CBC and Gurobi are read so.

    What the program says of its end differs from program to program: a subclass with a method
    `told` reads it. Without one, the status is ``UNPROVEN`` and no bound is claimed.

    Parameters
    ----------
    command
        The program and its arguments. ``{model}``, ``{solution}`` and ``{seconds}`` in them stand
        for the two files and for the time limit in seconds, such as ``4.75``; without a limit it is
        ``1000000000``. No shell reads the command.
    format
        ``mps`` or ``lp``; see `write`.
    squares, integers
        Whether the program takes quadratic objectives, and integers. Other models are refused, with
        the status ``UNSUPPORTED``; models with exponential cones always are.

    Raises
    ------
    ValueError
        If the command is empty, lacks ``{model}`` or ``{solution}``, or the format is another one.

    Examples
    --------
    >>> from margin.solvers import bench
    >>> engine = bench.Executable(command=["scip-cli", "{model}", "{solution}", "{seconds}"])
    >>> engine(bench.instance("cover-design-7-3-2").model).detail
    "the program 'scip-cli' was not found"
    """

    command: Sequence[str]
    format: Literal["mps", "lp"] = "mps"
    squares: bool = True
    integers: bool = True

    def __post_init__(self) -> None:
        text = " ".join(self.command)
        if isinstance(self.command, str) or not text:
            raise ValueError(
                "command must be a list of the program and its arguments, but it is "
                f"{self.command!r}; write it as in ['solve', '{{model}}', '{{solution}}']"
            )
        for place in _PLACES[:2]:
            if place not in text:
                raise ValueError(
                    f"command must hold {place}, for the name of a file, but it is {text!r}; add it"
                )
        if self.format not in ("mps", "lp"):
            raise ValueError(
                f"format must be 'mps' or 'lp', but it is {self.format!r}; choose one of these"
            )

    def told(self, output: str, solution: str) -> tuple[Status, float | None]:
        """The status, and a lower bound on the objective of the model or None.

        A subclass says here how to read them. It is called if the program ended with the code 0.

        Parameters
        ----------
        output
            What the program printed.
        solution
            The text of the solution file; empty if there is none.
        """
        return Status.UNPROVEN, None

    def __call__(self, model: Model, *, time_limit: float | None = None) -> Ended:
        refused = self._refusal(model)
        if refused:
            return Ended(status=Status.UNSUPPORTED, detail=refused)
        if shutil.which(self.command[0]) is None:
            detail = f"the program {self.command[0]!r} was not found"
            return Ended(status=Status.MISSING, detail=detail)
        with tempfile.TemporaryDirectory() as folder:
            return self._solve(Path(folder), model, time_limit)

    def _refusal(self, model: Model) -> str:
        """Why the program does not take a model; empty if it does."""
        if model.cones:
            return f"{self.format} files hold no exponential cones"
        if model.quadratic and not self.squares:
            return "the program takes no quadratic objective"
        if model.integral and not self.integers:
            return "the program takes no integers"
        return ""

    def _solve(self, folder: Path, model: Model, time_limit: float | None) -> Ended:
        """Let the program solve a model, with files in a folder."""
        began = time.monotonic()
        source = folder / f"model.{self.format}"
        write(model, source)
        # The limit is for all of the solve, and writing a large model takes seconds.
        seconds = _ENDLESS if time_limit is None else time_limit - (time.monotonic() - began)
        if seconds <= 0:
            return Ended(status=Status.TIME_LIMIT, detail="writing the model took the whole limit")
        target = folder / "solution.txt"
        values = dict(zip(_PLACES, (source, target, f"{seconds:.10g}"), strict=True))
        command = [_filled(word, values) for word in self.command]
        printed = folder / "output.txt"
        patience = _PATIENCE_SHARE * seconds + _PATIENCE_SECONDS
        # Into a file, as a pipe that nobody reads would stop the program.
        with printed.open("wb") as file:
            try:
                code = subprocess.run(
                    command,
                    stdin=subprocess.DEVNULL,
                    stdout=file,
                    stderr=subprocess.STDOUT,
                    timeout=None if time_limit is None else patience,
                ).returncode
            except subprocess.TimeoutExpired:
                detail = "the program did not end at its time limit, and was ended"
                return Ended(status=Status.TIME_LIMIT, detail=detail)
        output = printed.read_text(errors="replace")
        if code:
            words = " ".join(output.split())[-_MOST_WORDS:]
            return Ended(status=Status.FAILED, detail=f"the program left with {code}: {words}")
        solution = target.read_text(errors="replace") if target.exists() else ""
        status, bound = self.told(output, solution)
        return _ended(model, solution, status, bound)


def _filled(word: str, values: dict[str, object]) -> str:
    """A word of a command with the files and the seconds in their places."""
    for place, value in values.items():
        word = word.replace(place, str(value))
    return word


def _ended(
    model: Model,
    solution: str,
    status: Status,
    bound: float | None,
) -> Ended:
    """How a program ended that wrote this solution."""
    point: Floats = np.zeros(model.columns)
    # From the last one to the first, so that the first value of a column stays.
    found = _VALUE.findall(solution)[::-1]
    if not found:
        # A status that stands for an answer would claim one that is not there.
        status = Status.FAILED if status.ok else status
        return Ended(status=status, bound=bound, detail=_NO_COLUMN)
    try:
        for number, value in found:
            point[int(number)] = float(value)
    except (IndexError, ValueError):
        detail = (
            f"the solution file must give numbers to columns x0 to x{model.columns - 1}, but it "
            "names another column or no number"
        )
        return Ended(status=Status.FAILED, detail=detail)
    return Ended(status=status, point=point, bound=bound)
