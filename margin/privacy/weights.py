"""Distributions of the privacy loss on a grid, from above: `Weights`.

The curve of a loss L is h(y) = E[(1 - y e**-L)+], the hockey-stick divergence at epsilon = ln y.
`Weights` are numbers w_j >= 0 at the points j * step and one at infinity; they need not sum to one.
They *cover* a loss when their curve, the sum of w_j (1 - y e**-(j step))+, is nowhere below h.

Composition keeps that: h of two losses is E[h_2(y e**-L_1)], also when the second depends on the
first, and it grows with h_1 and with h_2 (see `exact.loss`).

Arithmetic: sums and products of non-negative floats, whose errors are relative. Every step enlarges
its result by more than they can be.
"""

from dataclasses import dataclass

import numpy as np

from .._types import Floats

__all__ = ["Weights"]


@dataclass(frozen=True, eq=False)
class Weights:
    """Weights at the points (low + i) * step, shape (points,), and at infinity."""

    low: int
    weights: Floats
    infinite: float

    @classmethod
    def none(cls) -> "Weights":
        """Of no loss at all."""
        return cls(0, np.ones(1), 0.0)

    @classmethod
    def of_curve(cls, low: int, grid: Floats, curve: Floats) -> "Weights":
        """The weights on a grid whose curve is above `curve` at its points, by chords between, and
        beyond its ends."""
        y = np.exp(grid).tolist()
        wanted = curve.tolist()
        slopes = [0.0] * len(y)  # minus the slope to the right of each point
        reached = infinite = wanted[-1]
        for place in range(len(y) - 2, -1, -1):
            run = y[place + 1] - y[place]
            slopes[place] = max(slopes[place + 1], (wanted[place] - reached) / run)
            reached += run * slopes[place]
        weights = np.zeros(len(y))
        weights[1:] = np.array(y[1:]) * -np.diff(slopes)
        weights[0] = max(0.0, 1 - infinite - float(weights[1:].sum())) + 1e-15
        return cls(low, weights * (1 + 1e-14 * len(y)), infinite * (1 + 1e-14))

    @classmethod
    def of_atoms(cls, losses: Floats, masses: Floats, infinite: float, step: float) -> "Weights":
        """The weights that cover probabilities, or more, at some losses, neither above the true
        ones.

        An atom between two points of the grid is parted between them so that E[e**-L] stays: a
        spread of e**-L, and so no lower curve, as x -> (1 - y x)+ is convex. The upper part is
        rounded up, which moves weight upwards.
        """
        raised = losses + 4e-16 * (np.abs(losses) + step)
        places = np.floor(raised / step).astype(np.int64)
        rest = np.clip(raised - places * step + 4e-16 * (np.abs(losses) + step), 0.0, step)
        upper = np.minimum(np.expm1(-rest) / np.expm1(-step) * (1 + 1e-14), 1.0)
        low = int(places.min())
        weights: Floats = np.bincount(
            places - low + 1, masses * upper, int(places.max()) - low + 2
        ).astype(np.float64)
        weights[:-1] += np.bincount(places - low, masses * (1 - upper + 1e-15), weights.size - 1)
        return cls(low, weights * (1 + 4e-16 * (losses.size + 4)), infinite)

    def then(self, other: "Weights") -> "Weights":
        """Of both losses together."""
        total = float(other.weights.sum()) + other.infinite
        infinite = (self.infinite * total + other.infinite * float(self.weights.sum())) * (
            1 + 1e-12
        )
        shorter = min(self.weights.size, other.weights.size)
        weights = np.convolve(self.weights, other.weights) * (1 + 4e-16 * (shorter + 4))
        return Weights(self.low + other.low, weights, infinite)

    def times(self, number: int, little: float) -> "Weights":
        """Of so many such losses together, by squaring, `trimmed` by a share of `little` for each."""
        power, together = self, Weights.none()
        each = little / number
        done = 1
        while True:
            if number & done:
                together = together.then(power).trimmed(each * done)
            done *= 2
            if done > number:
                return together
            power = power.then(power).trimmed(each * done)

    def trimmed(self, little: float) -> "Weights":
        """Without the ends that weigh little: the lower moved up to the first kept, the upper to
        infinity."""
        below = int(np.searchsorted(np.cumsum(self.weights), little))
        above = int(np.searchsorted(np.cumsum(self.weights[::-1]), little))
        if below + above >= self.weights.size:
            return self
        end = self.weights.size - above
        kept = self.weights[below:end].copy()
        kept[0] += self.weights[:below].sum() * (1 + 1e-12)
        beyond = float(self.weights[end:].sum()) * (1 + 1e-12)
        return Weights(self.low + below, kept, (self.infinite + beyond) * (1 + 1e-15))

    def curve(self, step: float, low: int, points: int) -> Floats:
        """The curve at the points (low + i) * step, shape (points,), which reach beyond the weights
        on both sides.

        It falls from point to point by (y' - y) times the sum of w_j e**-(j step) over the points j
        above.
        """
        placed = np.zeros(points)
        placed[self.low - low : self.low - low + self.weights.size] = self.weights
        grid = step * np.arange(low, low + points, dtype=np.float64)
        scaled = np.cumsum((placed * np.exp(-grid))[::-1])[::-1]
        falls = np.exp(grid[:-1]) * np.expm1(step) * scaled[1:]
        at = np.zeros(points)
        at[:-1] = np.cumsum(falls[::-1])[::-1]
        errors = 1e-15 * (points + 20 + 4 / step) + 4e-16 * float(np.abs(grid).max())
        return (at + self.infinite) * (1 + errors)

    def epsilon(self, step: float, delta: float) -> float | None:
        """The least epsilon at which the curve is at most delta; None when there is none."""
        losses: Floats = (
            step * np.arange(self.low, self.low + self.weights.size, dtype=np.float64) * (1 + 4e-16)
        )

        def reached(epsilon: float) -> bool:
            above = losses > epsilon
            curve = self.infinite + float(
                (self.weights[above] * -np.expm1(epsilon - losses[above])).sum()
            )
            return curve * (1 + 1e-11) <= delta

        low, high = 0.0, max(float(losses[-1]), 0.0) + 1e-9
        if not reached(high):
            return None
        if reached(low):
            return low
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (low, middle) if reached(middle) else (middle, high)
        return high
