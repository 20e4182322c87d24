"""Differentially private release of marginals, which are tables of counts over some attributes.

>>> import margin
>>> table = {"sex": [0, 1, 1, 0], "smokes": [1, 0, 0, 0]}
>>> synopsis = margin.release(table, domain={"sex": 2, "smokes": 2}, budget=margin.PureDP(1.0))
>>> synopsis.marginal(["smokes", "sex"]).counts.shape
(2, 2)
"""

import lazy_loader

# `__init__.pyi` lists the public names and their modules. A module is imported when one of its
# names is first used.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
