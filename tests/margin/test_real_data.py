"""Releases of real tables, from the file to the answers, and of generated tables."""

import itertools

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

import margin
from margin import Domain, PriView, PureDP
from margin.designs import covering_design

ADULT = {
    "age": {"bins": [None, 25, 35, 45, 55, 65, None]},
    "fnlwgt": {"bins": [None, 100_000, 200_000, 300_000, None]},
    "capital-gain": {"bins": [None, 1, 5_000, 10_000, None]},
    "capital-loss": {"bins": [None, 1, 1_500, 2_000, None]},
    "hours-per-week": {"bins": [None, 20, 35, 40, 41, 50, None]},
}


def binary(path):
    return Domain(dict.fromkeys(pyarrow.parquet.read_schema(path).names, 2))


def adult(path):
    """The domain: the categories listed in the public description of the data set."""
    table = pyarrow.parquet.read_table(path)
    return Domain(
        {
            name: ADULT.get(name)
            or {"values": sorted(set(table[name].to_pylist()) - {None}), "missing": "?"}
            for name in table.column_names
        }
    )


def blocks(domain, k):
    return [
        [domain.attributes[a] for a in block] for block in covering_design(len(domain), k, 2).blocks
    ]


def generated(tmp_path, sizes, rows, seed):
    """Attributes that depend on a latent class, as a Parquet file."""
    rng = np.random.default_rng(seed)
    latent = rng.integers(0, 6, rows)
    columns = {}
    for place, size in enumerate(sizes):
        centre = rng.integers(0, size, 6)[latent]
        columns[f"x{place}"] = np.where(
            rng.random(rows) < 0.6, centre, (rng.random(rows) ** 2 * size).astype(int)
        )
    path = tmp_path / "generated.parquet"
    pyarrow.parquet.write_table(pa.table(columns), path)
    return path, Domain({f"x{place}": size for place, size in enumerate(sizes)})


def check(path, domain, views, better, tmp_path):
    """Release, save, load and ask for 50 random 4-way marginals.

    The error must be smaller than the error of `Uniform` by a factor of `better`.
    """
    mechanism = PriView(views=views)
    margin.release(path, domain=domain, budget=PureDP(1), mechanism=mechanism).save(
        tmp_path / "out.margin"
    )
    synopsis = margin.load(tmp_path / "out.margin")
    rng = np.random.default_rng(2026)
    queries = [
        tuple(sorted(rng.choice(domain.attributes, 4, replace=False).tolist())) for _ in range(50)
    ]
    truths = margin.simulate(
        path, domain=domain, budget=PureDP(1), mechanism=mechanism, seed=1
    ).truths(queries)
    total = truths[0].total
    error = [
        np.linalg.norm(synopsis.marginal(q).counts - t.counts) / total
        for q, t in zip(queries, truths, strict=True)
    ]
    uniform = [np.linalg.norm(truth.counts - total / truth.counts.size) / total for truth in truths]
    assert np.mean(error) * better < np.mean(uniform)


@pytest.mark.parametrize(
    ("name", "better"),
    [
        ("kosarak32_first100k.parquet", 50),
        ("msnbc9.parquet", 10),
        pytest.param("adult_raw.parquet", 5, marks=pytest.mark.slow),
    ],
)
def test_real_tables(real_data, tmp_path, name, better):
    path = real_data / name
    if not path.exists():
        pytest.skip(f"{name} is not in MARGIN_DATA")
    domain = adult(path) if name.startswith("adult") else binary(path)
    views = None if name.startswith("adult") else blocks(domain, 8 if len(domain) == 32 else 6)
    assert views is None or len(views) == {32: 20, 9: 3}[len(domain)]
    check(path, domain, views, better, tmp_path)


@pytest.mark.parametrize(
    ("sizes", "better"),
    [((2,) * 16, 8), ((2,) * 9, 8), ((6, 3, 2, 9, 4, 2, 5, 12, 2, 7), 3)],
    ids=["32", "9", "mixed"],
)
def test_generated_tables(tmp_path, sizes, better):
    path, domain = generated(tmp_path, sizes, 60_000, 3)
    check(path, domain, None, better, tmp_path)


def test_every_pair_is_within_a_chosen_view(tmp_path):
    path, domain = generated(tmp_path, (6, 3, 2, 9, 4, 2, 5, 12, 2, 7), 100, 3)
    synopsis = margin.release(path, domain=domain, budget=PureDP(1), mechanism=PriView())
    held = [set(view) for view in synopsis.names]
    assert all(any({a, b} <= view for view in held) for a, b in itertools.combinations(domain, 2))
