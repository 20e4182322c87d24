"""The true strength of a guarantee: together with public totals, and with an earlier release."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

from .._numbers import text
from ..domain.domain import Domain
from .budget import ZCDP, ApproxDP, Budget, Neighbours, PureDP
from .conversion import epsilon_above
from .statement import Statement, not_protected

__all__ = [
    "CHANCE",
    "LARGEST_LOSS",
    "Strength",
    "beside",
    "earlier_releases",
    "for_contents",
    "given",
    "spent_before",
    "strength",
    "together",
    "with_base",
]

CHANCE = 1e-6
"""The delta at which zero-concentrated differential privacy is explained."""

LARGEST_LOSS = 700.0
"""Largest loss whose factor exp(loss) is a float."""


@dataclass(
    frozen=True,
    kw_only=True,
)
class Strength:
    """How well a release hides the difference between two tables.

    Attributes
    ----------
    steps
        Number of neighbouring steps between the two tables: 2 if neighbours add or remove rows, but
        the tables differ in what the rows of a person say; otherwise 1.
    epsilon, delta
        The (epsilon, delta)-differential privacy between such tables; delta is 0 for `PureDP`, and
        1e-6 for `ZCDP`.
    loss, chance
        The probabilities of a result on the two tables differ by a factor of at most exp(loss),
        except with the probability `chance` on either table. With a delta the loss is larger than
        epsilon (see docs/proofs/odds.md).
    numbers
        The guarantee between such tables in its own numbers, such as "epsilon = 2 x 0.5 = 1".
    """

    steps: int
    epsilon: float
    delta: float
    loss: float
    chance: float
    numbers: str

    @property
    def in_full(self) -> str:
        """The guarantee in its own numbers, and as (epsilon, delta) if these are a rho."""
        if not self.is_rho:
            return self.numbers
        return f"{self.numbers} ({self.converted})"

    @property
    def is_rho(self) -> bool:
        """Whether `numbers` is a rho, which has an epsilon for each delta."""
        return self.numbers.startswith("rho")

    @property
    def converted(self) -> str:
        """Epsilon, and the delta at which it holds."""
        return f"epsilon = {self.epsilon:g} at delta = {text(Fraction(str(self.delta)))}"

    @property
    def factor(self) -> float:
        """exp(loss), with 1e-12 of it added: the relative error of floats is smaller. Losses above
        `LARGEST_LOSS` count as this one."""
        return math.exp(min(self.loss, LARGEST_LOSS)) * (1 + 1e-12)


def strength(statement: Statement, domain: Domain | None) -> Strength:
    """The guarantee between the nearest tables that differ in the rows of one person and agree on
    the totals that the domain declares as public.

    Without public totals these are neighbours. Under `ADD_REMOVE_ROW` no neighbours have the same
    total: with public totals, the tables differ in what the rows say (see `for_contents`).

    Examples
    --------
    >>> strength(Statement(budget=PureDP("0.5")), Domain({"sex": ["F", "M"]}, rows=7)).numbers
    'epsilon = 2 x 0.5 = 1'
    """
    total_is_known = domain is not None and domain.rows is not None
    return for_contents(statement) if total_is_known else _over(statement.budget, 1)


def for_contents(statement: Statement) -> Strength:
    """The guarantee for what the rows of a person say who is known to be in the table.

    Under `ADD_REMOVE_ROW` two tables that differ in what the rows say are two steps apart: the rows
    are removed, and the others added. Epsilon doubles, rho is four times as large, and delta is
    multiplied by 1 + exp(epsilon) (see docs/proofs/known.md). Under `REPLACE_ROW` the two tables
    are neighbours.

    Examples
    --------
    >>> for_contents(Statement(budget=PureDP("0.5"))).numbers
    'epsilon = 2 x 0.5 = 1'
    """
    return _over(statement.budget, _steps_of_contents(statement))


def _steps_of_contents(statement: Statement) -> int:
    """The number of neighbouring steps between tables that differ in what a person's rows say."""
    return 2 if statement.neighbours is Neighbours.ADD_REMOVE_ROW else 1


