"""`release` and `simulate`: from a table to a synopsis."""

import dataclasses
import os
from collections.abc import Iterable, Mapping
from typing import Any, Protocol, TypeVar, overload

from ._version import __version__
from .data.opening import open_source
from .data.scratch import remove_stale
from .data.source import Source
from .data.units import bound
from .domain.domain import Domain
from .domain.workload import Workload
from .errors import BudgetError, FileError, MarginError
from .mechanisms import Auto
from .noise.entropy import Entropy, SeededEntropy, SystemEntropy
from .privacy.budget import ZCDP, ApproxDP, Budget, PureDP
from .privacy.ledger import Charge, Ledger
from .privacy.statement import Statement, digest, for_unit
from .private import Chargeable, Private
from .simulation import Simulation
from .synopses import ViewSynopsis
from .synopses.describe import describe
from .synopses.synopsis import Provenance, Synopsis

__all__ = ["Mechanism", "release", "simulate"]

S = TypeVar("S", bound=Synopsis)
S_co = TypeVar("S_co", bound=Synopsis, covariant=True)


class Mechanism(Protocol[S_co]):
    """A way to make a synopsis of a private table; any object with this method is one."""

    def run(self, private: Private, workload: Workload | None, /) -> S_co:
        """Make a synopsis, touching the data through the methods of `private` only."""


@overload
def release(
    data: object,
    *,
    domain: "Domain | Mapping[str, Any] | str | os.PathLike[str]",
    budget: Budget,
    mechanism: None = None,
    workload: Iterable[Iterable[str]] | None = None,
    ledger: Chargeable | None = None,
    unit: str | None = None,
    max_rows: int | None = None,
) -> ViewSynopsis: ...


@overload
def release(
    data: object,
    *,
    domain: "Domain | Mapping[str, Any] | str | os.PathLike[str]",
    budget: Budget,
    mechanism: Mechanism[S],
    workload: Iterable[Iterable[str]] | None = None,
    ledger: Chargeable | None = None,
    unit: str | None = None,
    max_rows: int | None = None,
) -> S: ...


def release(
    data: object,
    *,
    domain: "Domain | Mapping[str, Any] | str | os.PathLike[str]",
    budget: Budget,
    mechanism: Mechanism[Synopsis] | None = None,
    workload: Iterable[Iterable[str]] | None = None,
    ledger: Chargeable | None = None,
    unit: str | None = None,
    max_rows: int | None = None,
) -> Synopsis:
    """A differentially private synopsis of a table.

    Parameters
    ----------
    data
        A path of a CSV, Parquet or JSON file, of a folder of these or a pattern that fits some; a
        query (`Sql`); a data frame that speaks Arrow, or Spark's; a mapping of columns; a `Source`;
        or an integer array of codes of shape (rows, attributes). One row is what the guarantee
        protects, or all rows of a unit.
    domain
        What the table may hold, declared: a `Domain`, what makes one, or the path of its JSON file.
        Other columns are ignored.
    budget
        What may be spent: `PureDP`, `ZCDP` or `ApproxDP`. All of it is spent.
    mechanism
        How; `Auto()`, which chooses by expected error, when not given.
    workload
        The views that matter, if not all alike.
    ledger
        What the budget is charged to before anything is drawn: `Ledger(path).dataset(name)`.
    unit
        The column that says whose a row is. All rows of a person are then protected, however many
        the table holds: those beyond `max_rows` are not counted, whatever their order (see
        `units.BoundedSource` for which, and for the proof). No column needs to be declared for it.
    max_rows
        How many rows of a unit are counted at most. The budget's `rows_per_person` becomes this
        number, and must be equal if it is not 1; `max_rows` is the budget's number when not given.

    Returns
    -------
    Synopsis
        Of the mechanism's own kind. That of `Auto` or `PriView`, a `ViewSynopsis`, answers any
        marginal of the domain.

    Raises
    ------
    MarginError
        When an argument is malformed or the data does not fit the domain. Nothing has then been
        charged, unless the message says so: a source that fails when it is read for a second time
        fails too late.
    KeyboardInterrupt
        Its text says whether the budget has been charged, as the ledger says it; it has none before
        the data is opened.
    """
    synopsis, _ = _run(
        data, domain, budget, mechanism, workload, ledger, unit, max_rows, SystemEntropy()
    )
    return synopsis


