# The public names and the modules that define them. Add a new public name here, to an import and to
# `__all__`. Type checkers read this file; `__init__.py` imports each name from it on first use.

from . import (
    audit,
    counting,
    data,
    datasets,
    designs,
    errors,
    mechanisms,
    metrics,
    noise,
    private,
    queries,
    report,
    solvers,
    synopses,
    testing,
)
from ._version import __version__
from .bases.given import PublicTable
from .compare import Comparison, compare
from .data.source import Source
from .data.sql import Sql
from .domain.attribute import Attribute
from .domain.domain import Domain, View
from .domain.marginal import Marginal
from .domain.workload import Workload
from .errors import (
    BudgetError,
    BudgetSpentError,
    DataError,
    DomainError,
    FileError,
    LedgerLockedError,
    MarginError,
    ResourceError,
    SolverError,
    TryAgainError,
)
from .interrupts.progress import progress
from .mechanisms import (
    MWEM,
    Adaptive,
    Auto,
    DPSense,
    DualQuery,
    HighPass,
    MatrixMechanism,
    PriView,
    Residual,
)
from .plan import Plan, plan
from .privacy.budget import ZCDP, ApproxDP, Neighbours, PureDP
from .privacy.conversion import epsilon_of, rho_of
from .privacy.ledger import Ledger
from .privacy.odds import budget_of_factor
from .privacy.statement import Bound, Statement
from .private import Private, Strategy
from .release import Mechanism, release, simulate
from .signature import keygen, sign, verify
from .simulation import Simulation
from .store import load
from .synopses.estimate import from_measurements
from .synopses.synopsis import Provenance, Synopsis

__all__ = [
    "MWEM",
    "ZCDP",
    "Adaptive",
    "ApproxDP",
    "Attribute",
    "Auto",
    "Bound",
    "BudgetError",
    "BudgetSpentError",
    "Comparison",
    "DPSense",
    "DataError",
    "Domain",
    "DomainError",
    "DualQuery",
    "FileError",
    "HighPass",
    "Ledger",
    "LedgerLockedError",
    "MarginError",
    "Marginal",
    "MatrixMechanism",
    "Mechanism",
    "Neighbours",
    "Plan",
    "PriView",
    "Private",
    "Provenance",
    "PublicTable",
    "PureDP",
    "Residual",
    "ResourceError",
    "Simulation",
    "SolverError",
    "Source",
    "Sql",
    "Statement",
    "Strategy",
    "Synopsis",
    "TryAgainError",
    "View",
    "Workload",
    "__version__",
    "audit",
    "budget_of_factor",
    "compare",
    "counting",
    "data",
    "datasets",
    "designs",
    "epsilon_of",
    "errors",
    "from_measurements",
    "keygen",
    "load",
    "mechanisms",
    "metrics",
    "noise",
    "plan",
    "private",
    "progress",
    "queries",
    "release",
    "report",
    "rho_of",
    "sign",
    "simulate",
    "solvers",
    "synopses",
    "testing",
    "verify",
]
