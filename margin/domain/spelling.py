"""`Spellings`: the category that a misspelt value may stand for. It is a guess, for people only: no
code of a row depends on it."""

import difflib
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from .._names import did_you_mean

__all__ = ["Spellings", "alike", "misspelt"]

_ACCENT = re.compile("[\u0300-\u036f]")
"""The accents of the decomposed letters of European scripts."""

_HYPHEN = re.compile(r"\s*[-_\u2010-\u2015\u2212]\s*")
"""Hyphens, dashes and underscores, with the blanks around them."""

_BESIDE_LETTER = re.compile(r"(?<=[^\W\d])-|-(?=[^\W\d])")
"""A hyphen that joins words. Between digits it may be the sign of a range, as in 10-20, and in
front of digits that of a number."""

_WORD = re.compile(r"[^\W\d]+")
"""A run of letters."""

_FIXED = re.compile(r"(?<!\d)-\d+|\d+|[^\w\s-]")
"""A number with its sign, or another sign such as <. Texts that differ in them say different
things."""

_CLOSE = 0.8
"""Similarity (`difflib`) from which on a word beside a number is a misspelt form of another one.
One wrong letter in a word of five is 0.8; `over` and `under` have 0.44, `north` and `south` 0.6."""

_VERY_CLOSE = 0.85
"""Similarity from which on the words of a rare text are those of a frequent one, misspelt. One left
out letter in a word of four is 0.86; `male` and `female` have 0.8."""

_MORE_FREQUENT = 30
"""How many times as many rows the right form of a misspelt text has, at least."""


@dataclass(frozen=True)
class _Form:
    """A text without what spellings differ in.

    Attributes
    ----------
    joined
        The text in small letters, without accents, blanks and hyphens that join words.
    words
        Its runs of letters.
    fixed
        Its numbers and signs.
    """

    joined: str
    words: tuple[str, ...]
    fixed: tuple[str, ...]


def _form(text: str) -> _Form:
    bare = _ACCENT.sub("", unicodedata.normalize("NFKD", text).casefold())
    spaced = _BESIDE_LETTER.sub(" ", _HYPHEN.sub("-", bare))
    joined = "".join(spaced.split())
    return _Form(joined, tuple(_WORD.findall(spaced)), tuple(_FIXED.findall(spaced)))


class Spellings:
    """The categories of an attribute, to find the one that a misspelt value may stand for.

    Parameters
    ----------
    labels
        The categories.

    Examples
    --------
    >>> spellings = Spellings(["under 10k", "10-20k", "female"])
    >>> [spellings.hint(value) for value in ("Under-10 k", "undr 10k", "20-30k", "femal")]
    ["; did you mean 'under 10k'?", "; did you mean 'under 10k'?", '', "; did you mean 'female'?"]
    """

    def __init__(self, labels: Sequence[str]) -> None:
        self._labels = labels
        self._forms = {label: _form(label) for label in labels}
        # The first label of a form is the one that is named.
        self._by_joined = {form.joined: label for label, form in reversed(self._forms.items())}

    def hint(self, value: str) -> str:
        """The end of a message, such as "; did you mean 'female'?"; empty if there is none.

        - A value that differs from a label only in upper and lower case, accents, blanks and
          hyphens between words gets this label.
        - A value with digits gets a label with the same numbers and signs and with similar words.
        - A value without digits gets a similar label.

        A value without small letters looks like a code, and its letters must be those of the label:
        a wrong code is not a misspelt one.
        """
        form = _form(value)
        same = self._by_joined.get(form.joined) if form.joined else None
        if same is not None:
            return _meant(same)
        is_code = value.upper() == value
        if not any(map(str.isdigit, value)):
            return "" if is_code else did_you_mean(value, self._labels)
        least = 1 if is_code else _CLOSE
        for label, other in self._forms.items():
            if _are_similar(form, other, least):
                return _meant(label)
        return ""


def _meant(label: str) -> str:
    return f"; did you mean {label!r}?"


def _are_similar(
    one: _Form,
    other: _Form,
    least: float,
) -> bool:
    """Whether texts have the same numbers and signs, and words in the same order that have at least
    this similarity."""
    if one.fixed != other.fixed or len(one.words) != len(other.words):
        return False
    pairs = zip(one.words, other.words, strict=True)
    return all(_similarity(*pair) >= least for pair in pairs)


def alike(labels: Iterable[str]) -> list[list[str]]:
    """The groups of labels that differ only in upper and lower case, accents, blanks and hyphens
    between words.

    Examples
    --------
    >>> alike(["female", "Female", "under 10k", "10-20k", "under-10 k"])
    [['female', 'Female'], ['under 10k', 'under-10 k']]
    """
    groups: dict[str, list[str]] = {}
    for label in labels:
        groups.setdefault(_form(label).joined, []).append(label)
    return [group for group in groups.values() if len(group) > 1]


def misspelt(rows_of: Mapping[str, int]) -> dict[str, str]:
    """The texts that look like misspelt forms of one that is at least 30 times as frequent, and
    this one for each. Texts that `alike` groups, and those without small letters, are not among
    them.

    Parameters
    ----------
    rows_of
        The number of rows of each text.

    Examples
    --------
    >>> misspelt({"Employed": 5_000, "Unemployed": 400, "Unemployd": 9, "EMPL": 3})
    {'Unemployd': 'Unemployed'}
    """
    forms = {text: _form(text) for text in rows_of}
    meant = {}
    for text, rows in rows_of.items():
        frequent = [other for other, number in rows_of.items() if number >= _MORE_FREQUENT * rows]
        similar = [
            other
            for other in frequent
            if forms[other].joined != forms[text].joined
            and _are_similar(forms[text], forms[other], _VERY_CLOSE)
        ]
        if similar and text.upper() != text:
            meant[text] = max(similar, key=lambda other: _similarity(text, other))
    return meant


def _similarity(one: str, other: str) -> float:
    return difflib.SequenceMatcher(None, one, other).ratio()
