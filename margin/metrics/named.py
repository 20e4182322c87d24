"""Metrics by their short names, such as "l2"."""

from collections.abc import Iterable
from typing import Any, cast

from .._names import METRICS, did_you_mean
from ..errors import DomainError
from . import asked, intervals, itemsets, tables
from .metric import Metric

__all__ = ["metric_of", "metrics_of"]

_ROOMS = (asked, intervals, itemsets, tables)
"""The files of the classes."""

_WITH_PARAMETER = ("relative", "useful", "inside", "interval", "ndcg", "f1")


def metrics_of(given: Iterable[Metric | str]) -> tuple[Metric, ...]:
    """Check metrics, and make those that are given by name.

    Raises
    ------
    DomainError
        If there is none, or one is neither a metric nor the name of one.
    """
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise DomainError(
            "metrics must be a list of metrics, such as ['l2', 'js'] or [margin.metrics.L2()], but "
            f"it is of type {type(given).__name__}; put the metrics into a list"
        )
    found = tuple(metric_of(metric) for metric in given)
    if not found:
        raise DomainError(
            "metrics must hold at least one metric, but it is empty; pass one such as 'l2' or "
            "margin.metrics.L2()"
        )
    return found


def metric_of(given: Metric | str) -> Metric:
    """The metric that a text such as "l2" or "ndcg:20" names; a metric is returned as it is."""
    if isinstance(given, str):
        return _named(given)
    if isinstance(given, type):
        raise DomainError(
            f"a metric must be an object, but it is the class {given.__name__}; call it: "
            f"{given.__name__}()"
        )
    parts = ("name", "larger_is_better", "__call__")
    if not all(hasattr(given, part) for part in parts):
        raise DomainError(
            f"a metric must be one of the names {', '.join(METRICS)}, or an object as in "
            f"margin.metrics, but it is of type {type(given).__name__}; pass one such as 'l2'"
        )
    return given


def _named(text: str) -> Metric:
    name, colon, written = text.partition(":")
    if name not in METRICS:
        raise DomainError(
            f"a metric must be one of {', '.join(METRICS)}, but it is {name!r}"
            f"{did_you_mean(name, METRICS)}; name one of these"
        )
    room = next(room for room in _ROOMS if METRICS[name] in room.__all__)
    kind: Any = getattr(room, METRICS[name])
    if not colon:
        return cast(Metric, kind())
    if name not in _WITH_PARAMETER:
        raise DomainError(
            f"the metric {name!r} takes no parameter, but {text!r} has one; leave it out"
        )
    try:
        parameter = int(written) if written.isdigit() else float(written)
    except ValueError:
        raise DomainError(
            f"the parameter of a metric must be a number, but {text!r} has none after the colon; "
            f"write it as in {name}:{'10' if name in ('ndcg', 'f1') else '0.01'}"
        ) from None
    return cast(Metric, kind(parameter))
