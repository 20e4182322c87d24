"""`Imprint`: who publishes a page or a folder, when, under which licence, and how to cite it."""

import datetime
from dataclasses import dataclass, field

from ..domain.domain import Domain
from ..privacy.strength import strength
from ..synopses.synopsis import Provenance

__all__ = ["Imprint"]


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
    population, period, source
        Who is in the table, the time that it describes, and where the rows come from. There is no
        such line if it is None.

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
    population: str | None = None
    period: str | None = None
    source: str | None = None

    def lines(
        self,
        title: str,
        provenance: Provenance,
        domain: Domain,
    ) -> dict[str, str]:
        """The lines of a publication with this title, by their heads."""
        guarantee = provenance.spent.describe().split(", neighbours")[0]
        found = strength(provenance.statement, domain)
        known = f" ({found.numbers} given the public totals)" if found.steps > 1 else ""
        by = f"{self.publisher}: " if self.publisher else ""
        proposed = (
            f"{by}{title} ({self.date.year}). Counts with random noise; {guarantee}{known}. "
            f"Made with margin {provenance.version}, published on {self.date.isoformat()}."
        )
        lines = {
            "Publisher": self.publisher,
            "Published": self.date.isoformat(),
            "Population": self.population,
            "Period": self.period,
            "Source": self.source,
            "Contact": self.contact,
            "Licence": self.licence,
            "How to cite": self.citation or proposed,
        }
        return {head: text for head, text in lines.items() if text}
