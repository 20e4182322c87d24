"""Private choices among public candidates."""

from collections.abc import Iterable, Sequence
from functools import cached_property
from operator import index

import numpy as np

from .._checks import positive_integer
from .._numbers import Number
from .._types import Integers
from ..domain.domain import Domain, View
from ..errors import DomainError
from ..noise.selection import peel
from ..privacy.split import split_units
from .counts import digest, gaps, public_tables, view_weights, whole
from .gate import Gate

__all__ = ["LARGEST_PENALTY", "Choices", "Contest"]

LARGEST_PENALTY = 1 << 40
"""Largest absolute value of a penalty."""


class _Compared:
    """Views and their public answers, as integers: copies that are checked once.

    Parameters
    ----------
    domain
        The domain of the views.
    views
        Views of the domain, checked.
    public
        The public answer of each view.
    """

    def __init__(self, domain: Domain, views: Sequence[View], public: Sequence[object]) -> None:
        self.domain = domain
        self.views = tuple(views)
        self.answers = tuple(map(_unchangeable, public_tables(public, self.views, domain)))

    @cached_property
    def digests(self) -> tuple[str, ...]:
        """A digest of each answer."""
        return tuple(digest(answer) for answer in self.answers)


def _unchangeable(answer: Integers) -> Integers:
    """A copy that cannot be made writeable again, because its memory is that of a bytes object."""
    copied: Integers = np.frombuffer(answer.tobytes(), answer.dtype).reshape(answer.shape)
    return copied


class Contest:
    """Candidates of private choices with their public answers; `Private.contest` makes it.

    It holds nothing about the data. Many choices among the same views are faster with it: the
    answers are checked once, and `Private` counts and compares the tables once.

    Attributes
    ----------
    compared
        All candidates that the contest was made of, with their answers.
    places
        The places of the candidates among these.

    Examples
    --------
    >>> import margin
    >>> class Furthest:
    ...     def run(self, private: margin.Private, workload):
    ...         from margin.synopses.estimate import estimate
    ...         names = list(private.domain)
    ...         contest = private.contest([[name] for name in names], [[0, 0]] * len(names))
    ...         (place,) = private.select(contest.only([1, 2]), spend="1/2")
    ...         return estimate(private.domain, private.measure([[names[1 + place]]]))
    >>> made = margin.release(
    ...     {"a": [0, 1], "b": [0, 1], "c": [1, 1]},
    ...     domain={"a": 2, "b": 2, "c": 2},
    ...     budget=margin.PureDP(1),
    ...     mechanism=Furthest(),
    ... )
    >>> len(made.names)
    1
    """

    def __init__(self, compared: _Compared, places: tuple[int, ...]) -> None:
        self.compared = compared
        self.places = places

    @property
    def views(self) -> tuple[View, ...]:
        """The views of the candidates."""
        return tuple(self.compared.views[place] for place in self.places)

    @property
    def answers(self) -> tuple[Integers, ...]:
        """The public answer of each candidate, rounded to integers; read-only arrays."""
        return tuple(self.compared.answers[place] for place in self.places)

    @property
    def digests(self) -> tuple[str, ...]:
        """A digest of each public answer."""
        return tuple(self.compared.digests[place] for place in self.places)

    def only(self, places: Iterable[int]) -> "Contest":
        """The contest among some candidates, by their places in this one; a place may come twice.

        Raises
        ------
        DomainError
            When there is no place, or one is not from 0 to the number of candidates minus one.
        """
        chosen = [index(place) for place in places]
        if not chosen or not 0 <= min(chosen) <= max(chosen) < len(self.places):
            raise DomainError(
                f"places must hold one or more numbers from 0 to {len(self.places) - 1}, but "
                f"{len(chosen)} are given or one is outside; pass places of this contest"
            )
        return Contest(self.compared, tuple(self.places[place] for place in chosen))


