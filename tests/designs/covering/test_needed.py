"""The blocks that are kept are those of the plain search, one block after the other."""

from collections.abc import Sequence

import numpy as np
import pytest

from margin.designs.covering.redundant_blocks import needed
from margin.designs.types import Integers


def plain(held: Sequence[Integers], total: int) -> list[int]:
    """Try all blocks; those that alone hold few things are tried first."""
    counts = np.zeros(total, np.int64)
    for numbers in held:
        counts[numbers] += 1
    alone = [int((counts[numbers] == 1).sum()) for numbers in held]
    kept = set(range(len(held)))
    for i in sorted(kept, key=alone.__getitem__):
        if (counts[held[i]] > 1).all():
            counts[held[i]] -= 1
            kept.remove(i)
    return sorted(kept)


@pytest.mark.parametrize("seed", range(40))
def test_needed_blocks_are_those_of_the_plain_search(seed: int) -> None:
    rng = np.random.default_rng(seed)
    total = int(rng.integers(1, 60))
    most = min(total, 8)
    held = [
        rng.choice(total, int(rng.integers(0, most + 1)), replace=False)
        for _ in range(int(rng.integers(0, 40)))
    ]
    assert needed(held, total) == plain(held, total)
