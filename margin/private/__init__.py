"""The only access to the data: true counts stay inside `Private`, and only noisy results leave it.

Every method checks copies of its arguments, counts the rows, charges the budget, and only then
draws. The docstrings state the effect of one added row. `Budget.sensitivity` extends it to all
neighbouring tables: to the m rows of one person, and to replaced rows. The proofs are in
docs/proofs, one page for each method.
"""

from .above import Comparisons
from .choose import Choices, Contest
from .cuts import Cuts
from .dependence import Dependence, dependence_bound
from .distances import Distances
from .frequent import Cut, Frequent, FrequentItems
from .gate import Chargeable
from .linear import Answers, Linear, linear_variances
from .measure import Measures
from .sets import Pattern, Sets
from .sketch import Sketches
from .sparse import Keep, Largest, Sparse, SparseCells
from .strategy import Groups, Strategy

__all__ = [
    "Answers",
    "Chargeable",
    "Contest",
    "Cut",
    "FrequentItems",
    "Groups",
    "Keep",
    "Largest",
    "Pattern",
    "Private",
    "SparseCells",
    "Strategy",
    "dependence_bound",
    "linear_variances",
]


class Private(
    Measures,
    Linear,
    Choices,
    Distances,
    Dependence,
    Cuts,
    Comparisons,
    Sparse,
    Sketches,
    Sets,
    Frequent,
):
    """A table that can only be measured with noise, and only within a budget.

    The guarantee holds for all results of this object together, for any two tables that are
    neighbours by `budget.neighbours`.

    Every method takes `spend`: its share of the whole budget, such as "1/3" or 0.5, rounded down to
    a whole unit of 1e-12. The default is all that is left. Charges add up (sequential composition),
    also when each is chosen after seeing earlier answers. An error caused by an argument is raised
    before anything is charged.

    Parameters
    ----------
    source
        The source of the rows. No other object keeps a reference to it.
    domain
        The attributes of the rows and their categories.
    budget
        The total that may be spent.
    entropy
        The source of random bytes for the noise.
    ledger
        The data set of a ledger. It is charged with the whole budget once, before the first draw.

    Attributes
    ----------
    domain, budget
        As they were passed. Both are public, so a mechanism may decide by them: a `run` that cannot
        use a budget raises a `BudgetError` before its first question, and nothing is charged.
    events, course, spent
        Records of the answers so far, a summary of them, and the guarantee of all of them.
    token
        The receipt of the ledger; None before the charge, or without a ledger.

    Examples
    --------
    >>> import margin
    >>> class Singles:
    ...     def run(self, private: margin.Private, workload):
    ...         from margin.synopses.estimate import estimate
    ...         measured = private.measure([[name] for name in private.domain])
    ...         return estimate(private.domain, measured)
    >>> made = margin.release(
    ...     {"a": [0, 1]}, domain={"a": 2}, budget=margin.PureDP(1), mechanism=Singles()
    ... )
    >>> made.marginal(["a"]).counts.shape
    (2,)
    """
