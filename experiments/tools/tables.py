"""The tables and queries that the experiments share, and the measures of error."""

import sys
from collections.abc import Callable

import numpy as np
import pyarrow as pa

from margin import DataError, Domain, FileError, Marginal, datasets
from margin.datasets import Dataset

Study = Dataset

GENERATED = ", generated"
"""The end of the name of a generated table that stands for a published one.

Rows are recorded under this name, so that they never mix with those of the published table.
"""


def kosarak() -> Dataset:
    """The 32 most visited pages of Kosarak if available, else `generated_kosarak`."""
    found = _at_hand(datasets.kosarak)
    if found is None:
        _warn("Kosarak")
        return generated_kosarak()
    return found


def generated_kosarak() -> Dataset:
    """Made-up clicks that stand for Kosarak where its file is missing."""
    return clicks(32, 100_000)


def msnbc() -> Dataset | None:
    """The nine most visited categories of MSNBC, or None if the file is missing."""
    return _at_hand(datasets.msnbc)


def generated_msnbc() -> Dataset:
    """Made-up clicks that stand for MSNBC where its file is missing."""
    return clicks(9, 989_818)


def recorded(name: str, load: Callable[..., Dataset]) -> str:
    """The name under which a study records its rows of a published table.

    It is `name` if `load` finds the file, and `name` with GENERATED otherwise. A warning then says
    that a generated table is measured.
    """
    if _at_hand(load) is not None:
        return name
    _warn(load.__name__.capitalize())
    return name + GENERATED


def published(name: str) -> str:
    """The published table that a recorded name is about: the name without GENERATED."""
    return name.removesuffix(GENERATED)


def adult() -> Dataset | None:
    """Adult with its fifteen columns, the numeric ones in declared bins, or None if the file is
    missing.
    """
    return _at_hand(datasets.adult)


def clicks(attributes: int, rows: int, seed: int = 1) -> Dataset:
    """Made-up clicks from a few latent tastes, with popular and rare pages."""
    return datasets.click_stream(attributes, rows=rows, seed=seed)


def copies(attributes: int, rows: int, share: float, seed: int = 1) -> Dataset:
    """Binary attributes that depend strongly on each other.

    In a share of the rows an attribute equals a random earlier one; else it is a fair coin.
    """
    rng = np.random.default_rng(seed)
    table = rng.integers(0, 2, (rows, attributes))
    for place in range(1, attributes):
        source = rng.integers(0, place)
        same = rng.random(rows) < share
        table[same, place] = table[same, source]
    columns = {f"a{place}": table[:, place] for place in range(attributes)}
    domain = Domain(dict.fromkeys(columns, 2))
    return Dataset(name=f"copies-{attributes}", data=pa.table(columns), domain=domain)


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


def _warn(name: str) -> None:
    print(
        f"{name} is not here; a GENERATED table is measured instead; put the file into MARGIN_DATA",
        file=sys.stderr,
    )


def _at_hand(load: Callable[..., Dataset]) -> Dataset | None:
    """A published table from MARGIN_DATA or the cache.

    Experiments download nothing and report missing tables.
    """
    try:
        return load(download=False)
    except (FileError, DataError) as error:
        print(f"{load.__name__}: {error}", file=sys.stderr)
        return None
