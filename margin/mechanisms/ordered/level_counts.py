"""`LevelCounts`: a mechanism that measures every level of a tree of categories."""

import itertools
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import numpy as np

from ..._numbers import Number
from ..._types import Floats
from ...domain.domain import Domain, View, check_domain
from ...domain.levels import Levels
from ...domain.workload import Workload
from ...errors import DomainError
from ...privacy.budget import Budget, PureDP
from ...private import Groups, Private, Strategy
from ...private.linear import linear_variances
from ...solvers import LevelTree
from ...solvers.fitted import TREE_FALL
from ...synopses import LevelSynopsis
from ...synopses.noisy_tables import LEAST_VARIANCE
from ..asked import check_reach
from ..axis_queries import asked_queries, queries_of
from ..by_table import asked_levels, weighted
from ..components import precise_shares

__all__ = ["LevelCounts"]

_MOST_CELLS = 1 << 25
"""Largest number of cells of the table."""


@dataclass(
    frozen=True,
    kw_only=True,
)
class LevelCounts:
    """A mechanism for codes with many levels, such as state > county > tract: it measures the
    counts of all nodes of all levels, in every combination of the other attributes.

    Least squares makes the levels agree, in time linear in the number of nodes. Then the nearest
    table without negative counts is found, for all levels at once (see `margin.solvers.LevelTree`).
    In its objective a level counts more, the more levels are below it. A level is asked like an
    attribute, as "place@state".

    Each level has the sensitivity of a histogram, and a share of the budget. The default shares
    minimise the summed squared error of the counts of all levels: for Gaussian noise this is a
    convex problem in the shares. `shares` replaces them.

    Parameters
    ----------
    attribute
        The attribute with the levels. None takes the one of which the workload asks "levels", or
        the only one of the domain with levels.
    shares
        For each level its positive share of the budget, by name; None for the best shares.
    nonnegative
        Whether negative counts are removed.

    Examples
    --------
    >>> from margin import ZCDP
    >>> paths = [["CA", "Alameda"], ["CA", "Fresno"], ["NV", "Clark"]]
    >>> domain = Domain({"place": {"levels": {"names": ["state", "county"], "paths": paths}}})
    >>> round(LevelCounts().expected_error(domain, [["place"]], ZCDP("0.5")), 2)
    3.15
    """

    prices_asked: ClassVar[bool] = True

    attribute: str | None = None
    shares: Mapping[str, Number] | None = None
    nonnegative: bool = True

    def run(
        self,
        private: Private,
        workload: Workload | None,
    ) -> LevelSynopsis:
        """Run the mechanism: measure all levels with the whole budget, and make them agree.

        The table has the attributes of the workload, or all without one.
        """
        domain = private.domain
        plan = _Plan(self, domain, workload)
        measured = private.measure_linear(
            plan.strategies(),
            shares=plan.shares(private.budget),
        )
        variances = [max(answers.variance, LEAST_VARIANCE) for answers in measured]
        others = domain.cells(plan.others) if plan.others else 1
        values = [answers.values.reshape(-1, others) for answers in measured]
        leaves = plan.tree.least_squares(values, variances)
        if self.nonnegative:
            leaves = _without_negative(plan.tree, leaves, variances)
        leaves = leaves.reshape(plan.shape)
        # The attribute with the levels goes from the first axis to its place.
        table = np.moveaxis(leaves, 0, plan.view.index(plan.attribute))
        return LevelSynopsis(
            domain=domain,
            view=plan.view,
            attribute=plan.attribute,
            table=np.ascontiguousarray(table),
            variances=tuple(variances),
        )

    def expected_error(
        self,
        domain: Domain,
        workload: Workload | Iterable[Iterable[str]] | None,
        budget: Budget,
    ) -> float:
        """The expected squared error of the workload, before negative counts are removed.

        The errors of all cells of all marginals are added, each times the weight of its marginal.
        If the workload asks levels of the attribute, the cells are those of all levels.
        """
        asked = self._asked(domain, workload)
        return weighted(asked, self.table_errors(domain, asked, budget))

    def table_errors(
        self,
        domain: Domain,
        workload: Workload | Iterable[Iterable[str]] | None,
        budget: Budget,
    ) -> list[float]:
        """The expected squared error of each table of the workload, before negative counts are
        removed: the summed error of its counts, in squared rows.

        Without a workload the one table is that of all attributes, at all levels of the attribute.
        """
        return self._errors(domain, workload, budget, np.sum)

    def largest_errors(
        self,
        domain: Domain,
        workload: Workload | Iterable[Iterable[str]] | None,
        budget: Budget,
    ) -> list[float]:
        """The largest expected squared error of a count of each table, as in `table_errors`."""
        # The largest product of variances is the product of the largest.
        return self._errors(domain, workload, budget, np.max)

    def _errors(
        self,
        domain: Domain,
        workload: Workload | Iterable[Iterable[str]] | None,
        budget: Budget,
        of: Callable[[Floats], float],
    ) -> list[float]:
        """For each table the product over the attributes of the sums, or maxima, of variances."""
        asked = self._asked(domain, workload)
        plan = _Plan(self, domain, asked)
        ask = asked.asked.get(plan.attribute, "cells")
        if ask in ("prefixes", "ranges"):
            raise DomainError(
                f"the error of LevelCounts can be computed in advance only for cells and levels of "
                f"{plan.attribute!r}, but the workload asks its {ask}; use Residual"
            )
        noise = linear_variances(plan.strategies(), budget, shares=plan.shares(budget))
        variances = [max(variance, LEAST_VARIANCE) for variance in noise]
        of_nodes = plan.tree.node_variances(variances)
        of_total = plan.tree.variance_of(variances, np.ones(plan.tree.sizes[-1]))
        queries = asked_queries(domain, asked)
        errors = []
        for view, levels in asked_levels(asked):
            level = dict(zip(view, levels, strict=True))
            error = of_total
            if plan.attribute in level:
                named = level[plan.attribute]
                if named is None and ask == "levels":
                    error = float(of(np.concatenate(of_nodes)))
                else:
                    place = -1 if named is None else plan.levels.index(named)
                    error = float(of(of_nodes[place]))
            # The combinations of the other attributes have independent noise, which adds up in
            # every count: a count of m combinations has m times the variance.
            for name in plan.others:
                if name not in level:
                    error *= domain[name].size
                else:
                    error *= float(of(queries_of(domain, name, level[name], queries).cells))
            errors.append(error)
        return errors

    def _asked(
        self,
        domain: Domain,
        workload: Workload | Iterable[Iterable[str]] | None,
    ) -> Workload:
        """The workload; None stands for all attributes, at all levels of the attribute."""
        check_domain(domain)
        if workload is not None:
            return Workload.of(domain, workload)
        attribute = _attribute(self.attribute, domain, None)
        return Workload.of(domain, [domain.attributes], asked={attribute: "levels"})


