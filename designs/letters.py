"""Blocks as text: a character a point."""

from collections.abc import Sequence

from .subsets import Block

FIRST = 33  # the character of point 0


def as_text(block: Block) -> str:
    """The characters of a block.

    >>> as_text((0, 1, 5)), from_text(["!&", "$"])
    ('!"&', ((0, 5), (3,)))
    """
    return "".join(chr(FIRST + point) for point in block)


def from_text(words: Sequence[str]) -> tuple[Block, ...]:
    """The blocks that words tell."""
    return tuple(tuple(ord(letter) - FIRST for letter in word) for word in words)
