"""Differentially private release of marginals, each mechanism a stated optimisation problem.

>>> import margin
>>> table = {"sex": [0, 1, 1, 0], "smokes": [1, 0, 0, 0]}
>>> synopsis = margin.release(table, domain={"sex": 2, "smokes": 2}, budget=margin.PureDP(1.0))
>>> synopsis.marginal(["smokes", "sex"]).counts.shape
(2, 2)
"""

from . import audit, counting, datasets, designs, noise, queries, sets, solvers, testing
from ._version import __version__
from .attribute import Attribute
from .budget import ZCDP, ApproxDP, Neighbours, PureDP
from .compare import Comparison, compare
from .domain import Domain, View
from .errors import BudgetError, DataError, DomainError, FileError, MarginError, SolverError
from .estimate import from_measurements
from .ledger import Ledger
from .marginal import Marginal
from .mechanisms import (
    MWEM,
    CountSketch,
    DataCubes,
    DiffPart,
    Direct,
    DPSense,
    DPSenseS,
    DualQuery,
    Dyadic,
    EigenDesign,
    FilterPriority,
    Flat,
    Fourier,
    FourierItems,
    FourierLP,
    Haar,
    Hierarchical,
    HighPass,
    Learning,
    LowRank,
    MatrixMechanism,
    OptimisedMarginals,
    PeeledItems,
    PlainItems,
    PrioritySample,
    PrivBasis,
    PriView,
    SampledItems,
    Semidefinite,
    ThresholdSample,
    Uniform,
    Wavelet,
    WeightedMarginals,
)
from .packed import PackedSource, SparseSource
from .plan import Plan, plan
from .private import Private, Strategy
from .release import Mechanism, Simulation, release, simulate
from .source import Source
from .spark import SparkSource
from .sql import Sql
from .store import load
from .synopses import (
    CellSynopsis,
    ColumnCounts,
    ItemsetCounts,
    MarginalSynopsis,
    RecordSynopsis,
    SketchSynopsis,
    TableSynopsis,
    UniformSynopsis,
    ViewSynopsis,
)
from .synopsis import Provenance, Synopsis
from .workload import Workload

__all__ = [
    "MWEM",
    "ZCDP",
    "ApproxDP",
    "Attribute",
    "BudgetError",
    "CellSynopsis",
    "ColumnCounts",
    "Comparison",
    "CountSketch",
    "DPSense",
    "DPSenseS",
    "DataCubes",
    "DataError",
    "DiffPart",
    "Direct",
    "Domain",
    "DomainError",
    "DualQuery",
    "Dyadic",
    "EigenDesign",
    "FileError",
    "FilterPriority",
    "Flat",
    "Fourier",
    "FourierItems",
    "FourierLP",
    "Haar",
    "Hierarchical",
    "HighPass",
    "ItemsetCounts",
    "Learning",
    "Ledger",
    "LowRank",
    "MarginError",
    "Marginal",
    "MarginalSynopsis",
    "MatrixMechanism",
    "Mechanism",
    "Neighbours",
    "OptimisedMarginals",
    "PackedSource",
    "PeeledItems",
    "PlainItems",
    "Plan",
    "PriView",
    "PrioritySample",
    "PrivBasis",
    "Private",
    "Provenance",
    "PureDP",
    "RecordSynopsis",
    "SampledItems",
    "Semidefinite",
    "Simulation",
    "SketchSynopsis",
    "SolverError",
    "Source",
    "SparkSource",
    "SparseSource",
    "Sql",
    "Strategy",
    "Synopsis",
    "TableSynopsis",
    "ThresholdSample",
    "Uniform",
    "UniformSynopsis",
    "View",
    "ViewSynopsis",
    "Wavelet",
    "WeightedMarginals",
    "Workload",
    "__version__",
    "audit",
    "compare",
    "counting",
    "datasets",
    "designs",
    "from_measurements",
    "load",
    "noise",
    "plan",
    "queries",
    "release",
    "sets",
    "simulate",
    "solvers",
    "testing",
]
