"""`release` and `simulate`: make a synopsis of a private table."""

import dataclasses
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar, overload

from ._checks import check_has_run
from ._names import explains_calls
from ._version import __version__
from .bases.given import stated_base
from .bases.known import with_known
from .data.opening import open_source
from .data.rows_per_person import bound
from .data.scratch import check_temporary, remove_stale
from .data.source import Source
from .data.steady import one_table
from .domain.domain import GivenDomain, domain_of
from .domain.workload import Workload
from .errors import BudgetError, DomainError, FileError, MarginError, note_lost
from .interrupts import watched
from .interrupts.loading import loading
from .mechanisms import Adaptive, Auto, PriView, Residual
from .mechanisms.tried import try_solvers
from .noise.entropy import Entropy, SeededEntropy, SystemEntropy
from .privacy.budget import Budget, check_budget
from .privacy.ledger import Charge, Ledger
from .privacy.statement import Statement, bound_of, digest, for_unit
from .private import Chargeable, Private
from .simulation import Simulation
from .synopses import ViewSynopsis
from .synopses.synopsis import Provenance, Synopsis, describe

__all__ = ["Mechanism", "release", "simulate"]

_BUDGETS = {
    "epsilon": "pass budget=margin.PureDP(epsilon), or budget=margin.ApproxDP(epsilon, delta)",
    "delta": "pass budget=margin.ApproxDP(epsilon, delta)",
    "rho": "pass budget=margin.ZCDP(rho)",
}
"""What to write instead of arguments that only budgets take."""

S = TypeVar("S", bound=Synopsis)
S_co = TypeVar(
    "S_co",
    bound=Synopsis,
    covariant=True,
)


