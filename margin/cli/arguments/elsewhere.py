"""What to do with the name of a mechanism that is known, but is not part of margin."""

from ...errors import MarginError

__all__ = ["check_not_elsewhere"]

_RUN = ("AIM", "MST", "MWEM+PGM", "ResidualPlanner")
"""Mechanisms of others that `python -m experiments peers` runs."""

_NOT_RUN = ("PrivBayes", "PrivSyn", "PrivMRF", "GEM", "RAP", "RAP++", "JAM", "PATE-GAN", "DPGAN")
"""Mechanisms of others that it does not run."""

_SYSTEMS = ("mbi", "OpenDP", "SmartNoise", "Tumult")


def check_not_elsewhere(name: str) -> None:
    """Raise MarginError if a name is that of a mechanism or system that is not part of margin.

    The message tells how to compare it with the mechanisms of margin.
    """
    plain = name.partition("(")[0].strip().lower()
    others = {other.lower(): other for other in (*_RUN, *_NOT_RUN, *_SYSTEMS)}
    if plain not in others:
        return
    found = others[plain]
    own = (
        "to release with it, or to compare it here, write it as a class with a method run and name "
        "it as FILE.py:NAME (docs/howto/own_mechanism.md)"
    )
    if found in _NOT_RUN:
        raise MarginError(f"the mechanism {found} is not part of margin; {own}")
    raise MarginError(
        f"{found} is not part of margin; to compare it with margin on a public table, run "
        "'python -m experiments peers TABLE DOMAIN.json --rho 0.1 --methods AIM,MST' in a copy of "
        f"the repository (docs/howto/research.md); {own}"
    )
