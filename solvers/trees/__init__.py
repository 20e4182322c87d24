"""Least squares over trees of sums, and distributions on trees of pairs."""
