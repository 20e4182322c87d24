"""Searches for the covering designs that are shipped; see `experiments.design_search.offline`."""
