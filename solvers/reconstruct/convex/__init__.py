"""Solvers of `Problem` that use a general convex optimisation library, one solver a file."""