class Mechanism(Protocol[S_co]):
    """The interface of a mechanism: an algorithm that turns a private table into a synopsis.

    Any object with a method `run` is a mechanism; no base class is needed.

    Examples
    --------
    >>> import margin
    >>> class OnlyOneWay:
    ...     def run(self, private, workload, /):
    ...         from margin.synopses.estimate import estimate
    ...         views = [[name] for name in private.domain]
    ...         return estimate(private.domain, private.measure(views))
    >>> mechanism: margin.Mechanism = OnlyOneWay()
    >>> made = margin.release(
    ...     {"a": [0, 1]}, domain={"a": 2}, budget=margin.PureDP(1), mechanism=mechanism
    ... )
    >>> made.marginal(["a"]).counts.shape
    (2,)
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
    domain: GivenDomain,
    budget: Budget,
    mechanism: None = None,
    workload: Iterable[Iterable[str]] | None = None,
    ledger: Chargeable | None = None,
    unit: str | None = None,
    rows_per_person: int | None = None,
    no_more_rows: bool = False,
    base: object = None,
    known: Mapping[Any, Any] | None = None,
) -> ViewSynopsis: ...


@overload
def release(
    data: object,
    *,
    domain: GivenDomain,
    budget: Budget,
    mechanism: Mechanism[S],
    workload: Iterable[Iterable[str]] | None = None,
    ledger: Chargeable | None = None,
    unit: str | None = None,
    rows_per_person: int | None = None,
    no_more_rows: bool = False,
    base: object = None,
    known: Mapping[Any, Any] | None = None,
) -> S: ...


@explains_calls(
    {
        **_BUDGETS,
        "seed": "its noise comes from the operating system, so that nobody can repeat it; use "
        "margin.simulate(..., seed=0) for experiments, whose result is not private",
        "label": "the ledger keeps it, so pass ledger=ledger.dataset(name, label=...)",
    }
)
def release(
    data: object,
    *,
    domain: GivenDomain,
    budget: Budget,
    mechanism: Mechanism[Synopsis] | None = None,
    workload: Iterable[Iterable[str]] | None = None,
    ledger: Chargeable | None = None,
    unit: str | None = None,
    rows_per_person: int | None = None,
    no_more_rows: bool = False,
    base: object = None,
    known: Mapping[Any, Any] | None = None,
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
        The algorithm. The default, `Adaptive()`, learns privately how strong the structure
        is, where that is expected to help, and takes the mechanism with the smallest expected
        error.
    workload
        The views (sets of attributes) whose accuracy matters. By default the mechanism decides:
        `Auto` and `Adaptive` take all triples of attributes, or all pairs of more than 107
        attributes. So does `margin.plan`.
    ledger
        The data set in a ledger that the budget is charged to, `Ledger(path).dataset(name)`, or
        `.dataset(name, label="spring 2026")` to label the charge. The charge is made before any
        noise is drawn.
    unit
        The column that identifies the unit of protection, such as a person. All rows with the same
        value are then protected together, however many the table holds. At most `rows_per_person`
        of them are counted; the choice does not depend on the order of the rows
        (`margin.data.rows_per_person.BoundedSource` defines the choice and proves the guarantee).
        The column need not be declared in the domain.
    rows_per_person
        The largest number of rows counted per unit. The budget's `rows_per_person` becomes this
        number; if `rows_per_person` is not 1, the two must be equal. It is required with `unit`,
        unless the budget's `rows_per_person` is above 1. Rows beyond it are left out, so totals may
        be too low.
    no_more_rows
        Whether you declare that no unit has more than `rows_per_person` rows, for example because a
        query keeps one row of each. Readers are then told that you state this, and not that totals
        may be too low. Nothing checks it: the guarantee stays that of `unit`, and further rows are
        left out all the same. Declare only what holds for every table that the query can make, and
        not what you saw in the data.
    base
        What is known about such tables already: a `PublicTable`, an earlier release with the same
        declarations (a `ViewSynopsis`), or the path of its .margin file. The noisy tables tell how
        far it may be trusted; this costs no budget. The base is stored with the release, and
        `Provenance.base` states it. It is used by `Auto`, `Adaptive`, `PriView` and `Residual`. If
        it is an earlier release about the same people, the guarantees of both add up.
    known
        Tables that are public anyway, such as the population of each state: a mapping from views to
        tables. A view names attributes, or levels such as "place@state". A table is an array of
        whole numbers with the view's shape; or a data frame, a mapping of columns or a path, with a
        column for each name of the view and a column "count". All answers, tables and records agree
        with them exactly, and no budget is spent on them. What they say is not protected: the
        guarantee is for tables that agree on them. The data is not compared with them. They are
        added to those that the domain declares; see `Domain`. They are used by `Auto`, `Adaptive`,
        `PriView` and `Residual`. With `unit` and several rows of each, they need `no_more_rows`:
        otherwise rows that they count may be left out.

    Returns
    -------
    Synopsis
        The kind depends on the mechanism. `Auto` and `PriView` return a `ViewSynopsis`, which
        answers any marginal of the domain.

    Raises
    ------
    MarginError
        If an argument is malformed or the data does not fit the domain. Nothing has been charged,
        unless the message says otherwise: a source that fails when it is read for the second time,
        or files that were changed meanwhile, may stop the release after the charge. Every error
        that follows the charge, also one of another type, has an attribute `budget_is_lost` that is
        True.
    KeyboardInterrupt
        If the user interrupts. The message says whether the budget has been charged, as recorded in
        the ledger. After SIGTERM or SIGHUP the message is printed, and the process ends; a handler
        of your own takes the place of both, and if it returns, the release goes on. All this needs
        the main thread. In another thread, a signal without a handler of your own ends the process
        with no message, and the next release removes the temporary folder.

    Examples
    --------
    >>> from margin import PureDP
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
        rows_per_person=rows_per_person,
        no_more_rows=no_more_rows,
        base=base,
        known=known,
        entropy=SystemEntropy(),
    )
    synopsis, _ = _run(request)
    return synopsis


@overload
def simulate(
    data: object,
    *,
    domain: GivenDomain,
    budget: Budget,
    mechanism: None = None,
    workload: Iterable[Iterable[str]] | None = None,
    unit: str | None = None,
    rows_per_person: int | None = None,
    no_more_rows: bool = False,
    base: object = None,
    known: Mapping[Any, Any] | None = None,
    seed: int,
) -> "Simulation[ViewSynopsis]": ...


@overload
def simulate(
    data: object,
    *,
    domain: GivenDomain,
    budget: Budget,
    mechanism: Mechanism[S],
    workload: Iterable[Iterable[str]] | None = None,
    unit: str | None = None,
    rows_per_person: int | None = None,
    no_more_rows: bool = False,
    base: object = None,
    known: Mapping[Any, Any] | None = None,
    seed: int,
) -> "Simulation[S]": ...


@explains_calls(
    {
        **_BUDGETS,
        "ledger": "a simulation spends no budget, so it is charged to no ledger; leave it out",
    }
)
def simulate(
    data: object,
    *,
    domain: GivenDomain,
    budget: Budget,
    mechanism: Mechanism[Synopsis] | None = None,
    workload: Iterable[Iterable[str]] | None = None,
    unit: str | None = None,
    rows_per_person: int | None = None,
    no_more_rows: bool = False,
    base: object = None,
    known: Mapping[Any, Any] | None = None,
    seed: int,
) -> Any:
    """Run a release with noise from a seed, and return the true counts too, for experiments.

    The result is not private and must not be published. A simulation is charged to no ledger, so it
    takes no `ledger`.

    Parameters
    ----------
    data, domain, budget, mechanism, workload, unit, rows_per_person, no_more_rows, base, known
        See `release`. A base may be a simulation here.
    seed
        The seed of the noise. Equal arguments and equal seeds give equal results.

    Returns
    -------
    Simulation
        The synopsis and the true counts. The true counts include the rows that `rows_per_person`
        leaves out.

    Raises
    ------
    MarginError
        If an argument is malformed or the data does not fit the domain.

    Examples
    --------
    >>> from margin import PureDP
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
        rows_per_person=rows_per_person,
        no_more_rows=no_more_rows,
        base=base,
        known=known,
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
    domain: GivenDomain
    budget: Budget
    mechanism: Mechanism[Synopsis] | None
    workload: Iterable[Iterable[str]] | None
    ledger: Chargeable | None
    unit: str | None
    rows_per_person: int | None
    no_more_rows: bool
    base: object
    known: Mapping[Any, Any] | None
    entropy: Entropy


