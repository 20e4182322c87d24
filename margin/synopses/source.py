"""`Source`: how an answer was made, in the words that every output uses."""

from enum import Enum

__all__ = ["Source"]


class Source(Enum):
    """How a synopsis made an answer. The value is its name in files."""

    KNOWN = "known"
    MEASURED = "measured"
    BASED = "based"
    RECONSTRUCTED = "reconstructed"
    ASSUMED = "assumed"
    ANSWERED = "answered"

    @property
    def words(self) -> str:
        """The source in words, with what the bounds of the answer mean."""
        return _WORDS[self]

    @property
    def is_reconstructed(self) -> bool:
        """Whether no measured table holds the attributes of the answer together."""
        return self in (Source.RECONSTRUCTED, Source.ASSUMED)


_WORDS = {
    Source.KNOWN: "Declared as public; not measured, no noise.",
    Source.MEASURED: (
        "Measured: a published table holds these attributes together. With about 95 % "
        "probability, the true number lies between the bounds: they allow for the noise that was "
        "added on purpose."
    ),
    Source.BASED: (
        "Measured, then combined with the base. The bounds allow for noise and for what the base "
        "does not say. The second part is an estimate: on average over many tables, 95 % of the "
        "true numbers lie between the bounds."
    ),
    Source.RECONSTRUCTED: (
        "Reconstructed: no published table holds these attributes together. The bounds allow for "
        "noise and for what smaller tables do not say. The second part is an estimate: on average "
        "over many tables, 95 % of the true numbers lie between the bounds."
    ),
    Source.ASSUMED: (
        "Not measured: no published table holds one of these attributes at all. Its categories are "
        "taken to be equally frequent, so these counts say nothing about them. The bounds are an "
        "estimate of how unequal they may be. They may be far off."
    ),
    Source.ANSWERED: (
        "An answer of this release. The bounds, if known, show the part of the error that comes "
        "from noise."
    ),
}
