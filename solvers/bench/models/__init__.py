"""Programmes as arrays, which all families share, and as objects of cvxpy and PuLP."""
