"""The compiled loops of greedy covers against the plain ones."""

from itertools import combinations

import numpy as np
import pytest

from margin.designs.covering import greedy


@pytest.mark.parametrize(
    ("count", "t", "max_cells", "share"),
    [(2, 2, 1000, 1.0), (12, 2, 64, 1.0), (12, 3, 200, 0.3), (9, 4, 3000, 1.0), (40, 2, 300, 0.5)],
)
def test_compiled_covers_equal_the_plain_ones(monkeypatch, count, t, max_cells, share):
    rng = np.random.default_rng(count)
    sizes = rng.integers(2, 6, count).tolist()
    sets = [one for one in combinations(range(count), t) if rng.random() < share]
    covers = []
    for seconds in (0.0, np.inf):
        # From this time of numpy on, the loops are used; nothing else loads them in between.
        monkeypatch.setattr(greedy, "LOADING_SECONDS", seconds)
        monkeypatch.setattr(greedy, "compiler_pays", lambda module, seconds: False)
        rngs = [np.random.default_rng([7, place]) for place in range(3)]
        covers.append(greedy.greedy_covers_within(sets, sizes, max_cells, rngs))
    assert covers[0] == covers[1]
    for blocks in covers[0]:
        assert all(any(set(one) <= set(block) for block in blocks) for one in sets)


def test_more_blocks_than_one_call_has_room_for(monkeypatch):
    monkeypatch.setattr(greedy, "STEPS", 5)
    sets = list(combinations(range(12), 2))
    rngs = [np.random.default_rng(1)]
    monkeypatch.setattr(greedy, "LOADING_SECONDS", 0.0)
    (blocks,) = greedy.greedy_covers_within(sets, [3] * 12, 9, rngs)
    assert blocks == sets
