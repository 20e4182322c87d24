"""The errors that `margin` raises on purpose.

Every message says what was expected, what was found and what to do. It names a column, a parameter
or a file, and never quotes a value of the data. All errors derive from `ValueError`, so code that
does not know this module can still catch them.
"""

from fractions import Fraction

__all__ = [
    "BudgetError",
    "BudgetSpentError",
    "BusyOutputError",
    "BusyTableError",
    "DataError",
    "DomainError",
    "Fate",
    "FileError",
    "LedgerLockedError",
    "LostServerError",
    "MarginError",
    "ResourceError",
    "SolverError",
    "TryAgainError",
    "fates_of",
    "note_lost",
]


class MarginError(ValueError):
    """The base class of all errors of this package.

    Attributes
    ----------
    budget_is_lost
        True if the budget of the release that failed is spent, or may be, although there is no
        result. Another release spends its budget in addition.

    Examples
    --------
    >>> import margin
    >>> try:
    ...     margin.release({"a": [5]}, domain={"a": 2}, budget=margin.PureDP(1))
    ... except margin.MarginError as error:
    ...     print(type(error).__name__, error.budget_is_lost)
    DataError False
    """

    budget_is_lost: bool = False


class DomainError(MarginError):
    """The error for a malformed domain, attribute, view or parameter, and for unknown names.

    Examples
    --------
    >>> import margin
    >>> try:
    ...     margin.Domain({"a": 0})
    ... except margin.DomainError:
    ...     print("0 is no number of categories")
    0 is no number of categories
    """


class DataError(MarginError):
    """The error for data that does not fit the declared domain or cannot be read.

    Examples
    --------
    >>> import margin
    >>> try:
    ...     margin.release({"a": [5]}, domain={"a": 2}, budget=margin.PureDP(1))
    ... except margin.DataError:
    ...     print("5 is none of the categories 0 and 1; nothing was spent")
    5 is none of the categories 0 and 1; nothing was spent
    """


class BudgetError(MarginError):
    """The error for a malformed budget, and for a charge that exceeds the remaining budget.

    Examples
    --------
    >>> import margin
    >>> try:
    ...     margin.PureDP(-1)
    ... except margin.BudgetError:
    ...     print("epsilon must be positive")
    epsilon must be positive
    """


class BudgetSpentError(BudgetError):
    """The error for a release that costs more than what remains in a ledger.

    Nothing has been charged. The command line ends with exit code 3.

    Attributes
    ----------
    remaining
        What remains of the budget of the data set: epsilon if it is `PureDP`, else rho.
    asked
        The cost of the release, in the same unit. Both are None if a ledger of your own raised the
        error without them.

    Examples
    --------
    >>> import margin, tempfile
    >>> ledger = margin.Ledger(tempfile.mkdtemp() + "/ledger.db")
    >>> _ = ledger.register("people", margin.PureDP(1))
    >>> try:
    ...     ledger.charge("people", margin.PureDP(3))
    ... except margin.BudgetSpentError as error:
    ...     print(error.remaining, error.asked)
    1 3
    """

    remaining: Fraction | None = None
    asked: Fraction | None = None


class FileError(MarginError):
    """The error for a file that is missing, damaged, of the wrong kind, or must not be
    overwritten.

    Examples
    --------
    >>> import margin
    >>> try:
    ...     margin.load("nowhere.margin")
    ... except margin.FileError:
    ...     print("there is no such file")
    there is no such file
    """


class TryAgainError(MarginError):
    """The base class of errors for what another program does at this moment: the same call may
    succeed later.

    Unless `budget_is_lost` is true, nothing has been charged, and the command line ends with exit
    code 75.

    Examples
    --------
    >>> import margin
    >>> issubclass(margin.LedgerLockedError, margin.TryAgainError)
    True
    """


class LedgerLockedError(FileError, TryAgainError):
    """The error for a ledger that other processes have locked for too long.

    Nothing has been charged, and the ledger is sound.

    Examples
    --------
    >>> import margin
    >>> issubclass(margin.LedgerLockedError, margin.FileError)
    True
    """


class BusyTableError(DataError, TryAgainError):
    """The error for a table that another program writes: files that were changed while they were
    read, or a database that is open for writing.

    Examples
    --------
    >>> from margin.errors import BusyTableError
    >>> issubclass(BusyTableError, DataError)
    True
    """


class LostServerError(DataError, TryAgainError):
    """The error for a database server that cannot be reached at this moment, or whose connection
    was lost while the table was read.

    Examples
    --------
    >>> from margin.errors import LostServerError
    >>> issubclass(LostServerError, DataError)
    True
    """


class BusyOutputError(FileError, TryAgainError):
    """The error for the name of an output that another command is writing.

    Examples
    --------
    >>> from margin.errors import BusyOutputError
    >>> issubclass(BusyOutputError, FileError)
    True
    """


class ResourceError(MarginError):
    """The error for a machine that ran out of memory, disk, threads or open files while a table was
    read. It says nothing about the data.

    Examples
    --------
    >>> import margin
    >>> issubclass(margin.ResourceError, margin.DataError)
    False
    """


class SolverError(MarginError):
    """The error for a solver that ended without a usable result.

    Examples
    --------
    >>> import margin
    >>> issubclass(margin.SolverError, margin.MarginError)
    True
    """


class Fate(str):
    """A note on an error of any type that says what became of the budget.

    The text of an error that is no `MarginError` may quote the data; its notes of this class do
    not.

    Attributes
    ----------
    budget_is_lost
        As for `MarginError`.

    Examples
    --------
    >>> error = ZeroDivisionError()
    >>> error.add_note(Fate("nothing has been charged"))
    >>> [note for note in error.__notes__ if isinstance(note, Fate)]
    ['nothing has been charged']
    """

    budget_is_lost: bool

    def __new__(cls, text: str, *, budget_is_lost: bool = False) -> "Fate":
        """A note with this text."""
        fate = super().__new__(cls, text)
        fate.budget_is_lost = budget_is_lost
        return fate


def fates_of(error: BaseException) -> list[Fate]:
    """The notes on an error that say what became of the budget."""
    return [note for note in getattr(error, "__notes__", ()) if isinstance(note, Fate)]


def note_lost(error: BaseException, text: str) -> None:
    """Note on an error of any type that the budget is lost, and set its `budget_is_lost`.

    `text` is the note: it says what became of the budget.

    Examples
    --------
    >>> error = ZeroDivisionError()
    >>> note_lost(error, "the budget has already been charged")
    >>> error.budget_is_lost
    True
    """
    error.add_note(Fate(text, budget_is_lost=True))
    vars(error)["budget_is_lost"] = True