def _without_negative(
    tree: LevelTree,
    leaves: Floats,
    variances: list[float],
) -> Floats:
    """The nearest leaves >= 0, by the error variances of all levels and `TREE_FALL`.

    Above the measured levels stands one more: the sum of each largest node over all combinations
    of the other attributes. So the removal of negative counts does not raise these sums.
    """
    columns = leaves.shape[1]
    means = [float(level.mean()) for level in tree.node_variances(variances)]
    means.insert(0, columns * means[0])
    above = range(len(means) - 1, -1, -1)
    weights = [mean * TREE_FALL**count for mean, count in zip(means, above, strict=True)]
    starts = np.flatnonzero(np.diff(tree.groups[0], prepend=-1)).tolist()
    found = np.empty_like(leaves)
    for start, stop in itertools.pairwise([*starts, len(leaves)]):
        # One tree for each largest node: its sum, then the combinations, each with its levels.
        own = leaves[start:stop]
        groups = [np.zeros(own.size, dtype=np.int64)]
        for group in tree.groups:
            local = group[start:stop] - group[start]
            blocks = np.arange(columns)[:, None] * (local[-1] + 1)
            groups.append((blocks + local).ravel())
        whole = LevelTree(groups)
        flat = np.ascontiguousarray(own.T).reshape(-1, 1)
        solved = whole.nonnegative(whole.sums(flat), weights)
        found[start:stop] = solved.reshape(columns, -1).T
    return found


