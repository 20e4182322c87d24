"""A table of every kind of column, and what its views count to: the same for every engine."""

from collections import Counter

import numpy as np
import pyarrow as pa

from margin import Domain


def example(seed, attributes, rows):
    """A domain, an Arrow table that fits it with a column `person` beside, and some views."""
    rng = np.random.default_rng(seed)
    forms, columns = {}, {}
    for place in range(attributes):
        name = f"x {place}`." if place == 3 else f"x{place}"
        forms[name], columns[name] = KINDS[int(rng.integers(len(KINDS)))](rng, rows)
    columns["person"] = pa.array(rng.integers(0, max(rows // 4, 1), rows))
    domain = Domain(forms)
    some = [domain.attributes[:1], domain.attributes[-1:]]
    some += [
        tuple(rng.choice(domain.attributes, min(3, attributes), replace=False)) for _ in range(4)
    ]
    return domain, pa.table(columns), list(dict.fromkeys(tuple(map(str, view)) for view in some))


def by_hand(domain, table, views):
    """The tables of the views, a value at a time."""
    columns = {
        name: [attribute.code(value) for value in table[name].to_pylist()]
        for name, attribute in domain.items()
    }
    tables = []
    for view in views:
        seen = Counter(zip(*(columns[name] for name in view), strict=True))
        table_of_view = np.zeros(domain.shape(view), np.int64)
        for cell, times in seen.items():
            table_of_view[cell] = times
        tables.append(table_of_view)
    return tables


def assert_equal(found, expected):
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        assert one.dtype == np.int64
        assert np.array_equal(one, other)


def _some_null(rng, values, rows):
    return [None if rng.random() < 0.2 else value for value in rng.choice(values, rows).tolist()]


def _codes(rng, rows):
    size = int(rng.choice([1, 2, 2, 5, 300]))
    return size, pa.array(rng.integers(0, size, rows), pa.int32())


def _wild_codes(rng, rows):
    """Codes, nulls, and values that are none; their categories are listed."""
    return {"size": 4, "other": 3, "missing": 0}, pa.array(
        _some_null(rng, [-3, 0, 1, 2, 3, 9, 2**40], rows), pa.int64()
    )


def _flags(rng, rows):
    return 2, pa.array(rng.random(rows) < 0.3)


def _truths(rng, rows):
    return {"values": [False, True], "missing": "?"}, pa.array(
        _some_null(rng, [True, False], rows), pa.bool_()
    )


def _texts(rng, rows):
    values = ["a", "b c", "é", 'q"', "ß'"]
    return {"values": values, "other": "else", "missing": "?"}, pa.array(
        _some_null(rng, [*values, "ü", "0"], rows), pa.string()
    )


def _numbers(rng, rows):
    return {"values": [10, 20, 30], "other": "else", "missing": "?"}, pa.array(
        _some_null(rng, [10, 20, 30, 41], rows), pa.int16()
    )


def _bins(rng, rows):
    return {"bins": [None, 0, 0.5, 7, None]}, pa.array(rng.normal(0, 4, rows))


def _whole_bins(rng, rows):
    return {"bins": [0, 18, 65, 120], "other": "out", "missing": "?"}, pa.array(
        _some_null(rng, [-1, 0, 18, 64, 120, 121], rows), pa.int64()
    )


KINDS = [_codes, _wild_codes, _flags, _truths, _texts, _numbers, _bins, _whole_bins]
