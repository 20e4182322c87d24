"""The errors that `margin` raises on purpose.

Every message says what was expected, what was found and what to do. It names a column, a parameter
or a file, and never quotes a value of the data. All errors derive from `ValueError`, so code that
does not know this module can still catch them.
"""

__all__ = ["BudgetError", "DataError", "DomainError", "FileError", "MarginError", "SolverError"]


class MarginError(ValueError):
    """The base class of all errors of this package."""


class DomainError(MarginError):
    """A domain, an attribute, a view or a parameter is malformed, or names something unknown."""


class DataError(MarginError):
    """The data does not fit the declared domain, or cannot be read."""


class BudgetError(MarginError):
    """A budget is malformed, or a charge exceeds the remaining budget."""


class FileError(MarginError):
    """A file is missing, damaged or of the wrong kind, or must not be overwritten."""


class SolverError(MarginError):
    """A solver ended without a usable result."""
