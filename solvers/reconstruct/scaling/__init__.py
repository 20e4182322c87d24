"""The dual of a large problem, minimised by scaling one known marginal after another.

A table with hundreds of thousands of cells may have tens of thousands of known moments, but these
are the moments of a few marginals, each much smaller than the table. So sums and products over the
table go through these marginals, and the dual is minimised by a relaxed form of proportional
fitting instead of Newton steps.
"""
