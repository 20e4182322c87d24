"""`Recoded`: a release whose categories were renamed or put together after it."""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...domain.level_views import level_view
from ...domain.marginal import Marginal
from ...domain.recoding.changes import Changes
from ...domain.recoding.grouped_view import GroupedView
from ...domain.recoding.recoding import Recoding
from ...domain.where import Chosen
from ...domain.workload import Workload
from ...errors import DomainError, FileError
from ..agreeing import agreed
from ..counts.count import Count
from ..counts.sums import Sums
from ..source import Source
from ..synopsis import Synopsis

__all__ = ["Recoded", "recoded"]

_MOST_WEIGHTS = 1 << 20
"""Largest number of weights, cells times sums, of sums that are asked together. One sum may have
more."""

_MOST_SUMS = 64
"""Largest number of sums that are asked together: their covariances are computed pair by pair."""


@dataclass(
    frozen=True,
    kw_only=True,
    eq=False,
    repr=False,
)
class Recoded(Synopsis):
    """A view of another synopsis, whose answers it adds up to its own categories.

    Every question becomes one about the declared categories, which `before` answers with its
    errors. So nothing is read but the release.

    Attributes
    ----------
    domain, provenance
        See `Synopsis`. The domain has the new categories; the provenance is that of the release.
    before
        The synopsis with the categories as they were.
    recoding
        What was changed.
    """

    before: Synopsis
    recoding: Recoding

    @property
    def released(self) -> Synopsis:
        """The synopsis as it was released."""
        return self.before.released

    @property
    def changed(self) -> Changes:
        """The categories that were changed after the release."""
        return self.recoding.changes

    def _marginals(self, workload: Iterable[Iterable[str]]) -> list[Marginal]:
        return self._answers(workload)

    def _answers(self, workload: Iterable[Iterable[str]]) -> list[Marginal]:
        asked = Workload.of(self.domain, workload)
        views = [self.recoding.view(names) for names in asked.names]
        cells = self.before._marginals([view.view for view in views])
        return [self._summed(view, own) for view, own in zip(views, cells, strict=True)]

    def _summed(self, view: GroupedView, cells: Marginal) -> Marginal:
        """The marginal of a view with groups, from that of the declared categories.

        A group of one category has its count and its error. A sum of several cells is answered as
        `count` answers it: its error needs the covariances of the cells, which the release has.
        """
        counts = view.rolled_up(cells.counts)
        noise = view.rolled_up(cells.noise_variance)
        missed = view.rolled_up(cells.missed_variance)
        shape = cells.counts.shape
        kurtosis = view.rolled_up(np.broadcast_to(cells.noise_kurtosis, shape))
        several = np.argwhere(view.rolled_up(np.ones(shape)) > 1).tolist()
        step = min(_MOST_SUMS, max(1, _MOST_WEIGHTS // cells.counts.size))
        for start in range(0, len(several), step):
            part = several[start : start + step]
            chosen = [view.codes(cell) for cell in part]
            sums = self.before._sums(chosen)
            for row, cell in enumerate(part):
                place = tuple(cell)
                # A group of all categories asks for a table of fewer attributes.
                if len(chosen[row]) < len(shape):
                    counts[place] = sums.estimates[row]
                noise[place] = sums.noise[row, row]
                missed[place] = sums.missed[row, row]
                kurtosis[place] = 0.0 if sums.kurtosis is None else sums.kurtosis[row]
        # Sums of cells that must all be zero have no error.
        possible = view.rolled_up(self.before.domain.possible(view.view).astype(np.float64)) > 0
        counts[~possible] = 0.0
        noise[~possible] = 0.0
        missed[~possible] = 0.0
        return Marginal(
            view.rolled,
            counts,
            noise,
            missed_variance=missed if cells.reconstructed else None,
            noise_kurtosis=kurtosis,
        )

    def _agreed(
        self,
        asked: Workload,
        *,
        integers: bool,
        seed: int,
    ) -> list[Marginal]:
        """Sums of cells of agreeing tables of the declared categories, so that they agree, too."""
        views = [self.recoding.view(names) for names in asked.names]
        return agreed(
            self.before.domain,
            views,
            self.before._marginals([view.view for view in views]),
            self._answers(asked),
            integers=integers,
            seed=seed,
        )

    def _sums(self, chosen: Sequence[Chosen]) -> Sums:
        return self.before._sums([self.recoding.codes(codes) for codes in chosen])

    def _source_of(self, found: Count, codes: Chosen) -> Source:
        return self.before._source_of(found, self.recoding.codes(codes))

    def source(self, view: Iterable[str]) -> Source:
        """How the marginal of a view is answered: as that of the declared categories."""
        names = tuple(view)
        if names:
            level_view(self.domain, names)  # names of this domain alone
        return self.before.source(names)

    def records(self, n: int) -> NDArray[np.int64]:
        """Make n synthetic rows with the new codes; see `Synopsis.records`."""
        rows = self.before.records(n)
        for axis, name in enumerate(self.domain):
            if name in self.recoding.groups:
                rows[:, axis] = self.recoding.groups[name][rows[:, axis]]
        return rows

    @property
    def not_measured(self) -> tuple[str, ...]:
        """The attributes about which the release says nothing."""
        return self.before.not_measured

    def summary(self) -> dict[str, str]:
        """Describe the content in words for people, with the changed categories."""
        return {**self.before.summary(), "categories": "\n".join(self.recoding.words)}

    def save(self, path: str | os.PathLike[str], *, replace: bool = True) -> None:
        """Raise FileError: the file of a release has the categories that it was charged with."""
        raise FileError(
            "a .margin file holds a release as it was made, but categories of this synopsis were "
            "changed after it; keep the file of the release and the changes, and apply these again"
        )


def recoded(synopsis: Synopsis, changes: Mapping[str, Mapping[str, Any]]) -> Recoded:
    """The same release with other categories; see `Synopsis.recoded`."""
    if synopsis.changed:
        raise DomainError(
            "categories of this synopsis were changed already, and readers are told what each one "
            "stands for in the release; pass all changes at once, to released.recoded(...)"
        )
    recoding = Recoding.of(synopsis.domain, changes)
    return Recoded(
        domain=recoding.after,
        provenance=synopsis.provenance,
        before=synopsis,
        recoding=recoding,
    )
