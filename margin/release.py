"""`release` and `simulate`: make a synopsis of a private table."""

import dataclasses
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar, overload

from ._version import __version__
from .bases.given import stated_base
from .data.opening import open_source
from .data.rows_per_person import bound
from .data.scratch import remove_stale
from .data.source import Source
from .domain.domain import Domain
from .domain.workload import Workload
from .errors import BudgetError, FileError, MarginError
from .interrupts import watched
from .mechanisms import Adaptive, Auto, PriView, Residual
from .noise.entropy import Entropy, SeededEntropy, SystemEntropy
from .privacy.budget import ZCDP, ApproxDP, Budget, PureDP
from .privacy.ledger import Charge, Ledger
from .privacy.statement import Statement, digest, for_unit
from .private import Chargeable, Private
from .simulation import Simulation
from .synopses import ViewSynopsis
from .synopses.synopsis import Provenance, Synopsis, describe

__all__ = ["Mechanism", "release", "simulate"]

S = TypeVar("S", bound=Synopsis)
S_co = TypeVar(
    "S_co",
    bound=Synopsis,
    covariant=True,
)


class Mechanism(Protocol[S_co]):
    """The interface of a mechanism: an algorithm that turns a private table into a synopsis.

    Any object with a method `run` is a mechanism; no base class is needed.
    """

    def run(
        self,
        private: Private,
        workload: Workload | None,
        /,
    ) -> S_co:
        """Make a synopsis; the data is accessible only through the methods of `private`.

        `workload` holds the views that should be accurate; None leaves the choice to the mechanism.
        """


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
    base: object = None,
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
    base: object = None,
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
    base: object = None,
) -> Synopsis:
    """Make a differentially private synopsis of a table.

    Parameters
    ----------
    data
        The table. One of: the path of a CSV, Parquet or JSON file; the path of a folder of such
        files, or a pattern that matches some; a query (`Sql`); a data frame that supports the Arrow
        interface, or a Spark data frame; a mapping of columns; a `Source`; an integer array of
        codes of shape (rows, attributes). The guarantee protects one row, or all rows of a unit if
        `unit` is given.
    domain
        The declared attributes and their values: a `Domain`, a mapping that `Domain` accepts, or
        the path of a JSON file. Columns that are not declared are ignored.
    budget
        The privacy budget, all of which is spent: `PureDP`, `ZCDP` or `ApproxDP`. It also says
        which tables are neighbours.
    mechanism
        The algorithm. The default, `Auto()`, chooses the mechanism with the smallest expected
        error.
    workload
        The views (sets of attributes) whose accuracy matters. By default the mechanism decides.
    ledger
        The data set in a ledger that the budget is charged to, `Ledger(path).dataset(name)`. The
        charge is made before any noise is drawn.
    unit
        The column that identifies the unit of protection, such as a person. All rows with the same
        value are then protected together, however many the table holds. At most `max_rows` of them
        are counted; the choice does not depend on the order of the rows
        (`margin.data.rows_per_person.BoundedSource` defines the choice and proves the guarantee).
        The column need not be declared in the domain.
    max_rows
        The largest number of rows counted per unit. The budget's `rows_per_person` becomes this
        number; if `rows_per_person` is not 1, the two must be equal. It is required with `unit`,
        unless the budget's `rows_per_person` is above 1. Rows beyond it are left out, so totals may
        be too low.
    base
        What is known about such tables already: a `PublicTable`, an earlier release with the same
        declarations (a `ViewSynopsis`), or the path of its .margin file. The noisy tables tell how
        far it may be trusted; this costs no budget. The base is stored with the release, and
        `Provenance.base` states it. It is used by `Auto`, `Adaptive`, `PriView` and `Residual`. If
        it is an earlier release about the same people, the guarantees of both add up.

    Returns
    -------
    Synopsis
        The kind depends on the mechanism. `Auto` and `PriView` return a `ViewSynopsis`, which
        answers any marginal of the domain.

    Raises
    ------
    MarginError
        If an argument is malformed or the data does not fit the domain. Nothing has been charged,
        unless the message says otherwise: a source that fails when it is read for the second time
        fails after the charge.
    KeyboardInterrupt
        If the user interrupts. The message says whether the budget has been charged, as recorded in
        the ledger. After SIGTERM the message is printed, and the process ends.

    Examples
    --------
    >>> table = {"sex": [0, 1, 1, 0], "smokes": [1, 0, 0, 0]}
    >>> synopsis = release(table, domain={"sex": 2, "smokes": 2}, budget=PureDP(1))
    >>> synopsis.marginal(["smokes", "sex"]).counts.shape
    (2, 2)
    """
    request = _Request(
        data=data,
        domain=domain,
        budget=budget,
        mechanism=mechanism,
        workload=workload,
        ledger=ledger,
        unit=unit,
        max_rows=max_rows,
        base=base,
        entropy=SystemEntropy(),
    )
    synopsis, _ = _run(request)
    return synopsis


