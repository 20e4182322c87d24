"""Mechanisms that fail in many ways, for Python and for the command line (`failing.py:Failing`)."""

import json
from dataclasses import dataclass, fields

import numpy as np

import margin
from margin.synopses import ViewSynopsis
from margin.synopses.estimate import estimate

SECRET = "the income of row 7"
"""A text in the data, which an error may quote."""


class Mute(Exception):
    def __str__(self):
        raise ValueError(SECRET)


def _parse():
    json.loads(SECRET)


def _raise(error):
    raise error


def _recurse():
    _recurse()


RAISED = {
    "ValueError": lambda: _raise(ValueError(SECRET)),
    "KeyError": lambda: {}[SECRET],
    "MemoryError": lambda: _raise(MemoryError(SECRET)),
    "BrokenPipeError": lambda: _raise(BrokenPipeError(SECRET)),
    "UserWarning": lambda: _raise(UserWarning(SECRET)),
    "NotImplementedError": lambda: _raise(NotImplementedError),
    "TypeError": lambda: estimate(SECRET),
    "JSONDecodeError": _parse,
    "RecursionError": _recurse,
    "Mute": lambda: _raise(Mute()),
}
"""What raises an exception that is no `MarginError`, by the name of its type."""


@dataclass(frozen=True)
class Answers(ViewSynopsis):
    """A synopsis whose answers are changed, or not made at all."""

    kind: str = ""

    def marginals(self, workload):
        right = super().marginals(workload)
        if self.kind == "late":
            raise LookupError(SECRET)
        if self.kind == "few":
            return right[1:]
        if self.kind == "no marginals":
            return [None for _ in right]
        wrong = {"NaN": np.nan, "infinite": np.inf}.get(self.kind, 0.0)
        size = 1 if self.kind == "shape" else None
        return [
            margin.Marginal(
                margin.Domain({"other": size}) if size else answer.domain,
                np.full(size or answer.counts.shape, wrong),
                np.zeros(size or answer.counts.shape),
            )
            for answer in right
        ]


SAID = {
    "None": "must return a synopsis",
    "MarginError": "is no table",
    "few": "have other shapes",
    "shape": "have other shapes",
    "NaN": "are not; correct the mechanism",
    "infinite": "are not; correct the mechanism",
}
"""Part of the message of what fails with a `MarginError`."""

LATE = {"late": "LookupError", "no marginals": "AttributeError"}
"""What raises an exception when it answers, with its type."""

KINDS = [*RAISED, *SAID, *LATE]


@dataclass(frozen=True)
class Failing:
    """A mechanism that fails."""

    kind: str

    def run(self, private, workload):
        if self.kind in RAISED:
            RAISED[self.kind]()
        if self.kind == "None":
            return None
        if self.kind == "MarginError":
            raise margin.MarginError("this is no table; give another")
        made = estimate(private.domain, private.measure([[name] for name in private.domain]))
        kept = {field.name: getattr(made, field.name) for field in fields(made)}
        return Answers(**kept, kind=self.kind)
