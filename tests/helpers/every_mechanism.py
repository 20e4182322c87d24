"""Every mechanism of the package, on a small domain that suits it."""

import numpy as np

from margin import ApproxDP, Domain, Workload
from margin.mechanisms import (
    MWEM,
    PMW,
    Adaptive,
    AdaptiveGrid,
    Auto,
    Compressive,
    CountSketch,
    DataCubes,
    DiffPart,
    Direct,
    DPCube,
    DPSense,
    DPSenseS,
    DualQuery,
    Dyadic,
    FilterPriority,
    Flat,
    Fourier,
    FourierItems,
    FourierLP,
    GroupAndSmooth,
    Haar,
    Hierarchical,
    HighPass,
    KDTree,
    Learning,
    LevelCounts,
    LogThreshold,
    MatrixMechanism,
    PeeledItems,
    PlainItems,
    PrefixTree,
    PrioritySample,
    PrivBasis,
    PriView,
    QuadTree,
    Residual,
    SampledItems,
    SpanningTree,
    SparseProjection,
    StrongPairs,
    ThresholdSample,
    Uniform,
    UniformGrid,
    Wavelet,
    Zealous,
)
from margin.mechanisms.strategies import (
    EigenDesign,
    LowRank,
    OptimisedMarginals,
    Semidefinite,
    WeightedMarginals,
)
from margin.queries import Conjunctions
from margin.solvers import Greedy, Newton

BITS = Domain(dict.fromkeys("abcdef", 2))
FEW = Domain({"a": 2, "b": 3, "c": 2})
LINE = Domain(
    {
        "x": {"size": 40, "ordered": True},
        "y": {"bins": [0.0, 0.5, 2.25, 7.0], "ordered": True},
    }
)
STEPS = Domain({name: ["north", "south", "end"] for name in "uvw"})
TREE = Domain(
    {"a": 2, "b": {"levels": {"names": ["x", "y"], "paths": [["p", "q"], ["p", "r"], ["s", "t"]]}}}
)
ORDERED = Domain({"a": 2, "x": {"size": 5, "ordered": True}})
PREFIXES = Workload.of(ORDERED, [["a", "x"]], asked={"x": "prefixes"})
ROUGH = ApproxDP("3/2", "1/20")
"""The budget of mechanisms that publish what is frequent enough."""

ALL: list[tuple[Domain, object]] = (
    [
        (BITS, mechanism)
        for mechanism in (
            Adaptive(rounds=1),
            Auto(),
            Compressive(sparsity=6),
            CountSketch(width=7),
            CountSketch(width=5, rows=2, median=False),
            DPSense(grid=[1, 2, 4]),
            DPSenseS(grid=[1, 2, 4], scales=[1, 1.5]),
            DataCubes(),
            DataCubes(precise=200.0),
            DiffPart(fanout=2, threshold=1.0),
            Direct(),
            DualQuery(
                queries=Conjunctions.random(BITS, 3, 40, 1),
                rounds=2,
                samples=3,
                step="1/20",
                response=Greedy(),
                estimate_error=True,
            ),
            Flat(),
            Fourier(),
            FourierItems(k=3),
            FourierLP(),
            GroupAndSmooth(),
            GroupAndSmooth(size=2, share=None),
            Learning(gamma=0.2),
            Learning.paper(gamma=0.2),
            LogThreshold(most=1),
            MWEM(rounds=2, replays=3),
            MatrixMechanism(),
            MatrixMechanism(strategy=EigenDesign()),
            MatrixMechanism(strategy=OptimisedMarginals()),
            MatrixMechanism(strategy=WeightedMarginals()),
            PMW(rounds=2, replays=3),
            PeeledItems(k=2),
            PlainItems(longest=4),
            PriView(views=[["a", "b", "c"], ["c", "d"], ["e", "f", "a"]]),
            PriView(reconstruction=Newton(strength=2.0)),
            SpanningTree(),
            StrongPairs(),
            PriView.paper(),
            PrivBasis(k=4),
            Residual(),
            SampledItems(most=2),
            SparseProjection(dimensions=32),
            SparseProjection(dimensions=9, ones=None),
            Uniform(),
            Zealous(most=1, least=2),
        )
    ]
    + [(STEPS, PrefixTree(theta=2))]
    + [(TREE, LevelCounts()), (TREE, LevelCounts(nonnegative=False))]
    + [(ORDERED, Residual(workload=PREFIXES))]
    + [
        (FEW, MatrixMechanism(strategy=LowRank())),
        (FEW, MatrixMechanism(strategy=Semidefinite())),
    ]
    + [
        (LINE, mechanism)
        for mechanism in (
            AdaptiveGrid(),
            Compressive(sparsity=5, wavelet=True),
            Compressive.paper(sparsity=5),
            DPCube(),
            Dyadic(HighPass(theta=2)),
            Dyadic(HighPass(theta=1), attributes=["x"]),
            FilterPriority(size=30, theta=2),
            Haar(PrioritySample(size=20)),
            Hierarchical(),
            HighPass(theta=3),
            HighPass(target=5, two_sided=True),
            KDTree(),
            KDTree.hybrid(private_levels=1),
            PrioritySample(size=25),
            QuadTree(),
            QuadTree(least_rows=3, nonnegative=False),
            ThresholdSample(tau=4),
            ThresholdSample(target=10),
            UniformGrid(),
            Wavelet(),
        )
    ]
)


def codes_of(domain: Domain, rows: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return np.stack(
        [rng.integers(0, size, rows) ** 2 // size for size in domain.sizes], axis=1
    ).astype(np.int64)
