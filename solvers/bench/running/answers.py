"""The answers of a comparison as files, so that they can be checked again later."""

import os
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np

from ..instance import Instance
from .messages import packed_answer, unpacked_answer
from .process import Found

__all__ = ["keep", "load_answer"]


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
    np.savez_compressed(path, kind=np.array(kind), **arrays)  # type: ignore[arg-type]


def load_answer(path: str | os.PathLike[str]) -> Any:
    """Read an answer that `compare` wrote: an array, or a list of arrays for tables of views.

    `Instance.check` takes it. The file holds no code.

    Parameters
    ----------
    path
        The file.
    """
    with np.load(path, allow_pickle=False) as file:
        arrays = dict(file)
    return unpacked_answer(str(arrays.pop("kind")), arrays)
