"""`fingerprint`: a text for all bits of a problem, to see whether a solver changed it."""

import hashlib

import numpy as np

from ..instance import Instance

__all__ = ["fingerprint"]


def fingerprint(instance: Instance) -> str:
    """Sixteen characters that stand for the problem's arrays."""
    hashed = hashlib.sha256()
    for name, array in sorted(instance.family.pack(instance.problem).items()):
        hashed.update(f"{name} {array.dtype} {array.shape}".encode())
        hashed.update(np.ascontiguousarray(array).tobytes())
    return hashed.hexdigest()[:16]
