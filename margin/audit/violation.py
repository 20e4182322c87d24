"""The exception with which the audit reports a violation of privacy."""

__all__ = ["Violation"]


class Violation(Exception):
    """Something that a mechanism or a source must not do. The text is the finding that the audit
    reports: what was expected and what was observed."""
