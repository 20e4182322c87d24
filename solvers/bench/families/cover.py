"""Covers: the cheapest choice of sets that together hold every item; `Cover` and `Chosen`."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ...response.constraint import integers
from ...stated import Stated
from ...status import Status
from ...types import Floats, Integers
from ..models.model import Model
from .family import Check, Claim, Family

__all__ = ["Chosen", "Cover", "CoverFamily"]


@dataclass(
    frozen=True,
    kw_only=True,
    eq=False,
)
class Cover(Stated):
    """Sets of items with costs; the problem is to choose sets that hold every item, most cheaply.

    A covering design is such a problem: the items are the t-subsets of v points, and the sets are
    the k-subsets. So is the choice of views: the items are the marginals that are asked, the sets
    are the candidate views, and the cost of a view is its number of cells.

    Parameters
    ----------
    items
        The number of items.
    offsets
        Set j holds ``member[offsets[j]:offsets[j + 1]]``, shape (sets + 1,).
    member
        The items of all sets, one set after another.
    cost
        The cost of each set, integers >= 1, shape (sets,).

    Raises
    ------
    ValueError
        If the arrays do not fit, or no set holds some item.

    Examples
    --------
    >>> cover = Cover(items=3, offsets=[0, 2, 4, 5], member=[0, 1, 1, 2, 2], cost=[1, 1, 1])
    >>> cover.left([0, 2]), cover.left([0])
    (0, 1)
    """

    families: ClassVar[tuple[str, ...]] = ("cover",)
    items: int
    offsets: Integers
    member: Integers
    cost: Integers

    def __post_init__(self) -> None:
        for name in ("offsets", "member", "cost"):
            object.__setattr__(self, name, integers(getattr(self, name), name))
        object.__setattr__(self, "items", int(integers(self.items, "items")))
        starts = self.offsets
        if len(self.cost) != len(starts) - 1:
            raise ValueError(
                f"cost must have one entry for each of the {len(starts) - 1} sets, but it has "
                f"{len(self.cost)}; give one cost a set"
            )
        if starts[0] != 0 or (np.diff(starts) < 0).any() or starts[-1] != len(self.member):
            raise ValueError(
                "offsets must ascend from 0 to the number of members, but it does not; correct it"
            )
        self._check_members()
        if (self.cost < 1).any():
            number = int(np.argmax(self.cost < 1))
            raise ValueError(
                f"costs must be >= 1, but set {number} has the cost {self.cost[number]}; correct it"
            )

    def _check_members(self) -> None:
        """Refuse members that are no items, and items that no set holds."""
        outside = (self.member < 0) | (self.member >= self.items)
        if outside.any():
            place = int(np.argmax(outside))
            number = int(np.searchsorted(self.offsets, place, side="right")) - 1
            raise ValueError(
                f"members must be >= 0 and less than the number of items ({self.items}), but set "
                f"{number} holds {self.member[place]}; correct it"
            )
        held = np.unique(self.member)
        if len(held) != self.items:
            # The first place at which the ascending numbers do not go on by one; -1 ends them.
            missing = int(np.argmax(np.append(held, -1) != np.arange(len(held) + 1)))
            raise ValueError(
                f"each of the {self.items} items must be in some set, but no set holds item "
                f"{missing}; add it to a set, or leave it out and number the items anew"
            )

    @classmethod
    def of(cls, items: int, sets: Iterable[Iterable[int]], cost: Iterable[int]) -> "Cover":
        """A problem from lists of items.

        Parameters
        ----------
        items
            The number of items.
        sets
            The items of each set, numbered from 0.
        cost
            The cost of each set, integers >= 1.

        Raises
        ------
        ValueError
            See the class.

        Examples
        --------
        >>> Cover.of(3, [[0, 1], [1, 2], [2]], [2, 2, 1]).sets
        3
        """
        lists = [list(members) for members in sets]
        lengths = [len(members) for members in lists]
        return cls(
            items=items,
            offsets=np.cumsum([0, *lengths]),
            member=np.array([item for members in lists for item in members]),
            cost=np.array(list(cost)),
        )

    @property
    def sets(self) -> int:
        """The number of sets."""
        return len(self.cost)

    @property
    def matrix(self) -> sparse.csr_array:
        """Which set holds which item, zeros and ones of shape (items, sets)."""
        owner = np.repeat(np.arange(self.sets), np.diff(self.offsets))
        ones = np.ones(len(self.member))
        made = sparse.csr_array((ones, (self.member, owner)), shape=(self.items, self.sets))
        return made.minimum(1.0)

    def left(self, chosen: Any) -> int:
        """The number of items that the chosen sets do not hold."""
        flags = np.zeros(self.sets, np.bool_)
        flags[np.asarray(chosen, np.int64)] = True
        held = self.member[np.repeat(flags, np.diff(self.offsets))]
        return self.items - len(np.unique(held))


@dataclass(
    frozen=True,
    kw_only=True,
    eq=False,
)
class Chosen:
    """What a solver of `Cover` returns.

    Attributes
    ----------
    sets
        The numbers of the chosen sets; None if none were found.
    status
        How the solve ended.
    bound
        A lower bound on the cost of every cover; None if none is claimed.
    """

    sets: Integers | None
    status: Status
    bound: float | None = None


class CoverFamily(Family):
    """The cheapest sets that hold every item: covering designs and the choice of views."""

    name: ClassVar[str] = "cover"
    group: ClassVar[str] = "cover"
    integral: ClassVar[bool] = True
    takes: ClassVar[str] = "margin.solvers.bench.Cover"
    gives: ClassVar[str] = "margin.solvers.bench.Chosen, or an array of the numbers of sets"
    unit: ClassVar[str] = "items that no chosen set holds"

    columns: ClassVar[str] = "x_j for each set j, 1 if it is chosen"
    rows: ClassVar[str] = "for each item i: the sum of x_j over the sets j that hold i >= 1"

    def statement(self) -> str:
        return (
            r"\min_{x \in \{0, 1\}^n} \; \sum_{j=1}^{n} c_j x_j \quad \text{subject to} \quad "
            r"\sum_{j \,:\, i \in S_j} x_j \ge 1 \; \text{ for all items } i"
        )

    def symbols(self) -> Mapping[str, str]:
        return {
            r"S_j": "the items of set j: the wanted marginals that a view holds, for instance",
            r"c_j": "the cost of set j, an integer: one, or the number of cells of a view",
            r"x_j": "whether set j is chosen",
        }

    def check(self, problem: Cover, answer: Any) -> Check:
        chosen = getattr(answer, "sets", answer)
        if chosen is None:
            return Check.unreadable("the answer holds no sets")
        try:
            values = np.asarray(chosen, np.float64)
        except (TypeError, ValueError):
            return Check.unreadable(f"the answer is a {type(answer).__name__}, not sets")
        if values.ndim != 1 or not (np.isfinite(values) & (values == np.round(values))).all():
            return Check.unreadable("the sets must be a list of whole numbers")
        if ((values < 0) | (values >= problem.sets)).any():
            return Check.unreadable("a chosen set does not exist")
        sets = np.unique(values.astype(np.int64))
        objective = float(sum(problem.cost[sets].tolist()))
        left = problem.left(sets)
        if left:
            fault = f"{left} items are in no chosen set"
            return Check(feasible=False, objective=objective, violation=float(left), fault=fault)
        return Check(feasible=True, objective=objective, violation=0.0)

    def claim(self, answer: Any) -> Claim:
        return Claim(
            status=getattr(answer, "status", None),
            bound=getattr(answer, "bound", None),
        )

    def model(self, problem: Cover) -> Model:
        return Model(
            cost=problem.cost,
            matrix=problem.matrix,
            lower=1.0,
            upper=np.inf,
            most=1.0,
            whole=True,
        )

    def answer(self, problem: Cover, point: Floats) -> Integers:
        return np.flatnonzero(np.asarray(point) > 0.5)

    def pack(self, problem: Cover) -> dict[str, NDArray[Any]]:
        return {
            "items": np.array(problem.items),
            "offsets": problem.offsets,
            "member": problem.member,
            "cost": problem.cost,
        }

    def unpack(self, arrays: Mapping[str, NDArray[Any]]) -> Cover:
        return Cover(
            items=int(arrays["items"]),
            offsets=arrays["offsets"],
            member=arrays["member"],
            cost=arrays["cost"],
        )
