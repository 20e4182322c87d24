"""Systems of the survey: frequent queries of a log, sequences, and queries asked one by one.

Three studies on made-up tables, each near the comparison of its paper. Logs: how many queries
`LogThreshold` and `Zealous` publish, with our thresholds and with the papers' (Korolova et al., WWW
2009; Goetz et al., TKDE 2012). Sequences: the error of `PrefixTree` for sets of places and for
prefixes (Chen, Fung and Desai 2011). Online: the error of `PMW` beside one noisy count for each
query (Hardt and Rothblum, FOCS 2010).
"""

import itertools
import math
import time
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

import margin
from experiments.tools.pages import Claim, page
from experiments.tools.study import Row, bad, good, seed_of, sweep
from margin import MWEM, ApproxDP, HighPass, PureDP
from margin.mechanisms import PMW, Direct, LogThreshold, PrefixTree, SampledItems, Zealous

DELTA = "1e-7"
MOST = (1, 5, 20)
"""Numbers of queries that a log keeps."""
LEAST = 20
"""The first threshold of `Zealous`."""
PLACES = 17
STEPS = 8
LOGS = ("LogThreshold", "LogThreshold.paper", "Zealous.paper", "noise on all")
TREES = ("PrefixTree", "not consistent", "paper threshold", "HighPass")
ONLINE = ("PMW", "PMW.paper", "MWEM", "Direct")
SIZES = (8, 6, 6, 5, 4, 3, 2, 2)
"""Categories of the attributes of the online study."""

Integers = NDArray[np.int64]


def run(smoke: bool, out: Path) -> str:
    """Run the studies; write rows.csv and page.md."""
    runs = 1 if smoke else 5
    size = 0 if smoke else 1
    cases = [("log", method, str(most)) for most in MOST for method in LOGS]
    epsilons = ("1",) if smoke else ("0.1", "0.5", "1")
    cases += [("sequences", method, epsilon) for epsilon in epsilons for method in TREES]
    online = ("0.1",) if smoke else ("0.02", "0.05", "0.1", "0.5")
    cases += [("online", method, epsilon) for epsilon in online for method in ONLINE]
    keys = [
        {"study": study, "method": method, "parameter": parameter, "size": size, "run": run}
        for study, method, parameter in cases
        for run in range(runs)
    ]
    rows = sweep(out / "rows.csv", measure, keys)
    done = good(rows)
    return page(
        out / "page.md",
        title="Systems of the survey",
        about=f"Made-up tables; mean of {runs} runs. Logs: epsilon 1, delta {DELTA}; the parameter "
        "is the number of queries that a log keeps. Others: pure, the parameter is epsilon.",
        claims=_claims(done),
        rows=_table(done, cases),
        notes=bad(rows),
    )


def measure(study: str, method: str, parameter: str, size: int, run: int) -> dict[str, Any]:
    """Make one release; return its errors."""
    seed = seed_of(study, method, parameter, run)
    started = time.process_time()
    find = {"log": _log, "sequences": _sequence_errors, "online": _online}[study]
    found = find(method, parameter, size, seed)
    return {**found, "seconds": round(time.process_time() - started, 3)}


# Queries of a log


def _log(method: str, parameter: str, size: int, seed: int) -> dict[str, Any]:
    """How many queries are published, and how far the counts of the most frequent are off."""
    matrix = logs(size)
    users, items = matrix.shape
    most = int(parameter)
    budget: Any = ApproxDP(1, DELTA)
    mechanism: Any = {
        "LogThreshold": LogThreshold(most=most),
        "LogThreshold.paper": LogThreshold.paper(budget, most=most),
        "Zealous.paper": Zealous.paper(budget, most=most, least=LEAST, users=users),
        "noise on all": SampledItems(most=most),
    }[method]
    if method == "noise on all":
        budget = PureDP(1)
    synopsis = margin.simulate(
        matrix, domain={"query": items}, budget=budget, mechanism=mechanism, seed=seed
    ).synopsis
    # Noise on all queries: at most one query that nobody asked is expected to pass.
    threshold = synopsis.parameters.get("threshold", most * math.log(items / 2))
    published = synopsis.counts >= threshold
    truth = np.asarray(matrix.sum(axis=0, dtype=np.int64)).ravel()
    top = np.argsort(-truth, kind="stable")[:50]
    return {
        "threshold": round(threshold, 1),
        "published": int((published & (truth > 0)).sum()),
        "nobody's": int((published & (truth == 0)).sum()),
        "error": float(np.abs(synopsis.counts[top] - truth[top]).mean()),
    }


