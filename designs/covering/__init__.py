"""Covering designs: constructions, searches, and designs that long searches found.

Begin to read at `covering_design`. It looks up `smallest_designs`, a table that is filled from
`classical_designs` and `search_results`; `recursive_constructions` then derive further designs.
Beyond that table it uses `pair_coverings`, `induced_designs`, `greedy` and `annealing_trials`.
"""
