"""`export`, `write` and `read`: files by their endings."""

import textwrap
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from ...backends import available, load_highs
from ..engines.highs import from_highs, quiet
from ..models.model import Model
from .cbf import cbf, read_cbf
from .lp import lp
from .mps import mps
from .wcnf import Clauses, read_wcnf, wcnf

if TYPE_CHECKING:
    from ..instance import Instance

__all__ = ["export", "read", "write"]

_ENDINGS = (".mps", ".lp", ".cbf", ".wcnf")

_ELSEWHERE = {
    ".parquet": "rows of a comparison are read by bench.read_rows",
    ".npz": "an instance is read by bench.load, and written by Instance.save",
}
"""Endings of other files of the bench, and what reads these."""


_WRITERS = {".mps": mps, ".lp": lp, ".cbf": cbf}
"""What makes the lines of each format that has the columns of `Instance.model`."""

_COMMENTS = {".mps": "*", ".lp": "\\", ".cbf": "#"}
"""How a comment begins in these formats."""

_ROWS = {
    ".mps": "r0",
    ".lp": "r0 (r0l for a lower bound, r0u for an upper one)",
    ".cbf": "0, equations first, then lower and then upper bounds",
}
"""What the first row is called in these formats."""


def export(instance: "Instance", path: Path) -> None:
    """Write the problem of an instance; see `Instance.export`."""
    _put(_lines(instance, path), path)


def write(model: Model, path: str | Path, *, name: str = "model") -> None:
    """Write a model to a file that `read` and other programs read.

    An engine that calls a program hands the model over so; see `Executable`. The columns are named
    x0, x1, ... in their order. `Instance.export` writes the model of an instance, with comments on
    its columns and rows.

    Parameters
    ----------
    model
        The model.
    path
        The file; its name ends in ``.mps``, ``.lp`` or ``.cbf``. An existing file is replaced.
    name
        The name of the model in the file.

    Raises
    ------
    ValueError
        If the ending is another one, or the format cannot hold such a model.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from margin.solvers import bench
    >>> model = bench.Model(cost=[1, 1], matrix=[[1, 2]], lower=[2], upper=[9])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "small.lp")
    ...     bench.write(model, path)
    ...     print(path.read_text().splitlines()[-4:])
    ['Bounds', ' 0 <= x0 <= +inf', ' 0 <= x1 <= +inf', 'End']
    """
    path = Path(path)
    writer = _WRITERS.get(path.suffix.lower())
    if writer is None:
        raise ValueError(
            f"the name of the file must end in one of {', '.join(_WRITERS)}, but it ends in "
            f"'{path.suffix}'; choose one of these"
        )
    _put(_begun(writer(model, _one_word(name))), path)


def _put(lines: Iterable[str], path: Path) -> None:
    """Write the lines of a file."""
    with path.open("w", encoding="ascii", newline="\n") as file:
        file.writelines(f"{line}\n" for line in lines)


def _begun(lines: Iterator[str]) -> Iterator[str]:
    """The same lines; the first one is made here, so that a refusal leaves no file."""
    return chain([next(lines)], lines)


def _lines(instance: "Instance", path: Path) -> Iterator[str]:
    """The lines of the file, with comments on its columns and rows after the first one."""
    ending = path.suffix.lower()
    name = _one_word(instance.name)
    if ending == ".wcnf":
        return _begun(wcnf(instance.problem, name, instance.family.name))
    if ending not in _WRITERS:
        raise ValueError(_unknown(path))
    made = _WRITERS[ending](instance.model, name)
    first = next(made)
    comments = [f"{_COMMENTS[ending]} {line}" for line in _described(instance, ending)]
    return chain([first], comments, made)


def _described(instance: "Instance", ending: str) -> list[str]:
    """What the columns and rows of a file are, in lines of text."""
    family = instance.family
    told = [
        f"Columns, from x0 (CBF counts them from 0, too): {family.columns}.",
        f"Rows, from {_ROWS[ending]}: {family.rows}.",
        f"Of the family {family.name}; in Python, family.answer(problem, point) maps a point to an "
        "answer, and margin bench export NAME --statement prints the programme.",
    ]
    if family.sense == "maximise":
        told.append("This file minimises the negative of the objective.")
    return [line for text in told for line in textwrap.wrap(text, 98)]


def _one_word(name: str) -> str:
    """A name as one word of ASCII: a line of a file holds no other text that a reader takes for its
    own.

    >>> _one_word("my café"), _one_word("")
    ('my_caf?', 'unnamed')
    """
    words = name.encode("ascii", "replace").decode("ascii").split()
    return "_".join(words) or "unnamed"


def read(path: str | Path) -> Model | Clauses:
    """Read a file that `Instance.export` or another program wrote.

    MPS and LP are read by HiGHS, CBF and WCNF by our own code.

    Returns
    -------
    Model or Clauses
        `Clauses` for ``.wcnf``, a `Model` otherwise. The columns are in the order of the file.

    Raises
    ------
    ValueError
        If the ending is unknown, or the file holds something else.
    RuntimeError
        If the package highspy is needed and not installed.
    OSError
        If the file cannot be read.
    """
    path = Path(path)
    ending = path.suffix.lower()
    if ending == ".cbf":
        return read_cbf(path.read_text(encoding="ascii"))
    if ending == ".wcnf":
        return read_wcnf(path.read_text(encoding="ascii"))
    if ending not in _ENDINGS:
        raise ValueError(_unknown(path))
    if not available("highspy"):
        raise RuntimeError(
            f"reading {ending} needs the package highspy, but it is not installed; run pip install "
            "highspy"
        )
    highspy = load_highs()
    path.open("rb").close()  # HiGHS does not say that a file is missing
    solver = quiet(highspy)
    status = solver.readModel(str(path))
    if status == highspy.HighsStatus.kError:
        raise ValueError(f"{path} must be a file that HiGHS can read, but it is not; check it")
    if status != highspy.HighsStatus.kOk:
        raise ValueError(
            f"{path} must be read by HiGHS without a warning, but HiGHS changed something or left "
            "it out, such as an entry in a row that is not declared; `highs FILE` on the command "
            "line shows the warning: correct the file"
        )
    if solver.getLp().num_col_ == 0:
        raise ValueError(f"{path} must hold at least one column, but it holds none; check it")
    return from_highs(highspy, solver)


def _unknown(path: Path) -> str:
    advice = _ELSEWHERE.get(path.suffix.lower(), "choose one of these")
    return (
        f"the name of the file must end in one of {', '.join(_ENDINGS)}, but it ends in "
        f"'{path.suffix}'; {advice}"
    )