def _run(request: _Request) -> tuple[Synopsis, Source]:
    """Make a synopsis; also returns the source of the rows.

    Whatever stops the work, the error says whether the budget has been charged.
    """
    with watched() as watch:
        work = _Work(request)
        if request.entropy.private:
            watch.explain = lambda: f"interrupted; {work.fate() or _NOTHING}"
        else:
            watch.explain = lambda: "interrupted"
        try:
            done = work.run()
            watch.check()
            return done
        except (Exception, KeyboardInterrupt) as error:
            is_interrupt = isinstance(error, KeyboardInterrupt) or watch.late
            if not is_interrupt and not isinstance(error, MarginError):
                if fate := work.fate():
                    note_lost(error, fate)
                raise
            watch.settle()
            problem = error
        fate = work.fate()
        if is_interrupt:
            interrupt = KeyboardInterrupt(watch.explain())
            if fate:
                vars(interrupt)["budget_is_lost"] = True
            raise interrupt
        if not fate or not isinstance(problem, MarginError):
            raise problem
        # The charge comes first: the advice on the problem may be to start again.
        lost = type(problem)(f"{fate}. The cause: {problem}")
        lost.budget_is_lost = True
        raise lost


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
        check_budget(request.budget)
        domain = domain_of(request.domain)
        if request.known is not None:
            domain = with_known(domain, request.known)
        workload = None if request.workload is None else Workload.of(domain, request.workload)
        mechanism = Adaptive() if request.mechanism is None else request.mechanism
        check_has_run(mechanism)
        try_solvers(mechanism)
        described = describe(mechanism)
        if isinstance(request.ledger, Ledger):
            raise BudgetError(
                "ledger must be one data set of a ledger, but it is a whole ledger; pass "
                "ledger.dataset(name)"
            )
        if request.ledger is not None and not callable(getattr(request.ledger, "charge", None)):
            raise BudgetError(
                "ledger must be one data set of a ledger, but it is of type "
                f"{type(request.ledger).__name__}; pass Ledger(path).dataset(name)"
            )
        budget = for_unit(request.budget, request.unit, request.rows_per_person)
        statement = Statement(
            budget=budget,
            unit=request.unit,
            bound=bound_of(request.unit, no_more_rows=request.no_more_rows),
            domain=digest(domain),
        )
        if domain.known:
            _check_keeps_known(mechanism)
        if domain.rows is not None:
            _check_public_totals(request, budget.rows_per_person)
        base = None
        if request.base is not None:
            _check_uses_base(mechanism)
            base = stated_base(request.base, domain, allow_simulation=not request.entropy.private)
        self._charge = None
        if request.ledger is not None:
            self._charge = Charge(
                request.ledger,
                statement,
                total_is_public=domain.rows is not None,
            )

        # Open the data. Temporary files of runs that were killed are removed first.
        check_temporary()
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

        # The solvers need it. It may fail to load, so load it before the charge.
        with loading():
            import scipy.linalg  # noqa: F401

        # Run the mechanism.
        with one_table():
            rows.check(domain)
            synopsis = mechanism.run(private, workload)
        if not isinstance(synopsis, Synopsis):
            raise MarginError(
                f"the method run of {type(mechanism).__name__} must return a synopsis, but it "
                f"returned an object of type {type(synopsis).__name__}; correct the mechanism"
            )
        _check_kept(private, budget, mechanism)
        if base is not None and isinstance(synopsis, ViewSynopsis):
            synopsis = synopsis.with_base(base)
        provenance = Provenance(
            mechanism=described,
            statement=dataclasses.replace(statement, budget=private.spent),
            private=entropy.private,
            version=__version__,
            token=private.token,
            base=None if base is None else base.stated,
            known=tuple(domain.known),
            course=private.course,
        )
        return dataclasses.replace(synopsis, provenance=provenance), source

    def fate(self) -> str:
        """Say at the end of a message whether the budget has been charged; empty if it has not.
        A simulation spends nothing.

        The gate records an event after its charge and before its draw. A recorded event therefore
        proves the charge. Without one, the ledger is asked.
        """
        if not self._request.entropy.private:
            return ""
        if self._private is not None and self._private.events:
            return _CHARGED
        try:
            made = False if self._charge is None else self._charge.is_made()
        except (FileError, KeyboardInterrupt):
            return _UNKNOWN
        if made is None:
            return _UNKNOWN
        return _CHARGED if made else ""