@overload
def simulate(
    data: object,
    *,
    domain: "Domain | Mapping[str, Any] | str | os.PathLike[str]",
    budget: Budget,
    mechanism: None = None,
    workload: Iterable[Iterable[str]] | None = None,
    unit: str | None = None,
    max_rows: int | None = None,
    base: object = None,
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
    unit: str | None = None,
    max_rows: int | None = None,
    base: object = None,
    seed: int,
) -> "Simulation[S]": ...


def simulate(
    data: object,
    *,
    domain: "Domain | Mapping[str, Any] | str | os.PathLike[str]",
    budget: Budget,
    mechanism: Mechanism[Synopsis] | None = None,
    workload: Iterable[Iterable[str]] | None = None,
    unit: str | None = None,
    max_rows: int | None = None,
    base: object = None,
    seed: int,
) -> Any:
    """Run a release with noise from a seed, and return the true counts too, for experiments.

    The result is not private and must not be published. A simulation is charged to no ledger, so it
    takes no `ledger`.

    Parameters
    ----------
    data, domain, budget, mechanism, workload, unit, max_rows, base
        See `release`. A base may be a simulation here.
    seed
        The seed of the noise. Equal arguments and equal seeds give equal results.

    Returns
    -------
    Simulation
        The synopsis and the true counts. The true counts include the rows that `max_rows` leaves
        out.

    Raises
    ------
    MarginError
        If an argument is malformed or the data does not fit the domain.

    Examples
    --------
    >>> table = {"sex": [0, 1, 1, 0], "smokes": [1, 0, 0, 0]}
    >>> result = simulate(table, domain={"sex": 2, "smokes": 2}, budget=PureDP(1), seed=0)
    >>> result.truth("smokes").counts.tolist()
    [3.0, 1.0]
    """
    request = _Request(
        data=data,
        domain=domain,
        budget=budget,
        mechanism=mechanism,
        workload=workload,
        ledger=None,
        unit=unit,
        max_rows=max_rows,
        base=base,
        entropy=SeededEntropy(seed),
    )
    synopsis, source = _run(request)
    return Simulation(synopsis, source)


@dataclass(
    frozen=True,
    kw_only=True,
)
class _Request:
    """A record of the arguments of `release` or `simulate`, and the source of the random bits."""

    data: object
    domain: "Domain | Mapping[str, Any] | str | os.PathLike[str]"
    budget: Budget
    mechanism: Mechanism[Synopsis] | None
    workload: Iterable[Iterable[str]] | None
    ledger: Chargeable | None
    unit: str | None
    max_rows: int | None
    base: object
    entropy: Entropy


def _run(request: _Request) -> tuple[Synopsis, Source]:
    """Make a synopsis; also returns the source of the rows.

    Whatever stops the work, the error says whether the budget has been charged.
    """
    with watched() as watch:
        work = _Work(request)
        watch.explain = lambda: f"interrupted; {work.fate() or _NOTHING}"
        try:
            done = work.run()
            watch.check()
            if not request.entropy.private:
                watch.explain = lambda: "interrupted"
            return done
        except (Exception, KeyboardInterrupt) as error:
            is_interrupt = isinstance(error, KeyboardInterrupt) or watch.late
            if not is_interrupt and not isinstance(error, MarginError):
                raise
            watch.settle()
            problem = error
        if is_interrupt:
            raise KeyboardInterrupt(watch.explain())
        fate = work.fate()
        if not fate:
            raise problem
        raise type(problem)(f"{problem}; {fate}")


