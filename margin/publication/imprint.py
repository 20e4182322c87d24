"""`Imprint`: who publishes a page or a folder, when, under which licence, and how to cite it."""

import datetime
from dataclasses import dataclass, field

from ..privacy.strength import strength, with_base
from ..privacy.words import ROWS
from ..store import release_digest
from ..synopses.synopsis import Synopsis

__all__ = ["Imprint"]

_SAME = (
    "A page and a folder of tables that both name this digest are of the same release, so they "
    "belong together."
)


@dataclass(
    frozen=True,
    kw_only=True,
)
class Imprint:
    """Who publishes a report page or a folder of tables, and when.

    Attributes
    ----------
    date
        The date of publication; today by default.
    publisher
        Who publishes it, such as an office. There is no such line if it is None.
    contact
        Whom readers can ask, such as an address. There is no such line if it is None.
    licence
        Under which licence the counts may be used. There is no such line if it is None.
    citation
        How to cite it. If it is None, a text is proposed.
    description
        What the table is and what a row is, in a sentence below the heading; None for none.
    row_name
        What rows are called in the sentences of a page, in the plural, such as "people".
    unit_name
        What one of those is called who are protected together (`unit=` of a release), in the
        singular, such as "patient"; None for the name of the column.
    population, coverage, period, source
        Who is in the table, whether these are all of them or a sample, the time that it describes,
        and where the rows come from. There is no such line if it is None.

    Examples
    --------
    >>> Imprint(date=datetime.date(2026, 1, 31), licence="CC BY 4.0").date.year
    2026
    """

    date: datetime.date = field(default_factory=datetime.date.today)
    publisher: str | None = None
    contact: str | None = None
    licence: str | None = None
    citation: str | None = None
    description: str | None = None
    row_name: str = ROWS
    unit_name: str | None = None
    population: str | None = None
    coverage: str | None = None
    period: str | None = None
    source: str | None = None

    def lines(self, title: str, synopsis: Synopsis) -> dict[str, str]:
        """The lines of a publication of a release with this title, by their heads."""
        provenance = synopsis.provenance
        assert provenance is not None
        digest = release_digest(synopsis)
        guarantee = _guarantee(synopsis)
        by = f"{self.publisher}: " if self.publisher else ""
        proposed = (
            f"{by}{title} ({self.date.year}). Counts with random noise; {guarantee}. "
            f"Made with margin {provenance.version}, published on {self.date.isoformat()}."
        )
        lines = {
            "Publisher": self.publisher,
            "Published": self.date.isoformat(),
            "Population": self.population,
            "Coverage": self.coverage,
            "Period": self.period,
            "Source": self.source,
            "Contact": self.contact,
            "Licence": self.licence,
            "Release": digest and f"{digest}. {_SAME}",
            "How to cite": self.citation or proposed,
        }
        return {head: text for head, text in lines.items() if text}


def _guarantee(synopsis: Synopsis) -> str:
    """The guarantee in a citation: with an earlier release as base, what both add up to, since the
    publication holds both."""
    provenance = synopsis.provenance
    assert provenance is not None
    statement, base = provenance.statement, provenance.base
    guarantee = provenance.spent.describe().split(", neighbours")[0]
    found = strength(statement, synopsis.domain)
    known = " given the public totals"
    if found.steps > 1:
        guarantee += f" ({found.numbers}{known})"
    if base is None or base["kind"] != "release":
        return guarantee
    has_more = base["base"] is not None and base["base"]["kind"] == "release"
    earlier = (
        "the earlier releases that it uses" if has_more else "the earlier release that it uses"
    )
    together = with_base(statement, base, synopsis.domain)
    if together is None:
        return f"{guarantee}, to be added to that of {earlier}"
    public = known if together.steps > 1 else ""
    return f"{guarantee}; with {earlier}, {together.numbers}{public}"
