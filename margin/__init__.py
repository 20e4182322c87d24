"""Differentially private release of marginals, each mechanism a stated optimisation problem.

>>> import margin
>>> table = {"sex": [0, 1, 1, 0], "smokes": [1, 0, 0, 0]}
>>> synopsis = margin.release(table, domain={"sex": 2, "smokes": 2}, budget=margin.PureDP(1.0))
>>> synopsis.marginal(["smokes", "sex"]).counts.shape
(2, 2)
"""

from . import audit, designs, noise, solvers, testing
from ._version import __version__
from .attribute import Attribute
from .budget import ZCDP, ApproxDP, Neighbours, PureDP
from .domain import Domain, View
from .errors import BudgetError, DataError, DomainError, FileError, MarginError, SolverError
from .ledger import Ledger
from .marginal import Marginal
from .mechanisms import PriView
from .private import Private
from .release import Mechanism, Simulation, release, simulate
from .source import Source
from .store import load
from .synopses import ViewSynopsis
from .synopsis import Provenance, Synopsis
from .workload import Workload

__all__ = [
    "ZCDP",
    "ApproxDP",
    "Attribute",
    "BudgetError",
    "DataError",
    "Domain",
    "DomainError",
    "FileError",
    "Ledger",
    "MarginError",
    "Marginal",
    "Mechanism",
    "Neighbours",
    "PriView",
    "Private",
    "Provenance",
    "PureDP",
    "Simulation",
    "SolverError",
    "Source",
    "Synopsis",
    "View",
    "ViewSynopsis",
    "Workload",
    "__version__",
    "audit",
    "designs",
    "load",
    "noise",
    "release",
    "simulate",
    "solvers",
    "testing",
]
