"""Plots of marginals, expected errors, comparisons and plans, drawn with matplotlib."""

from .results import plot_comparison, plot_error, plot_marginal

__all__ = ["plot_comparison", "plot_error", "plot_marginal"]
