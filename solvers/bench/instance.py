"""`Instance`: a named problem with the best that is known of it; saved, loaded and exported."""

import json
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np

from .digest import digest
from .families.every import FAMILIES
from .families.family import Check, Family
from .gaps import gap_to
from .models.model import Model

__all__ = ["Instance", "load"]

Size = Literal["small", "medium", "large"]

_FORMAT = 1
"""The version of the layout of saved files."""


@dataclass(
    frozen=True,
    kw_only=True,
    eq=False,
)
class Instance:
    """A problem of a family, with a name and the best that is known of it.

    Parameters
    ----------
    name
        A name that no other instance of this version has.
    version
        Counts up when the problem of this name changes.
    family
        The kind of problem.
    size
        ``small`` if a reference solver needs about a second or less (some seconds on two covers),
        ``medium`` up to a minute, ``large`` beyond: up to an hour, or longer than anyone has tried.
        The reference solvers are IPF, Newton, LeastSquares, MinimaxLP, ResidualConsistency,
        JointProjection and ByComponents, one for each family in the order of `FAMILIES`, and the
        engine ``highs`` for covers.
    make
        A function that returns the problem; it is called when the problem is first needed, and
        always returns the same.
    best_known
        The best objective of a checked answer; None if none is known.
    bound
        A proved bound on the objective of every feasible answer; None if none is known.
    proved_by
        Who found the best objective and who proved the bound.

    Examples
    --------
    >>> from margin.solvers import bench
    >>> instance = bench.instances(family="cover", size="small")[0]
    >>> instance.family.name, instance.best_known == instance.bound
    ('cover', True)
    """

    name: str
    family: Family
    size: Size
    make: Callable[[], Any]
    version: int = 1
    best_known: float | None = None
    bound: float | None = None
    proved_by: str = ""

    def __repr__(self) -> str:
        return (
            f"Instance({self.name!r}, family={self.family.name!r}, size={self.size!r}, "
            f"best_known={self.best_known}, bound={self.bound})"
        )

    @classmethod
    def of(
        cls,
        problem: Any,
        *,
        name: str,
        family: str,
        size: Size = "small",
        best_known: float | None = None,
        bound: float | None = None,
    ) -> "Instance":
        """An instance of a problem at hand; the parameters are those of the class.

        Raises
        ------
        ValueError
            If there is no family of this name.

        Examples
        --------
        >>> from margin.solvers import bench
        >>> cover = bench.Cover.of(3, [[0, 1], [1, 2], [2]], [2, 2, 1])
        >>> bench.Instance.of(cover, name="mine", family="cover", best_known=3.0, bound=3.0).proved
        True
        """
        return cls(
            name=name,
            family=_family(family),
            size=size,
            make=_Held(problem),
            best_known=best_known,
            bound=bound,
        )

    @cached_property
    def problem(self) -> Any:
        """The problem, as the family's solvers take it."""
        return self.make()

    @cached_property
    def model(self) -> Model:
        """The problem as arrays; see `Model`."""
        return self.family.model(self.problem)

    @cached_property
    def digest(self) -> str:
        """16 characters that tell whether two problems are the same; see `digest`.

        They depend on the numbers of the problem alone: not on its name, on what is known of it, on
        the machine, or on the bytes of a file.

        Examples
        --------
        >>> from margin.solvers import bench
        >>> bench.instance("cover-design-7-3-2").digest
        '5bfc23a5c7823f59'
        """
        return digest(self.family.pack(self.problem))

    @property
    def proved(self) -> bool:
        """Whether the best known objective equals the bound, up to a `gap` of 1e-6."""
        return self.bound is not None and abs(self.gap(self.bound)) <= 1e-6

    def check(self, answer: Any) -> Check:
        """Check an answer; see `Family.check`."""
        return self.family.check(self.problem, answer)

    def gap(self, objective: float) -> float:
        """How much worse an objective is than the best known one, relative to its size.

        The size is at least 0.001, as in the rows of a comparison. Negative if the objective is
        better than all that were known; NaN if none is known.
        """
        return gap_to(self.family.sense, objective, self.best_known)

    def statement(self) -> str:
        """The programme of the family in LaTeX."""
        return self.family.statement()

    def to_cvxpy(self) -> Any:
        """The programme as a `cvxpy.Problem`; its only variable holds the columns of `model`."""
        from .models.written import to_cvxpy

        return to_cvxpy(self.model)

    def to_pulp(self) -> Any:
        """The programme as a `pulp.LpProblem`, with the variables x0, x1, ...

        Raises
        ------
        ValueError
            If the programme is not linear.
        """
        from .models.written import to_pulp

        return to_pulp(self.model, self.name)

    def save(self, path: str | Path) -> None:
        """Write the instance to one file, in NumPy's format npz without Python objects."""
        header = {
            "format": _FORMAT,
            "name": self.name,
            "version": self.version,
            "family": self.family.name,
            "size": self.size,
            "best_known": self.best_known,
            "bound": self.bound,
            "proved_by": self.proved_by,
        }
        arrays: dict[str, Any] = dict(self.family.pack(self.problem))
        arrays["header"] = np.frombuffer(json.dumps(header).encode(), np.uint8)
        with Path(path).open("wb") as file:
            np.savez_compressed(file, **arrays)

    def export(self, path: str | Path) -> None:
        """Write the problem to a file that other programs read; the ending names the format.

        ``.mps`` and ``.lp`` hold linear, quadratic and integer programmes, ``.cbf`` also
        exponential cones, and ``.wcnf`` best responses and covers as weighted MaxSAT. Files
        minimise: where the family maximises, they hold the negative of the objective. An LP file
        states the constant of the objective as a last column ``one``, fixed at 1. An existing file
        is replaced.

        Raises
        ------
        ValueError
            If the ending is unknown, or the format cannot hold such a programme.
        RuntimeError
            If the format needs a library that is not installed.
        """
        from .formats.files import export

        export(self, Path(path))


@dataclass(frozen=True)
class _Held:
    """A function that returns a problem at hand; unlike a closure, it can be pickled."""

    problem: Any

    def __call__(self) -> Any:
        return self.problem


def load(path: str | Path) -> Instance:
    """Read an instance that `Instance.save` wrote.

    Raises
    ------
    ValueError
        If the file is no such instance.
    OSError
        If the file cannot be read.
    """
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = dict(file)
        header = json.loads(arrays.pop("header").tobytes())
        known = header.pop("format")
    except (ValueError, KeyError, TypeError, EOFError, AttributeError, zipfile.BadZipFile):
        raise ValueError(
            f"{path} must be an instance written by Instance.save, but it is not; check the path"
        ) from None
    if known != _FORMAT:
        raise ValueError(
            f"{path} has layout {known}, but this version of margin reads layout {_FORMAT}; update "
            "margin"
        )
    family = _family(header.pop("family"))
    return Instance(family=family, make=_Held(family.unpack(arrays)), **header)


def _family(name: str) -> Family:
    """The family of this name; ValueError if there is none."""
    for family in FAMILIES:
        if family.name == name:
            return family
    raise ValueError(
        f"family must be one of {', '.join(family.name for family in FAMILIES)}, but it is "
        f"'{name}'; choose one of these"
    )
