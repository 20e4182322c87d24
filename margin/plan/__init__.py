"""`plan`: the error to expect, before anything is spent."""

from .expected import Expectation, Priced, PricedByCount, PricedByTable, TableExpectation
from .planning import plan
from .result import LONGEST, Plan, printed, printed_tables

__all__ = [
    "LONGEST",
    "Expectation",
    "Plan",
    "Priced",
    "PricedByCount",
    "PricedByTable",
    "TableExpectation",
    "plan",
    "printed",
    "printed_tables",
]
