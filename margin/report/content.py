"""The data of a report page: facts about a synopsis, and tables that the page sums to marginals."""

import base64
import itertools
import logging
import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from .._types import Floats
from ..domain.bounds import half_widths, whole_bounds
from ..domain.domain import Domain, View
from ..domain.level_views import attribute_at, split_level
from ..domain.levels import LEVEL_MARK
from ..domain.marginal import Marginal
from ..domain.recoding.categories import sentences
from ..domain.workload import Workload
from ..errors import DomainError, MarginError
from ..interrupts.share import tell
from ..plots.results import answered
from ..privacy.budget import PureDP
from ..privacy.strength import with_base
from ..privacy.words import in_words
from ..publication.adding import adding
from ..publication.apart import told_apart
from ..publication.coverage import covered
from ..publication.imprint import Imprint
from ..publication.rows import unsaid
from ..publication.spreadsheets import OPENING
from ..publication.units import by_unit, units
from ..synopses import ViewSynopsis
from ..synopses.source import Source
from ..synopses.synopsis import Synopsis
from .sums import sum_errors

__all__ = ["content", "packed_marginal"]

log = logging.getLogger("margin")

_VIEW_CELLS = 120_000
"""Largest number of cells of views in a page: about 1.3 MB of text."""

_ANSWER_CELLS = 25_000
"""Largest number of cells of further answers, with their intervals: about 0.5 MB of text."""

_BASED_CELLS = 60_000
"""The same if no answer is a sum of the views' cells, so that the page holds answers only."""

_LEVEL_CELLS = 25_000
"""Largest number of cells of answers at levels, such as "place@state", with their intervals."""

_LEVEL_WEIGHTS = 1 << 24
"""Largest number of weights for the errors of those of these cells that are reconstructed: a cell
takes as many as the table has cells that is summed to it. A weight takes about 140 ns of processor
time."""

_CHANGED_WEIGHTS = 1 << 26
"""The same for the reconstructed answers of a release whose categories were put together."""

_SUMMED_CELLS = 1 << 14
"""Largest number of cells of a reconstructed table that is summed to levels."""

_TOLD = 20
"""Number of further answers after which a display of progress is told."""

_ANSWER = 200
"""What each further answer adds to its number of cells, so that a page of many small ones is
written in two seconds, too."""

_MOST_ASKED = 6
"""Largest number of attributes that a reader can choose. Fewer if the page holds fewer together."""

_MOST_SETS = 200_000
"""Largest number of sets of attributes, per size, that are considered as further answers."""


