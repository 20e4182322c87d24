"""`Source`: how an answer was made, in the words that every output uses."""

import re
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

    def told(self, *, some_left_out: bool) -> str:
        """The source in words, for a release that may have left rows of a person out.

        Parameters
        ----------
        some_left_out
            Whether the release counted only some rows of a person. Bounds are then for the counted
            rows, and `Statement.left_out` says which these are.

        Examples
        --------
        >>> said = Source.MEASURED.told(some_left_out=True)
        >>> "the true number of counted rows lies between the bounds" in said
        True
        """
        if not some_left_out:
            return self.words
        return re.sub(r"true numbers?", r"\g<0> of counted rows", self.words)

    @property
    def brief(self) -> str:
        """The source in a few words, for a heading."""
        return _BRIEF[self]

    @property
    def may_be_far_off(self) -> bool:
        """Whether the release says nothing about one of the attributes of the answer."""
        return self is Source.ASSUMED

    @property
    def is_reconstructed(self) -> bool:
        """Whether a part of the answer was not measured, as `Marginal.reconstructed` says. That
        includes an answer that was combined with a base."""
        return self in (Source.BASED, Source.RECONSTRUCTED, Source.ASSUMED)

    @property
    def short(self) -> str:
        """The source in few words, to follow a number of tables."""
        return _SHORT.get(self, self.value)


_SHORT = {
    Source.BASED: "measured and combined with the base",
    Source.ASSUMED: "not measured",
}

_WORDS = {
    Source.KNOWN: "Declared as public; not measured, no noise.",
    Source.MEASURED: (
        "Measured: the counts come from a table that was measured. With about 95 % probability, "
        "the true number lies between the bounds: they allow for the noise that was added on "
        "purpose."
    ),
    Source.BASED: (
        "Measured, then combined with the base. The bounds allow for noise and for what the base "
        "does not say. The second part is an estimate: on average over many tables, 95 % of the "
        "true numbers lie between the bounds."
    ),
    Source.RECONSTRUCTED: (
        "Reconstructed: these attributes were not measured together. The numbers are estimated "
        "from smaller tables. A connection that only these attributes have with each other is not "
        "in them. So do not compare groups, such as the share of one category in two places: a "
        "difference may be missing or reversed. The bounds allow for noise and for an estimate of "
        "what smaller tables do not say. On average over many tables, 95 % of the true numbers lie "
        "between the bounds, but in one table many may lie outside, all on the same side."
    ),
    Source.ASSUMED: (
        "Not measured: one of these attributes was not measured at all. Its categories are taken "
        "to be equally frequent, so these counts say nothing about them. The bounds are an "
        "estimate of how unequal they may be. They may be far off."
    ),
    Source.ANSWERED: (
        "An answer of this release. The bounds, if known, show the part of the error that comes "
        "from noise."
    ),
}

_BRIEF = {
    Source.KNOWN: "declared as public",
    Source.MEASURED: "measured",
    Source.BASED: "measured and combined with the base",
    Source.RECONSTRUCTED: "reconstructed from smaller tables",
    Source.ASSUMED: "not measured, may be far off",
    Source.ANSWERED: "answered by the release",
}
