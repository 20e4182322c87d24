"""Combinatorial designs: few sets of points, or of attributes, that hold every wanted set.

`covering_design` covers the t-subsets of equal points by blocks of k points; `covering_views`
does the same for attributes of any sizes by tables of bounded size; `choose_views` picks among
such covers by `expected_error`.
"""

if __name__ != "margin.designs":
    raise ImportError("import margin.designs, not designs")

from .bounds import schonheim_bound
from .covering import covering_design
from .design import Design
from .error import expected_error
from .geometry import affine_geometry, inversive_plane, projective_geometry
from .views import choose_views, covering_views

__all__ = [
    "Design",
    "affine_geometry",
    "choose_views",
    "covering_design",
    "covering_views",
    "expected_error",
    "inversive_plane",
    "projective_geometry",
    "schonheim_bound",
]
