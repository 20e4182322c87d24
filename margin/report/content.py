"""The data of a report page: facts about a synopsis, and tables that the page sums to marginals."""

import base64
import itertools
import logging
import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from .._types import Floats
from ..domain.bounds import half_widths
from ..domain.domain import Domain, View
from ..domain.marginal import Marginal
from ..plots.results import answered, random_views
from ..privacy.budget import PureDP
from ..synopses import ViewSynopsis
from ..synopses.source import Source
from ..synopses.synopsis import Synopsis
from .imprint import Imprint
from .words import in_words

__all__ = ["content", "packed_marginal"]

log = logging.getLogger("margin")

_VIEW_CELLS = 120_000
"""Largest number of cells of views in a page: about 1.3 MB of text."""

_ANSWER_CELLS = 25_000
"""Largest number of cells of further answers, with their intervals: about 0.5 MB of text."""

_BASED_CELLS = 60_000
"""The same if no answer is a sum of the views' cells, so that the page holds answers only."""

_MOST_ASKED = 6
"""Largest number of attributes that a reader can choose."""

_ERRORS = 12
"""Number of marginals of each number of attributes from which the page takes the typical error."""

_ERROR_CELLS = 20_000
"""Number of cells of these marginals after which no further one is taken."""

_MOST_SETS = 200_000
"""Largest number of sets of attributes, per size, that are considered as further answers."""


def content(
    synopsis: Synopsis,
    *,
    title: str,
    live: bool,
    imprint: Imprint | None = None,
) -> dict[str, Any]:
    """Collect the data of a page, as JSON values.

    Parameters
    ----------
    synopsis
        The result of a release or of a simulation.
    title
        The heading of the page.
    live
        Whether the page can ask a server for marginals that it does not hold.
    imprint
        Who publishes the page, and when; None for today's date alone.
    """
    provenance = synopsis.provenance
    assert provenance is not None
    mechanism = provenance.mechanism
    summed = isinstance(synopsis, ViewSynopsis) and synopsis.base is None and synopsis.noise is None
    views = _views(synopsis, summed=summed)
    attributes = []
    for name, attribute in synopsis.domain.items():
        labels = list(attribute.captions)
        attributes.append({"name": name, "labels": labels})
    return {
        "title": title,
        "private": provenance.private,
        "guarantee": provenance.statement.guarantee,
        "words": in_words(provenance.statement, synopsis.domain, provenance.base),
        "statement": provenance.statement.to_json(),
        "mechanism": mechanism["name"] if isinstance(mechanism, dict) else str(mechanism),
        "version": provenance.version,
        "summary": synopsis.summary(),
        "attributes": attributes,
        "views": views,
        "answers": _answers(synopsis, summed=summed),
        "sources": {source.value: source.words for source in Source},
        "errors": _errors(synopsis),
        "live": live,
        "description": (imprint or Imprint()).description,
        "imprint": (imprint or Imprint()).lines(title, provenance, synopsis.domain),
        "most": min(_MOST_ASKED, len(synopsis.domain)),
    }


def packed_marginal(marginal: Marginal, synopsis: Synopsis) -> dict[str, Any]:
    """Convert a marginal to JSON values: its axes, its source, and the bytes of its counts and of
    the half-widths of their 95 % intervals."""
    half = half_widths(
        marginal.counts, marginal.noise_variance, marginal.missed_variance, level=0.95
    )
    return {
        "axes": list(synopsis.domain.axes(marginal.attributes)),
        "source": synopsis.source(marginal.attributes).value,
        "counts": _packed(marginal.counts),
        "half_widths": _packed(half),
    }


def _packed(values: Floats) -> str:
    """Write numbers as little-endian doubles in base 64: exact, and shorter than decimals."""
    content = np.ascontiguousarray(values, "<f8").tobytes()
    return base64.b64encode(content).decode()


