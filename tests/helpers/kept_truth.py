"""A gate that keeps the true integers, for tests of one noisy number."""

import numpy as np

from margin import PureDP
from margin.private import Private

# With so large a budget the noise is zero but with probability below 1e-300.
FREE = PureDP(10**6)


class KeptTruth(Private):
    """Keeps what goes to the noise."""

    def _answer(self, events, true, draw):
        assert all(one.dtype == np.int64 for one in true)
        self.true = [one.tolist() for one in true]
        return super()._answer(events, true, draw)
