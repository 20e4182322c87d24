"""An instance of margin's bench as an objective of benchopt; answers are checked by the bench."""

import math
from typing import ClassVar

from benchopt import BaseObjective

from margin.solvers import bench


class Objective(BaseObjective):
    """The objective of an answer, recomputed; infinite if the answer is not feasible."""

    name = "optimisation over tables"
    min_benchopt_version = "1.6"
    requirements: ClassVar = ["pip::margin[solvers,bench]"]
    sampling_strategy = "run_once"

    def set_data(self, instance):
        """Take an instance of the bench."""
        self.instance = instance

    def get_objective(self):
        """What a solver gets: the instance, which knows its family and its problem."""
        return {"instance": self.instance}

    def evaluate_result(self, answer):
        """Check an answer by the code of the bench, which no solver shares.

        ``value`` is minimised: it is the negative of the objective where the family maximises.
        """
        check = self.instance.check(answer)
        sign = 1.0 if self.instance.family.sense == "minimise" else -1.0
        return {
            "value": sign * check.objective if check.feasible else math.inf,
            "gap": self.instance.gap(check.objective) if check.feasible else math.inf,
            "violation": check.violation,
        }

    def get_one_result(self):
        """A readable answer, for the tests of benchopt: that of a solver of the family."""
        (first, *_) = bench.solvers(self.instance.family.name).values()
        answer = self.instance.family.solve(first, self.instance.problem)
        return {"answer": answer}