@lru_cache(maxsize=1)
def logs(size: int) -> Any:
    """Logs of queries: heavy-tailed sizes, and popularity that is a power of the rank."""
    users, items = (40_000, 100_000) if size else (2000, 2000)
    rng = np.random.default_rng(seed_of("logs", size))
    sizes = 1 + np.minimum(rng.pareto(1.6, users) * 12, 1000).astype(np.int64)
    popularity = 1 / (np.arange(items) + 3) ** 0.9
    steps = np.cumsum(popularity / popularity.sum())
    chosen = np.searchsorted(steps, rng.random(int(sizes.sum()))).clip(0, items - 1)
    ends = np.concatenate([[0], np.cumsum(sizes)])
    matrix = scipy.sparse.csr_matrix(
        (np.ones(chosen.size, np.int8), chosen, ends), shape=(users, items)
    )
    matrix.sum_duplicates()
    matrix.data[:] = 1
    return matrix


# Sequences


def _sequence_errors(method: str, parameter: str, size: int, seed: int) -> dict[str, Any]:
    """The relative error of the number of sequences that visit some places, and the error of
    prefixes."""
    codes = _sequences(size)
    labels = [*map(str, range(PLACES)), "end"]
    # The paper's threshold is two standard deviations of the noise of a level.
    two_deviations = math.ceil(2 * math.sqrt(2) * STEPS / float(parameter))
    mechanism: Any = {
        "PrefixTree": PrefixTree(),
        "not consistent": PrefixTree(consistent=False),
        "paper threshold": PrefixTree(theta=two_deviations, consistent=False),
        "HighPass": HighPass(target=1000),
    }[method]
    synopsis = margin.simulate(
        codes,
        domain={f"step{number}": labels for number in range(STEPS)},
        budget=PureDP(parameter),
        mechanism=mechanism,
        seed=seed,
    ).synopsis
    kept, _, weights = synopsis.cells()
    rng = np.random.default_rng(1)
    visits = []
    prefixes = []
    for _ in range(200):
        places = rng.choice(PLACES, rng.integers(1, 4), replace=False)
        truth, answer = (
            np.all([(table == place).any(axis=1) for place in places], axis=0)
            for table in (codes, kept)
        )
        true = int(truth.sum())
        # The sanity bound of the paper is 0.1 % of the sequences.
        visits.append(abs(weights[answer].sum() - true) / max(true, 0.001 * len(codes)))
        row = codes[rng.integers(len(codes)), : rng.integers(1, 6)]
        inside = (codes[:, : row.size] == row).all(axis=1).sum()
        answered = weights[(kept[:, : row.size] == row).all(axis=1)].sum()
        prefixes.append(abs(answered - inside))
    return {
        "kept": len(kept),
        "error": float(np.mean(visits)),
        "prefix error": float(np.mean(prefixes)),
    }


@lru_cache(maxsize=1)
def _sequences(size: int) -> Integers:
    """Sequences of visits from a Markov chain with few likely moves from each place."""
    rows = 100_000 if size else 5000
    rng = np.random.default_rng(seed_of("sequences", size))
    moves = rng.dirichlet(np.full(PLACES, 0.15), PLACES).cumsum(axis=1)
    now = rng.choice(PLACES, rows, p=rng.dirichlet(np.full(PLACES, 0.3)))
    codes = np.full((rows, STEPS), PLACES)
    going = np.ones(rows, np.bool_)
    for step in range(STEPS):
        codes[going, step] = now[going]
        going &= rng.random(rows) < 0.8
        drawn = (rng.random(rows)[:, None] > moves[now]).sum(axis=1)
        now = np.minimum(drawn, PLACES - 1)
    return codes


# Queries one by one