@overload
def simulate(
    data: object,
    *,
    domain: "Domain | Mapping[str, Any] | str | os.PathLike[str]",
    budget: Budget,
    mechanism: None = None,
    workload: Iterable[Iterable[str]] | None = None,
    ledger: Chargeable | None = None,
    unit: str | None = None,
    max_rows: int | None = None,
    seed: int,
) -> "Simulation[ViewSynopsis]": ...


@overload
def simulate(
    data: object,
    *,
    domain: "Domain | Mapping[str, Any] | str | os.PathLike[str]",
    budget: Budget,
    mechanism: Mechanism[S],
    workload: Iterable[Iterable[str]] | None = None,
    ledger: Chargeable | None = None,
    unit: str | None = None,
    max_rows: int | None = None,
    seed: int,
) -> "Simulation[S]": ...


def simulate(
    data: object,
    *,
    domain: "Domain | Mapping[str, Any] | str | os.PathLike[str]",
    budget: Budget,
    mechanism: Mechanism[Synopsis] | None = None,
    workload: Iterable[Iterable[str]] | None = None,
    ledger: Chargeable | None = None,
    unit: str | None = None,
    max_rows: int | None = None,
    seed: int,
) -> Any:
    """What `release` would give, with noise that follows from a seed: for experiments, never to be
    published.

    The arguments are those of `release`; a ledger is refused, since nothing is released. The truth
    beside it is that of all rows, also of those that `max_rows` leaves out.
    """
    if ledger is not None:
        raise BudgetError(
            "a simulation releases nothing and must not be entered in a ledger; leave ledger out"
        )
    return Simulation(
        *_run(data, domain, budget, mechanism, workload, None, unit, max_rows, SeededEntropy(seed))
    )


def _run(
    data: object,
    domain: "Domain | Mapping[str, Any] | str | os.PathLike[str]",
    budget: Budget,
    mechanism: Mechanism[Synopsis] | None,
    workload: Iterable[Iterable[str]] | None,
    ledger: Chargeable | None,
    unit: str | None,
    max_rows: int | None,
    entropy: Entropy,
) -> tuple[Synopsis, Source]:
    """The path of a release: everything is checked before the data is opened, and charged before
    anything is drawn."""
    if not isinstance(budget, PureDP | ZCDP | ApproxDP):
        raise BudgetError(f"budget must be PureDP, ZCDP or ApproxDP, not {type(budget).__name__}")
    declared = domain if isinstance(domain, Domain) else Domain(domain)
    asked = None if workload is None else Workload.of(declared, workload)
    chosen = Auto() if mechanism is None else mechanism
    if isinstance(chosen, type) or not callable(getattr(chosen, "run", None)):
        raise MarginError(
            f"mechanism must be an object with a method run, such as PriView(), not {chosen!r}"
        )
    if isinstance(ledger, Ledger):
        raise BudgetError("a ledger holds many data sets: pass ledger.dataset(name)")
    budget = for_unit(budget, unit, max_rows)
    statement = Statement(budget=budget, unit=unit, domain=digest(declared))
    charge = None if ledger is None else Charge(ledger, statement)
    remove_stale()
    source = open_source(data)
    rows = source if unit is None else bound(source, unit, budget.rows_per_person, entropy.take(16))
    private = Private(rows, domain=declared, budget=budget, entropy=entropy, ledger=charge)
    try:
        rows.check(declared)
        synopsis = chosen.run(private, asked)
        provenance = Provenance(
            mechanism=describe(chosen),
            statement=dataclasses.replace(statement, budget=private.spent),
            private=entropy.private,
            version=__version__,
            token=private.token,
        )
        return dataclasses.replace(synopsis, provenance=provenance), source
    except MarginError as error:
        problem = error
        fate = _fate(private, charge)
    except KeyboardInterrupt:
        raise KeyboardInterrupt(f"interrupted; {_fate(private, charge) or _NOTHING}") from None
    if not fate:
        raise problem
    raise type(problem)(f"{problem}; {fate}") from None


_NOTHING = "nothing was drawn, and nothing has been charged"
_CHARGED = "the budget had been charged before"


def _fate(private: Private, charge: Charge | None) -> str:
    """Whether the budget is gone, for a message: nothing when it is not.

    What is drawn is noted before it is drawn, but after it is charged. What is noted is therefore
    sure; where nothing is, the ledger is asked.
    """
    if private.events:
        return _CHARGED
    unknown = "whether the budget has been charged is not known: look into the ledger"
    try:
        made = False if charge is None else charge.is_made()
    except (FileError, KeyboardInterrupt):
        return unknown
    return unknown if made is None else _CHARGED if made else ""
