"""Messages from the process that solves to the process that judges: JSON values and arrays.

Nothing is pickled: the solver's process may hold anybody's code, and reading a message must not run
it.
"""

import io
import json
import struct
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Message", "Reader", "encoded", "packed_answer", "unpacked_answer"]

Message = tuple[dict[str, Any], dict[str, NDArray[Any]]]
"""The JSON values and the arrays of a message."""

_LENGTH = struct.Struct("<Q")
_LARGEST = 1 << 32
"""Largest number of bytes of a message."""

_HOLDERS = ("answer", "table", "record", "sets", "values")
"""Attributes in which answers hold their arrays, in the order in which they are looked for."""


def encoded(values: dict[str, Any], arrays: dict[str, NDArray[Any]] | None = None) -> bytes:
    """The bytes of a message, beginning with their number."""
    file = io.BytesIO()
    header = np.frombuffer(json.dumps(values).encode(), np.uint8)
    np.savez(file, header=header, **(arrays or {}))  # type: ignore[arg-type]
    body = file.getvalue()
    return _LENGTH.pack(len(body)) + body


class Reader:
    """Puts messages together from pieces of bytes as they arrive."""

    def __init__(self) -> None:
        self._held = bytearray()

    def feed(self, piece: bytes) -> list[Message]:
        """The messages that are complete after another piece.

        Raises
        ------
        ValueError
            If the bytes are no message.
        """
        self._held += piece
        found = []
        while len(self._held) >= _LENGTH.size:
            (length,) = _LENGTH.unpack_from(self._held)
            if length > _LARGEST:
                raise ValueError("a message must have at most 4 GiB, but one claims more")
            stop = _LENGTH.size + length
            if len(self._held) < stop:
                break
            found.append(_decoded(bytes(self._held[_LENGTH.size : stop])))
            del self._held[:stop]
        return found


def _decoded(body: bytes) -> Message:
    with np.load(io.BytesIO(body), allow_pickle=False) as file:
        arrays = dict(file)
    values = json.loads(arrays.pop("header").tobytes())
    return values, arrays


def packed_answer(answer: Any) -> tuple[str, dict[str, NDArray[Any]]]:
    """The bare arrays of a solver's answer, and the kind of the answer.

    The kind is "array", "arrays" for a sequence of arrays, "nothing", or the name of a type that
    cannot be sent.
    """
    if not isinstance(answer, np.ndarray):
        holder = next((name for name in _HOLDERS if hasattr(answer, name)), None)
        answer = answer if holder is None else getattr(answer, holder)
    if answer is None:
        return "nothing", {}
    ragged = isinstance(answer, list | tuple) and any(np.ndim(part) for part in answer)
    try:
        if ragged:
            parts = [np.asarray(part) for part in answer]
            if all(_plain(part) for part in parts):
                return "arrays", {f"part{place}": part for place, part in enumerate(parts)}
        whole = np.asarray(answer)
    except (TypeError, ValueError, RuntimeError):
        return type(answer).__name__, {}
    return ("array", {"part0": whole}) if _plain(whole) else (type(answer).__name__, {})


def unpacked_answer(kind: str, arrays: dict[str, NDArray[Any]]) -> Any:
    """The bare answer of `packed_answer`; an object that no check accepts if it was not sent."""
    if kind == "nothing":
        return None
    if kind == "array":
        return arrays["part0"]
    if kind == "arrays":
        return [arrays[f"part{place}"] for place in range(len(arrays))]
    return type(kind, (), {})()


def _plain(array: NDArray[Any]) -> bool:
    """Whether an array holds numbers or truth values."""
    return array.dtype.kind in "biuf"
