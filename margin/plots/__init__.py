"""Plots of marginals, errors, comparisons, plans and lattices of views, drawn with matplotlib."""

from .lattice import plot_lattice
from .results import plot_comparison, plot_error, plot_marginal

__all__ = ["plot_comparison", "plot_error", "plot_lattice", "plot_marginal"]
