"""Whether what came through the gate has the law that was declared: noise, choices, and summaries
of huge tables.

Every draw is turned into a number that is uniform on (0, 1) if the law is the declared one, by its
distribution function, which is computed here: U = F(x - 1) + V (F(x) - F(x - 1)), V uniform. The
empirical distribution of such numbers is within sqrt(ln(2 / alpha) / (2 n)) of the uniform one but
with probability alpha (Dvoretzky, Kiefer and Wolfowitz 1956; Massart 1990), for every n. Dependence
is looked for in signs and in sizes of pairs of draws: a sum of R products of independent variables
in [-1, 1] with mean zero is within sqrt(2 R ln(2 / alpha)) of zero but with probability alpha
(Hoeffding 1963).
"""

import itertools
import math
from collections import Counter
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr

from .._types import Floats
from ..noise.kept_cells import Keep
from ..noise.laws import DiscreteGaussian, DiscreteLaplace
from ..privacy.event import Event
from .cost import chooses, cost

__all__ = ["Law", "cost"]

Key = tuple[object, ...]

_ALPHA = 1e-9  # of each of the tests, of which an audit makes about a hundred
# Standard errors. The sums have heavier tails than a normal variable, which exceeds this with
# probability 1e-15.
_FAR = 8.0
_LEAST_VARIANCE = 1e-3  # below it, noise is nearly always zero, and too few draws are not
_LEAST = 100  # draws, before a sum is judged
_DRAWS = 10_000  # numbers that are drawn again for each law in each run, at most, about
# In a run, the draws of one law are enough if there are `_ENOUGH` numbers in `_ANSWERS` answers.
_ENOUGH = 1000
_ANSWERS = 60
_CHOICES = 500  # choices that are made again for each law in each run, about
_REPEATS = 100  # answers that are drawn again for each law in each run, at most
_COLUMNS = 80  # cells whose dependence is looked at
_CELLS = 4096  # of a sparse table, each of which is looked at
_WIDE = 400.0  # a variance


