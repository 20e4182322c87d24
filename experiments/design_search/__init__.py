"""The search that makes the shipped tables of covering designs; ``python -m
experiments.design_search.offline``."""
