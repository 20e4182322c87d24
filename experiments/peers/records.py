"""Synthetic records beside those of AIM, MST and SmartNoise: their tables, and a classifier.

Four fifths of the rows are released with rho = 0.0118 of zCDP (for SmartNoise: epsilon 1, delta
1e-9, which it turns into such a rho itself), and as many records are made. The error of a table of
k attributes is the share of the records that would have to change to give the table of the rows.
It is the mean over all pairs and over random triples. A logistic regression learns one attribute
from all others on the records, and is tried on the other fifth of the rows: the area under its ROC
curve. Seconds are of the processor, of all threads, for the release and its records.

AIM and MST are written from their papers on mbi 2.0 (`scripts`), and their records are those
of its `synthetic_data`. SmartNoise runs its own synthesizers with their defaults.
"""

import itertools
import json
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import scipy.optimize
import scipy.stats
from numpy.typing import NDArray

import margin
from experiments.peers import _environments as environments
from experiments.peers._tables import Coded, table
from experiments.tools.pages import page
from experiments.tools.study import Row, bad, good, seed_of, sweep
from margin import Domain

Codes = NDArray[np.int64]

TARGETS = {"Adult-13": "income", "MSNBC-9": "frontpage", "categories": "x9", "tiny": "x5"}
"""The attribute that the classifier learns, by table. It learns whether it has its most frequent
code."""

RHO, EPSILON, DELTA = 0.011785, 1.0, 1e-9
LIMIT = 900.0
"""Processor seconds that a peer may take for one table."""

SEEDS = 3
TRIPLES = 100
"""Number of random sets of three attributes."""

_RIDGE = 1.0
"""Weight of the squares of the logistic regression's coefficients; records have weight one."""

OURS: Mapping[str, Callable[[], Any]] = {"Auto": margin.Auto, "Adaptive": margin.Adaptive}

SMARTNOISE = {"epsilon": EPSILON, "delta": DELTA}
PEERS: Mapping[str, tuple[str, str, dict[str, Any]]] = {
    "AIM": ("mbi", "records", {"algorithm": "aim", "ways": 3, "rounds": 16, "megabytes": 80}),
    "MST": ("mbi", "records", {"algorithm": "mst"}),
    "SmartNoise AIM": ("smartnoise", "smartnoise_records", SMARTNOISE | {"synthesizer": "aim"}),
    "SmartNoise MST": ("smartnoise", "smartnoise_records", SMARTNOISE | {"synthesizer": "mst"}),
}
"""By name: the environment, the script and its options."""

REAL = "the rows themselves"


def run(smoke: bool, out: Path) -> str:
    """Measure what has not been measured yet, and write the page."""
    tables = ("tiny",) if smoke else tuple(name for name in TARGETS if name != "tiny")
    lacking = {} if smoke else environments.prepare(name for name, _, _ in PEERS.values())
    peers = [name for name, (environment, _, _) in PEERS.items() if environment not in lacking]
    methods = (REAL, "Auto") if smoke else (REAL, *OURS, *peers)
    keys = [
        {"table": name, "method": method, "seed": seed}
        for seed, name, method in itertools.product(range(1 if smoke else SEEDS), tables, methods)
    ]
    rows = sweep(out / "rows.csv", measure, keys)
    return page(
        out / "page.md",
        title="Synthetic records beside those of others",
        about=" ".join((__doc__ or "").partition("\n\n")[2].split()),
        rows=_means(good(rows)),
        notes=[*lacking.values(), *bad(rows)],
    )


def measure(table: str, method: str, seed: int) -> dict[str, Any]:
    """The errors, the area under the curve and the seconds of one method."""
    coded = _coded(table)
    rng = np.random.default_rng(seed_of("records", table=table, seed=seed))
    order = rng.permutation(len(coded.rows))
    cut = len(order) * 4 // 5
    learn, test = coded.rows[order[:cut]], coded.rows[order[cut:]]
    made = _made(coded, method, learn, seed)
    records = made.pop("records", None)
    if records is None:
        return made
    sizes = list(coded.sizes.values())
    target = list(coded.sizes).index(TARGETS[table])
    return made | {
        "pairs": _error(sizes, learn, records, 2),
        "triples": _error(sizes, learn, records, 3),
        "area": _area(sizes, target, records, test),
    }


def _coded(name: str) -> Coded:
    found = table(name)
    if found is None:
        raise margin.FileError(f"the file of {name} is missing: set MARGIN_DATA to its folder")
    return found


