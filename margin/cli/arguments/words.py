"""Messages of the library in the words of the command line."""

import re
from collections.abc import Collection

__all__ = ["in_words_of_the_command"]

_PHRASES = {
    "other=...": '"other": LABEL',
    "missing=...": '"missing": LABEL',
    "1, 0.1, '0.1' or Fraction(1, 10)": "1 or 0.1",
    "must be a number, or None for an open end": "must be a number, or null for an open end",
    "or None if it is not public; pass one of these": "or left out if it is not public; correct it",
    "add --force (replace=True)": "add --force",
    "files={'visits': 'visits.csv'} or --table visits=visits.csv": "--table visits=visits.csv",
    "release with PureDP, or with ZCDP from": "release with --epsilon alone, or with --rho from",
    "registered with ZCDP": "registered with --rho",
    "so pass a dict or the path of a JSON file": "so correct the JSON file",
}
"""Arguments of an attribute and exact numbers, as the library writes them and as the JSON of a
domain and the command line do."""


_NAMED = {"neighbours": "--replace-row"}
"""Options with another name than their argument."""


def in_words_of_the_command(message: str, options: Collection[str]) -> str:
    """A message with the options of a command in place of the arguments of Python.

    Parameters
    ----------
    message
        The message of an error of the library.
    options
        The options of the command that was given, such as "--rows-per-person".

    Examples
    --------
    >>> in_words_of_the_command("name its column with unit=, please", ["--unit"])
    'name its column with --unit, please'
    """
    for python, written in _PHRASES.items():
        message = message.replace(python, written)
    message = re.sub(r"files=\{'([^']*)': \.\.\.\}", r"--table \1=...", message)

    def as_option(match: re.Match[str]) -> str:
        option = _NAMED.get(match[1], "--" + match[1].replace("_", "-"))
        return option if option in options else match[0]

    # An argument that is only named: nothing stands behind its equals sign.
    return re.sub(r"\b([a-z_]+)=(?![^\s,.;:)])", as_option, message)
