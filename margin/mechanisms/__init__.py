"""The mechanisms of `margin.release`; `strategies` has the strategies of `MatrixMechanism` too."""

from .choosing.adaptive import Adaptive
from .choosing.auto import Auto
from .choosing.residual import Residual
from .choosing.strong_pairs import StrongPairs
from .choosing.tree import SpanningTree
from .items.diffpart import DiffPart
from .items.dpsense import DPSense, DPSenseS
from .items.group_and_smooth import GroupAndSmooth
from .items.item_counts import FourierItems, PeeledItems, PlainItems, SampledItems
from .items.privbasis import PrivBasis
from .items.thresholds import LogThreshold, Zealous
from .learning.dualquery import DualQuery
from .learning.mwem import MWEM
from .learning.pmw import PMW
from .learning.polynomial import Learning
from .ordered.hierarchical import Hierarchical
from .ordered.level_counts import LevelCounts
from .ordered.wavelet import Wavelet
from .sparse.count_sketch import CountSketch
from .sparse.dyadic import Dyadic
from .sparse.filter_priority import FilterPriority
from .sparse.haar import Haar
from .sparse.high_pass import HighPass
from .sparse.prefix_tree import PrefixTree
from .sparse.priority_sample import PrioritySample
from .sparse.sparse_projection import SparseProjection
from .sparse.threshold_sample import ThresholdSample
from .spatial.dpcube import DPCube
from .spatial.grids import AdaptiveGrid, UniformGrid
from .spatial.kd_tree import KDTree
from .spatial.quad_tree import QuadTree
from .strategies import DataCubes, MatrixMechanism
from .tables.compressive import Compressive
from .tables.direct import Direct
from .tables.flat import Flat
from .tables.fourier import Fourier
from .tables.fourier_lp import FourierLP
from .tables.uniform import Uniform
from .views.priview import PriView

__all__ = [
    "MWEM",
    "PMW",
    "Adaptive",
    "AdaptiveGrid",
    "Auto",
    "Compressive",
    "CountSketch",
    "DPCube",
    "DPSense",
    "DPSenseS",
    "DataCubes",
    "DiffPart",
    "Direct",
    "DualQuery",
    "Dyadic",
    "FilterPriority",
    "Flat",
    "Fourier",
    "FourierItems",
    "FourierLP",
    "GroupAndSmooth",
    "Haar",
    "Hierarchical",
    "HighPass",
    "KDTree",
    "Learning",
    "LevelCounts",
    "LogThreshold",
    "MatrixMechanism",
    "PeeledItems",
    "PlainItems",
    "PrefixTree",
    "PriView",
    "PrioritySample",
    "PrivBasis",
    "QuadTree",
    "Residual",
    "SampledItems",
    "SpanningTree",
    "SparseProjection",
    "StrongPairs",
    "ThresholdSample",
    "Uniform",
    "UniformGrid",
    "Wavelet",
    "Zealous",
]
