"""Objects of the user's own files on the command line: MODULE:OBJECT or FILE.py:OBJECT."""

import importlib
import os
import re
import sys
from pathlib import Path
from typing import Any

from ...errors import MarginError
from ...interrupts.shortage import raise_shortage

__all__ = ["is_own", "own", "split_own"]

_OWN = re.compile(r"(?P<place>[^()'\"]+):(?P<call>[A-Za-z_]\w*(\(.*\))?)", re.DOTALL)
"""A module or a file, and a name in it, which may have parameters."""


def is_own(text: str) -> bool:
    """Whether a text names an object of a module or a file.

    >>> is_own("mine.py:Mechanism(count=3)"), is_own("HighPass(theta=5)")
    (True, False)
    """
    return _OWN.fullmatch(text.strip()) is not None


def split_own(text: str) -> tuple[str, str]:
    """The module or file, and the name in it with its parameters if it has some.

    >>> split_own("mine.py:Mechanism(count=3)")
    ('mine.py', 'Mechanism(count=3)')
    """
    found = _OWN.fullmatch(text.strip())
    assert found is not None
    return found["place"], found["call"]


def own(
    place: str,
    name: str,
    what: str,
) -> Any:
    """The object of a name in a module or a file. The folder of the file can be imported from, as
    by Python itself.

    Parameters
    ----------
    place, name
        The module or the file, and the name in it.
    what
        What the object is, for messages, such as "solver".

    Raises
    ------
    MarginError
        If there is no such file, importing it fails, or it has no such name.
    """
    module = _module(place, f"the {what} '{place}:{name}'")
    found = getattr(module, name, None)
    if found is None:
        raise MarginError(f"{place!r} must define {name}, but it does not; check the name")
    return found


def _module(place: str, described: str) -> Any:
    path = Path(place)
    is_file = place.endswith(".py")
    if is_file and not path.is_file():
        raise MarginError(
            f"{described} must lie in a file, but there is no {place!r}; check its path"
        )
    folder = str(path.parent.resolve()) if is_file else os.getcwd()
    if folder not in sys.path:
        sys.path.insert(0, folder)
    name = path.stem if is_file else place
    try:
        module = importlib.import_module(name)
    except ImportError as error:
        raise_shortage(error)
        raise MarginError(
            f"{described} must lie in a module that can be imported, but importing it failed "
            f"({error}); write MODULE:OBJECT or FILE.py:OBJECT"
        ) from None
    except Exception as error:
        raise MarginError(
            f"{described} must lie in a module that can be imported, but importing it raised "
            f"{type(error).__name__} ({error}); correct it there"
        ) from None
    # A file such as json.py has the name of another module.
    known = getattr(module, "__file__", None)
    if is_file and (known is None or Path(known).resolve() != path.resolve()):
        raise MarginError(
            f"{described} must lie in a file that no other module is named like, but there is "
            f"another module {name!r}; rename the file"
        )
    return module