class Law:
    """What is known of the draws so far, apart for empty and other cells, and apart for each choice
    after another."""

    def __init__(self, seed: int = 0) -> None:
        self._sums: dict[str, list[tuple[float, float, int]]] = {}
        self._uniform: dict[str, list[Floats]] = {}
        self._products: dict[tuple[str, int], tuple[Floats, int]] = {}
        self._kept: dict[int, tuple[Floats, Floats]] = {}
        self._totals: dict[str, list[float]] = {}
        self._seen: set[tuple[int, ...]] = set()
        self._answered: Counter[Key] = Counter()  # answers of each law in this run
        self._chance = np.random.default_rng(seed)
        self.findings: list[str] = []

    def start_run(self) -> None:
        """From here on every law may be drawn again as often as in the runs before."""
        self._answered.clear()

    def add(
        self,
        events: Sequence[Event],
        true: Sequence[Any],
        answer: Any,
    ) -> None:
        """Look at one reply of the gate."""
        if chooses(events[0]):
            self._chosen(events, true, np.atleast_1d(answer)[None])
        elif hasattr(answer, "words"):
            self._sparse(events[0], true[0], answer)
        elif isinstance(answer, list):
            parts = zip(events, answer, true, strict=True)
            self._again(
                events,
                [self._noise(event, np.asarray(noisy), table) for event, noisy, table in parts],
            )

    def add_more(
        self,
        events: Sequence[Event],
        true: Sequence[Any],
        draw: Callable[[], Any],
    ) -> None:
        """Draw the same answer again, many times, and look at all draws, and at how they depend on
        each other.

        Of several answers that a run gets by one law, each is drawn again half as often as the one
        before.
        """
        repeats = _repeats(events, true) >> self._answered[law := _law_of(events, true)]
        self._answered[law] += 1
        answers = [draw() for _ in range(repeats)]
        if not answers:
            return
        if chooses(events[0]):
            chosen = [np.atleast_1d(answer) for answer in answers]
            for size in sorted({choice.size for choice in chosen}):
                self._chosen(
                    events, true, np.stack([choice for choice in chosen if choice.size == size])
                )
        elif isinstance(answers[0], list):
            noises = []
            for place, (event, table) in enumerate(zip(events, true, strict=True)):
                noisy = np.stack([np.asarray(answer[place]) for answer in answers])
                noises.append(self._noise(event, noisy, np.broadcast_to(table, noisy.shape)))
            self._dependence(events, noises)
        else:
            for answer in answers:
                self.add(events, true, answer)

    def judge(self) -> list[str]:
        """What is wrong with all that was added."""
        for name, terms in self._sums.items():
            total, variance, count = (sum(term[i] for term in terms) for i in range(3))
            if count >= _LEAST and abs(total) > _FAR * math.sqrt(variance):
                self.findings.append(f"{name} do not have the declared distribution")
        for name, parts in self._uniform.items():
            numbers = np.sort(np.concatenate(parts))
            steps = np.arange(numbers.size + 1) / max(numbers.size, 1)
            over, under = np.abs(numbers - steps[1:]), np.abs(numbers - steps[:-1])
            gap = max(float(over.max(initial=0)), float(under.max(initial=0)))
            if gap > math.sqrt(math.log(2 / _ALPHA) / (2 * max(numbers.size, 1))):
                self.findings.append(f"{name} do not have the declared distribution")
        for (name, columns), (products, repeats) in self._products.items():
            if np.abs(products).max(initial=0) > math.sqrt(
                2 * repeats * math.log(2 * columns**2 / _ALPHA)
            ):
                self.findings.append(f"{name} depend on each other")
        for cells, (excess, variances) in self._kept.items():
            bound = math.log(2 * cells / _ALPHA)  # Bernstein's inequality, for each cell
            furthest = np.sqrt(2 * variances * bound) + bound
            if (np.abs(excess) > furthest).any():
                self.findings.append(
                    "sparse_cells: some cells are kept more, or less, often than their counts tell"
                )
        for name, totals in self._totals.items():
            ratios = np.array(totals)
            if ratios.size >= _LEAST and abs(ratios.mean() - 1) > _FAR * math.sqrt(
                max(ratios.var(), 2) / ratios.size
            ):
                self.findings.append(f"{name} add up to more or less than independent draws would")
        return list(dict.fromkeys(self.findings))

    # Noise on every cell

    def _noise(
        self,
        event: Event,
        noisy: npt.NDArray[Any],
        table: npt.NDArray[Any],
    ) -> npt.NDArray[np.int64]:
        """The noise in some cells, once it has been looked at."""
        if noisy.dtype.kind != "i":
            self.findings.append(f"{event.method}: the noise is not of integers")
        noise: npt.NDArray[np.int64] = (noisy - table).astype(np.int64)
        sampler: Any = event.sampler
        uniform = self._as_uniform(sampler, noise)
        variance = _variance(sampler)
        # E[X**4] / E[X**2]**2: 3 for the Gaussian, at most 6 + 1 / variance for the Laplace
        # distribution.
        wide = variance >= _LEAST_VARIANCE
        fourth = (6.0 if isinstance(sampler, DiscreteLaplace) else 3.0) + 1 / max(
            variance, _LEAST_VARIANCE
        )
        squares = noise.astype(np.float64) ** 2 / max(variance, _LEAST_VARIANCE) - 1
        for name, cells in (("empty", table == 0), ("other", table != 0)):
            count = int(cells.sum())
            if count:
                self._uniform.setdefault(f"{event.method}: draws in {name} cells", []).append(
                    uniform[cells]
                )
            if count and wide:
                total = float(squares[cells].sum())
                self._sum(
                    f"{event.method}: noise in {name} cells", total, (fourth - 1) * count, count
                )
        if wide:
            total = float(noise.sum()) / math.sqrt(variance)
            self._sum(f"{event.method}: signs of noise", total, noise.size, noise.size)
        return noise

    def _as_uniform(
        self,
        sampler: Any,
        noise: npt.NDArray[np.int64],
    ) -> Floats:
        low, high = _below(sampler, noise - 1), _below(sampler, noise)
        return np.asarray(low + self._chance.random(noise.shape) * (high - low), np.float64)

    def _again(
        self,
        events: Sequence[Event],
        noises: Sequence[npt.NDArray[np.int64]],
    ) -> None:
        """Two tables of wide noise never have the same six sizes or more, in whatever order: below
        1e-10 a pair."""
        for event, noise in zip(events, noises, strict=True):
            if noise.size >= 6 and _variance(event.sampler) >= _WIDE:
                key = tuple(np.sort(np.abs(noise), axis=None).tolist())
                if key in self._seen:
                    self.findings.append(f"{event.method}: the same noise was used twice")
                self._seen.add(key)

    def _dependence(
        self,
        events: Sequence[Event],
        noises: Sequence[npt.NDArray[np.int64]],
    ) -> None:
        """Signs and sizes of pairs of cells, of all tables together, and of each draw and the
        next."""
        signs, sizes, values = [], [], []
        for event, noise in zip(events, noises, strict=True):
            flat = noise.reshape(len(noise), -1)
            middle, above = _middle(event.sampler)
            signs.append(_some(np.sign(flat)).astype(np.float64))
            sizes.append(((_some(np.abs(flat)) > middle) - above) / max(above, 1 - above))
            values.append(
                flat.sum(axis=1) / math.sqrt(max(_variance(event.sampler), _LEAST_VARIANCE))
            )
        method, repeats = events[0].method, len(noises[0])
        for name, columns in (("signs of noise", signs), ("sizes of noise", sizes)):
            table = _some(np.concatenate(columns, axis=1))
            together = np.concatenate([table[1:], table[:-1]], axis=1)
            products = together.T @ together
            np.fill_diagonal(products, 0.0)
            self._product(f"{method}: {name}", together.shape[1], products, repeats - 1)
        cells = sum(noise[0].size for noise in noises)
        if cells > 1 and min(_variance(event.sampler) for event in events) >= _LEAST_VARIANCE:
            ratios = (np.sum(values, axis=0) ** 2 / cells).tolist()
            self._totals.setdefault(f"{method}: the draws of an answer", []).extend(ratios)

    def _product(
        self,
        name: str,
        columns: int,
        products: Floats,
        repeats: int,
    ) -> None:
        before, many = self._products.get((name, columns), (np.zeros_like(products), 0))
        self._products[name, columns] = before + products, many + repeats

    # Choices

    def _chosen(
        self,
        events: Sequence[Event],
        true: Sequence[npt.NDArray[Any]],
        chosen: npt.NDArray[Any],
    ) -> None:
        """Answers, array (answers, choices), of candidates with one array of scores, or with one
        array for each part of the table, where each part has its own choice."""
        if len(true) == 1:
            self._choices(events, true[0], chosen)
            return
        for part, scores in enumerate(true):
            self._choices(events, scores, chosen[:, [part]])

    def _choices(
        self,
        events: Sequence[Event],
        scores: npt.NDArray[Any],
        chosen: npt.NDArray[Any],
    ) -> None:
        """Answers, array (answers, choices): each choice against its law, at the declared rate,
        given those before.

        Without return where there are as many events, with return where one event has many draws.
        """
        if (
            np.asarray(chosen).dtype.kind not in "iu"
            or not ((chosen >= 0) & (chosen < scores.size)).all()
        ):
            self.findings.append(f"{events[0].method}: a choice is none of the candidates")
            return
        exact = scores.tolist()
        if events[0].draws > 1 or events[0].rounds is not None:
            everything = np.ones(scores.size, np.bool_)
            uniform = self._step(events[0], "choices", exact, everything, chosen.ravel()).reshape(
                chosen.shape
            )
        else:
            uniform = self._peeled(events, exact, chosen)
        # Given those before it each is uniform, so that products of one and the next have mean
        # zero.
        signs = np.where(uniform > 0.5, 1.0, -1.0)
        products = np.array([[(signs[:, 1:] * signs[:, :-1]).sum()]])
        self._product(f"{events[0].method}: choices", 1, products, signs[:, 1:].size)

    def _peeled(
        self,
        events: Sequence[Event],
        scores: list[int],
        chosen: npt.NDArray[np.int64],
    ) -> Floats:
        """Choices without return, array (answers, choices), as numbers that are uniform."""
        uniform = np.zeros(chosen.shape)
        left = np.ones((len(chosen), len(scores)), np.bool_)
        answers = np.arange(len(chosen))
        for place, choices in enumerate(chosen.T):
            event = events[min(place, len(events) - 1)]
            if not left[answers, choices].all():
                self.findings.append(f"{event.method}: the same candidate is chosen twice")
                break
            step = f"choices in place {place + 1}"
            # Answers to which the same candidates are left have one law.
            kinds, kind_of = np.unique(
                left,
                axis=0,
                return_inverse=True,
            )
            for kind, still in enumerate(kinds):
                those = np.flatnonzero(kind_of.ravel() == kind)
                uniform[those, place] = self._step(event, step, scores, still, choices[those])
            left[answers, choices] = False
        return uniform

    def _step(
        self,
        event: Event,
        step: str,
        scores: list[int],
        left: npt.NDArray[np.bool_],
        choices: npt.NDArray[np.int64],
    ) -> Floats:
        """Choices among the candidates that are left, as numbers that are uniform."""
        rate = float(event.sampler.rate)  # type: ignore[union-attr]
        top = max(itertools.compress(scores, left.tolist()))
        values = np.array([rate * float(score - top) for score in scores])
        weights = np.where(left, np.exp(np.minimum(values, 0)), 0.0)
        weights /= weights.sum()
        order = np.argsort(values, kind="stable")
        below = np.empty(len(scores))
        below[order] = np.concatenate([[0.0], np.cumsum(weights[order])[:-1]])
        uniform = below[choices] + self._chance.random(choices.size) * weights[choices]
        self._uniform.setdefault(f"{event.method}: {step}", []).append(uniform)
        mean = float(weights @ np.where(left, values, 0.0))
        variance = float(weights @ np.where(left, values - mean, 0.0) ** 2) + 1e-9
        total = float((values[choices] - mean).sum())
        self._sum(f"{event.method}: scores of {step}", total, variance * choices.size, choices.size)
        return uniform

    # Summaries of huge tables

    def _sparse(
        self,
        event: Event,
        true: tuple[npt.NDArray[Any], npt.NDArray[Any]],
        kept: Any,
    ) -> None:
        """How many cells entered that no row is in, and what of each cell of a small table was
        kept."""
        rule, cells = event.about[3], event.about[2]
        words = np.asarray(kept.words)
        if (np.diff(words[:, 0]) < 0).any() or len(np.unique(words, axis=0)) < len(words):
            self.findings.append(
                "sparse_cells: cells are not in order, or twice, which tells who was there"
            )
        if not isinstance(rule, Keep) or not isinstance(cells, int):
            return
        self._entering(event, rule, cells, true, words)
        if words.shape[1] > 1 or cells > _CELLS:
            return
        table = np.zeros(cells, np.int64)
        table[np.asarray(true[0])[:, 0]] = true[1]
        found = np.full(cells, np.iinfo(np.int64).min)
        found[words[:, 0]] = kept.counts
        uniform, expected = np.empty(cells), np.empty(cells)
        for count in np.unique(table).tolist():
            below, values, chance = _kept_below(event.sampler, rule, count)
            some = np.flatnonzero(table == count)
            expected[some] = chance
            # Place 0 is for a cell that was not kept, place i for a count of values[i - 1].
            places = np.where(
                found[some] == np.iinfo(np.int64).min,
                0,
                np.clip(found[some] - values[0] + 1, 1, values.size),
            )
            edges = np.concatenate([[0.0], below])
            uniform[some] = edges[places] + self._chance.random(some.size) * (
                edges[places + 1] - edges[places]
            )
        excess, variance = self._kept.get(cells, (np.zeros(cells), np.zeros(cells)))
        present = found != np.iinfo(np.int64).min
        self._kept[cells] = excess + present - expected, variance + expected * (1 - expected)
        for name, chosen in (("empty", table == 0), ("other", table != 0)):
            self._uniform.setdefault(f"sparse_cells: what is kept of {name} cells", []).append(
                uniform[chosen]
            )

    def _entering(
        self,
        event: Event,
        rule: Keep,
        cells: int,
        true: tuple[Any, Any],
        words: npt.NDArray[np.int64],
    ) -> None:
        """How many empty cells were kept: binomial, whose variance is below its mean."""
        held = {tuple(word) for word in np.asarray(true[0]).tolist()}
        new = sum(tuple(word) not in held for word in words.tolist())
        p = _kept_below(event.sampler, rule, 0)[2]
        expected = (cells - len(held)) * p
        self._sum("sparse_cells: numbers of empty cells kept", new - expected, expected + 1e-9, 1)

    def _sum(
        self,
        name: str,
        value: float,
        variance: float,
        count: int,
    ) -> None:
        self._sums.setdefault(name, []).append((value, variance, count))