def together(
    whole: Statement,
    spent: Fraction,
    public_totals: Sequence[bool | None],
) -> Strength | None:
    """The guarantee of all releases of a data set together, between tables with the same public
    totals (see docs/proofs/known.md, part 3).

    Parameters
    ----------
    whole
        The statement of the data set, with the budget that may be spent.
    spent
        The sum of the releases: epsilon if the budget is `PureDP`, else rho.
    public_totals
        For each release whether its domain declared the total as public. None, if nobody recorded
        it, counts as yes.

    Returns
    -------
    Strength or None
        None if nothing is spent.

    Examples
    --------
    >>> together(Statement(budget=PureDP(3)), Fraction(2), [True, False]).numbers
    'epsilon = 2 x 2 = 4'
    """
    if not spent:
        return None
    known = any(public is not False for public in public_totals)
    steps = _steps_of_contents(whole) if known else 1
    if isinstance(whole.budget, PureDP):
        return _over(PureDP(spent), steps)
    delta = float(whole.budget.delta) if isinstance(whole.budget, ApproxDP) else CHANCE
    return _concentrated(spent, steps, delta)


def _over(budget: Budget, steps: int) -> Strength:
    """The guarantee of a budget between tables that are one or two neighbouring steps apart."""
    if isinstance(budget, PureDP):
        one = float(budget.epsilon)
        numbers = _product("epsilon", steps, one)
        epsilon = steps * one
        return Strength(
            steps=steps,
            epsilon=epsilon,
            delta=0.0,
            loss=epsilon,
            chance=0.0,
            numbers=numbers,
        )
    if isinstance(budget, ApproxDP):
        one = float(budget.epsilon)
        factor = 1 + math.exp(min(one, 700.0)) if steps == 2 else 1.0
        delta = min(1.0, factor * float(budget.delta))
        numbers = f"{_product('epsilon', steps, one)}, delta = {_in_decimals(delta)}"
        epsilon = steps * one
        # A factor of exp(epsilon) alone may have a probability of far more than delta.
        return Strength(
            steps=steps,
            epsilon=epsilon,
            delta=delta,
            loss=epsilon + math.log(2),
            chance=min(1.0, delta * (2 + math.exp(-epsilon))),
            numbers=numbers,
        )
    assert isinstance(budget, ZCDP)
    return _concentrated(budget.rho, steps, CHANCE)


def _concentrated(
    rho: Fraction,
    steps: int,
    delta: float,
) -> Strength:
    """The guarantee of an amount of rho between tables that are one or two steps apart."""
    # Convert to (epsilon, delta) and round epsilon up.
    whole = steps**2 * rho
    epsilon = math.ceil(1000 * epsilon_above(whole, Fraction(str(delta)))) / 1000
    # The tail of the loss, in both directions together; its probability is half of delta in each.
    tail = 2 * math.sqrt(whole * math.log(2 / delta))
    return Strength(
        steps=steps,
        epsilon=epsilon,
        delta=delta,
        loss=float(whole) + tail,
        chance=delta,
        numbers=_product("rho", steps**2, float(rho)),
    )


def _in_decimals(number: float) -> str:
    """A small number to three digits, without an exponent unless it has many zeros."""
    short = f"{number:.3g}"
    return f"{Decimal(short):f}" if number > 1e-10 else short


def _product(
    name: str,
    factor: int,
    number: float,
) -> str:
    if factor == 1:
        return f"{name} = {number:g}"
    return f"{name} = {factor} x {number:g} = {factor * number:g}"


def beside(
    statement: Statement,
    domain: Domain,
    base: Mapping[str, Any] | None = None,
) -> str:
    """Say what a reader of a statement must know besides it: what is public, how strong the
    guarantee then is, and that it adds up with that of an earlier release. Empty if there is
    nothing to say.

    Examples
    --------
    >>> print(beside(Statement(budget=PureDP("0.5")), Domain({"sex": ["F", "M"]}, rows=7)))
    Given the public number of rows, what a row says is protected with epsilon = 2 x 0.5 = 1; ...
    """
    sentences = [
        not_protected(domain),
        given(statement, domain, base),
        spent_before(statement, base, domain),
    ]
    return " ".join(sentence for sentence in sentences if sentence)


def given(
    statement: Statement,
    domain: Domain,
    base: Mapping[str, Any] | None = None,
) -> str:
    """Say the strength between tables with the same public totals; empty if it is the budget.

    With earlier releases in `base`, it is that of all together.
    """
    found = strength(statement, domain)
    if found.steps == 1:
        return ""
    found = with_base(statement, base, domain) or found
    totals = "these public totals" if domain.known else "the public number of rows"
    return (
        f"Given {totals}, {statement.contents} is protected with {found.in_full}; whether "
        f"{'someone is' if statement.unit is None else 'they are'} in the table is not hidden."
    )


