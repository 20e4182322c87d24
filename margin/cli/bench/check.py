"""The command `margin bench check`: answers beside the best that is known."""

import argparse
import csv
import io
import math
from pathlib import Path
from typing import Any

from ...errors import MarginError
from ..common import Said, add_command, printable
from .named import named

__all__ = ["add_check"]

_MEANINGS = {
    "better": "it is better than the best known",
    "equal": "it is as good as the best known",
    "worse": "it is worse than the best known",
    "first": "no best value was known",
    "infeasible": "it is no answer",
    "impossible": "it is better than a proved bound, so the check or the bound is wrong: report it",
}

_NAME = "YOUR NAME"


def add_check(group: Any) -> None:
    """Add `margin bench check` to the group of commands."""
    checking = add_command(
        group,
        "check",
        _check,
        does="check answers by the problem alone, and compare them with the best known values",
        examples=[
            "margin bench check answers/cover-design-7-3-2/highs-0.npz",
            "margin bench check mine.npz --by 'A. Solver with 3 hours of MySolver 2.1'",
        ],
    )
    checking.add_argument(
        "files",
        nargs="+",
        type=Path,
        metavar="ANSWER.npz",
        help="files that bench.save_answer or `margin bench run --answers` wrote",
    )
    checking.add_argument(
        "--instance",
        metavar="NAME|FILE.npz",
        help="the instance, for answers to a problem of your own; default: by the name in the file",
    )
    checking.add_argument(
        "--by",
        default=_NAME,
        metavar="TEXT",
        help="who found a better value, and by what, for the row of the table of best values",
    )


def _check(parsed: argparse.Namespace) -> Said:
    from ...solvers.bench.running.answers import read_kept
    from ...solvers.bench.running.standing import standing

    lines: list[str] = []
    values: list[dict[str, Any]] = []
    for path in parsed.files:
        try:
            kept = read_kept(path)
        except (ValueError, OSError) as error:
            raise MarginError(str(error)) from None
        instance = _instance(parsed, kept.instance)
        try:
            found = standing(instance, kept)
        except ValueError as error:
            raise MarginError(f"{printable(path)}: {error}") from None
        row = found.row(instance, parsed.by)
        lines += [f"{printable(path)}: {instance.name}: {found.word}", *_told(instance, found)]
        if row:
            lines += ["  row of the table of best values:", f"  {_as_csv(row)}"]
        values.append(
            {
                "file": str(path),
                "instance": instance.name,
                "is": found.word,
                "feasible": found.check.feasible,
                "objective": found.check.objective if found.check.feasible else None,
                "gap": None if math.isnan(found.gap) else found.gap,
                "best_known": instance.best_known,
                "proved_bound": found.bound,
                "bound": instance.bound,
                "row": row,
            }
        )
    wrong = any(value["is"] in ("infeasible", "impossible") for value in values)
    return Said("\n".join(lines), values, code=2 if wrong else 0)


def _instance(parsed: argparse.Namespace, name: str) -> Any:
    """The instance that an answer is checked by."""
    if parsed.instance:
        return named(parsed.instance)
    try:
        return named(name)
    except MarginError as error:
        raise MarginError(
            f"{error}. If this is the name of a problem of your own, add --instance FILE.npz"
        ) from None


def _told(instance: Any, found: Any) -> list[str]:
    """What was found, in words with numbers."""
    family, check = instance.family, found.check
    known = "none" if instance.best_known is None else f"{instance.best_known:.10g}"
    if found.word == "infeasible":
        return [f"  {_MEANINGS[found.word]}: {check.fault}"]
    lines = [
        f"  {_MEANINGS[found.word]}: objective {check.objective:.10g}, best known {known} "
        f"({family.sense}); violation {abs(check.violation):.3g} {family.unit}, at most "
        f"{family.tolerance:g} is allowed"
    ]
    if found.bound is not None:
        bound = "none" if instance.bound is None else f"{instance.bound:.10g}"
        better = "better than" if found.is_better_bound else "not better than"
        lines += [f"  its multipliers prove the bound {found.bound:.10g}, {better} {bound}"]
    return lines


def _as_csv(row: list[str]) -> str:
    """A row as a line of a file of comma-separated values."""
    text = io.StringIO()
    csv.writer(text, lineterminator="").writerow(row)
    return text.getvalue()