# What is drawn again


def _law_of(events: Sequence[Event], true: Sequence[Any]) -> Key:
    """What tells the law of an answer: methods, noise, the size of each table, and whether it has
    empty cells."""
    tables = []
    for table in true:
        counts = table[1] if isinstance(table, tuple) else table
        tables.append((np.shape(counts), bool(np.any(counts)), bool(np.all(counts))))
    return tuple((event.method, event.sampler, event.draws) for event in events), tuple(tables)


def _repeats(events: Sequence[Event], true: Sequence[Any]) -> int:
    """How often an answer is drawn again."""
    size = sum(len(table[0]) if isinstance(table, tuple) else np.size(table) for table in true)
    enough = min(_REPEATS, max(_ANSWERS, _ENOUGH // max(size, 1)))
    repeats = max(8, min(enough, _DRAWS // max(size, 1)))
    if chooses(events[0]):
        repeats = max(1, min(repeats, _CHOICES // sum(event.draws for event in events)))
    return repeats


# Distribution functions, from the definitions


def _variance(sampler: Any) -> float:
    return (
        float(_tabulated(sampler)[2])
        if isinstance(sampler, DiscreteGaussian)
        else _laplace_variance(sampler)
    )


def _laplace_variance(sampler: Any) -> float:
    rate = 1 / float(sampler.scale) if sampler.scale > 1e-3 else 1e3
    return 2 * math.exp(-min(rate, 700.0)) / math.expm1(-min(rate, 700.0)) ** 2


def _below(sampler: Any, values: npt.NDArray[np.int64]) -> Floats:
    """P(X <= x): of the discrete Laplace distribution 1 - r**(x + 1) / (1 + r) from zero on and
    r**-x / (1 + r) below it, r = exp(-1 / scale); of the discrete Gaussian a sum over its table, or
    the normal law where that is long."""
    x = np.asarray(values, np.float64)
    if isinstance(sampler, DiscreteLaplace):
        rate = min(1 / float(sampler.scale), 700.0)
        tails = np.exp(-rate * np.where(x >= 0, x + 1, -x)) / (1 + math.exp(-rate))
        return np.asarray(np.where(x >= 0, 1 - tails, tails), np.float64)
    reach, table, _ = _tabulated(sampler)
    if not reach:
        return np.asarray(ndtr((x + 0.5) / math.sqrt(sampler.sigma2)), np.float64)
    places = np.clip(np.asarray(values, np.int64) + reach + 1, 0, table.size - 1)
    return np.asarray(table[places], np.float64)


@lru_cache(maxsize=64)
def _tabulated(sampler: DiscreteGaussian) -> tuple[int, Floats, float]:
    """The reach of a table, P(X <= -reach - 1 + place) in it, and the variance."""
    sigma2 = float(sampler.sigma2)
    reach = int(12 * math.sqrt(sigma2)) + 4
    if reach > 10**6:
        return 0, np.zeros(1), sigma2
    x = np.arange(-reach, reach + 1, dtype=np.float64)
    weights = np.exp(-(x**2) / (2 * sigma2))
    weights /= weights.sum()
    return reach, np.concatenate([[0.0], np.cumsum(weights)]), float(weights @ x**2)


@lru_cache(maxsize=64)
def _middle(sampler: Any) -> tuple[int, float]:
    """About the median m of the size of noise, and the probability of more."""
    m = int(
        0.69
        * math.sqrt(_variance(sampler))
        * (0.72 if isinstance(sampler, DiscreteLaplace) else 1.0)
    )
    low, high = _below(sampler, np.array([-m - 1, m]))
    return m, float(1 - (high - low))


@lru_cache(maxsize=4096)
def _kept_below(
    sampler: Any,
    rule: Keep,
    count: int,
) -> tuple[Floats, npt.NDArray[np.int64], float]:
    """Of a cell of that many rows: the probabilities that it is not kept, or kept with at most each
    value; the values; and the probability that it is kept. A noisy count v is kept with probability
    min(1, |v| / tau) from theta on."""
    reach = int(45 * float(sampler.scale)) + 10
    values = np.arange(count - reach, count + reach + 1)
    noise = values - count
    size = np.abs(values) if rule.two_sided else values
    chance = np.where(size >= rule.theta, np.minimum(1.0, np.abs(values) / float(rule.tau)), 0.0)
    # P(X = x) = tanh(1 / (2 scale)) exp(-|x| / scale).
    rate = 1 / float(sampler.scale)
    weights = np.exp(-rate * np.abs(noise)) * math.tanh(rate / 2)
    masses = weights * chance
    total = float(masses.sum())
    below = np.minimum(np.concatenate([[1 - total], 1 - total + np.cumsum(masses)]), 1.0)
    below[-1] = 1.0
    return below, values, total


def _some(table: Floats) -> Floats:
    """At most `_COLUMNS` columns: the first and the last."""
    if table.shape[1] <= _COLUMNS:
        return table
    half = _COLUMNS // 2
    return np.concatenate([table[:, :half], table[:, -half:]], axis=1)
