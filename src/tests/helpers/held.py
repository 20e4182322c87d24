"""Cells of a table as the methods of sparse summaries take them: in memory, or as they come from a
cluster."""

import numpy as np

from margin.private.cell_counts import Counted


def held(words, counts=None):
    """Cells in memory; one row in each, when no counts are given."""
    words = np.array(words, np.int64)
    return Counted(
        words, np.ones(len(words), np.int64) if counts is None else np.asarray(counts, np.int64)
    )


class Scattered:
    """The same cells two or three at a time, in another order each time."""

    def __init__(self, cells):
        self.cells, self.number, self.seed = cells, cells.number, 0

    def blocks(self):
        self.seed += 1
        order = np.random.default_rng(self.seed).permutation(self.number)
        for some in np.array_split(order, self.number // 2 or 1) if self.number else ():
            yield self.cells.words[some], self.cells.counts[some]

    def close(self):
        pass
