"""The tables and queries that the experiments share, and the measures of error."""

import sys
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from margin import DataError, Domain, FileError, Marginal, datasets
from margin.datasets import Dataset

Study = Dataset


def kosarak(rows: int | None = None) -> Dataset:
    """The 32 most visited pages of Kosarak if available, else clicks from latent classes."""
    found = _at_hand(datasets.kosarak)
    if found is None:
        return clicks(32, rows or 100_000)
    return (
        found
        if rows is None
        else replace(found, data=found.data.slice(0, rows), note=f"its first {rows:,} rows")
    )


def msnbc() -> Dataset | None:
    """The nine most visited categories of MSNBC, or None if the file is missing."""
    return _at_hand(datasets.msnbc)


def adult() -> Dataset | None:
    """Adult with its fifteen columns, the numeric ones in declared bins, or None if the file is
    missing.
    """
    return _at_hand(datasets.adult)


def clicks(attributes: int, rows: int, seed: int = 1) -> Dataset:
    """Made-up clicks from a few latent tastes, with popular and rare pages."""
    return datasets.click_stream(attributes, rows=rows, seed=seed)


def queries(domain: Domain, k: int, count: int, seed: int = 2026) -> list[tuple[str, ...]]:
    """Random views of k attributes."""
    rng = np.random.default_rng(seed + k)
    return [
        tuple(
            domain.attributes[axis]
            for axis in sorted(rng.choice(len(domain), k, replace=False).tolist())
        )
        for _ in range(count)
    ]


def error(answer: Marginal, truth: Marginal) -> float:
    """The L2 distance divided by the number of rows."""
    return float(np.linalg.norm(answer.counts - truth.counts) / truth.total)


def uniform_error(truth: Marginal) -> float:
    """The error of an answer whose cells are all equal."""
    return float(np.linalg.norm(truth.counts - truth.total / truth.counts.size) / truth.total)


def _at_hand(load: Callable[..., Dataset]) -> Dataset | None:
    """A published table from MARGIN_DATA or the cache.

    Experiments download nothing and report missing tables.
    """
    try:
        return load(download=False)
    except (FileError, DataError) as error:
        print(f"{load.__name__}: {error}", file=sys.stderr)
        return None
