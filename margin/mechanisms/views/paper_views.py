"""`PaperViews`: the choice of views that Qardaji, Yang and Li published with `PriView`."""

import math
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from ..._checks import positive_number, share
from ..._numbers import shown
from ...designs import choose_views, covering_views, schonheim_bound
from ...domain.domain import Domain, View
from ...domain.workload import Workload
from ...errors import DomainError
from ...privacy.budget import Budget
from .selection import Selection, named, power_of

__all__ = ["PaperViews", "UsesRows", "noise_error"]

BLOCK = 8
"""Number of binary attributes of a view (section 4.5, "Setting l = 8")."""

STRENGTHS = (2, 3, 4)
"""Values of t: a view holds each pair, each triple, or each four attributes (section 4.5)."""

ENOUGH_NOISE = 0.001
"""Noise error from which no larger t is tried (section 4.5, "Choosing t")."""

MOST_NOISE = 0.003
"""Largest noise error for which a larger t is taken (section 4.5, "Choosing t")."""

CELLS = {2: (100, 1000), 3: (150, 2000), 4: (200, 3200), 5: (250, 5000)}
"""Least and largest number of cells of a view by the number of categories (section 4.7)."""

LIMITS = 5
"""Number of limits on the cells of a view that are compared, if attributes have categories."""


@runtime_checkable
class UsesRows(Selection, Protocol):
    """A `Selection` that uses the number of rows.

    It reads the number from `Domain.rows`. If the domain does not declare it, `PriView` measures it
    with noise, and passes a domain that declares the noisy number.
    """

    @property
    def rows_share(self) -> float:
        """The share of the budget with which the number of rows is measured."""

    def needs_rows(self, domain: Domain) -> bool:
        """Whether views for this domain depend on a number of rows that is not declared."""


@dataclass(
    frozen=True,
    kw_only=True,
)
class PaperViews:
    """A selection of covering views with equal shares, as published (sections 4.5 and 4.7).

    The views cover all sets of t attributes, whatever the workload is. If no attribute has more
    than two categories, a view has 8 attributes. t starts at 2. It rises, up to 4, while the noise
    error (`noise_error`, equation 5) is below 0.001 and that of the next t is at most 0.003. If
    views of fewer attributes are as few, they are taken, as C2(6, 3) in figure 1.

    If some attribute has more categories, t is 2. Let b be the geometric mean of the numbers of
    categories, rounded. Views have at most 100 to 1000 cells for b = 2, 150 to 2000 for 3, 200 to
    3200 for 4 and 250 to 5000 for 5. For a larger b these ranges continue as 50 b to 200 b ** 2,
    which is not in the paper. Five limits in the range are compared by the expected error of pairs.

    Parameters
    ----------
    t
        The number of attributes that a view must hold together: 2, 3 or 4. None follows the rule
        above.
    rows
        The approximate number of rows, which must be public. None reads `Domain.rows`; if this is
        None too, the number is measured.
    rows_share
        The share of the budget with which the number of rows is measured. At epsilon 1 the default
        is the epsilon = 0.001 that the paper proposes.

    Raises
    ------
    DomainError
        If a parameter is out of range.

    Examples
    --------
    >>> from margin import PureDP
    >>> domain = Domain({f"x{place}": 2 for place in range(9)})
    >>> views, shares = PaperViews(t=2).plan(domain, None, PureDP(1))
    >>> [len(view) for view in views]
    [6, 6, 6]
    """

    t: int | None = None
    rows: float | None = None
    rows_share: float = 0.001

    def __post_init__(self) -> None:
        if self.t is not None and self.t not in STRENGTHS:
            raise DomainError(
                f"t ({shown(self.t)}) must be 2, 3 or 4, or None for the rule of the paper; pass "
                "one of these"
            )
        if self.rows is not None:
            positive_number("rows", self.rows)
        share("rows_share", self.rows_share)

    def needs_rows(self, domain: Domain) -> bool:
        """Whether t depends on a number of rows that is not declared."""
        known = self.t is not None or self.rows is not None or domain.rows is not None
        return not known and _all_binary(domain) and _wide(domain) > BLOCK

    def plan(
        self,
        domain: Domain,
        workload: Workload | None,
        budget: Budget,
    ) -> tuple[list[View], list[float]]:
        """Choose views and give them equal shares; see `Selection.plan`.

        Raises
        ------
        DomainError
            If the number of rows is needed but not declared, or if there are too many views.
        """
        if self.needs_rows(domain):
            raise DomainError(
                "t follows from the number of rows, but the domain does not declare it; declare "
                "rows in the domain, or pass rows or t, or leave the choice to the release, which "
                "measures the number"
            )
        try:
            if _all_binary(domain):
                views = self._binary(domain, budget)
            else:
                views = choose_views(
                    domain.sizes,
                    t=self.t or 2,
                    power=power_of(budget),
                    limits=_limits(domain),
                )
        except ValueError as error:
            problem = str(error)
        else:
            return named(domain, views), [1.0] * len(views)
        raise DomainError(f"views cannot be chosen: {problem}")

    def _binary(
        self,
        domain: Domain,
        budget: Budget,
    ) -> tuple[tuple[int, ...], ...]:
        """Views of at most 8 binary attributes that cover all sets of t attributes."""
        attributes = _wide(domain)
        if attributes <= BLOCK:
            return covering_views(domain.sizes, max_cells=2**BLOCK)
        t = self.t or self._strength(domain, budget)
        views = covering_views(domain.sizes, max_cells=2**BLOCK, t=t)
        # Narrower views have fewer cells. They are taken if they are as few.
        for block in reversed(range(t, BLOCK)):
            if schonheim_bound(attributes, block, t) > len(views):
                break
            narrower = covering_views(domain.sizes, max_cells=2**block, t=t)
            if len(narrower) > len(views):
                break
            views = narrower
        return views

    def _strength(
        self,
        domain: Domain,
        budget: Budget,
    ) -> int:
        """The t of section 4.5."""
        attributes = _wide(domain)
        rows = self.rows or domain.rows
        assert rows is not None

        def noise(views: int) -> float:
            return noise_error(
                attributes=attributes,
                block=BLOCK,
                views=views,
                rows=rows,
                epsilon=_epsilon(budget, views),
            )

        def number(t: int) -> int:
            return len(covering_views(domain.sizes, max_cells=2**BLOCK, t=t))

        t = STRENGTHS[0]
        for larger in STRENGTHS[1:]:
            if noise(number(t)) >= ENOUGH_NOISE:
                break
            # A design with many views takes long to build. The bound may rule it out.
            if noise(schonheim_bound(attributes, BLOCK, larger)) > MOST_NOISE:
                break
            if noise(number(larger)) > MOST_NOISE:
                break
            t = larger
        return t


