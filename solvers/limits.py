"""Limits of size: the largest problem that a method accepts, and what happens beyond it.

Constants that trade accuracy or speed are in `fitted`.
"""

__all__ = [
    "BORDER_UNKNOWNS",
    "BOX_CATEGORIES",
    "BOX_COMBINATIONS",
    "CLIQUE_CELLS",
    "COMPILED_NUMBERS",
    "CONTEXT_CELLS",
    "CONTEXT_CELLS_AT_ONCE",
    "EMPTYING_STEPS",
    "EVIDENCE_CELLS_AT_ONCE",
    "EXACT_BAR_CELLS",
    "EXTENDED_NUMBERS",
    "GROUPED_CELLS",
    "HESSIAN_UNKNOWNS",
    "IMPLIED_NUMBERS",
    "IMPLIED_ROWS",
    "IMPLIED_SETS",
    "INVERSE_UNKNOWNS",
    "JOINT_CELLS",
    "JOINT_CELLS_OF_SCALES",
    "JUNCTION_CELLS",
    "KEPT_TRANSFORM_CELLS",
    "KNOWN_COMBINATIONS",
    "LINKED_GROUPS",
    "LINKED_NUMBERS",
    "LINKED_PAIRS",
    "MATRIX_ORDER",
    "MISFIT_NUMBERS",
    "MOMENTS_BY_MARGINS",
    "MOST_CELLS",
    "MOST_GROUPS",
    "MOST_MARGINS",
    "MOST_ROWS",
    "NUMBERS_AT_ONCE",
    "QUERY_ENTRIES_AT_ONCE",
    "SCALED_BLOCKS",
    "SCALED_CELLS",
    "SCALED_UNKNOWNS",
    "SPLIT_NUMBERS",
    "SUMMED_NUMBERS",
    "TABLE_CELLS",
    "UNION_PAIRS",
    "VARIANCE_NUMBERS_AT_ONCE",
    "WEIGHT_SUM",
]

# --- Refused beyond the limit ---

TABLE_CELLS = 1 << 24
"""Cells of a table that can be reconstructed. Beyond it: `ValueError`, before memory is taken."""

MOST_CELLS = 1 << 14
"""Cells of the whole array in `AbsoluteConsistency` and `MaximumConsistency`.

Beyond it: `ValueError`, before the linear programme is made.
"""

MOST_ROWS = 10**8
"""Rows that `Population.fit` makes. Beyond it: `ValueError`."""

BOX_COMBINATIONS = 1 << 22
"""Combinations of classes that `Zeros` holds in one table.

Beyond it: `ValueError` when the boxes alone need more. `Zeros.cells` of a marginal whose axes need
more leaves out boxes with other axes; it then finds fewer cells that must be zero, never too many.
"""

KNOWN_COMBINATIONS = 1 << 22
"""Combinations of classes of categories that known tables with common axes may connect.

Beyond it: `ValueError`.
"""

BOX_CATEGORIES = 1 << 24
"""Categories of an axis in a box of `Zeros`. Beyond it: `ValueError`."""

WEIGHT_SUM = 2**50
"""Sum of the absolute weights of a `BestResponse`, or of the coefficients of a `Constraint`.

Up to it, the floats of every back-end hold every sum exactly. Beyond it: `ValueError`.
"""

# --- Another method beyond the limit ---

SCALED_UNKNOWNS = 1000
SCALED_CELLS = 1 << 14
"""Unknowns, and cells of a table, up to which Newton's method is used. Beyond either: scaling.

Newton's method has exact bars. Scaling (`ScaledDual`) has approximate ones, and is faster by any
factor: twice at the limit, a hundred times at 15,000 unknowns. Its blocks must exist; see
`blocks_of`.
"""

SCALED_BLOCKS = 64
"""Blocks up to which scaling is used, since each sweep goes through the whole table once a block.

Beyond it: Newton's method, if its Hessian can be stored.
"""

HESSIAN_UNKNOWNS = 2500
"""Unknowns whose Hessian is stored (50 MB). Beyond it: conjugate gradients (`LargeDual`)."""

EXTENDED_NUMBERS = 1 << 26
"""Numbers of an extended table (half a gigabyte). Beyond it: conjugate gradients (`LargeDual`)."""

UNION_PAIRS = 1 << 20
"""Pairs of known components whose unions are listed for `UnionProducts`.

Beyond it: the means of all extended functions (`WholeProducts`).
"""

COMPILED_NUMBERS = 1 << 22
"""Numbers of an extended table in the compiled loops of `Newton`.

Beyond it: numpy, problem by problem. BLAS is then faster, and threads would take much memory.
"""

