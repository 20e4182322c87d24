"""`Private`: the only door to the data. What is true stays behind it; only noisy things come out.

Every method checks copies of its arguments, counts, charges, and only then draws. What is said
below of a neighbouring table, of rows m that a person may have, and of rows that are replaced, is
carried through by `Budget.sensitivity`. The proofs are in docs/proofs, a page a method.
"""

from .choose import Choices
from .gate import Chargeable
from .linear import Answers, Linear
from .measure import Measures
from .queries import Queries
from .sets import Pattern, Sets
from .sketch import Sketches
from .sparse import Keep, Largest, Sparse, SparseCells
from .strategy import Strategy

__all__ = [
    "Answers",
    "Chargeable",
    "Keep",
    "Largest",
    "Pattern",
    "Private",
    "SparseCells",
    "Strategy",
]


class Private(Measures, Linear, Choices, Queries, Sparse, Sketches, Sets):
    """A table that can only be measured with noise, and only within a budget.

    The guarantee holds for everything that comes out of this object together, for any two tables
    that `budget.neighbours` says are neighbours.

    Every method takes `spend`: its part of the whole budget, such as "1/3" or 0.5, rounded down to
    1e-12; all that is left when not given. Charges add up (sequential composition), also when each
    is chosen after seeing earlier answers. Errors that an argument causes come before anything is
    charged.

    Parameters
    ----------
    source
        Where the rows are. No other object keeps a reference to it.
    domain
        What the rows may hold.
    budget
        What may be spent in all.
    entropy
        Where noise comes from.
    ledger
        Charged with the whole budget once, before the first draw.
    """