class _Plan:
    """What is measured: the view, the attribute with the levels, and its tree."""

    def __init__(
        self,
        mechanism: LevelCounts,
        domain: Domain,
        workload: Workload | None,
    ) -> None:
        self._mechanism = mechanism
        self._domain = domain
        self.attribute = _attribute(mechanism.attribute, domain, workload)
        named = {name for view in workload.views for name in view} if workload else set(domain)
        named.add(self.attribute)
        self.view: View = tuple(name for name in domain if name in named)
        check_reach(
            "LevelCounts",
            domain.cells(self.view),
            _MOST_CELLS,
            instead="Residual, PriView, or a workload of fewer attributes",
        )
        levels = domain[self.attribute].levels
        assert levels is not None
        self.levels: Levels = levels
        self.tree = _tree(levels)
        self.others: View = tuple(name for name in self.view if name != self.attribute)
        self.shape = (self.tree.sizes[-1], *(domain[name].size for name in self.others))

    def strategies(self) -> list[Strategy]:
        """The counts of the nodes of each level, in every combination of the other attributes."""
        others = [Groups(np.arange(self._domain[name].size)) for name in self.others]
        view = (self.attribute, *self.others)
        return [Strategy(view, [Groups(group), *others]) for group in self.tree.groups]

    def shares(self, budget: Budget) -> tuple[int, ...]:
        """The shares of the levels, as whole numbers."""
        given = self._mechanism.shares
        if given is None:
            power = 2 if isinstance(budget, PureDP) else 1
            return precise_shares(_best_shares(self.levels, power))
        names = self.levels.names
        if set(given) != set(names) or not all(float(share) > 0 for share in given.values()):
            raise DomainError(
                f"shares must give a positive number for each level of {self.attribute!r}, "
                f"{', '.join(names)}, but it is {dict(given)!r}; correct it"
            )
        return precise_shares([float(given[name]) for name in names])


def _attribute(
    name: str | None,
    domain: Domain,
    workload: Workload | None,
) -> str:
    """The attribute with the levels: named, or the one that is asked for."""
    if name is not None:
        if domain[name].levels is None:
            raise DomainError(
                f"LevelCounts needs an attribute with levels, but {name!r} declares none; declare "
                '"levels", or name another attribute'
            )
        return name
    asked = [] if workload is None else [n for n, ask in workload.asked.items() if ask == "levels"]
    found = asked or [n for n, attribute in domain.items() if attribute.levels is not None]
    if len(found) != 1:
        listed = ", ".join(map(repr, found)) if found else "none"
        raise DomainError(
            "LevelCounts measures the levels of one attribute, but those with levels are "
            f"{listed}; name one with attribute="
        )
    return found[0]


@lru_cache(maxsize=4)
def _tree(levels: Levels) -> LevelTree:
    return LevelTree(levels.groups)


@lru_cache(maxsize=16)  # depends on neither the data nor the size of the budget
def _best_shares(levels: Levels, power: int) -> tuple[float, ...]:
    """The shares with the smallest summed error variance of the nodes of all levels.

    The variance of a level at share p is in proportion to 1 / p**power. For power 1 the error is
    convex in the shares, because it is tr(M X^-1) with X linear in them.
    """
    tree = _tree(levels)

    def error(logarithms: Floats) -> float:
        shares = np.exp(logarithms - logarithms.max())
        shares = np.maximum(shares / shares.sum(), 1e-9)
        found = tree.node_variances((shares**-power).tolist())
        return math.log(sum(float(level.sum()) for level in found))

    import scipy.optimize  # takes long

    start = np.zeros(len(tree.sizes))
    solved = scipy.optimize.minimize(error, start, method="BFGS", options={"gtol": 1e-4})
    shares = np.exp(solved.x - solved.x.max())
    return tuple(np.maximum(shares / shares.sum(), 1e-9).tolist())
