"""Views that are counted as sums of a joined table."""

import itertools

import numpy as np
import pytest

from margin import Domain
from margin.counting import CountPlan, compiled


@pytest.mark.parametrize("sizes", [(3,) * 7, (2, 3, 1, 5, 4, 2, 3), (40, 3, 40, 5, 30, 2)])
@pytest.mark.parametrize("order", [1, 2, 3])
@pytest.mark.parametrize("threads", [1, 2])
def test_joined_views_have_the_counts_of_each_view(sizes, order, threads, monkeypatch):
    """Whole batches are joined: views that lack one attribute of a joint are sums of it."""
    monkeypatch.setattr(compiled, "_WORTH_JOINING", 1)
    rng = np.random.default_rng(5)
    domain = Domain({f"a{i}": size for i, size in enumerate(sizes)})
    views = list(itertools.combinations(domain.attributes, order))
    views += [tuple(reversed(view)) for view in views[:2]]
    columns = {name: rng.integers(0, domain[name].size, 9000) for name in domain}
    counts = np.zeros(sum(map(domain.cells, views)), np.int64)
    kernel = compiled.Compiled(domain, views, counts, threads=threads)
    kernel._distinct = None
    kernel.add(columns, 9000)
    kernel.add(columns, 9000)
    kernel.flush()
    plain = CountPlan(domain, views)
    plain.accumulate(columns)
    expected = np.concatenate([table.ravel() for table in plain.tables])
    assert counts.tolist() == (2 * expected).tolist()
    if sizes == (3,) * 7 and order > 1:
        assert len(kernel._joined.views) > len(views) // 2
