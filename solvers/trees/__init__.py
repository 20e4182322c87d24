"""Least squares over trees of sums."""