def spent_before(
    statement: Statement,
    base: Mapping[str, Any] | None,
    domain: Domain | None = None,
    *,
    charges: bool = True,
) -> str:
    """Say which releases a base consists of, and what their guarantees add up to.

    Parameters
    ----------
    statement
        The statement of the release that uses the base.
    base
        `Provenance.base`; None without a base.
    domain
        The domain of the release, which may declare totals as public.
    charges
        Whether to say which entry of a ledger paid for each earlier release.
    """
    if base is None:
        return ""
    if base["kind"] != "release":
        return (
            f"Also uses a public table ({base['source']}); nobody in it is protected by this "
            "release."
        )
    sentences = []
    for number, one in enumerate(earlier_releases(base)):
        numbers = _over(Statement.from_json(one["statement"]).budget, 1).numbers
        charge = one["charge"]
        paid = "without a ledger"
        if charge is not None:
            paid = f"entry {charge['sequence']} of the ledger {charge['ledger'][:8]}"
        start = "Also uses a still" if number else "This release uses an"
        said = f"{start} earlier release with {numbers}"
        sentences.append(f"{said} ({paid})." if charges else f"{said}.")
    return " ".join([*sentences, _added(statement, base, domain)])


def with_base(
    statement: Statement,
    base: Mapping[str, Any] | None,
    domain: Domain | None = None,
    *,
    contents: bool = False,
) -> Strength | None:
    """The guarantee of a release and of the releases in its base together, between tables with the
    same public totals. None without such releases, or if there is no single number.

    Parameters
    ----------
    statement, base, domain
        As for `spent_before`.
    contents
        Whether the tables differ in what the rows of a person say, also without public totals.
    """
    earlier = earlier_releases(base)
    whole = _whole(statement, earlier)
    if not earlier or whole is None:
        return None
    # One public total is enough: then no two tables that agree on it are neighbours.
    public = any(one.get("total_is_public") for one in earlier)
    if public or contents:
        return _over(whole, _steps_of_contents(statement))
    return _over(whole, strength(statement, domain).steps)


def earlier_releases(base: Mapping[str, Any] | None) -> list[Mapping[str, Any]]:
    """The earlier releases that a base consists of, the latest first."""
    found = []
    while base is not None and base["kind"] == "release":
        found.append(base)
        base = base["base"]
    return found


def _added(
    statement: Statement,
    base: Mapping[str, Any],
    domain: Domain | None,
) -> str:
    """Say what the guarantees of several releases add up to for a person who is in all of them."""
    earlier = earlier_releases(base)
    whole = _whole(statement, earlier)
    found = with_base(statement, base, domain)
    whom = "a person" if statement.unit is None else f"rows with the same {statement.unit!r}"
    if whole is None or found is None:
        return (
            f"For {whom} in several of these releases, the guarantees add up; they are of "
            "different kinds or units, so there is no single number."
        )
    which = "both" if len(earlier) == 1 else f"all {1 + len(earlier)}"
    said = f"For {whom} in {which}, the guarantees add up: {_over(whole, 1).in_full}"
    if found.steps > 1:
        said += f", and given the public totals {found.in_full}"
    return f"{said}."


def _whole(statement: Statement, earlier: Sequence[Mapping[str, Any]]) -> Budget | None:
    """The budget of a release and of earlier ones together; None if there is no single one."""
    statements = [statement, *(Statement.from_json(one["statement"]) for one in earlier)]
    if not all(statement.same_unit(one) for one in statements):
        return None
    return _sum([one.budget for one in statements])


def _sum(budgets: list[Budget]) -> Budget | None:
    """The guarantee of several releases together; None if they are of different kinds."""
    pure = [one for one in budgets if isinstance(one, PureDP)]
    concentrated = [one for one in budgets if isinstance(one, ZCDP)]
    approximate = [one for one in budgets if isinstance(one, ApproxDP)]
    if len(pure) == len(budgets):
        return PureDP(sum(one.epsilon for one in pure))
    if len(concentrated) == len(budgets):
        return ZCDP(sum(one.rho for one in concentrated))
    delta = sum(one.delta for one in approximate)
    if len(approximate) == len(budgets) and delta < 1:
        return ApproxDP(sum(one.epsilon for one in approximate), delta)
    return None
