"""`Source`: how an answer was made, in the words that every output uses."""

import re
from collections.abc import Collection, Mapping
from enum import Enum
from typing import Any

__all__ = ["Source", "base_told", "bounds_told"]

_DIGITS = 16
"""Number of digits of a digest that a sentence shows: enough to recognise it."""


class Source(Enum):
    """How a synopsis made an answer. The value is its name in files."""

    KNOWN = "known"
    IMPOSSIBLE = "impossible"
    MEASURED = "measured"
    BASED = "based"
    RECONSTRUCTED = "reconstructed"
    ASSUMED = "assumed"
    ANSWERED = "answered"

    @property
    def words(self) -> str:
        """The source in words, with what the bounds of the answer mean."""
        return _WORDS[self]

    def told(self, *, some_left_out: bool, base: Mapping[str, Any] | None = None) -> str:
        """The source in words, for a release that may have left rows of a person out, or that used
        a base.

        Parameters
        ----------
        some_left_out
            Whether the release counted only some rows of a person. Bounds are then for the counted
            rows, and `Statement.left_out` says which these are.
        base
            `Provenance.base`.

        Examples
        --------
        >>> said = Source.MEASURED.told(some_left_out=True)
        >>> "the true number of counted rows lies between the bounds" in said
        True
        """
        words = self.words
        if self is Source.BASED and base is not None:
            words = f"{_COMBINED} {base_told(base)} {_BASED_BOUNDS}"
        return _of_counted(words) if some_left_out else words

    @property
    def brief(self) -> str:
        """The source in a few words, for a heading."""
        return _BRIEF[self]

    @staticmethod
    def beside(source: "Source | None", *, reconstructed: bool) -> str:
        """What to know of a number, in few words; empty if noise is its only error.

        Examples
        --------
        >>> Source.beside(Source.BASED, reconstructed=True)
        'measured and combined with the base'
        """
        if source in (Source.BASED, Source.ASSUMED):
            return source.brief
        return "reconstructed" if reconstructed else ""

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
    def has_no_view(self) -> bool:
        """Whether no measured table holds the attributes of the answer together."""
        return self in (Source.RECONSTRUCTED, Source.ASSUMED)

    @property
    def short(self) -> str:
        """The source in few words, to follow a number of tables."""
        return _SHORT.get(self, self.value)


def base_told(base: Mapping[str, Any]) -> str:
    """What the base of a release is, in a sentence for readers who never heard of it.

    Parameters
    ----------
    base
        `Provenance.base`, as written by this version or an earlier one.

    Examples
    --------
    >>> base_told({"kind": "public table", "source": "example.org/survey-2024", "rows": 9})
    'The base is a public table: example.org/survey-2024.'
    """
    if base["kind"] != "release":
        return f"The base is a public table: {base['source']}."
    said = "The base is an earlier release, which has noise of its own"
    digest, charge = base.get("digest"), base["charge"]
    marks = []
    if digest is not None:
        kind, _, digits = digest.partition(":")
        marks.append(f"its digest begins with {kind}:{digits[:_DIGITS]}")
    if charge is not None:
        paid = f"entry {charge['sequence']} of the ledger {charge['ledger'][:8]}"
        marks.append(f"its budget is {paid}")
    return f"{'; '.join([said, *marks])}."


def bounds_told(sources: Collection[Source], *, some_left_out: bool) -> str:
    """What bounds of 95 % mean in tables that were made in several ways, in a sentence for each.

    Parameters
    ----------
    sources
        How the tables were made.
    some_left_out
        As for `Source.told`.

    Examples
    --------
    >>> print(bounds_told([Source.MEASURED], some_left_out=False))
    In measured tables, with about 95 % probability, the true number lies between the bounds.
    """
    sentences = []
    if Source.MEASURED in sources:
        sentences.append(f"In measured tables, {_PROBABLY}.")
    estimated = {Source.BASED: "combined with the base", Source.RECONSTRUCTED: "reconstructed"}
    named = [words for source, words in estimated.items() if source in sources]
    if named:
        sentences.append(f"In tables that were {' or '.join(named)}, {_ON_AVERAGE}.")
    if Source.ASSUMED in sources:
        sentences.append("In tables that were not measured, the bounds may be far off.")
    said = " ".join(sentences)
    return _of_counted(said) if some_left_out else said


def _of_counted(words: str) -> str:
    return re.sub(r"true numbers?", r"\g<0> of counted rows", words)


_SHORT = {
    Source.IMPOSSIBLE: "declared as impossible",
    Source.BASED: "measured and combined with the base",
    Source.ASSUMED: "not measured",
}

_PROBABLY = "with about 95 % probability, the true number lies between the bounds"
_ON_AVERAGE = "on average over many tables, 95 % of the true numbers lie between the bounds"

_COMBINED = "Measured, then combined with the base."
_BASED_BOUNDS = (
    "The bounds allow for noise and for what the base does not say. The second part is an "
    f"estimate: {_ON_AVERAGE}."
)

_WORDS = {
    Source.KNOWN: "Declared as public; not measured, no noise.",
    Source.IMPOSSIBLE: "Declared as impossible: no row can be here, so the number is 0.",
    Source.MEASURED: (
        "Measured: the release made a table of all these attributes, with random noise added on "
        "purpose. Sums of lines of such a table count as measured, too. "
        f"{_PROBABLY.capitalize()}: they allow for this noise."
    ),
    Source.BASED: f"{_COMBINED} {_BASED_BOUNDS}",
    Source.RECONSTRUCTED: (
        "Reconstructed: these attributes were not measured together. The numbers are estimated "
        "from smaller tables. They lack what only a table of all these attributes would show. So "
        "do not compare groups, such as the share of one category in two places: a "
        "difference may be missing or reversed. The bounds allow for noise and for an estimate of "
        f"what smaller tables do not say. {_ON_AVERAGE.capitalize()}, but in one table many may "
        "lie outside, all on the same side."
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
    Source.IMPOSSIBLE: "declared as impossible",
    Source.MEASURED: "measured",
    Source.BASED: "measured and combined with the base",
    Source.RECONSTRUCTED: "reconstructed from smaller tables",
    Source.ASSUMED: "not measured, may be far off",
    Source.ANSWERED: "answered by the release",
}
