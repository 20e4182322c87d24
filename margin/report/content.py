"""What a page holds: the facts of a synopsis, and tables from which it answers without asking
anyone."""

import base64
import itertools
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

_VIEW_CELLS = 120_000
"""How many cells of views a page holds: some 1.3 MB of text."""

_ANSWER_CELLS = 25_000
"""How many cells of further answers: each with its variance, some 0.5 MB of text."""

_MOST_ASKED = 6


def content(synopsis: Synopsis, *, title: str, live: bool) -> dict[str, Any]:
    """The content of a page, as JSON values.

    Parameters
    ----------
    synopsis
        The result of a release or of a simulation.
    title
        Its name.
    live
        Whether a server stands behind the page and answers what the page cannot.
    """
    provenance = synopsis.provenance
    assert provenance is not None
    mechanism = provenance.mechanism
    views = _views(synopsis)
    return {
        "title": title,
        "private": provenance.private,
        "guarantee": provenance.spent.describe(),
        "words": in_words(provenance.statement),
        "statement": provenance.statement.to_json(),
        "mechanism": mechanism["name"] if isinstance(mechanism, dict) else str(mechanism),
        "version": provenance.version,
        "summary": synopsis.summary(),
        "attributes": [
            {"name": name, "labels": [str(label) for label in attribute.labels]}
            for name, attribute in synopsis.domain.items()
        ],
        "views": views,
        "answers": _answers(synopsis, complete=bool(views)),
        "errors": _errors(synopsis),
        "live": live,
        "most": _MOST_ASKED,
    }


def packed_marginal(marginal: Marginal, domain: Domain) -> dict[str, Any]:
    """A marginal for the page: its axes, and the bytes of its counts and variances."""
    return {
        "axes": list(domain.axes(marginal.attributes)),
        "counts": _packed(marginal.counts),
        "variance": _packed(marginal.variance),
    }


def _packed(values: Floats) -> str:
    """Numbers as base 64 of little-endian doubles: exact, and shorter than their digits."""
    return base64.b64encode(np.ascontiguousarray(values, "<f8").tobytes()).decode()


def _views(synopsis: Synopsis) -> list[dict[str, Any]]:
    """Consistent tables: their counts, the precision of their components, the cells that must be
    zero, and, where they were measured themselves, their shares of the budget."""
    if not isinstance(synopsis, ViewSynopsis):
        return []
    tables = synopsis.tables
    spent = np.array(tables.variances) ** (-0.5 if isinstance(synopsis.spent, PureDP) else -1.0)
    shares = spent / spent.sum()
    measured = tables.precisions is None
    empty = tables.empty or [np.zeros(value.shape, np.bool_) for value in tables.values]
    small = sum(value.size for value in tables.values) <= _VIEW_CELLS
    return [
        {
            "axes": list(axes),
            "share": float(share) if measured else None,
            "precision": _packed(tables.component_precision(axes)),
            "empty": np.flatnonzero(none).tolist(),
            "counts": _packed(value)
            if small or value.size <= _VIEW_CELLS // len(tables.values)
            else None,
        }
        for axes, value, none, share in zip(tables.views, tables.values, empty, shares, strict=True)
    ]


def _answers(synopsis: Synopsis, *, complete: bool) -> list[dict[str, Any]]:
    """Answers that the page's views do not give: first the smallest sets, of the attributes that
    stand first."""
    domain = synopsis.domain
    chosen: list[View] = []
    room = _ANSWER_CELLS
    for view in _candidates(domain):
        if complete and isinstance(synopsis, ViewSynopsis):
            axes = tuple(sorted(domain.axes(view)))
            if synopsis.tables.covering(axes) is not None:
                continue
        if (cells := domain.cells(view)) > room:
            break
        room -= cells
        chosen.append(view)
    return [packed_marginal(marginal, domain) for marginal in answered(synopsis, chosen)]


def _candidates(domain: Domain) -> Iterator[View]:
    names = domain.attributes
    for size in range(1, min(4, len(names)) + 1):
        places = itertools.combinations(range(len(names)), size)
        # In the order of the last attribute: all sets among the first few come before any of the
        # others.
        for last in sorted(itertools.islice(places, 200_000), key=lambda some: some[::-1]):
            yield tuple(names[place] for place in last)


def _errors(synopsis: Synopsis) -> list[dict[str, float]]:
    """The mean noise part of the error, by the number of attributes."""
    known = {size: noise_errors(synopsis, size) for size in range(1, _MOST_ASKED + 1)}
    return [
        {"size": float(size), "error": float(np.mean(errors))}
        for size, errors in known.items()
        if errors
    ]
