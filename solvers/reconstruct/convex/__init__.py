"""Solvers of `Problem` that use a general convex optimisation library; each has its own file."""
