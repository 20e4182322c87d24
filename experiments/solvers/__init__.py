"""Solvers compared on the problems of this project, and the proofs of shipped instances."""