def _check_kept(
    private: Private,
    budget: Budget,
    mechanism: Mechanism[Synopsis],
) -> None:
    """Refuse the result of a mechanism that changed its account or its budget.

    `Private` refuses every charge beyond the budget. So the recorded charges exceed it only if the
    mechanism wrote to attributes that are not its own. This is no defence against such code, which
    may forge the records, too.
    """
    course = private.course
    if private.budget == budget and course.keeps_to_budget:
        return
    raise BudgetError(
        f"the mechanism {type(mechanism).__name__} must keep to the budget, {budget.units} units "
        f"of 1e-12, but its answers were charged {course.charged} units, or it put another budget "
        "in its place; correct the mechanism, which must only call the methods of private, and "
        "count all these units as spent on this data"
    )


def _check_uses_base(mechanism: Mechanism[Synopsis]) -> None:
    """Refuse a mechanism that does not use a base."""
    if not isinstance(mechanism, Adaptive | Auto | PriView | Residual):
        raise MarginError(
            "base is used by Auto, Adaptive, PriView and Residual, but mechanism is "
            f"{type(mechanism).__name__}; choose one of these, or leave base out"
        )


def _check_keeps_known(mechanism: Mechanism[Synopsis]) -> None:
    """Refuse a mechanism whose answers need not agree with known tables."""
    if not getattr(mechanism, "keeps_known", False):
        raise MarginError(
            "known tables are kept by Auto, Adaptive, PriView and Residual, but mechanism is "
            f"{type(mechanism).__name__}; choose one of these, or leave known out"
        )


def _check_public_totals(request: _Request, rows_per_person: int) -> None:
    """Refuse public totals if rows that they count may be left out.

    With a limit of one row they may be right: those of units, such as the population.
    """
    may_leave_out = request.unit is not None and not request.no_more_rows
    if may_leave_out and rows_per_person > 1:
        raise DomainError(
            "public totals must be those of the rows that are counted, but rows beyond "
            f"{rows_per_person} with the same {request.unit!r} are left out, and how many is "
            "private; if no unit can have more rows, declare it with no_more_rows=True "
            "(--no-more-rows), else leave the public totals out: docs/howto/known.md has ways to "
            "publish tables that add up to them"
        )


_NOTHING = "no noise was drawn, and nothing has been charged"
_CHARGED = (
    "the budget has already been charged, but there is no result and no file; another release "
    "spends its budget in addition"
)
_UNKNOWN = "it is not known whether the budget has been charged: check the ledger"
