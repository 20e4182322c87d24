"""Whether choices have the law of the exponential mechanism, each given the choices before it."""

import itertools
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from ..._types import Flags, Floats, Integers
from ...privacy.event import Event
from .evidence import Evidence

__all__ = ["ChoiceTest"]


class ChoiceTest:
    """Compares choices with their declared law.

    Parameters
    ----------
    evidence
        Receives the statistics.
    """

    def __init__(self, evidence: Evidence) -> None:
        self._evidence = evidence

    def add(
        self,
        events: Sequence[Event],
        scores: Integers,
        chosen: Integers,
    ) -> None:
        """Look at answers that each hold the same number of choices.

        Candidates are chosen without replacement if each choice has an event of its own, and with
        replacement if one event has several draws.

        Parameters
        ----------
        events
            The events of one answer.
        scores
            Array (candidates,): the true scores.
        chosen
            Array (answers, choices): the chosen candidates.
        """
        is_integer = np.asarray(chosen).dtype.kind in "iu"
        if not is_integer or not ((chosen >= 0) & (chosen < scores.size)).all():
            self._evidence.findings.append(
                f"{events[0].method}: an answer is not one of the {scores.size} candidates."
            )
            return
        exact = scores.tolist()
        if events[0].draws > 1 or events[0].rounds is not None:
            everything = np.ones(scores.size, np.bool_)
            flat = self._step(events[0], "choices", exact, everything, chosen.ravel())
            uniform = flat.reshape(chosen.shape)
        else:
            uniform = self._without_replacement(events, exact, chosen)
        in_order: Floats = np.where(uniform > 0.5, 1.0, -1.0).ravel()
        self._evidence.add_shifted(f"{events[0].method}: choices at some distance", in_order)
        # Each number is uniform given those before it, so products of one and the next have mean
        # zero.
        signs = np.where(uniform > 0.5, 1.0, -1.0)
        products = np.array([[(signs[:, 1:] * signs[:, :-1]).sum()]])
        name = f"{events[0].method}: choices of one answer"
        self._evidence.add_products(name, products, signs[:, 1:].size)

    def _without_replacement(
        self,
        events: Sequence[Event],
        scores: list[int],
        chosen: Integers,
    ) -> Floats:
        """Choices without replacement as numbers that are uniform, array (answers, choices)."""
        uniform = np.zeros(chosen.shape)
        remaining = np.ones((len(chosen), len(scores)), np.bool_)
        answers = np.arange(len(chosen))
        for place, choices in enumerate(chosen.T):
            event = events[min(place, len(events) - 1)]
            if not remaining[answers, choices].all():
                self._evidence.findings.append(
                    f"{event.method}: a candidate is chosen twice in one answer, although "
                    "candidates are chosen without replacement."
                )
                break
            step = f"choices in place {place + 1}"
            # Answers with the same remaining candidates have the same law.
            kinds, kind_of = np.unique(
                remaining,
                axis=0,
                return_inverse=True,
            )
            for kind, left in enumerate(kinds):
                same = np.flatnonzero(kind_of.ravel() == kind)
                uniform[same, place] = self._step(event, step, scores, left, choices[same])
            remaining[answers, choices] = False
        return uniform

    def _step(
        self,
        event: Event,
        step: str,
        scores: list[int],
        remaining: Flags,
        choices: npt.NDArray[np.int64],
    ) -> Floats:
        """Choices among the remaining candidates as numbers that are uniform, array (choices,)."""
        rate = float(event.sampler.rate)  # type: ignore[union-attr]
        # The probability of a candidate is proportional to exp(rate score).
        top = max(itertools.compress(scores, remaining.tolist()))
        values = np.array([rate * float(score - top) for score in scores])
        weights = np.where(remaining, np.exp(np.minimum(values, 0)), 0.0)
        weights /= weights.sum()
        # The distribution function, with the candidates in the order of their scores.
        order = np.argsort(values, kind="stable")
        below = np.empty(len(scores))
        below[order] = np.concatenate([[0.0], np.cumsum(weights[order])[:-1]])
        v = self._evidence.random.random(choices.size)
        uniform = below[choices] + v * weights[choices]
        self._evidence.add_uniform(f"{event.method}: {step}", uniform)
        # The scores of the chosen candidates, less their mean.
        mean = float(weights @ np.where(remaining, values, 0.0))
        variance = float(weights @ np.where(remaining, values - mean, 0.0) ** 2) + 1e-9
        total = float((values[choices] - mean).sum())
        name = f"{event.method}: scores of {step}"
        self._evidence.add_sum(name, total, variance * choices.size, choices.size)
        return uniform