SPLIT_NUMBERS = 1 << 22
"""Numbers of an extended table in `SplitDual`. Beyond it: `Dual` or `LargeDual`.

The variances of `SplitDual` would take too much memory.
"""

BORDER_UNKNOWNS = 1500
"""Unknowns of the border in `SplitDual`. Beyond it: `Dual` or `LargeDual`."""

SUMMED_NUMBERS = 1 << 28
"""Numbers that are squared and summed for exact variances of cells.

Beyond it: variances from random errors, right to about 18 % (`sampling`).
"""

EXACT_BAR_CELLS = 256
"""Cells of a marginal whose variances are exact when it is read from a larger table.

Beyond it: variances from random errors, right to about 18 % (`sampling`).
"""

INVERSE_UNKNOWNS = 4096
"""Unknowns whose inverse Hessian is kept to serve many marginals (134 MB).

Beyond it: each marginal solves its own systems.
"""

MOMENTS_BY_MARGINS = 1 << 12
"""Cells of a table from which on its moments may be computed by way of its known marginals.

Below it: the transform of the whole table, which takes fewer calls.
"""

JOINT_CELLS = 1 << 20
"""Cells of the whole array that is reconstructed once when context is asked for.

Beyond it: each marginal is reconstructed over its own context.
"""

JOINT_CELLS_OF_SCALES = 1 << 17
"""Cells of the whole array that is reconstructed once when the scales of structure are learnt.

Beyond it: each part of a view is reconstructed over its own context. A whole array of a million
cells would be solved three times for these scales alone.
"""

CONTEXT_CELLS = 1 << 12
"""Cells of the table that is solved for one marginal with context.

Beyond it: no more axes are added. A marginal that is larger by itself gets no context.
"""

CLIQUE_CELLS = 1 << 15
JUNCTION_CELLS = 1 << 17
"""Cells of one clique, and of all cliques, of a `JunctionTree`. Beyond either: contexts."""

MOST_MARGINS = 10
"""Known marginals by way of which moments are computed: each is a pass over the whole table.

Beyond it: the transform of the whole table, which takes about ten passes.
"""

MISFIT_NUMBERS = 1 << 26
"""Cells of a marginal times its largest known marginals, for `misfit` (half a second).

Beyond it: variances do not say how far a reconstruction is from the views.
"""

MATRIX_ORDER = 64
"""Order of the matrix that transforms adjacent axes at once. Beyond it: running sums."""

KEPT_TRANSFORM_CELLS = 1 << 18
"""Cells of a table whose `Transform` is cached with 2047 others. Beyond it: only two are cached."""

EMPTYING_STEPS = 1000
"""Least-squares steps towards zeros in cells that must be zero; a few dozen are usual.

Beyond it: the steps end. What is left in these cells is set to zero.
"""

LINKED_PAIRS = 1000
"""Pairs of sets of axes, with all axes of a view that zeros bind, whose common part is sought.

Beyond it: only pairs of axes.
"""

LINKED_GROUPS = 1024
LINKED_NUMBERS = 1 << 23
"""Groups of categories by which required zeros link views, and entries of the matrix of their sums.

Beyond either: pairs of views with more groups are not linked in estimates. Tables of whole numbers
agree on them all the same, because they are counted from rows.
"""

IMPLIED_NUMBERS = 1 << 22
IMPLIED_ROWS = 1024
IMPLIED_SETS = 1 << 14
"""Numbers, and rows, of the matrices that tell whether required zeros imply equalities of views;
and sets of axes for which this is asked.

Beyond either: `WholeTables` takes it for granted, and counts all tables from rows.
"""

MOST_GROUPS = 150_000
"""Rows that `WholeTables` moves one by one. Beyond it: groups of equal rows."""

GROUPED_CELLS = 10**8
"""Rows times views that `WholeTables` goes through in a sweep. Beyond it: groups of equal rows."""

# --- Work in parts beyond the limit, with the same results ---

NUMBERS_AT_ONCE = 1 << 20
"""Numbers that are held at a time for the variances of cells. Beyond it: work in parts."""

VARIANCE_NUMBERS_AT_ONCE = 1 << 22
"""Numbers that are held at a time for variances of covered marginals. Beyond it: work in parts."""

CONTEXT_CELLS_AT_ONCE = 1 << 22
"""Cells that are solved together when context is asked for. Beyond it: work in parts."""

EVIDENCE_CELLS_AT_ONCE = 1 << 18
"""Cells that `Evidence.tables` makes at a time. Beyond it: work in parts."""

QUERY_ENTRIES_AT_ONCE = 1 << 18
"""Entries of the arrays for queries that fit in the processor's cache. Beyond it: work in parts."""
