"""Answers as files, so that they can be sent to others and checked again later."""

import os
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...types import Floats
from ..instance import Instance
from .messages import packed_answer, unpacked_answer
from .process import Found

__all__ = ["Kept", "keep", "load_answer", "read_kept", "save_answer"]


@dataclass(
    frozen=True,
    kw_only=True,
    eq=False,
)
class Kept:
    """What a file of an answer holds.

    Attributes
    ----------
    answer
        The bare answer; see `load_answer`.
    instance
        The name of the instance.
    digest
        The digest of its problem; empty in files of older versions.
    dual
        The multipliers that prove a bound, or None.
    """

    answer: Any
    instance: str
    digest: str
    dual: Floats | None


def save_answer(
    path: str | os.PathLike[str],
    instance: Instance,
    answer: Any,
    *,
    dual: ArrayLike | None = None,
) -> None:
    """Write an answer to a file that ``margin bench check`` and `load_answer` read.

    Parameters
    ----------
    path
        The file; its name ends in ``.npz``. An existing file is replaced.
    instance
        The instance that is answered. The file holds its name and a digest of its problem.
    answer
        What a solver of the family returns, or its bare array or arrays.
    dual
        Multipliers of the rows of ``instance.model``, shape (rows,), as a certificate of the bound
        ``instance.model.lower_bound(dual)``.

    Raises
    ------
    ValueError
        If the name of the file has another ending, the answer holds no arrays of numbers, or `dual`
        does not fit the model.

    Examples
    --------
    >>> import tempfile
    >>> from margin.solvers import bench
    >>> fano = bench.instance("cover-design-7-3-2")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     bench.save_answer(f"{folder}/mine.npz", fano, [0, 9, 14, 20, 23, 27, 28])
    ...     bench.load_answer(f"{folder}/mine.npz").tolist()
    [0, 9, 14, 20, 23, 27, 28]
    """
    if Path(path).suffix.lower() != ".npz":
        raise ValueError(
            f"the name of the file must end in .npz, but it ends in {Path(path).suffix!r}; choose "
            "another name"
        )
    kind, arrays = packed_answer(answer)
    if not arrays:
        raise ValueError(
            f"an answer must hold an array of numbers, or arrays, but it is {kind}; pass what a "
            f"solver of {instance.family.name} returns: {instance.family.gives}"
        )
    if dual is not None:
        instance.model.lower_bound(dual)  # refuses what does not fit
        arrays = {**arrays, "dual": np.asarray(dual, np.float64)}
    _write(Path(path), instance, kind, arrays)


def keep(folder: Path, instance: Instance, solver: str, found: Found) -> None:
    """Write the answer of a solve to FOLDER/INSTANCE/SOLVER-REPEAT.npz, if there is one.

    What is left there of a former solve without an answer now is deleted. Names are quoted as in
    addresses: a solver may be named by a path.
    """
    path = folder / quote(instance.name, safe="") / f"{quote(solver, safe='')}-{found.repeat}.npz"
    kind, arrays = packed_answer(found.answer)
    if not arrays:
        path.unlink(missing_ok=True)
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    _write(path, instance, kind, arrays)


def _write(path: Path, instance: Instance, kind: str, arrays: dict[str, NDArray[Any]]) -> None:
    """Write the file of an answer."""
    texts = {
        "kind": kind,
        "instance": instance.name,
        "digest": instance.digest,
    }
    words = {name: np.array(text) for name, text in texts.items()}
    with path.open("wb") as file:
        np.savez_compressed(file, **words, **arrays)  # type: ignore[arg-type]


def load_answer(path: str | os.PathLike[str]) -> Any:
    """Read an answer that `compare` or `save_answer` wrote: an array, or a list of arrays.

    `Instance.check` takes it. The file holds no code.

    Parameters
    ----------
    path
        The file.

    Raises
    ------
    ValueError
        If the file holds no answer.
    OSError
        If the file cannot be read.
    """
    return read_kept(path).answer


def read_kept(path: str | os.PathLike[str]) -> Kept:
    """Read all that the file of an answer holds; see `load_answer`.

    In a file of an older version the instance is named by its folder.
    """
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = dict(file)
        parts = {name: array for name, array in arrays.items() if name.startswith("part")}
        return Kept(
            answer=unpacked_answer(str(arrays["kind"]), parts),
            instance=str(arrays.get("instance", unquote(Path(path).resolve().parent.name))),
            digest=str(arrays.get("digest", "")),
            dual=arrays.get("dual"),
        )
    except (ValueError, KeyError, TypeError, EOFError, AttributeError, zipfile.BadZipFile):
        raise ValueError(
            f"{os.fspath(path)} must hold an answer, as bench.save_answer or margin bench run "
            "--answers writes it, but it does not; check the path"
        ) from None
