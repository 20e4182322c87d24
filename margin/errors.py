"""The errors that `margin` raises on purpose.

Every message says what was expected, what was found and what to do. It names a column, a parameter
or a file, and never quotes a value of the data. All errors derive from `ValueError`, so code that
does not know this module can still catch them.
"""

__all__ = [
    "BudgetError",
    "BudgetSpentError",
    "DataError",
    "DomainError",
    "FileError",
    "MarginError",
    "SolverError",
]


class MarginError(ValueError):
    """The base class of all errors of this package."""


class DomainError(MarginError):
    """The error for a malformed domain, attribute, view or parameter, and for unknown names."""


class DataError(MarginError):
    """The error for data that does not fit the declared domain or cannot be read."""


class BudgetError(MarginError):
    """The error for a malformed budget, and for a charge that exceeds the remaining budget."""


class BudgetSpentError(BudgetError):
    """The error for a release that costs more than what remains in a ledger.

    Nothing has been charged. The command line ends with exit code 3.
    """


class FileError(MarginError):
    """The error for a file that is missing, damaged, of the wrong kind, or must not be
    overwritten."""


class SolverError(MarginError):
    """The error for a solver that ended without a usable result."""
