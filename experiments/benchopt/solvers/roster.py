"""The solvers of margin's bench, ours and those of libraries, as solvers of benchopt."""

from typing import ClassVar

from benchopt import BaseSolver

from margin.solvers import bench

FAMILIES = {"exact-entropy", "penalised-entropy", "least-squares", "response"}


class Solver(BaseSolver):
    """One solver of the roster; it skips instances of other families."""

    name = "bench"
    sampling_strategy = "run_once"
    parameters: ClassVar = {
        "solver": [
            name for name, listed in bench.ROSTER.items() if FAMILIES.intersection(listed.families)
        ]
    }
    test_config: ClassVar = {"solver": {"solver": "IPF"}}

    def skip(self, instance):
        """Skip what the solver does not take, and solvers that are not installed."""
        listed = bench.ROSTER[self.solver]
        if not listed.is_installed:
            return True, f"{listed.needs} is not installed"
        if self.solver == "pdlp":
            return True, "ortools crashes in one process with highspy"
        if instance.family.name not in listed.families:
            return True, f"it does not solve the family {instance.family.name}"
        return False, None

    def set_objective(self, instance):
        """Take the instance."""
        self.instance = instance
        self.made = bench.ROSTER[self.solver].make()

    def warm_up(self):
        """Solve once: what is imported and compiled on first use is not timed."""
        self.run(1)

    def run(self, _):
        """Solve the instance."""
        if isinstance(self.made, bench.ByModel):
            self.answer = self.made.solve_instance(self.instance).answer
        else:
            answer = self.instance.family.solve(self.made, self.instance.problem)
            self.answer = getattr(answer, "answer", answer)

    def get_result(self):
        """The last answer."""
        return {"answer": self.answer}
