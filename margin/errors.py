"""The errors that `margin` raises on purpose.

Every one of them names a column, a parameter or a file and says what to do. None carries a value
read from the data. All are `ValueError`, so that a caller who knows nothing of this module still
catches them.
"""

__all__ = ["BudgetError", "DataError", "DomainError", "FileError", "MarginError", "SolverError"]


class MarginError(ValueError):
    """What all errors of this package have in common."""


class DomainError(MarginError):
    """A domain, an attribute or a view is declared wrongly, or names what does not exist."""


class DataError(MarginError):
    """The data does not fit the declared domain, or cannot be read at all."""


class BudgetError(MarginError):
    """A budget is malformed, or a charge exceeds what is left of it."""


class FileError(MarginError):
    """A file is missing, damaged, of the wrong kind, or must not be overwritten."""


class SolverError(MarginError):
    """A reconstruction ended without an answer."""
