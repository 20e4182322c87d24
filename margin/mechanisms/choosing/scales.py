"""The scales of structure that tables tell before some of them are left out."""

from collections.abc import Iterable, Mapping

from ...solvers import Newton, Structure
from ...synopses import ViewSynopsis

__all__ = ["told_scales"]

_MOST_ASKED = 12
"""Largest number of attributes of marginals whose scales of structure are told."""

_LEARNT = 4
"""Largest number of attributes of the parts of views from which such scales are learnt."""


def told_scales(
    synopsis: ViewSynopsis,
    depths: Iterable[int],
) -> Mapping[tuple[int, int], float]:
    """The scales of structure that all tables of a release tell.

    If some tables are left out, because they are more noise than signal, the others say nothing of
    the structure that is missed then. Those that are left out do: they were left out because it is
    small.

    Parameters
    ----------
    synopsis
        The release with all its tables.
    depths
        Numbers of attributes up to which all moments may be known when something is left out.

    Returns
    -------
    Mapping
        As `ViewSynopsis.scales`; empty for solvers whose answers tell nothing of them.
    """
    solver = synopsis.reconstruction
    if not (isinstance(solver, Newton) and solver.bars):
        return {}
    structure = Structure(synopsis.held, solver)
    most = min(_MOST_ASKED, len(synopsis.domain))
    return {
        (depth, count): structure.scale(depth, max(depth + 1, min(count, _LEARNT)))
        for depth in depths
        for count in range(depth + 1, most + 1)
    }