def content(
    synopsis: Synopsis,
    *,
    title: str,
    live: bool,
    imprint: Imprint | None = None,
    tables: Iterable[Iterable[str]] | None = None,
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
    tables
        The tables that the page shows, with the smaller tables of their attributes; None for as
        many tables as fit.
    """
    provenance = synopsis.provenance
    assert provenance is not None
    mechanism = provenance.mechanism
    summed = isinstance(synopsis, ViewSynopsis) and synopsis.base is None and synopsis.noise is None
    imprint = imprint or Imprint()
    # A page of named tables holds no counts of views: readers could add them up to other tables.
    views = _views(synopsis, summed=summed and tables is None)
    if tables is None:
        answers = _answers(synopsis, summed=summed)
        lower = [answer["axes"] for answer in answers]
        lower += [view["axes"] for view in views if view["counts"] is not None]
        answers += _level_answers(synopsis, lower)
    else:
        answers = _named_answers(synopsis, Workload.of(synopsis.domain, tables))
    attributes = _attributes(synopsis.domain)
    tables_shown = None
    most = min(_MOST_ASKED, len(synopsis.domain))
    if not live:
        # A level counts as its attribute.
        lowest = [
            place if one["level_of"] is None else one["level_of"]
            for place, one in enumerate(attributes)
        ]
        tables_shown = [[lowest[axis] for axis in answer["axes"]] for answer in answers]
        shown = [table for table in [*views, *answers] if table["counts"] is not None]
        most = min(most, max((len(table["axes"]) for table in shown), default=0))
    left_out = provenance.statement.left_out
    about_rows = left_out or provenance.statement.none_left_out
    # With known tables, the error of a sum of cells is less than the views' precisions say.
    known = synopsis.domain.constraints
    sources = {
        source.value: source.told(some_left_out=bool(left_out), base=provenance.base)
        for source in Source
    }
    description = imprint.description or provenance.description
    # Whoever explores a release with a server has its file, and is no reader of a publication.
    silent = unsaid(
        description=description, unit=provenance.statement.unit, contact=imprint.contact
    )
    total = _total(synopsis) if views or answers or live else None
    number_of_units = (
        ""
        if total is None
        else units(
            provenance.statement,
            imprint.row_name,
            imprint.unit_name,
            low=total["low"],
            high=total["high"],
        )
    )
    guarantee = provenance.statement.guarantee
    together = with_base(provenance.statement, provenance.base, synopsis.released.domain)
    if together is not None:
        guarantee += f"; together with the earlier releases that it uses, {together.in_full}"
    words = in_words(
        provenance.statement,
        synopsis.released.domain,
        provenance.base,
        row_name=imprint.row_name,
        unit_name=imprint.unit_name,
    )
    return {
        "title": title,
        "private": provenance.private,
        "guarantee": guarantee,
        "words": words,
        "statement": provenance.statement.to_json(),
        "mechanism": mechanism["name"] if isinstance(mechanism, dict) else str(mechanism),
        "version": provenance.version,
        "summary": synopsis.released.summary(),
        "changed": _changed(synopsis),
        "not_measured": list(synopsis.not_measured),
        "attributes": attributes,
        "views": views,
        "measured": _measured(synopsis),
        "by_components": _by_components(synopsis),
        "errors": sum_errors(synopsis, tables_shown),
        "answers": answers,
        # Nor do they, if its cells are sums of cells of the views.
        "sums": not synopsis.changed and (known is None or not known.more),
        "sources": sources,
        "left_out": about_rows,
        "total": total,
        "units": number_of_units,
        "by_unit": by_unit(provenance.statement, imprint.row_name, imprint.unit_name),
        # Whoever explores a release with a server is no reader of a publication, either.
        "covered": "" if live else covered(imprint.coverage, imprint.row_name, imprint.population),
        "live": live,
        "description": description,
        "row_name": imprint.row_name,
        "unit_name": imprint.unit_name or provenance.statement.unit,
        "unsaid": "" if live else silent,
        "imprint": imprint.lines(title, synopsis),
        "opening": OPENING,
        "adding": adding(
            has_contact=imprint.contact is not None,
            has_smaller=True,
            row_name=imprint.row_name,
        ),
        "most": most,
    }


def packed_marginal(marginal: Marginal, synopsis: Synopsis) -> dict[str, Any]:
    """Convert a marginal to JSON values: its axes, its source, which pairs of attributes were not
    measured together, and the bytes of its counts and of the half-widths of their 95 % intervals.
    """
    return {
        "axes": _places(synopsis.domain, marginal.attributes),
        "source": synopsis.source(marginal.attributes).value,
        "apart": told_apart(synopsis, marginal.attributes),
        "counts": _packed(marginal.counts),
        "half_widths": _packed(_half_widths(marginal)),
    }


def _attributes(domain: Domain) -> list[dict[str, Any]]:
    """Convert the attributes to JSON values, and after them the levels, such as "place@state".

    `banded` says whether its categories are intervals of numbers.
    `level_of` is the position of the attribute of a level, and None for an attribute. `members` are
    the numbers of nodes of the next level that each node of a level has: one after another, these
    are all nodes of that level, whose position is `next_level`. Periods are known to readers, so
    levels of dates have none. `leaves` are the numbers of categories of the attribute that belong
    to each node, one after another.
    """
    found = []
    for name in [*domain, *_levels(domain)]:
        form = attribute_at(domain, name)
        attribute, level = split_level(domain, name)
        level_of = None if level is None else domain.position[attribute]
        ordered = form.ordered or form.bins is not None
        one = {"name": name, "labels": list(form.captions), "ordered": ordered}
        one["description"] = form.description
        one["level_of"] = level_of
        one["banded"] = form.bins is not None
        tree = domain[attribute].levels
        if level is not None and tree is not None:
            one["leaves"] = np.bincount(tree.groups[tree.index(level)]).tolist()
        if level is not None and tree is not None and domain[attribute].dates is None:
            place = tree.index(level)
            one["members"] = list(map(len, tree.members(place)))
            (one["next_level"],) = _places(
                domain, [f"{attribute}{LEVEL_MARK}{tree.names[place + 1]}"]
            )
        found.append(one)
    return found


def _levels(domain: Domain) -> list[str]:
    """The names of the levels, such as "place@state". The lowest level of an attribute is the
    attribute itself, so it is left out."""
    found = []
    for name, attribute in domain.items():
        if attribute.levels is not None:
            found += [f"{name}{LEVEL_MARK}{level}" for level in attribute.levels.names[:-1]]
    return found


def _places(domain: Domain, names: Sequence[str]) -> list[int]:
    """The positions of attributes and levels in the list of `_attributes`."""
    places = {name: place for place, name in enumerate([*domain, *_levels(domain)])}
    # A name that is not listed is the lowest level of its attribute.
    return [places.get(name, places[split_level(domain, name)[0]]) for name in names]


def _packed(values: Floats) -> str:
    """Write numbers as little-endian doubles in base 64: exact, and shorter than decimals."""
    content = np.ascontiguousarray(values, "<f8").tobytes()
    return base64.b64encode(content).decode()


def _views(synopsis: Synopsis, *, summed: bool) -> list[dict[str, Any]]:
    """Convert the consistent tables of a synopsis to JSON values. Empty for one without views.

    Each entry has the axes of the view, the precision of its components, the cells that must be
    zero, the counts (None if the page must not sum them, or they are too many for it), and the
    view's share of the budget (None if the views were not measured themselves). If categories were
    changed after the release, it has the axes and the share alone: the rest is about the cells of
    the release.
    """
    released = synopsis.released
    if not isinstance(released, ViewSynopsis):
        return []
    tables = released.held
    shares: list[float | None] = [None] * len(tables.views)
    if tables.precisions is None:
        shares = _shares(released)
    if synopsis.changed:
        return [
            {"axes": list(axes), "share": share, "precision": None, "empty": [], "counts": None}
            for axes, share in zip(tables.views, shares, strict=True)
        ]
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


def _changed(synopsis: Synopsis) -> dict[str, list[str]]:
    """What the new categories of each attribute or level stand for, in sentences; empty if no
    categories were changed after the release."""
    return {name: [*sentences(new)] for name, new in synopsis.changed.items()}


def _measured(synopsis: Synopsis) -> list[dict[str, Any]]:
    """Convert the tables that were measured with Laplace noise to JSON values: axes, variance.

    The law of the noise in sums of the views' cells follows from them; see
    `Tables.concentration`. Empty for Gaussian noise.
    """
    if not isinstance(synopsis, ViewSynopsis) or not synopsis.kurtosis:
        return []
    return [
        {"axes": list(axes), "variance": variance} for axes, variance in synopsis.held.measurements
    ]


def _by_components(synopsis: Synopsis) -> bool:
    """Whether the views add up components that were measured with Laplace noise.

    The law of the noise then follows from the precisions of the components; see
    `Tables.component_concentration`.
    """
    if not isinstance(synopsis, ViewSynopsis):
        return False
    return synopsis.kurtosis > 0 and synopsis.held.by_components


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
    weights = _CHANGED_WEIGHTS
    for view in _candidates(domain.attributes):
        if summed and isinstance(synopsis, ViewSynopsis):
            axes = tuple(sorted(domain.axes(view)))
            if synopsis.held.covering(axes) is not None:
                continue
        cells = domain.cells(view)
        if cells > room:
            break
        if synopsis.changed and synopsis.source(view).is_reconstructed:
            own = cells * synopsis.released.domain.cells(view)
            if own > weights:
                continue
            weights -= own
        room -= cells + _ANSWER
        chosen.append(view)
    log.info("answering the marginals of the page")
    found = []
    for part in range(0, len(chosen), _TOLD):
        tell(part / len(chosen))
        marginals = answered(synopsis, chosen[part : part + _TOLD])
        found += [packed_marginal(marginal, synopsis) for marginal in marginals]
    return found


def _level_answers(synopsis: Synopsis, lower: Sequence[Sequence[int]]) -> list[dict[str, Any]]:
    """Answer sets of attributes of which at least one is at a level above its lowest, as many as
    fit. Those come first whose table at the lowest level the page holds; `lower` are the axes of
    its tables. Then smaller sets come first, and among sets of the same size those of fewer cells.

    The page sums no counts to levels by itself: the error of a sum of reconstructed cells depends
    on their covariances, which the page does not hold.
    """
    domain = synopsis.domain
    levels = _levels(domain)
    if not levels:
        return []
    sizes = {name: attribute_at(domain, name).size for name in [*domain, *levels]}
    attribute_of = {name: split_level(domain, name)[0] for name in sizes}
    # Each attribute is followed by its levels.
    names = sorted(sizes, key=lambda name: domain.position[attribute_of[name]])
    held = [set(axes) for axes in lower]
    sets = []
    for asked in _candidates(names):
        attributes = {attribute_of[name] for name in asked}
        if len(attributes) == len(asked) and attributes != set(asked):
            axes = set(domain.axes(attributes))
            is_lower_held = any(axes <= own for own in held)
            cells = math.prod(sizes[name] for name in asked)
            sets.append((not is_lower_held, len(asked), cells, asked))
    chosen: list[View] = []
    room, left = _LEVEL_CELLS, _LEVEL_WEIGHTS
    for _, _, cells, asked in sorted(sets, key=lambda one: one[:3]):
        if cells > room:
            continue
        if isinstance(synopsis, ViewSynopsis) and synopsis.source(asked).is_reconstructed:
            summed = domain.cells(attribute_of[name] for name in asked)
            weights = cells * summed
            if weights > left or summed > _SUMMED_CELLS:
                continue
            left -= weights
        room -= cells
        chosen.append(asked)
    log.info("answering the levels of the page")
    return [packed_marginal(marginal, synopsis) for marginal in answered(synopsis, chosen)]


def _named_answers(synopsis: Synopsis, tables: Workload) -> list[dict[str, Any]]:
    """Answer the tables of a workload, and the smaller tables of their attributes: a reader chooses
    one attribute after the other."""
    domain = synopsis.domain
    tables.check_listed()
    parts = {
        frozenset(part): part
        for view in tables.names
        for size in range(1, len(view) + 1)
        for part in itertools.combinations(view, size)
    }
    cells = sum(math.prod(attribute_at(domain, name).size for name in part) for part in parts)
    largest = max(map(len, parts))
    if cells > _VIEW_CELLS or largest > _MOST_ASKED:
        raise DomainError(
            f"the tables of a page, with their parts, must have at most {_VIEW_CELLS:,} cells and "
            f"{_MOST_ASKED} attributes each, but these have {cells:,} cells and up to {largest} "
            "attributes; name fewer or smaller tables"
        )
    # Smaller tables come first.
    views = sorted(parts.values(), key=len)
    return [packed_marginal(marginal, synopsis) for marginal in synopsis.marginals(views)]


def _candidates(names: Sequence[str]) -> Iterator[View]:
    """The sets of one to four of some names, in the order of `_answers`."""
    for size in range(1, min(4, len(names)) + 1):
        sets = itertools.combinations(range(len(names)), size)
        considered = itertools.islice(sets, _MOST_SETS)
        # Sort by the last attribute: all sets among the first few attributes come before the rest.
        for places in sorted(considered, key=lambda some: some[::-1]):
            yield tuple(names[place] for place in places)


def _total(synopsis: Synopsis) -> dict[str, Any] | None:
    """The number of all rows as JSON values, with bounds of 95 % as whole numbers, which are None
    where they are not known. None for a synopsis that does not answer it.

    This is post-processing, as the whole page is.
    """
    try:
        count = synopsis.count({})
    except MarginError:
        return None
    low, high = whole_bounds(*count.interval(0.95))
    known = bool(np.isfinite(low) and np.isfinite(high))
    source = Source.KNOWN if known and low == high else synopsis.source(())
    return {
        "count": round(count.estimate),
        "low": int(low) if known else None,
        "high": int(high) if known else None,
        "source": source.value,
    }


def _half_widths(marginal: Marginal) -> Floats:
    """Half the width of the 95 % interval of each count."""
    return half_widths(
        marginal.counts,
        marginal.noise_variance,
        marginal.missed_variance,
        level=0.95,
        kurtosis=marginal.noise_kurtosis,
    )