def noise_error(
    *,
    attributes: int,
    block: int,
    views: int,
    rows: float,
    epsilon: float,
) -> float:
    """The published estimate of the noise error of the marginal of a pair, as a share of the rows.

    It is equation (5) of Qardaji, Yang and Li, SIGMOD 2014, for binary attributes under pure
    differential privacy with equal shares: 2 ** ((block + 1) / 2) / (rows * epsilon) * sqrt(views
    * attributes * (attributes - 1) / (block * (block - 1))). The authors advise to cover pairs,
    triples or quadruples, whichever gives a value between 0.001 and 0.003.

    Parameters
    ----------
    attributes
        The number of attributes of the domain, >= 2.
    block
        The number of attributes of each view, >= 2.
    views
        The number of views, >= 1.
    rows
        The approximate number of rows.
    epsilon
        The budget.

    Examples
    --------
    >>> round(noise_error(attributes=32, block=8, views=20, rows=912_627, epsilon=1), 5)
    0.00047
    """
    covered = views * block * (block - 1) / (attributes * (attributes - 1))
    return math.sqrt(2 ** (block + 1) * views**2 / covered) / (rows * epsilon)


def _epsilon(budget: Budget, views: int) -> float:
    """The epsilon of equation (5) that gives the noise of this budget in equal shares.

    Under epsilon a cell of each view has variance 2 (views / epsilon) ** 2. So the epsilon of a
    variance v is views * sqrt(2 / v), also for other budgets.
    """
    variance = budget.counts_at_once(views)[0].variance
    # With a huge budget the variance of discrete noise is too small for a float.
    return views * math.sqrt(2 / variance) if variance > 0 else math.inf


def _all_binary(domain: Domain) -> bool:
    return max(domain.sizes) <= 2


def _wide(domain: Domain) -> int:
    """The number of attributes with more than one category."""
    return sum(size > 1 for size in domain.sizes)


def _limits(domain: Domain) -> list[int]:
    """The largest numbers of cells of a view to compare (section 4.7)."""
    sizes = [size for size in domain.sizes if size > 1]
    mean = round(math.prod(sizes) ** (1 / len(sizes)))
    least, most = CELLS.get(mean, (50 * mean, 200 * mean**2))
    # A view to which no attribute of b categories can be added has more than limit / b cells.
    least *= mean
    steps = [least * (most / least) ** (step / (LIMITS - 1)) for step in range(LIMITS)]
    return [round(step) for step in steps]