def _made(coded: Coded, method: str, learn: Codes, seed: int) -> dict[str, Any]:
    """The records of a method, and the seconds that it took."""
    if method == REAL:
        return {"records": learn, "seconds": 0.0}
    own = seed_of("release", method=method, seed=seed)
    if method in OURS:
        names = list(coded.sizes)
        data = {name: learn[:, axis] for axis, name in enumerate(names)}
        started = time.process_time()
        synopsis = margin.simulate(
            data,
            domain=Domain(coded.sizes),
            budget=margin.ZCDP(str(RHO)),
            mechanism=OURS[method](),
            seed=own,
        ).synopsis
        released = time.process_time() - started
        records = synopsis.records(len(learn))
        seconds = time.process_time() - started
        return {"records": records, "release": released, "seconds": seconds}
    return _of_peer(coded, method, learn, own)


def _of_peer(coded: Coded, method: str, learn: Codes, seed: int) -> dict[str, Any]:
    """The records of a peer's script; a note if it was stopped."""
    environment, script, options = PEERS[method]
    python = environments.interpreter(environment, build=True)
    assert python is not None  # it was built
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        task = {
            "attributes": list(coded.sizes),
            "sizes": list(coded.sizes.values()),
            "pure": False,
            "amount": RHO,
            "queries": {},
            "seed": seed % 2**32,
            "options": options,
            "limit": LIMIT,
        }
        (folder / "task.json").write_text(json.dumps(task))
        np.save(folder / "rows.npy", learn.astype(np.int32))
        said = environments.ask(python, script, folder, limit=LIMIT)
        made = folder / "records.npy"
        found = {name: said[name] for name in ("release", "seconds") if name in said}
        if not made.exists():
            return found | {"note": said.get("ended", "no records")}
        return found | {"records": np.load(made)}


def _error(sizes: list[int], rows: Codes, records: Codes, k: int) -> float:
    """The mean distance of tables of k attributes, as a share of the records."""
    every = list(itertools.combinations(range(len(sizes)), k))
    if k == 3 and len(every) > TRIPLES:
        rng = np.random.default_rng(2026)
        every = [every[place] for place in rng.choice(len(every), TRIPLES, replace=False)]
    errors = []
    for axes in every:
        shares = [_shares(sizes, codes, axes) for codes in (rows, records)]
        errors.append(np.abs(shares[0] - shares[1]).sum() / 2)
    return float(np.mean(errors))


def _shares(sizes: list[int], codes: Codes, axes: tuple[int, ...]) -> NDArray[np.float64]:
    shape = tuple(sizes[axis] for axis in axes)
    cells = np.ravel_multi_index(tuple(codes[:, axis] for axis in axes), shape)
    return np.bincount(cells, minlength=int(np.prod(shape))) / len(codes)


def _area(sizes: list[int], target: int, records: Codes, test: Codes) -> float:
    """The area under the ROC curve of a logistic regression that learnt from the records.

    Half means that nothing was learnt, one that all rows are told apart.
    """
    code = int(np.bincount(test[:, target]).argmax())
    offsets = np.cumsum([0, *sizes[:-1]])
    others = [axis for axis in range(len(sizes)) if axis != target]
    columns = sum(sizes)

    def scores(codes: Codes, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        places = codes[:, others] + offsets[others]
        return weights[places].sum(axis=1) + weights[columns]

    # Equal records are one, with a weight.
    distinct, counts = np.unique(records, axis=0, return_counts=True)
    sign = np.where(distinct[:, target] == code, 1.0, -1.0)
    places = distinct[:, others] + offsets[others]

    def loss(weights: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        margins = sign * scores(distinct, weights)
        slope = -counts * sign / (1 + np.exp(np.clip(margins, -500, 500)))
        gradient = np.bincount(
            places.ravel(), np.repeat(slope, len(others)), minlength=columns + 1
        ).astype(np.float64)
        gradient[columns] = slope.sum()
        value = counts @ np.logaddexp(0.0, -margins) + _RIDGE / 2 * (weights @ weights)
        return float(value), gradient + _RIDGE * weights

    found = scipy.optimize.minimize(loss, np.zeros(columns + 1), jac=True, method="L-BFGS-B")
    ranks = scipy.stats.rankdata(scores(test, found.x))
    positive = test[:, target] == code
    count = int(positive.sum())
    above = ranks[positive].sum() - count * (count + 1) / 2
    return float(above / (count * (len(test) - count)))


def _means(rows: list[Row]) -> list[dict[str, Any]]:
    """A line for each table and method: means over the seeds that gave records."""
    lines = []
    for name, method in dict.fromkeys((row["table"], row["method"]) for row in rows):
        some = [row for row in rows if (row["table"], row["method"]) == (name, method)]
        line: dict[str, Any] = {"table": name, "method": method}
        for column in ("pairs", "triples", "area", "release", "seconds"):
            values = [float(row[column]) for row in some if row.get(column)]
            line[column] = float(np.mean(values)) if values else ""
        line["seeds"] = sum(bool(row.get("pairs")) for row in some)
        line["note"] = "; ".join({row["note"] for row in some if row.get("note")})
        lines.append(line)
    return lines
