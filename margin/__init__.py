"""Differentially private release of marginals, each mechanism a stated optimisation problem.

>>> import margin
>>> table = {"sex": [0, 1, 1, 0], "smokes": [1, 0, 0, 0]}
>>> synopsis = margin.release(table, domain={"sex": 2, "smokes": 2}, budget=margin.PureDP(1.0))
>>> synopsis.marginal(["smokes", "sex"]).counts.shape
(2, 2)
"""

import lazy_loader

# The public names are listed in `__init__.pyi`, each with its module, which is loaded when the name
# is first used.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
