"""The exceptions with which the audit reports what is wrong."""

__all__ = ["NotRepeatable", "Violation", "other_error"]


class Violation(Exception):
    """Something that a mechanism or a source must not do. The text is the finding that the audit
    reports: what was expected and what was observed."""


class NotRepeatable(Violation):
    """A mechanism that the audit cannot judge.

    Repeated on the same table with the same answers, it does something else.
    """


def other_error(error: Exception) -> Violation:
    """The violation of a mechanism that raises an error that is not a `MarginError`."""
    return Violation(
        f"The mechanism raises {type(error).__name__}, but only a MarginError is allowed to "
        f"leave a run, because another error may contain values of the data: {error}"
    )
