"""What pyspark does on its own account, which the audit must leave out to compare two runs.

A replay draws no noise, so it reads a sparse table fewer times. With a Spark source each reading is
a job: pyspark then connects to its own Java process, and may warn that a library is too new for it.
Both are left out if they happen in the files of pyspark or py4j while the gate draws noise. At any
other time they are compared.
"""

import contextlib
import os
import sys
from collections.abc import Generator

__all__ = ["gate_draws", "is_drawing", "is_file_of_spark"]

# Packages whose connections to their own Java process are allowed.
_SPARK = ("pyspark", "py4j")

# Holds one item while the gate draws noise.
_drawing: list[bool] = []


@contextlib.contextmanager
def gate_draws() -> Generator[None]:
    """The time in which the gate draws noise."""
    _drawing.append(True)
    try:
        yield
    finally:
        _drawing.pop()


def is_drawing() -> bool:
    """True while the gate draws noise."""
    return bool(_drawing)


def is_file_of_spark(file: str) -> bool:
    """True if a path of a file of code is in the folder of pyspark or py4j, and that package is
    loaded."""
    modules = [sys.modules.get(name) for name in _SPARK]
    folders = [os.path.dirname(str(module.__file__)) for module in modules if module]
    return any(file.startswith(f"{folder}{os.sep}") for folder in folders)
