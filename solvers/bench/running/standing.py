"""`standing`: an answer and a bound beside the best that is known of an instance."""

import math
from dataclasses import dataclass

from ..families.family import Check
from ..gaps import gap_to
from ..instance import Instance
from ..made.catalogue import known_values
from .answers import Kept

__all__ = ["Standing", "standing"]

_EQUAL = 1e-6
"""Largest gap at which two objectives are called equal, as two that prove each other."""

_TOLERANCE = 1e-4
"""Largest gap by which an answer may pass a proved bound, as in `compare`."""

_BETTER_BOUND = 1e-9
"""Least gap between a bound that is better and the one that was known."""


@dataclass(
    frozen=True,
    kw_only=True,
)
class Standing:
    """How a file of an answer compares with what is known.

    Attributes
    ----------
    word
        ``better``, ``equal`` or ``worse`` than the best known objective; ``infeasible``; ``first``
        if none was known; ``impossible`` if it passes a proved bound by more than a tolerance.
    check
        The answer's check.
    gap
        The gap to the best known objective; NaN if none is known or the answer is infeasible.
    bound
        The bound that the multipliers of the file prove; None if it holds none.
    is_better_bound
        Whether this bound is better than the one that was known.
    """

    word: str
    check: Check
    gap: float
    bound: float | None
    is_better_bound: bool

    def row(self, instance: Instance, by: str) -> list[str] | None:
        """The row of the table of best values with what is better here; None if nothing is.

        Its columns are those of the table: name, version, digest, best_known, bound, proved_by. The
        table has the instances of the catalogue alone.
        """
        is_better = self.word in ("better", "first")
        is_listed = (instance.name, instance.version) in known_values()
        if not is_listed or not (is_better or self.is_better_bound):
            return None
        best = self.check.objective if is_better else instance.best_known
        bound = self.bound if self.is_better_bound else instance.bound
        known = instance.proved_by.split("; ")
        found = f"found by {by}" if is_better else _part(known, "found by")
        proved = f"bound by {by}" if self.is_better_bound else _part(known, "bound by")
        return [
            instance.name,
            str(instance.version),
            instance.digest,
            "" if best is None else repr(float(best)),
            "" if bound is None else repr(float(bound)),
            "; ".join(filter(None, [found, proved])),
        ]


def standing(instance: Instance, kept: Kept) -> Standing:
    """Check an answer and its multipliers by the problem alone, and compare them.

    Raises
    ------
    ValueError
        If the answer is one to another problem, or the multipliers do not fit the programme.
    """
    own = instance.digest
    if kept.digest and kept.digest != own:
        raise ValueError(
            f"the answer must be one to {instance.name!r}, version {instance.version}, but it is "
            "one to another problem; name the file of this problem by --instance FILE.npz"
        )
    check = instance.check(kept.answer)
    bound = None
    if kept.dual is not None:
        family, model = instance.family, instance.model
        box = family.box(instance.problem, model.columns, check)
        bound = family.from_model(model.lower_bound(kept.dual, box=box))
    return Standing(
        word=_word(instance, check),
        check=check,
        gap=instance.gap(check.objective) if check.feasible else math.nan,
        bound=bound,
        is_better_bound=bound is not None and _is_better_bound(instance, bound),
    )


def _word(instance: Instance, check: Check) -> str:
    """How an answer compares with what is known."""
    if not check.feasible:
        return "infeasible"
    # How much better than the bound: rounding, or a sign that something is wrong.
    passes = -gap_to(instance.family.sense, check.objective, instance.bound)
    if passes > _TOLERANCE:
        return "impossible"
    if instance.best_known is None:
        return "first"
    gap = instance.gap(check.objective)
    if gap > _EQUAL:
        return "worse"
    return "better" if gap < -_EQUAL and not passes > 0 else "equal"


def _is_better_bound(instance: Instance, bound: float) -> bool:
    """Whether a bound is better than the one that was known."""
    if not math.isfinite(bound):
        return False
    if instance.bound is None:
        return True
    # A better bound is nearer to the answers: worse as an objective.
    return gap_to(instance.family.sense, bound, instance.bound) > _BETTER_BOUND


def _part(known: list[str], kind: str) -> str:
    """The part of `proved_by` that begins so; empty if there is none."""
    return next((part for part in known if part.startswith(kind)), "")
