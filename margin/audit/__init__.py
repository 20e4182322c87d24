"""`audit`: tests whether a mechanism keeps to its budget, for a user's own class as for ours.

The audit has three parts.

Replay: the mechanism runs through the gate on a table, and again on a neighbour with the same noisy
answers. It must ask the same questions, the true answers must differ by no more than was declared,
the noise must cost no more than the charges, and everything that leaves must be equal bit by bit.
What this proves, it proves for the pairs that were tried.

Laws: answers of each kind are drawn many times, and the draws are compared with the declared law.

Black box: the mechanism runs many times on both tables, and an event is sought that is more
probable on one table than the budget allows. This part detects only large errors (not 20 % too
little noise), but it detects them whatever the mechanism does.

The audit computes distances, costs and distribution functions itself. It uses none of the code that
it audits.
"""

from .black_box import BlackBox
from .neighbouring_tables import neighbours
from .trial import Audit, audit

__all__ = ["Audit", "BlackBox", "audit", "neighbours"]
