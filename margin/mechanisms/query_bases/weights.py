"""The error of a workload as a function of the bases of its attributes."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from ..._types import Floats
from ...domain.domain import Domain, View
from ...domain.workload import Workload

__all__ = ["ComponentCosts", "best_choices"]


class ComponentCosts:
    """The errors that the components cause in a workload, for given bases of the attributes.

    A view V with the queries W_i of its attributes is answered from the components S within V. If
    the noise of component S has variance one, the summed variance of the answers is the product
    over i in S of `of_rows`_i and over the other i in V of `of_total`_i.

    Parameters
    ----------
    domain, workload
        The attributes and the views with their weights.
    sets
        The components that are measured.
    """

    def __init__(
        self,
        domain: Domain,
        workload: Workload,
        sets: Sequence[View],
    ) -> None:
        self._count = len(sets)
        place = {view: number for number, view in enumerate(sets)}
        # Views of one length make arrays: the axes, shape (views, k), and the place of each subset,
        # shape (views, 2 ** k), or `count` for one that is not measured.
        by_length: dict[int, list[tuple[list[int], list[int], float]]] = {}
        for view, weight in zip(workload, workload.weights, strict=True):
            axes = sorted(domain.axes(view))
            names = [domain.attributes[axis] for axis in axes]
            subsets = [
                tuple(name for bit, name in enumerate(names) if mask >> bit & 1)
                for mask in range(1 << len(names))
            ]
            places = [place.get(subset, self._count) for subset in subsets]
            by_length.setdefault(len(axes), []).append((axes, places, weight))
        self._groups: list[tuple[NDArray[np.int64], NDArray[np.int64], Floats]] = [
            (
                np.array([axes for axes, _, _ in found], dtype=np.int64),
                np.array([places for _, places, _ in found], dtype=np.int64),
                np.array([weight for _, _, weight in found]),
            )
            for found in by_length.values()
        ]

    def __call__(
        self,
        of_rows: Floats,
        of_total: Floats,
    ) -> Floats:
        """The cost of each component: the weighted sum over the views that contain it.

        Parameters
        ----------
        of_rows, of_total
            For each attribute of the domain the summed error variances of its queries; see
            `AxisBasis.costs`.

        Returns
        -------
        ndarray of shape (sets,)
        """
        costs = np.zeros(self._count + 1)
        for axes, places, weights in self._groups:
            products = weights[:, None]
            for column in range(axes.shape[1]):
                inside = products * of_rows[axes[:, column], None]
                outside = products * of_total[axes[:, column], None]
                products = np.concatenate([outside, inside], axis=1)
            costs += np.bincount(places.ravel(), products.ravel(), self._count + 1)
        return costs[:-1]


def best_choices(
    costs: ComponentCosts,
    lengths: Floats,
    choices: Mapping[int, Sequence[tuple[float, float]]],
    fixed: tuple[Floats, Floats],
    *,
    power: int,
) -> dict[int, int]:
    """Choose one of several bases for some attributes, to minimise the error of a workload.

    With the best shares, the error is the sum over the components S of
    (length_S cost_S) ** (1 / (1 + power)), to the power 1 + power. Attributes are changed one after
    another, until no change lowers the error.

    Parameters
    ----------
    costs
        The costs of the components.
    lengths
        The sensitivity of each component without the attributes of `choices`, which have one: the
        squared L2 norm, or the square of the L1 norm, shape (sets,).
    choices
        For some axes, the pairs (of_rows, of_total) of each basis.
    fixed
        `of_rows` and `of_total` of all attributes; those of `choices` are overwritten.
    power
        1 if variance is in proportion to 1 / share, 2 if to 1 / share ** 2.
    """
    of_rows, of_total = fixed[0].copy(), fixed[1].copy()
    chosen = dict.fromkeys(choices, 0)

    def error(axis: int, number: int) -> float:
        of_rows[axis], of_total[axis] = choices[axis][number]
        return float(((lengths * costs(of_rows, of_total)) ** (1 / (1 + power))).sum())

    for axis in choices:
        error(axis, 0)
    changed = True
    while changed:
        changed = False
        for axis, known in choices.items():
            errors = [error(axis, number) for number in range(len(known))]
            best = int(np.argmin(errors))
            if errors[best] < errors[chosen[axis]] * (1 - 1e-9):
                chosen[axis] = best
                changed = True
            error(axis, chosen[axis])
    return chosen
