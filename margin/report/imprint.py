"""`Imprint`: who publishes a page, when, under which licence, and how to cite it."""

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
    """Who publishes a report page, and when.

    Attributes
    ----------
    date
        The date of publication; today by default.
    contact
        Whom readers can ask, such as an address. The page has no such line if it is None.
    licence
        Under which licence the counts may be used. The page has no such line if it is None.
    citation
        How to cite the page. If it is None, the page proposes a text.
    description
        What the table is and what a row is, in a sentence below the heading; None for none.
    population, period
        Who is in the table, and the time that it describes. The page has no such line if it is
        None.

    Examples
    --------
    >>> Imprint(date=datetime.date(2026, 1, 31), licence="CC BY 4.0").date.year
    2026
    """

    date: datetime.date = field(default_factory=datetime.date.today)
    contact: str | None = None
    licence: str | None = None
    citation: str | None = None
    description: str | None = None
    population: str | None = None
    period: str | None = None

    def lines(
        self,
        title: str,
        provenance: Provenance,
        domain: Domain,
    ) -> dict[str, str]:
        """The lines of a page with this title, by their heads."""
        guarantee = provenance.spent.describe().split(", neighbours")[0]
        found = strength(provenance.statement, domain)
        known = f" ({found.numbers} given the public totals)" if found.steps > 1 else ""
        proposed = (
            f"{title} ({self.date.year}). Counts with random noise; {guarantee}{known}. "
            f"Made with margin {provenance.version}, published on {self.date.isoformat()}."
        )
        lines = {
            "Published": self.date.isoformat(),
            "Population": self.population,
            "Period": self.period,
            "Contact": self.contact,
            "Licence": self.licence,
            "How to cite": self.citation or proposed,
        }
        return {head: text for head, text in lines.items() if text}
