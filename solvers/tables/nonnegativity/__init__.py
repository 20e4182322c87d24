"""Methods that remove negative cells from tables, one class for each method."""

from .clip import Clip
from .joint_projection import JointProjection, importance
from .protocol import NonNegativity
from .ripple import Ripple
from .simplex import Simplex

__all__ = ["Clip", "JointProjection", "NonNegativity", "Ripple", "Simplex", "importance"]
