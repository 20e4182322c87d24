"""Times of two pieces of work as interleaved pairs: ours, theirs, ours, theirs, ...

The two times of a pair are taken one after the other. So what else the machine does, and how warm
it is, changes both alike, and hardly their ratio.
"""

import time
from collections.abc import Callable
from typing import Any

import numpy as np

Call = Callable[[], object]

PAIRS = 5
_LEAST = 0.05
"""Seconds that one measurement takes at least; shorter work is repeated."""


def paired(
    ours: Call, theirs: Call, *, pairs: int = PAIRS, parts: tuple[int, int]
) -> dict[str, Any]:
    """The processor times of one part of each work, and the ratio theirs / ours.

    Both are called once before, which loads their code.

    Parameters
    ----------
    ours, theirs
        The two pieces of work.
    pairs
        The number of pairs.
    parts
        The number of answers that one call of each gives.

    Returns
    -------
    row
        The medians of both times in milliseconds an answer, and the median, the least and the
        largest ratio of a pair.
    """
    calls = (_repeats(ours), _repeats(theirs))
    times = np.array(
        [
            [
                _seconds(work, count) / part
                for work, count, part in zip((ours, theirs), calls, parts, strict=True)
            ]
            for _ in range(pairs)
        ]
    )
    ratios = times[:, 1] / times[:, 0]
    one, other = 1000 * np.median(times, axis=0)
    return {
        "ours ms": float(one),
        "theirs ms": float(other),
        "ratio": float(np.median(ratios)),
        "least": float(ratios.min()),
        "most": float(ratios.max()),
        "pairs": pairs,
    }


def _repeats(work: Call) -> int:
    """How many calls take long enough to be measured, after a call that loads the code."""
    work()
    return max(1, round(_LEAST / _seconds(work, 1)))


def _seconds(work: Call, count: int) -> float:
    """Processor seconds of one of several successive calls."""
    started = time.process_time()
    for _ in range(count):
        work()
    return (time.process_time() - started) / count
