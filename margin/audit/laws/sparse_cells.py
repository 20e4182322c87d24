"""Whether a filtered summary of a sparse table keeps each cell with the declared law."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ..._types import Floats, Integers
from ...noise.kept_cells import Keep
from ...privacy.event import Event
from ...private import Cut
from .distributions import kept_counts
from .evidence import Evidence

__all__ = ["SparseTest"]

# Largest number of cells of a table of which each cell is looked at.
_CELLS = 4096

# The cells of a table with this number of cells for each cell that is not empty are nearly all the
# empty ones: the difference cannot be seen in the draws of an audit.
_MANY = 10**6

# Largest number of cells that one word can number.
_LARGEST_WORD = 1 << 62

# Marks a cell that was not kept.
_ABSENT = np.iinfo(np.int64).min

SparseTable = tuple[npt.NDArray[Any], npt.NDArray[Any]]
"""A table by its non-empty cells: their words, shape (cells, words), and counts, shape (cells,)."""


class SparseTest:
    """Compares filtered summaries of sparse tables with their declared law.

    Parameters
    ----------
    evidence
        Receives the statistics.
    """

    def __init__(self, evidence: Evidence) -> None:
        self._evidence = evidence

    def add(
        self,
        event: Event,
        true: SparseTable,
        kept: Any,
    ) -> None:
        """Look at one summary: how many empty cells were kept, and, if the table is small, what was
        kept of each cell."""
        rule, cells = event.about[3], event.about[2]
        words = np.asarray(kept.words)
        if not _is_increasing(words):
            self._evidence.findings.append(
                f"{event.method}: the kept cells are not in increasing order, or a cell occurs "
                "twice. Their order can reveal which cells held rows."
            )
        if not isinstance(rule, Keep | Cut) or not isinstance(cells, int):
            return
        if isinstance(rule, Keep):
            sizes = np.abs(kept.counts) if rule.two_sided else kept.counts
            if (sizes < rule.theta).any():
                self._evidence.findings.append(
                    f"{event.method}: a cell is kept although its noisy count is below theta. Such "
                    "cells were not chosen by their noisy counts."
                )
        self._add_entering(event, rule, cells, true, words)
        if words.shape[1] > 1 or cells > _CELLS:
            return
        table = np.zeros(cells, np.int64)
        table[np.asarray(true[0])[:, 0]] = true[1]
        found = np.full(cells, _ABSENT)
        found[words[:, 0]] = kept.counts
        uniform, expected = self._by_count(event.sampler, rule, table, found)
        expected = np.minimum(expected, 1.0)  # rounding may lift a probability above one
        present = found != _ABSENT
        if isinstance(rule, Cut) and (
            (table[present] < rule.least).any() or (found[present] < rule.threshold).any()
        ):
            self._evidence.findings.append(
                f"{event.method}: an item is published that the rule must drop."
            )
        self._evidence.add_kept(cells, present - expected, expected * (1 - expected))
        for name, chosen in (("empty", table == 0), ("other", table != 0)):
            self._evidence.add_uniform(
                f"{event.method}: counts kept of {name} cells", uniform[chosen]
            )

    def _by_count(
        self,
        sampler: Any,
        rule: Keep | Cut,
        table: Integers,
        found: Integers,
    ) -> tuple[Floats, Floats]:
        """What was kept of each cell as a number that is uniform, and the probability that it was
        kept: two arrays (cells,)."""
        uniform, expected = np.empty(table.size), np.empty(table.size)
        for count in np.unique(table).tolist():
            below, values, chance = kept_counts(sampler, rule, count)
            same = np.flatnonzero(table == count)
            expected[same] = chance
            # Place 0 means that the cell was not kept, and place i a count of values[i - 1].
            places = np.clip(np.searchsorted(values, found[same]) + 1, 1, values.size)
            places = np.where(found[same] == _ABSENT, 0, places)
            edges = np.concatenate([[0.0], below])
            v = self._evidence.random.random(same.size)
            uniform[same] = edges[places] + v * (edges[places + 1] - edges[places])
        return uniform, expected

    def _add_axes(self, method: str, axes: Sequence[Any], words: Integers) -> None:
        """Look at the codes of kept empty cells of a table that has far more cells than rows: on
        each axis they are uniform, and as often even as odd."""
        for place, codes in enumerate(_unpacked(axes, words)):
            nodes = axes[place].nodes
            name = f"{method}: codes of kept empty cells on axis {place + 1}"
            v = self._evidence.random.random(codes.size)
            self._evidence.add_uniform(name, (codes + v) / nodes)
            if nodes % 2 == 0:
                odd = float((1 - 2 * (codes % 2)).sum())
                self._evidence.add_sum(f"{name}, odd or even,", odd, codes.size, codes.size)

    def _add_entering(
        self,
        event: Event,
        rule: Keep | Cut,
        cells: int,
        true: SparseTable,
        words: Integers,
    ) -> None:
        """Look at the number of kept empty cells: binomial, with a variance below its mean."""
        held = {tuple(word) for word in np.asarray(true[0]).tolist()}
        new = sum(tuple(word) not in held for word in words.tolist())
        if isinstance(rule, Keep) and cells > _MANY * max(len(held), 1):
            empty = np.array([tuple(word) not in held for word in words.tolist()], np.bool_)
            axes: Any = event.about[1]
            self._add_axes(event.method, axes, words[empty])
        p = kept_counts(event.sampler, rule, 0)[2]
        expected = (cells - len(held)) * p
        name = f"{event.method}: numbers of kept empty cells"
        self._evidence.add_sum(name, new - expected, expected + 1e-9, 1)


def _unpacked(axes: Sequence[Any], words: Integers) -> list[Integers]:
    """The code of each cell on each axis, arrays (cells,). A word is the number of the cell in the
    table of as many consecutive axes as one word can number, the last axis varying fastest."""
    groups: list[list[int]] = [[]]
    for axis in axes:
        if math.prod(groups[-1]) * axis.nodes > _LARGEST_WORD:
            groups.append([])
        groups[-1].append(axis.nodes)
    codes = []
    for word, group in zip(words.T, groups, strict=True):
        rest, some = word, []
        for nodes in reversed(group):
            some.append(rest % nodes)
            rest = rest // nodes
        codes += some[::-1]
    return codes


def _is_increasing(words: Integers) -> bool:
    """True if each cell comes after the one before it, in the order of all their words, the first
    word first."""
    before, after = words[:-1], words[1:]
    # The first word in which a cell differs from the one before it; 0 if the cells are equal.
    place = (before != after).argmax(axis=1)[:, None]
    larger = np.take_along_axis(after, place, 1) > np.take_along_axis(before, place, 1)
    return bool(larger.all())