class Choices(Gate):
    """The part of `Private` that chooses views: its methods `select` and `contest`."""

    def contest(
        self,
        candidates: Iterable[Iterable[str]],
        public: Sequence[object],
    ) -> Contest:
        """Check the candidates of many calls of `select` once; this costs nothing.

        No sensitivity: the rows are not looked at.

        Parameters
        ----------
        candidates, public
            As in `select`.

        Returns
        -------
        Contest
            To pass to `select` instead of both, or with some of the candidates
            (`Contest.only`).

        Raises
        ------
        DomainError
            When an argument is not as described.
        """
        contest = self._made(candidates, public)
        self._contests[contest.compared] = None
        return contest

    def select(
        self,
        candidates: Iterable[Iterable[str]] | Contest,
        public: Sequence[object] | None = None,
        *,
        count: int = 1,
        weights: Sequence[int] | None = None,
        penalties: Sequence[int] | None = None,
        spend: Number | None = None,
    ) -> tuple[int, ...]:
        """Choose, at random, views whose true tables differ much from public answers.

        This is the exponential mechanism with score weight * (|table - public|_1 - penalty). Public
        answers are rounded to integers first, so scores are integers. Adding a row changes one cell
        of each table by one. So each distance changes by at most one, up or down, and each score by
        at most the largest weight w. The changes of two scores differ by at most 2 w. Distances are
        cut off at 2**40, so that scores fit into 64 bits; this does not increase the difference of
        any two distances. Candidates are chosen one after another. Each choice is charged an equal
        part of what is spent.

        Parameters
        ----------
        candidates
            The views to choose from, or a `Contest` that holds them with their answers.
        public
            For each view an array of its shape, or a Marginal. They must not depend on the data,
            except through results of `Private`. None if `candidates` is a `Contest`.
        count
            Number of views to choose.
        weights, penalties
            One whole number for each view: weights from 0 to 2**20 (default 1), penalties from
            -2**40 to 2**40 (default 0).
        spend
            The share of the whole budget to spend, such as "1/3"; by default all that is left.

        Returns
        -------
        tuple of int
            Places of the chosen candidates, shape (count,), in the order of the choices.

        Raises
        ------
        DomainError
            When an argument is not as described. Nothing is charged.
        BudgetError
            When the budget does not hold enough. Nothing is charged.
        DataError
            When the rows do not fit the domain. Nothing is charged.
        """
        # Check copies of the arguments.
        contest = self._contest(candidates, public)
        views = contest.views
        wanted = positive_integer("count", count)
        if wanted > len(views):
            raise DomainError(
                f"count ({wanted}) must be at most the number of candidates, {len(views)}; pass a "
                "smaller number"
            )
        weight = view_weights(weights, len(views))
        given = np.zeros(len(views), int) if penalties is None else penalties
        penalty = whole("penalties", given, (len(views),))

        # Count, charge, draw.
        about = (views, contest.digests, digest(weight, penalty))
        spread = 2 * self.budget.rows * int(weight.max())
        charges = split_units(self._units(spend), wanted)
        events = self._choices("select", about, charges, spread)
        scores = weight * (self._gaps(contest) - penalty)
        mechanisms = [self.budget.selection(event.units, spread=spread) for event in events]
        chosen = self._answer(events, [scores], lambda: peel(mechanisms, scores, self._entropy))
        return tuple(chosen.tolist())

    def _contest(
        self,
        candidates: Iterable[Iterable[str]] | Contest,
        public: Sequence[object] | None,
    ) -> Contest:
        """The candidates and public answers of a call of `select`, checked."""
        if not isinstance(candidates, Contest):
            if public is None:
                raise DomainError(
                    "public must hold an answer for each view, but it is missing; pass it, or a "
                    "contest"
                )
            return self._made(candidates, public)
        if public is not None:
            raise DomainError(
                "a contest holds its public answers, but others are given too; leave public out"
            )
        # Only the answers of a contest that was made here were checked.
        if candidates.compared not in self._contests:
            raise DomainError(
                "a contest must be made by this Private, but it was not; make it by the method "
                "contest of this object"
            )
        return candidates

    def _made(
        self,
        candidates: Iterable[Iterable[str]],
        public: Sequence[object],
    ) -> Contest:
        """A contest of copies of the candidates and their public answers, which are checked."""
        compared = _Compared(self.domain, self._views(candidates), public)
        return Contest(compared, tuple(range(len(compared.views))))

    def _gaps(self, contest: Contest) -> Integers:
        """The true distances of a contest: shape (candidates,). They never leave this object.

        Those of all views that the method `contest` was given are computed once and then kept.
        """
        compared = contest.compared
        distances = self._contests.get(compared)
        if distances is None:
            distances = gaps(self._tables(compared.views), compared.answers)
        if compared in self._contests:
            self._contests[compared] = distances
        return distances[list(contest.places)]
