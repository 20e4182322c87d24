"""`pairs_apart`: pairs of attributes of a reconstructed table that no measured table holds."""

import itertools
from collections.abc import Iterable, Sequence

from ..domain.domain import View
from ..domain.level_views import level_view
from ..synopses import ViewSynopsis
from ..synopses.source import Source
from ..synopses.synopsis import Synopsis

__all__ = ["listed_pairs", "pairs_apart", "told_apart"]

_NAMED = 3
"""Largest number of pairs that a sentence names."""


def pairs_apart(synopsis: Synopsis, view: Iterable[str]) -> list[tuple[str, str]]:
    """The pairs of attributes of a reconstructed table that are together in no measured table.

    Which tables were measured is part of the release, so this is post-processing.

    Parameters
    ----------
    synopsis
        The release.
    view
        The table: attributes or their levels. Pairs name the attributes.
    """
    names = tuple(view)
    # Categories that were changed after the release leave the attributes as they are.
    released = synopsis.released
    if not isinstance(released, ViewSynopsis) or synopsis.source(names) is not Source.RECONSTRUCTED:
        return []
    attributes = level_view(synopsis.domain, names).view
    pairs = itertools.combinations(attributes, 2)
    return [pair for pair in pairs if not _together(released, pair)]


def told_apart(synopsis: Synopsis, view: Iterable[str]) -> str:
    """What a reconstructed table lacks, pair by pair in words; empty if each pair was measured.

    Examples
    --------
    >>> import margin
    >>> mechanism = margin.PriView(views=[["age", "sex"], ["sex", "job"]])
    >>> domain = {"age": 2, "sex": 2, "job": 2}
    >>> rows = {"age": [0, 1], "sex": [0, 1], "job": [0, 1]}
    >>> made = margin.release(rows, domain=domain, budget=margin.PureDP(1), mechanism=mechanism)
    >>> print(told_apart(made, ["age", "sex", "job"]))
    No measured table holds age and job together: except for what both have in common with other \
attributes, the numbers are as if they had nothing to do with each other.
    """
    names = tuple(view)
    pairs = pairs_apart(synopsis, names)
    if not pairs:
        return ""
    released = synopsis.released
    assert isinstance(released, ViewSynopsis)
    if len(pairs) > 1:
        start = f"No measured table holds these attributes together: {listed_pairs(pairs)}"
        shared = "other attributes"
        who = "the two of a pair"
    else:
        start = f"No measured table holds {' and '.join(pairs[0])} together"
        shared = _shared(released, level_view(synopsis.domain, names).view, pairs[0])
        who = "they"
    # A base may know how they are connected.
    if released.base is not None:
        return f"{start}."
    exceptions = [f"what both have in common with {shared}"] if shared else []
    if synopsis.domain.zeros is not None:
        exceptions.append("what is declared as impossible")
    except_for = f"except for {' and '.join(exceptions)}, " if exceptions else ""
    return f"{start}: {except_for}the numbers are as if {who} had nothing to do with each other."


def listed_pairs(pairs: Sequence[tuple[str, str]]) -> str:
    """Some pairs in a sentence; of many, the first ones and the number of the others."""
    named = [" and ".join(pair) for pair in pairs[:_NAMED]]
    left = len(pairs) - len(named)
    if left:
        named.append(f"{left} more pair{'' if left == 1 else 's'}")
    return "; ".join(named)


def _shared(
    synopsis: ViewSynopsis,
    attributes: View,
    pair: tuple[str, str],
) -> str:
    """The attributes through which two attributes of a table may be connected, in words.

    The table of largest entropy makes the two independent given the neighbours of the first one:
    the attributes that are in a measured table with it. Only those matter from which measured
    tables lead to the second one.
    """
    # A solver with a context connects them through attributes outside the table, too.
    if getattr(synopsis.reconstruction, "context", None) is not None:
        return "other attributes"
    first, second = pair
    others = [name for name in attributes if name != first]
    # Find what tables without the first attribute connect to the second. The list grows meanwhile.
    reached = [second]
    for name in reached:
        reached += [
            other for other in others if other not in reached and _together(synopsis, (name, other))
        ]
    shared = [name for name in reached[1:] if _together(synopsis, (first, name))]
    return " and ".join(sorted(shared, key=synopsis.domain.position.__getitem__))


def _together(synopsis: ViewSynopsis, pair: tuple[str, str]) -> bool:
    """Whether a measured or a known table holds both attributes."""
    domain = synopsis.domain
    if synopsis.held.covering(tuple(sorted(domain.axes(pair)))) is not None:
        return True
    return any(set(pair) <= set(level_view(domain, view).view) for view in synopsis.known)
