"""Solvers of the family exact-entropy that lie, each in one way; none of them solves anything."""

import multiprocessing
import os
import signal
import sys
import time
from types import SimpleNamespace

import numpy as np

from margin.solvers import IPF, Status


class _Liar:
    """Answers rightly; each liar below changes one thing."""

    families = ("exact-entropy",)

    def solve(self, problem):
        return self.lie(problem, IPF().solve(problem))

    def lie(self, problem, solution):
        return solution


def told(solution, **changes):
    """A solution of which some attributes are changed."""
    names = ("table", "status", "objective", "seconds")
    return SimpleNamespace(**{name: getattr(solution, name) for name in names} | changes)


class Honest(_Liar):
    pass


class OptimalButInfeasible(_Liar):
    def lie(self, problem, solution):
        return told(solution, table=np.roll(solution.table, 1))


class OptimalButWorse(_Liar):
    """Another table with the same marginals, which has less entropy."""

    def lie(self, problem, solution):
        sign = (-1.0) ** np.indices(problem.shape).sum(axis=0)
        step = 0.5 * solution.table.min()
        return told(solution, table=solution.table + step * sign, objective=None)


class InfeasibleClaimed(_Liar):
    def lie(self, problem, solution):
        return told(solution, status=Status.INFEASIBLE, table=None)


class NotANumber(_Liar):
    def lie(self, problem, solution):
        return told(solution, table=np.full_like(solution.table, np.nan))


class WrongShape(_Liar):
    def lie(self, problem, solution):
        return told(solution, table=solution.table.ravel()[:-1])


class NotAnAnswer(_Liar):
    def lie(self, problem, solution):
        return 5


class NothingAtAll(_Liar):
    def lie(self, problem, solution):
        return None


class Raises(_Liar):
    def lie(self, problem, solution):
        raise RuntimeError("no")


class Leaves(_Liar):
    def lie(self, problem, solution):
        sys.exit(0)


class Hangs(_Liar):
    def lie(self, problem, solution):
        time.sleep(1000)


class EatsMemory(_Liar):
    def lie(self, problem, solution):
        return [np.ones(10**6) for _ in range(10**4)]


class ChildrenEatMemory(_Liar):
    """Each process stays within the limit; together they do not."""

    def lie(self, problem, solution):
        def eat():
            held = np.ones(10**7)
            time.sleep(1000 * held[0])

        context = multiprocessing.get_context("fork")
        children = [context.Process(target=eat) for _ in range(8)]
        for child in children:
            child.start()
        time.sleep(1000)


class ChangesTheProblem(_Liar):
    def lie(self, problem, solution):
        problem.target[...] = 0.0
        return solution


class BetterThanTheBound(_Liar):
    """Claims an objective that no answer can have."""

    def lie(self, problem, solution):
        return told(solution, objective=solution.objective - 1.0)


class ClaimsNoTime(_Liar):
    def lie(self, problem, solution):
        until = time.process_time() + 1.2
        while time.process_time() < until:
            pass
        return told(solution, seconds=0.0)


class TurnsTheClock(_Liar):
    def lie(self, problem, solution):
        worker = sys.modules["margin.solvers.bench.running.worker"]
        worker.perf_counter = lambda: 0.0
        time.sleep(2.0)
        return solution


class Dies(_Liar):
    def lie(self, problem, solution):
        os.kill(os.getpid(), signal.SIGSEGV)


class ForgesTheCheck(_Liar):
    """Replaces our check in its own process."""

    def lie(self, problem, solution):
        family = sys.modules["margin.solvers.bench.families.family"]
        entropy = sys.modules["margin.solvers.bench.families.entropy"]
        entropy.ExactEntropy.check = lambda *_: family.Check(
            feasible=True, objective=0.0, violation=0.0
        )
        return told(solution, table=np.roll(solution.table, 1))


class StatusOfItsOwn(_Liar):
    def lie(self, problem, solution):
        return told(solution, status="optimal")


CAUGHT = {
    OptimalButInfeasible: ("wrong", "called OPTIMAL, but not feasible"),
    OptimalButWorse: ("wrong", "worse than the best known"),
    InfeasibleClaimed: ("wrong", "called infeasible, but a feasible answer is known"),
    NotANumber: ("wrong", "not finite"),
    WrongShape: ("wrong", "cells"),
    NotAnAnswer: ("wrong", "cells"),
    NothingAtAll: ("wrong", "no answer"),
    Raises: ("raised", "RuntimeError: no"),
    Leaves: ("raised", "SystemExit"),
    Hangs: ("time", "ended after the time limit"),
    EatsMemory: ("memory", ""),
    ChildrenEatMemory: ("memory", "exceeded the memory limit"),
    ChangesTheProblem: ("wrong", "changed the problem"),
    BetterThanTheBound: ("wrong", "claims the objective"),
    ClaimsNoTime: ("wrong", "claims 0 seconds"),
    TurnsTheClock: ("wrong", "clock"),
    Dies: ("died", "signal 11"),
    ForgesTheCheck: ("wrong", "not feasible"),
    StatusOfItsOwn: ("wrong", "status"),
}
"""The outcome of each liar, and words of the cause."""


class InTurn:
    """Lets one solver after another answer, one for each solve."""

    families = ("exact-entropy",)

    def __init__(self, solvers):
        self.solvers = solvers

    def solve(self, problem):
        return self.solvers.pop(0).solve(problem)


class OnTheWay:
    """An honest solver that tells a worse answer first."""

    families = ("exact-entropy",)

    def solve(self, problem, improved):
        solution = IPF().solve(problem)
        sign = (-1.0) ** np.indices(problem.shape).sum(axis=0)
        improved(solution.table + 0.5 * solution.table.min() * sign)
        return solution
