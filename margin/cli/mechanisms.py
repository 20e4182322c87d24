"""Which mechanism a name on the command line stands for. Names exist there only; in Python, pass an
object, which can be written on the command line as well."""

import argparse
import re
from collections.abc import Callable, Mapping
from typing import Any

import margin

from ..errors import MarginError
from .written import is_written, written

__all__ = ["MECHANISMS", "PLAIN", "add_options", "mechanism_of"]

Views = list[list[str]] | None

_QUERIES = re.compile(r"([0-9]{1,6})(way|parity):([0-9]{1,12})(?::([0-9]{1,18}))?")


def _priview(parsed: argparse.Namespace, domain: "margin.Domain", views: Views) -> "margin.PriView":
    _without_queries(parsed)
    return margin.PriView(views=views)


def _dual_query(
    parsed: argparse.Namespace, domain: "margin.Domain", views: Views
) -> "margin.DualQuery":
    if views is not None and parsed.queries is not None:
        raise MarginError("give either --views or --queries, not both")
    queries = None if parsed.queries is None else queries_of(parsed.queries, domain)
    if views is not None:
        queries = margin.DualQuery.cells(domain, views)
    return margin.DualQuery(queries=queries, size=parsed.size)


PLAIN: Mapping[str, Callable[[], Any]] = {
    "auto": lambda: margin.Auto(),
    "residual": lambda: margin.Residual(),
    "adaptive": lambda: margin.Adaptive(),
    "priview-paper": lambda: margin.PriView.paper(),
    "optimised": lambda: margin.MatrixMechanism(),
    "direct": lambda: margin.Direct(),
    "fourier": lambda: margin.Fourier(),
    "flat": lambda: margin.Flat(),
    "data-cubes": lambda: margin.DataCubes(),
    "mwem": lambda: margin.MWEM(),
    "uniform": lambda: margin.Uniform(),
}
"""Mechanisms that take no options on the command line."""


def _plain(parsed: argparse.Namespace, domain: "margin.Domain", views: Views) -> Any:
    _without_queries(parsed)
    if views is not None:
        raise MarginError(
            f"--views are for priview and dualquery, not for {parsed.mechanism}; give it a --workload"
        )
    return PLAIN[parsed.mechanism]()


MECHANISMS: Mapping[str, Callable[[argparse.Namespace, "margin.Domain", Views], Any]] = {
    "priview": _priview,
    "dualquery": _dual_query,
    **dict.fromkeys(PLAIN, _plain),
}


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add --mechanism and what it needs."""
    names: Any = parser.add_argument(
        "--mechanism",
        metavar="NAME",
        help=f"one of {', '.join(MECHANISMS)}; or any other with its parameters as in Python, such as "
        "'HighPass(theta=5)'; default: auto, which chooses by expected error, or priview with --views",
    )
    names.completer = lambda **_: list(MECHANISMS)
    parser.add_argument(
        "--queries",
        metavar="KWAY:COUNT[:SEED]",
        help="for dualquery: random queries, such as 3way:100000 or 3parity:500",
    )
    parser.add_argument(
        "--size",
        type=int,
        metavar="ROWS",
        help="for dualquery: about how many rows, if that is public",
    )


def mechanism_of(parsed: argparse.Namespace, domain: "margin.Domain", views: Views) -> Any:
    """The mechanism that was named.

    Raises
    ------
    MarginError
        When there is none of that name, or it has no use for an option.
    """
    if parsed.mechanism is None:
        parsed.mechanism = "auto" if views is None else "priview"
    if is_written(parsed.mechanism):
        if views is not None:
            raise MarginError(
                "--views are for priview and dualquery by name; here they are among the parameters"
            )
        _without_queries(parsed)
        return written(parsed.mechanism)
    if parsed.mechanism not in MECHANISMS:
        raise MarginError(
            f"there is no mechanism {parsed.mechanism!r}; there are {', '.join(MECHANISMS)}, "
            f"and more as in Python, such as 'HighPass(theta=5)'"
        )
    return MECHANISMS[parsed.mechanism](parsed, domain, views)


def queries_of(text: str, domain: "margin.Domain") -> "margin.queries.Queries":
    """The queries of a text such as "3way:100000", with a seed as its third part where not 0."""
    found = _QUERIES.fullmatch(text)
    if found is None:
        raise MarginError(
            f"--queries ({text}) must be like 3way:100000, 3way:100000:7 with a seed, or 3parity:500"
        )
    kind = margin.queries.Conjunctions if found[2] == "way" else margin.queries.Parities
    return kind.random(domain, int(found[1]), int(found[3]), int(found[4] or 0))


def _without_queries(parsed: argparse.Namespace) -> None:
    if parsed.queries is not None or parsed.size is not None:
        raise MarginError(f"--queries and --size are for dualquery, not for {parsed.mechanism}")
