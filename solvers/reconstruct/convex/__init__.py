"""Solvers of `Problem` that use a general solver of a library; each has its own file."""
