"""Upper bounds on distributions of the privacy loss, on a grid.

The curve of a loss L is h(y) = E[(1 - y e**-L)+], the hockey-stick divergence at epsilon = ln y.
`Weights` are numbers w_j >= 0 at the points j * step, and one weight at infinity; they need not sum
to one. They *cover* a loss when their curve, the sum of w_j (1 - y e**-(j step))+, is nowhere below
h.

Composition preserves this: the curve of two losses is E[h_2(y e**-L_1)], also when the second loss
depends on the first. It grows with h_1 and with h_2 (see `margin.privacy.loss`).

Arithmetic: every number is a sum or product of non-negative floats, whose errors are relative.
Every step enlarges its result by more than the largest possible error.
"""

from dataclasses import dataclass

import numpy as np

from .._types import Floats

__all__ = ["Weights", "sums_from"]


def sums_from(values: Floats) -> Floats:
    """For each place along the last axis, the sum of the values from this place to the end."""
    backwards = np.cumsum(values[..., ::-1], axis=-1)
    sums: Floats = backwards[..., ::-1]
    return sums


@dataclass(
    frozen=True,
    eq=False,
)
class Weights:
    """An upper bound on the distribution of a privacy loss: masses on a grid and at infinity.

    Attributes
    ----------
    low
        Place of the first point: point i is the loss (low + i) * step.
    weights
        The mass of each point, >= 0, shape (points,).
    infinite
        The mass of an infinite loss.
    """

    low: int
    weights: Floats
    infinite: float

    @classmethod
    def none(cls) -> "Weights":
        """All mass at loss zero: the bound for publishing nothing."""
        return cls(0, np.ones(1), 0.0)

    @classmethod
    def of_curve(
        cls,
        low: int,
        grid: Floats,
        curve: Floats,
    ) -> "Weights":
        """Find weights whose curve is nowhere below a given convex curve.

        `curve` holds the values at the points exp(grid), shape (points,). Between the points the
        chords bound the curve; beyond the ends the first weight and the weight at infinity do.
        """
        y = np.exp(grid).tolist()
        wanted = curve.tolist()

        # From the right: the convex polygon through or above the values. `slopes` holds minus the
        # slope to the right of each point.
        slopes = [0.0] * len(y)
        reached = infinite = wanted[-1]
        for place in range(len(y) - 2, -1, -1):
            run = y[place + 1] - y[place]
            slopes[place] = max(slopes[place + 1], (wanted[place] - reached) / run)
            reached += run * slopes[place]

        # A change of slope at y is a weight of y times that change; the first weight is the rest.
        weights = np.zeros(len(y))
        weights[1:] = np.array(y[1:]) * -np.diff(slopes)
        others = float(weights[1:].sum())
        weights[0] = max(0.0, 1 - infinite - others) + 1e-15
        return cls(low, weights * (1 + 1e-14 * len(y)), infinite * (1 + 1e-14))

    @classmethod
    def of_atoms(
        cls,
        losses: Floats,
        masses: Floats,
        infinite: float,
        step: float,
    ) -> "Weights":
        """Round a discrete distribution of the loss up to the grid.

        It has the mass `masses[i]` at the loss `losses[i]`, both of shape (atoms,), and the mass
        `infinite` at infinity.
        The caller gives losses and masses that are not below the true ones.

        An atom between two points of the grid is split between them such that E[e**-L] stays the
        same. This spreads e**-L, so the curve is not lower, because x -> (1 - y x)+ is convex. The
        upper part is rounded up, which moves weight upwards.
        """
        # The point of the grid below each loss, and the distance to it, rounded up.
        errors = 4e-16 * (np.abs(losses) + step)
        raised = losses + errors
        places = np.floor(raised / step).astype(np.int64)
        rest = np.clip(raised - places * step + errors, 0.0, step)

        # The share of each atom that goes to the point above.
        share = np.expm1(-rest) / np.expm1(-step)
        upper = np.minimum(share * (1 + 1e-14), 1.0)
        lower = 1 - upper + 1e-15

        low = int(places.min())
        points = int(places.max()) - low + 2
        sums = np.bincount(places - low + 1, masses * upper, points)
        weights: Floats = sums.astype(np.float64)
        weights[:-1] += np.bincount(places - low, masses * lower, points - 1)
        return cls(low, weights * (1 + 4e-16 * (losses.size + 4)), infinite)

    def then(self, other: "Weights") -> "Weights":
        """Compose with another loss: weights that cover the sum of both losses (a convolution)."""
        total = float(other.weights.sum()) + other.infinite
        ours = float(self.weights.sum())
        infinite = (self.infinite * total + other.infinite * ours) * (1 + 1e-12)
        shorter = min(self.weights.size, other.weights.size)
        weights = np.convolve(self.weights, other.weights) * (1 + 4e-16 * (shorter + 4))
        return Weights(self.low + other.low, weights, infinite)

    def times(
        self,
        number: int,
        little: float,
    ) -> "Weights":
        """Compose with itself: weights that cover the sum of `number` such losses.

        The computation is repeated squaring. The result of each step is `trimmed`; the masses that
        are cut off sum to about `little`.
        """
        power = self
        together = Weights.none()
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
        """Shorten the grid: cut off the points at both ends, of total mass at most `little` each.

        The mass of the lower end moves up to the first point kept; the mass of the upper end moves
        to infinity. Both moves raise the curve.
        """
        below = int(np.searchsorted(np.cumsum(self.weights), little))
        above = int(np.searchsorted(np.cumsum(self.weights[::-1]), little))
        if below + above >= self.weights.size:
            return self
        end = self.weights.size - above
        kept = self.weights[below:end].copy()
        kept[0] += self.weights[:below].sum() * (1 + 1e-12)
        beyond = float(self.weights[end:].sum()) * (1 + 1e-12)
        return Weights(self.low + below, kept, (self.infinite + beyond) * (1 + 1e-15))

    def curve(
        self,
        step: float,
        low: int,
        points: int,
    ) -> Floats:
        """The curve of the weights at the losses (low + i) * step, rounded up: shape (points,).

        `step` is the distance of the points, `low` the number of the first. The points must extend
        beyond the weights on both sides. Method: from y to the next point y' the curve falls by
        (y' - y) times the sum of w_j e**-(j step) over all j with e**(j step) >= y'.
        """
        start = self.low - low
        placed = np.zeros(points)
        placed[start : start + self.weights.size] = self.weights
        grid = step * np.arange(low, low + points, dtype=np.float64)
        scaled = sums_from(placed * np.exp(-grid))
        falls = np.exp(grid[:-1]) * np.expm1(step) * scaled[1:]
        at = np.zeros(points)
        at[:-1] = sums_from(falls)
        largest = float(np.abs(grid).max())
        errors = 1e-15 * (points + 20 + 4 / step) + 4e-16 * largest
        return (at + self.infinite) * (1 + errors)

    def epsilon(
        self,
        step: float,
        delta: float,
    ) -> float | None:
        """The smallest epsilon at which the curve is at most delta, found by bisection.

        None when the curve is above delta everywhere.
        """
        points = np.arange(self.low, self.low + self.weights.size, dtype=np.float64)
        losses: Floats = step * points * (1 + 4e-16)

        def reached(epsilon: float) -> bool:
            above = losses > epsilon
            parts = self.weights[above] * -np.expm1(epsilon - losses[above])
            curve = self.infinite + float(parts.sum())
            return curve * (1 + 1e-11) <= delta

        low = 0.0
        high = max(float(losses[-1]), 0.0) + 1e-9
        if not reached(high):
            return None
        if reached(low):
            return low
        for _ in range(60):
            middle = (low + high) / 2
            if reached(middle):
                high = middle
            else:
                low = middle
        return high
