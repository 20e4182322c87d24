"""Blocks of points as words of text, one character for each point."""

from collections.abc import Sequence

from ..subsets import Block

LETTERS = "".join(map(chr, (*range(33, 127), *range(161, 166))))  # the letters of points 0, 1, ...
PLACES = {letter: point for point, letter in enumerate(LETTERS)}


def as_text(block: Block) -> str:
    """Write a block as a word, one character for each point.

    >>> as_text((0, 1, 5)), from_text(["!&", "$"])
    ('!"&', ((0, 5), (3,)))
    """
    return "".join(LETTERS[point] for point in block)


def from_text(words: Sequence[str]) -> tuple[Block, ...]:
    """Read blocks from words that `as_text` wrote."""
    return tuple(tuple(PLACES[letter] for letter in word) for word in words)
