"""Generated tables of many characters, by family; a family is used to fit or to validate, never
for both."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from experiments.peers._tables import Coded

Codes = NDArray[np.int64]

Generator = Callable[[np.random.Generator, int], tuple[list[int], Codes]]
"""From a source of random numbers and the number of a draw: the sizes of the attributes, and the
rows, shape (rows, attributes)."""

DRAWS = 4
"""Number of tables of a family."""


@dataclass(frozen=True, kw_only=True)
class Family:
    """A kind of table.

    Attributes
    ----------
    make
        The generator.
    fits
        Whether constants are fitted on its tables. All others validate.
    """

    make: Generator
    fits: bool


def generated(family: str, draw: int) -> Coded:
    """One table of a family of FAMILIES, the same for the same arguments."""
    place = list(FAMILIES).index(family)
    rng = np.random.default_rng([place, draw])
    sizes, rows = FAMILIES[family].make(rng, draw)
    names = {f"x{axis}": size for axis, size in enumerate(sizes)}
    return Coded(sizes=names, rows=rows.astype(np.int64), note=f"{family}, draw {draw}")


def _picked(rng: np.random.Generator, rates: NDArray[np.float64], kinds: Codes) -> Codes:
    """A random category for each row; `rates` has shape (kinds, categories)."""
    edges = np.cumsum(rates, axis=1)
    marks = rng.random(len(kinds)) * edges[kinds, -1]
    return np.minimum((marks[:, None] > edges[kinds]).sum(axis=1), rates.shape[1] - 1)


def _mixed_sizes(rng: np.random.Generator, count: int, least: int, most: int) -> list[int]:
    """Sizes that are spread evenly on a logarithmic scale."""
    drawn = np.exp(rng.uniform(math.log(least), math.log(most + 1), count))
    return [int(size) for size in np.clip(drawn, least, most)]


def _mixture(
    rng: np.random.Generator, sizes: list[int], rows: int, classes: int, concentration: float
) -> Codes:
    kinds = _picked(rng, rng.dirichlet(np.ones(classes))[None], np.zeros(rows, np.int64))
    columns = []
    for size in sizes:
        rates = rng.dirichlet(np.full(size, concentration), classes)
        columns.append(_picked(rng, rates, kinds))
    return np.column_stack(columns)


def _network(
    rng: np.random.Generator, sizes: list[int], rows: int, parents: int, concentration: float
) -> Codes:
    """A Bayesian network: each attribute depends on up to `parents` attributes before it."""
    columns: list[Codes] = []
    for place, size in enumerate(sizes):
        count = min(parents, place)
        kinds = np.zeros(rows, np.int64)
        total = 1
        for parent in rng.choice(place, count, replace=False) if count else []:
            kinds = kinds * sizes[parent] + columns[parent]
            total *= sizes[parent]
        base = rng.dirichlet(np.full(size, 2.0))
        rates = rng.dirichlet(concentration * size * base + 1e-3, total)
        columns.append(_picked(rng, rates, kinds))
    return np.column_stack(columns)


def _bit_mixture(rng: np.random.Generator, draw: int) -> tuple[list[int], Codes]:
    sizes = [2] * (12, 16, 24, 20)[draw]
    rows = (100_000, 20_000, 50_000, 5_000)[draw]
    return sizes, _mixture(rng, sizes, rows, (3, 8, 6, 15)[draw], 0.5)


def _mixed_mixture(rng: np.random.Generator, draw: int) -> tuple[list[int], Codes]:
    sizes = _mixed_sizes(rng, (8, 12, 22, 14)[draw], 2, (20, 8, 12, 30)[draw])
    rows = (20_000, 50_000, 8_000, 100_000)[draw]
    return sizes, _mixture(rng, sizes, rows, (4, 10, 6, 20)[draw], 0.4)


def _bit_network(rng: np.random.Generator, draw: int) -> tuple[list[int], Codes]:
    sizes = [2] * (14, 23, 18, 10)[draw]
    rows = (50_000, 30_000, 10_000, 100_000)[draw]
    return sizes, _network(rng, sizes, rows, (2, 3, 2, 4)[draw], 0.6)


def _mixed_network(rng: np.random.Generator, draw: int) -> tuple[list[int], Codes]:
    sizes = _mixed_sizes(rng, (10, 14, 9, 12)[draw], 2, (12, 10, 60, 20)[draw])
    rows = (40_000, 60_000, 1_500, 10_000)[draw]
    return sizes, _network(rng, sizes, rows, (1, 2, 1, 2)[draw], (0.5, 1.0, 0.5, 2.0)[draw])


def _tastes(rng: np.random.Generator, draw: int) -> tuple[list[int], Codes]:
    """Clicks: each person has a taste and an activity, and pages differ in popularity."""
    pages, rows = (32, 24, 16, 28)[draw], (60_000, 100_000, 8_000, 25_000)[draw]
    popularity = np.minimum(0.6, (0.5, 0.3, 0.6, 0.1)[draw] / np.arange(1, pages + 1) ** 0.7)
    tastes = rng.lognormal(0, 1.0, (10, pages))
    kinds = rng.integers(0, 10, rows)
    rates = popularity * tastes[kinds] * rng.gamma(1.0, 1.0, (rows, 1))
    return [2] * pages, (rng.random((rows, pages)) < np.minimum(rates, 0.95)).astype(np.int64)


def _rare_items(rng: np.random.Generator, draw: int) -> tuple[list[int], Codes]:
    """Purchases: items are rare, and a few bundles are bought together."""
    items, rows = (32, 20, 32, 26)[draw], (90_000, 30_000, 20_000, 200_000)[draw]
    rates = np.minimum(0.3, (0.08, 0.05, 0.12, 0.03)[draw] / np.arange(1, items + 1) ** 0.5)
    bought = rng.random((rows, items)) < rates
    for _ in range(6):
        bundle = rng.choice(items, 3, replace=False)
        lucky = rng.random(rows) < rng.uniform(0.001, 0.01)
        bought[np.ix_(lucky, bundle)] |= rng.random((int(lucky.sum()), 3)) < 0.7
    return [2] * items, bought.astype(np.int64)


def _few_rows_wide(rng: np.random.Generator, draw: int) -> tuple[list[int], Codes]:
    """Few rows, some attributes of very many categories, along a tree."""
    sizes = _mixed_sizes(rng, (9, 8, 11, 7)[draw], 2, (91, 50, 40, 120)[draw])
    rows = (1_304, 4_000, 2_500, 10_000)[draw]
    return sizes, _network(rng, sizes, rows, 1, (0.3, 0.5, 0.2, 1.0)[draw])


def _weak_survey(rng: np.random.Generator, draw: int) -> tuple[list[int], Codes]:
    """Many small attributes of which each depends weakly on a latent factor."""
    count, rows = (40, 24, 30, 18)[draw], (19_000, 8_000, 50_000, 3_000)[draw]
    sizes = _mixed_sizes(rng, count, 2, (7, 5, 4, 9)[draw])
    latent = rng.normal(size=(rows, 2))
    columns = []
    for size in sizes:
        score = latent @ rng.normal(0, 0.4, 2) + rng.normal(size=rows)
        edges = np.sort(rng.normal(0, 1, size - 1))
        columns.append(np.searchsorted(edges, score))
    return sizes, np.column_stack(columns)


def _skewed(rng: np.random.Generator, draw: int) -> tuple[list[int], Codes]:
    """Independent categories, of which a few are frequent."""
    sizes = _mixed_sizes(rng, (10, 18, 30, 8)[draw], 2, (20, 8, 5, 60)[draw])
    rows = (40_000, 9_000, 70_000, 2_500)[draw]
    columns = []
    for size in sizes:
        shares = rng.dirichlet(np.full(size, (0.5, 1.0, 0.3, 0.7)[draw]))
        columns.append(_picked(rng, shares[None], np.zeros(rows, np.int64)))
    return sizes, np.column_stack(columns)


def _rare_flags(rng: np.random.Generator, draw: int) -> tuple[list[int], Codes]:
    """Diagnoses: rare flags that depend on age, if on anything."""
    flags, rows = (36, 20, 48, 28)[draw], (60_000, 15_000, 120_000, 4_000)[draw]
    age, sex = rng.integers(0, 6, rows), rng.integers(0, 2, rows)
    base = rng.lognormal(-4.0, 1.2, flags)
    slope = rng.uniform(0, (0.6, 0.3, 0.4, 0.8)[draw], flags)
    rates = np.minimum(0.8, base * np.exp(slope * age[:, None]))
    return [6, 2] + [2] * flags, np.column_stack([age, sex, rng.random((rows, flags)) < rates])


def _standard_forms(rng: np.random.Generator, draw: int) -> tuple[list[int], Codes]:
    """Copies of a few standard rows, with errors."""
    count, rows = (14, 10, 18, 12)[draw], (25_000, 4_000, 60_000, 90_000)[draw]
    sizes = _mixed_sizes(rng, count, 2, (5, 8, 3, 12)[draw])
    kinds = (2, 4, 6, 3)[draw]
    forms = np.column_stack([rng.integers(0, size, kinds) for size in sizes])
    kind = _picked(rng, rng.dirichlet(np.full(kinds, 0.6))[None], np.zeros(rows, np.int64))
    other = np.column_stack([rng.integers(0, size, rows) for size in sizes])
    wrong = rng.random((rows, count)) < (0.02, 0.05, 0.01, 0.1)[draw]
    return sizes, np.where(wrong, other, forms[kind])


def _questionnaire(rng: np.random.Generator, draw: int) -> tuple[list[int], Codes]:
    """A questionnaire: two of three questions are skipped after some answers to the third."""
    rows, count = (20_000, 60_000, 3_000, 100_000)[draw], (12, 16, 9, 20)[draw]
    sizes = _mixed_sizes(rng, count, 3, (8, 5, 12, 4)[draw])
    columns: list[Codes] = []
    for place, size in enumerate(sizes):
        shares = rng.dirichlet(np.ones(size - 1))[None]
        answer = 1 + _picked(rng, shares, np.zeros(rows, np.int64))
        filter_place = place - place % 3
        if place > filter_place:
            shown = rng.random(sizes[filter_place]) < 0.6
            answer = np.where(shown[columns[filter_place]], answer, 0)
        columns.append(answer)
    return sizes, np.column_stack(columns)


def _places(rng: np.random.Generator, draw: int) -> tuple[list[int], Codes]:
    """A place of many categories, on which half of the other attributes depend."""
    rows, count = (30_000, 10_000, 100_000, 5_000)[draw], (80, 30, 50, 20)[draw]
    place = _picked(rng, rng.dirichlet(np.full(count, 0.4))[None], np.zeros(rows, np.int64))
    sizes, columns = [count], [place]
    others = _mixed_sizes(rng, (7, 10, 6, 14)[draw], 2, (10, 6, 20, 4)[draw])
    for number, size in enumerate(others):
        base = rng.dirichlet(np.ones(size))
        rates = rng.dirichlet(base * size * (3 if number % 2 else 200) + 1e-2, count)
        columns.append(_picked(rng, rates, place))
        sizes.append(size)
    return sizes, np.column_stack(columns)


# Families that validate.


def _chains(rng: np.random.Generator, draw: int) -> tuple[list[int], Codes]:
    """Bits of which each depends on the number of ones among the bits before it."""
    count, rows = (16, 20, 32, 12)[draw], (50_000, 10_000, 80_000, 4_000)[draw]
    order = (1, 3, 2, 4)[draw]
    bits = rng.integers(0, 2, (rows, order))
    for _ in range(count):
        rate = 0.5 + 0.4 * (1 - 2 * bits[:, -order:].mean(axis=1))
        bits = np.column_stack([bits, rng.random(rows) < rate])
    return [2] * count, bits[:, order:]


def _copula(rng: np.random.Generator, draw: int) -> tuple[list[int], Codes]:
    """Ordered categories of correlated normal numbers."""
    count, rows = (14, 8, 10, 16)[draw], (50_000, 20_000, 5_000, 30_000)[draw]
    sizes = _mixed_sizes(rng, count, 2, (10, 16, 25, 6)[draw])
    loadings = rng.normal(0, 1, (3, count)) * (0.8, 1.5, 0.5, 1.0)[draw]
    scores = rng.normal(size=(rows, 3)) @ loadings + rng.normal(size=(rows, count))
    columns = []
    for axis, size in enumerate(sizes):
        cuts = np.cumsum(rng.dirichlet(np.full(size, 1.5)))[:-1]
        columns.append(np.searchsorted(np.quantile(scores[:, axis], cuts), scores[:, axis]))
    return sizes, np.column_stack(columns)


def _codes_by_level(rng: np.random.Generator, draw: int) -> tuple[list[int], Codes]:
    """Levels of a code, each a function of the next, beside attributes that depend on them."""
    leaves = (48, 24, 60, 36)[draw]
    rows = (40_000, 10_000, 100_000, 5_000)[draw]
    leaf = _picked(rng, rng.dirichlet(np.full(leaves, 0.4))[None], np.zeros(rows, np.int64))
    columns, sizes = [leaf // 12, leaf // 4, leaf], [-(-leaves // 12), -(-leaves // 4), leaves]
    for size in _mixed_sizes(rng, (5, 6, 4, 8)[draw], 2, 8):
        parent = int(rng.integers(0, len(columns)))
        rates = rng.dirichlet(np.full(size, 0.6), sizes[parent])
        columns.append(_picked(rng, rates, columns[parent]))
        sizes.append(size)
    return sizes, np.column_stack(columns)


def _functions(rng: np.random.Generator, draw: int) -> tuple[list[int], Codes]:
    """Bits of which some are functions of two or three others, with errors."""
    free, made = ((8, 8), (12, 10), (10, 6), (14, 4))[draw]
    rows = (50_000, 20_000, 5_000, 100_000)[draw]
    bits = (rng.random((rows, free)) < rng.uniform(0.15, 0.85, free)).astype(np.int64)
    for place in range(made):
        parents = rng.choice(bits.shape[1], 2 + place % 2, replace=False)
        table = rng.integers(0, 2, 2 ** len(parents))
        value = table[bits[:, parents] @ (1 << np.arange(len(parents)))]
        wrong = rng.random(rows) < 0.05
        bits = np.column_stack([bits, value ^ wrong])
    return [2] * (free + made), bits


def _independent_clicks(rng: np.random.Generator, draw: int) -> tuple[list[int], Codes]:
    count, rows = (60, 30, 24, 40)[draw], (50_000, 20_000, 100_000, 5_000)[draw]
    rates = rng.beta(0.5, (6, 10, 2, 4)[draw], count)
    return [2] * count, (rng.random((rows, count)) < rates).astype(np.int64)


def _uniform(rng: np.random.Generator, draw: int) -> tuple[list[int], Codes]:
    sizes = _mixed_sizes(rng, (10, 16, 8, 24)[draw], 2, (8, 4, 20, 2)[draw])
    rows = (50_000, 10_000, 3_000, 50_000)[draw]
    return sizes, np.column_stack([rng.integers(0, size, rows) for size in sizes])


def _concentrated(rng: np.random.Generator, draw: int) -> tuple[list[int], Codes]:
    """Nearly all rows are equal; the others differ in a few attributes at once."""
    count, rows = (12, 16, 10, 20)[draw], (20_000, 50_000, 3_000, 30_000)[draw]
    sizes = _mixed_sizes(rng, count, 2, (6, 3, 10, 4)[draw])
    other = rng.random((rows, 1)) < (0.0, 0.05, 0.1, 0.2)[draw]
    kinds = rng.integers(0, 30, rows)
    kept = rng.random((30, count)) < 0.7
    values = np.column_stack([rng.integers(0, size, 30) for size in sizes])
    return sizes, np.where(other & ~kept[kinds], values[kinds], 0)


def _shops(rng: np.random.Generator, draw: int) -> tuple[list[int], Codes]:
    """Baskets: the kind of customer decides departments, departments decide rare items."""
    items, rows = (32, 24, 28, 18)[draw], (88_000, 40_000, 15_000, 150_000)[draw]
    department = np.arange(items) % 6
    visits = rng.random((rows, 6)) < rng.beta(1, 3, (5, 6))[rng.integers(0, 5, rows)]
    rates = rng.beta(1, (12, 8, 25, 15)[draw], items)
    return [2] * items, (visits[:, department] & (rng.random((rows, items)) < rates)).astype(
        np.int64
    )


def _records(rng: np.random.Generator, draw: int) -> tuple[list[int], Codes]:
    """A register: age, region and so on, with zeros for children and with skewed sizes."""
    rows = (30_000, 8_000, 1_300, 120_000)[draw]
    age = rng.integers(0, 9, rows)
    region = _picked(
        rng, rng.dirichlet(np.full((16, 40, 91, 24)[draw], 0.5))[None], np.zeros(rows, np.int64)
    )
    sex = rng.integers(0, 2, rows)
    school = np.minimum(age, 2) + (age > 2) * rng.integers(0, 4, rows)
    work = np.where(age < 2, 0, 1 + (rng.random(rows) < 0.15) + (age > 6))
    income = np.where(work == 1, np.clip(school + rng.integers(0, 3, rows), 0, 7), 0)
    married = ((age > 2) & (rng.random(rows) < 0.6)).astype(np.int64)
    children = np.where(married == 1, rng.integers(0, 4, rows), rng.random(rows) < 0.1)
    columns = [age, region, sex, school, work, income, married, children]
    sizes = [9, int(region.max()) + 1, 2, 6, 4, 8, 2, 4]
    for size in _mixed_sizes(rng, (2, 4, 1, 6)[draw], 2, 6):
        parent = int(rng.integers(0, len(columns)))
        rates = rng.dirichlet(np.full(size, 1.0), sizes[parent])
        columns.append(_picked(rng, rates, columns[parent]))
        sizes.append(size)
    return sizes, np.column_stack(columns)


FAMILIES: dict[str, Family] = {
    "mixture of bits": Family(make=_bit_mixture, fits=True),
    "mixture of categories": Family(make=_mixed_mixture, fits=True),
    "network of bits": Family(make=_bit_network, fits=True),
    "network of categories": Family(make=_mixed_network, fits=True),
    "clicks by taste": Family(make=_tastes, fits=True),
    "rare items": Family(make=_rare_items, fits=True),
    "few rows": Family(make=_few_rows_wide, fits=True),
    "weak survey": Family(make=_weak_survey, fits=True),
    "chain of bits": Family(make=_chains, fits=False),
    "ordered categories": Family(make=_copula, fits=False),
    "levels of a code": Family(make=_codes_by_level, fits=False),
    "functions of bits": Family(make=_functions, fits=False),
    "independent clicks": Family(make=_independent_clicks, fits=False),
    "uniform": Family(make=_uniform, fits=False),
    "concentrated": Family(make=_concentrated, fits=False),
    "shops": Family(make=_shops, fits=False),
    "register": Family(make=_records, fits=False),
    # New families come last: the place of a family is in the seed of its tables.
    "skewed shares": Family(make=_skewed, fits=True),
    "rare flags": Family(make=_rare_flags, fits=True),
    "standard forms": Family(make=_standard_forms, fits=True),
    "questionnaire": Family(make=_questionnaire, fits=True),
    "places": Family(make=_places, fits=True),
}
