"""Covering designs of equal points: constructions, searches, and what long searches found.

Start with `covering_design`. It takes the best of `smallest_designs`, a table that is filled from
`classical_designs` and `search_results` and closed under `recursive_constructions`. Beyond that
table it uses `pair_coverings`, `induced_designs`, `greedy` and `annealing_trials`.
"""
