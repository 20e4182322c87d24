"""Compiled loops of `LevelTree.nonnegative`, for one column."""

import numpy as np

from ..compiled import compiled
from ..types import Floats, Integers

__all__ = ["nonnegative"]


@compiled
def nonnegative(
    sizes: Integers,
    starts: Integers,
    first: Integers,
    measured: Floats,
    variances: Floats,
) -> Floats:
    """Solve the problem of `LevelTree.nonnegative`; returns the leaves.

    Parameters
    ----------
    sizes
        The number of nodes of each level.
    starts
        The first child of each node in the next level, for all levels but the last, one after
        another.
    first
        The first leaf of each node, for all levels, one after another.
    measured
        The measurements, for all levels, one after another.
    variances
        The variance of each level.
    """
    levels = sizes.size
    leaves = sizes[levels - 1]
    offsets = np.zeros(levels + 1, np.int64)
    for level in range(levels):
        offsets[level + 1] = offsets[level] + sizes[level]
    # For each level and leaf a breakpoint of t(m) of the node that holds the leaf, sorted by m, and
    # the slope of t after it.
    points = np.empty((levels, leaves))
    slopes = np.empty((levels, leaves))
    merged = np.empty(leaves)
    slope_changes = np.empty(leaves)
    own = variances[levels - 1]
    for leaf in range(leaves):
        points[levels - 1, leaf] = -measured[offsets[levels - 1] + leaf] / own
        slopes[levels - 1, leaf] = own
        slope_changes[leaf] = own

    for level in range(levels - 2, -1, -1):
        for node in range(sizes[level]):
            low = first[offsets[level] + node]
            high = leaves
            if node + 1 < sizes[level]:
                high = first[offsets[level] + node + 1]
            # The slopes of the children add up: sort their breakpoints.
            order = np.argsort(points[level + 1, low:high])
            for place in range(high - low):
                merged[low + place] = points[level + 1, low + order[place]]
                slopes[level, low + place] = slope_changes[low + order[place]]
            # The measurement moves each breakpoint by (t - y) / s.
            value = measured[offsets[level] + node]
            total = 0.0
            slope = 0.0
            before = 0.0
            for place in range(low, high):
                if place > low:
                    total += slope * (merged[place] - merged[place - 1])
                points[level, place] = merged[place] + (total - value) / variances[level]
                slope += slopes[level, place]
                combined = 1 / (1 / slope + 1 / variances[level])
                slope_changes[place] = combined - before
                slopes[level, place] = combined
                before = combined

    # Downwards: each node's number from its multiplier, and the multiplier of its children.
    multipliers = np.zeros(sizes[0])
    numbers = np.empty(0)
    for level in range(levels):
        numbers = np.empty(sizes[level])
        for node in range(sizes[level]):
            low = first[offsets[level] + node]
            high = leaves
            if node + 1 < sizes[level]:
                high = first[offsets[level] + node + 1]
            goal = multipliers[node]
            total = 0.0
            for place in range(low, high):
                if points[level, place] >= goal:
                    break
                end = goal
                if place + 1 < high and points[level, place + 1] < goal:
                    end = points[level, place + 1]
                total += slopes[level, place] * (end - points[level, place])
            numbers[node] = total
        if level + 1 < levels:
            below = np.empty(sizes[level + 1])
            for node in range(sizes[level]):
                begin = starts[offsets[level] + node]
                stop = sizes[level + 1]
                if node + 1 < sizes[level]:
                    stop = starts[offsets[level] + node + 1]
                value = measured[offsets[level] + node]
                passed = multipliers[node] - (numbers[node] - value) / variances[level]
                if numbers[node] <= 0:
                    passed = -np.inf
                for child in range(begin, stop):
                    below[child] = passed
            multipliers = below
    return numbers