class _Work:
    """One release: its arguments, and what is known of its charge."""

    def __init__(self, request: _Request) -> None:
        self._request = request
        self._private: Private | None = None
        self._charge: Charge | None = None

    def run(self) -> tuple[Synopsis, Source]:
        """Make the synopsis.

        All arguments are checked before the data is opened, and the budget is charged before any
        noise is drawn.
        """
        # Check the arguments.
        request = self._request
        if not isinstance(request.budget, PureDP | ZCDP | ApproxDP):
            kind = type(request.budget).__name__
            raise BudgetError(
                f"budget must be PureDP, ZCDP or ApproxDP, not {kind}; pass one of these"
            )
        domain = request.domain if isinstance(request.domain, Domain) else Domain(request.domain)
        workload = None if request.workload is None else Workload.of(domain, request.workload)
        mechanism = _mechanism(request.mechanism)
        if isinstance(request.ledger, Ledger):
            raise BudgetError(
                "ledger must be one data set of a ledger, but it is a whole ledger; pass "
                "ledger.dataset(name)"
            )
        budget = for_unit(request.budget, request.unit, request.max_rows)
        statement = Statement(
            budget=budget,
            unit=request.unit,
            domain=digest(domain),
        )
        base = None
        if request.base is not None:
            _check_uses_base(mechanism)
            base = stated_base(request.base, domain, allow_simulation=not request.entropy.private)
        self._charge = None if request.ledger is None else Charge(request.ledger, statement)

        # Open the data. Temporary files of runs that were killed are removed first.
        remove_stale()
        source = open_source(request.data)
        rows = source
        entropy = request.entropy
        if request.unit is not None:
            rows = bound(source, request.unit, budget.rows_per_person, entropy.take(16))
        self._private = private = Private(
            rows,
            domain=domain,
            budget=budget,
            entropy=entropy,
            ledger=self._charge,
        )

        # Run the mechanism.
        rows.check(domain)
        synopsis = mechanism.run(private, workload)
        if base is not None and isinstance(synopsis, ViewSynopsis):
            synopsis = synopsis.with_base(base)
        provenance = Provenance(
            mechanism=describe(mechanism),
            statement=dataclasses.replace(statement, budget=private.spent),
            private=entropy.private,
            version=__version__,
            token=private.token,
            base=None if base is None else base.stated,
        )
        return dataclasses.replace(synopsis, provenance=provenance), source

    def fate(self) -> str:
        """Say at the end of a message whether the budget has been charged; empty if it has not.

        The gate records an event after its charge and before its draw. A recorded event therefore
        proves the charge. Without one, the ledger is asked.
        """
        if self._private is not None and self._private.events:
            return _CHARGED
        try:
            made = False if self._charge is None else self._charge.is_made()
        except (FileError, KeyboardInterrupt):
            return _UNKNOWN
        if made is None:
            return _UNKNOWN
        return _CHARGED if made else ""


def _mechanism(given: Mechanism[Synopsis] | None) -> Mechanism[Synopsis]:
    """Check that a mechanism has a method `run`, and return it; None stands for `Auto()`."""
    mechanism = Auto() if given is None else given
    if isinstance(mechanism, type) or not callable(getattr(mechanism, "run", None)):
        raise MarginError(
            f"mechanism must be an object with a method run, not {mechanism!r}; pass one such as "
            "PriView()"
        )
    return mechanism


def _check_uses_base(mechanism: Mechanism[Synopsis]) -> None:
    """Refuse a mechanism that does not use a base."""
    if not isinstance(mechanism, Adaptive | Auto | PriView | Residual):
        raise MarginError(
            "base is used by Auto, Adaptive, PriView and Residual, but mechanism is "
            f"{type(mechanism).__name__}; choose one of these, or leave base out"
        )


_NOTHING = "no noise was drawn, and nothing has been charged"
_CHARGED = "the budget has already been charged"
_UNKNOWN = "it is not known whether the budget has been charged: check the ledger"
