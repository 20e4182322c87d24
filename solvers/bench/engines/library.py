"""`Library`: what the engines of libraries share: is it installed, and does it take this model."""

import dataclasses
import importlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import numpy as np

from ...backends import available
from ...status import Status
from ...types import Floats
from ..models.model import Model
from .ended import Ended

__all__ = ["Library"]


class Library(ABC):
    """Base class of the engines that hand a model to an optional library."""

    module: ClassVar[str]
    """The name under which the library is imported."""
    statuses: ClassVar[Mapping[Any, Status]]
    """The `Status` for each way in which the library says that it ended; else it is `FAILED`."""
    takes_cones: ClassVar[bool] = False
    takes_integers: ClassVar[bool] = False
    tells_dual: ClassVar[bool] = True
    """Whether it tells the multipliers of the rows of continuous models."""
    tells_bound: ClassVar[bool] = False
    """Whether it claims a bound on the objective."""

    @abstractmethod
    def solve(self, library: Any, model: Model, time_limit: float | None) -> Ended:
        """Solve a model by the imported library."""

    def load(self) -> Any:
        """Import the library."""
        return importlib.import_module(self.module)

    def refusal(self, model: Model) -> str:
        """Why the library does not take a model; empty if it does."""
        if model.cones and not self.takes_cones:
            return f"{self.module} takes no exponential cones"
        if model.integral and not self.takes_integers:
            return f"{self.module} takes no integers"
        return ""

    def tells(self, integral: bool) -> bool:
        """Whether it tells better points on the way; if so, `solve` has the option `improved`."""
        return False

    def __call__(
        self,
        model: Model,
        *,
        time_limit: float | None = None,
        improved: Callable[[Floats], None] | None = None,
    ) -> Ended:
        if not available(self.module):
            return Ended(status=Status.MISSING, detail=f"{self.module} is not installed")
        refused = self.refusal(model)
        if refused:
            return Ended(status=Status.UNSUPPORTED, detail=refused)
        options: dict[str, Any] = {"time_limit": time_limit}
        if self.tells(model.integral):
            options["improved"] = improved
        ended = self.solve(self.load(), model, **options)
        is_number = ended.point is None or bool(np.isfinite(ended.point).all())
        return ended if is_number else dataclasses.replace(ended, point=None)
