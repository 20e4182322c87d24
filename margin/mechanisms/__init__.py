"""The mechanisms, one class a file."""

from .adaptive import Adaptive
from .auto import Auto
from .count_sketch import CountSketch
from .data_cubes import DataCubes
from .diffpart import DiffPart
from .direct import Direct
from .dpsense import DPSense, DPSenseS
from .dualquery import DualQuery
from .dyadic import Dyadic
from .eigen_design import EigenDesign
from .filter_priority import FilterPriority
from .flat import Flat
from .fourier import Fourier
from .fourier_lp import FourierLP
from .haar import Haar
from .hierarchical import Hierarchical
from .high_pass import HighPass
from .item_counts import FourierItems, PeeledItems, PlainItems, SampledItems
from .learning import Learning
from .low_rank import LowRank
from .matrix_mechanism import MatrixMechanism
from .mwem import MWEM
from .optimised_marginals import OptimisedMarginals
from .priority_sample import PrioritySample
from .privbasis import PrivBasis
from .priview import PriView
from .residual import Residual
from .semidefinite import Semidefinite
from .threshold_sample import ThresholdSample
from .uniform import Uniform
from .wavelet import Wavelet
from .weighted_marginals import WeightedMarginals

__all__ = [
    "MWEM",
    "Adaptive",
    "Auto",
    "CountSketch",
    "DPSense",
    "DPSenseS",
    "DataCubes",
    "DiffPart",
    "Direct",
    "DualQuery",
    "Dyadic",
    "EigenDesign",
    "FilterPriority",
    "Flat",
    "Fourier",
    "FourierItems",
    "FourierLP",
    "Haar",
    "Hierarchical",
    "HighPass",
    "Learning",
    "LowRank",
    "MatrixMechanism",
    "OptimisedMarginals",
    "PeeledItems",
    "PlainItems",
    "PriView",
    "PrioritySample",
    "PrivBasis",
    "Residual",
    "SampledItems",
    "Semidefinite",
    "ThresholdSample",
    "Uniform",
    "Wavelet",
    "WeightedMarginals",
]
