"""The tables and queries that the experiments share."""

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet

from margin import Domain, Marginal


@dataclass(frozen=True, kw_only=True)
class Study:
    """A table with its domain and where it is from."""

    name: str
    data: "Path | pa.Table"
    domain: Domain
    note: str = ""


def kosarak(rows: int | None = None) -> Study:
    """The 32 most visited pages of Kosarak (first 100,000 records), or clicks from latent classes in their place."""
    path = _real("kosarak32_first100k.parquet")
    if path is None:
        return clicks(32, rows or 100_000)
    table = pyarrow.parquet.read_table(path)
    domain = Domain(dict.fromkeys(table.column_names, 2))
    return Study(name="Kosarak-32", data=table if rows is None else table.slice(0, rows), domain=domain)


def msnbc() -> Study | None:
    """The nine most visited categories of MSNBC, if at hand."""
    path = _real("msnbc9.parquet")
    if path is None:
        return None
    return Study(name="MSNBC-9", data=path, domain=Domain(dict.fromkeys(pyarrow.parquet.read_schema(path).names, 2)))


def adult() -> Study | None:
    """Adult with its fifteen raw columns, the numeric ones in declared bins, if at hand."""
    path = _real("adult_raw.parquet")
    if path is None:
        return None
    table = pyarrow.parquet.read_table(path)
    bins = {
        "age": [None, 25, 35, 45, 55, 65, None],
        "fnlwgt": [None, 100_000, 200_000, 300_000, None],
        "capital-gain": [None, 1, 5_000, 10_000, None],
        "capital-loss": [None, 1, 1_500, 2_000, None],
        "hours-per-week": [None, 20, 35, 40, 41, 50, None],
    }
    # The categories are those that the publisher's description lists; they are read from the file for brevity.
    attributes = {
        name: {"bins": bins[name]} if name in bins else {"values": sorted(set(table[name].to_pylist())), "missing": "?"}
        for name in table.column_names
    }
    return Study(name="Adult-15", data=path, domain=Domain(attributes))


def clicks(attributes: int, rows: int, seed: int = 1) -> Study:
    """Made-up clicks: a few latent tastes, popular and rare pages."""
    rng = np.random.default_rng(seed)
    taste = rng.integers(0, 12, rows)
    rate = 0.6 / np.arange(1, attributes + 1) ** 0.9 * np.exp(rng.normal(0, 1.2, (12, attributes)))
    clicked = rng.random((rows, attributes)) < 1 - np.exp(-rate[taste] * np.exp(rng.normal(-0.5, 1.0, (rows, 1))))
    columns = {f"page{place}": clicked[:, place].astype(np.uint8) for place in range(attributes)}
    domain = Domain(dict.fromkeys(columns, 2))
    return Study(name=f"clicks-{attributes}", data=pa.table(columns), domain=domain, note="generated, not real")


def queries(domain: Domain, k: int, count: int, seed: int = 2026) -> list[tuple[str, ...]]:
    """Random views of k attributes."""
    rng = np.random.default_rng(seed + k)
    return [
        tuple(domain.attributes[axis] for axis in sorted(rng.choice(len(domain), k, replace=False).tolist()))
        for _ in range(count)
    ]


def error(answer: Marginal, truth: Marginal) -> float:
    """The L2 distance divided by the number of rows."""
    return float(np.linalg.norm(answer.counts - truth.counts) / truth.total)


def uniform_error(truth: Marginal) -> float:
    """The error of answering every cell alike."""
    return float(np.linalg.norm(truth.counts - truth.total / truth.counts.size) / truth.total)


def _real(name: str) -> Path | None:
    folder = os.environ.get("MARGIN_DATA")
    path = Path(folder) / name if folder else None
    return path if path is not None and path.exists() else None
