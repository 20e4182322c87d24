"""Tells users and the provenance what a mechanism does next."""

import logging

from ...private import Private

__all__ = ["begin"]

log = logging.getLogger("margin")


def begin(private: Private, purpose: str) -> None:
    """Say what the next answers are for: in the log, which progress shows, and for good in the
    provenance (`Private.begin`)."""
    log.info("%s", purpose)
    private.begin(purpose)