def _online(method: str, parameter: str, size: int, seed: int) -> dict[str, Any]:
    """The mean and the largest error of one of the methods of the study."""
    mechanism: Any = {
        "PMW": PMW(replays=20),
        "PMW.paper": PMW.paper(),
        "MWEM": MWEM(replays=20),
        "Direct": Direct(),
    }[method]
    return online_errors(mechanism, parameter, size, seed)


def online_errors(mechanism: Any, parameter: str, size: int, seed: int) -> dict[str, Any]:
    """The mean and the largest error of all cells of all marginals of three attributes."""
    sizes = SIZES if size else SIZES[:4]
    codes = _people(size)
    domain = margin.Domain({f"a{number}": count for number, count in enumerate(sizes)})
    workload = margin.Workload.all_kway(domain, 3)
    simulated = margin.simulate(
        codes,
        domain=domain,
        budget=PureDP(parameter),
        mechanism=mechanism,
        workload=workload,
        seed=seed,
    )
    largest = 0.0
    errors = []
    answers = simulated.synopsis.marginals(workload)
    for view, answer in zip(itertools.combinations(range(len(sizes)), 3), answers, strict=True):
        truth = np.zeros([sizes[axis] for axis in view])
        np.add.at(truth, tuple(codes[:, view].T), 1)
        gaps = np.abs(answer.counts - truth) / len(codes)
        errors.append(gaps.ravel())
        largest = max(largest, float(gaps.max()))
    together = np.concatenate(errors)
    return {"queries": together.size, "error": float(together.mean()), "largest": largest}


@lru_cache(maxsize=1)
def _people(size: int) -> Integers:
    """Rows of a mixture of eight kinds of people, each with its own tastes."""
    sizes = SIZES if size else SIZES[:4]
    rows = 10_000 if size else 1000
    rng = np.random.default_rng(seed_of("people", size))
    kind = rng.choice(8, rows, p=rng.dirichlet(np.ones(8)))
    columns = []
    for count in sizes:
        steps = rng.dirichlet(np.full(count, 0.4), 8).cumsum(axis=1)
        drawn = (rng.random(rows)[:, None] > steps[kind]).sum(axis=1)
        columns.append(np.minimum(drawn, count - 1))
    return np.stack(columns, axis=1).astype(np.int64)


# The page


def _mean(rows: list[Row], column: str, study: str, method: str, parameter: str) -> float:
    wanted = (study, method, parameter)
    chosen = [row for row in rows if (row["study"], row["method"], row["parameter"]) == wanted]
    numbers = [float(row[column]) for row in chosen if row.get(column)]
    return float(np.mean(numbers)) if numbers else math.nan


def _table(rows: list[Row], cases: list[tuple[str, str, str]]) -> list[dict[str, Any]]:
    columns = (
        "threshold",
        "published",
        "nobody's",
        "kept",
        "error",
        "prefix error",
        "largest",
        "seconds",
    )
    table = []
    for study, method, parameter in cases:
        means = {column: _mean(rows, column, study, method, parameter) for column in columns}
        shown = {name: "" if math.isnan(mean) else mean for name, mean in means.items()}
        table.append({"study": study, "method": method, "parameter": parameter, **shown})
    return table


def _claims(rows: list[Row]) -> list[Claim]:
    """Each system against the other methods of its comparison."""
    claims = []
    for study, ours, others, column, larger in (
        ("log", "LogThreshold", LOGS[1:3], "threshold", False),
        ("log", "LogThreshold", LOGS[3:], "published", True),
        ("sequences", "PrefixTree", TREES[1:], "prefix error", False),
        ("sequences", "PrefixTree", TREES[1:], "error", False),
        ("online", "PMW", ("Direct", "PMW.paper"), "error", False),
    ):
        parameters = sorted({row["parameter"] for row in rows if row["study"] == study}, key=float)
        for other, parameter in itertools.product(others, parameters):
            own, rival = (_mean(rows, column, study, name, parameter) for name in (ours, other))
            claims.append(
                Claim(
                    claim=f"{study}, {parameter}: {ours} beats {other} in {column}",
                    measured=f"{own:.4g} against {rival:.4g}",
                    holds=own >= rival if larger else own <= rival,
                )
            )
    return claims
