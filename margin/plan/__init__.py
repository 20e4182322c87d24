"""`plan`: the error to expect, before anything is spent."""

from .expected import Expectation, Priced, PricedByCount, PricedByTable, TableExpectation
from .planning import plan
from .result import LEFT_OUT, LONGEST, Plan, printed, printed_tables

__all__ = [
    "LEFT_OUT",
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
