"""The data of a report page: facts about a synopsis, and tables that the page sums to marginals."""

import base64
import itertools
import logging
from collections.abc import Iterator
from typing import Any

import numpy as np

from .._types import Floats
from ..domain.domain import Domain, View
from ..domain.marginal import Marginal
from ..plots.results import answered, noise_errors
from ..privacy.budget import PureDP
from ..synopses import ViewSynopsis
from ..synopses.synopsis import Synopsis
from .words import in_words

__all__ = ["content", "packed_marginal"]

log = logging.getLogger("margin")

_VIEW_CELLS = 120_000
"""Largest number of cells of views in a page: about 1.3 MB of text."""

_ANSWER_CELLS = 25_000
"""Largest number of cells of further answers, with their variances: about 0.5 MB of text."""

_MOST_ASKED = 6
"""Largest number of attributes that a reader can choose."""

_MOST_SETS = 200_000
"""Largest number of sets of attributes, per size, that are considered as further answers."""


def content(
    synopsis: Synopsis,
    *,
    title: str,
    live: bool,
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
    """
    provenance = synopsis.provenance
    assert provenance is not None
    mechanism = provenance.mechanism
    views = _views(synopsis)
    attributes = []
    for name, attribute in synopsis.domain.items():
        labels = [str(label) for label in attribute.labels]
        attributes.append({"name": name, "labels": labels})
    return {
        "title": title,
        "private": provenance.private,
        "guarantee": provenance.spent.describe(),
        "words": in_words(provenance.statement),
        "statement": provenance.statement.to_json(),
        "mechanism": mechanism["name"] if isinstance(mechanism, dict) else str(mechanism),
        "version": provenance.version,
        "summary": synopsis.summary(),
        "attributes": attributes,
        "views": views,
        "answers": _answers(synopsis, complete=bool(views)),
        "errors": _errors(synopsis),
        "live": live,
        "most": _MOST_ASKED,
    }


def packed_marginal(marginal: Marginal, domain: Domain) -> dict[str, Any]:
    """Convert a marginal to JSON values: its axes, and the bytes of its counts and variances."""
    return {
        "axes": list(domain.axes(marginal.attributes)),
        "counts": _packed(marginal.counts),
        "variance": _packed(marginal.variance),
    }


def _packed(values: Floats) -> str:
    """Write numbers as little-endian doubles in base 64: exact, and shorter than decimals."""
    content = np.ascontiguousarray(values, "<f8").tobytes()
    return base64.b64encode(content).decode()


def _views(synopsis: Synopsis) -> list[dict[str, Any]]:
    """Convert the consistent tables of a synopsis to JSON values. Empty for one without views.

    Each entry has the axes of the view, the precision of its components, the cells that must be
    zero, the counts (None if they are too many for the page), and the view's share of the budget
    (None if the views were not measured themselves).
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
            "counts": _packed(value) if value.size <= room else None,
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


def _answers(synopsis: Synopsis, *, complete: bool) -> list[dict[str, Any]]:
    """Choose and answer marginals that are not sums of the page's views, as many as fit.

    Smaller sets of attributes come first. Among sets of the same size, sets of the first attributes
    of the domain come first. `complete` says whether the page holds views.
    """
    domain = synopsis.domain
    chosen: list[View] = []
    room = _ANSWER_CELLS
    for view in _candidates(domain):
        if complete and isinstance(synopsis, ViewSynopsis):
            axes = tuple(sorted(domain.axes(view)))
            if synopsis.held.covering(axes) is not None:
                continue
        cells = domain.cells(view)
        if cells > room:
            break
        room -= cells
        chosen.append(view)
    log.info("answering the marginals of the page")
    return [packed_marginal(marginal, domain) for marginal in answered(synopsis, chosen)]


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
    """The mean noise part of the error, for each number of attributes where it is known."""
    found = []
    for size in range(1, _MOST_ASKED + 1):
        log.info("errors of marginals: %d of %d", size, _MOST_ASKED)
        errors = noise_errors(synopsis, size)
        if errors:
            found.append({"size": float(size), "error": float(np.mean(errors))})
    return found