def _views(synopsis: Synopsis, *, summed: bool) -> list[dict[str, Any]]:
    """Convert the consistent tables of a synopsis to JSON values. Empty for one without views.

    Each entry has the axes of the view, the precision of its components, the cells that must be
    zero, the counts (None if the page must not sum them, or they are too many for it), and the
    view's share of the budget (None if the views were not measured themselves).
    """
    if not isinstance(synopsis, ViewSynopsis):
        return []
    tables = synopsis.held
    shares: list[float | None] = [None] * len(tables.views)
    if tables.precisions is None:
        shares = _shares(synopsis)
    empty = tables.empty or [np.zeros(value.shape, np.bool_) for value in tables.values]
    # If the page cannot hold all counts, it holds only the counts of small views.
    all_fit = sum(value.size for value in tables.values) <= _VIEW_CELLS
    room = _VIEW_CELLS if all_fit else _VIEW_CELLS // len(tables.values)
    views = []
    for axes, value, none, share in zip(tables.views, tables.values, empty, shares, strict=True):
        view = {
            "axes": list(axes),
            "share": share,
            "precision": _packed(tables.component_precision(axes)),
            "empty": np.flatnonzero(none).tolist(),
            "counts": _packed(value) if summed and value.size <= room else None,
        }
        views.append(view)
    return views


def _shares(synopsis: ViewSynopsis) -> list[float | None]:
    """Each view's share of the budget, from the variance v of its noise.

    Under pure differential privacy, the scale of the noise is inverse to epsilon, so epsilon is
    proportional to v^(-1/2). Otherwise the variance is inverse to rho, so rho is proportional to
    v^(-1).
    """
    power = -0.5 if isinstance(synopsis.spent, PureDP) else -1.0
    spent = np.array(synopsis.held.variances) ** power
    shares: list[float | None] = (spent / spent.sum()).tolist()
    return shares


def _answers(synopsis: Synopsis, *, summed: bool) -> list[dict[str, Any]]:
    """Choose and answer marginals that are not sums of the page's views, as many as fit.

    Smaller sets of attributes come first. Among sets of the same size, sets of the first attributes
    of the domain come first. `summed` says whether the marginals within views are such sums: they
    are not if a base changes them, or if cells of one view have different variances.
    """
    domain = synopsis.domain
    chosen: list[View] = []
    room = _ANSWER_CELLS if summed else _BASED_CELLS
    for view in _candidates(domain):
        if summed and isinstance(synopsis, ViewSynopsis):
            axes = tuple(sorted(domain.axes(view)))
            if synopsis.held.covering(axes) is not None:
                continue
        cells = domain.cells(view)
        if cells > room:
            break
        room -= cells
        chosen.append(view)
    log.info("answering the marginals of the page")
    return [packed_marginal(marginal, synopsis) for marginal in answered(synopsis, chosen)]


def _candidates(domain: Domain) -> Iterator[View]:
    """The sets of one to four attributes, in the order of `_answers`."""
    names = domain.attributes
    for size in range(1, min(4, len(names)) + 1):
        sets = itertools.combinations(range(len(names)), size)
        considered = itertools.islice(sets, _MOST_SETS)
        # Sort by the last attribute: all sets among the first few attributes come before the rest.
        for places in sorted(considered, key=lambda some: some[::-1]):
            yield tuple(names[place] for place in places)


def _errors(synopsis: Synopsis) -> list[dict[str, float]]:
    """The typical error of a count in rows, for each number of attributes where it is known.

    It is the root of the mean variance over the cells that are not known, of some tables.
    """
    found = []
    for size in range(1, _MOST_ASKED + 1):
        log.info("errors of marginals: %d of %d", size, _MOST_ASKED)
        variances = []
        some = random_views(synopsis.domain, size, draws=_ERRORS)
        before = np.cumsum([0, *[synopsis.domain.cells(view) for view in some]])
        few = list(itertools.compress(some, before < _ERROR_CELLS))
        for marginal in answered(synopsis, few):
            known = np.isfinite(marginal.variance) & (marginal.variance > 0)
            if known.any():
                variances.append(float(marginal.variance[known].mean()))
        if variances:
            found.append({"size": float(size), "error": math.sqrt(np.mean(variances))})
    return found
