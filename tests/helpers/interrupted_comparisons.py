"""Comparisons in forked processes, each interrupted at a chosen moment.

`python -m tests.helpers.interrupted_comparisons FOLDER` runs every case in a folder of its own
there, and prints a line of JSON for each. No solver runs: made-up runs end at once, or when they
are stopped. A forked process has no threads but its own, as this one starts none.
"""

import itertools
import json
import os
import signal
import sys
import time
from pathlib import Path

from margin.cli.main import command
from margin.solvers import IPF, bench
from margin.solvers.bench.running import compare as comparing
from margin.solvers.bench.running import rows as row_files
from margin.solvers.bench.running.process import Found
from margin.solvers.testing import examples

FRONTS = ("library", "command")
SIGNALS = ("SIGINT", "SIGTERM")
ENDED = {"begun": 0, "returned": 2, "writing": 1, "again": 2, "raised": 1}
"""The moments, and how many runs end before each."""

REPEATS = 1

_LATER = 0.6
"""Seconds in which a watch that is not held back would raise its exception again, twice."""

_PROBLEM = examples()["nothing"]
_INSTANCE = bench.Instance.of(_PROBLEM, name="mine", family="exact-entropy")
_SOLVERS = ["IPF", "Ladder", "clarabel", "trust-constr"]


class Interrupted:
    """Made-up runs and a writer, which send a signal to their own process at a moment."""

    def __init__(self, moment, number):
        self.moment = moment
        self.number = number
        self.answer = IPF().solve(_PROBLEM).table
        self.runs = 0
        self.write = row_files.write

    def send(self):
        os.kill(os.getpid(), self.number)

    def run(self, task, stop):
        """Stands for `process.run`."""
        self.runs += 1
        ends = self.runs <= ENDED[self.moment]
        is_last = self.runs == ENDED[self.moment]
        if (is_last and self.moment in ("returned", "again")) or self.moment == "begun":
            self.send()
        if not ends:
            assert stop.wait(60)
            if self.moment == "again":
                self.send()
            return []
        known = {"end": "answered", "answer": self.answer, "wall": 0.1, "cpu": 0.1, "watched": 0.1}
        return [Found(repeat=repeat, **known) for repeat in range(task.repeats + 1)]

    def writer(self, rows, path):
        """Stands for `rows.write`."""
        if self.moment == "raised":
            self.moment = "begun"
            raise KeyboardInterrupt
        if self.moment in ("writing", "again"):
            self.send()
            time.sleep(_LATER)
        self.write(rows, path)


def interrupted(folder, front, moment, number):
    """Run one comparison in this process; the result is the exit code of a command."""
    made_up = Interrupted(moment, number)
    comparing.run = made_up.run
    row_files.write = made_up.writer
    comparing._WRITING = 0.0
    rows, answers = folder / "rows.parquet", folder / "answers"
    if front == "library":
        solvers = {name: bench.ROSTER[name].make() for name in _SOLVERS}
        try:
            bench.compare([_INSTANCE], solvers, repeats=REPEATS, to=rows, answers=answers)
        except KeyboardInterrupt as error:
            print(f"margin: {error}", file=sys.stderr, flush=True)
            return 130
        return 0
    words = ["bench", "run", "-o", str(rows), "--answers", str(answers)]
    words += ["--instances", str(folder.parent / "mine.npz"), "--solvers", *_SOLVERS]
    return command([*words, "--repeats", str(REPEATS)])


def main(folder):
    """Run all cases."""
    _INSTANCE.save(folder / "mine.npz")
    for case in itertools.product(FRONTS, SIGNALS, ENDED):
        own = folder / "-".join(case)
        own.mkdir()
        process = os.fork()
        if not process:
            with (own / "told").open("wb") as told:
                os.dup2(told.fileno(), 2)
            front, name, moment = case
            os._exit(interrupted(own, front, moment, getattr(signal, name)))
        _, status = os.waitpid(process, 0)
        print(json.dumps([*case, os.waitstatus_to_exitcode(status)]), flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
