"""The names of mechanisms on the command line: the names of their classes in Python.

Upper and lower case, hyphens and dots make no difference. The command line also accepts the Python
expression of a mechanism (see `written`). In Python, pass a mechanism object.
"""

import argparse
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import margin

from ...errors import MarginError
from ..common import did_you_mean
from .elsewhere import check_not_elsewhere
from .own import is_own
from .written import is_class, is_written, own_mechanism, written

__all__ = ["MECHANISMS", "PLAIN", "add_options", "known_as", "mechanism_of"]

Views = list[list[str]] | None

_QUERIES = re.compile(r"([0-9]{1,6})(way|parity):([0-9]{1,12})(?::([0-9]{1,18}))?")
"""The form of --queries: size, kind, count, and optionally a seed."""


def _priview(
    parsed: argparse.Namespace,
    domain: "margin.Domain",
    views: Views,
) -> "margin.PriView":
    _without_queries(parsed)
    return margin.PriView(views=views)


def _dual_query(
    parsed: argparse.Namespace,
    domain: "margin.Domain",
    views: Views,
) -> "margin.DualQuery":
    if views is not None and parsed.queries is not None:
        raise MarginError(
            "the queries come either from --views or from --queries, but both are given; leave one "
            "of them out"
        )
    queries = None if parsed.queries is None else queries_of(parsed.queries, domain)
    if views is not None:
        queries = margin.DualQuery.cells(domain, views)
    return margin.DualQuery(
        queries=queries,
        size=parsed.size,
    )


PLAIN: Mapping[str, Callable[[], Any]] = {
    "Auto": lambda: margin.Auto(),
    "Residual": lambda: margin.Residual(),
    "Adaptive": lambda: margin.Adaptive(),
    "PriView.paper": lambda: margin.PriView.paper(),
    "MatrixMechanism": lambda: margin.MatrixMechanism(),
    "Direct": lambda: margin.mechanisms.Direct(),
    "Fourier": lambda: margin.mechanisms.Fourier(),
    "Flat": lambda: margin.mechanisms.Flat(),
    "DataCubes": lambda: margin.mechanisms.DataCubes(),
    "MWEM": lambda: margin.MWEM(),
    "SpanningTree": lambda: margin.mechanisms.SpanningTree(),
    "StrongPairs": lambda: margin.mechanisms.StrongPairs(),
    "Uniform": lambda: margin.mechanisms.Uniform(),
}
"""The mechanisms that have no options on the command line."""


def _plain(
    parsed: argparse.Namespace,
    domain: "margin.Domain",
    views: Views,
) -> Any:
    _without_queries(parsed)
    if views is not None:
        raise MarginError(
            f"--views is given, but the mechanism {parsed.mechanism} does not take it; use "
            "--workload, or one of the mechanisms PriView and DualQuery"
        )
    return PLAIN[parsed.mechanism]()


MECHANISMS: Mapping[str, Callable[[argparse.Namespace, "margin.Domain", Views], Any]] = {
    "PriView": _priview,
    "DualQuery": _dual_query,
    **dict.fromkeys(PLAIN, _plain),
}


_FORMER = {"optimised": "MatrixMechanism"}
"""Former names of mechanisms."""


def known_as(name: str, known: Iterable[str]) -> str | None:
    """The known name that a user's spelling stands for; None if there is none.

    >>> known_as("priview-paper", PLAIN)
    'PriView.paper'
    """
    names = {_plain_name(it): it for it in known}
    plain = _plain_name(name)
    return names.get(_plain_name(_FORMER.get(plain, plain)))


def _plain_name(name: str) -> str:
    return re.sub("[^a-z0-9]", "", name.lower())


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add --mechanism, and the options of single mechanisms."""
    names: Any = parser.add_argument(
        "--mechanism",
        metavar="NAME",
        help=f"one of {', '.join(MECHANISMS)}; or a mechanism with its parameters as in "
        "Python, such as 'HighPass(theta=5)'; or FILE.py:NAME for one of your own; default: "
        "Adaptive, which learns how strong the structure is, or PriView if --views is given",
    )
    names.completer = lambda **_: list(MECHANISMS)
    parser.add_argument(
        "--queries",
        metavar="KWAY:COUNT[:SEED]",
        help="for DualQuery: the queries to answer, drawn at random, such as 3way:100000 "
        "(conjunctions of three attributes) or 3parity:500",
    )
    parser.add_argument(
        "--size",
        type=int,
        metavar="ROWS",
        help="for DualQuery: the approximate number of rows of the table, if it is public",
    )


def mechanism_of(
    parsed: argparse.Namespace,
    domain: "margin.Domain",
    views: Views,
) -> Any:
    """Make the mechanism from the parsed options; None for the default of `margin.release`.

    Raises
    ------
    MarginError
        If the name is unknown, or an option does not belong to the mechanism.
    """
    if parsed.mechanism is None and views is None:
        parsed.mechanism = "the default"
        _without_queries(parsed)
        return None
    if parsed.mechanism is None:
        parsed.mechanism = "PriView"
    if is_own(parsed.mechanism):
        if views is not None:
            raise MarginError(
                "--views cannot be combined with a mechanism of your own; write the views as one "
                "of its parameters"
            )
        _without_queries(parsed)
        return own_mechanism(parsed.mechanism)
    name = known_as(parsed.mechanism, MECHANISMS) or parsed.mechanism
    parsed.mechanism = name
    if is_class(name) and name not in MECHANISMS:
        name = f"{name}()"
    if is_written(name):
        if views is not None:
            raise MarginError(
                f"--views cannot be combined with --mechanism {name!r}, which has parameters of "
                "its own; write the views as one of these parameters"
            )
        _without_queries(parsed)
        return written(name)
    if name not in MECHANISMS:
        check_not_elsewhere(name)
        raise MarginError(
            f"unknown mechanism {name!r}{did_you_mean(name, MECHANISMS)}; --mechanism takes "
            f"{', '.join(MECHANISMS)}, a mechanism as in Python, such as 'HighPass(theta=5)', or "
            "FILE.py:NAME for one of your own, so name one of these"
        )
    return MECHANISMS[name](parsed, domain, views)


def queries_of(text: str, domain: "margin.Domain") -> "margin.queries.Queries":
    """Draw the queries that a text describes, such as "3way:100000".

    A third part is the seed of the draw: "3way:100000:7". The default seed is 0.

    Raises
    ------
    MarginError
        If the text does not have this form.
    """
    found = _QUERIES.fullmatch(text)
    if found is None:
        raise MarginError(
            f"--queries ({text}) must have a form such as 3way:100000, 3way:100000:7 (with a seed) "
            "or 3parity:500; write one of these forms"
        )
    kind = margin.queries.Conjunctions if found[2] == "way" else margin.queries.Parities
    size, count, seed = int(found[1]), int(found[3]), int(found[4] or 0)
    return kind.random(domain, size, count, seed)


def _without_queries(parsed: argparse.Namespace) -> None:
    """Refuse the options of `DualQuery` for another mechanism."""
    if parsed.queries is not None or parsed.size is not None:
        raise MarginError(
            "--queries and --size are options for DualQuery, but the mechanism is "
            f"{parsed.mechanism}; leave them out, or use --mechanism DualQuery"
        )
