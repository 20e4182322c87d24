"""Strategies: linear queries to measure in place of the wanted ones, chosen by optimisation."""
