"""`Stated`: problems that can be seen: as programmes of cvxpy and PuLP, and as LaTeX.

The programmes are those of the families of `bench`, a higher room, which imports the problems. So
they are looked up when they are asked for; this is the only file of `solvers` that does so.
"""

import dataclasses
from importlib import import_module
from typing import Any, ClassVar

__all__ = ["Stated"]


class Stated:
    """Base class of problems that are instances of one or more families of programmes.

    The families are those of `bench.FAMILIES`: docs/bench.md has the programme of each.
    """

    families: ClassVar[tuple[str, ...]]
    """The names of the families; the first is the default of the methods."""

    def as_instance(self, name: str = "problem", family: str | None = None) -> Any:
        """This problem as a `bench.Instance`, which can be checked, saved and exported.

        Where the family has ridges and the problem states none, they are those of `Newton()`.

        Parameters
        ----------
        name
            The name of the instance.
        family
            The name of one of `families`; by default the first one.

        Raises
        ------
        ValueError
            If the problem is of no such family.
        """
        chosen = self.families[0] if family is None else family
        if chosen not in self.families:
            raise ValueError(
                f"family must be one of {', '.join(self.families)}, but it is '{chosen}'; choose "
                "one of these"
            )
        problem: Any = self
        if chosen in ("penalised-entropy", "least-squares") and problem.ridge is None:
            newton = import_module(f"{__package__}.reconstruct.newton").Newton()
            problem = dataclasses.replace(problem, ridge=newton.ridge(problem))
        made = import_module(f"{__package__}.bench.instance").Instance
        return made.of(problem, name=name, family=chosen)

    def statement(self, family: str | None = None) -> str:
        """The programme in LaTeX; `bench.FAMILIES` explains its symbols.

        The parameter and the errors are those of `as_instance`.
        """
        text: str = self.as_instance(family=family).statement()
        return text

    def to_cvxpy(self, family: str | None = None) -> Any:
        """The programme as a `cvxpy.Problem`; its only variable holds the columns of its `Model`.

        The parameter and the errors are those of `as_instance`.
        """
        return self.as_instance(family=family).to_cvxpy()

    def to_pulp(self, family: str | None = None) -> Any:
        """The programme as a `pulp.LpProblem`, with the variables x0, x1, ...

        The parameter is that of `as_instance`.

        Raises
        ------
        ValueError
            If the problem is of no such family, or its programme is not linear.
        """
        return self.as_instance(family=family).to_pulp()
