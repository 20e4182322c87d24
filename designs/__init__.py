"""Combinatorial designs: few sets of points, or of attributes, that hold every wanted set.

- `covering_design` covers all t-subsets of equal points by blocks of k points.
- `covering_views` covers sets of attributes of any sizes by tables of bounded size.
- `choose_views` picks among such covers by `expected_error`.
- `select_views` searches for the views and shares that answer given marginals best.
- `allocate_budget` finds the shares of given views.
"""

if __name__ != "margin.designs":
    raise ImportError(
        f"this package must be imported as margin.designs, but it was imported as {__name__}; "
        "write import margin.designs"
    )

from .bounds import de_caen_bound, schonheim_bound
from .covering.best_known import Known, best_known
from .covering.covering_design import covering_design
from .design import Design
from .geometry.flats_and_circles import affine_geometry, inversive_plane, projective_geometry
from .geometry.transversal import transversal_design
from .views.covering_views import choose_views, covering_views
from .views.error import expected_error, least_squares_error
from .views.minimal_error_views import select_views
from .views.shares import ViewPlan, allocate_budget

__all__ = [
    "Design",
    "Known",
    "ViewPlan",
    "affine_geometry",
    "allocate_budget",
    "best_known",
    "choose_views",
    "covering_design",
    "covering_views",
    "de_caen_bound",
    "expected_error",
    "inversive_plane",
    "least_squares_error",
    "projective_geometry",
    "schonheim_bound",
    "select_views",
    "transversal_design",
]
