"""The exceptions with which the audit reports what is wrong."""

__all__ = ["NotRepeatable", "Violation"]


class Violation(Exception):
    """Something that a mechanism or a source must not do. The text is the finding that the audit
    reports: what was expected and what was observed."""


class NotRepeatable(Violation):
    """A mechanism that the audit cannot judge.

    Repeated on the same table with the same answers, it does something else.
    """
