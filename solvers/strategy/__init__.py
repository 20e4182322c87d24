"""Strategies of linear queries: weights, low rank, semidefinite programmes."""
